//! Conversations as trees: found, read whole, changed, cut back.

use std::{collections::BTreeSet, time::Duration};

use askback::domain::{
    chat::{ChatStore, Citation, Extent, Finish, HistoryStore, Message, SessionChange},
    error::StoreError,
    hitl::{HitlStatus, Settlement},
    id::{MessageId, UserId},
    memory::{MemoryStore, Note},
    run::{RunKind, RunStatus},
    trace::RagTrace,
};

use super::{
    on_both_engines, someone,
    turns::{Turn, begin, says, turn, whole},
};
use crate::support::store::TestStore;

on_both_engines!(
    a_tree_is_the_same_in_pages_of_any_size,
    siblings_are_numbered_alike_in_pages_of_any_size,
    an_outline_has_what_is_whole,
    a_users_title_wins_over_a_models,
    a_branch_is_shown_also_while_a_turn_runs,
    a_message_of_another_session_is_not_shown,
    a_deleted_message_takes_its_branch_with_it,
    a_deleted_root_shows_what_another_root_has,
    a_users_title_outlives_the_messages,
    a_deleted_branch_that_is_not_shown_moves_nothing,
    a_busy_session_loses_no_message,
    a_note_that_covers_deleted_text_goes,
    sessions_are_found_by_title_and_text,
    a_search_finds_own_sessions_alone_newest_first,
    what_is_deleted_or_replaced_is_not_found,
    other_answers_are_found_and_deleted_by_themselves,
    questions_come_with_their_moves,
    what_is_anothers_does_not_exist,
);

async fn exchange(test: &TestStore, user: UserId, parent: Option<&Turn>, question: &str, answer: &str) -> Turn {
    let mut request = says(question);
    request.parent = parent.map(|turn| turn.accept.message);
    let turn = begin(test, user, request).await;
    turn.answer(test, answer).await;
    turn
}

/// A turn that starts from a message that is there.
async fn again(test: &TestStore, user: UserId, kind: RunKind, message: &str) -> Turn {
    let mut request = says(message);
    request.kind = kind;
    begin(test, user, request).await
}

/// `root`, and under its answer `one` and `two`, of which the last is shown.
async fn fork(test: &TestStore, user: UserId) -> [Turn; 3] {
    let root = exchange(test, user, None, "root", "r").await;
    let one = exchange(test, user, Some(&root), "one", "1").await;
    let two = exchange(test, user, Some(&root), "two", "2").await;
    [root, one, two]
}

async fn show(test: &TestStore, user: UserId, message: MessageId) -> Result<Option<MessageId>, StoreError> {
    let change = SessionChange { shown: Some(message), ..SessionChange::default() };
    test.store.change_session(user, "s", &change).await.map(|session| session.active_leaf)
}

async fn rename(test: &TestStore, user: UserId, title: &str) {
    let change = SessionChange { title: Some(title.into()), ..SessionChange::default() };
    test.store.change_session(user, "s", &change).await.unwrap();
}

async fn titled(test: &TestStore, user: UserId) -> Option<String> {
    test.store.session(user, "s").await.unwrap().title
}

fn contents(messages: &[Message]) -> Vec<&str> {
    messages.iter().map(|message| message.content.as_str()).collect()
}

async fn a_tree_is_the_same_in_pages_of_any_size(test: &mut TestStore) {
    let eva = someone(test, "eva").await;
    let [root, one, two] = fork(test, eva).await;
    let all = test.store.tree(eva, "s", 0, 100).await.unwrap().1;
    assert_eq!(contents(&all), ["root", "r", "one", "1", "two", "2"]);
    let links: Vec<_> = all.iter().map(|message| (message.parent, message.siblings)).collect();
    let fork = Some(root.accept.message);
    assert_eq!(
        links,
        [
            (None, (0, 1)),
            (Some(root.accept.human), (0, 1)),
            (fork, (0, 2)),
            (Some(one.accept.human), (0, 1)),
            (fork, (1, 2)),
            (Some(two.accept.human), (0, 1)),
        ]
    );
    for limit in 1..=7 {
        let mut pages = Vec::new();
        while let Some(page) =
            Some(test.store.tree(eva, "s", pages.last().map_or(0, |last: &Message| last.ord), limit).await.unwrap().1)
                .filter(|page| !page.is_empty())
        {
            assert!(page.len() <= usize::try_from(limit).unwrap());
            pages.extend(page);
        }
        assert_eq!(pages, all);
    }
    assert_eq!(whole(test, eva, two.accept.message).await.last(), all.last(), "as whole as in its branch");
}

async fn siblings_are_numbered_alike_in_pages_of_any_size(test: &mut TestStore) {
    let eva = someone(test, "eva").await;
    let root = exchange(test, eva, None, "root", "r0").await;
    for no in 1..6 {
        again(test, eva, RunKind::Regenerate(root.accept.message), "").await.answer(test, &format!("r{no}")).await;
        exchange(test, eva, Some(&root), &format!("q{no}"), "a").await;
        again(test, eva, RunKind::Edit(root.accept.human), &format!("root{no}")).await.answer(test, "o").await;
    }
    let all = test.store.tree(eva, "s", 0, 100).await.unwrap().1;
    assert_eq!(all.len(), 2 + 5 * 5);
    for message in &all {
        let is_sibling = |other: &&Message| (other.parent, other.kind) == (message.parent, message.kind);
        let siblings: Vec<MessageId> = all.iter().filter(is_sibling).map(|sibling| sibling.id).collect();
        let place = siblings.iter().position(|sibling| *sibling == message.id).unwrap();
        assert_eq!(message.siblings, (place as i64, siblings.len() as i64), "{}", message.content);
        assert_eq!(whole(test, eva, message.id).await.last(), Some(message), "as in its branch");
    }
    for limit in 1..9 {
        let mut pages: Vec<Message> = Vec::new();
        loop {
            let after = pages.last().map_or(0, |last| last.ord);
            let page = test.store.tree(eva, "s", after, limit).await.unwrap().1;
            if page.is_empty() {
                break;
            }
            pages.extend(page);
        }
        assert_eq!(pages, all, "{limit}");
    }
    assert_eq!(all.iter().map(|message| message.siblings.1).max(), Some(6));
}

async fn an_outline_has_what_is_whole(test: &mut TestStore) {
    let eva = someone(test, "eva").await;
    let [root, one, two] = fork(test, eva).await;
    let outline = async |extent| test.store.outline(eva, "s", extent).await.unwrap();
    let texts = async |ids: &[MessageId]| {
        contents(&test.store.messages(root.accepted.session.id, ids).await.unwrap()).join(" ")
    };
    let all = outline(Extent::All).await;
    assert_eq!((texts(&all.messages).await.as_str(), all.written), ("root r one 1 two 2", None));
    assert_eq!(all.session.active_leaf, Some(two.accept.message));
    assert_eq!(texts(&outline(Extent::Shown).await.messages).await, "root r two 2");

    let next = again(test, eva, RunKind::Turn, "three").await;
    for (extent, expected) in [(Extent::Shown, "root r two 2 three"), (Extent::All, "root r one 1 two 2 three")] {
        let running = outline(extent).await;
        assert_eq!(texts(&running.messages).await, expected);
        assert_eq!(running.written, Some((next.accept.message, Some(next.accept.human))));
    }
    next.answer(test, "3").await;
    test.store.delete_message(eva, "s", one.accept.human).await.unwrap();
    assert_eq!(texts(&all.messages).await, "root r two 2", "what was deleted meanwhile is left out");
    assert_eq!(test.store.outline(eva, "other", Extent::All).await, Err(StoreError::NotFound));
}

async fn a_users_title_wins_over_a_models(test: &mut TestStore) {
    let eva = someone(test, "eva").await;
    let root = exchange(test, eva, None, "How long?", "…").await;
    let session = root.accepted.session.id;
    assert_eq!(test.store.entitle(session, "Warranty").await, Ok(true));
    assert_eq!(titled(test, eva).await.as_deref(), Some("Warranty"));
    assert_eq!(test.store.entitle(session, "Other").await, Ok(false), "a model's title is made once");
    rename(test, eva, "保修").await;
    assert_eq!(test.store.entitle(session, "Warranty").await, Ok(false));
    exchange(test, eva, Some(&root), "And now?", "…").await;
    assert_eq!(titled(test, eva).await.as_deref(), Some("保修"));
}

async fn a_branch_is_shown_also_while_a_turn_runs(test: &mut TestStore) {
    let eva = someone(test, "eva").await;
    let [root, one, two] = fork(test, eva).await;
    assert_eq!(show(test, eva, one.accept.human).await, Ok(Some(one.accept.message)));
    assert_eq!(show(test, eva, root.accept.human).await, Ok(Some(two.accept.message)), "the newest below");
    let mut request = says("three");
    request.parent = Some(two.accept.message);
    let running = begin(test, eva, request).await;
    assert_eq!(show(test, eva, one.accept.message).await, Ok(Some(one.accept.message)));
    running.answer(test, "3").await;
    let session = test.store.session(eva, "s").await.unwrap();
    assert_eq!(session.active_leaf, Some(one.accept.message), "the end of the turn leaves the user where they look");
    assert_eq!(show(test, eva, two.accept.human).await, Ok(Some(running.accept.message)));
}

async fn a_message_of_another_session_is_not_shown(test: &mut TestStore) {
    let eva = someone(test, "eva").await;
    let root = exchange(test, eva, None, "root", "r").await;
    let mut elsewhere = turn(test, eva, says("elsewhere"));
    elsewhere.session_name = "t".into();
    test.store.accept(&elsewhere).await.unwrap();
    for message in [elsewhere.human, test.id()] {
        let change = SessionChange { title: Some("new".into()), shown: Some(message) };
        assert_eq!(test.store.change_session(eva, "s", &change).await, Err(StoreError::NotFound));
    }
    let session = test.store.session(eva, "s").await.unwrap();
    assert_eq!((session.title.as_deref(), session.active_leaf), (Some("root"), Some(root.accept.message)));
}

async fn a_deleted_message_takes_its_branch_with_it(test: &mut TestStore) {
    let eva = someone(test, "eva").await;
    let [root, one, _] = fork(test, eva).await;
    let mut request = says("three");
    request.parent = Some(one.accept.message);
    let asking = begin(test, eva, request).await;
    test.store.log(&[asking.frames(1, 1, "{}\n")]).await.unwrap();
    let question = asking.ask(test).await;
    let reply = begin(test, eva, says("2")).await;
    let citation = Citation {
        marker: 1,
        document_id: test.id(),
        version: 1,
        filename: "a".into(),
        page: None,
        start: 0,
        end: 1,
        quote: "a".into(),
        quote_sha256: "00".into(),
        removed: true,
    };
    let finish = Finish {
        citations: vec![citation],
        trace: Some(RagTrace::default()),
        ..reply.settling(question, Settlement::Answered, RunStatus::Completed)
    };
    test.store.finish(&finish).await.unwrap();
    assert_eq!(test.store.session(eva, "s").await.unwrap().message_count, 10);

    test.store.delete_message(eva, "s", one.accept.human).await.unwrap();
    let left = test.store.tree(eva, "s", 0, 100).await.unwrap().1;
    assert_eq!(contents(&left), ["root", "r", "two", "2"]);
    let session = test.store.session(eva, "s").await.unwrap();
    assert_eq!((session.message_count, session.active_leaf), (4, left.last().map(|newest| newest.id)));
    for run in [one.accept.run, asking.accept.run, reply.accept.run] {
        assert_eq!(test.store.run(eva, run).await, Err(StoreError::NotFound));
        assert_eq!(test.store.frames(run, 0, 10).await, Ok(Vec::new()));
    }
    assert_eq!(test.store.pending(eva, question).await, Err(StoreError::NotFound));
    assert_eq!(test.store.message(eva, reply.accept.message).await, Err(StoreError::NotFound));
    assert_eq!(test.store.run(eva, root.accept.run).await.unwrap().status, RunStatus::Completed);
    // An answer alone: its question stays, and so does the place in the order of what was deleted.
    test.store.delete_message(eva, "s", root.accept.message).await.unwrap();
    let session = test.store.session(eva, "s").await.unwrap();
    assert_eq!((session.message_count, session.active_leaf), (1, Some(root.accept.human)));
    let next = exchange(test, eva, None, "next", "n").await;
    let orders: Vec<i64> = whole(test, eva, next.accept.message).await.iter().map(|message| message.ord).collect();
    assert_eq!(orders, [1, 11, 12]);
}

async fn a_deleted_root_shows_what_another_root_has(test: &mut TestStore) {
    let eva = someone(test, "eva").await;
    let first = exchange(test, eva, None, "first", "1").await;
    test.store.delete_message(eva, "s", first.accept.human).await.unwrap();
    let session = test.store.session(eva, "s").await.unwrap();
    assert_eq!((session.message_count, session.active_leaf, session.title), (0, None, None));
    let second = exchange(test, eva, None, "second", "2").await;
    assert_eq!((second.accepted.first_turn, second.accepted.parent), (true, None));
    assert_eq!(titled(test, eva).await.as_deref(), Some("second"));
    assert_eq!(test.store.tree(eva, "s", 0, 10).await.unwrap().1[0].ord, 3);

    let third = again(test, eva, RunKind::Edit(second.accepted.human), "third").await;
    third.answer(test, "3").await;
    test.store.delete_message(eva, "s", third.accepted.human).await.unwrap();
    let session = test.store.session(eva, "s").await.unwrap();
    assert_eq!((session.message_count, session.active_leaf), (2, Some(second.accepted.message)));
    assert_eq!(session.title.as_deref(), Some("second"));
}

async fn a_users_title_outlives_the_messages(test: &mut TestStore) {
    let eva = someone(test, "eva").await;
    let only = exchange(test, eva, None, "only", "1").await;
    rename(test, eva, "保修").await;
    test.store.delete_message(eva, "s", only.accept.human).await.unwrap();
    assert_eq!(titled(test, eva).await.as_deref(), Some("保修"));
    assert_eq!(test.store.search(eva, "保修", None, 10).await.unwrap().len(), 1);
    exchange(test, eva, None, "another", "2").await;
    assert_eq!(titled(test, eva).await.as_deref(), Some("保修"));
}

async fn a_deleted_branch_that_is_not_shown_moves_nothing(test: &mut TestStore) {
    let eva = someone(test, "eva").await;
    let [_, one, two] = fork(test, eva).await;
    test.store.delete_message(eva, "s", one.accept.message).await.unwrap();
    let session = test.store.session(eva, "s").await.unwrap();
    assert_eq!((session.active_leaf, session.message_count), (Some(two.accept.message), 5));
    assert_eq!(test.store.delete_message(eva, "s", one.accept.message).await, Err(StoreError::NotFound));
}

async fn a_busy_session_loses_no_message(test: &mut TestStore) {
    let eva = someone(test, "eva").await;
    let [root, one, _] = fork(test, eva).await;
    let running = begin(test, eva, says("three")).await;
    for message in [root.accept.human, one.accept.message, running.accept.message] {
        let refused = test.store.delete_message(eva, "s", message).await;
        assert!(matches!(refused, Err(StoreError::Conflict(_))), "{refused:?}");
    }
    assert_eq!(test.store.delete_message(eva, "s", test.id()).await, Err(StoreError::NotFound));
    running.answer(test, "3").await;
    assert_eq!(test.store.session(eva, "s").await.unwrap().message_count, 8);
    test.store.delete_message(eva, "s", running.accept.human).await.unwrap();
}

async fn a_note_that_covers_deleted_text_goes(test: &mut TestStore) {
    let eva = someone(test, "eva").await;
    let [root, one, two] = fork(test, eva).await;
    let session = root.accepted.session.id;
    assert_eq!(test.store.put_note(session, "root, one", 3, None, test.now()).await, Ok(true));
    let note = Note { body: "root, one".into(), upto_ord: 3, version: test.now().0 };
    test.store.delete_message(eva, "s", two.accept.human).await.unwrap();
    assert_eq!(test.store.note(session).await, Ok(Some(note)), "it ends before what was deleted");
    test.store.delete_message(eva, "s", one.accept.human).await.unwrap();
    assert_eq!(test.store.note(session).await, Ok(None));
}

async fn found(test: &TestStore, user: UserId, query: &str) -> Vec<String> {
    let sessions = test.store.search(user, query, None, 10).await.unwrap();
    sessions.into_iter().map(|session| session.name).collect()
}

async fn in_session(test: &TestStore, user: UserId, name: &str, question: &str, answer: &str) -> Turn {
    test.clock.forward(Duration::from_millis(1));
    let mut accept = turn(test, user, says(question));
    accept.session_name = name.into();
    let accepted = test.store.accept(&accept).await.unwrap();
    let turn = Turn { accept, accepted };
    turn.answer(test, answer).await;
    turn
}

async fn sessions_are_found_by_title_and_text(test: &mut TestStore) {
    let eva = someone(test, "eva").await;
    in_session(test, eva, "a", "How long is the warranty of the Aurora X1-200?", "Two years, batteries 6 months.")
        .await;
    in_session(test, eva, "b", "本產品的保養維修期限為多久？", "兩年，ＷｉＦｉ 模組除外。").await;
    in_session(test, eva, "c", "it's \"quoted\" & odd | (text): * ' \\ -", "Yes!").await;
    in_session(
        test,
        eva,
        "d",
        "Is _under_ **bold** or `code` __both__?",
        "~~Gone~~ (lisp) “quoth” #tag 《书名》_保修_ snake_case.",
    )
    .await;
    let change = SessionChange { title: Some("Règlement d'Été".into()), ..SessionChange::default() };
    test.store.change_session(eva, "c", &change).await.unwrap();
    for (query, names) in [
        ("warranty", vec!["a"]),
        ("Battery", vec!["a"]),
        ("x1-200", vec!["a"]),
        ("auro", vec!["a"]),
        ("aurora warranty", vec!["a"]),
        ("warranty battery", vec![]),
        ("保养维修", vec!["b"]),
        ("維修期限", vec!["b"]),
        ("wifi模组", vec!["b"]),
        ("年", vec!["b"]),
        ("保修", vec!["d"]),
        ("reglement", vec!["c"]),
        ("ÉTÉ", vec!["c"]),
        ("quoted odd", vec!["c"]),
        ("the", vec!["a"]),
        ("under", vec!["d"]),
        ("_under_", vec!["d"]),
        ("**bold** `code` __both__", vec!["d"]),
        ("gone", vec!["d"]),
        ("lisp quoth tag", vec!["d"]),
        ("书名", vec!["d"]),
        ("保修期", vec![]),
        ("case", vec!["d"]),
        ("\"", vec![]),
        ("' & | ! :* () \\ NOT OR AND NEAR", vec![]),
        ("@", vec![]),
    ] {
        assert_eq!(found(test, eva, query).await, names, "{query}");
    }
}

async fn a_search_finds_own_sessions_alone_newest_first(test: &mut TestStore) {
    let (eva, bob) = (someone(test, "eva").await, someone(test, "bob").await);
    for name in ["a", "b", "c", "d"] {
        in_session(test, eva, name, if name == "c" { "price" } else { "warranty" }, "Yes.").await;
        in_session(test, bob, name, "warranty of bob", "Yes.").await;
    }
    let mut seen = Vec::new();
    let mut after = None;
    while let Some(last) = test.store.search(eva, "warranty", after, 1).await.unwrap().pop() {
        after = Some((last.updated_at, last.id));
        assert_eq!(last.owner, eva);
        seen.push(last.name);
    }
    assert_eq!(seen, ["d", "b", "a"]);
    assert_eq!(found(test, bob, "bob").await.len(), 4);
    assert_eq!(found(test, eva, "bob").await, Vec::<String>::new());
    // Another user's id is no word that could be looked for.
    assert_eq!(found(test, eva, &format!("@{bob}")).await, Vec::<String>::new());
}

async fn what_is_deleted_or_replaced_is_not_found(test: &mut TestStore) {
    let eva = someone(test, "eva").await;
    let root = in_session(test, eva, "s", "zebra", "giraffe").await;
    let second = in_session(test, eva, "s", "lion", "tiger").await;
    rename(test, eva, "savannah").await;
    for query in ["zebra", "giraffe", "lion", "tiger", "savannah"] {
        assert_eq!(found(test, eva, query).await, ["s"], "{query}");
    }
    rename(test, eva, "animals").await;
    assert_eq!(found(test, eva, "savannah").await, Vec::<String>::new());
    test.store.delete_message(eva, "s", second.accept.message).await.unwrap();
    assert_eq!(found(test, eva, "tiger").await, Vec::<String>::new());
    assert_eq!(found(test, eva, "lion").await, ["s"]);
    test.store.delete_message(eva, "s", root.accept.human).await.unwrap();
    for query in ["zebra", "giraffe", "lion"] {
        assert_eq!(found(test, eva, query).await, Vec::<String>::new(), "{query}");
    }
    assert_eq!(found(test, eva, "animals").await, ["s"], "its user's title stays");
    in_session(test, eva, "s", "zebra", "giraffe").await;
    assert_eq!(found(test, eva, "zebra").await, ["s"]);
    // What a failed turn had said is found, what it had not said is not there.
    let running = begin(test, eva, says("okapi")).await;
    test.store.finish(&running.end(RunStatus::Failed, "")).await.unwrap();
    assert_eq!(found(test, eva, "okapi").await, ["s"]);
    test.store.delete_session(eva, "s").await.unwrap();
    assert_eq!(found(test, eva, "zebra").await, Vec::<String>::new());
}

async fn other_answers_are_found_and_deleted_by_themselves(test: &mut TestStore) {
    let eva = someone(test, "eva").await;
    let first = in_session(test, eva, "s", "zebra", "giraffe").await;
    let second = again(test, eva, RunKind::Regenerate(first.accepted.message), "").await;
    second.answer(test, "okapi").await;
    let longer = again(test, eva, RunKind::Continue(second.accepted.message), "").await;
    longer.answer(test, "okapi and antelope").await;
    for query in ["zebra", "giraffe", "okapi", "antelope", "okapi antelope"] {
        assert_eq!(found(test, eva, query).await, ["s"], "{query}");
    }
    test.store.delete_message(eva, "s", second.accepted.message).await.unwrap();
    for run in [second.accept.run, longer.accept.run] {
        assert_eq!(test.store.run(eva, run).await, Err(StoreError::NotFound));
    }
    assert_eq!(test.store.run(eva, first.accept.run).await.unwrap().status, RunStatus::Completed);
    let session = test.store.session(eva, "s").await.unwrap();
    assert_eq!((session.message_count, session.active_leaf), (2, Some(first.accepted.message)));
    assert_eq!(found(test, eva, "antelope").await, Vec::<String>::new());
    assert_eq!(found(test, eva, "giraffe").await, ["s"]);
}

async fn questions_come_with_their_moves(test: &mut TestStore) {
    let eva = someone(test, "eva").await;
    let first = begin(test, eva, says("one")).await.ask(test).await;
    let reply = begin(test, eva, says("2")).await;
    test.store.finish(&reply.settling(first, Settlement::Answered, RunStatus::Completed)).await.unwrap();
    test.clock.forward(Duration::from_millis(1));
    let second = begin(test, eva, says("two")).await.ask(test).await;
    let session = reply.accepted.session.id;
    let all = test.store.questions(session, None, 10).await.unwrap();
    let told: Vec<_> = all.iter().map(|(question, moves)| (question.id, question.status, moves.len())).collect();
    assert_eq!(told, [(first, HitlStatus::Answered, 2), (second, HitlStatus::Open, 0)]);
    assert_eq!(test.store.pending(eva, first).await, Ok(all[0].clone()));
    let page = test.store.questions(session, None, 1).await.unwrap();
    let after = Some((page[0].0.created_at, page[0].0.id));
    assert_eq!(test.store.questions(session, after, 10).await, Ok(all[1..].to_vec()));
    let fingerprints: BTreeSet<_> = all.iter().map(|(question, _)| &question.fingerprint).collect();
    assert_eq!(fingerprints.len(), 1, "of different roots");
}

async fn what_is_anothers_does_not_exist(test: &mut TestStore) {
    let (eva, bob) = (someone(test, "eva").await, someone(test, "bob").await);
    let root = exchange(test, eva, None, "root", "r").await;
    let change = SessionChange { title: Some("mine".into()), shown: None };
    assert_eq!(test.store.change_session(bob, "s", &change).await, Err(StoreError::NotFound));
    assert_eq!(test.store.delete_message(bob, "s", root.accept.human).await, Err(StoreError::NotFound));
    exchange(test, bob, None, "bob's", "b").await;
    assert_eq!(test.store.delete_message(bob, "s", root.accept.human).await, Err(StoreError::NotFound));
    assert_eq!(show(test, bob, root.accept.human).await, Err(StoreError::NotFound));
    assert_eq!(whole(test, eva, root.accept.message).await.len(), 2);
}

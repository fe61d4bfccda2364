//! Turns: accepting, logging, finishing, and what can be read of them.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use askback::domain::{
    chat::{
        Accepted, Basis, ChatStore, Citation, Finish, HistoryStore, Message, MessageKind, MessagePart, MessageStatus,
        Refused, Session, Timings,
    },
    error::StoreError,
    event::CallView,
    evidence::Passage,
    id::SessionId,
    knowledge::{DocumentStore, Readers, Upload},
    model::Usage,
    problem::Problem,
    run::{Orphan, Run, RunStatus},
    time::Millis,
    trace::RagTrace,
};

use super::{
    documents::{publish_text, upload},
    on_both_engines, someone,
    turns::{OWNER, begin, promise, says, told, try_begin, turn, whole},
};
use crate::support::{harness::passage, store::TestStore};

on_both_engines!(
    a_turn_is_accepted_and_answered,
    an_answer_is_read_back_whole,
    a_citation_says_when_its_document_was_removed,
    a_trace_leaves_out_what_may_no_longer_be_read,
    a_busy_session_refuses_a_second_turn,
    one_of_many_turns_wins,
    orders_have_no_gaps,
    a_turn_that_said_nothing_leaves_the_question,
    a_parent_makes_a_branch_and_siblings,
    a_parent_that_is_not_there_refuses_the_turn,
    what_is_another_users_does_not_exist,
    a_key_repeats_its_run,
    a_fenced_owner_ends_nothing,
    the_log_is_read_back_in_order,
    frames_after_the_end_are_dropped,
    a_dead_process_leaves_orphans,
    a_stop_is_seen_by_the_owner,
    sessions_are_listed_newest_first_in_pages,
    a_deleted_session_leaves_nothing,
    a_nul_does_not_fail_a_turn,
);

async fn a_turn_is_accepted_and_answered(test: &mut TestStore) {
    let eva = someone(test, "eva").await;
    let first = begin(test, eva, says("保修多久？")).await;
    let session = Session {
        id: first.accept.new_session,
        owner: eva,
        name: "s".into(),
        title: Some("保修多久？".into()),
        active_leaf: Some(first.accept.message),
        running_run: Some(first.accept.run),
        message_count: 1,
        question: None,
        awaiting_input: false,
        created_at: test.now(),
        updated_at: test.now(),
    };
    let accepted = Accepted {
        session: session.clone(),
        first_turn: true,
        request: first.accept.request.clone(),
        parent: None,
        human: first.accept.human,
        text: "保修多久？".into(),
        message: first.accept.message,
        question: None,
    };
    assert_eq!(first.accepted, accepted);
    assert_eq!(test.store.session(eva, "s").await, Ok(session.clone()));
    let running = [(1, "保修多久？".into(), "completed"), (2, String::new(), "running")];
    assert_eq!(told(test, eva, first.accept.message).await, running);

    first.answer(test, "两年。[1]").await;
    let ended = Session { running_run: None, message_count: 2, ..session };
    assert_eq!(test.store.session(eva, "s").await, Ok(ended));
    let run = Run {
        id: first.accept.run,
        session: first.accepted.session.id,
        session_name: "s".into(),
        user: eva,
        status: RunStatus::Completed,
        extends: false,
        human: first.accept.human,
        message: Some(first.accept.message),
        log_from: 1,
        last_seq: 0,
        error: None,
        created_at: test.now(),
        ended_at: Some(test.now()),
    };
    assert_eq!(test.store.run(eva, first.accept.run).await, Ok(run));

    let second = begin(test, eva, says("And for Aurora?")).await;
    assert_eq!((second.accepted.first_turn, second.accepted.parent), (false, Some(first.accept.message)));
    assert_eq!(second.accepted.session.title.as_deref(), Some("保修多久？"));
    second.answer(test, "Three.").await;
    let whole = [
        (1, "保修多久？".into(), "completed"),
        (2, "两年。[1]".into(), "completed"),
        (3, "And for Aurora?".into(), "completed"),
        (4, "Three.".into(), "completed"),
    ];
    assert_eq!(told(test, eva, second.accept.message).await, whole);
    let (_, last) = test.store.conversation(eva, "s", Some(second.accept.message), 1).await.unwrap();
    assert_eq!(last.iter().map(|message| message.ord).collect::<Vec<_>>(), [4]);
}

async fn an_answer_is_read_back_whole(test: &mut TestStore) {
    let eva = someone(test, "eva").await;
    let running = begin(test, eva, says("How long?")).await;
    let call = CallView { id: "c1".into(), name: "search".into(), arguments: serde_json::json!({ "query": "保修" }) };
    let result =
        MessagePart::ToolResult { id: "c1".into(), name: "search".into(), status: "ok".into(), text: "[1] …".into() };
    let citation = Citation {
        marker: 1,
        document_id: test.id(),
        version: 2,
        filename: "手册.pdf".into(),
        page: Some("iv".into()),
        start: 3,
        end: 5,
        quote: "两年".into(),
        quote_sha256: "00".into(),
        removed: true,
    };
    let trace = RagTrace { tool_used: true, query: Some("保修".into()), ..RagTrace::default() };
    let (usage, timings) =
        (Usage::default(), Timings { total_ms: 12, tokens_per_second: Some(1.5), ..Timings::default() });
    let finish = Finish {
        finish_reason: Some("stop".into()),
        model: Some("other".into()),
        usage: Some(usage),
        timings: Some(timings),
        parts: vec![
            MessagePart::Reasoning { text: "Hm. ".into() },
            MessagePart::Text { text: "Let me look.".into() },
            MessagePart::ToolCall { call: call.clone() },
            result,
            MessagePart::Reasoning { text: "Ah.".into() },
        ],
        citations: vec![citation.clone()],
        trace: Some(trace.clone()),
        ..running.end(RunStatus::Completed, "Two years. [1]")
    };
    test.store.finish(&finish).await.unwrap();
    let message = Message {
        id: running.accept.message,
        parent: Some(running.accept.human),
        ord: 2,
        kind: MessageKind::Ai,
        status: MessageStatus::Completed,
        run: Some(running.accept.run),
        content: "Two years. [1]".into(),
        model: Some("other".into()),
        finish_reason: Some("stop".into()),
        usage: Some(usage),
        timings: Some(timings),
        trace: Some(trace),
        citations: vec![citation],
        pending: None,
        reasoning: Some("Hm. Ah.".into()),
        tool_calls: vec![call],
        feedback: None,
        siblings: (0, 1),
        created_at: test.now(),
    };
    assert_eq!(test.store.message(eva, running.accept.message).await, Ok(message.clone()));
    assert_eq!(whole(test, eva, running.accept.message).await[1], message);
}

async fn a_citation_says_when_its_document_was_removed(test: &mut TestStore) {
    let eva = someone(test, "eva").await;
    let document = publish_text(test, &upload(test, "a.txt", "v1"), "Two years.").await;
    let running = begin(test, eva, says("How long?")).await;
    let citation = Citation {
        marker: 1,
        document_id: document,
        version: 1,
        filename: "a.txt".into(),
        page: None,
        start: 0,
        end: 3,
        quote: "Two".into(),
        quote_sha256: "00".into(),
        removed: false,
    };
    let finish = Finish { citations: vec![citation.clone()], ..running.end(RunStatus::Completed, "Two. [1]") };
    test.store.finish(&finish).await.unwrap();
    let cited = |message: Message| message.citations;
    let read = test.store.message(eva, running.accept.message).await.map(cited);
    assert_eq!(read, Ok(vec![citation.clone()]));
    test.store.delete_document(document, test.now()).await.unwrap();
    let read = test.store.message(eva, running.accept.message).await.map(cited);
    assert_eq!(read, Ok(vec![Citation { removed: true, ..citation }]));
}

async fn a_trace_leaves_out_what_may_no_longer_be_read(test: &mut TestStore) {
    let eva = someone(test, "eva").await;
    let kept = publish_text(test, &upload(test, "a.txt", "v1"), "Two years.").await;
    let of = |collection: &str, name: &str| Upload { collection: collection.into(), ..upload(test, name, "v2") };
    let deleted = publish_text(test, &of("shelf", "b.txt"), "Three years.").await;
    let closed = publish_text(test, &of("desk", "c.txt"), "Four years.").await;
    let mine = publish_text(test, &of("drawer", "d.txt"), "Five years.").await;
    let said = |document, text: &str| {
        let mut passage = passage(1, text);
        (passage.document_id, passage.section) = (document, Some("Warranty".into()));
        passage
    };
    let all = || Some(vec![said(kept, "Two"), said(deleted, "Three"), said(closed, "Four"), said(mine, "Five")]);
    let part = RagTrace { initial_retrieved_chunks: all(), ..RagTrace::default() };
    let trace = RagTrace { retrieved_chunks: all(), sub_traces: vec![part], ..RagTrace::default() };
    let running = begin(test, eva, says("How long?")).await;
    let finish = Finish { trace: Some(trace), ..running.end(RunStatus::Completed, "Two.") };
    test.store.finish(&finish).await.unwrap();
    let read = async |test: &TestStore| -> Vec<(String, bool, bool)> {
        let mut trace = test.store.message(eva, running.accept.message).await.unwrap().trace.unwrap();
        let told = |passage: &mut Passage| (passage.text.clone(), passage.section.is_some(), passage.removed);
        trace.passages_mut().into_iter().map(told).collect()
    };
    let whole = ["Two", "Three", "Four", "Five"].map(|text| (text.to_owned(), true, false));
    assert_eq!(read(test).await, [whole.clone(), whole].concat());
    test.store.delete_document(deleted, test.now()).await.unwrap();
    let readers = |users| Readers::Listed { users, groups: Vec::new() };
    test.store.set_readers("desk", test.id(), &readers(Vec::new()), test.now()).await.unwrap();
    test.store.set_readers("drawer", test.id(), &readers(vec![eva]), test.now()).await.unwrap();
    let left = ["Two", "", "", "Five"].map(|text| (text.to_owned(), !text.is_empty(), text.is_empty()));
    assert_eq!(read(test).await, [left.clone(), left].concat());
}

async fn a_busy_session_refuses_a_second_turn(test: &mut TestStore) {
    let eva = someone(test, "eva").await;
    let first = begin(test, eva, says("one")).await;
    let refused = try_begin(test, eva, says("two")).await.map(|_| ());
    assert_eq!(refused, Err(Refused::Busy(first.accept.run)));
    first.answer(test, "1").await;
    begin(test, eva, says("two")).await;
}

async fn one_of_many_turns_wins(test: &mut TestStore) {
    let eva = someone(test, "eva").await;
    let turns: Vec<_> = (0..16).map(|no| turn(test, eva, says(&no.to_string()))).collect();
    let outcomes = futures::future::join_all(turns.iter().map(|turn| test.store.accept(turn))).await;
    let winners: Vec<_> = turns.iter().zip(&outcomes).filter(|(_, outcome)| outcome.is_ok()).collect();
    let [(winner, _)] = winners[..] else { panic!("{} turns were accepted", winners.len()) };
    for outcome in &outcomes {
        assert!(outcome.is_ok() || *outcome == Err(Refused::Busy(winner.run)), "{outcome:?}");
    }
    let session = test.store.session(eva, "s").await.unwrap();
    assert_eq!((session.running_run, session.message_count), (Some(winner.run), 1));
    assert_eq!(told(test, eva, winner.message).await.len(), 2, "the losers wrote nothing");
}

async fn orders_have_no_gaps(test: &mut TestStore) {
    let eva = someone(test, "eva").await;
    for (said, status) in
        [("1", RunStatus::Completed), ("", RunStatus::Failed), ("", RunStatus::Stopped), ("2", RunStatus::Stopped)]
    {
        let running = begin(test, eva, says("?")).await;
        test.store.finish(&running.end(status, said)).await.unwrap();
    }
    let session = test.store.session(eva, "s").await.unwrap();
    let branch = told(test, eva, session.active_leaf.unwrap()).await;
    assert_eq!(branch.iter().map(|(ord, ..)| *ord).collect::<Vec<_>>(), [1, 2, 3, 4, 5, 6]);
    assert_eq!(session.message_count, 6);
}

async fn a_turn_that_said_nothing_leaves_the_question(test: &mut TestStore) {
    let eva = someone(test, "eva").await;
    let running = begin(test, eva, says("one")).await;
    let problem = Problem::new(502, "model_unavailable", "…");
    let finish = Finish { error: Some(problem.clone()), ..running.end(RunStatus::Failed, "") };
    test.store.finish(&finish).await.unwrap();
    let session = test.store.session(eva, "s").await.unwrap();
    assert_eq!((session.active_leaf, session.message_count), (Some(running.accept.human), 1));
    let run = test.store.run(eva, running.accept.run).await.unwrap();
    assert_eq!((run.status, run.message, run.error), (RunStatus::Failed, None, Some(problem)));
    assert_eq!(test.store.message(eva, running.accept.message).await, Err(StoreError::NotFound));
    let next = begin(test, eva, says("two")).await;
    assert_eq!(next.accepted.parent, Some(running.accept.human));
}

async fn a_parent_makes_a_branch_and_siblings(test: &mut TestStore) {
    let eva = someone(test, "eva").await;
    let root = begin(test, eva, says("root")).await;
    root.answer(test, "r").await;
    let one = begin(test, eva, says("one")).await;
    one.answer(test, "1").await;
    let mut request = says("two");
    request.parent = Some(root.accept.message);
    let two = begin(test, eva, request).await;
    two.answer(test, "2").await;
    let contents = |branch: Vec<Message>| branch.into_iter().map(|line| line.content).collect::<Vec<_>>();
    assert_eq!(contents(whole(test, eva, one.accept.message).await), ["root", "r", "one", "1"]);
    assert_eq!(contents(whole(test, eva, two.accept.message).await), ["root", "r", "two", "2"]);
    let places = |branch: Vec<Message>| branch.into_iter().map(|line| line.siblings).collect::<Vec<_>>();
    assert_eq!(places(whole(test, eva, one.accept.message).await), [(0, 1), (0, 1), (0, 2), (0, 1)]);
    assert_eq!(places(whole(test, eva, two.accept.message).await), [(0, 1), (0, 1), (1, 2), (0, 1)]);
    assert_eq!(test.store.session(eva, "s").await.unwrap().active_leaf, Some(two.accept.message));
}

async fn a_parent_that_is_not_there_refuses_the_turn(test: &mut TestStore) {
    let eva = someone(test, "eva").await;
    let mut request = says("one");
    request.parent = Some(test.id());
    let refused = try_begin(test, eva, request).await.map(|_| ());
    assert_eq!(refused, Err(Refused::NotFound));
    assert_eq!(test.store.session(eva, "s").await, Err(StoreError::NotFound), "nothing was written");
}

async fn what_is_another_users_does_not_exist(test: &mut TestStore) {
    let (eva, bob) = (someone(test, "eva").await, someone(test, "bob").await);
    let turn = begin(test, eva, says("secret")).await;
    let question = turn.ask(test).await;
    assert_eq!(test.store.session(bob, "s").await, Err(StoreError::NotFound));
    assert_eq!(test.store.delete_session(bob, "s").await, Err(StoreError::NotFound));
    assert_eq!(test.store.run(bob, turn.accept.run).await, Err(StoreError::NotFound));
    assert_eq!(test.store.request_stop(bob, turn.accept.run, test.now()).await, Err(StoreError::NotFound));
    assert_eq!(test.store.message(bob, turn.accept.message).await, Err(StoreError::NotFound));
    assert_eq!(test.store.pending(bob, question).await, Err(StoreError::NotFound));
    assert_eq!(test.store.sessions(bob, None, 10).await, Ok(Vec::new()));
    let mut request = says("mine");
    request.parent = Some(turn.accept.message);
    assert_eq!(try_begin(test, bob, request).await.map(|_| ()), Err(Refused::NotFound));
    // The same name is another session.
    let own = begin(test, bob, says("mine")).await;
    assert_ne!(own.accepted.session.id, turn.accepted.session.id);
    let foreign = test.store.conversation(bob, "s", Some(turn.accept.message), 10).await;
    assert_eq!(foreign, Err(StoreError::NotFound));
}

async fn a_key_repeats_its_run(test: &mut TestStore) {
    let eva = someone(test, "eva").await;
    let with = |body| {
        let mut accept = turn(test, eva, says("one"));
        accept.idempotency = Some(promise(test, body));
        accept
    };
    let first = with("b1");
    test.store.accept(&first).await.unwrap();
    assert_eq!(test.store.accept(&with("b1")).await, Err(Refused::Duplicate(first.run)));
    assert_eq!(test.store.accept(&with("b2")).await, Err(Refused::IdempotencyMismatch));
    // A refused turn keeps no key.
    let mut other = turn(test, eva, says("two"));
    other.idempotency = Some(askback::domain::chat::Idempotency { key: "other".into(), ..promise(test, "b1") });
    assert_eq!(test.store.accept(&other).await, Err(Refused::Busy(first.run)));
    assert_eq!(test.store.accept(&other).await, Err(Refused::Busy(first.run)));
    // After its time the key is free.
    test.clock.forward(Duration::from_secs(60));
    assert_eq!(test.store.accept(&with("b2")).await, Err(Refused::Busy(first.run)));
}

async fn a_fenced_owner_ends_nothing(test: &mut TestStore) {
    let eva = someone(test, "eva").await;
    let running = begin(test, eva, says("one")).await;
    let stranger = Finish { owner: "node:other".into(), ..running.end(RunStatus::Completed, "false") };
    assert!(matches!(test.store.finish(&stranger).await, Err(StoreError::Conflict(_))));
    let before = test.store.session(eva, "s").await.unwrap();
    assert_eq!(before.running_run, Some(running.accept.run));
    assert_eq!(told(test, eva, running.accept.message).await[1], (2, String::new(), "running"));
    running.answer(test, "true").await;
    let again = test.store.finish(&running.end(RunStatus::Failed, "late")).await;
    assert!(matches!(again, Err(StoreError::Conflict(_))), "{again:?}");
    assert_eq!(told(test, eva, running.accept.message).await[1], (2, "true".into(), "completed"));
    let endless = test.store.finish(&running.end(RunStatus::Running, "x")).await;
    assert!(matches!(endless, Err(StoreError::Conflict(_))), "{endless:?}");
}

async fn the_log_is_read_back_in_order(test: &mut TestStore) {
    let eva = someone(test, "eva").await;
    let running = begin(test, eva, says("one")).await;
    let batches = [running.frames(1, 2, "{}\n{}\n"), running.frames(3, 3, "{\"好\":0}\n")];
    assert_eq!(test.store.log(&batches[..1]).await, Ok(Vec::new()));
    assert_eq!(test.store.log(&batches).await, Ok(Vec::new()), "a batch may be sent again");
    assert_eq!(test.store.run(eva, running.accept.run).await.unwrap().last_seq, 3);
    let last = running.frames(4, 5, "{}\n[DONE]\n");
    let finish = Finish { frames: last.clone(), ..running.end(RunStatus::Completed, "1") };
    test.store.finish(&finish).await.unwrap();
    let run = running.accept.run;
    let [first, second] = batches;
    assert_eq!(test.store.frames(run, 0, 10).await, Ok(vec![first, second.clone(), last.clone()]));
    assert_eq!(test.store.frames(run, 2, 1).await, Ok(vec![second]));
    assert_eq!(test.store.frames(run, 4, 10).await, Ok(vec![last]), "may begin before");
    assert_eq!(test.store.frames(run, 5, 10).await, Ok(Vec::new()));
    assert_eq!(test.store.run(eva, run).await.unwrap().last_seq, 5);
}

async fn frames_after_the_end_are_dropped(test: &mut TestStore) {
    let eva = someone(test, "eva").await;
    let running = begin(test, eva, says("one")).await;
    let mut foreign = running.frames(1, 1, "{}\n");
    foreign.owner = "node:other".into();
    assert_eq!(test.store.log(&[foreign]).await, Ok(vec![running.accept.run]));
    running.answer(test, "1").await;
    assert_eq!(test.store.log(&[running.frames(1, 1, "{}\n")]).await, Ok(vec![running.accept.run]));
    assert_eq!(test.store.frames(running.accept.run, 0, 10).await, Ok(Vec::new()));
}

async fn a_dead_process_leaves_orphans(test: &mut TestStore) {
    let eva = someone(test, "eva").await;
    let lease = Duration::from_secs(60);
    test.store.beat_process("node", "boot", lease).await.unwrap();
    let asked = begin(test, eva, says("one")).await;
    let question = asked.ask(test).await;
    let running = begin(test, eva, says("2")).await;
    test.store.log(&[running.frames(1, 1, "{}\n")]).await.unwrap();
    let trace = RagTrace { query: Some("two".into()), ..RagTrace::default() };
    let earlier = RagTrace { query: Some("one".into()), ..RagTrace::default() };
    let basis = |trace: &RagTrace, owner: &str| Basis {
        run: running.accept.run,
        owner: owner.into(),
        trace: Arc::new(trace.clone()),
    };
    test.store.rest(&[basis(&earlier, OWNER), basis(&trace, OWNER)]).await.unwrap();
    test.store.rest(&[basis(&earlier, "node:other")]).await.unwrap();
    assert_eq!(test.store.orphans().await, Ok(Vec::new()));
    let orphan = Orphan {
        run: running.accept.run,
        session: running.accepted.session.id,
        session_name: "s".into(),
        owner: OWNER.into(),
        human: running.accept.human,
        message: running.accept.message,
        earlier: None,
        taken: Some(question),
        trace: Some(trace),
    };
    test.store.beat_process("node", "boot", Duration::ZERO).await.unwrap();
    assert_eq!(test.store.orphans().await, Ok(vec![orphan.clone()]), "its lease ran out");
    test.store.beat_process("node", "boot", lease).await.unwrap();
    assert_eq!(test.store.orphans().await, Ok(Vec::new()));
    // The same node after a restart: what it ran is dead at once.
    test.store.beat_process("node", "boot2", lease).await.unwrap();
    assert_eq!(test.store.orphans().await, Ok(vec![orphan]));
    test.store.finish(&running.end(RunStatus::Interrupted, "as far as logged")).await.unwrap();
    assert_eq!(test.store.orphans().await, Ok(Vec::new()));
    let (pending, _) = test.store.pending(eva, question).await.unwrap();
    assert_eq!(pending.status, askback::domain::hitl::HitlStatus::Open);
    begin(test, eva, says("next")).await;
}

async fn a_stop_is_seen_by_the_owner(test: &mut TestStore) {
    let eva = someone(test, "eva").await;
    let running = begin(test, eva, says("one")).await;
    assert_eq!(test.store.stops(OWNER).await, Ok(Vec::new()));
    let run = test.store.request_stop(eva, running.accept.run, test.now()).await.unwrap();
    assert_eq!(run.status, RunStatus::Running);
    assert_eq!(test.store.request_stop(eva, running.accept.run, test.now()).await, Ok(run), "again: the same");
    assert_eq!(test.store.stops(OWNER).await, Ok(vec![running.accept.run]));
    assert_eq!(test.store.stops("node:other").await, Ok(Vec::new()));
    test.store.finish(&running.end(RunStatus::Stopped, "half")).await.unwrap();
    assert_eq!(test.store.stops(OWNER).await, Ok(Vec::new()));
}

async fn sessions_are_listed_newest_first_in_pages(test: &mut TestStore) {
    let eva = someone(test, "eva").await;
    for name in ["a", "b", "c", "d"] {
        let mut accept = turn(test, eva, says(name));
        accept.session_name = name.into();
        test.store.accept(&accept).await.unwrap();
        if name != "b" {
            test.clock.forward(Duration::from_millis(1));
        }
    }
    let mut seen = Vec::new();
    let mut after: Option<(Millis, SessionId)> = None;
    loop {
        let page = test.store.sessions(eva, after, 1).await.unwrap();
        let Some(last) = page.last() else { break };
        after = Some((last.updated_at, last.id));
        seen.extend(page.into_iter().map(|session| session.name));
    }
    assert_eq!(seen.len(), 4);
    assert_eq!((seen[0].as_str(), seen[3].as_str()), ("d", "a"));
    assert_eq!(seen.iter().map(String::as_str).collect::<BTreeSet<_>>(), BTreeSet::from(["a", "b", "c", "d"]));
    assert_eq!(test.store.sessions(eva, None, 10).await.unwrap().len(), 4);
}

async fn a_deleted_session_leaves_nothing(test: &mut TestStore) {
    let eva = someone(test, "eva").await;
    let asked = begin(test, eva, says("one")).await;
    test.store.log(&[asked.frames(1, 1, "{}\n")]).await.unwrap();
    let busy = test.store.delete_session(eva, "s").await;
    assert!(matches!(busy, Err(StoreError::Conflict(_))), "{busy:?}");
    let question = asked.ask(test).await;
    begin(test, eva, says("2")).await.answer(test, "…").await;
    test.store.delete_session(eva, "s").await.unwrap();
    assert_eq!(test.store.session(eva, "s").await, Err(StoreError::NotFound));
    assert_eq!(test.store.run(eva, asked.accept.run).await, Err(StoreError::NotFound));
    assert_eq!(test.store.message(eva, asked.accept.message).await, Err(StoreError::NotFound));
    assert_eq!(test.store.pending(eva, question).await, Err(StoreError::NotFound));
    assert_eq!(test.store.frames(asked.accept.run, 0, 10).await, Ok(Vec::new()));
    assert_eq!(test.store.delete_session(eva, "s").await, Err(StoreError::NotFound));
    assert!(begin(test, eva, says("anew")).await.accepted.first_turn);
}

async fn a_nul_does_not_fail_a_turn(test: &mut TestStore) {
    let eva = someone(test, "eva").await;
    let running = begin(test, eva, says("one")).await;
    let parts = vec![MessagePart::Reasoning { text: "a\0b".into() }];
    test.store.finish(&Finish { parts, ..running.end(RunStatus::Completed, "x\0y") }).await.unwrap();
    let read = test.store.message(eva, running.accept.message).await.unwrap();
    assert_eq!((read.content.as_str(), read.reasoning.as_deref()), ("x\u{fffd}y", Some("a\u{fffd}b")));
}

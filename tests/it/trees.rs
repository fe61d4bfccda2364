//! Conversations as trees: more of an answer, another answer, another wording.

use askback::{
    domain::{
        chat::{ChatStore, Extent, HistoryStore, HitlReply, Message, Refused},
        error::ModelError,
        hitl::HitlStatus,
        id::MessageId,
        model::Prompt,
        run::{RunKind, RunStatus},
    },
    services::chat::StartError,
};
use futures::{StreamExt, TryStreamExt};
use serde_json::json;

use crate::{
    contract::store::on_both_engines,
    support::{
        harness::{Harness, ScriptedSearch, asks, found, plain},
        model::{Say, ScriptedModel, calls, says},
        store::TestStore,
    },
};

on_both_engines! {
    a_stopped_answer_is_continued_without_a_seam,
    markers_mean_the_same_when_an_answer_goes_on,
    a_continuation_that_fails_takes_nothing_away,
    a_continuation_that_crashes_keeps_what_was_seen,
    what_a_crash_leaves_can_be_checked,
    what_cannot_be_continued_is_refused,
    a_dismissal_cannot_be_continued,
    another_answer_stands_beside_the_first,
    another_answer_that_says_nothing_leaves_the_first_shown,
    another_answer_that_says_nothing_moves_nobody,
    another_answer_is_made_under_the_conditions_of_one_that_is_gone,
    a_conversation_is_read_as_it_is_while_answers_go,
    a_message_without_an_answer_gets_one,
    another_wording_stands_beside_the_first,
    what_is_not_there_is_not_found,
    another_wording_of_a_reply_resumes_the_question_again,
    another_wording_resumes_a_question_that_was_left,
    another_answer_to_a_reply_resumes_the_question_again,
    an_answer_from_above_a_question_leaves_it_open,
    a_running_answer_is_shown_as_far_as_it_was_told,
    what_nobody_sees_is_not_said,
}

fn search_call() -> Vec<Say> {
    calls("search_knowledge_base", &json!({ "query": "How long is the warranty?" }))
}

/// Stops a turn as soon as it has said `text`.
async fn stop_after(harness: &Harness, mut turn: askback::services::chat::Turn, text: &str) {
    let mut said = String::new();
    while said != text {
        let frame = plain(&turn.watch.next().await.unwrap());
        said.push_str(frame["content"].as_str().unwrap_or_default());
        assert!(text.starts_with(&said), "{said:?}");
    }
    harness.chat.stop(harness.user.id, turn.run).await.unwrap();
}

async fn last_id(harness: &Harness) -> MessageId {
    harness.store.session(harness.user.id, &harness.session()).await.unwrap().active_leaf.unwrap()
}

async fn a_stopped_answer_is_continued_without_a_seam(test: &mut TestStore) {
    let model = ScriptedModel::new([
        [says(&["The warranty of ", "the Aurora"]), vec![Say::Hang]].concat(),
        [says(&["the ", "Aurora ", "X1 ", "is"]), vec![Say::Hang]].concat(),
        says(&["The warranty of the Aurora X1 is", " 24 months."]),
    ]);
    let harness = Harness::new(test, model, ScriptedSearch::new([])).await;
    stop_after(&harness, harness.start("How long?").await.unwrap(), "The warranty of the Aurora").await;
    assert_eq!(harness.history().await, ["Human: How long? (completed)", "Ai: The warranty of the Aurora (stopped)"]);
    let answer = last_id(&harness).await;
    stop_after(&harness, harness.from(RunKind::Continue(answer), "").await.unwrap(), " X1 is").await;
    assert_eq!(
        harness.history().await,
        ["Human: How long? (completed)", "Ai: The warranty of the Aurora X1 is (stopped)"]
    );
    let turn = harness.from(RunKind::Continue(answer), "").await.unwrap();
    let frames: Vec<_> = turn.watch.map(|frame| plain(&frame)).collect().await;
    let content: Vec<_> = frames.iter().filter(|frame| frame["type"] == "content").collect();
    assert_eq!((content[0]["content"].as_str(), content[0]["offset"].as_u64()), (Some(" 24 months."), Some(32)));
    assert_eq!(frames.last().unwrap()["message"]["response"], "The warranty of the Aurora X1 is 24 months.");
    assert_eq!(
        harness.history().await,
        ["Human: How long? (completed)", "Ai: The warranty of the Aurora X1 is 24 months. (completed)"]
    );
    assert_eq!(last_id(&harness).await, answer);
    let session = harness.store.session(harness.user.id, "s1").await.unwrap();
    assert_eq!(session.message_count, 2);
}

async fn markers_mean_the_same_when_an_answer_goes_on(test: &mut TestStore) {
    let model = ScriptedModel::new([
        search_call(),
        [says(&["It is 24 months [1]. "]), vec![Say::Hang]].concat(),
        says(&["Keep the receipt [2] or [7]."]),
    ]);
    let search = ScriptedSearch::new([found(&["The warranty is 24 months.", "Keep the receipt."])]);
    let harness = Harness::new(test, model, search).await;
    stop_after(&harness, harness.start("How long?").await.unwrap(), "It is 24 months [1].").await;
    let answer = last_id(&harness).await;
    let result = harness.from(RunKind::Continue(answer), "").await.unwrap().finish().await.unwrap();
    assert_eq!(result.response, "It is 24 months [1]. Keep the receipt [2] or.");
    assert_eq!(result.citations.iter().map(|citation| citation.marker).collect::<Vec<_>>(), [1, 2]);
    assert_eq!(result.rag_trace.unwrap().retrieved_chunks.unwrap().len(), 2);
    let stored = harness.store.message(harness.user.id, answer).await.unwrap();
    assert_eq!(stored.citations.len(), 2);
    assert!(stored.trace.is_some());
    let request = harness.model.seen().pop().unwrap();
    assert!(request.tools.is_empty(), "nothing is searched again");
    let [.., Prompt::User { .. }, Prompt::Assistant { content, .. }, Prompt::User { .. }] = &request.messages[..]
    else {
        panic!("{:?}", request.messages)
    };
    assert_eq!(content, "It is 24 months [1]. ");
}

async fn a_continuation_that_fails_takes_nothing_away(test: &mut TestStore) {
    let fails = |text| [says(&[text]), vec![Say::Fail(ModelError::Transient("down".into()))]].concat();
    let model = ScriptedModel::new([fails("It is"), fails(" 24"), says(&[" 24 months."])]);
    let harness = Harness::new(test, model, ScriptedSearch::new([])).await;
    harness.start("How long?").await.unwrap().finish().await.unwrap_err();
    let before = harness.history().await;
    assert_eq!(before, ["Human: How long? (completed)", "Ai: It is (failed)"]);
    let answer = last_id(&harness).await;
    let problem = harness.from(RunKind::Continue(answer), "").await.unwrap().finish().await.unwrap_err();
    assert_eq!(problem.code, "model_unavailable");
    assert_eq!(harness.history().await, before);
    let result = harness.from(RunKind::Continue(answer), "").await.unwrap().finish().await.unwrap();
    assert_eq!((result.response.as_str(), result.status), ("It is 24 months.", RunStatus::Completed));
}

async fn a_continuation_that_crashes_keeps_what_was_seen(test: &mut TestStore) {
    let model = ScriptedModel::new([says(&["It is"]), [says(&[" 24", " mon"]), vec![Say::Hang]].concat()]);
    let crashed = Harness::new(test, model, ScriptedSearch::new([])).await;
    crashed.ask("How long?").await;
    let answer = last_id(&crashed).await;
    let mut turn = crashed.from(RunKind::Continue(answer), "").await.unwrap();
    let mut said = String::new();
    while said != " 24 mon" {
        said.push_str(plain(&turn.watch.next().await.unwrap())["content"].as_str().unwrap_or_default());
    }
    let restarted = crashed.after_crash(ScriptedModel::new([says(&["ths."])]), ScriptedSearch::new([])).await;
    assert_eq!(restarted.history().await, ["Human: How long? (completed)", "Ai: It is 24 mon (interrupted)"]);
    let result = restarted.from(RunKind::Continue(answer), "").await.unwrap().finish().await.unwrap();
    assert_eq!(result.response, "It is 24 months.");
}

async fn what_a_crash_leaves_can_be_checked(test: &mut TestStore) {
    let model = ScriptedModel::new([search_call(), [says(&["It is 24 months [1]. "]), vec![Say::Hang]].concat()]);
    let search = ScriptedSearch::new([found(&["The warranty is 24 months.", "Keep the receipt."])]);
    let crashed = Harness::new(test, model, search).await;
    let mut turn = crashed.start("How long?").await.unwrap();
    while turn.watch.next().await.unwrap().kind != "content" {}
    let goes_on = says(&[" Keep the receipt [2] or [7]."]);
    let restarted = crashed.after_crash(ScriptedModel::new([goes_on]), ScriptedSearch::new([])).await;
    let answer = last_id(&restarted).await;
    let left = restarted.store.message(restarted.user.id, answer).await.unwrap();
    assert_eq!(left.citations.iter().map(|citation| citation.marker).collect::<Vec<_>>(), [1]);
    assert_eq!(left.trace.unwrap().retrieved_chunks.unwrap().len(), 2);
    let result = restarted.from(RunKind::Continue(answer), "").await.unwrap().finish().await.unwrap();
    assert_eq!(result.response, "It is 24 months [1]. Keep the receipt [2] or.");
    assert_eq!(result.citations.iter().map(|citation| citation.marker).collect::<Vec<_>>(), [1, 2]);
}

async fn what_cannot_be_continued_is_refused(test: &mut TestStore) {
    let model = ScriptedModel::new([says(&["Hello."]), says(&["Bye."]), search_call()]);
    let harness = Harness::new(test, model, ScriptedSearch::new([asks()])).await;
    let first = harness.ask("Hi").await;
    harness.ask("Bye").await;
    let asked = harness.ask("How long is the warranty?").await;
    let before = harness.history().await;
    for message in [first.message_id.unwrap(), asked.message_id.unwrap(), asked.user_message_id.unwrap()] {
        let refused = harness.from(RunKind::Continue(message), "").await.map(|_| ()).unwrap_err();
        assert!(matches!(refused, StartError::Refused(Refused::NotContinuable(_))), "{refused:?}");
    }
    let refused = harness.from(RunKind::Edit(first.message_id.unwrap()), "x").await.map(|_| ()).unwrap_err();
    assert!(matches!(refused, StartError::Refused(Refused::WrongMessage(_))), "{refused:?}");
    assert_eq!(harness.history().await, before);
    assert_eq!(harness.questions().await, [(1, "open")]);
}

async fn a_dismissal_cannot_be_continued(test: &mut TestStore) {
    let model = ScriptedModel::new([search_call(), search_call()]);
    let harness = Harness::new(test, model, ScriptedSearch::new([asks(), asks()])).await;
    for reply in ["never mind", "算了"] {
        harness.ask("How long is the warranty?").await;
        let dismissed = harness.ask(reply).await;
        let before = harness.history().await;
        let go_on = RunKind::Continue(dismissed.message_id.unwrap());
        let refused = harness.from(go_on, "").await.map(|_| ()).unwrap_err();
        assert!(matches!(refused, StartError::Refused(Refused::NotContinuable(_))), "{refused:?}");
        assert_eq!(harness.history().await, before);
    }
}

async fn another_answer_stands_beside_the_first(test: &mut TestStore) {
    let model = ScriptedModel::new([says(&["One."]), says(&["Two."]), says(&["Three."])]);
    let harness = Harness::new(test, model, ScriptedSearch::new([])).await;
    let first = harness.ask("Say a number.").await;
    let again = RunKind::Regenerate(first.message_id.unwrap());
    let mut submission = harness.submission("");
    submission.request.kind = again;
    submission.request.model = Some("other".into());
    let second = harness.chat.start(submission).await.unwrap().finish().await.unwrap();
    assert_eq!((second.response.as_str(), second.model.as_str()), ("Two.", "other"));
    assert_eq!((second.user_message_id, second.parent_id), (first.user_message_id, first.parent_id));
    assert_eq!(harness.model.seen()[1].model.as_deref(), Some("other"));
    assert_eq!(harness.history().await, ["Human: Say a number. (completed)", "Ai: Two. (completed)"]);
    let stored = harness.store.message(harness.user.id, second.message_id.unwrap()).await.unwrap();
    assert_eq!((stored.siblings, stored.parent), ((1, 2), first.user_message_id));
    let kept = harness.store.message(harness.user.id, first.message_id.unwrap()).await.unwrap();
    assert_eq!((kept.content.as_str(), kept.siblings), ("One.", (0, 2)));
    assert_eq!(harness.store.session(harness.user.id, "s1").await.unwrap().message_count, 3);
    assert_eq!(harness.ask("And another.").await.parent_id, second.message_id);
}

async fn another_answer_that_says_nothing_leaves_the_first_shown(test: &mut TestStore) {
    let thinks = vec![Say::Reasoning("hm".into()), Say::Hang];
    let model = ScriptedModel::new([says(&["One."]), thinks, says(&["Two."])]);
    let harness = Harness::new(test, model, ScriptedSearch::new([])).await;
    let first = harness.ask("Say a number.").await.message_id.unwrap();
    let mut turn = harness.from(RunKind::Regenerate(first), "").await.unwrap();
    while turn.watch.next().await.unwrap().kind != "reasoning" {}
    harness.chat.stop(harness.user.id, turn.run).await.unwrap();
    assert_eq!(last_id(&harness).await, first);
    let next = harness.ask("And another.").await;
    assert_eq!(next.parent_id, Some(first));
    let orders: Vec<i64> = {
        let (_, branch) = harness.store.conversation(harness.user.id, "s1", None, 10).await.unwrap();
        branch.iter().map(|message| message.ord).collect()
    };
    assert_eq!(orders, [1, 2, 3, 4], "no gap where nothing was said");
}

async fn another_answer_that_says_nothing_moves_nobody(test: &mut TestStore) {
    let fails = || vec![Say::Fail(ModelError::Transient("down".into()))];
    let dies = vec![Say::Reasoning("hm".into()), Say::Hang];
    let answers = ["One.", "Two.", "Three."].map(|text| says(&[text]));
    let model = ScriptedModel::new(answers.into_iter().chain([fails(), dies]));
    let harness = Harness::new(test, model, ScriptedSearch::new([])).await;
    let first = harness.ask("Say a number.").await.message_id.unwrap();
    harness.from(RunKind::Regenerate(first), "").await.unwrap().finish().await.unwrap();
    let mut further = harness.submission("And another.");
    further.request.parent = Some(first);
    let shown = harness.chat.start(further).await.unwrap().finish().await.unwrap().message_id.unwrap();
    // The newest answer to the first question is on another branch than the one that is looked at.
    harness.from(RunKind::Regenerate(first), "").await.unwrap().finish().await.unwrap_err();
    assert_eq!(last_id(&harness).await, shown);
    let mut turn = harness.from(RunKind::Regenerate(first), "").await.unwrap();
    while turn.watch.next().await.unwrap().kind != "reasoning" {}
    let restarted = harness.after_crash(ScriptedModel::new([]), ScriptedSearch::new([])).await;
    assert_eq!(last_id(&restarted).await, shown);
}

async fn another_answer_is_made_under_the_conditions_of_one_that_is_gone(test: &mut TestStore) {
    let model = ScriptedModel::always(says(&["Yes."]));
    let harness = Harness::new(test, model, ScriptedSearch::new([])).await;
    let mut submission = harness.submission("Is it?");
    submission.request.model = Some("other".into());
    submission.idempotency = Some(("key".into(), "body".into()));
    let first = harness.chat.start(submission.clone()).await.unwrap().finish().await.unwrap();
    harness.chat.delete_message(harness.user.id, "s1", first.message_id.unwrap()).await.unwrap();
    assert_eq!(harness.history().await, ["Human: Is it? (completed)"]);
    let same = harness.chat.start(submission).await.unwrap();
    assert_eq!(same.run, first.run_id, "an equal key is the same turn");
    assert_eq!(harness.history().await.len(), 1);
    let human = first.user_message_id.unwrap();
    let again = harness.from(RunKind::Regenerate(human), "").await.unwrap().finish().await.unwrap();
    assert_eq!(again.model, "other");
}

/// Answers that say nothing come and go while somebody reads.
async fn a_conversation_is_read_as_it_is_while_answers_go(test: &mut TestStore) {
    let fails = vec![Say::Fail(ModelError::Transient("down".into()))];
    let harness = Harness::new(test, ScriptedModel::always(fails), ScriptedSearch::new([])).await;
    harness.start("0").await.unwrap().finish().await.unwrap_err();
    let (chat, user) = (&harness.chat, harness.user.id);
    let (begins, ended) = (std::cell::Cell::new(0), std::cell::Cell::new(false));
    let talking = async {
        for no in 1..40 {
            begins.set(no);
            harness.start(&no.to_string()).await.unwrap().finish().await.unwrap_err();
        }
        ended.set(true);
    };
    let reading = async {
        while !ended.get() {
            let (before, conversation) = (begins.get(), chat.session(user, "s1", 1000).await.unwrap());
            let said: Vec<&str> = conversation.messages.iter().map(|message| message.content.as_str()).collect();
            assert!(said.len() >= before, "{said:?}");
            let (session, all) = chat.tree(user, "s1", 0, 1000).await.unwrap();
            assert!(all.iter().any(|message| Some(message.id) == session.active_leaf));
            for extent in [Extent::All, Extent::Shown] {
                let (session, pieces) = chat.whole(user, "s1", extent).await.unwrap();
                let whole: Vec<Message> = pieces.try_concat().await.unwrap();
                assert!(whole.iter().any(|message| Some(message.id) == session.active_leaf));
            }
        }
    };
    tokio::join!(talking, reading);
}

async fn a_message_without_an_answer_gets_one(test: &mut TestStore) {
    let fails = vec![Say::Fail(ModelError::Transient("down".into()))];
    let harness = Harness::new(test, ScriptedModel::new([fails, says(&["Now."])]), ScriptedSearch::new([])).await;
    harness.start("When?").await.unwrap().finish().await.unwrap_err();
    let question = last_id(&harness).await;
    let result = harness.from(RunKind::Regenerate(question), "").await.unwrap().finish().await.unwrap();
    assert_eq!((result.response.as_str(), result.user_message_id), ("Now.", Some(question)));
    assert_eq!(harness.history().await, ["Human: When? (completed)", "Ai: Now. (completed)"]);
}

async fn another_wording_stands_beside_the_first(test: &mut TestStore) {
    let model = ScriptedModel::new([says(&["One."]), says(&["Two."]), says(&["Three."])]);
    let harness = Harness::new(test, model, ScriptedSearch::new([])).await;
    let root = harness.ask("Say a number.").await;
    harness.ask("Another.").await;
    let edited = harness
        .from(RunKind::Edit(root.user_message_id.unwrap()), "Say a word.")
        .await
        .unwrap()
        .finish()
        .await
        .unwrap();
    assert_eq!((edited.response.as_str(), edited.parent_id), ("Three.", None));
    assert_eq!(harness.history().await, ["Human: Say a word. (completed)", "Ai: Three. (completed)"]);
    let stored = harness.store.message(harness.user.id, edited.user_message_id.unwrap()).await.unwrap();
    assert_eq!(stored.siblings, (1, 2));
    let kept = harness.store.message(harness.user.id, root.user_message_id.unwrap()).await.unwrap();
    assert_eq!((kept.content.as_str(), kept.siblings), ("Say a number.", (0, 2)));
    let seen = harness.model.seen().pop().unwrap();
    assert_eq!(seen.messages.len(), 2, "nothing of the other branch is told: {:?}", seen.messages);
}

async fn what_is_not_there_is_not_found(test: &mut TestStore) {
    let harness = Harness::new(test, ScriptedModel::new([says(&["One."])]), ScriptedSearch::new([])).await;
    let answer = harness.ask("Say a number.").await.message_id.unwrap();
    let nowhere: MessageId = test.id();
    harness.move_to("other");
    for kind in [RunKind::Edit(nowhere), RunKind::Regenerate(answer), RunKind::Continue(answer)] {
        let refused = harness.from(kind, "x").await.map(|_| ()).unwrap_err();
        assert_eq!(refused, StartError::Refused(Refused::NotFound));
    }
    assert!(harness.store.session(harness.user.id, "other").await.is_err(), "no session was made");
}

const MANUALS: [(&str, &str); 2] = [
    (
        "aurora-x1.md",
        "# Aurora X1 User Manual\n\n## Warranty\n\nThe warranty is 24 months from the date of purchase.\n",
    ),
    (
        "borealis-z9.md",
        "# Borealis Z9 User Manual\n\n## Warranty\n\nThe warranty is 36 months from the date of purchase.\n",
    ),
];

async fn another_wording_of_a_reply_resumes_the_question_again(test: &mut TestStore) {
    let model = ScriptedModel::new([search_call(), says(&["24 months [1]."]), says(&["36 months [1]."])]);
    let harness = Harness::over_files(test, model, &MANUALS).await;
    let view = harness.ask("How long is the warranty?").await.hitl.unwrap();
    let first = harness.ask("Aurora X1").await;
    assert_eq!(first.citations[0].filename, "aurora-x1.md");
    let wording = harness.from(RunKind::Edit(first.user_message_id.unwrap()), "the Borealis").await.unwrap();
    let second = wording.finish().await.unwrap();
    assert_eq!(second.citations[0].filename, "borealis-z9.md");
    assert!(second.rag_trace.unwrap().hitl_resumed);
    let (pending, moves) = harness.store.pending(harness.user.id, view.id).await.unwrap();
    assert_eq!((pending.status, pending.answered_by), (HitlStatus::Answered, first.user_message_id));
    let steps: Vec<(HitlStatus, HitlStatus)> = moves.iter().map(|step| (step.from, step.to)).collect();
    assert_eq!(
        steps,
        [
            (HitlStatus::Open, HitlStatus::Taken),
            (HitlStatus::Taken, HitlStatus::Answered),
            (HitlStatus::Answered, HitlStatus::Answered)
        ]
    );
}

async fn another_wording_resumes_a_question_that_was_left(test: &mut TestStore) {
    let harness = Harness::over_files(test, ScriptedModel::new([]), &MANUALS).await;
    for (reply, left, says_more) in [
        ("never mind", HitlStatus::Dismissed, vec![]),
        ("When is the support hotline open?", HitlStatus::Superseded, says(&["Monday to Friday."])),
    ] {
        harness.move_to(left.as_str());
        harness.model.then(search_call());
        let view = harness.ask("How long is the warranty?").await.hitl.unwrap();
        if !says_more.is_empty() {
            harness.model.then(says_more);
        }
        let first = harness.ask(reply).await;
        let mut of = first.user_message_id.unwrap();
        // Another wording, and another one of that.
        for (wording, file) in [("the Borealis", "borealis-z9.md"), ("Aurora X1", "aurora-x1.md")] {
            harness.model.then(says(&["It stands there [1]."]));
            let again = harness.from(RunKind::Edit(of), wording).await.unwrap().finish().await.unwrap();
            assert_eq!(again.citations[0].filename, file, "{reply}");
            assert!(again.rag_trace.unwrap().hitl_resumed);
            of = again.user_message_id.unwrap();
        }
        let (pending, moves) = harness.store.pending(harness.user.id, view.id).await.unwrap();
        assert_eq!((pending.status, pending.answered_by), (left, None));
        let steps: Vec<(HitlStatus, HitlStatus)> = moves.iter().map(|step| (step.from, step.to)).collect();
        let taken = HitlStatus::Taken;
        assert_eq!(steps, [(HitlStatus::Open, taken), (taken, left), (left, left), (left, left)]);
    }
}

async fn another_answer_to_a_reply_resumes_the_question_again(test: &mut TestStore) {
    let model = ScriptedModel::new([search_call(), says(&["36 months [1]."]), says(&["Three years [1]."])]);
    let harness = Harness::over_files(test, model, &MANUALS).await;
    let view = harness.ask("How long is the warranty?").await.hitl.unwrap();
    let borealis = view.option_list.iter().find(|option| option.label == "Borealis Z9").unwrap().id.clone();
    let chosen = HitlReply { id: Some(view.id), option_ids: vec![borealis], ..HitlReply::default() };
    let first = harness.reply("", chosen).await.unwrap().finish().await.unwrap();
    assert_eq!(first.citations[0].filename, "borealis-z9.md");
    let again = harness.from(RunKind::Regenerate(first.message_id.unwrap()), "").await.unwrap().finish().await.unwrap();
    assert_eq!((again.response.as_str(), again.citations[0].filename.as_str()), ("Three years [1].", "borealis-z9.md"));
    assert_eq!(again.user_message_id, first.user_message_id);
    assert_eq!(harness.questions().await, [(1, "answered")]);
}

async fn an_answer_from_above_a_question_leaves_it_open(test: &mut TestStore) {
    let model = ScriptedModel::new([search_call(), says(&["It depends."])]);
    let harness = Harness::new(test, model, ScriptedSearch::new([asks()])).await;
    let asked = harness.ask("How long is the warranty?").await;
    let question = asked.hitl.unwrap().id;
    let again = RunKind::Regenerate(asked.message_id.unwrap());
    let answered = harness.from(again, "").await.unwrap().finish().await.unwrap();
    assert_eq!(answered.response, "It depends.");
    assert_eq!(harness.questions().await, [], "the shown branch has none");
    assert_eq!(harness.store.pending(harness.user.id, question).await.unwrap().0.status, HitlStatus::Open);
}

async fn a_running_answer_is_shown_as_far_as_it_was_told(test: &mut TestStore) {
    let model = ScriptedModel::new([[says(&["It is "]), vec![Say::Hang]].concat()]);
    let harness = Harness::new(test, model, ScriptedSearch::new([])).await;
    let mut turn = harness.start("How long?").await.unwrap();
    while turn.watch.next().await.unwrap().kind != "content" {}
    assert_eq!(harness.history().await, ["Human: How long? (completed)", "Ai: It is (running)"]);
    let (chat, user) = (&harness.chat, harness.user.id);
    let told = |messages: Vec<Message>| messages.into_iter().map(|message| message.content).collect::<Vec<_>>();
    let expected = ["How long?", "It is"];
    assert_eq!(told(chat.tree(user, "s1", 0, 10).await.unwrap().1), expected);
    let (_, whole) = chat.whole(user, "s1", Extent::All).await.unwrap();
    assert_eq!(told(whole.try_concat().await.unwrap()), expected, "of the file with all branches");
    let (_, shown) = chat.whole(user, "s1", Extent::Shown).await.unwrap();
    assert_eq!(told(shown.try_concat().await.unwrap()), expected, "of the file for people");
    harness.chat.stop(harness.user.id, turn.run).await.unwrap();
}

async fn what_nobody_sees_is_not_said(test: &mut TestStore) {
    let model = ScriptedModel::new([says(&["a\0b\u{1b}[1m", "\u{202e}c\n\td"])]);
    let harness = Harness::new(test, model, ScriptedSearch::new([])).await;
    let told = harness.ask("Say it.").await;
    assert_eq!(told.response, "ab[1mc\n\td");
    assert_eq!(harness.store.message(harness.user.id, told.message_id.unwrap()).await.unwrap().content, told.response);
}

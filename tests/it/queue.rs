//! What a turn does when its session is busy: it is refused, waits in line, or stops the one that runs.

use std::{sync::Arc, time::Duration};

use askback::{
    domain::{
        chat::{ChatStore, HistoryStore, Message, MessageKind, OnBusy, OnDisconnect, QueueBounds, Refused},
        error::StoreError,
        id::{MessageId, RunId},
        run::{RunKind, RunStatus},
    },
    services::chat::{StartError, Turn},
};
use futures::{StreamExt, future::join_all};
use tokio::sync::Notify;

use crate::{
    contract::store::on_both_engines,
    support::{
        faults::{Fault, Held},
        harness::{Harness, ScriptedSearch, kinds, plain},
        model::{Say, ScriptedModel, says},
        store::TestStore,
    },
};

on_both_engines! {
    what_was_to_go_on_from_an_answer_that_is_gone_goes_on_from_its_question,
    a_session_in_which_a_turn_waits_is_not_deleted,
    twenty_at_once_are_refused_or_answered,
    twenty_at_once_are_answered_one_after_the_other,
    whoever_stops_a_turn_may_go_on_at_once,
    twenty_that_interrupt_each_other_lose_no_message,
    a_waiting_turn_can_be_watched_and_says_how_long_it_waited,
    a_waiting_turn_is_stopped_and_leaves_nothing,
    a_waiting_turn_whose_watcher_leaves_is_stopped_only_where_it_was_asked_for,
    an_interrupting_turn_stops_the_running_one_and_goes_before_the_line,
    of_those_that_interrupt_at_one_moment_the_newest_is_answered,
    of_those_that_interrupt_the_newest_is_answered_by_the_next_start,
    who_is_to_stop_interrupts_nobody,
    a_line_outlives_a_restart,
    a_process_that_ends_holds_nobody_who_waits,
    a_full_line_takes_no_more,
    a_waiting_turn_needs_no_place_until_it_begins,
    equal_keys_are_one_turn_in_line,
    a_turn_that_cannot_begin_fails_and_the_next_one_begins,
    a_line_is_served_by_whichever_process_comes_first,
    a_turn_of_another_process_is_interrupted,
    a_line_that_was_not_handed_over_is_found,
    a_turn_whose_place_in_line_was_not_told_runs_once,
}

async fn send(harness: &Harness, message: &str, on_busy: OnBusy) -> Result<Turn, StartError> {
    let mut submission = harness.submission(message);
    submission.request.on_busy = on_busy;
    harness.chat.start(submission).await
}

async fn messages(harness: &Harness) -> Vec<Message> {
    let (session, all) = harness.store.tree(harness.user.id, &harness.session(), 0, 1000).await.unwrap();
    assert_eq!(all.iter().map(|message| message.ord).collect::<Vec<_>>(), (1..=all.len() as i64).collect::<Vec<_>>());
    assert_eq!((session.running_run, session.message_count), (None, all.len() as i64));
    all
}

/// What the user said, in the order of the session.
async fn said(harness: &Harness) -> Vec<String> {
    let all = messages(harness).await;
    all.into_iter().filter(|message| message.kind == MessageKind::Human).map(|message| message.content).collect()
}

fn names(count: usize) -> Vec<String> {
    (0..count).map(|n| format!("message {n:02}")).collect()
}

async fn status(harness: &Harness, run: RunId) -> RunStatus {
    harness.chat.run(harness.user.id, run).await.unwrap().run.status
}

/// A model that waits at its first call, and what lets it go.
fn held(replies: usize) -> (Arc<ScriptedModel>, Arc<Notify>) {
    let gate = Arc::new(Notify::new());
    let first = vec![Say::Text("First".into()), Say::WaitFor(Arc::clone(&gate)), Say::Text(".".into())];
    let rest = (0..replies).map(|_| says(&["Yes."]));
    (ScriptedModel::new([first].into_iter().chain(rest)), gate)
}

/// A turn that has said its first word and is held there.
async fn holding(harness: &Harness) -> Turn {
    let mut turn = harness.start("first").await.unwrap();
    while turn.watch.next().await.unwrap().kind != "content" {}
    turn
}

async fn twenty_at_once_are_refused_or_answered(test: &mut TestStore) {
    let harness = Harness::new(test, ScriptedModel::always(says(&["Yes."])), ScriptedSearch::new([])).await;
    let texts = names(20);
    let sent = join_all(texts.iter().map(|text| send(&harness, text, OnBusy::Reject))).await;
    let mut answered = Vec::new();
    for (text, sent) in texts.into_iter().zip(sent) {
        match sent {
            Ok(turn) => {
                assert_eq!(turn.finish().await.unwrap().status, RunStatus::Completed);
                answered.push(text);
            }
            Err(error) => assert!(matches!(error, StartError::Refused(Refused::Busy(_))), "{error:?}"),
        }
    }
    let mut said = said(&harness).await;
    said.sort();
    assert!(!said.is_empty());
    assert_eq!(said, answered);
}

async fn whoever_stops_a_turn_may_go_on_at_once(test: &mut TestStore) {
    let (model, _gate) = held(1);
    let harness = Harness::new(test, model, ScriptedSearch::new([])).await;
    let mut first = harness.submission("first");
    first.request.on_disconnect = OnDisconnect::Cancel;
    let mut first = harness.chat.start(first).await.unwrap();
    while first.watch.next().await.unwrap().kind != "content" {}
    let run = first.run;
    let (reached, go) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    harness.faults.at("finish", 1, Fault::Hold { reached: Arc::clone(&reached), go: Arc::clone(&go) });
    // A page that only aborts its fetch.
    drop(first);
    reached.notified().await;
    // Its end is being written when the next message comes.
    let next = send(&harness, "next", OnBusy::Reject);
    let let_go = async {
        tokio::task::yield_now().await;
        go.notify_one();
    };
    let (next, ()) = tokio::join!(next, let_go);
    let next = next.unwrap().finish().await.unwrap();
    let stopped = harness.chat.run(harness.user.id, run).await.unwrap().result.unwrap();
    assert_eq!((stopped.status, stopped.response.as_str()), (RunStatus::Stopped, "First"));
    assert_eq!(next.parent_id, stopped.message_id);
}

async fn twenty_at_once_are_answered_one_after_the_other(test: &mut TestStore) {
    let harness = Harness::new(test, ScriptedModel::always(says(&["Yes."])), ScriptedSearch::new([])).await;
    let texts = names(20);
    let turns = join_all(texts.iter().map(async |text| {
        let turn = send(&harness, text, OnBusy::Enqueue).await.unwrap();
        turn.finish().await.unwrap()
    }));
    for (text, result) in texts.iter().zip(turns.await) {
        assert_eq!((result.status, result.response.as_str()), (RunStatus::Completed, "Yes."), "{text}");
        let human = harness.store.message(harness.user.id, result.user_message_id.unwrap()).await.unwrap();
        assert_eq!(&human.content, text);
    }
    let all = messages(&harness).await;
    assert_eq!(all.len(), 40);
    // One conversation: each message hangs on the one before it.
    for pair in all.windows(2) {
        assert_eq!(pair[1].parent, Some(pair[0].id));
    }
}

async fn twenty_that_interrupt_each_other_lose_no_message(test: &mut TestStore) {
    let harness = Harness::new(test, ScriptedModel::always(says(&["Yes."])), ScriptedSearch::new([])).await;
    let texts = names(20);
    let turns = join_all(texts.iter().map(async |text| {
        let turn = send(&harness, text, OnBusy::Interrupt).await.unwrap();
        turn.finish().await.unwrap()
    }));
    let ends: Vec<RunStatus> = turns.await.into_iter().map(|result| result.status).collect();
    assert!(ends.iter().all(|end| matches!(end, RunStatus::Completed | RunStatus::Stopped)), "{ends:?}");
    let mut said = said(&harness).await;
    said.sort();
    assert_eq!(said, texts);
}

async fn a_waiting_turn_can_be_watched_and_says_how_long_it_waited(test: &mut TestStore) {
    let (model, gate) = held(1);
    let harness = Harness::new(test, model, ScriptedSearch::new([])).await;
    let first = holding(&harness).await;
    let mut second = send(&harness, "second", OnBusy::Enqueue).await.unwrap();
    let frame = plain(&second.watch.next().await.unwrap());
    assert_eq!((frame["seq"].as_u64(), frame["session_id"].as_str()), (Some(1), Some("s1")));
    assert_eq!(status(&harness, second.run).await, RunStatus::Queued);
    let mut other = harness.chat.watch(harness.user.id, second.run, 0).await.unwrap();
    assert_eq!(plain(&other.next().await.unwrap()), frame);
    assert!(!harness.history().await.concat().contains("second"));

    harness.clock.forward(Duration::from_millis(1_500));
    gate.notify_one();
    let rest: Vec<_> = second.watch.by_ref().map(|frame| plain(&frame)).collect().await;
    assert_eq!(kinds(&rest), ["rag_step", "content", "message"]);
    assert!(rest[0]["message_id"].is_string() && rest[0]["user_message_id"].is_string());
    assert_eq!(other.map(|frame| plain(&frame)).collect::<Vec<_>>().await, rest);
    let seqs: Vec<u64> = rest.iter().map(|frame| frame["seq"].as_u64().unwrap()).collect();
    assert_eq!(seqs, (2..2 + rest.len() as u64).collect::<Vec<_>>());
    let result = harness.chat.run(harness.user.id, second.run).await.unwrap().result.unwrap();
    assert_eq!(result.timings.queue_ms, 1_500);
    assert!(result.timings.total_ms >= 1_500);
    drop(first);
    assert_eq!(harness.history().await[2..], ["Human: second (completed)", "Ai: Yes. (completed)"]);
}

async fn a_waiting_turn_is_stopped_and_leaves_nothing(test: &mut TestStore) {
    let (model, gate) = held(0);
    let harness = Harness::new(test, model, ScriptedSearch::new([])).await;
    let first = holding(&harness).await;
    let second = send(&harness, "second", OnBusy::Enqueue).await.unwrap();
    let stopped = harness.chat.stop(harness.user.id, second.run).await.unwrap();
    assert_eq!(stopped.run.status, RunStatus::Stopped);
    let result = stopped.result.unwrap();
    assert_eq!((result.message_id, result.user_message_id, result.response.as_str()), (None, None, ""));
    let again = harness.chat.stop(harness.user.id, second.run).await.unwrap();
    assert_eq!(again.result.as_ref(), Some(&result));
    assert_eq!(second.finish().await.unwrap(), result);
    gate.notify_one();
    first.finish().await.unwrap();
    assert_eq!(said(&harness).await, ["first"]);
}

async fn a_waiting_turn_whose_watcher_leaves_is_stopped_only_where_it_was_asked_for(test: &mut TestStore) {
    let (model, gate) = held(1);
    let harness = Harness::new(test, model, ScriptedSearch::new([])).await;
    let first = holding(&harness).await;
    let stays = send(&harness, "stays", OnBusy::Enqueue).await.unwrap().run;
    let mut submission = harness.submission("leaves");
    submission.request.on_busy = OnBusy::Enqueue;
    submission.request.on_disconnect = OnDisconnect::Cancel;
    let leaves = harness.chat.start(submission).await.unwrap().run;
    let ended = harness.chat.watch(harness.user.id, leaves, 0).await.unwrap();
    assert_eq!(kinds(&ended.map(|frame| plain(&frame)).collect::<Vec<_>>().await), ["rag_step", "message"]);
    assert_eq!(status(&harness, leaves).await, RunStatus::Stopped);
    assert_eq!(status(&harness, stays).await, RunStatus::Queued);
    gate.notify_one();
    first.finish().await.unwrap();
    harness.log(stays).await;
    assert_eq!(said(&harness).await, ["first", "stays"]);
}

async fn an_interrupting_turn_stops_the_running_one_and_goes_before_the_line(test: &mut TestStore) {
    let (model, _gate) = held(3);
    let harness = Harness::new(test, model, ScriptedSearch::new([])).await;
    let first = holding(&harness).await;
    let waits = send(&harness, "waits", OnBusy::Enqueue).await.unwrap();
    let waits_too = send(&harness, "waits too", OnBusy::Enqueue).await.unwrap();
    let interrupts = send(&harness, "interrupts", OnBusy::Interrupt).await.unwrap();
    let refused = send(&harness, "refused", OnBusy::Reject).await.map(|_| ()).unwrap_err();
    assert!(matches!(refused, StartError::Refused(Refused::Busy(_))), "{refused:?}");
    let stopped = first.finish().await.unwrap();
    assert_eq!((stopped.status, stopped.response.as_str()), (RunStatus::Stopped, "First"));
    for turn in [interrupts, waits, waits_too] {
        assert_eq!(turn.finish().await.unwrap().status, RunStatus::Completed);
    }
    assert_eq!(said(&harness).await, ["first", "interrupts", "waits", "waits too"]);
}

/// Three that interrupt, in line behind one whose end is being written, and one that only waits; and what lets them go.
async fn interrupting(harness: &Harness) -> (Vec<Turn>, Held) {
    let end = harness.faults.hold("finish", 1);
    drop(holding(harness).await);
    let mut turns = vec![send(harness, "waits", OnBusy::Enqueue).await.unwrap()];
    for text in ["one", "two", "three"] {
        turns.push(send(harness, text, OnBusy::Interrupt).await.unwrap());
    }
    end.reached().await;
    (turns, end)
}

const NEWEST_ANSWERED: [(&str, RunStatus, &str); 4] = [
    ("one", RunStatus::Stopped, ""),
    ("two", RunStatus::Stopped, ""),
    ("three", RunStatus::Completed, "Yes."),
    ("waits", RunStatus::Completed, "Yes."),
];

async fn of_those_that_interrupt_at_one_moment_the_newest_is_answered(test: &mut TestStore) {
    let (model, _gate) = held(2);
    let harness = Harness::new(test, model, ScriptedSearch::new([])).await;
    let (mut turns, end) = interrupting(&harness).await;
    end.let_go();
    turns.rotate_left(1);
    for (turn, (text, status, response)) in turns.into_iter().zip(NEWEST_ANSWERED) {
        let result = turn.finish().await.unwrap();
        assert_eq!((result.status, result.response.as_str()), (status, response), "{text}");
    }
    assert_eq!(said(&harness).await, ["first", "one", "two", "three", "waits"]);
}

async fn of_those_that_interrupt_the_newest_is_answered_by_the_next_start(test: &mut TestStore) {
    let (model, _gate) = held(0);
    let crashed = Harness::new(test, model, ScriptedSearch::new([])).await;
    let (mut turns, _end) = interrupting(&crashed).await;
    let model = ScriptedModel::new([says(&["Yes."]), says(&["Yes."])]);
    let restarted = crashed.after_crash(model, ScriptedSearch::new([])).await;
    turns.rotate_left(1);
    for (turn, (text, status, response)) in turns.iter().zip(NEWEST_ANSWERED) {
        restarted.log(turn.run).await;
        let result = restarted.chat.run(restarted.user.id, turn.run).await.unwrap().result.unwrap();
        assert_eq!((result.status, result.response.as_str()), (status, response), "{text}");
    }
    assert_eq!(said(&restarted).await, ["first", "one", "two", "three", "waits"]);
}

async fn who_is_to_stop_interrupts_nobody(test: &mut TestStore) {
    let (model, _gate) = held(2);
    let harness = Harness::new(test, model, ScriptedSearch::new([])).await;
    let (turns, end) = interrupting(&harness).await;
    let newest = turns[3].run;
    harness.store.request_stop(harness.user.id, newest, test.now()).await.unwrap();
    end.let_go();
    let mut ends = Vec::new();
    for turn in turns {
        ends.push(turn.finish().await.unwrap().status);
    }
    use RunStatus::{Completed, Stopped};
    assert_eq!(ends, [Completed, Stopped, Completed, Stopped]);
    assert_eq!(said(&harness).await, ["first", "one", "two", "waits"]);
}

async fn a_line_outlives_a_restart(test: &mut TestStore) {
    let (model, _gate) = held(0);
    let crashed = Harness::new(test, model, ScriptedSearch::new([])).await;
    let _first = holding(&crashed).await;
    let mut runs = Vec::new();
    for text in ["second", "third"] {
        runs.push(send(&crashed, text, OnBusy::Enqueue).await.unwrap().run);
    }
    let restarted = crashed.after_crash(ScriptedModel::always(says(&["Yes."])), ScriptedSearch::new([])).await;
    for run in runs {
        let log = restarted.log(run).await;
        assert_eq!(log.last().unwrap()["message"]["status"], "completed");
    }
    assert_eq!(said(&restarted).await, ["first", "second", "third"]);
}

async fn a_process_that_ends_holds_nobody_who_waits(test: &mut TestStore) {
    let (model, _gate) = held(1);
    let harness = Harness::new(test, model, ScriptedSearch::new([])).await;
    let _first = holding(&harness).await;
    let second = send(&harness, "second", OnBusy::Enqueue).await.unwrap();
    let third = send(&harness, "third", OnBusy::Enqueue).await.unwrap();
    let (run, watch, last) = (second.run, second.watch, third.run);
    harness.chat.shutdown(Duration::ZERO).await;
    assert_eq!(third.finish().await.unwrap_err().code, "shutting_down");
    let seen: Vec<_> = watch.map(|frame| plain(&frame)).collect().await;
    assert_eq!(kinds(&seen), ["rag_step"], "cut, not ended");
    let next = harness.restarted().await;
    let log = next.log(run).await;
    assert_eq!(log[..1], seen);
    assert_eq!(log.last().unwrap()["message"]["status"], "completed");
    next.log(last).await;
    assert_eq!(said(&next).await, ["first", "second", "third"]);
}

async fn a_full_line_takes_no_more(test: &mut TestStore) {
    let (model, gate) = held(3);
    let harness = Harness::with(test, model, ScriptedSearch::new([]), |config| {
        config.queue = QueueBounds { session: 2, total: 3 };
    });
    let harness = harness.await;
    let first = holding(&harness).await;
    let mut turns = vec![first];
    for text in ["second", "third"] {
        turns.push(send(&harness, text, OnBusy::Enqueue).await.unwrap());
    }
    let full = send(&harness, "fourth", OnBusy::Enqueue).await.map(|_| ()).unwrap_err();
    assert_eq!(full, StartError::Refused(Refused::QueueFull));
    gate.notify_one();
    for turn in turns {
        turn.finish().await.unwrap();
    }
    assert_eq!(said(&harness).await, ["first", "second", "third"]);
}

async fn a_waiting_turn_needs_no_place_until_it_begins(test: &mut TestStore) {
    let (model, gate) = held(1);
    let harness = Harness::with(test, model, ScriptedSearch::new([]), |config| config.max_running = 1).await;
    let first = holding(&harness).await;
    let second = send(&harness, "second", OnBusy::Enqueue).await.unwrap();
    harness.move_to("s2");
    let refused = send(&harness, "elsewhere", OnBusy::Enqueue).await.map(|_| ()).unwrap_err();
    assert!(matches!(refused, StartError::Overloaded { .. }), "{refused:?}");
    harness.move_to("s1");
    gate.notify_one();
    first.finish().await.unwrap();
    assert_eq!(second.finish().await.unwrap().status, RunStatus::Completed);
}

async fn equal_keys_are_one_turn_in_line(test: &mut TestStore) {
    let (model, gate) = held(1);
    let harness = Harness::new(test, model, ScriptedSearch::new([])).await;
    let first = holding(&harness).await;
    let mut submission = harness.submission("once");
    submission.request.on_busy = OnBusy::Enqueue;
    submission.idempotency = Some(("key".into(), "body".into()));
    let turns = join_all((0..50).map(|_| harness.chat.start(submission.clone()))).await;
    let turns: Vec<Turn> = turns.into_iter().map(Result::unwrap).collect();
    assert!(turns.iter().all(|turn| turn.run == turns[0].run));
    gate.notify_one();
    first.finish().await.unwrap();
    let results = join_all(turns.into_iter().map(Turn::finish)).await;
    assert!(results.iter().all(|result| result == &results[0]));
    assert_eq!(said(&harness).await, ["first", "once"]);
}

async fn a_turn_that_cannot_begin_fails_and_the_next_one_begins(test: &mut TestStore) {
    let gate = Arc::new(Notify::new());
    let slow = vec![Say::Text("Slow".into()), Say::WaitFor(Arc::clone(&gate)), Say::Text(".".into())];
    let replies = [says(&["Root."]), slow, says(&["Reply."]), says(&["Last."])];
    let harness = Harness::new(test, ScriptedModel::new(replies), ScriptedSearch::new([])).await;
    let root = harness.ask("root").await;
    let answer = root.message_id.unwrap();
    let running = harness.from(RunKind::Edit(root.user_message_id.unwrap()), "other wording").await.unwrap();
    let mut reply = harness.submission("reply");
    reply.request.on_busy = OnBusy::Enqueue;
    reply.request.parent = Some(answer);
    let mut more = harness.submission("");
    more.request.on_busy = OnBusy::Enqueue;
    more.request.kind = RunKind::Continue(answer);
    let reply = harness.chat.start(reply).await.unwrap();
    let more = harness.chat.start(more).await.unwrap();
    let last = send(&harness, "last", OnBusy::Enqueue).await.unwrap();
    let run = more.run;
    gate.notify_one();
    running.finish().await.unwrap();
    assert_eq!(reply.finish().await.unwrap().response, "Reply.");
    let problem = more.finish().await.unwrap_err();
    assert_eq!((problem.status, problem.code.as_str()), (422, "not_continuable"));
    assert_eq!(status(&harness, run).await, RunStatus::Failed);
    assert_eq!(last.finish().await.unwrap().response, "Last.");
}

/// Who waits names an answer that was begun, and then says nothing.
async fn what_was_to_go_on_from_an_answer_that_is_gone_goes_on_from_its_question(test: &mut TestStore) {
    let thinks = || vec![Say::Reasoning("hm".into()), Say::Hang];
    let model = ScriptedModel::new([thinks(), says(&["Yes."]), thinks(), says(&["No."])]);
    let harness = Harness::new(test, model, ScriptedSearch::new([])).await;
    let begun = async || {
        let mut turn = harness.start("first").await.unwrap();
        while turn.watch.next().await.unwrap().kind != "reasoning" {}
        turn
    };
    let first = begun().await;
    let mut next = harness.submission("next");
    next.request.on_busy = OnBusy::Interrupt;
    next.request.parent = first.answer;
    let next = harness.chat.start(next).await.unwrap().finish().await.unwrap();
    assert_eq!((next.response.as_str(), next.status), ("Yes.", RunStatus::Completed));
    let stopped = first.finish().await.unwrap();
    assert_eq!(next.parent_id, stopped.user_message_id);

    let first = begun().await;
    let mut again = harness.submission("");
    again.request.on_busy = OnBusy::Interrupt;
    again.request.kind = RunKind::Regenerate(first.answer.unwrap());
    let again = harness.chat.start(again).await.unwrap().finish().await.unwrap();
    assert_eq!(again.response, "No.");
    assert_eq!(again.user_message_id, first.finish().await.unwrap().user_message_id);
}

async fn a_session_in_which_a_turn_waits_is_not_deleted(test: &mut TestStore) {
    let (model, gate) = held(1);
    let harness = Harness::new(test, model, ScriptedSearch::new([])).await;
    let first = holding(&harness).await;
    let root = first_message(&harness).await;
    // Nobody starts what waits.
    harness.faults.always("start", Fault::Fail);
    let waiting = send(&harness, "second", OnBusy::Enqueue).await.unwrap();
    gate.notify_one();
    first.finish().await.unwrap();
    let (chat, user, name) = (&harness.chat, harness.user.id, harness.session());
    assert!(matches!(chat.delete_session(user, &name).await, Err(StoreError::Conflict(_))));
    assert!(matches!(chat.delete_message(user, &name, root).await, Err(StoreError::Conflict(_))));
    chat.stop(user, waiting.run).await.unwrap();
    chat.delete_session(user, &name).await.unwrap();
}

/// The first message of the session.
async fn first_message(harness: &Harness) -> MessageId {
    harness.store.tree(harness.user.id, &harness.session(), 0, 1).await.unwrap().1[0].id
}

async fn a_line_is_served_by_whichever_process_comes_first(test: &mut TestStore) {
    let (model, gate) = held(2);
    let here = Harness::new(test, model, ScriptedSearch::new([])).await;
    let there = here.beside();
    let first = holding(&here).await;
    let second = send(&there, "second", OnBusy::Enqueue).await.unwrap();
    let stopped = send(&there, "stopped", OnBusy::Enqueue).await.unwrap();
    let third = send(&here, "third", OnBusy::Enqueue).await.unwrap();
    here.chat.stop(here.user.id, stopped.run).await.unwrap();
    assert_eq!(stopped.finish().await.unwrap().status, RunStatus::Stopped);
    gate.notify_one();
    first.finish().await.unwrap();
    for turn in [second, third] {
        assert_eq!(turn.finish().await.unwrap().response, "Yes.");
    }
    assert_eq!(said(&there).await, ["first", "second", "third"]);
}

async fn a_turn_of_another_process_is_interrupted(test: &mut TestStore) {
    let (model, _gate) = held(1);
    let here = Harness::new(test, model, ScriptedSearch::new([])).await;
    let there = here.beside();
    let first = holding(&here).await;
    let second = send(&there, "second", OnBusy::Interrupt).await.unwrap();
    assert_eq!(first.finish().await.unwrap().status, RunStatus::Stopped);
    assert_eq!(second.finish().await.unwrap().response, "Yes.");
    assert_eq!(said(&there).await, ["first", "second"]);
}

async fn a_line_that_was_not_handed_over_is_found(test: &mut TestStore) {
    let (model, gate) = held(1);
    let harness = Harness::new(test, model, ScriptedSearch::new([])).await;
    let first = holding(&harness).await;
    let second = send(&harness, "second", OnBusy::Enqueue).await.unwrap();
    harness.faults.at("start", 1, Fault::Fail);
    gate.notify_one();
    first.finish().await.unwrap();
    assert_eq!(second.finish().await.unwrap().status, RunStatus::Completed);
    assert_eq!(harness.faults.count("start"), 2);
}

async fn a_turn_whose_place_in_line_was_not_told_runs_once(test: &mut TestStore) {
    let (model, gate) = held(1);
    let harness = Harness::new(test, model, ScriptedSearch::new([])).await;
    let first = holding(&harness).await;
    let mut submission = harness.submission("second");
    submission.request.on_busy = OnBusy::Enqueue;
    submission.idempotency = Some(("key".into(), "body".into()));
    harness.faults.at("enqueue", 1, Fault::Lose);
    let lost = harness.chat.start(submission.clone()).await.map(|_| ()).unwrap_err();
    assert!(matches!(lost, StartError::Refused(Refused::Store(_))), "{lost:?}");
    let again = harness.chat.start(submission).await.unwrap();
    gate.notify_one();
    first.finish().await.unwrap();
    assert_eq!(again.finish().await.unwrap().status, RunStatus::Completed);
    assert_eq!(said(&harness).await, ["first", "second"]);
}

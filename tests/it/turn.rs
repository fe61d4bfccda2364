//! Turns from request to committed answer, with a scripted model.

use std::{sync::Arc, time::Duration};

use askback::{
    domain::{
        chat::{ChatStore, HitlAction, HitlReply, OnDisconnect, Refused},
        error::ModelError,
        hitl::HitlStatus,
        memory::MemoryStore,
        model::Prompt,
        run::RunStatus,
    },
    services::chat::StartError,
};
use futures::StreamExt;
use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::{
    contract::store::on_both_engines,
    support::{
        faults::Fault,
        harness::{Harness, ScriptedSearch, asks, found, kinds, nothing, plain},
        model::{Say, ScriptedModel, call, calls, says},
        store::TestStore,
    },
};

on_both_engines! {
    reasoning_is_shown_and_kept_apart,
    a_dense_side_that_fails_costs_no_answer,
    an_end_that_cannot_be_written_is_not_claimed,
    an_end_is_written_when_the_store_is_back,
    an_end_whose_commit_was_not_told_is_told,
    a_turn_whose_accept_was_not_told_holds_nothing,
    a_stop_waits_for_no_note,
    a_model_that_cannot_be_reached_fails_one_turn_only,
    a_whole_turn_frame_by_frame,
    the_log_replays_byte_by_byte_whatever_was_cut,
    done_means_that_the_turn_can_be_read_back,
    a_second_search_is_told_of_the_limit,
    passages_of_all_searches_are_numbered_on,
    what_a_new_question_names_is_given,
    a_model_that_always_calls_a_tool_ends_at_eight_steps,
    a_model_that_only_calls_tools_ends_with_a_sentence,
    wrong_calls_go_back_to_the_model_with_the_schema,
    asking_back_ends_the_turn_at_once,
    a_dismissal_needs_no_model,
    another_question_is_never_swallowed,
    a_failure_while_replying_opens_the_question_again,
    unknown_options_and_closed_questions_are_refused,
    white_space_alone_says_nothing,
    a_failed_model_keeps_what_was_said_and_the_next_turn_works,
    a_failure_before_a_word_leaves_only_the_question,
    a_failure_after_a_tools_result_leaves_no_empty_message,
    a_turn_out_of_time_fails,
    a_stopped_turn_keeps_what_was_said,
    stopping_before_a_word_leaves_no_message,
    leaving_stops_the_run_only_where_it_was_asked_for,
    a_caller_that_leaves_before_accept_leaves_nothing_stuck,
    of_two_at_once_one_is_refused,
    beyond_the_admission_limit_turns_are_refused,
    equal_keys_are_one_turn,
    a_store_that_fails_for_a_while_loses_nothing,
    nothing_is_shown_that_is_not_logged,
    what_is_anothers_does_not_exist,
    a_crash_ends_the_run_as_interrupted_with_what_was_seen,
    a_crash_while_replying_opens_the_question_again,
    shutdown_interrupts_what_does_not_end,
    a_note_is_kept_once_the_history_no_longer_fits,
    an_answer_resumes_retrieval_without_agent_and_plan,
    a_failed_resume_can_be_answered_again,
    what_is_not_in_the_documents_is_said_without_a_model,
}

fn search_call() -> Vec<Say> {
    calls("search_knowledge_base", &json!({ "query": "warranty" }))
}

fn text_of(frames: &[Value]) -> String {
    frames.iter().filter(|frame| frame["type"] == "content").map(|frame| frame["content"].as_str().unwrap()).collect()
}

/// What the model was told by tools, in all.
fn told(harness: &Harness) -> Vec<String> {
    let last = harness.model.seen().pop().unwrap();
    last.messages
        .into_iter()
        .filter_map(|message| match message {
            Prompt::Tool { content, .. } => Some(content),
            _ => None,
        })
        .collect()
}

async fn a_whole_turn_frame_by_frame(test: &mut TestStore) {
    let first = [says(&["Let me look."]), search_call()].concat();
    let model = ScriptedModel::new([first, says(&["24 months ", "[1", "] and [7] no more."])]);
    let harness = Harness::new(test, model, ScriptedSearch::new([found(&["The warranty is 24 months."])])).await;
    let frames = harness.frames("How long is the warranty?").await;
    let step = |icon: &str, label: &str, detail: &str| json!({ "icon": icon, "label": label, "detail": detail, "elapsed_ms": 0, "stage_elapsed_ms": 0 });
    let trace = frames[11]["rag_trace"].clone();
    assert_eq!(trace["retrieved_chunks"][0]["text"], "The warranty is 24 months.");
    assert_eq!(trace["model"], "scripted");
    let quote = "The warranty is 24 months.";
    let citation = json!({
        "marker": 1, "document_id": "<document_id>", "version": 1, "filename": "file1.md", "start": 0,
        "end": quote.len(), "quote": quote, "quote_sha256": frames[12]["message"]["citations"][0]["quote_sha256"],
        "removed": false,
    });
    assert_eq!(
        frames,
        [
            json!({ "type": "rag_step", "seq": 1, "session_id": "s1", "message_id": "<message_id>",
                    "user_message_id": "<user_message_id>", "step": step("📨", "Request received", "") }),
            json!({ "type": "session_title", "seq": 2, "title": "How long is the warranty", "session_id": "s1" }),
            json!({ "type": "rag_step", "seq": 3, "step": step("💭", "Thinking", "") }),
            json!({ "type": "content", "seq": 4, "content": "Let me look.", "offset": 0 }),
            json!({ "type": "content_reset", "seq": 5 }),
            json!({ "type": "tool_call", "seq": 6, "call": { "id": "c1", "name": "search_knowledge_base",
                    "arguments": { "query": "warranty" } } }),
            json!({ "type": "rag_step", "seq": 7, "step": step("🔍", "Searching", "warranty") }),
            json!({ "type": "tool_result", "seq": 8, "result": { "id": "c1", "name": "search_knowledge_base",
                    "status": "ok", "summary": "1 passages" } }),
            json!({ "type": "rag_step", "seq": 9, "step": step("💭", "Thinking", "") }),
            json!({ "type": "content", "seq": 10, "content": "24 months", "offset": 0 }),
            json!({ "type": "content", "seq": 11, "content": " [1] and no more.", "offset": 9 }),
            json!({ "type": "trace", "seq": 12, "rag_trace": trace }),
            json!({ "type": "message", "seq": 13, "message": {
                "response": "24 months [1] and no more.", "status": "completed", "session_id": "s1",
                "run_id": "<run_id>", "message_id": "<message_id>", "user_message_id": "<user_message_id>",
                "rag_trace": trace, "citations": [citation], "model": "scripted", "finish_reason": "stop",
                "usage": { "prompt_tokens": 20, "completion_tokens": 4 },
                "timings": { "queue_ms": 0, "retrieval_ms": 0, "first_token_ms": 0, "total_ms": 0 },
            } }),
        ]
    );
    assert_eq!(
        harness.history().await,
        ["Human: How long is the warranty? (completed)", "Ai: 24 months [1] and no more. (completed)"]
    );
}

async fn the_log_replays_byte_by_byte_whatever_was_cut(test: &mut TestStore) {
    let model = ScriptedModel::new([says(&["one ", "two ", "three"])]);
    let harness = Harness::new(test, model, ScriptedSearch::new([])).await;
    let turn = harness.start("hi").await.unwrap();
    let run = turn.run;
    let live: Vec<_> = turn.watch.collect().await;
    for after in 0..=live.len() {
        let seen = after as u64;
        let replayed: Vec<_> = harness.chat.watch(harness.user.id, run, seen).await.unwrap().collect().await;
        assert_eq!(replayed, live[after..]);
    }
}

async fn done_means_that_the_turn_can_be_read_back(test: &mut TestStore) {
    let model = ScriptedModel::always(says(&["yes"]));
    let harness = Harness::new(test, model, ScriptedSearch::new([])).await;
    for n in 1..=200_usize {
        let mut turn = harness.start(&format!("question {n}")).await.unwrap();
        while let Some(frame) = turn.watch.next().await {
            if frame.kind == "message" {
                let conversation = harness.chat.session(harness.user.id, "s1", 1000).await.unwrap();
                assert_eq!(conversation.messages.len(), 2 * n);
                assert_eq!(conversation.session.running_run, None);
            }
        }
    }
}

async fn a_second_search_is_told_of_the_limit(test: &mut TestStore) {
    let model = ScriptedModel::new([search_call(), search_call(), says(&["24 months [1]."])]);
    let harness = Harness::new(test, model, ScriptedSearch::new([found(&["24 months."])])).await;
    let result = harness.ask("How long is the warranty?").await;
    assert_eq!(result.response, "24 months [1].");
    assert!(told(&harness)[1].starts_with("TOOL_CALL_LIMIT_REACHED"));
    assert_eq!(*harness.search.queries.lock().unwrap(), ["warranty"]);
}

async fn passages_of_all_searches_are_numbered_on(test: &mut TestStore) {
    let search = |query: &str| calls("search_knowledge_base", &json!({ "query": query }));
    let model = ScriptedModel::new([
        search("How long is the warranty of the Aurora X1?"),
        search("How long is the warranty of the Borealis Z9?"),
        search("How long is the warranty of the Aurora X1 in Atlantis, says zebra 77?"),
    ]);
    let harness = Harness::over_files_with(test, model, &MANUALS, |config| config.knowledge_quota = 2).await;
    harness.model.then(says(&["24 months [1], 36 months [2], and [99]."]));
    let answered = harness.ask("How long are the warranties?").await;
    assert_eq!(answered.status, RunStatus::Completed);
    let results = told(&harness);
    let chunks = answered.rag_trace.unwrap().retrieved_chunks.unwrap();
    let first = results[0].lines().filter(|line| line.starts_with('[')).count();
    let headings: Vec<String> = results[..2]
        .iter()
        .flat_map(|result| result.lines().filter(|line| line.starts_with('[')))
        .map(|line| line.trim_end_matches(':').to_owned())
        .collect();
    assert!(first >= 1 && headings.len() > first, "{results:?}");
    let expected: Vec<String> = chunks.iter().zip(1..).map(|(chunk, n)| format!("[{n}] {}", chunk.filename)).collect();
    assert_eq!(headings, expected, "[n] is the n-th of retrieved_chunks");
    for citation in &answered.citations {
        assert_eq!(citation.filename, chunks[citation.marker as usize - 1].filename);
    }
    assert!(!answered.response.contains("[99]"));
}

async fn what_a_new_question_names_is_given(test: &mut TestStore) {
    let search = |query: &str| calls("search_knowledge_base", &json!({ "query": query }));
    let model = ScriptedModel::new([search("How long is the warranty?"), search("What does the warranty exclude?")]);
    let harness = Harness::over_files(test, model, &MANUALS).await;
    assert_eq!(harness.ask("How long is the warranty?").await.status, RunStatus::AwaitingInput);
    harness.model.then(says(&["Nothing."]));
    let answered = harness.ask("And what exactly does the warranty of the Borealis Z9 exclude from repair?").await;
    let trace = answered.rag_trace.unwrap();
    let verdict = trace.hitl_reply_verdict.clone().unwrap();
    assert_eq!(verdict["verdict"], "new_question", "{verdict}");
    assert_eq!(verdict["given"][0]["value"], "Borealis Z9");
    assert!(trace.search_query.unwrap().contains("Borealis Z9"));
}

async fn a_model_that_always_calls_a_tool_ends_at_eight_steps(test: &mut TestStore) {
    let model = ScriptedModel::always([says(&["It is 24 months [1]."]), search_call()].concat());
    let harness = Harness::new(test, model, ScriptedSearch::new([found(&["24 months."])])).await;
    let result = harness.ask("How long is the warranty?").await;
    assert_eq!((result.status, result.response.as_str()), (RunStatus::Completed, "It is 24 months [1]."));
    assert!(result.rag_trace.unwrap().step_limit);
    let requests = harness.model.seen();
    let with_tools: Vec<bool> = requests.iter().map(|request| !request.tools.is_empty()).collect();
    assert_eq!(with_tools, [true, true, true, true, false]);
}

async fn a_model_that_only_calls_tools_ends_with_a_sentence(test: &mut TestStore) {
    let model = ScriptedModel::always(search_call());
    let harness = Harness::new(test, model, ScriptedSearch::new([nothing()])).await;
    let result = harness.ask("保修期多久？").await;
    assert_eq!((result.status, result.response.as_str()), (RunStatus::Completed, "在文档中没有找到这个问题的答案。"));
}

async fn wrong_calls_go_back_to_the_model_with_the_schema(test: &mut TestStore) {
    let reply = vec![
        call("a", "search_knowledge_base", &json!({ "q": 1 })),
        call("b", "launch_rocket", &json!({})),
        Say::Call { id: "c".into(), name: "search_knowledge_base".into(), arguments: "{broken".into() },
    ];
    let model = ScriptedModel::new([reply, says(&["Sorry."])]);
    let harness = Harness::new(test, model, ScriptedSearch::new([])).await;
    let frames = harness.frames("hi").await;
    let statuses: Vec<&str> = frames.iter().filter_map(|frame| frame["result"]["status"].as_str()).collect();
    assert_eq!(statuses, ["error", "error", "error"]);
    let told = told(&harness);
    assert!(told[0].contains("`query` is missing") && told[0].contains("\"required\":[\"query\"]"));
    assert!(told[1].contains("no tool `launch_rocket`"));
    assert!(told[2].contains("not JSON"));
}

async fn asking_back_ends_the_turn_at_once(test: &mut TestStore) {
    let model = ScriptedModel::new([[says(&["One moment."]), search_call()].concat()]);
    let harness = Harness::new(test, model, ScriptedSearch::new([asks()])).await;
    let frames = harness.frames("How long is the warranty?").await;
    assert_eq!(
        kinds(&frames),
        [
            "rag_step",
            "session_title",
            "rag_step",
            "content",
            "content_reset",
            "tool_call",
            "rag_step",
            "tool_result",
            "trace",
            "hitl_request",
            "message"
        ]
    );
    let [.., trace, hitl, message] = frames.as_slice() else { panic!() };
    let (trace, hitl, message) = (&trace["rag_trace"], &hitl["hitl"], &message["message"]);
    assert_eq!(
        *hitl,
        json!({
            "id": "<id>", "prompt": "Which product do you mean?", "options": ["Aurora X1", "Borealis Z9"],
            "option_list": [{ "id": "00000001", "label": "Aurora X1", "evidence_count": 2 },
                            { "id": "00000002", "label": "Borealis Z9", "evidence_count": 2 }],
            "route": "scope_select", "retrieval_status": "needs_scope_selection",
            "original_question": "How long is the warranty?", "missing_slots": [], "round": 1, "max_rounds": 2,
            "expires_at": "2026-01-02T00:00:00.000Z", "status": "open",
        })
    );
    assert_eq!(message["hitl"], *hitl);
    assert_eq!(message["status"], "awaiting_input");
    assert_eq!(message["response"], "Which product do you mean?\n\n- Aurora X1\n- Borealis Z9");
    assert_eq!(trace["hitl_options"], json!(["Aurora X1", "Borealis Z9"]));
    assert_eq!((harness.model.seen().len(), harness.questions().await), (1, vec![(1, "open")]));
    let conversation = harness.chat.session(harness.user.id, "s1", 10).await.unwrap();
    assert_eq!(serde_json::to_value(conversation.pending.unwrap().options).unwrap(), hitl["options"]);
}

async fn a_dismissal_needs_no_model(test: &mut TestStore) {
    let model = ScriptedModel::always(search_call());
    let harness = Harness::new(test, model, ScriptedSearch::new([asks(), asks()])).await;
    let by_action = HitlReply { action: Some(HitlAction::Dismiss), ..HitlReply::default() };
    for (session, reply, hitl) in [("a", "never mind", None), ("b", "", Some(by_action))] {
        harness.move_to(session);
        harness.ask("How long is the warranty?").await;
        let calls = harness.model.seen().len();
        let mut submission = harness.submission(reply);
        submission.request.hitl = hitl;
        let result = harness.chat.start(submission).await.unwrap().finish().await.unwrap();
        assert_eq!(result.response, "All right, I will leave that question.");
        assert_eq!((harness.model.seen().len(), harness.questions().await), (calls, vec![(1, "dismissed")]));
    }
}

async fn another_question_is_never_swallowed(test: &mut TestStore) {
    let model = ScriptedModel::new([search_call(), says(&["Monday to Friday."])]);
    let harness = Harness::new(test, model, ScriptedSearch::new([asks()])).await;
    harness.ask("How long is the warranty?").await;
    let result = harness.ask("When is the support hotline open?").await;
    assert_eq!(result.response, "Monday to Friday.");
    assert_eq!(harness.questions().await, [(1, "superseded")]);
    let last = harness.model.seen().pop().unwrap().messages.pop().unwrap();
    assert_eq!(last, Prompt::User { content: "When is the support hotline open?".into() });
}

async fn a_failure_while_replying_opens_the_question_again(test: &mut TestStore) {
    let model = ScriptedModel::new([search_call(), vec![Say::Fail(ModelError::Timeout("t".into()))]]);
    let harness = Harness::new(test, model, ScriptedSearch::new([asks()])).await;
    harness.ask("How long is the warranty?").await;
    let problem = harness.start("When is the hotline open?").await.unwrap().finish().await.unwrap_err();
    assert_eq!((problem.status, problem.code.as_str()), (504, "model_timeout"));
    assert_eq!(harness.questions().await, [(1, "open")]);
}

async fn unknown_options_and_closed_questions_are_refused(test: &mut TestStore) {
    let harness = Harness::new(test, ScriptedModel::new([search_call()]), ScriptedSearch::new([asks()])).await;
    let hitl = harness.ask("How long is the warranty?").await.hitl.unwrap();
    let unknown = HitlReply { id: Some(hitl.id), option_ids: vec!["ffffffff".into()], ..HitlReply::default() };
    let refused = harness.reply("", unknown).await.map(|_| ()).unwrap_err();
    assert_eq!(
        refused,
        StartError::Refused(Refused::UnknownOption {
            option: "ffffffff".into(),
            valid: vec!["00000001".into(), "00000002".into()]
        })
    );
    harness.clock.forward(Duration::from_secs(24 * 60 * 60));
    let late = HitlReply { id: Some(hitl.id), option_ids: vec!["00000001".into()], ..HitlReply::default() };
    let refused = harness.reply("", late).await.map(|_| ()).unwrap_err();
    assert_eq!(refused, StartError::Refused(Refused::HitlExpired));
    assert_eq!(harness.history().await.len(), 2);
}

async fn white_space_alone_says_nothing(test: &mut TestStore) {
    let blank = [says(&["\n", " \n"]), vec![Say::Hang]].concat();
    let model = ScriptedModel::new([says(&[" \n\t", " "]), blank.clone(), blank]);
    let crashed = Harness::new(test, model, ScriptedSearch::new([])).await;
    let failed = crashed.start("one").await.unwrap();
    let run = failed.run;
    assert_eq!(failed.finish().await.unwrap_err().code, "model_bad_response");
    assert_eq!(crashed.chat.run(crashed.user.id, run).await.unwrap().run.message, None);
    let mut stopped = crashed.start("two").await.unwrap();
    while stopped.watch.next().await.unwrap().kind != "content" {}
    let result = crashed.chat.stop(crashed.user.id, stopped.run).await.unwrap().result.unwrap();
    assert_eq!((result.response.as_str(), result.message_id), ("", None));
    let mut interrupted = crashed.start("three").await.unwrap();
    while interrupted.watch.next().await.unwrap().kind != "content" {}
    let restarted = crashed.after_crash(ScriptedModel::new([]), ScriptedSearch::new([])).await;
    let said = ["Human: one (completed)", "Human: two (completed)", "Human: three (completed)"];
    assert_eq!(restarted.history().await, said);
}

async fn a_failed_model_keeps_what_was_said_and_the_next_turn_works(test: &mut TestStore) {
    let failing = [says(&["It is"]), vec![Say::Fail(ModelError::BadResponse("broken".into()))]].concat();
    let model = ScriptedModel::new([failing, says(&["24 months."])]);
    let harness = Harness::new(test, model, ScriptedSearch::new([])).await;
    let turn = harness.start("How long?").await.unwrap();
    let run = turn.run;
    let frames: Vec<Value> = turn.watch.map(|frame| plain(&frame)).collect().await;
    let error = frames.last().unwrap();
    assert_eq!(error["type"], "error");
    assert_eq!(
        error["error"],
        json!({
            "type": "about:blank", "title": "Bad Gateway", "status": 502, "code": "model_bad_response",
            "detail": "The model answered with something that cannot be read.", "request_id": "req",
            "run_id": "<run_id>", "session_id": "s1",
        })
    );
    assert_eq!(harness.chat.run(harness.user.id, run).await.unwrap().run.error.unwrap().code, "model_bad_response");
    assert_eq!(harness.ask("And now?").await.response, "24 months.");
    assert_eq!(
        harness.history().await,
        [
            "Human: How long? (completed)",
            "Ai: It is (failed)",
            "Human: And now? (completed)",
            "Ai: 24 months. (completed)"
        ]
    );
}

async fn a_failure_before_a_word_leaves_only_the_question(test: &mut TestStore) {
    for failure in [
        Say::Fail(ModelError::Transient("down".into())),
        Say::Fail(ModelError::RateLimited { retry_after: None }),
        Say::Panic,
    ] {
        let model = ScriptedModel::new([vec![failure], says(&["Here."])]);
        let harness = Harness::new(test, model, ScriptedSearch::new([])).await;
        harness.start("first").await.unwrap().finish().await.unwrap_err();
        harness.ask("second").await;
        assert_eq!(
            harness.history().await,
            ["Human: first (completed)", "Human: second (completed)", "Ai: Here. (completed)"]
        );
        let last = harness.model.seen().pop().unwrap().messages.pop().unwrap();
        assert_eq!(last, Prompt::User { content: "first\n\nsecond".into() });
    }
}

async fn a_failure_after_a_tools_result_leaves_no_empty_message(test: &mut TestStore) {
    let failing = vec![Say::Fail(ModelError::Transient("down".into()))];
    let model = ScriptedModel::new([search_call(), failing, says(&["24 months."])]);
    let harness = Harness::new(test, model, ScriptedSearch::new([found(&["24 months."])])).await;
    let problem = harness.start("How long?").await.unwrap().finish().await.unwrap_err();
    assert_eq!((problem.status, problem.code.as_str()), (502, "model_unavailable"));
    assert_eq!(harness.history().await, ["Human: How long? (completed)"]);
    assert_eq!(harness.ask("And now?").await.response, "24 months.");
}

async fn a_turn_out_of_time_fails(test: &mut TestStore) {
    let model = ScriptedModel::new([vec![Say::Hang]]);
    let search = ScriptedSearch::new([]);
    let harness = Harness::with(test, model, search, |config| config.turn_deadline = Duration::from_millis(1)).await;
    let problem = harness.start("How long?").await.unwrap().finish().await.unwrap_err();
    assert_eq!(problem.code, "turn_timeout");
    assert_eq!(harness.history().await, ["Human: How long? (completed)"]);
}

async fn a_stopped_turn_keeps_what_was_said(test: &mut TestStore) {
    let model = ScriptedModel::new([[says(&["It is"]), vec![Say::Hang]].concat()]);
    let harness = Harness::new(test, model, ScriptedSearch::new([])).await;
    let mut turn = harness.start("How long?").await.unwrap();
    let run = turn.run;
    while turn.watch.next().await.unwrap().kind != "content" {}
    let stopped = harness.chat.stop(harness.user.id, run).await.unwrap();
    assert_eq!((stopped.run.status, stopped.result.as_ref().unwrap().response.as_str()), (RunStatus::Stopped, "It is"));
    assert_eq!(harness.chat.stop(harness.user.id, run).await.unwrap(), stopped);
    assert_eq!(kinds(&turn.watch.map(|frame| plain(&frame)).collect::<Vec<_>>().await), ["message"]);
    assert_eq!(harness.history().await, ["Human: How long? (completed)", "Ai: It is (stopped)"]);
}

async fn stopping_before_a_word_leaves_no_message(test: &mut TestStore) {
    let model = ScriptedModel::new([vec![Say::Hang]]);
    let harness = Harness::new(test, model, ScriptedSearch::new([])).await;
    let turn = harness.start("How long?").await.unwrap();
    harness.chat.stop(harness.user.id, turn.run).await.unwrap();
    let result = turn.finish().await.unwrap();
    assert_eq!((result.status, result.response.as_str(), result.message_id), (RunStatus::Stopped, "", None));
    assert_eq!(harness.history().await, ["Human: How long? (completed)"]);
}

async fn leaving_stops_the_run_only_where_it_was_asked_for(test: &mut TestStore) {
    let gate = Arc::new(Notify::new());
    let waits = [vec![Say::WaitFor(Arc::clone(&gate))], says(&["Done."])].concat();
    let model = ScriptedModel::new([[says(&["It"]), vec![Say::Hang]].concat(), waits]);
    let harness = Harness::new(test, model, ScriptedSearch::new([])).await;
    let mut submission = harness.submission("one");
    submission.request.on_disconnect = OnDisconnect::Cancel;
    let mut turn = harness.chat.start(submission).await.unwrap();
    let (run, second) = (turn.run, harness.chat.watch(harness.user.id, turn.run, 0).await.unwrap());
    while turn.watch.next().await.unwrap().kind != "content" {}
    drop(turn);
    assert_eq!(harness.store.run(harness.user.id, run).await.unwrap().status, RunStatus::Running);
    drop(second);
    let log = harness.log(run).await;
    assert_eq!(log.last().unwrap()["message"]["status"], "stopped");
    let turn = harness.start("two").await.unwrap();
    let run = turn.run;
    drop(turn);
    gate.notify_one();
    let log = harness.log(run).await;
    assert_eq!(log.last().unwrap()["message"]["response"], "Done.");
}

async fn a_caller_that_leaves_before_accept_leaves_nothing_stuck(test: &mut TestStore) {
    let harness = Harness::new(test, ScriptedModel::always(says(&["Yes."])), ScriptedSearch::new([])).await;
    let (reached, go) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    harness.faults.at("accept", 1, Fault::Hold { reached: Arc::clone(&reached), go: Arc::clone(&go) });
    {
        let starting = harness.start("one");
        tokio::pin!(starting);
        tokio::select! {
            _ = &mut starting => panic!("accept is held"),
            () = reached.notified() => {}
        }
    }
    go.notify_one();
    // Whichever of the two came first, the session is free again, and nothing is half-written.
    let mut answers = 0;
    while answers == 0 {
        match harness.start("two").await {
            Ok(turn) => {
                turn.finish().await.unwrap();
                answers += 1;
            }
            Err(StartError::Refused(Refused::Busy(run))) => drop(harness.log(run).await),
            Err(other) => panic!("{other}"),
        }
    }
    assert!(harness.history().await.ends_with(&["Human: two (completed)".into(), "Ai: Yes. (completed)".into()]));
    let session = harness.chat.session(harness.user.id, "s1", 10).await.unwrap().session;
    assert_eq!(session.running_run, None);
}

async fn of_two_at_once_one_is_refused(test: &mut TestStore) {
    let gate = Arc::new(Notify::new());
    let model = ScriptedModel::new([vec![Say::WaitFor(Arc::clone(&gate)), Say::Text("One.".into())]]);
    let harness = Harness::new(test, model, ScriptedSearch::new([])).await;
    let (a, b) = tokio::join!(harness.start("a"), harness.start("b"));
    let (winner, loser) = match (a, b) {
        (Ok(turn), Err(error)) | (Err(error), Ok(turn)) => (turn, error),
        (a, b) => panic!("{:?} {:?}", a.is_ok(), b.is_ok()),
    };
    assert_eq!(loser, StartError::Refused(Refused::Busy(winner.run)));
    gate.notify_one();
    winner.finish().await.unwrap();
    assert_eq!(harness.history().await.len(), 2);
}

async fn beyond_the_admission_limit_turns_are_refused(test: &mut TestStore) {
    let model = ScriptedModel::new([vec![Say::Hang]]);
    let harness = Harness::with(test, model, ScriptedSearch::new([]), |config| config.max_running = 1).await;
    let turn = harness.start("one").await.unwrap();
    assert!(matches!(harness.start("two").await, Err(StartError::Overloaded { .. })));
    harness.chat.stop(harness.user.id, turn.run).await.unwrap();
}

async fn equal_keys_are_one_turn(test: &mut TestStore) {
    let harness = Harness::new(test, ScriptedModel::new([says(&["Once."])]), ScriptedSearch::new([])).await;
    let mut submission = harness.submission("hi");
    submission.idempotency = Some(("k".into(), "h1".into()));
    let first = harness.chat.start(submission.clone()).await.unwrap().finish().await.unwrap();
    let again = harness.chat.start(submission.clone()).await.unwrap().finish().await.unwrap();
    assert_eq!(first, again);
    submission.idempotency = Some(("k".into(), "h2".into()));
    let refused = harness.chat.start(submission).await.map(|_| ()).unwrap_err();
    assert_eq!(refused, StartError::Refused(Refused::IdempotencyMismatch));
}

async fn a_store_that_fails_for_a_while_loses_nothing(test: &mut TestStore) {
    let gate = Arc::new(Notify::new());
    let model =
        ScriptedModel::new([vec![Say::Text("one ".into()), Say::WaitFor(Arc::clone(&gate)), Say::Text("two".into())]]);
    let harness = Harness::new(test, model, ScriptedSearch::new([])).await;
    harness.faults.at("log", 2, Fault::Fail);
    harness.faults.at("finish", 1, Fault::Fail);
    harness.faults.at("finish", 2, Fault::Fail);
    let turn = harness.start("hi").await.unwrap();
    gate.notify_one();
    let run = turn.run;
    let live: Vec<Value> = turn.watch.map(|frame| plain(&frame)).collect().await;
    assert_eq!(text_of(&live), "one two");
    assert_eq!(harness.log(run).await, live);
    let seqs: Vec<u64> = live.iter().map(|frame| frame["seq"].as_u64().unwrap()).collect();
    assert_eq!(seqs, (1..=live.len() as u64).collect::<Vec<_>>());
}

async fn nothing_is_shown_that_is_not_logged(test: &mut TestStore) {
    let harness = Harness::new(test, ScriptedModel::new([says(&["a", "b", "c"])]), ScriptedSearch::new([])).await;
    let turn = harness.start("hi").await.unwrap();
    let (run, mut watch) = (turn.run, turn.watch);
    while let Some(frame) = watch.next().await {
        let stored = harness.store_log(run).await;
        let line = String::from_utf8(frame.json.to_vec()).unwrap();
        assert!(stored.contains(&line), "{line} was shown before it was logged");
    }
}

async fn what_is_anothers_does_not_exist(test: &mut TestStore) {
    let harness = Harness::new(test, ScriptedModel::new([says(&["Yes."])]), ScriptedSearch::new([])).await;
    let run = harness.ask("hi").await.run_id;
    let stranger = askback::domain::id::UserId::from_uuid(uuid::Uuid::from_u128(1));
    use askback::domain::error::StoreError::NotFound;
    assert_eq!(harness.chat.run(stranger, run).await.unwrap_err(), NotFound);
    assert_eq!(harness.chat.watch(stranger, run, 0).await.map(|_| ()).unwrap_err(), NotFound);
    assert_eq!(harness.chat.stop(stranger, run).await.unwrap_err(), NotFound);
    assert_eq!(harness.chat.session(stranger, "s1", 10).await.unwrap_err(), NotFound);
    assert_eq!(harness.chat.delete_session(stranger, "s1").await.unwrap_err(), NotFound);
}

async fn a_crash_ends_the_run_as_interrupted_with_what_was_seen(test: &mut TestStore) {
    let reply = [says(&["Let me ", "see."]), search_call()].concat();
    let model = ScriptedModel::new([reply, [says(&["It is ", "24"]), vec![Say::Hang]].concat()]);
    let crashed = Harness::new(test, model, ScriptedSearch::new([found(&["24 months."])])).await;
    let mut turn = crashed.start("How long?").await.unwrap();
    let mut seen = Vec::new();
    while !text_of(&seen).ends_with("24") {
        seen.push(plain(&turn.watch.next().await.unwrap()));
    }
    let model = ScriptedModel::new([says(&["Again."])]);
    let restarted = crashed.after_crash(model, ScriptedSearch::new([])).await;
    assert_eq!(restarted.history().await, ["Human: How long? (completed)", "Ai: It is 24 (interrupted)"]);
    let run = restarted.chat.run(restarted.user.id, turn.run).await.unwrap().run;
    assert_eq!((run.status, run.error.unwrap().code.as_str()), (RunStatus::Interrupted, "interrupted"));
    let log = restarted.log(turn.run).await;
    assert_eq!(log[..seen.len()], seen);
    assert_eq!(log.last().unwrap()["error"]["code"], "interrupted");
    assert_eq!(restarted.ask("Once more?").await.response, "Again.");
}

async fn a_crash_while_replying_opens_the_question_again(test: &mut TestStore) {
    let model = ScriptedModel::new([search_call(), vec![Say::Hang]]);
    let crashed = Harness::new(test, model, ScriptedSearch::new([asks()])).await;
    crashed.ask("How long is the warranty?").await;
    let _turn = crashed.start("When is the hotline open?").await.unwrap();
    assert_eq!(crashed.questions().await, [(1, "taken")]);
    let restarted = crashed.after_crash(ScriptedModel::new([]), ScriptedSearch::new([])).await;
    assert_eq!(restarted.questions().await, [(1, "open")]);
}

async fn shutdown_interrupts_what_does_not_end(test: &mut TestStore) {
    let model = ScriptedModel::new([[says(&["It is"]), vec![Say::Hang]].concat()]);
    let harness = Harness::new(test, model, ScriptedSearch::new([])).await;
    let mut turn = harness.start("How long?").await.unwrap();
    while turn.watch.next().await.unwrap().kind != "content" {}
    harness.chat.shutdown(Duration::ZERO).await;
    assert_eq!(harness.history().await, ["Human: How long? (completed)", "Ai: It is (interrupted)"]);
    assert!(matches!(harness.start("more").await, Err(StartError::Overloaded { .. })));
}

async fn a_note_is_kept_once_the_history_no_longer_fits(test: &mut TestStore) {
    let harness = Harness::new(test, ScriptedModel::always(says(&["Noted."])), ScriptedSearch::new([])).await;
    for n in 1..=3 {
        harness.ask(&format!("Question {n}?")).await;
    }
    let session = harness.store.session(harness.user.id, "s1").await.unwrap().id;
    assert_eq!(harness.store.note(session).await.unwrap(), None);
    harness.ask("Question 4?").await;
    let note = harness.store.note(session).await.unwrap().unwrap();
    assert_eq!((note.body.as_str(), note.upto_ord), ("Asked: Question 1?\nAnswered: Noted.", 2));
    harness.ask("Question 5?").await;
    let last = harness.model.seen().pop().unwrap();
    assert_eq!(last.messages.len(), 1 + 6 + 1);
    assert!(matches!(&last.messages[0], Prompt::System { content } if content.ends_with(&note.body)));
}

/// Two manuals that differ in what the question asks for.
const MANUALS: [(&str, &str); 2] = [
    (
        "aurora-x1.md",
        "# Aurora X1 manual\n\n## Warranty\n\nThe warranty of the Aurora X1 is 24 months from the date of purchase.\n\n\
         ## Battery\n\nThe battery of the Aurora X1 charges in two hours.\n",
    ),
    (
        "borealis-z9.md",
        "# Borealis Z9 manual\n\n## Warranty\n\nThe warranty of the Borealis Z9 is 36 months from the date of purchase.\n\n\
         ## Battery\n\nThe battery of the Borealis Z9 charges in five hours.\n",
    ),
];

async fn an_answer_resumes_retrieval_without_agent_and_plan(test: &mut TestStore) {
    let harness = Harness::over_files(test, ScriptedModel::new([]), &MANUALS).await;
    for (session, reply) in [("a", "2"), ("b", "Borealis Z9"), ("c", "the second one")] {
        harness.move_to(session);
        let before = harness.model.seen().len();
        harness.model.then(calls("search_knowledge_base", &json!({ "query": "How long is the warranty?" })));
        harness.model.then(says(&["The warranty is 36 months from the date of purchase [1]."]));
        let asked = harness.ask("How long is the warranty?").await;
        assert_eq!(asked.status, RunStatus::AwaitingInput);
        let view = asked.hitl.unwrap();
        let options: Vec<(&str, u32)> =
            view.option_list.iter().map(|option| (option.label.as_str(), option.evidence_count)).collect();
        assert_eq!(options, [("Aurora X1", 1), ("Borealis Z9", 1)]);

        let answered = harness.ask(reply).await;
        assert_eq!(answered.status, RunStatus::Completed);
        let cited: Vec<&str> = answered.citations.iter().map(|citation| citation.filename.as_str()).collect();
        assert_eq!(cited, ["borealis-z9.md"]);
        let trace = answered.rag_trace.unwrap();
        assert!(trace.hitl_resumed && !trace.tool_used);
        assert_eq!(trace.hitl_reply_verdict.unwrap()["verdict"], "answer");
        assert!(trace.retrieved_chunks.unwrap().iter().all(|chunk| chunk.filename == "borealis-z9.md"));
        assert_eq!(harness.questions().await, [(1, "answered")]);

        let requests = harness.model.seen().split_off(before);
        assert_eq!(requests.len(), 2, "one call asked the agent, one wrote the answer");
        assert!(requests[1].tools.is_empty());
        let Some(Prompt::User { content }) = requests[1].messages.last() else { panic!() };
        assert!(content.contains("[1] borealis-z9.md") && !content.contains("aurora-x1.md"), "{content}");
    }
}

async fn a_failed_resume_can_be_answered_again(test: &mut TestStore) {
    let ask = calls("search_knowledge_base", &json!({ "query": "How long is the warranty?" }));
    let failing = vec![Say::Fail(ModelError::Transient("down".into()))];
    let model = ScriptedModel::new([ask, failing, says(&["36 months [1]."])]);
    let harness = Harness::over_files(test, model, &MANUALS).await;
    let view = harness.ask("How long is the warranty?").await.hitl.unwrap();
    let chosen =
        HitlReply { id: Some(view.id), option_ids: vec![view.option_list[1].id.clone()], ..HitlReply::default() };
    let problem = harness.reply("", chosen.clone()).await.unwrap().finish().await.unwrap_err();
    assert_eq!(problem.code, "model_unavailable");
    assert_eq!(harness.questions().await, [(1, "open")]);
    let answered = harness.reply("", chosen.clone()).await.unwrap().finish().await.unwrap();
    assert_eq!((answered.response.as_str(), answered.citations.len()), ("36 months [1].", 1));
    let refused = harness.reply("", chosen).await.map(|_| ()).unwrap_err();
    assert_eq!(refused, StartError::Refused(Refused::HitlNotOpen(HitlStatus::Answered)));
}

async fn what_is_not_in_the_documents_is_said_without_a_model(test: &mut TestStore) {
    let ask = calls("search_knowledge_base", &json!({ "query": "How long is the warranty?" }));
    let harness = Harness::over_files(test, ScriptedModel::new([ask]), &MANUALS).await;
    harness.ask("How long is the warranty?").await;
    let answered = harness.ask("neither of them").await;
    assert_eq!(
        (answered.status, answered.response.as_str()),
        (RunStatus::Completed, "I could not find an answer to this in the documents.")
    );
    assert_eq!((harness.model.seen().len(), harness.questions().await), (1, vec![(1, "answered")]));
}

async fn reasoning_is_shown_and_kept_apart(test: &mut TestStore) {
    let thinks = |piece: &str| Say::Reasoning(piece.into());
    let model = ScriptedModel::new([[vec![thinks("用户"), thinks("问保修")], says(&["24 个月。"])].concat()]);
    let harness = Harness::new(test, model, ScriptedSearch::new([])).await;
    let frames = harness.frames("保修期多久？").await;
    let reasoning: Vec<&Value> = frames.iter().filter(|frame| frame["type"] == "reasoning").collect();
    assert_eq!(
        reasoning,
        [
            &json!({ "type": "reasoning", "seq": 4, "content": "用户", "offset": 0 }),
            &json!({ "type": "reasoning", "seq": 5, "content": "问保修", "offset": 2 }),
        ]
    );
    assert_eq!(text_of(&frames), "24 个月。");
    let conversation = harness.chat.session(harness.user.id, "s1", 10).await.unwrap();
    assert_eq!(conversation.messages[1].reasoning.as_deref(), Some("用户问保修"));
}

async fn a_model_that_cannot_be_reached_fails_one_turn_only(test: &mut TestStore) {
    let model = ScriptedModel::new([search_call(), says(&["Here."])]);
    let harness = Harness::new(test, model, ScriptedSearch::new([found(&["24 months."])])).await;
    harness.faults.at("stream", 2, Fault::Fail);
    let problem = harness.start("How long?").await.unwrap().finish().await.unwrap_err();
    assert_eq!(problem.code, "model_unavailable");
    assert_eq!(harness.ask("Once more?").await.response, "Here.");
    assert_eq!(harness.faults.count("stream"), 3);
}

async fn a_dense_side_that_fails_costs_no_answer(test: &mut TestStore) {
    let ask = calls("search_knowledge_base", &json!({ "query": "How fast does the Aurora X1 battery charge?" }));
    let harness = Harness::over_files(test, ScriptedModel::new([ask, says(&["In two hours [1]."])]), &MANUALS).await;
    harness.faults.always("query", Fault::Fail);
    let answered = harness.ask("How fast does the Aurora X1 battery charge?").await;
    assert_eq!((answered.status, answered.citations.len()), (RunStatus::Completed, 1));
    assert!(answered.rag_trace.unwrap().degraded);
}

async fn an_end_that_cannot_be_written_is_not_claimed(test: &mut TestStore) {
    let harness = Harness::new(test, ScriptedModel::new([says(&["Yes."])]), ScriptedSearch::new([])).await;
    harness.faults.always("finish", Fault::Fail);
    let turn = harness.start("hi").await.unwrap();
    let run = turn.run;
    let problem = turn.finish().await.unwrap_err();
    assert_eq!((problem.status, problem.code.as_str()), (503, "store_unavailable"));
    assert_eq!(harness.store.run(harness.user.id, run).await.unwrap().status, RunStatus::Running);
    harness.faults.heal("finish");
    harness.chat.shutdown(Duration::from_secs(60)).await;
    assert_eq!(harness.history().await, ["Human: hi (completed)", "Ai: Yes. (completed)"]);
}

async fn an_end_is_written_when_the_store_is_back(test: &mut TestStore) {
    let harness = Harness::new(test, ScriptedModel::new([says(&["Yes."])]), ScriptedSearch::new([])).await;
    harness.faults.always("finish", Fault::Fail);
    let turn = harness.start("hi").await.unwrap();
    let run = turn.run;
    turn.finish().await.unwrap_err();
    harness.faults.heal("finish");
    // Whoever watches on is told the whole end, by the process that kept it.
    let frames = harness.log(run).await;
    assert_eq!(
        (kinds(&frames), text_of(&frames)),
        (vec!["rag_step", "session_title", "rag_step", "content", "message"], "Yes.".into())
    );
    assert_eq!(harness.history().await, ["Human: hi (completed)", "Ai: Yes. (completed)"]);
}

async fn an_end_whose_commit_was_not_told_is_told(test: &mut TestStore) {
    let harness = Harness::new(test, ScriptedModel::new([says(&["Yes."])]), ScriptedSearch::new([])).await;
    harness.faults.at("finish", 1, Fault::Lose);
    let result = harness.ask("hi").await;
    assert_eq!((result.status, result.response.as_str()), (RunStatus::Completed, "Yes."));
    assert_eq!(harness.history().await, ["Human: hi (completed)", "Ai: Yes. (completed)"]);
}

async fn a_turn_whose_accept_was_not_told_holds_nothing(test: &mut TestStore) {
    let harness = Harness::new(test, ScriptedModel::new([]), ScriptedSearch::new([])).await;
    harness.faults.at("accept", 1, Fault::Lose);
    assert!(matches!(harness.start("hi").await, Err(StartError::Refused(Refused::Store(_)))));
    harness.faults.at("accept", 1, Fault::Fail);
    assert!(matches!(harness.start("never there").await, Err(StartError::Refused(Refused::Store(_)))));
    harness.chat.shutdown(Duration::from_secs(60)).await;
    assert_eq!(harness.history().await, ["Human: hi (completed)"]);
    let session = harness.store.session(harness.user.id, "s1").await.unwrap();
    assert_eq!(session.running_run, None);
}

async fn a_stop_waits_for_no_note(test: &mut TestStore) {
    let harness =
        Harness::new(test, ScriptedModel::new([(); 4].map(|()| says(&["Yes."]))), ScriptedSearch::new([])).await;
    // From the fourth turn on something leaves the history.
    for _ in 0..3 {
        harness.ask("hi").await;
    }
    let (reached, go) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    harness.faults.at("finish", 1, Fault::Hold { reached: Arc::clone(&reached), go: Arc::clone(&go) });
    let mut submission = harness.submission("hi");
    submission.request.on_disconnect = OnDisconnect::Cancel;
    let turn = harness.chat.start(submission).await.unwrap();
    reached.notified().await;
    let read = harness.faults.count("said");
    // Its only watcher leaves, which stops it, while its end is already being written.
    drop(turn);
    go.notify_one();
    harness.chat.shutdown(Duration::from_secs(60)).await;
    assert_eq!(harness.history().await, ["Human: hi (completed)", "Ai: Yes. (completed)"].repeat(4));
    assert_eq!(harness.faults.count("said"), read, "no turn has read the branch since");
}

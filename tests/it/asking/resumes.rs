//! What an answer leads to: straight back to the evidence, as it may be read now.

use askback::domain::{
    chat::{ChatStore, HitlReply, MessageStatus},
    error::ModelError,
    hitl::{
        HitlStatus::{self, Answered, Open, Superseded, Taken},
        HitlView,
    },
    knowledge::{DocumentStore, Readers},
    run::{RunKind, RunStatus},
};
use futures::StreamExt;
use serde_json::json;

use super::{CLEAR, QUESTION, ask_back, by_id, desk, option, over_manuals, stories};
use crate::{
    contract::store::on_both_engines,
    crash::MANUALS,
    support::{
        harness::Harness,
        model::{Say, calls, says},
        store::TestStore,
    },
};

on_both_engines! {
    what_was_answered_is_there_when_it_is_shown,
    an_answer_costs_one_call_and_no_search_of_the_agent,
    an_answer_under_one_key_is_given_once,
    the_same_question_is_not_put_twice,
    a_question_from_the_parts_is_answered_as_a_whole,
    each_part_goes_on_with_what_was_chosen_for_it,
    a_part_with_evidence_needs_no_question,
    what_may_not_be_read_any_more_is_not_told,
    what_was_deleted_is_not_found,
    of_several_choices_those_that_are_left_are_answered,
    what_was_replaced_is_read_anew,
    what_was_deleted_and_uploaded_anew_is_found,
    a_stopped_answer_can_be_given_again,
    an_answer_that_dies_can_be_given_again,
    a_failed_answer_can_be_given_again_in_other_words,
    a_broken_off_answer_that_is_continued_answers,
    what_was_broken_off_is_settled_as_it_was_meant,
}

/// askback's own words for it.
const GONE: &str = "I could not find an answer to this in the documents.";

async fn what_was_answered_is_there_when_it_is_shown(test: &mut TestStore) {
    let harness = over_manuals(test).await;
    let asked = ask_back(&harness).await;
    let mut turn = harness.start("2").await.unwrap();
    while turn.watch.next().await.unwrap().kind != "message" {}
    let shown = harness.chat.session(harness.user.id, "s1", 10).await.unwrap();
    let [question, asking, reply, answer] = &shown.messages[..] else { panic!("{:?}", shown.messages) };
    assert_eq!((question.content.as_str(), asking.status), (QUESTION, MessageStatus::AwaitingInput));
    assert_eq!((answer.status, answer.content.as_str()), (MessageStatus::Completed, "As it stands there [1]."));
    assert_eq!(answer.citations.len(), 1);
    assert_eq!(answer.citations[0].filename, "borealis-z9.md");
    assert!(answer.citations[0].quote.contains("36 months"), "{}", answer.citations[0].quote);
    assert!(answer.trace.as_ref().unwrap().hitl_resumed);
    assert_eq!(shown.pending, None);
    let (pending, _) = harness.store.pending(harness.user.id, asked.id).await.unwrap();
    assert_eq!((pending.status, pending.answered_by), (Answered, Some(reply.id)));
    assert_eq!(asking.pending.as_ref().map(|question| question.id), Some(asked.id));
}

async fn an_answer_costs_one_call_and_no_search_of_the_agent(test: &mut TestStore) {
    let harness = over_manuals(test).await;
    let asked = ask_back(&harness).await;
    let (calls, searches) = (harness.model.seen().len(), harness.faults.count("query"));
    let answered = harness.reply("", option(&asked, 2)).await.unwrap().finish().await.unwrap();
    assert_eq!(harness.model.seen().len(), calls + 1);
    assert_eq!(harness.faults.count("query"), searches + 1, "one search");
    assert!(harness.model.seen().pop().unwrap().tools.is_empty());
    let stored = harness.store.message(harness.user.id, answered.message_id.unwrap()).await.unwrap();
    assert!(stored.tool_calls.is_empty());
    let trace = answered.rag_trace.unwrap();
    assert_eq!((trace.tool_used, trace.complexity, trace.sub_questions), (false, None, Vec::new()));
    assert_eq!(harness.history().await.len(), 4);
    assert_eq!(harness.store.session(harness.user.id, "s1").await.unwrap().message_count, 4);
}

async fn an_answer_under_one_key_is_given_once(test: &mut TestStore) {
    let harness = over_manuals(test).await;
    let asked = ask_back(&harness).await;
    let mut submission = harness.submission("");
    submission.request.hitl = Some(option(&asked, 1));
    submission.idempotency = Some(("key".into(), "hash".into()));
    let first = harness.chat.start(submission.clone()).await.unwrap().finish().await.unwrap();
    let calls = harness.model.seen().len();
    let again = harness.chat.start(submission).await.unwrap().finish().await.unwrap();
    assert_eq!((again, harness.model.seen().len()), (first, calls));
    assert_eq!(harness.history().await.len(), 4);
}

async fn the_same_question_is_not_put_twice(test: &mut TestStore) {
    let harness = over_manuals(test).await;
    for (session, reply) in
        [("a", "whichever has the nicer colour"), ("b", "!!!"), ("c", "both of them, please"), ("d", "the warranty")]
    {
        harness.move_to(session);
        let mut asked = vec![ask_back(&harness).await];
        let last = loop {
            let reply = harness.reply(reply, by_id(asked.last().unwrap().id)).await.unwrap();
            let result = reply.finish().await.unwrap();
            match result.hitl {
                Some(question) => asked.push(question),
                None => break result,
            }
            assert!(asked.len() <= 2, "{asked:?}");
        };
        assert_eq!(last.status, RunStatus::Completed, "{session}");
        assert!(!last.response.trim().is_empty());
        if let [first, second] = &asked[..] {
            assert_ne!((&first.prompt, &first.options), (&second.prompt, &second.options));
            assert_eq!(second.round, 2);
        }
        assert!(stories(&harness).await.iter().all(|(status, _)| *status == Answered));
    }
}

const BOTH: &str = "How long is the warranty? And how long does the battery take to charge?";

async fn a_question_from_the_parts_is_answered_as_a_whole(test: &mut TestStore) {
    let harness = over_manuals(test).await;
    let result = harness.ask(BOTH).await;
    assert_eq!(result.rag_trace.as_ref().unwrap().sub_questions.len(), 2);
    let asked = result.hitl.expect("no part has evidence");
    assert_eq!((asked.original_question.as_str(), asked.options.len()), (BOTH, 2));
    let calls = harness.model.seen().len();
    let answered = harness.ask("Borealis Z9").await;
    let trace = answered.rag_trace.unwrap();
    assert_eq!((trace.complexity, trace.sub_questions, trace.sub_traces.len()), (None, Vec::new(), 0));
    assert_eq!((answered.status, harness.model.seen().len()), (RunStatus::Completed, calls + 1));
    let chunks = trace.retrieved_chunks.unwrap();
    assert!(chunks.iter().all(|chunk| chunk.filename == "borealis-z9.md"));
    for fact in ["36 months", "five hours"] {
        assert!(chunks.iter().any(|chunk| chunk.text.contains(fact)), "{fact}");
    }
}

async fn each_part_goes_on_with_what_was_chosen_for_it(test: &mut TestStore) {
    let plans = "# Care Plans\n\n| Plan | Price of a plan |\n|---|---|\n| Basic | 4 EUR |\n| Plus | 9 EUR |\n";
    let [first, second] = MANUALS;
    let harness = Harness::over_files(test, desk(), &[first, second, ("plans.md", plans)]).await;
    let asked = harness.ask("How long is the warranty? And how much is the plan?").await.hitl.expect("both are open");
    assert_eq!(asked.options, ["Aurora X1", "Borealis Z9", "Basic", "Plus"]);
    let calls = harness.model.seen().len();
    let answered = harness.ask("Borealis Z9 and Plus").await;
    assert_eq!((answered.status, answered.hitl, harness.model.seen().len()), (RunStatus::Completed, None, calls + 1));
    let chunks = answered.rag_trace.unwrap().retrieved_chunks.unwrap();
    assert!(chunks.iter().all(|chunk| ["borealis-z9.md", "plans.md"].contains(&chunk.filename.as_str())));
    for fact in ["36 months", "9 EUR"] {
        assert!(chunks.iter().any(|chunk| chunk.text.contains(fact)), "{fact}");
    }
    let request = harness.model.seen().pop().unwrap();
    let shown = request.messages.iter().map(|message| format!("{message:?}")).collect::<String>();
    for part in ["Part: How long is the warranty (Borealis Z9) [1]", "Part: how much is the plan (Plus) ["] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
}

async fn a_part_with_evidence_needs_no_question(test: &mut TestStore) {
    let harness = over_manuals(test).await;
    let result = harness.ask(&format!("How long is the warranty? And {}", CLEAR.to_lowercase())).await;
    assert_eq!((result.status, result.hitl), (RunStatus::Completed, None));
    assert_eq!(stories(&harness).await, []);
}

/// The two manuals, the second one in a collection of its own.
async fn in_two_collections(test: &TestStore) -> Harness {
    let [first, (name, text)] = MANUALS;
    let harness = Harness::over_files(test, desk(), &[first]).await;
    harness.shelve(&[(&format!("more/{name}"), text)]).await;
    harness
}

async fn what_may_not_be_read_any_more_is_not_told(test: &mut TestStore) {
    let harness = in_two_collections(test).await;
    let asked = ask_back(&harness).await;
    assert_eq!(asked.options, ["Aurora X1", "Borealis Z9"]);
    let nobody = Readers::Listed { users: Vec::new(), groups: Vec::new() };
    harness.store.set_readers("more", test.id(), &nobody, test.now()).await.unwrap();
    let calls = harness.model.seen().len();
    let answered = harness.reply("", option(&asked, 2)).await.unwrap().finish().await.unwrap();
    assert_eq!((answered.status, answered.response.as_str()), (RunStatus::Completed, GONE));
    assert!(answered.rag_trace.unwrap().retrieved_chunks.unwrap().is_empty());
    assert_eq!(harness.model.seen().len(), calls);
    assert_eq!(stories(&harness).await, [(Answered, vec![Open, Taken, Answered])]);
    // Of what may be read nothing is ambiguous any more.
    assert_eq!(harness.ask(QUESTION).await.citations[0].filename, "aurora-x1.md");
}

async fn what_was_deleted_is_not_found(test: &mut TestStore) {
    let harness = over_manuals(test).await;
    let asked = ask_back(&harness).await;
    let gone = harness.store.documents_named("borealis-z9.md", None).await.unwrap().remove(0);
    harness.store.delete_document(gone.id, test.now()).await.unwrap();
    let answered = harness.reply("", option(&asked, 2)).await.unwrap().finish().await.unwrap();
    assert_eq!((answered.status, answered.response.as_str()), (RunStatus::Completed, GONE));
}

async fn of_several_choices_those_that_are_left_are_answered(test: &mut TestStore) {
    let harness = in_two_collections(test).await;
    let both = |asked: &HitlView| {
        let option_ids = asked.option_list.iter().map(|option| option.id.clone()).collect();
        HitlReply { option_ids, ..by_id(asked.id) }
    };
    let withdrawn = ask_back(&harness).await;
    harness.move_to("s2");
    let deleted = ask_back(&harness).await;
    let nobody = Readers::Listed { users: Vec::new(), groups: Vec::new() };
    harness.store.set_readers("more", test.id(), &nobody, test.now()).await.unwrap();
    for (session, asked, language, said) in [
        ("s1", withdrawn, "", "Assumption: the documents on Borealis Z9 can no longer be read"),
        ("s2", deleted, "两个都要", "Assumption: Borealis Z9的文档已无法查阅"),
    ] {
        if session == "s2" {
            harness.store.set_readers("more", test.id(), &Readers::Everyone, test.now()).await.unwrap();
            let gone = harness.store.documents_named("borealis-z9.md", None).await.unwrap().remove(0);
            harness.store.delete_document(gone.id, test.now()).await.unwrap();
        }
        harness.move_to(session);
        let answered = if language.is_empty() {
            harness.reply("", both(&asked)).await.unwrap().finish().await.unwrap()
        } else {
            harness.ask(language).await
        };
        assert_eq!((answered.status, answered.hitl), (RunStatus::Completed, None), "{session}");
        assert_eq!(answered.citations[0].filename, "aurora-x1.md", "{session}: {}", answered.response);
        let request = format!("{:?}", harness.model.seen().pop().unwrap().messages);
        assert!(request.contains(said), "{session}: {request}");
    }
}

async fn what_was_replaced_is_read_anew(test: &mut TestStore) {
    let harness = over_manuals(test).await;
    let asked = ask_back(&harness).await;
    harness.shelve(&[("borealis-z9.md", &MANUALS[1].1.replace("36 months", "48 months"))]).await;
    let answered = harness.reply("", option(&asked, 2)).await.unwrap().finish().await.unwrap();
    let citation = &answered.citations[0];
    assert_eq!((citation.filename.as_str(), citation.version), ("borealis-z9.md", 2));
    assert!(citation.quote.contains("48 months"), "{}", citation.quote);
}

async fn what_was_deleted_and_uploaded_anew_is_found(test: &mut TestStore) {
    let harness = in_two_collections(test).await;
    let asked = ask_back(&harness).await;
    let gone = harness.store.documents_named("borealis-z9.md", None).await.unwrap().remove(0);
    harness.store.delete_document(gone.id, test.now()).await.unwrap();
    let lasting = |months: &str| MANUALS[1].1.replace("36 months", months);
    // Of two with its name the one that lies where it lay.
    for (name, months) in [("elsewhere/borealis-z9.md", "99 months"), ("more/borealis-z9.md", "48 months")] {
        harness.shelve(&[(name, &lasting(months))]).await;
    }
    let answered = harness.reply("", option(&asked, 2)).await.unwrap().finish().await.unwrap();
    assert!(answered.citations[0].quote.contains("48 months"), "{}", answered.citations[0].quote);
    let chunks = answered.rag_trace.unwrap().retrieved_chunks.unwrap();
    assert!(chunks.iter().all(|chunk| !chunk.text.contains("99 months")));
}

/// Begins to answer with the second option, until something was said.
async fn begin_to_answer(harness: &Harness, reply: HitlReply) -> askback::services::chat::Turn {
    harness.model.then([says(&["It stands"]), vec![Say::Hang]].concat());
    let mut turn = harness.reply("", reply).await.unwrap();
    while turn.watch.next().await.unwrap().kind != "content" {}
    assert_eq!(stories(harness).await, [(Taken, vec![Open, Taken])]);
    turn
}

/// Answers what was open again.
async fn answer_after(harness: &Harness, reply: HitlReply, told: MessageStatus) {
    assert_eq!(stories(harness).await, [(Open, vec![Open, Taken, Open])]);
    let answered = harness.reply("", reply).await.unwrap().finish().await.unwrap();
    assert_eq!((answered.status, answered.citations.len()), (RunStatus::Completed, 1));
    assert_eq!(stories(harness).await, [(Answered, vec![Open, Taken, Open, Taken, Answered])]);
    assert_eq!(harness.history().await[3], format!("Ai: It stands ({})", told.as_str()));
}

async fn a_stopped_answer_can_be_given_again(test: &mut TestStore) {
    let harness = over_manuals(test).await;
    let asked = ask_back(&harness).await;
    let turn = begin_to_answer(&harness, option(&asked, 2)).await;
    harness.chat.stop(harness.user.id, turn.run).await.unwrap();
    answer_after(&harness, option(&asked, 2), MessageStatus::Stopped).await;
}

async fn an_answer_that_dies_can_be_given_again(test: &mut TestStore) {
    let harness = over_manuals(test).await;
    let asked = ask_back(&harness).await;
    let _turn = begin_to_answer(&harness, option(&asked, 2)).await;
    let again = harness.crashed().await;
    answer_after(&again, option(&asked, 2), MessageStatus::Interrupted).await;
}

async fn a_failed_answer_can_be_given_again_in_other_words(test: &mut TestStore) {
    let harness = over_manuals(test).await;
    ask_back(&harness).await;
    harness.model.then(vec![Say::Fail(ModelError::Transient("down".into()))]);
    harness.start("Aurora X1").await.unwrap().finish().await.unwrap_err();
    let states = |history: &[HitlStatus]| history.to_vec();
    assert_eq!(stories(&harness).await, [(Open, states(&[Open, Taken, Open]))]);
    assert_eq!(harness.ask("no, the second one").await.citations[0].filename, "borealis-z9.md");
    assert_eq!(stories(&harness).await, [(Answered, states(&[Open, Taken, Open, Taken, Answered]))]);
}

async fn a_broken_off_answer_that_is_continued_answers(test: &mut TestStore) {
    let harness = over_manuals(test).await;
    let asked = ask_back(&harness).await;
    let turn = begin_to_answer(&harness, option(&asked, 2)).await;
    let stopped = harness.chat.stop(harness.user.id, turn.run).await.unwrap().result.unwrap();
    let go_on = RunKind::Continue(stopped.message_id.unwrap());
    // Another failure leaves it open for another try.
    harness.model.then(vec![Say::Fail(ModelError::Transient("down".into()))]);
    harness.from(go_on, "").await.unwrap().finish().await.unwrap_err();
    assert_eq!(stories(&harness).await[0].0, Open);
    harness.model.then(says(&[" there [1]."]));
    let whole = harness.from(go_on, "").await.unwrap().finish().await.unwrap();
    assert_eq!((whole.response.as_str(), whole.citations.len()), ("It stands there [1].", 1));
    assert_eq!(stories(&harness).await, [(Answered, vec![Open, Taken, Open, Taken, Open, Taken, Answered])]);
    let (pending, _) = harness.store.pending(harness.user.id, asked.id).await.unwrap();
    assert_eq!(pending.answered_by, stopped.user_message_id);
}

async fn what_was_broken_off_is_settled_as_it_was_meant(test: &mut TestStore) {
    let harness = over_manuals(test).await;
    ask_back(&harness).await;
    harness.model.then(calls("search_knowledge_base", &json!({ "query": CLEAR })));
    harness.model.then([says(&["It charges"]), vec![Say::Hang]].concat());
    let mut turn = harness.start(CLEAR).await.unwrap();
    while turn.watch.next().await.unwrap().kind != "content" {}
    let stopped = harness.chat.stop(harness.user.id, turn.run).await.unwrap().result.unwrap();
    assert_eq!(stories(&harness).await[0].0, Open);
    let go_on = RunKind::Continue(stopped.message_id.unwrap());
    harness.from(go_on, "").await.unwrap().finish().await.unwrap();
    assert_eq!(stories(&harness).await, [(Superseded, vec![Open, Taken, Open, Taken, Superseded])]);
}

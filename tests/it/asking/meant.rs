//! Whether to ask, and what a reply means: a model's word weighed against the evidence.

use std::{sync::Arc, time::Duration};

use askback::domain::{
    evidence::Route,
    hitl::HitlStatus::{Answered, Superseded},
    model::ModelRequest,
    run::RunStatus,
};
use serde_json::{Value, json};

use super::{CLEAR, QUESTION, ask_back, desk, option, over_manuals, stories};
use crate::{
    contract::store::on_both_engines,
    support::{
        harness::Harness,
        model::{ScriptedModel, says},
        store::TestStore,
    },
};

on_both_engines! {
    options_without_evidence_are_not_offered,
    a_question_is_in_the_users_language,
    ambiguity_that_the_evidence_does_not_have_is_overruled,
    a_grader_that_does_not_keep_to_the_schema_is_passed_over,
    a_text_that_matches_no_option_is_not_swallowed,
    a_reply_that_says_nothing_is_asked_about_in_other_words,
    none_of_the_options_is_honestly_not_found,
    a_fast_model_says_what_the_rules_cannot,
    what_is_missing_is_named_and_offered,
    rounds_narrow_and_end,
    two_rounds_lead_to_the_one_that_is_meant,
}

fn opinion(ambiguity: &str, prompt: &str, options: &[&str]) -> Value {
    json!({
        "relevance": "strong", "answerability": "partial", "ambiguity": ambiguity, "confidence": 0.7,
        "missing_slots": [], "prompt": prompt, "options": options, "reason": "two manuals",
    })
}

/// A grader of this opinion, whatever it reads.
fn grader(opinion: &Value) -> Arc<ScriptedModel> {
    ScriptedModel::always(says(&[&opinion.to_string()]))
}

async fn graded(test: &TestStore, grader: &Arc<ScriptedModel>) -> Harness {
    over_manuals(test).await.graded_by(grader)
}

async fn options_without_evidence_are_not_offered(test: &mut TestStore) {
    let prompt = "The Aurora X1, the Borealis Z9 or the Zephyr Q7?";
    let grader = grader(&opinion("multiple_candidates", prompt, &["Aurora X1", "Borealis Z9", "Zephyr Q7"]));
    let harness = graded(test, &grader).await;
    let result = harness.ask(QUESTION).await;
    let (asked, trace) = (result.hitl.unwrap(), result.rag_trace.unwrap());
    assert_eq!(asked.options, ["Aurora X1", "Borealis Z9"]);
    assert!(!result.response.contains("Zephyr"), "{}", result.response);
    assert_eq!(trace.evidence_reason.as_deref(), Some("two manuals; no evidence for Zephyr Q7"));
    let schema = grader.seen()[0].schema.clone().expect("it is held to a schema");
    assert_eq!(schema.name, "grade");
}

async fn a_question_is_in_the_users_language(test: &mut TestStore) {
    let options = ["Aurora X1", "Borealis Z9"];
    let chinese = graded(test, &grader(&opinion("multiple_candidates", "您指的是哪一款？", &options))).await;
    assert_eq!(ask_back(&chinese).await.prompt, "Which product do you mean?");
    chinese.move_to("s2");
    let asked = chinese.ask("warranty 保修期是多久？").await;
    assert_eq!(asked.hitl.map(|question| question.prompt), Some("您指的是哪一款？".into()));
}

async fn ambiguity_that_the_evidence_does_not_have_is_overruled(test: &mut TestStore) {
    let mut harness = over_manuals(test).await;
    for kind in ["multiple_candidates", "missing_slot"] {
        harness = harness.graded_by(&grader(&opinion(kind, "Which?", &["Aurora X1", "Borealis Z9"])));
        harness.move_to(kind);
        let result = harness.ask(CLEAR).await;
        let trace = result.rag_trace.unwrap();
        assert_eq!((result.status, trace.route), (RunStatus::Completed, Some(Route::Answer)), "{kind}");
        assert!(trace.evidence_reason.as_ref().is_some_and(|reason| reason.contains("overruled")), "{kind}");
        assert_eq!(result.citations[0].filename, "aurora-x1.md");
    }
}

async fn a_grader_that_does_not_keep_to_the_schema_is_passed_over(test: &mut TestStore) {
    let grader = ScriptedModel::always(says(&["They are ambiguous, I think."]));
    let harness = graded(test, &grader).await;
    let result = harness.ask(QUESTION).await;
    assert_eq!(result.hitl.unwrap().options, ["Aurora X1", "Borealis Z9"]);
    assert_eq!(grader.seen().len(), 2, "asked, and asked to mend it once");
    assert!(result.rag_trace.unwrap().grader.unwrap().ends_with("(scripted did not fit the schema)"));
}

async fn a_text_that_matches_no_option_is_not_swallowed(test: &mut TestStore) {
    let harness = over_manuals(test).await;
    for (session, odd) in [("a", "the purple one"), ("b", "9"), ("c", "Zephyr Q7"), ("d", "!!!"), ("e", "👍")] {
        harness.move_to(session);
        ask_back(&harness).await;
        harness.clock.forward(Duration::from_millis(1));
        let result = harness.ask(odd).await;
        assert!(!result.response.trim().is_empty(), "{odd}");
        // A name that no option has is looked for all the same: an answer, but none of the options.
        let verdict = result.rag_trace.and_then(|trace| trace.hitl_reply_verdict).unwrap_or_default();
        if verdict["verdict"] == "answer" {
            assert_eq!(verdict["filters"], json!([]), "{odd}");
        } else {
            assert_eq!(stories(&harness).await[0].0, Superseded, "{odd}");
        }
        let last = harness.history().await;
        assert!(last[2].contains(odd), "what was said is kept: {last:?}");
    }
}

async fn a_reply_that_says_nothing_is_asked_about_in_other_words(test: &mut TestStore) {
    let harness = over_manuals(test).await;
    for (session, noise) in [("a", "hmm"), ("b", "the third one"), ("c", "什么意思？"), ("d", "👍"), ("e", "3")]
    {
        harness.move_to(session);
        let first = ask_back(&harness).await;
        let again = harness.ask(noise).await.hitl.expect(noise);
        assert_eq!(
            (again.round, &again.original_question, &again.options),
            (2, &first.original_question, &first.options)
        );
        // In the language of the reply.
        let prompt =
            if noise.is_ascii() || noise == "👍" { first.prompt.as_str() } else { "您指的是哪一款产品？" };
        assert!(again.prompt.contains('2') && again.prompt.ends_with(prompt), "{}", again.prompt);
        let last = harness.ask(noise).await;
        let trace = last.rag_trace.unwrap();
        assert_eq!((last.status, trace.route), (RunStatus::Completed, Some(Route::Answer)), "{noise}");
        assert_eq!(trace.query.as_deref(), Some(QUESTION), "noise is no part of the question");
        assert!(stories(&harness).await.iter().all(|(status, _)| *status == Answered));
    }
}

async fn none_of_the_options_is_honestly_not_found(test: &mut TestStore) {
    let harness = over_manuals(test).await;
    for (session, none, expected) in [
        ("a", "none of them", "I could not find an answer to this in the documents."),
        ("b", "以上都不是", "在文档中没有找到这个问题的答案。"),
    ] {
        harness.move_to(session);
        ask_back(&harness).await;
        let result = harness.ask(none).await;
        assert_eq!((result.response.as_str(), result.citations.len()), (expected, 0), "{none}");
        assert_eq!(result.rag_trace.unwrap().route, Some(Route::NoKnowledge));
    }
}

/// A fast model that takes every reply for this.
fn reader(meaning: &str, options: &[u32]) -> Arc<ScriptedModel> {
    let verdict = json!({"meaning": meaning, "options": options, "detail": null, "reason": "because"}).to_string();
    ScriptedModel::reacting(move |request| match &request.schema {
        Some(schema) if schema.name == "reply" => says(&[&verdict]),
        _ => says(&["A title"]),
    })
}

async fn a_fast_model_says_what_the_rules_cannot(test: &mut TestStore) {
    let mut harness = over_manuals(test).await;
    for (session, fast, verdict, asked) in [
        ("a", reader("answer", &[2]), "answer", 1),
        ("b", reader("dismiss", &[]), "dismiss", 1),
        // An option that is not there may be mended once; then it is a new question.
        ("c", reader("answer", &[7]), "new_question", 2),
    ] {
        harness = harness.fast(&fast);
        harness.move_to(session);
        ask_back(&harness).await;
        let result = harness.ask("the purple one").await;
        if let Some(trace) = result.rag_trace {
            assert_eq!(trace.hitl_reply_verdict.unwrap()["verdict"], verdict, "{session}");
        }
        let of_reply = |request: &ModelRequest| request.schema.as_ref().is_some_and(|schema| schema.name == "reply");
        assert_eq!(fast.seen().into_iter().filter(of_reply).count(), asked, "{session}");
        let status = stories(&harness).await[0].0.as_str();
        assert_eq!(status, ["answered", "dismissed", "superseded"][usize::from(session.as_bytes()[0] - b'a')]);
    }
}

const PRICES: &str = "# Price List of the Editor\n\n## Licences\n\n| Edition | Price of a licence |\n|---|---|\n| Basic | 49 EUR |\n| Pro | 99 EUR |\n| Enterprise | 249 EUR |\n";
const PARKING: &str = "# 停车场收费标准\n\n| 车型 | 每小时 | 包月 |\n|---|---|---|\n| 小汽车 | 5 元 | 300 元 |\n| 摩托车 | 2 元 | 90 元 |\n| 大客车 | 12 元 | 800 元 |\n";

async fn what_is_missing_is_named_and_offered(test: &mut TestStore) {
    let harness = Harness::over_files(test, desk(), &[("prices.md", PRICES), ("停车.md", PARKING)]).await;
    for (session, question, slot, prompt, options, replies) in [
        (
            "en",
            "How much is the licence?",
            "Edition",
            "Which edition do you mean?",
            ["Basic", "Pro", "Enterprise"],
            [("Pro", "99 EUR"), ("第三个", "249 EUR"), ("enterprise", "249 EUR")],
        ),
        (
            "zh",
            "包月停车多少钱？",
            "车型",
            "您指的是哪一个车型？",
            ["小汽车", "摩托车", "大客车"],
            [("摩托车", "90 元"), ("the last one", "800 元"), ("1", "300 元")],
        ),
    ] {
        for (at, (reply, value)) in replies.into_iter().enumerate() {
            harness.move_to(&format!("{session}{at}"));
            let asked = harness.ask(question).await.hitl.unwrap();
            assert_eq!((asked.route, asked.prompt.as_str()), (Route::Clarify, prompt));
            assert_eq!(
                (asked.missing_slots, asked.options),
                (vec![slot.to_owned()], options.map(str::to_owned).to_vec())
            );
            let answered = harness.ask(reply).await;
            assert_eq!(answered.status, RunStatus::Completed, "{reply}");
            let chunks = answered.rag_trace.unwrap().retrieved_chunks.unwrap();
            assert!(chunks[0].text.contains(value), "{reply}: {}", chunks[0].text);
        }
    }
}

/// Manuals that differ in product and in place.
fn manuals_of_places() -> Vec<(String, String)> {
    let mut manuals = Vec::new();
    for (product, place, months) in [
        ("Aurora X1", "Germany", 24),
        ("Aurora X1", "Japan", 12),
        ("Borealis Z9", "Germany", 36),
        ("Borealis Z9", "Japan", 18),
    ] {
        let name = format!("{product} {place}.md");
        let text = format!(
            "# {product} Manual for {place}\n\n## Warranty\n\nThe warranty of the {product} in {place} is {months} months.\n"
        );
        manuals.push((name, text));
    }
    manuals
}

async fn rounds_narrow_and_end(test: &mut TestStore) {
    let manuals = manuals_of_places();
    let files: Vec<(&str, &str)> = manuals.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    let harness = Harness::over_files(test, desk(), &files).await;
    for place in [1, 2] {
        harness.move_to(&format!("s{place}"));
        let mut result = harness.ask(QUESTION).await;
        let mut chosen: Vec<String> = Vec::new();
        while let Some(asked) = result.hitl {
            assert!(chosen.len() < 2, "asked again after {chosen:?}: {:?}", asked.options);
            assert_eq!(asked.round as usize, chosen.len() + 1);
            assert!(!asked.options.iter().any(|label| chosen.contains(label)), "{:?}", asked.options);
            chosen.push(asked.options[place - 1].clone());
            harness.clock.forward(Duration::from_millis(1));
            result = harness.reply("", option(&asked, place)).await.unwrap().finish().await.unwrap();
        }
        assert!(!chosen.is_empty());
        assert_eq!(result.status, RunStatus::Completed);
        let file = &result.citations[0].filename;
        for name in chosen.iter().flat_map(|label| label.split(' ')).filter(|word| word.starts_with(char::is_uppercase))
        {
            assert!(file.contains(name), "{chosen:?}: {file}");
        }
        assert!(stories(&harness).await.iter().all(|(status, _)| status.as_str() == "answered"));
    }
}

/// A manual of each product, whose chapter on the warranty has a section for each place.
fn manuals_in_sections() -> Vec<(String, String)> {
    let manual = |(nth, product): (usize, &str)| {
        let sections: String = ["Germany", "Japan", "Brazil"]
            .into_iter()
            .enumerate()
            .map(|(more, place)| {
                let months = 10 + 10 * nth + 2 * more;
                format!("### {place}\n\nThe warranty of the {product} in {place} is {months} months from the date of purchase.\n\n")
            })
            .collect();
        (format!("{product}.md"), format!("# {product} Manual\n\nA robot for halls.\n\n## Warranty\n\n{sections}"))
    };
    ["Aurora X1", "Borealis Z9", "Cirrus Q4"].into_iter().enumerate().map(manual).collect()
}

async fn two_rounds_lead_to_the_one_that_is_meant(test: &mut TestStore) {
    let manuals = manuals_in_sections();
    let files: Vec<(&str, &str)> = manuals.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    let harness = Harness::over_files(test, desk(), &files).await;
    for (product, place, months) in [(1, 3, "14 months"), (3, 2, "32 months")] {
        harness.move_to(&format!("s{product}"));
        let first = ask_back(&harness).await;
        assert_eq!(
            (first.round, &first.options[..]),
            (1, &["Aurora X1", "Borealis Z9", "Cirrus Q4"].map(str::to_owned)[..])
        );
        harness.clock.forward(Duration::from_millis(1));
        let second = harness.reply("", option(&first, product)).await.unwrap().finish().await.unwrap().hitl.unwrap();
        assert_eq!((second.round, &second.options[..]), (2, &["Germany", "Japan", "Brazil"].map(str::to_owned)[..]));
        harness.clock.forward(Duration::from_millis(1));
        let answered = harness.reply("", option(&second, place)).await.unwrap().finish().await.unwrap();
        assert_eq!((answered.status, answered.hitl), (RunStatus::Completed, None));
        assert_eq!(answered.citations[0].filename, format!("{}.md", first.options[product - 1]));
        let chunks = answered.rag_trace.unwrap().retrieved_chunks.unwrap();
        assert!(chunks[0].text.contains(months), "{}", chunks[0].text);
        assert_eq!(stories(&harness).await.len(), 2);
    }
}

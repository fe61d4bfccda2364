//! Small worlds in which it is plain what has to happen.

use askback::{
    domain::{
        evidence::{Evidence, Finding, RetrievalStatus, Route},
        hitl::Question,
    },
    services::retrieval::Found,
};

use crate::support::{faults::Fault, shelf::Shelf};

const KETTLE: &str = "# Brisa K1 User Manual\n\nThe Brisa K1 is an electric kettle for 1.7 litres.\n\n## Cleaning\n\nDescale the kettle every 3 months with citric acid.\n\n## Safety\n\nNever open the lid while the water boils.\n\n## Warranty\n\nThe warranty of the Brisa K1 is 24 months from the day of purchase. Keep the receipt.\n";
const TOASTER: &str = "# Calor T5 User Manual\n\nThe Calor T5 is a toaster for two slices.\n\n## Cleaning\n\nEmpty the crumb tray of the toaster every week.\n\n## Safety\n\nNever put metal into the slots.\n\n## Warranty\n\nThe warranty of the Calor T5 is 36 months from the day of purchase. Keep the receipt.\n";
const KETTLE_ZH: &str = "# 清泉 K1 用户手册\n\n清泉 K1 是一款容量 1.7 升的电水壶。\n\n## 清洁\n\n每 3 个月用柠檬酸除垢一次。\n\n## 保修\n\n清泉 K1 自购买之日起保修 24 个月，请保留发票。\n";
const TOASTER_ZH: &str = "# 清泉 T5 用户手册\n\n清泉 T5 是一款双槽烤面包机。\n\n## 清洁\n\n每周清空一次面包屑托盘。\n\n## 保修\n\n清泉 T5 自购买之日起保修 36 个月，请保留发票。\n";
const POLICY_2023: &str = "# Remote Work Policy 2023\n\nEffective from 1 February 2023.\n\n## Days\n\nEmployees may work from home on 2 days a week.\n\n## Equipment\n\nThe company lends a monitor.\n";
const POLICY_2025: &str = "# Remote Work Policy 2025\n\nEffective from 1 February 2025.\n\n## Days\n\nEmployees may work from home on 3 days a week.\n\n## Equipment\n\nThe company lends a monitor and a chair.\n";
const LICENCES: &str = "# Price List of the Editor\n\n## Licences\n\n| Edition | Price of a licence |\n|---|---|\n| Basic | 49 EUR |\n| Pro | 99 EUR |\n| Enterprise | 249 EUR |\n";

async fn shelf(files: &[(&str, &str)]) -> Shelf {
    let files: Vec<(&str, &[u8])> = files.iter().map(|(name, text)| (*name, text.as_bytes())).collect();
    Shelf::with(&files).await
}

fn evidence(found: &Found) -> &Evidence {
    match &found.finding {
        Finding::Answer(evidence) => evidence,
        other => panic!("an answer, not {other:?}\n{:?}", found.trace.evidence_reason),
    }
}

fn asked(found: &Found) -> &Question {
    match &found.finding {
        Finding::Ask(question) => question,
        other => panic!("a question, not {other:?}\n{:?}", found.trace.evidence_reason),
    }
}

fn labels(question: &Question) -> Vec<&str> {
    let mut labels: Vec<&str> = question.options.iter().map(|option| option.label.as_str()).collect();
    labels.sort_unstable();
    labels
}

#[tokio::test]
async fn parallel_manuals_are_told_apart_by_asking() {
    let shelf = shelf(&[("kettle.md", KETTLE), ("toaster.md", TOASTER)]).await;
    let found = shelf.question("How long is the warranty?").await;
    let question = asked(&found);
    assert_eq!((question.route, question.prompt.as_str()), (Route::ScopeSelect, "Which product do you mean?"));
    assert_eq!(labels(question), ["Brisa K1", "Calor T5"]);
    assert!(question.options.iter().all(|option| option.evidence_count > 0));
    assert_eq!(found.trace.retrieval_status, Some(RetrievalStatus::NeedsScopeSelection));
    assert_eq!(found.trace.hitl_options.len(), 2);

    let toaster = question.options.iter().find(|option| option.label == "Calor T5").unwrap();
    let resumed = shelf.choose(question, toaster).await;
    let names: Vec<&str> = evidence(&resumed).passages.iter().map(|passage| passage.filename.as_str()).collect();
    assert!(names.iter().all(|name| *name == "toaster.md"), "{names:?}");
    assert!(evidence(&resumed).passages[0].text.contains("36 months"));
    assert!(resumed.trace.hitl_resumed);
    assert_eq!(resumed.trace.hitl_resume_strategy.as_deref(), Some("targeted_retrieval"));
    assert_eq!(resumed.trace.hitl_resume_from_route, Some(Route::ScopeSelect));
    shelf.close().await;
}

#[tokio::test]
async fn a_named_product_is_answered_from_its_manual_alone() {
    let shelf = shelf(&[("kettle.md", KETTLE), ("toaster.md", TOASTER)]).await;
    for question in
        ["How long is the warranty of the Calor T5?", "how long is the calor warranty", "How long is the T5 warrenty?"]
    {
        let found = shelf.question(question).await;
        let passages = &evidence(&found).passages;
        assert!(passages.iter().all(|passage| passage.filename == "toaster.md"), "{question}");
        assert!(passages[0].text.contains("36 months"), "{question}");
    }
    shelf.close().await;
}

#[tokio::test]
async fn what_all_say_needs_no_question() {
    let same = TOASTER.replace("36 months", "two years");
    let shelf = shelf(&[("kettle.md", KETTLE), ("toaster.md", &same)]).await;
    let found = shelf.question("How long is the warranty?").await;
    assert!(evidence(&found).passages.iter().any(|passage| passage.text.contains("24 months")));
    shelf.close().await;
}

#[tokio::test]
async fn all_of_them_and_comparisons_are_answered_per_value() {
    let shelf = shelf(&[("kettle.md", KETTLE), ("toaster.md", TOASTER)]).await;
    for question in
        ["How long is the warranty of each product?", "Compare the warranty of the Brisa K1 and the Calor T5."]
    {
        let found = shelf.question(question).await;
        let guidance = &evidence(&found).guidance;
        let mut values: Vec<&str> = guidance.per_value.iter().map(|group| group.value.as_str()).collect();
        values.sort_unstable();
        assert_eq!(values, ["Brisa K1", "Calor T5"], "{question}");
    }
    shelf.close().await;
}

#[tokio::test]
async fn the_conversation_fixes_what_is_meant() {
    let shelf = shelf(&[("kettle.md", KETTLE), ("toaster.md", TOASTER)]).await;
    let found = shelf.question_after(&["How do I clean the Brisa K1?"], "And how long is the warranty?").await;
    assert!(evidence(&found).passages.iter().all(|passage| passage.filename == "kettle.md"));
    let found = shelf.question_after(&["How long is the warranty of the Brisa K1?"], "And the Calor?").await;
    assert!(evidence(&found).passages[0].text.contains("36 months"));
    shelf.close().await;
}

#[tokio::test]
async fn what_the_documents_do_not_hold_is_not_answered() {
    let shelf = shelf(&[("kettle.md", KETTLE), ("toaster.md", TOASTER)]).await;
    for question in [
        "How do I connect the Brisa K1 to the internet?",
        "How long is the warranty of the Cosmo Q5?",
        "What is the capital of Mongolia?",
        "Who founded the company?",
    ] {
        let found = shelf.question(question).await;
        assert_eq!(found.finding, Finding::NoKnowledge, "{question}: {:?}", found.trace.evidence_reason);
    }
    shelf.close().await;
}

#[tokio::test]
async fn chinese_over_chinese_documents() {
    let shelf = shelf(&[("水壶.md", KETTLE_ZH), ("面包机.md", TOASTER_ZH)]).await;
    let found = shelf.question("保修期多久？").await;
    let question = asked(&found);
    assert_eq!((question.route, question.prompt.as_str()), (Route::ScopeSelect, "您指的是哪一款产品？"));
    assert_eq!(labels(question), ["清泉 K1", "清泉 T5"]);
    let resumed = shelf.choose(question, &question.options[0]).await;
    let expected = if question.options[0].label == "清泉 K1" { "24 个月" } else { "36 个月" };
    assert!(evidence(&resumed).passages[0].text.contains(expected));

    let found = shelf.question("清泉T5的保修期是多长时间？").await;
    assert!(evidence(&found).passages[0].text.contains("36 个月"));
    for question in ["清泉 K1 支持蓝牙吗？", "公司食堂几点开门？"] {
        let found = shelf.question(question).await;
        assert_eq!(found.finding, Finding::NoKnowledge, "{question}: {:?}", found.trace.evidence_reason);
    }
    shelf.close().await;
}

#[tokio::test]
async fn chinese_over_an_english_document() {
    let shelf = shelf(&[("kettle.md", KETTLE), ("remote.md", POLICY_2025)]).await;
    let found = shelf.question("员工每周可以在家办公几天？").await;
    assert_eq!(evidence(&found).passages[0].filename, "remote.md");
    for question in ["Brisa K1 的保修期是多久？", "电水壶的保修期是多久？", "保修期是多长时间？"]
    {
        let found = shelf.question(question).await;
        assert_eq!(evidence(&found).passages[0].filename, "kettle.md", "{question}");
        assert!(evidence(&found).passages[0].text.contains("24 months"), "{question}");
    }
    shelf.close().await;
}

#[tokio::test]
async fn of_two_editions_the_newest_in_force_speaks() {
    let shelf = shelf(&[("remote-2023.md", POLICY_2023), ("remote-2025.md", POLICY_2025)]).await;
    let found = shelf.question("On how many days a week may employees work from home?").await;
    let evidence_now = evidence(&found);
    assert!(evidence_now.passages.iter().all(|passage| passage.filename == "remote-2025.md"));
    assert!(evidence_now.guidance.edition.as_deref().is_some_and(|edition| edition.contains("2025")));
    let found = shelf.question("On how many days a week could employees work from home under the 2023 policy?").await;
    assert!(evidence(&found).passages.iter().all(|passage| passage.filename == "remote-2023.md"));
    shelf.close().await;
}

#[tokio::test]
async fn the_row_of_a_price_list_is_asked_for() {
    let shelf = shelf(&[("prices.md", LICENCES), ("kettle.md", KETTLE)]).await;
    let found = shelf.question("How much is the licence?").await;
    let question = asked(&found);
    assert_eq!((question.route, question.prompt.as_str()), (Route::Clarify, "Which edition do you mean?"));
    assert_eq!(labels(question), ["Basic", "Enterprise", "Pro"]);
    let pro = question.options.iter().find(|option| option.label == "Pro").unwrap();
    assert!(evidence(&shelf.choose(question, pro).await).passages[0].text.contains("99 EUR"));
    let found = shelf.question("How much is the Pro licence?").await;
    assert!(evidence(&found).passages[0].text.contains("99 EUR"));
    shelf.close().await;
}

#[tokio::test]
async fn without_the_dense_side_words_still_answer_and_the_trace_says_so() {
    let shelf = shelf(&[("kettle.md", KETTLE), ("toaster.md", TOASTER)]).await;
    shelf.faults.always("query", Fault::Fail);
    let found = shelf.question("How long is the warranty of the Calor T5?").await;
    assert!(found.trace.degraded);
    assert!(shelf.faults.count("query") > 0);
    assert!(evidence(&found).passages[0].text.contains("36 months"));

    shelf.faults.heal("query");
    assert!(!shelf.question("How long is the warranty of the Calor T5?").await.trace.degraded);
    shelf.close().await;
}

//! What the built-in model says, over evidence as retrieval writes it.

use serde_json::json;

use super::*;
use crate::domain::model::{JsonSchema, Sampling, ToolSpec, complete};

fn user(content: &str) -> Prompt {
    Prompt::User { content: content.into() }
}

fn tools() -> Vec<ToolSpec> {
    vec![ToolSpec { name: SEARCH.into(), description: "Searches.".into(), parameters: json!({"type": "object"}) }]
}

/// A turn after its search: the question, the call and the tool's answer.
fn after_search(question: &str, result: &str) -> ModelRequest {
    let call = ToolCall { id: "call_1".into(), name: SEARCH.into(), arguments: "{}".into() };
    ModelRequest {
        messages: vec![
            Prompt::System { content: "Answer from the documents.".into() },
            user(question),
            Prompt::Assistant { content: String::new(), tool_calls: vec![call] },
            Prompt::Tool { call_id: "call_1".into(), name: SEARCH.into(), content: result.into() },
        ],
        tools: tools(),
        ..ModelRequest::default()
    }
}

async fn says(question: &str, result: &str) -> String {
    let whole = complete(&Builtin::new(None), after_search(question, result)).await.unwrap();
    assert_eq!((whole.calls.len(), whole.finish_reason.as_str()), (0, "stop"));
    whole.text
}

const MANUALS: &str = "[1] aurora.md (Page 4):\nSection: Warranty\nAbout: Aurora X1\n\
    Northlight gives a warranty of 3 years on the Aurora X1. The battery is covered for 12 months. Brushes are not covered.\n\n\
    [2] aurora.md:\nSection: Care\nAbout: Aurora X1\nTo clean the filter:\n\n1. Open the lid.\n2. Take the filter out.\n3. Tap it clean.\n\n\
    [3] plans.csv:\nTable header: Plan | Price | Visits\nBasic | 10 € | 1\nPlus | 25 € | 4\n\n\
    [4] 手册.md:\nAbout: 晨星 A5\n整机保修期为两年。电池保修期为六个月。滤网可以用清水冲洗。";

#[tokio::test]
async fn a_question_makes_it_search_and_a_greeting_does_not() {
    let model = Builtin::new(None);
    let request = |text: &str| ModelRequest { messages: vec![user(text)], tools: tools(), ..ModelRequest::default() };
    let whole = complete(&model, request("How long is the warranty?")).await.unwrap();
    assert_eq!((whole.text.as_str(), whole.finish_reason.as_str()), ("", "tool_calls"));
    let arguments = json!({"query": "How long is the warranty?"}).to_string();
    assert_eq!(whole.calls, [ToolCall { id: "call_1".into(), name: SEARCH.into(), arguments }]);
    let hello = complete(&model, request("你好！")).await.unwrap();
    assert!(hello.calls.is_empty() && hello.text.starts_with("你好"), "{hello:?}");
}

#[tokio::test]
async fn the_sentence_that_answers_with_its_source() {
    for (question, expected) in [
        (
            "How long is the warranty of the Aurora X1?",
            "Northlight gives a warranty of 3 years on the Aurora X1. [1] The battery is covered for 12 months. [1]",
        ),
        ("How long is the battery covered?", "The battery is covered for 12 months. [1]"),
        ("What does the Plus plan cost?", "Plus – Price: 25 €; Visits: 4. [3]"),
        ("电池保修多久？", "电池保修期为六个月。[4]"),
        ("滤网可以水洗吗？", "滤网可以用清水冲洗。[4]"),
        (
            "How do I clean the filter?",
            "To clean the filter: [2]\n\n1. Open the lid.\n2. Take the filter out.\n3. Tap it clean.",
        ),
        (
            "What are the plans and prices?",
            "plans.csv: [3]\n\n- Basic – Price: 10 €; Visits: 1\n- Plus – Price: 25 €; Visits: 4",
        ),
    ] {
        assert_eq!(says(question, MANUALS).await, expected, "{question}");
    }
}

#[tokio::test]
async fn a_sentence_that_adds_nothing_but_the_number_asked_for_is_the_answer() {
    let lanterns = "[1] quarry.md:\nThe lantern of the quarry burns for 1013 hours. \
        It hangs beside the old gate and was made by a smith of the valley.";
    let said = says("For how many hours does the lantern of the quarry burn?", lanterns).await;
    assert_eq!(said, "The lantern of the quarry burns for 1013 hours. [1]");
    let mill = "[1] 水车.md:\n河边水车的水轮有36片桨叶。水车旁边的木屋由当地工匠在山谷里建造。";
    assert_eq!(says("河边水车的水轮有多少片桨叶？", mill).await, "河边水车的水轮有36片桨叶。[1]");
}

#[tokio::test]
async fn a_question_of_the_documents_heads_its_answer_and_is_none() {
    let faq = "[1] faq.md:\nWhich payment methods do you accept?\n\nWe accept credit cards and bank transfer.\n\n\
        When is the hotline open?\n\nIt is open Monday to Friday.";
    let said = says("Which payment methods do you accept?", faq).await;
    assert_eq!(said, "We accept credit cards and bank transfer. [1]");
}

#[tokio::test]
async fn rows_that_were_chosen_or_named_are_told_and_no_others() {
    const RATES: &str = "[1] rates.md:\nTable header: Item | Place | Price\n\
        Box | Berlin | 5 EUR\nBox | Munich | 9 EUR\nSpace | Berlin | 15 EUR\nSpace | Munich | 25 EUR";
    let row = |item: &str, place: &str, price: u32| format!("{item} – Place: {place}; Price: {price} EUR. [1]");
    let list = |rows: &[String]| rows.iter().map(|row| format!("- {row}")).collect::<Vec<_>>().join("\n");
    for (question, chosen, expected) in [
        (
            "What is the price? (Space)",
            "Chosen: Space\n\n",
            list(&[row("Space", "Berlin", 15), row("Space", "Munich", 25)]),
        ),
        ("What is the price? (Space; Munich)", "Chosen: Space\nChosen: Munich\n\n", row("Space", "Munich", 25)),
        (
            "What is the price in Berlin?",
            "Chosen: Box | Space\nChosen: Berlin\n\n",
            list(&[row("Box", "Berlin", 5), row("Space", "Berlin", 15)]),
        ),
        ("What is the price of a space in Munich?", "", row("Space", "Munich", 25)),
    ] {
        assert_eq!(says(question, &format!("{chosen}{RATES}")).await, expected, "{question}");
    }
}

#[tokio::test]
async fn a_name_inside_a_longer_one_means_its_own_row() {
    const ZH: &str = "[1] 会员.md:\nTable header: 等级 | 月费 | 响应时间\n\
        银卡 | 19 元 | 3 天\n金卡 | 39 元 | 2 天\n铂金卡 | 69 元 | 1 天";
    const EN: &str = "[1] plans.md:\nTable header: Plan | Price | Response\n\
        Plus | 9 EUR | 3 days\nPremium | 14 EUR | 2 days\nPremium Plus | 19 EUR | 1 day";
    const NTH: &str = "[1] parts.md:\nTable header: No. | Part | Model | Price\n\
        1 | Filter | Pro | 9 EUR\n2 | Filter | Pro Max | 14 EUR";
    const PLACES: &str = "[1] 年费.md:\nTable header: 等级 | 城市 | 年费\n\
        金卡 | 北京 | 399 元\n金卡 | 上海 | 419 元\n铂金卡 | 北京 | 699 元\n铂金卡 | 上海 | 719 元";
    const TWO: &str = "[1] a.md:\nTable header: 等级 | 月费\n铂金卡 | 69 元\n钻石卡 | 99 元\n\n\
        [2] a.md:\nTable header: 等级 | 月费\n银卡 | 19 元\n金卡 | 39 元";
    const CLAUSES: &str = "[1] 退货.md:\n金卡会员的退货期为 15 天；铂金卡会员的退货期为 30 天。";
    let (gold, platinum) = (["39 元"].as_slice(), ["69 元"].as_slice());
    for (question, chosen, text, holds, lacks) in [
        ("会员多少钱？ (金卡)", "Chosen: 金卡\n\n", ZH, gold, &["19 元", "69 元"][..]),
        ("会员多少钱？ (铂金卡)", "Chosen: 铂金卡\n\n", ZH, platinum, &["19 元", "39 元"]),
        ("会员多少钱？ (金卡)", "Chosen: 金卡\n\n", TWO, gold, &["69 元", "99 元"]),
        ("金卡多少钱？", "", ZH, gold, &["69 元"]),
        ("铂金卡多少钱？", "", ZH, platinum, &["39 元"]),
        ("响应时间呢？ (会员多少钱？ 铂金卡)", "", ZH, &["1 天"], &["2 天", "3 天"]),
        ("金卡和铂金卡多少钱？", "", ZH, &["39 元", "69 元"], &["19 元"]),
        ("金卡的年费是多少钱？", "", PLACES, &["399 元", "419 元"], &["699 元", "719 元"]),
        ("北京的金卡多少钱？", "", PLACES, &["399 元"], &["419 元", "699 元", "719 元"]),
        ("金卡会员的退货期是多少天？", "", CLAUSES, &["15 天"], &["30 天"]),
        ("What is the price? (Plus)", "Chosen: Plus\n\n", EN, &["9 EUR"], &["14 EUR", "19 EUR"]),
        ("What is the price? (Premium Plus)", "Chosen: Premium Plus\n\n", EN, &["19 EUR"], &[" 9 EUR", "14 EUR"]),
        ("What does Plus cost?", "", EN, &[": 9 EUR"], &["14 EUR", "19 EUR"]),
        ("What does Premium Plus cost?", "", EN, &["19 EUR"], &[": 9 EUR", "14 EUR"]),
        ("What do Plus and Premium Plus cost?", "", EN, &[": 9 EUR", "19 EUR"], &["14 EUR"]),
        ("And the response? (What does it cost? Premium Plus)", "", EN, &["1 day"], &["3 days", "2 days"]),
        ("What is the price? (Pro)", "Chosen: Pro\n\n", NTH, &["9 EUR"], &["14 EUR"]),
        ("What does the filter for the Pro cost?", "", NTH, &["9 EUR"], &["14 EUR"]),
        ("What does the filter for the Pro Max cost?", "", NTH, &["14 EUR"], &[": 9 EUR"]),
    ] {
        let said = says(question, &format!("{chosen}{text}")).await;
        let is_right = holds.iter().all(|part| said.contains(part)) && !lacks.iter().any(|part| said.contains(part));
        assert!(is_right, "{question} {chosen}: {said}");
    }
}

#[tokio::test]
async fn a_section_that_was_chosen_answers_alone() {
    const PLACES: &str = "[1] ship.html:\nSection: Delivery\nGermany\n\nThe delivery takes 2 working days.\n\n[2] ship.html:\n\
        Section: Delivery > Austria\nThe delivery takes 4 working days.\n\n[3] ship.html:\nSection: Delivery > Switzerland\n\
        The delivery takes 6 working days.";
    for (chosen, expected) in [
        ("Austria", "The delivery takes 4 working days. [2]"),
        ("Switzerland", "The delivery takes 6 working days. [3]"),
    ] {
        assert_eq!(says("How long does delivery take?", &format!("Chosen: {chosen}\n\n{PLACES}")).await, expected);
    }
}

#[tokio::test]
async fn nothing_found_is_said_honestly() {
    assert_eq!(says("Who won?", "NO_KNOWLEDGE: nothing").await, write::no_knowledge(Lang::En));
    assert_eq!(says("谁赢了？", "NO_KNOWLEDGE: nothing").await, write::no_knowledge(Lang::Zh));
    assert_eq!(says("Who won?", "TOOL_CALL_LIMIT_REACHED: once").await, write::no_knowledge(Lang::En));
}

#[tokio::test]
async fn after_the_limit_it_answers_from_what_was_found_before() {
    let mut request = after_search("How long is the battery covered?", MANUALS);
    let call = ToolCall { id: "call_2".into(), name: SEARCH.into(), arguments: "{}".into() };
    request.messages.push(Prompt::Assistant { content: String::new(), tool_calls: vec![call] });
    request.messages.push(Prompt::Tool {
        call_id: "call_2".into(),
        name: SEARCH.into(),
        content: "TOOL_CALL_LIMIT_REACHED: one search a turn".into(),
    });
    let whole = complete(&Builtin::new(None), request).await.unwrap();
    assert_eq!(whole.text, "The battery is covered for 12 months. [1]");
}

#[tokio::test]
async fn evidence_in_an_instruction_answers_a_resumed_question() {
    let evidence = format!("Answer from these passages.\n\n{MANUALS}\n\nQuestion: How long is the battery covered?");
    let messages = vec![Prompt::System { content: evidence }, user("2")];
    let whole = complete(&Builtin::new(None), ModelRequest { messages, ..ModelRequest::default() }).await.unwrap();
    assert_eq!(whole.text, "The battery is covered for 12 months. [1]");
}

#[tokio::test]
async fn what_frames_an_answer_is_in_the_language_of_the_question() {
    let model = Builtin::new(None);
    let passages =
        "[1] 手册.md:\nAbout: 晨星 A5\n整机保修期为两年。\n\n[2] 清洁.md:\n滤网可以用清水冲洗，外壳用干布擦拭。";
    for (question, expected) in [
        ("How long is the warranty? (晨星 A5)", "The document 手册.md says: “整机保修期为两年。” [1]"),
        ("整机的保修期多久？ (Aurora X1 Robot Vacuum Cleaner)", "整机保修期为两年。[1]"),
    ] {
        let material = format!("Asked back: ?\nThe user answered: 晨星 A5\n\n{passages}\n\nQuestion: {question}");
        let messages = vec![Prompt::System { content: "Answer.".into() }, user(&material)];
        let whole = complete(&model, ModelRequest { messages, ..ModelRequest::default() }).await.unwrap();
        assert!(whole.text.starts_with(expected), "{question}: {}", whole.text);
    }
    let list = "[1] 清单.md:\nSection: 包装清单\n- 主机一台\n- 滤芯一个";
    let text = says("What are the parts in the box?", list).await;
    assert_eq!(text, "The document 清单.md says: 包装清单: [1]\n\n- 主机一台\n- 滤芯一个");
}

#[tokio::test]
async fn a_sentence_that_several_documents_hold_is_cited_from_each() {
    let both = "[1] a.md:\nThe battery is covered for 12 months.\n\n[2] b.md:\nThe battery is covered for 12 months.";
    assert_eq!(says("How long is the battery covered?", both).await, "The battery is covered for 12 months. [1][2]");
}

#[tokio::test]
async fn the_assumption_and_the_edition_stand_first() {
    let text =
        says("How long is the warranty?", &format!("Assumption: assuming that you mean 晨星 A5\n\n{MANUALS}")).await;
    assert!(text.starts_with("Assuming that you mean 晨星 A5: The document 手册.md says: “整机保修期为两年"), "{text}");
    let editions = "Edition in force: 2025\n\n[1] a.md:\nAbout: 2023\nThe limit is 100 € a day.\n\n[2] b.md:\nAbout: 2025\nThe limit is 120 € a day.";
    assert_eq!(
        says("What is the limit a day?", editions).await,
        "According to the edition in force (2025): The limit is 120 € a day. [2]"
    );
}

#[tokio::test]
async fn contradictions_and_values_are_given_side_by_side() {
    let differ = "Contradiction: they differ\n\n[1] a.md:\nThe deposit is 100 €.\n\n[2] b.md:\nThe deposit is 150 €.";
    assert_eq!(
        says("How much is the deposit?", differ).await,
        "The sources differ on this:\n\n- a.md: The deposit is 100 €. [1]\n- b.md: The deposit is 150 €. [2]"
    );
    let values = "Per value: Aurora X1 [1] | Zephyr [3]\n\n[1] a.md:\nThe warranty is 3 years.\n\n[2] b.md:\nThe warranty is 2 years.";
    assert_eq!(
        says("How long is the warranty of each?", values).await,
        "- **Aurora X1**: The warranty is 3 years. [1]\n- **Zephyr**: the documents do not say."
    );
}

#[tokio::test]
async fn another_language_is_quoted_behind_a_lead_in() {
    let only = "[1] aurora.md:\nThe battery is covered for 12 months.";
    assert_eq!(
        says("电池保修多久？", only).await,
        "文档《aurora.md》的原文是：“The battery is covered for 12 months.”[1]"
    );
}

#[tokio::test]
async fn the_same_request_gives_the_same_answer_and_markers_stay_in_range() {
    for question in ["What is covered?", "Tell me about the filter", "保修", "xyz", "How?", "?"] {
        let first = says(question, MANUALS).await;
        assert_eq!(first, says(question, MANUALS).await);
        for n in 5..100 {
            assert!(!first.contains(&format!("[{n}]")), "{question}: {first}");
        }
    }
}

#[tokio::test]
async fn it_gives_no_json_and_minds_the_limit() {
    let schema = Some(JsonSchema { name: "x".into(), schema: json!({}) });
    let refused = Builtin::new(None).stream(ModelRequest { schema, ..ModelRequest::default() }).await;
    assert!(matches!(refused.err(), Some(ModelError::Permanent(_))));
    let mut request = after_search("How long is the battery covered?", MANUALS);
    request.sampling = Sampling { max_tokens: Some(3), ..Sampling::default() };
    let whole = complete(&Builtin::new(None), request).await.unwrap();
    assert_eq!((whole.text.as_str(), whole.finish_reason.as_str()), ("The battery ", "length"));
}

#[tokio::test]
async fn without_tools_or_evidence_it_says_so() {
    let request = ModelRequest { messages: vec![user("How long is the warranty?")], ..ModelRequest::default() };
    let whole = complete(&Builtin::new(None), request).await.unwrap();
    assert_eq!(whole.text, write::cannot_search(Lang::En));
}

#[tokio::test]
async fn an_answer_that_was_begun_goes_on_within_the_limit() {
    let material = format!("{MANUALS}\n\nQuestion: How long is the warranty of the Aurora X1?");
    let model = Builtin::new(None);
    let request = |begun: &str| ModelRequest {
        messages: vec![
            Prompt::System { content: "Go on.".into() },
            user(&material),
            Prompt::Assistant { content: begun.into(), tool_calls: vec![] },
            user("Go on exactly where your answer stops."),
        ],
        sampling: Sampling { max_tokens: Some(6), ..Sampling::default() },
        ..ModelRequest::default()
    };
    let mut said = "Northlight gives a ".to_owned();
    for _ in 0..20 {
        let more = complete(&model, request(&said)).await.unwrap();
        said.push_str(&more.text);
        if more.finish_reason == "stop" {
            break;
        }
        assert!(!more.text.is_empty(), "{said}");
    }
    assert_eq!(
        said,
        "Northlight gives a warranty of 3 years on the Aurora X1. [1] The battery is covered for 12 months. [1]"
    );
}

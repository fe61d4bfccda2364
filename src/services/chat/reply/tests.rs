//! Replies in both languages and both Chinese scripts, against several kinds of questions.

use async_trait::async_trait;
use futures::stream;
use proptest::prelude::*;

mod corrections;
mod kinds;
mod labels;
mod lists;

use super::*;
use crate::domain::{
    error::ModelError,
    evidence::Route,
    hitl::{Choice, Question},
    id::{DocumentId, HitlId},
    model::{ModelEvent, ModelRequest, ModelStream},
    time::Millis,
};

fn choice(n: usize, facet: Facet, label: &str, aliases: &[&str]) -> Choice {
    Choice {
        id: format!("o{n}"),
        label: label.into(),
        aliases: aliases.iter().map(|alias| (*alias).to_owned()).collect(),
        evidence_count: 2,
        filter: OptionFilter { facet, value: label.into(), documents: vec![document(n)] },
    }
}

fn document(n: usize) -> DocumentId {
    format!("00000000-0000-7000-8000-{n:012}").parse().unwrap()
}

fn record(original: &str, facet: Facet, labels: &[&str], slots: &[&str]) -> Record {
    let options: Vec<Choice> = labels
        .iter()
        .enumerate()
        .map(|(index, label)| {
            let mut names = label.split('=');
            let label = names.next().unwrap();
            choice(index + 1, facet, label, &names.collect::<Vec<_>>())
        })
        .collect();
    Record {
        v: Record::VERSION,
        question: Question {
            route: if options.is_empty() { Route::Clarify } else { Route::ScopeSelect },
            prompt: "Which one do you mean?".into(),
            options,
            missing_slots: slots.iter().map(|slot| (*slot).to_owned()).collect(),
            original_question: original.into(),
            rewrite_count: 0,
            parts: Vec::new(),
        },
        answers: Vec::new(),
        asked: Vec::new(),
        only: None,
        collections: Vec::new(),
        index_generation: 1,
    }
}

fn products() -> Record {
    record("How long is the warranty?", Facet::Subject, &["Aurora X1=极光", "Borealis Z9=北辰"], &["product"])
}

fn three() -> Record {
    record("How do I clean the filter?", Facet::Subject, &["Aurora X1", "Borealis Z9", "Cirrus M3 Mini"], &[])
}

fn zh() -> Record {
    record("保修期多长？", Facet::Subject, &["极光扫地机 X1", "北风吸尘器 Z9", "流云洗地机"], &["产品"])
}

fn years() -> Record {
    record("What was the revenue?", Facet::Period, &["2022", "2023", "2024"], &["year"])
}

fn open_place() -> Record {
    record("How high is the tax?", Facet::Place, &[], &["country"])
}

fn open_kind() -> Record {
    record("How is it paid?", Facet::Kind, &[], &["kind of contract"])
}

/// A verdict in one line: `1,3` options · `none[ rest]` · `nothing` · `slot` · `dismiss[ rest]` · `new[ given][: rest]` ·
/// `unsure`.
fn brief(understood: &Understanding, record: &Record) -> String {
    let places = |filters: &[OptionFilter]| {
        let place = |filter: &OptionFilter| {
            record.question.options.iter().position(|option| option.filter == *filter).unwrap() + 1
        };
        filters.iter().map(|filter| place(filter).to_string()).collect::<Vec<_>>().join(",")
    };
    match &understood.verdict {
        Verdict::Answer(answer) if answer.none => format!("none {}", answer.words).trim_end().to_owned(),
        Verdict::Answer(answer) if answer.says_nothing() => "nothing".into(),
        Verdict::Answer(answer) if answer.filters.is_empty() => "slot".into(),
        Verdict::Answer(answer) => places(&answer.filters),
        Verdict::Dismiss { rest } => format!("dismiss {}", rest.as_deref().unwrap_or("")).trim_end().to_owned(),
        Verdict::NewQuestion { given, rest } => {
            let rest = rest.as_ref().map(|rest| format!(": {rest}")).unwrap_or_default();
            format!("new {}", places(given)).trim_end().to_owned() + &rest
        }
        Verdict::Unsure => "unsure".into(),
    }
}

fn check(record: &Record, cases: &[(&str, &str)]) {
    let wrong: Vec<String> = cases
        .iter()
        .filter_map(|(reply, expected)| {
            let understood = understand(reply, record, None);
            let got = brief(&understood, record);
            (got != *expected).then(|| format!("{reply:?}: expected {expected:?}, got {got:?} ({})", understood.reason))
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn what_has_no_words_chooses_nothing() {
    for reply in ["!!!", "?", "。", "……", "👍", "🤷‍♀️", "👍🏽", "1/2", "-1", "½", "°"] {
        check(&products(), &[(reply, "nothing")]);
        let by_id = HitlReply { id: Some(HitlId::at(Millis(1))), ..HitlReply::default() };
        let understood = understand(reply, &products(), Some(&by_id));
        assert_eq!(brief(&understood, &products()), "nothing", "{reply}");
    }
    check(&products(), &[("2️⃣", "2"), ("②", "2"), ("2！", "2"), ("２。", "2")]);
}

#[test]
fn replies_in_the_other_language() {
    check(&products(), &[("第二个", "2"), ("都要", "1,2"), ("后者", "2"), ("全部", "1,2"), ("算了", "dismiss")]);
    check(&zh(), &[("the second one", "2"), ("all of them", "1,2,3"), ("last", "3"), ("never mind", "dismiss")]);
}

#[test]
fn a_name_by_accident_chooses_nothing_even_by_id() {
    let by_id = HitlReply { id: Some(HitlId::at(Millis(1))), ..HitlReply::default() };
    let long = format!("I once had an Aurora X1. {}", "It was a long story. ".repeat(1_500));
    for reply in [long.as_str(), "I would rather not get the Aurora here, if that is all the same", "the Borealis Z8"] {
        let understood = understand(reply, &products(), Some(&by_id));
        assert_eq!(brief(&understood, &products()), "slot", "{reply:.40}");
    }
}

#[test]
fn english_replies_to_two_products() {
    check(
        &products(),
        &[
            ("Aurora X1", "1"),
            ("aurora x1", "1"),
            ("AURORA X1!", "1"),
            ("ＡＵＲＯＲＡ　Ｘ１", "1"),
            ("“Aurora X1”", "1"),
            ("- Borealis Z9", "2"),
            ("auroraX1", "1"),
            ("Aurora X 1", "1"),
            ("Aurora X1?", "1"),
            ("arora x1", "1"),
            ("Aurroa X1", "1"),
            ("Borealis Z8", "slot"),
            ("the aurora", "1"),
            ("aurora please", "1"),
            ("I mean the Borealis", "2"),
            ("I meant the boreals one", "2"),
            ("z9", "2"),
            ("the Z9 one, please", "2"),
            ("it's the aurora", "1"),
            ("What about the Aurora?", "1"),
            ("how about borealis", "2"),
            ("the warranty of the Aurora", "1"),
            ("I have the Aurora X1", "1"),
            ("For the Borealis Z9.", "2"),
            ("2", "2"),
            ("２", "2"),
            ("②", "2"),
            ("2️⃣", "2"),
            ("2.", "2"),
            ("(2)", "2"),
            ("#2", "2"),
            ("no. 2", "2"),
            ("number two", "2"),
            ("option 2", "2"),
            ("Option B", "2"),
            ("b", "2"),
            ("B)", "2"),
            ("a", "1"),
            ("the second one", "2"),
            ("the 2nd", "2"),
            ("second please", "2"),
            ("the first", "1"),
            ("one", "1"),
            ("the last one", "2"),
            ("the latter", "2"),
            ("former", "1"),
            ("I'd like the second option, thanks", "2"),
            ("ok, the second", "2"),
            ("No, the second one", "2"),
            ("yes, aurora", "1"),
            ("1 and 2", "1,2"),
            ("both", "1,2"),
            ("both of them please", "1,2"),
            ("all of them", "1,2"),
            ("either", "1,2"),
            ("any", "1,2"),
            ("aurora and borealis", "1,2"),
            ("both Aurora X1 and Borealis Z9", "1,2"),
            ("aurora borealis", "1,2"),
            ("I don't know", "1,2"),
            ("doesn't matter which", "1,2"),
            ("not the first", "2"),
            ("not the first one", "2"),
            ("not aurora", "2"),
            ("anything but the Aurora", "2"),
            ("except the second", "1"),
            ("everything except aurora", "2"),
            ("not the first but the second", "2"),
            ("not the first, the second", "2"),
            ("not aurora, borealis", "2"),
            ("neither aurora nor borealis", "none"),
            ("none of these", "none"),
            ("None of them.", "none"),
            ("neither", "none"),
            ("something else", "none"),
            ("none of these, I have a Zephyr", "none i have a zephyr"),
            ("None of these. How do I contact support?", "new: How do I contact support?"),
        ],
    );
}

#[test]
fn declines_and_questions_of_their_own() {
    check(
        &products(),
        &[
            ("never mind", "dismiss"),
            ("Never mind!", "dismiss"),
            ("nevermind, thanks", "dismiss"),
            ("oh well, forget it", "dismiss"),
            ("no thanks", "dismiss"),
            ("no", "dismiss"),
            ("stop", "dismiss"),
            ("cancel", "dismiss"),
            ("cancel please", "dismiss"),
            ("never mind, how do I reset the password?", "dismiss how do I reset the password?"),
            ("Never mind how do I reset it?", "dismiss how do I reset it?"),
            ("Forget it. What does shipping cost?", "dismiss What does shipping cost?"),
            ("never mind, the second one", "2"),
            ("stop, show me the price list", "dismiss show me the price list"),
            ("stop the machine when it smokes", "unsure"),
            ("cancel my order", "unsure"),
            ("How do I reset the password?", "new"),
            ("what is the price of shipping", "new"),
            ("Is the battery covered?", "new"),
            ("Tell me about shipping costs", "new"),
            ("and the battery of the Aurora, how long does it last?", "new 1"),
            ("How long does the Aurora X1 battery last?", "new 1"),
            ("How much do the Aurora X1 and the Borealis Z9 weigh?", "new 1,2"),
            ("How long is the warranty for the Aurora X1?", "1"),
            ("show me the return policy", "new"),
            ("my printer is broken and smells", "new"),
            ("Who founded the company?", "new"),
            ("Can I return it", "new"),
            ("3", "nothing"),
            ("9", "nothing"),
            ("the third one", "nothing"),
            ("0", "nothing"),
            ("-1", "nothing"),
            ("2%", "nothing"),
            ("1/2", "nothing"),
            ("$2", "nothing"),
            ("12", "nothing"),
            ("c", "nothing"),
            ("yes", "nothing"),
            ("the one", "nothing"),
            ("that one", "nothing"),
            ("", "nothing"),
            ("   ", "nothing"),
            ("?", "nothing"),
            ("!!!", "nothing"),
            ("👍", "nothing"),
            ("🙂🙂🙂", "nothing"),
            ("...", "nothing"),
            ("shipping costs", "unsure"),
            ("pizza", "unsure"),
            ("hello", "nothing"),
        ],
    );
}

#[test]
fn three_options() {
    check(
        &three(),
        &[
            ("1, 3", "1,3"),
            ("1 & 3", "1,3"),
            ("the first and the last", "1,3"),
            ("first two", "1,2"),
            ("the last two", "2,3"),
            ("the middle one", "2"),
            ("A and C", "1,3"),
            ("all three", "1,2,3"),
            ("both", "nothing"),
            ("all but the first", "2,3"),
            ("not 1 or 2", "3"),
            ("mini", "3"),
            ("cirus", "3"),
            ("aurora or cirrus", "1,3"),
            ("not both", "nothing"),
            ("Aurora X2", "slot"),
        ],
    );
}

#[test]
fn chinese_in_both_scripts() {
    check(
        &zh(),
        &[
            ("极光扫地机 X1", "1"),
            ("極光掃地機X1", "1"),
            ("极光扫地机Ｘ１。", "1"),
            ("极光", "1"),
            ("極光", "1"),
            ("北风的", "2"),
            ("那北风呢？", "2"),
            ("我说的是流云", "3"),
            ("流云洗地机吧", "3"),
            ("流云洗地鸡", "3"),
            ("洗地机", "3"),
            ("我要吸尘器", "2"),
            ("第二个", "2"),
            ("第二個", "2"),
            ("第2个", "2"),
            ("二", "2"),
            ("2号", "2"),
            ("选二", "2"),
            ("選第二個", "2"),
            ("我要第一个", "1"),
            ("第一款吧", "1"),
            ("就第三个，谢谢", "3"),
            ("最后一个", "3"),
            ("最後一個", "3"),
            ("后者", "3"),
            ("前者", "1"),
            ("B", "2"),
            ("选B", "2"),
            ("选项三", "3"),
            ("倒数第二个", "2"),
            ("前两个", "1,2"),
            ("第一个和第三个", "1,3"),
            ("极光和流云", "1,3"),
            ("極光、流雲", "1,3"),
            ("都要", "1,2,3"),
            ("全部", "1,2,3"),
            ("全部都要", "1,2,3"),
            ("三个都要", "1,2,3"),
            ("两个都要", "nothing"),
            ("都行", "1,2,3"),
            ("随便", "1,2,3"),
            ("隨便", "1,2,3"),
            ("不知道", "1,2,3"),
            ("除了第一个", "2,3"),
            ("除了第一個都要", "2,3"),
            ("除了极光以外的都要", "2,3"),
            ("不是第一个", "2,3"),
            ("不是第一个，是第二个", "2"),
            ("不要极光", "2,3"),
            ("都不是", "none"),
            ("都不是。", "none"),
            ("以上都不是", "none"),
            ("其他的", "none"),
            ("都不是，是微风加湿器", "none 是微风加湿器"),
            ("算了", "dismiss"),
            ("算了吧", "dismiss"),
            ("那算了，谢谢", "dismiss"),
            ("不用了", "dismiss"),
            ("取消", "dismiss"),
            ("没事了", "dismiss"),
            ("沒事了", "dismiss"),
            ("算了，怎么退货？", "dismiss 怎么退货？"),
            ("算了怎么退货", "dismiss 怎么退货"),
            ("算了，就第二个吧", "2"),
            ("取消订单", "unsure"),
            ("怎么退货？", "new"),
            ("如何清洗滤网", "new"),
            ("价格是多少", "new"),
            ("能开发票吗", "new"),
            ("請問怎麼退貨", "new"),
            ("介绍一下公司", "new"),
            ("告诉我运费标准", "new"),
            ("极光扫地机的电池能用多久？", "new 1"),
            ("极光的保修期多长？", "1"),
            ("第四个", "nothing"),
            ("4", "nothing"),
            ("，。！", "nothing"),
            ("两个", "nothing"),
            ("嗯", "nothing"),
            ("你好", "nothing"),
            ("退货政策", "unsure"),
        ],
    );
}

#[test]
fn labels_that_are_numbers_come_before_places() {
    check(
        &years(),
        &[
            ("2024", "3"),
            ("2024年", "3"),
            ("the 2023 one", "2"),
            ("in 2022", "1"),
            ("2", "2"),
            ("2022 and 2024", "1,3"),
            ("not 2022", "2,3"),
            ("2021", "slot"),
            ("FY 2021", "slot"),
            ("2025?", "unsure"),
            ("20", "nothing"),
        ],
    );
    let numbered = record("Which fee?", Facet::Subject, &["3", "2", "1"], &[]);
    check(&numbered, &[("3", "1"), ("2", "2"), ("1", "3"), ("the first", "1"), ("4", "nothing")]);
    let versions = record("What changed?", Facet::Edition, &["Version 2", "Version 1"], &[]);
    check(&versions, &[("version 1", "2"), ("2", "nothing"), ("the second", "2"), ("v", "nothing")]);
}

#[test]
fn labels_with_words_that_mean_something_here() {
    let record = record(
        "Which rules apply?",
        Facet::Document,
        &["Terms and Conditions", "All About Returns", "Not for Sale"],
        &[],
    );
    check(
        &record,
        &[
            ("terms and conditions", "1"),
            ("all about returns", "2"),
            ("not for sale", "3"),
            ("All", "1,2,3"),
            ("conditions", "1"),
            ("returns", "2"),
            ("Terms and returns", "1,2"),
        ],
    );
}

#[test]
fn completions_of_a_missing_slot() {
    check(
        &open_place(),
        &[
            ("Germany", "slot"),
            ("in Germany", "slot"),
            ("德国", "slot"),
            ("for private customers in France please", "slot"),
            ("Liechtenstein", "slot"),
            ("pizza", "unsure"),
            ("What is the weather?", "new"),
            ("never mind", "dismiss"),
            ("how do I cancel", "new"),
            ("my order is late and nobody answers", "new"),
        ],
    );
    check(
        &open_kind(),
        &[
            ("fixed-price", "slot"),
            ("a cost-plus contract", "slot"),
            ("固定价格", "slot"),
            ("explain the cost-plus contract", "new"),
            ("it is broken", "unsure"),
        ],
    );
}

#[test]
fn an_answer_carries_filters_and_labels() {
    let record = products();
    let understood = understand("the second one", &record, None);
    let expected = Answer {
        text: "the second one".into(),
        filters: vec![record.question.options[1].filter.clone()],
        none: false,
        except_documents: vec![],
        words: "Borealis Z9".into(),
    };
    assert_eq!(understood.verdict, Verdict::Answer(expected));
    assert_eq!((understood.reason.as_str(), understood.by.as_str()), ("ordinal", "builtin"));
    assert_eq!(understood.trace()["verdict"], "answer");
    assert_eq!(understood.trace()["words"], "Borealis Z9");
    let none = understand("none of these", &record, None);
    let Verdict::Answer(answer) = none.verdict else { panic!("{none:?}") };
    assert_eq!(answer.except_documents, [document(1), document(2)]);
}

#[test]
fn none_of_the_sections_leaves_their_document_in() {
    let record = record("How long?", Facet::Section, &["Battery", "Motor"], &[]);
    let Verdict::Answer(answer) = understand("none of these", &record, None).verdict else { panic!() };
    assert_eq!((answer.filters.len(), answer.except_documents.len()), (0, 0));
}

fn body(id: bool, action: Option<HitlAction>, options: &[&str]) -> HitlReply {
    HitlReply {
        id: id.then(|| HitlId::at(Millis(1))),
        action,
        option_ids: options.iter().map(|id| (*id).to_owned()).collect(),
    }
}

#[test]
fn the_body_says_it_without_words() {
    let record = products();
    let run = |reply: &str, body: &HitlReply| brief(&understand(reply, &record, Some(body)), &record);
    assert_eq!(run("", &body(true, None, &["o2"])), "2");
    assert_eq!(run("Aurora X1, Borealis Z9", &body(false, Some(HitlAction::Answer), &["o2", "o1"])), "1,2");
    assert_eq!(run("dismiss", &body(true, Some(HitlAction::Dismiss), &[])), "dismiss");
    assert_eq!(run("", &body(true, Some(HitlAction::Dismiss), &[])), "dismiss");
    assert_eq!(run("How do I return it?", &body(true, Some(HitlAction::Dismiss), &[])), "dismiss How do I return it?");
    assert_eq!(run("never mind", &body(true, None, &[])), "dismiss");
    assert_eq!(run("2", &body(true, None, &["unknown"])), "2");
    // By id any text is the answer.
    assert_eq!(run("How do I return it?", &body(true, None, &[])), "slot");
    assert_eq!(run("the one that I bought in Rome", &body(true, None, &[])), "slot");
    assert_eq!(run("is the aurora black?", &body(true, None, &[])), "1");
    assert_eq!(run("👍", &body(true, None, &[])), "nothing");
}

#[test]
fn a_remark_beside_an_option_joins_the_search() {
    let record = products();
    let understood = understand("for business use", &record, Some(&body(true, None, &["o1"])));
    let Verdict::Answer(answer) = understood.verdict else { panic!() };
    assert_eq!(answer.words, "Aurora X1 for business use");
}

#[test]
fn huge_replies_are_new_questions() {
    let record = products();
    assert_eq!(brief(&understand(&"aurora x1 ".repeat(3_000), &record, None), &record), "new");
    assert_eq!(brief(&understand(&"1".repeat(30_000), &record, None), &record), "new");
    assert_eq!(brief(&understand(&"极".repeat(30_000), &record, None), &record), "new");
    let long = "What does shipping cost? ".repeat(100);
    let understood = understand(&format!("Never mind. {long}"), &record, None);
    assert_eq!(understood.verdict, Verdict::Dismiss { rest: Some(long.trim().to_owned()) });
    let Verdict::Answer(answer) = understand(&"x".repeat(30_000), &record, Some(&body(true, None, &[]))).verdict else {
        panic!()
    };
    assert_eq!(answer.text.chars().count(), 300);
}

/// Answers with these texts in turn, then fails.
struct Scripted(std::sync::Mutex<Vec<&'static str>>);

#[async_trait]
impl ChatModel for Scripted {
    fn name(&self) -> &str {
        "scripted"
    }

    fn offers(&self, _: &str) -> bool {
        true
    }

    async fn stream(&self, request: ModelRequest) -> Result<ModelStream, ModelError> {
        assert!(request.schema.is_some() && request.tools.is_empty());
        let mut texts = self.0.lock().unwrap();
        if texts.is_empty() {
            return Err(ModelError::Transient("down".into()));
        }
        let end = ModelEvent::End { finish_reason: "stop".into(), usage: None };
        Ok(Box::pin(stream::iter([Ok(ModelEvent::Text(texts.remove(0).into())), Ok(end)])))
    }
}

async fn decided(reply: &str, texts: &[&'static str]) -> (String, String) {
    let record = products();
    let model = Scripted(std::sync::Mutex::new(texts.to_vec()));
    let understood = decide(reply, &record, None, Some(&model)).await;
    assert!(model.0.lock().unwrap().is_empty(), "calls left");
    (brief(&understood, &record), understood.by)
}

#[tokio::test]
async fn a_model_decides_where_the_rules_cannot() {
    let of = |got: &str, by: &str| (got.to_owned(), by.to_owned());
    let answer = r#"{"meaning":"answer","options":[2],"detail":null,"reason":"the round one"}"#;
    assert_eq!(decided("the round thing", &[answer]).await, of("2", "scripted"));
    let fenced = "```json\n{\"meaning\":\"dismiss\",\"options\":[],\"detail\":null,\"reason\":\"\"}\n```";
    assert_eq!(decided("meh", &[fenced]).await, of("dismiss", "scripted"));
    let wrong = r#"{"meaning":"answer","options":[7],"detail":null,"reason":""}"#;
    assert_eq!(decided("the round thing", &[wrong, answer]).await, of("2", "scripted"));
    assert_eq!(decided("the round thing", &[wrong, "no json"]).await, of("new", "builtin"));
    assert_eq!(decided("the round thing", &[]).await, of("new", "builtin"));
    // The rules suffice: no call.
    assert_eq!(decided("2", &[]).await, of("2", "builtin"));
}

#[tokio::test]
async fn without_a_model_doubt_is_a_new_question() {
    let record = products();
    let understood = decide("the round thing", &record, None, None).await;
    assert_eq!(understood.verdict, Verdict::NewQuestion { given: vec![], rest: None });
}

proptest! {
    #[test]
    fn never_panics(reply in "\\PC{0,60}") {
        for record in [products(), three(), zh(), years(), open_place(), open_kind()] {
            let _ = understand(&reply, &record, None);
        }
    }

    #[test]
    fn replies_made_of_this_modules_words_never_panic(
        words in proptest::collection::vec(
            proptest::sample::select(vec![
                "not", "the", "2", "first", "第", "二", "个", "都", "不", "是", "除了", "aurora", "x1", "极光", ",",
                "，", "?", "and", "和", "but", "never mind", "算了", "none of these", "以外", "all", "one", "🙂", "\n",
                "last", "two", "no", "-", "①",
            ]),
            0..12,
        ),
        space in proptest::sample::select(vec!["", " "]),
    ) {
        let reply = words.join(space);
        for record in [products(), three(), zh(), years()] {
            let _ = understand(&reply, &record, None);
        }
    }

    #[test]
    fn unrelated_questions_are_never_swallowed(
        head in proptest::sample::select(vec![
            "How do I", "What is", "Where can I find", "Why does", "Who wrote", "When will", "Can you", "Is there",
            "Tell me about", "Explain", "Show me",
        ]),
        words in proptest::collection::vec(
            proptest::sample::select(vec![
                "shipping", "invoice", "the", "refund", "password", "office", "2", "second", "weather", "cook", "of",
                "Berlin", "all", "none", "network",
            ]),
            2..8,
        ),
        mark in proptest::sample::select(vec!["?", "", "."]),
    ) {
        let reply = format!("{head} {}{mark}", words.join(" "));
        for record in [products(), three(), years(), open_place(), open_kind()] {
            let understood = understand(&reply, &record, None);
            prop_assert!(matches!(understood.verdict, Verdict::NewQuestion { .. }), "{}: {:?}", reply, understood);
        }
    }

    #[test]
    fn unrelated_chinese_questions_are_never_swallowed(
        head in proptest::sample::select(vec!["怎么", "什么是", "为什么", "哪里可以", "请介绍", "告诉我"]),
        words in proptest::collection::vec(
            proptest::sample::select(vec!["运费", "发票", "退款", "密码", "办公室", "第二", "天气", "的", "网络", "都"]),
            1..6,
        ),
        mark in proptest::sample::select(vec!["？", "", "。"]),
    ) {
        let reply = format!("{head}{}流程{mark}", words.concat());
        for record in [products(), zh(), open_place(), open_kind()] {
            let understood = understand(&reply, &record, None);
            prop_assert!(matches!(understood.verdict, Verdict::NewQuestion { .. }), "{}: {:?}", reply, understood);
        }
    }

    #[test]
    fn every_label_is_understood_in_any_case(index in 0usize..3, upper in any::<bool>()) {
        for record in [three(), zh(), years()] {
            let label = &record.question.options[index].label;
            let reply = if upper { label.to_uppercase() } else { label.to_lowercase() };
            prop_assert_eq!(brief(&understand(&reply, &record, None), &record), (index + 1).to_string());
        }
    }
}

//! Options under their labels: whole labels inside others, labels with their number, labels with a description.

use super::*;

pub(super) fn cards() -> Record {
    let mut cards = record("年费是多少？", Facet::Kind, &["银卡", "金卡", "铂金卡"], &["等级"]);
    cards.question.prompt = "您指的是哪一个等级？".into();
    cards
}

pub(super) fn plans() -> Record {
    let mut plans = record("What does the deductible come to?", Facet::Kind, &["Basic", "Plus", "Premium"], &[]);
    plans.question.prompt = "Which care plan do you mean?".into();
    plans
}

#[test]
fn a_whole_label_is_no_misspelt_other_one() {
    for reply in [
        "金卡",
        "我有金卡",
        "有金卡",
        "我办金卡",
        "我想办金卡",
        "来金卡",
        "换金卡",
        "查询金卡",
        "请选择金卡",
        "老金卡",
        "我的金卡",
        "開金卡",
        "換金卡",
        "查詢金卡",
        "請選擇金卡",
        "辦金卡",
    ] {
        check(&cards(), &[(reply, "2")]);
    }
    check(
        &cards(),
        &[
            ("铂金卡", "3"),
            ("鉑金卡", "3"),
            ("我有铂金卡", "3"),
            ("我办银卡", "1"),
            ("不是金卡", "1,3"),
            ("不要铂金卡", "1,2"),
            ("我是金卡用户", "2"),
            // Another name, which is asked for again.
            ("白金卡", "nothing"),
            ("黄金卡", "nothing"),
            ("铂金卡的年限怎么算", "new 3"),
            // Another matter, or none at all.
            ("金卡办理", "new 2"),
            ("查询订单", "new"),
            ("有优惠吗", "new"),
            ("换个手机号怎么办", "new"),
            ("开发票", "unsure"),
            ("来一杯咖啡", "unsure"),
        ],
    );
    let tools = record("How heavy is it?", Facet::Subject, &["Gold", "Golden", "Silver"], &[]);
    check(&tools, &[("gold", "1"), ("golden", "2"), ("my gold", "1"), ("I have gold", "1"), ("silvr", "3")]);
}

#[test]
fn a_number_and_the_label_of_the_same_option() {
    check(
        &three(),
        &[
            ("1 Aurora X1", "1"),
            ("(1) Aurora X1", "1"),
            ("1) Aurora X1", "1"),
            ("1. Aurora X1", "1"),
            ("1: Aurora", "1"),
            ("①Aurora X1", "1"),
            ("2 Borealis Z9", "2"),
            ("#2 Borealis", "2"),
            ("B) Borealis Z9", "2"),
            ("a) Aurora", "1"),
            ("Aurora X1 (1)", "1"),
            ("Aurora X1 (the first)", "1"),
            ("second (Borealis)", "2"),
            ("the second one (Borealis Z9), please", "2"),
            ("option 2: Borealis Z9", "2"),
            // An article is no letter of the list.
            ("a Borealis", "2"),
            ("one Borealis, please", "2"),
            // They name different ones.
            ("2 Aurora X1", "nothing"),
            ("1. Borealis Z9", "nothing"),
            ("2) Aurora", "nothing"),
            ("B) Aurora X1", "nothing"),
            ("Aurora X1 (2)", "nothing"),
            ("third (Borealis)", "nothing"),
            // Two that are named side by side are two.
            ("1, Borealis", "1,2"),
            ("1 and Borealis", "1,2"),
        ],
    );
    check(&plans(), &[("3 (Premium)", "3"), ("third (Premium)", "3"), ("2 (Premium)", "nothing")]);
    check(
        &cards(),
        &[
            ("2 金卡", "2"),
            ("（2）金卡", "2"),
            ("②金卡", "2"),
            ("2、金卡", "2"),
            ("第二个（金卡）", "2"),
            ("第二個（金卡）", "2"),
            ("金卡（2）", "2"),
            ("金卡（第二个）", "2"),
            ("3 金卡", "nothing"),
            ("第一个（金卡）", "nothing"),
            ("金卡（3）", "nothing"),
        ],
    );
    let numbered = record("Which one leaks?", Facet::Subject, &["Pump 2", "Pump 1"], &[]);
    check(&numbered, &[("pump 2", "1"), ("2 pump", "1"), ("2 Pump 1", "2"), ("1 Pump 1", "nothing")]);
}

#[test]
fn a_description_behind_a_label_is_no_new_matter() {
    let mowers = record("What is the cutting width?", Facet::Subject, &["M5", "M7"], &["product"]);
    for reply in [
        "M5 please, the one for the office",
        "M5, the one for the office",
        "M5 - the one for the office",
        "M5 (the one for the office)",
        "M5, the small white one",
        "M5, for the office",
        "M5 – the one we bought last year",
        "M5, which I bought in May",
        "M5，办公室那台",
        "M5，辦公室那台",
        "M5，放在办公室的那个",
    ] {
        let Verdict::Answer(answer) = understand(reply, &mowers, None).verdict else { panic!("{reply}") };
        assert_eq!((answer.words.as_str(), answer.filters.len()), ("M5", 1), "{reply}");
    }
    check(
        &mowers,
        &[
            ("M5, price", "new 1"),
            ("M5 please, what does it weigh?", "new 1: what does it weigh?"),
            ("How heavy is the M5?", "new 1"),
            ("M5，价格", "new 1"),
        ],
    );
    check(&three(), &[("How heavy is the Aurora X1?", "new 1"), ("How heavy is the second one?", "new")]);
}

/// As many as a list holds: there may be more.
fn many() -> Record {
    let labels = ["Alder", "Birch", "Cedar", "Ebony", "Hazel", "Larch", "Maple", "Olive"];
    record("How long is the warranty?", Facet::Subject, &labels, &["product"])
}

#[test]
fn of_a_full_list_another_name_is_an_answer_too() {
    check(
        &many(),
        &[
            ("Willow", "slot"),
            ("willow", "slot"),
            ("the Willow, please", "slot"),
            ("Willow W2", "slot"),
            ("it's the Willow", "slot"),
            ("I have the Willow", "slot"),
            ("垂柳", "slot"),
            ("我的是垂柳", "slot"),
            ("Olive", "8"),
            ("the last one", "8"),
            ("9", "nothing"),
            ("How do I reset the Willow?", "new"),
            ("What is the meal allowance?", "new"),
            ("never mind", "dismiss"),
        ],
    );
    check(&three(), &[("Willow", "unsure")]);
}

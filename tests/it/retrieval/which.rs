//! Which of several things is meant: many products, products whose names count like editions, tables that several of them
//! have, and a place that matches where the thing that is asked for does not.

use askback::domain::{
    evidence::Finding,
    hitl::{Facet, Question},
    tool::Background,
};

use super::told::{all, case, write};
use crate::support::shelf::Shelf;

fn asked(finding: Finding) -> Question {
    match finding {
        Finding::Ask(question) => question,
        other => panic!("a question, not {other:?}"),
    }
}

async fn shelf(files: &[(String, String)]) -> Shelf {
    let files: Vec<(&str, &[u8])> = files.iter().map(|(name, text)| (name.as_str(), text.as_bytes())).collect();
    Shelf::with(&files).await
}

const MANY: [&str; 11] =
    ["Alder", "Birch", "Cedar", "Ebony", "Hazel", "Larch", "Maple", "Olive", "Poplar", "Rowan", "Willow"];
const MANY_ZH: [&str; 11] = ["青松", "白桦", "红杉", "乌木", "紫檀", "黄杨", "丹枫", "银杏", "翠竹", "垂柳", "苍柏"];

#[tokio::test]
async fn of_many_products_the_best_are_offered_and_any_other_may_be_named() {
    let manual = |name: &str, months: usize| {
        format!(
            "# {name} User Manual\n\nThe {name} is a lamp.\n\n## Warranty\n\nThe warranty of the {name} is {months} months.\n"
        )
    };
    let manual_zh = |name: &str, months: usize| {
        format!("# {name}台灯用户手册\n\n{name}是一款台灯。\n\n## 保修\n\n{name}台灯的保修期为 {months} 个月。\n")
    };
    let files: Vec<(String, String)> =
        MANY.iter().enumerate().map(|(nth, name)| (format!("{name}.md"), manual(name, 10 + nth))).collect();
    let files_zh: Vec<(String, String)> =
        MANY_ZH.iter().enumerate().map(|(nth, name)| (format!("{name}.md"), manual_zh(name, 10 + nth))).collect();
    for (files, names, question, more) in [
        (files, MANY, "How long is the warranty?", "There are more than these"),
        (files_zh, MANY_ZH, "保修期是多久？", "以下只是其中一部分"),
    ] {
        let shelf = shelf(&files).await;
        let question = asked(shelf.question(question).await.finding);
        let labels: Vec<&str> = question.options.iter().map(|option| option.label.as_str()).collect();
        assert_eq!(labels.len(), Question::MOST_OPTIONS, "{labels:?}");
        assert!(labels.iter().all(|label| names.iter().any(|name| label.starts_with(name))), "{labels:?}");
        assert!(question.prompt.contains(more), "{}", question.prompt);
        for (nth, name) in names.iter().enumerate() {
            let found = shelf.reply(&question, name).await;
            let Finding::Answer(evidence) = found.finding else { panic!("{name}: {:?}", found.finding) };
            let told = write(&evidence, name).await;
            assert!(told.contains(&(10 + nth).to_string()), "{name}: {told}");
            assert!(!told.contains("ssuming") && !told.contains("假设"), "{name}: {told}");
        }
        shelf.close().await;
    }
}

#[tokio::test]
async fn models_that_count_like_editions_are_products() {
    let manual = |name: &str, months: u32, year: u32| {
        format!(
            "# {name} User Manual\n\nDate: {year}-03-01\n\nThe {name} is a drone.\n\n## Warranty\n\nThe warranty of the {name} is {months} months.\n"
        )
    };
    let manual_zh = |name: &str, months: u32| {
        format!("# {name} 用户手册\n\n{name} 是一款无人机。\n\n## 保修\n\n{name} 的保修期为 {months} 个月。\n")
    };
    let cases = [
        case("How long is the warranty?", &["asks", "Falcon V2", "Falcon V3"], &[]),
        case("How long is the warranty of the Falcon V2?", &["12 months"], &["asks", "30 months"]),
    ];
    let (two, three) = (manual("Falcon V2", 12, 2022), manual("Falcon V3", 30, 2024));
    all(&[("two.md", &two), ("three.md", &three)], &cases).await;
    let cases = [
        case("保修期是多久？", &["asks", "猎鹰 V2", "猎鹰 V3"], &[]),
        case("猎鹰 V3 的保修期是多久？", &["30 个月"], &["asks", "12 个月"]),
    ];
    let (two, three) = (manual_zh("猎鹰 V2", 12), manual_zh("猎鹰 V3", 30));
    all(&[("二.md", &two), ("三.md", &three)], &cases).await;
    let edition = |version: u32, months: u32| {
        format!(
            "# Falcon User Manual V{version}\n\nThe Falcon is a drone.\n\n## Warranty\n\nThe warranty of the Falcon is {months} months.\n"
        )
    };
    let (two, three) = (edition(2, 12), edition(3, 30));
    let cases = [case("How long is the warranty?", &["V3", "30 months"], &["asks", "12 months"])];
    all(&[("two.md", &two), ("three.md", &three)], &cases).await;
}

#[tokio::test]
async fn of_products_with_the_same_rows_both_are_settled() {
    let plans = |name: &str, prices: [&str; 2]| {
        let text = format!(
            "# {name} Prices\n\n{name} is a place to keep files.\n\n| Plan | Price per month |\n|---|---|\n| Solo | {} |\n| Team | {} |\n",
            prices[0], prices[1]
        );
        (format!("{}.md", name.to_lowercase()), text)
    };
    let plans_zh = |name: &str, prices: [&str; 2]| {
        let text = format!(
            "# {name}价格表\n\n| 套餐 | 每月价格 |\n|---|---|\n| 个人版 | {} |\n| 团队版 | {} |\n",
            prices[0], prices[1]
        );
        (format!("{name}.md"), text)
    };
    for (files, questions, products, rows, last) in [
        (
            [plans("Heronbox", ["5 EUR", "9 EUR"]), plans("Storkbox", ["5 EUR", "12 EUR"])],
            ["How much is the plan?", "How much is the Team plan?"],
            ["Heronbox", "Storkbox"],
            ["Solo", "Team"],
            ["9 EUR", "12 EUR"],
        ),
        (
            [plans_zh("苍鹭网盘", ["5 元", "9 元"]), plans_zh("白鹳网盘", ["5 元", "12 元"])],
            ["套餐每月多少钱？", "团队版每月多少钱？"],
            ["苍鹭", "白鹳"],
            ["个人版", "团队版"],
            ["9 元", "12 元"],
        ),
    ] {
        let shelf = shelf(&files).await;
        let labels = |question: &Question| {
            let mut labels: Vec<String> = question.options.iter().map(|option| option.label.clone()).collect();
            labels.sort();
            labels
        };
        let sorted = |names: [&str; 2]| {
            let mut names = names.map(str::to_owned).to_vec();
            names.sort();
            names
        };
        let of = |question: &Question, label: &str| {
            question.options.iter().find(|option| option.label == label).unwrap().clone()
        };
        let [open, named] = questions;
        let first = asked(shelf.question(open).await.finding);
        assert_eq!(labels(&first), sorted(products), "{open}");
        for (product, price) in products.iter().zip(last) {
            let second = asked(shelf.choose(&first, &of(&first, product)).await.finding);
            assert_eq!(labels(&second), sorted(rows), "{product}");
            assert_eq!(second.options[0].filter.documents.len(), 1);
            // The row is named: only the product is open.
            let of_row = asked(shelf.question(named).await.finding);
            assert_eq!(labels(&of_row), sorted(products), "{named}");
            let found = shelf.choose(&of_row, &of(&of_row, product)).await;
            let Finding::Answer(evidence) = found.finding else { panic!("{product}: {:?}", found.finding) };
            let told = write(&evidence, product).await;
            assert!(told.contains(price), "{product}: {told}");
        }
        // Of both the row is asked, and means that of both.
        let both: Vec<_> = first.options.iter().collect();
        let second = asked(shelf.choose_all(&first, &both).await.finding);
        assert_eq!(labels(&second), sorted(rows));
        assert!(second.options.iter().all(|option| option.filter.documents.len() == 2), "{:?}", second.options);
        assert_eq!(second.options[0].filter.facet, Facet::Kind);
        shelf.close().await;
    }
}

#[tokio::test]
async fn what_only_shares_the_place_does_not_answer() {
    let files = [
        ("rome.md", "# Site of Rome\n\nThe gym in Rome is open from 8 to 20.\n\nThe car park in Rome holds 40 cars.\n"),
        (
            "oslo.md",
            "# Site of Oslo\n\nThe canteen in Oslo is open from 11 to 14.\n\nThe car park in Oslo holds 70 cars.\n",
        ),
    ];
    let cases = [
        case("When is the canteen in Rome open?", &[], &["8 to 20"]),
        case("canteen in Rome", &[], &["8 to 20", "40 cars"]),
        case("When is the canteen in Oslo open?", &["11 to 14"], &["8 to 20"]),
        case("When does the gym in Rome open?", &["8 to 20"], &["11 to 14"]),
        case("How many cars can park in Rome?", &["40"], &["70"]),
    ];
    all(&files, &cases).await;
}

#[tokio::test]
async fn what_only_shares_the_place_does_not_answer_in_chinese() {
    let files = [
        ("罗马.md", "# 罗马办事处\n\n罗马的健身房开放时间为 8 点至 20 点。\n\n罗马的停车场可停 40 辆车。\n"),
        ("奥斯陆.md", "# 奥斯陆办事处\n\n奥斯陆的食堂开放时间为 11 点至 14 点。\n\n奥斯陆的停车场可停 70 辆车。\n"),
    ];
    let cases = [
        case("罗马的食堂几点开放？", &[], &["8 点", "40 辆"]),
        case("奥斯陆的食堂几点开放？", &["11 点"], &["8 点"]),
        case("罗马的健身房几点开放？", &["8 点"], &["11 点"]),
    ];
    all(&files, &cases).await;
}

const ABOUT_BIRCH: &str = "How long is the warranty of the Birch B2?";
const CHOICE: [&str; 2] =
    ["Which product do you mean?\n\n- Alder A1\n- Birch B2", "The warranty of the Birch B2 is 30 months. [1]"];

#[tokio::test]
async fn what_was_spoken_of_last_goes_before_the_note() {
    let manual = |name: &str, months: u32, hours: u32| {
        format!(
            "# {name} User Manual\n\nThe {name} is a lamp.\n\n## Warranty\n\nThe warranty of the {name} is {months} months.\n\n## Battery\n\nThe battery of the {name} charges in {hours} hours.\n"
        )
    };
    let (first, second) = (manual("Alder A1", 12, 3), manual("Birch B2", 30, 7));
    let files: [(&str, &[u8]); 2] = [("alder.md", first.as_bytes()), ("birch.md", second.as_bytes())];
    let shelf = Shelf::with(&files).await;
    let mut wrong = Vec::new();
    for (turns, answers, question, right) in [
        (&[ABOUT_BIRCH][..], &[][..], "And how long does the battery charge?", "7 hours"),
        (&[ABOUT_BIRCH, "Thanks!"], &[], "How long does the battery charge?", "7 hours"),
        (&[ABOUT_BIRCH, "Thanks!", "Good."], &[], "How long does its battery charge?", "7 hours"),
        (
            &["Is the Birch B2 a lamp?", "How long is the warranty?", "Is that so?"],
            &[],
            "And how long does the battery charge?",
            "7 hours",
        ),
        (&["How long is the warranty?", "2"], &CHOICE, "And how long does the battery charge?", "7 hours"),
        (&["Thanks!"], &[], "How long does the battery charge?", "3 hours"),
    ] {
        let owned = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
        let background = Background {
            user_turns: owned(turns),
            answers: owned(answers),
            note: Some("The user asked about the Alder A1 and its warranty.".into()),
            ..Background::default()
        };
        let found = shelf.question_with(&background, question).await;
        let text = match &found.finding {
            Finding::Answer(evidence) => write(evidence, question).await,
            other => format!("{other:?}"),
        };
        let is_right =
            text.contains(right) && ["3 hours", "7 hours"].iter().all(|hours| *hours == right || !text.contains(hours));
        if !is_right {
            wrong.push(format!("{turns:?} {question}: {text} ({:?})", found.trace.evidence_reason));
        }
    }
    shelf.close().await;
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

const LEAVE: &str = "# Leave\n\nAnnual leave: 28 days\n\nSick leave: up to 10 days with full pay\n\nLeave is requested from the line manager.\n";
const PAY: &str = "# Pay and Benefits\n\nSalaries are paid on the 25th.\n\nThe company pays 40 EUR a month towards public transport.\n";
const PLANS: &str = "# Plans\n\n| Plan | Price per month | Storage |\n|---|---|---|\n| Solo | 5 EUR | 20 GB |\n| Team | 9 EUR | 200 GB |\n";
const LEAVE_ZH: &str = "# 休假\n\n年假：15 天\n\n病假：最多 10 天\n\n休假须向直属经理申请。\n";
const PLANS_ZH: &str =
    "# 套餐\n\n| 套餐 | 每月价格 | 空间 |\n|---|---|---|\n| 个人版 | 5 元 | 20 GB |\n| 团队版 | 9 元 | 200 GB |\n";

#[tokio::test]
async fn small_collections_answer_what_they_hold() {
    let cases = [
        case("How many days of leave do I get?", &["28 days"], &[]),
        case("How many days of annual leave do I get?", &["28 days"], &["asks"]),
        case("How much annual leave do I have?", &["28 days"], &["asks"]),
        case("How many vacation days do I get?", &["28 days"], &[]),
        case("How many sick days are paid?", &["10 days"], &[]),
        case("When do I get my salary?", &["25th"], &[]),
    ];
    all(&[("leave.md", LEAVE), ("pay.md", PAY)], &cases).await;
}

#[tokio::test]
async fn a_price_is_found_under_any_of_its_names() {
    let cases = [
        case("How much does Solo cost?", &["5 EUR"], &["asks", "9 EUR"]),
        case("How much does the Team plan cost?", &["9 EUR"], &["asks", "5 EUR"]),
        case("What is the fee for the Team plan?", &["9 EUR"], &["asks", "5 EUR"]),
        case("What does the Solo plan cost per month?", &["5 EUR"], &["asks", "9 EUR"]),
        case("How expensive is the Team plan?", &["9 EUR"], &["asks", "5 EUR"]),
        case("What are the charges for Solo?", &["5 EUR"], &["9 EUR"]),
        case("How much does a plan cost?", &["asks", "Solo", "Team"], &[]),
    ];
    all(&[("plans.md", PLANS), ("pay.md", PAY)], &cases).await;
}

#[tokio::test]
async fn small_chinese_collections_answer_what_they_hold() {
    let cases = [
        case("我有多少天假？", &["15 天"], &[]),
        case("年假有几天？", &["15 天"], &["asks"]),
        case("团队版多少钱？", &["9 元"], &["asks", "5 元"]),
        case("团队版的费用是多少？", &["9 元"], &["asks", "5 元"]),
        case("个人版怎么收费？", &["5 元"], &["asks", "9 元"]),
        case("个人版贵不贵？", &["5 元"], &["asks", "9 元"]),
    ];
    all(&[("休假.md", LEAVE_ZH), ("套餐.md", PLANS_ZH)], &cases).await;
}

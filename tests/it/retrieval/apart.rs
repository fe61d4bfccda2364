//! What is told apart though nothing names it: documents that contradict each other, clauses of one sentence, sections of
//! a long document, several things asked of several documents; and what is not offered because it answers nothing.

use askback::domain::{
    evidence::{Finding, Route},
    hitl::Question,
};

use super::told::{Case, all, case, write};
use crate::support::shelf::Shelf;

#[tokio::test]
async fn documents_of_one_name_are_asked_about() {
    let files = [
        ("lodge-a.md", "Breakfast is served from 7 to 10. A bed costs 31 euros a night.\n"),
        ("lodge-b.md", "Breakfast is served from 6 to 9. A bed costs 24 euros a night.\n"),
        ("客栈甲.md", "早餐供应时间为 7 点至 10 点。床位每晚 90 元。\n"),
        ("客栈乙.md", "早餐供应时间为 6 点至 9 点。床位每晚 70 元。\n"),
    ];
    let cases = [
        case("When is breakfast served?", &["asks", "lodge a", "lodge b"], &["客栈"]),
        case("How much is a bed?", &["asks", "lodge a", "lodge b"], &["客栈"]),
        case("When is breakfast served at lodge b?", &["6 to 9"], &["asks", "7 to 10"]),
        case("早餐几点供应？", &["asks", "客栈甲", "客栈乙"], &["lodge"]),
        case("床位多少钱一晚？", &["asks", "客栈甲", "客栈乙"], &["lodge"]),
    ];
    all(&files, &cases).await;
}

#[tokio::test]
async fn documents_that_contradict_each_other_are_told_by_name() {
    let files = [
        ("welcome.txt", "The gym is open from 8 to 20.\n\nDogs are allowed.\n\nTowels are changed daily.\n"),
        ("letter of may.md", "# House rules\n\nThe gym is open from 9 to 22.\n\nDogs are not allowed.\n"),
        ("海滨.md", "游泳馆开放时间为 8 点至 20 点。允许携带宠物。\n"),
        ("五月通知.md", "游泳馆开放时间为 9 点至 22 点。不允许携带宠物。\n"),
    ];
    let cases = [
        case(
            "When is the gym open?",
            &["differ", "welcome.txt: The gym is open from 8", "letter of may.md: The gym"],
            &["asks"],
        ),
        case("Are dogs allowed?", &["differ", "welcome.txt: Dogs are allowed", "letter of may.md: Dogs are not"], &[]),
        case("How often are towels changed?", &["Towels are changed daily"], &["welcome.txt:", "differ"]),
        case(
            "游泳馆几点开放？",
            &["不一致", "海滨.md：游泳馆开放时间为 8", "五月通知.md：游泳馆开放时间为 9"],
            &["asks"],
        ),
        case("可以带宠物吗？", &["不一致", "海滨.md：允许", "五月通知.md：不允许"], &[]),
    ];
    all(&files, &cases).await;
}

#[tokio::test]
async fn what_several_documents_say_is_told_of_each_by_its_name() {
    let files = [
        ("spring.md", "The pool is on the roof.\n"),
        ("harbour.md", "The pool is in the basement.\n"),
        ("山景.md", "图书室在三楼。\n"),
        ("湖畔.md", "图书室在花园。\n"),
    ];
    let cases = [
        case("Where is the pool?", &["spring.md: The pool is on the roof", "harbour.md: The pool is in the"], &[]),
        case("图书室在哪里？", &["山景.md：图书室在三楼", "湖畔.md：图书室在花园"], &[]),
    ];
    all(&files, &cases).await;
}

const LIBRARY_ZH: &str = "# 借阅须知\n\n普通读者的借期为 14 天；教师读者为 60 天；研究生为 30 天。\n\n本市读者办证免费；外地读者收 20 元。\n\n对于平装书，押金为 50 元；对于画册，押金为 300 元。\n\n借书时请出示读者证；还书时请把书放进还书箱。\n\n成人读者在一楼登记；少儿读者在三楼。\n";
const LIBRARY: &str = "# Rules of the Library\n\nFor ordinary readers the loan period is 14 days; for teachers it is 60 days; for students it is 30 days.\n\nReaders of the town pay nothing; readers from elsewhere pay 20 euros for a card.\n";

#[tokio::test]
async fn clauses_of_one_sentence_are_told_together_unless_one_is_named() {
    let cases = [
        case("读者的借期是多少天？", &["14 天", "60 天", "30 天"], &[]),
        case("教师读者的借期是多少天？", &["60 天"], &["14 天", "30 天"]),
        case("押金是多少？", &["50 元", "300 元"], &[]),
        case("画册的押金是多少？", &["300 元"], &["50 元"]),
        case("还书时怎么做？", &["还书箱"], &["读者证"]),
        case("读者在哪里登记？", &["一楼", "三楼"], &[]),
        case("少儿读者在哪里登记？", &["三楼"], &["一楼"]),
    ];
    all(&[("须知.md", LIBRARY_ZH)], &cases).await;
    let cases = [case("How long is the loan period?", &["14 days", "60 days", "30 days"], &[])];
    all(&[("library.md", LIBRARY)], &cases).await;
}

/// A chapter with a section for each of these places, each longer than a leaf.
fn chapter(title: &str, sections: &[(&str, String)], filler: &str) -> String {
    let section = |(place, text): &(&str, String)| format!("## {place}\n\n{text}{}\n\n", filler.repeat(9));
    format!("# {title}\n\n{}", sections.iter().map(section).collect::<String>())
}

#[tokio::test]
async fn every_section_that_answers_is_offered() {
    let places = [("Ghent", 24), ("Porto", 12), ("Turin", 18), ("Lyon", 30), ("Graz", 36)];
    let sections = places.map(|(place, months)| {
        (place, format!("In {place} the guarantee of the stove is {months} months from the day of purchase. "))
    });
    let filler =
        "Claims are made in writing, with the receipt and a few words about what happened and when it was seen first. ";
    let stove = chapter("Guarantee Terms", &sections, filler);
    let places = [("宜昌", 24), ("绍兴", 12), ("桂林", 18), ("大理", 30), ("包头", 36)];
    let sections =
        places.map(|(place, months)| (place, format!("在{place}购买的炉灶质保期为 {months} 个月，自购买之日起计算。")));
    let filler = "申请时请携带发票到当地的服务点办理，由工作人员登记并检查炉灶的状况，一般三天以内答复。";
    let stove_zh = chapter("质保条款", &sections, filler);
    let cases =
        [case("How long is the guarantee of the stove?", &["asks", "Ghent", "Porto", "Turin", "Lyon", "Graz"], &[])];
    all(&[("stove.md", &stove)], &cases).await;
    let cases = [case("炉灶的质保期是多久？", &["asks", "宜昌", "绍兴", "桂林", "大理", "包头"], &[])];
    all(&[("炉灶.md", &stove_zh)], &cases).await;
}

const SPARES: &str = "# Service Plans\n\n| Plan | Price per month | Mesh filters per year | Answer within |\n|---|---|---|---|\n| Light | 6 EUR | 1 | 5 days |\n| Full | 11 EUR | 3 | 2 days |\n\n# Spare Parts\n\n| Part | Fits | Price |\n|---|---|---|\n| Mesh filter | Nimbus 2 | 8 EUR |\n| Mesh filter | Nimbus 7 | 13 EUR |\n";
const HOOD_A: &str = "# Nimbus 2 User Manual\n\nThe Nimbus 2 is a cooker hood.\n\n## In the box\n\nThe hood, four screws and a spare mesh filter.\n\n## Care\n\nReplace the mesh filter after 6 months.\n";
const HOOD_B: &str = "# Nimbus 7 User Manual\n\nThe Nimbus 7 is a cooker hood.\n\n## In the box\n\nThe hood, six screws and a spare mesh filter.\n\n## Care\n\nReplace the mesh filter after 12 months.\n";
const RETURNS: &str = "# Returns\n\nUnused goods may be sent back within 30 days. Opened filters are not taken back.\n";
const LEAVE_ZH: &str = "# 请假制度\n\n员工请假超过 3 天的，须经部门经理批准。产假为 158 天。\n";
const CARS_ZH: &str = "# 用车制度\n\n用车超过 8 小时的，须经行政主管批准。用车记录保存 2 年。\n";

#[tokio::test]
async fn what_does_not_answer_is_not_offered() {
    let cases = [
        case("How much is the mesh filter?", &["asks", "Nimbus 2", "Nimbus 7"], &["Light", "Full"]),
        case("What is the mesh filter made of?", &[], &["asks"]),
        case("How often should the mesh filter be changed?", &[], &["asks"]),
        case("How many mesh filters are in the Full plan?", &["3"], &["asks"]),
    ];
    all(&[("prices.md", SPARES)], &cases).await;
    let files = [("two.md", HOOD_A), ("seven.md", HOOD_B), ("returns.md", RETURNS), ("prices.md", SPARES)];
    let cases = [case("How long does the mesh filter last?", &["asks", "Nimbus 2", "Nimbus 7"], &["Returns"])];
    all(&files, &cases).await;
    let cases = [
        case("How long does approval take?", &[], &["asks"]),
        case("How long does the battery last?", &[], &["asks"]),
        case("How long does probation last?", &[], &["asks"]),
    ];
    all(&[("请假.md", LEAVE_ZH), ("用车.md", CARS_ZH)], &cases).await;
}

const FEES: &str = "# Fees of the Studio\n\n## Passes\n\n| Pass | Price of a pass |\n|---|---|\n| Single | 12 EUR |\n| Month | 70 EUR |\n";
const WARRANTIES: [(&str, &str); 2] = [
    (
        "two.md",
        "# Nimbus 2 User Manual\n\nThe Nimbus 2 is a cooker hood.\n\n## Warranty\n\nThe warranty of the Nimbus 2 is 24 months.\n",
    ),
    (
        "seven.md",
        "# Nimbus 7 User Manual\n\nThe Nimbus 7 is a cooker hood.\n\n## Warranty\n\nThe warranty of the Nimbus 7 is 60 months.\n",
    ),
];
const TWO_THINGS: &str = "How long is the warranty and how much is the pass?";

fn asked(finding: &Finding) -> &Question {
    match finding {
        Finding::Ask(question) => question,
        other => panic!("a question, not {other:?}"),
    }
}

#[tokio::test]
async fn each_part_of_a_question_goes_on_from_its_own_choice() {
    let [two, seven] = WARRANTIES;
    let files: Vec<(&str, &[u8])> =
        [two, seven, ("fees.md", FEES)].iter().map(|(name, text)| (*name, text.as_bytes())).collect();
    let shelf = Shelf::with(&files).await;
    let found = shelf.question(TWO_THINGS).await;
    let question = asked(&found.finding);
    assert_eq!((question.route, question.options.len(), question.parts.len()), (Route::ScopeSelect, 4, 2));
    let option = |label: &str| question.options.iter().find(|option| option.label == label).unwrap();
    for (chosen, holds, lacks) in [
        (&["Nimbus 7", "Month"][..], &["60 months", "70 EUR"][..], &["24 months", "12 EUR"][..]),
        (&["Month", "Nimbus 2"], &["24 months", "70 EUR"], &["60 months", "12 EUR"]),
        (&["Nimbus 2", "Nimbus 7", "Single"], &["24 months", "60 months", "12 EUR"], &["70 EUR"]),
        // What was not chosen is told as it most likely is, and what it takes for granted is said.
        (&["Single"], &["12 EUR", "Assuming that you mean Nimbus"], &["70 EUR", "do not say"]),
        (&["Nimbus 7"], &["60 months", "12 EUR", "70 EUR"], &["24 months", "do not say"]),
    ] {
        let options: Vec<_> = chosen.iter().map(|label| option(label)).collect();
        let resumed = shelf.choose_all(question, &options).await;
        let Finding::Answer(evidence) = &resumed.finding else {
            panic!("an answer to {chosen:?}: {:?}", resumed.finding)
        };
        let told = write(evidence, &chosen.join(" and ")).await;
        for part in holds {
            assert!(told.contains(part), "{chosen:?} {part}: {told}");
        }
        for part in lacks {
            assert!(!told.contains(part), "{chosen:?} {part}: {told}");
        }
    }
    shelf.close().await;
}

#[tokio::test]
async fn what_is_open_in_one_part_is_told_beside_the_other() {
    let [two, seven] = WARRANTIES;
    let cases = [
        case(
            "How long is the warranty of the Nimbus 2 and how much is the pass?",
            &["24 months", "12 EUR", "70 EUR"],
            &["60 months", "do not say"],
        ),
        case(
            "How much is the month pass and how long is the warranty?",
            &["70 EUR", "Assuming that you mean Nimbus"],
            &["do not say"],
        ),
        Case {
            before: &[],
            ..case(
                "How long is the warranty of the Nimbus 7 and who founded the studio?",
                &["60 months", "do not say"],
                &[],
            )
        },
    ];
    all(&[two, seven, ("fees.md", FEES)], &cases).await;
}

#[tokio::test]
async fn two_things_that_are_joined_are_both_told() {
    let [two, seven] = WARRANTIES;
    let cases = [
        case("How much are the Light plan and the Month pass?", &["6 EUR", "70 EUR"], &["asks"]),
        case("How much are the Light plan and the Full plan?", &["6 EUR", "11 EUR"], &["asks"]),
        case(
            "How much do the mesh filter for the Nimbus 2 and the month pass cost?",
            &["8 EUR", "70 EUR"],
            &["13 EUR"],
        ),
        case("How long is the warranty of the Nimbus 2 and the Nimbus 7?", &["24 months", "60 months"], &["asks"]),
        case(
            "How long is the warranty of the Nimbus 2 and Brumax?",
            &["24 months", "do not say", "Brumax"],
            &["60 months"],
        ),
        case("Nimbus 2 的保修期和 Nimbus 7 的保修期是多久？", &["24 months", "60 months"], &["asks"]),
    ];
    all(&[two, seven, ("fees.md", FEES), ("prices.md", SPARES)], &cases).await;
}

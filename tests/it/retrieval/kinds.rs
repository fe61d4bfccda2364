//! Kinds of questions over small worlds: editions, tables beside prose, follow-ups, dimensions, several questions in one.

use askback::domain::evidence::Finding;

use super::told::{Case, all, case, told, write};
use crate::support::shelf::Shelf;

const PARENTAL_2021: &str = "# Parental Leave Policy 2021\n\nEffective from 1 March 2021.\n\n## Approval\n\nA leave of more than 20 working days needs the approval of the managing director.\n\n## Pay\n\nDuring the leave 60 percent of the salary is paid.\n\n## Return\n\nParents may work part-time for 6 months after they return. The form P-3 is handed in on paper.\n";
const PARENTAL_2024: &str = "# Parental Leave Policy 2024\n\nEffective from 1 March 2024.\n\n## Approval\n\nThe team lead approves every leave. A leave of more than 40 working days needs the consent of the board.\n\n## Pay\n\nDuring the leave 80 percent of the salary is paid.\n\n## Return\n\nPart-time work is possible for 12 months afterwards. Requests are made online.\n";
const PARKING_ZH_2022: &str = "# 停车管理制度（2022版）\n\n自 2022 年 5 月 1 日起施行。\n\n## 访客\n\n访客车辆停放超过 3 小时的，须经保安主管批准。\n\n## 收费\n\n员工停车每月 200 元。\n";
const PARKING_ZH_2025: &str = "# 停车管理制度（2025版）\n\n自 2025 年 5 月 1 日起施行。\n\n## 访客\n\n访客车辆停放超过 8 小时的，须经行政部批准。\n\n## 收费\n\n员工停车每月 150 元。\n";

#[tokio::test]
async fn the_edition_in_force_answers_and_is_named() {
    let files = [
        ("parental-2021.md", PARENTAL_2021),
        ("parental-2024.md", PARENTAL_2024),
        ("停车-2022.md", PARKING_ZH_2022),
        ("停车-2025.md", PARKING_ZH_2025),
    ];
    let cases = [
        case("Who approves a leave of 25 working days?", &["2024", "team lead"], &["managing director"]),
        case("How much of the salary is paid during the leave?", &["2024", "80 percent"], &["60 percent"]),
        case("May parents work part-time after they return?", &["2024", "12 months"], &["6 months"]),
        case("How much of the salary was paid under the 2021 policy?", &["60 percent"], &["80 percent"]),
        case("访客停车超过 5 小时要谁批准？", &["2025", "行政部"], &["保安主管"]),
        case("员工停车每月多少钱？", &["2025", "150 元"], &["200 元"]),
        case("2022 版规定员工停车每月多少钱？", &["200 元"], &["150 元"]),
    ];
    all(&files, &cases).await;
}

const LOOM: &str = "# Tessera L2 User Manual\n\nThe Tessera L2 is a table loom. The warranty of the Tessera L2 is 4 years.\n\n## Yarns\n\n| Yarn | Threads per cm | Drying time |\n|---|---|---|\n| Cotton | 8 | 2 hours |\n| Wool | 5 | 6 hours |\n| Linen | 10 | 3 hours |\n";
const HALLS: &str = "Hall,Places,Piano\nOak,40,yes\nElm,90,no\nAsh,60,yes\n";
const GUIDE: &str = "# Fire Safety Guide\n\nLeave the building by the nearest stairs and meet at the gate.\n\n## Levels\n\n| Level | Call within |\n|---|---|\n| Minor | 30 minutes |\n| Major | 5 minutes |\n";
const PURIFIER_ZH: &str = "# 云岚 P3 净水器用户手册\n\n云岚 P3 是一款台式净水器。\n\n## 清洁\n\n| 部件 | 周期 | 方法 |\n|---|---|---|\n| 外壳 | 每周 | 湿布擦拭 |\n| 水箱 | 每 2 周 | 清水冲洗 |\n| 龙头 | 每 3 个月 | 柠檬酸浸泡 |\n\n## 保修\n\n云岚 P3 自购买之日起保修 18 个月。\n";

#[tokio::test]
async fn a_table_asks_back_only_about_what_it_tells() {
    let files = [("loom.md", LOOM), ("halls.csv", HALLS), ("fire.md", GUIDE), ("净水器.md", PURIFIER_ZH)];
    let cases = [
        case("What is the warranty of the Tessera L2?", &["4 years"], &["asks"]),
        case("How long is the warranty?", &["4 years"], &["Cotton"]),
        case("How long is the drying time?", &["asks", "Cotton", "Linen"], &[]),
        case("How long does wool dry?", &["6 hours"], &["asks"]),
        case("Which hall has the most places?", &["Elm", "90"], &["asks"]),
        case("Which halls have a piano?", &["Oak", "Ash"], &["asks"]),
        case("Summarize the fire safety guide", &["stairs"], &["asks"]),
        case("保修多久？", &["18 个月"], &["asks"]),
        case("多久清洁一次？", &["asks", "水箱"], &["18 个月"]),
        case("水箱多久清洁一次？", &["水箱", "每 2 周"], &["asks", "外壳"]),
    ];
    all(&files, &cases).await;
}

const MOWER_A: &str = "# Garda M4 User Manual\n\nThe Garda M4 is a lawn mower for gardens of up to 600 square metres.\n\n## Technical data\n\nThe mower weighs 11.5 kg and is 38 cm wide. It makes 71 dB of noise. The battery holds for 50 minutes.\n\n## Warranty\n\nThe warranty of the Garda M4 is 2 years.\n\n## Error codes\n\n| Code | Meaning |\n|---|---|\n| H2 | The blade is blocked |\n| H5 | The wheel lost its grip |\n";
const MOWER_B: &str = "# Prado M8 User Manual\n\nThe Prado M8 is a lawn mower for gardens of up to 1,500 square metres.\n\n## Technical data\n\nThe mower weighs 16 kg and is 46 cm wide. It makes 78 dB of noise. The battery holds for 80 minutes.\n\n## Warranty\n\nThe warranty of the Prado M8 is 5 years, that of its engine 10 years.\n\n## Error codes\n\n| Code | Meaning |\n|---|---|\n| H2 | The battery is too hot |\n| H7 | Rain was detected |\n";
const CAMP: &str = "# Summer Camp\n\n## Costs\n\nThe daily food allowance is 14 euros per child. Tents: up to 9 euros a night. Boats: one per group, booked by the office.\n";

#[tokio::test]
async fn adjectives_ask_for_their_dimension() {
    let files = [("garda.md", MOWER_A), ("prado.md", MOWER_B)];
    let cases = [
        case("How loud is the Garda M4?", &["71 dB"], &["600", "78 dB"]),
        case("how heavy is the prado m8", &["16 kg"], &["1,500", "11.5"]),
        case("Garda M4 多重？", &["11.5 kg"], &["2 years"]),
        case("How wide is the Prado M8?", &["46 cm"], &["38 cm"]),
        case("Garda-M4 weight", &["11.5 kg"], &["16 kg"]),
        case("Which is heavier, the Garda M4 or the Prado M8?", &["11.5 kg", "16 kg"], &[]),
        case(
            "How long is the warranty of the Garda M4 and how much does it weigh?",
            &["2 years", "11.5 kg"],
            &["5 years"],
        ),
        case("How long is the warranty of the Garda M4 and who founded the maker?", &["2 years", "do not say"], &[]),
        case("What does H2 mean?", &["asks", "Garda M4", "Prado M8"], &[]),
        case("What does H7 mean?", &["Rain"], &["asks", "blade"]),
        case("How long is the warranty of the engine?", &["10 years"], &["asks", "2 years"]),
        case("how long is teh warrenty of the garda m4", &["2 years"], &["5 years"]),
    ];
    all(&files, &cases).await;
}

const FOOD: &str = "How much is the daily food allowance?";

#[tokio::test]
async fn a_new_subject_replaces_the_old_one() {
    let files = [("garda.md", MOWER_A), ("prado.md", MOWER_B), ("camp.md", CAMP)];
    let cases = [
        Case { before: &["How heavy is the Garda M4?"], ..case("And the Prado M8?", &["16 kg"], &["11.5 kg"]) },
        Case { before: &[FOOD], ..case("and tents?", &["9 euros"], &["Boats"]) },
        Case { before: &[FOOD, "and tents?"], ..case("what about boats?", &["one per group"], &["9 euros"]) },
        Case {
            before: &["How long does the battery of the Prado M8 hold?"],
            ..case("How much does it weigh?", &["16 kg"], &["11.5"])
        },
    ];
    all(&files, &cases).await;
}

#[tokio::test]
async fn options_are_all_products_that_say_it_in_one_order() {
    let third = "# Rima S1\n\nThe Rima S1 is a hedge trimmer. The warranty of the Rima S1 is 7 years.\n";
    let files = [("garda.md", MOWER_A), ("prado.md", MOWER_B), ("rima.md", third)];
    let cases = [
        case("How long is the warranty?", &["asks", "Garda M4", "Prado M8", "Rima S1"], &[]),
        case("how long is the WARRANTY?", &["asks", "Garda M4", "Prado M8", "Rima S1"], &[]),
        case("warranty length", &["asks", "Garda M4", "Prado M8", "Rima S1"], &[]),
        case("How loud are the two mowers?", &["71 dB", "78 dB"], &["asks"]),
        case("Compare the battery life of the two mowers", &["50 minutes", "80 minutes"], &["asks", "years"]),
        Case {
            before: &["How loud is the Garda M4?", "And the Prado M8?"],
            ..case("Which one is quieter?", &["71 dB", "78 dB"], &["asks"])
        },
    ];
    all(&files, &cases).await;
}

const WELFARE_ZH: &str =
    "# 员工福利制度\n\n## 产假\n\n女员工享有 150 天产假，难产的增加 15 天。\n\n## 体检\n\n员工每年体检一次。\n";
const BAGS: &str = "# Vento Vacuum User Manual\n\n## Care\n\n| Part | How often |\n|---|---|\n| Dust bag | every 70 days |\n| Filter | every 5 months |\n";

#[tokio::test]
async fn a_quantity_alone_is_no_answer() {
    let files = [("福利.md", WELFARE_ZH), ("vento.md", BAGS), ("camp.md", CAMP)];
    let cases = [
        case("What documents do you have?", &["nothing"], &[]),
        case("How many days of holiday does the camp office get?", &[], &["70 days"]),
    ];
    all(&files, &cases).await;
}

const ACCOUNTS: &str = "# Accounts of the Cooperative\n\nThe year ends in June.\n\n| In thousand euros | 2024 | 2023 |\n|---|---|---|\n| Membership fees | 310 | 290 |\n| Sale of seeds | 145 | 120 |\n| Rent of the barn | 62 | 60 |\n\n## Repairs\n\nRepairs of the tractor cost 4,100 euros and 3,700 euros in 2024 and 2023, respectively.\n";

const FEES: &str = "What were the membership fees in 2024?";

#[tokio::test]
async fn a_year_belongs_to_the_question_that_named_it() {
    let files = [("accounts.md", ACCOUNTS)];
    let cases = [
        case("What was the sale of seeds in 2023?", &["120"], &["asks"]),
        case("What was the sale of seeds?", &["asks", "2024", "2023"], &[]),
        Case { before: &[FEES], ..case("What was the sale of seeds?", &["asks", "2024", "2023"], &[]) },
        Case { before: &[FEES], ..case("And the rent of the barn?", &["62"], &["asks"]) },
        Case { before: &[FEES], ..case("What was the sale of seeds in that year?", &["145"], &["asks"]) },
        Case {
            before: &["I am looking at the year 2023."],
            ..case("What was the sale of seeds?", &["120"], &["asks"])
        },
        case("What did repairs of the tractor cost?", &["asks", "2024", "2023"], &[]),
        case("What did repairs of the tractor cost in 2023?", &["3,700 euros"], &["asks"]),
    ];
    all(&files, &cases).await;
}

const CLUB: &str = "# Rules of the Rowing Club\n\n## Boats\n\n| Boat | Seats | Deposit |\n|---|---|---|\n| Heron | 2 | 40 EUR |\n| Otter | 4 | 70 EUR |\n| Pike | 8 | 110 EUR |\n\n## Visitors\n\nEntry is free for members of the German Rowing Association. All others pay 6 EUR.\n";

#[tokio::test]
async fn rows_names_and_kinds_that_are_named_are_what_is_told() {
    let files = [("club.md", CLUB)];
    let cases = [
        case("What are the deposits of the Heron and the Pike?", &["40 EUR", "110 EUR"], &["70 EUR"]),
        case("Is entry free for members of the GRA?", &["German Rowing Association"], &["nothing"]),
    ];
    all(&files, &cases).await;
}

/// A table of kinds whose names stand inside each other: the first turn asks for the kind, each of them is chosen, and a
/// plain question and a follow-up name one.
#[tokio::test]
async fn a_kind_whose_name_stands_inside_another_has_its_own_row() {
    const ZH: &str = "# 会员服务\n\n| 会员等级 | 月费 | 上门响应时间 |\n| --- | --- | --- |\n| 银卡 | 19 元 | 3 个工作日 |\n\
        | 金卡 | 39 元 | 2 个工作日 |\n| 铂金卡 | 69 元 | 1 个工作日 |\n";
    const EN: &str = "# Membership\n\n| Membership | Monthly price | Response time |\n| --- | --- | --- |\n\
        | Plus | 19 EUR | 3 days |\n| Premium | 39 EUR | 2 days |\n| Premium Plus | 69 EUR | 1 day |\n";
    const PRICES: [&str; 3] = ["19", "39", "69"];
    for (file, text, question, kinds, plain, follow_up, times) in [
        (
            "会员.md",
            ZH,
            "会员服务多少钱？",
            ["银卡", "金卡", "铂金卡"],
            "_会员多少钱？",
            "上门响应时间呢？",
            ["3 个工作日", "2 个工作日", "1 个工作日"],
        ),
        (
            "membership.md",
            EN,
            "How much is the membership?",
            ["Plus", "Premium", "Premium Plus"],
            "How much is the _ membership?",
            "And the response time?",
            ["3 days", "2 days", "1 day"],
        ),
    ] {
        let shelf = Shelf::with(&[(file, text.as_bytes())]).await;
        let Finding::Ask(asked) = shelf.question(question).await.finding else { panic!("{question} is open") };
        let labels: Vec<&str> = asked.options.iter().map(|option| option.label.as_str()).collect();
        assert_eq!(labels, kinds, "{question}");
        for (nth, kind) in kinds.iter().enumerate() {
            let only = |said: &str, of: [&str; 3]| {
                let is_right = (0..3).all(|other| said.contains(of[other]) == (other == nth));
                assert!(is_right, "{kind}: {said}");
            };
            let found = shelf.choose(&asked, &asked.options[nth]).await.finding;
            let Finding::Answer(evidence) = found else { panic!("{kind}: {found:?}") };
            only(&write(&evidence, kind).await, PRICES);
            let named = plain.replace('_', kind);
            only(&told(&shelf, &[], &named).await, PRICES);
            only(&told(&shelf, &[&named], follow_up).await, times);
        }
        shelf.close().await;
    }
}

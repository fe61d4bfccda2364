//! Questions in one language over documents in the other: the right document, and the sentence that answers.

use askback::domain::evidence::Finding;

use super::told::told;
use crate::support::shelf::Shelf;

const KETTLE: &str = "# Brisa K1 User Manual\n\nThe Brisa K1 is an electric kettle for 1.7 litres.\n\n## Cleaning\n\nDescale the kettle every 3 months with citric acid.\n\n## Safety\n\nNever open the lid while the water boils.\n\n## Warranty\n\nThe warranty of the Brisa K1 is 24 months from the day of purchase. Keep the receipt.\n";
const REMOTE: &str = "# Remote Work Policy\n\nEffective from 1 February 2025.\n\n## Days\n\nEmployees may work from home on 3 days a week.\n\n## Equipment\n\nThe company lends a monitor and a chair.\n\n## Abroad\n\nWork from another country needs the approval of the head of department.\n";
const LIBRARY: &str = "# Rules of the City Library\n\n## Borrowing\n\nBooks may be borrowed for 4 weeks, films for one week. A loan can be extended twice.\n\n## Late return\n\nFor each day of delay the library charges 0.20 euros per book.\n\n## Opening hours\n\nThe reading room is open from Tuesday to Saturday.\n";
const TICKETS: &str = "# Ticket Prices of the Zoo\n\n| Visitor | Day ticket | Annual pass |\n|---|---|---|\n| Adult | 18 EUR | 65 EUR |\n| Student | 12 EUR | 45 EUR |\n| Child | 9 EUR | 30 EUR |\n";

const KETTLE_ZH: &str = "# 清泉 K1 用户手册\n\n清泉 K1 是一款容量 1.7 升的电水壶。\n\n## 清洁\n\n每 3 个月用柠檬酸除垢一次。\n\n## 安全\n\n水沸腾时请勿打开壶盖。\n\n## 保修\n\n清泉 K1 自购买之日起保修 24 个月，请保留发票。\n";
const LEAVE_ZH: &str = "# 员工请假制度\n\n## 年假\n\n员工每年享有 10 天带薪年假，须提前一周申请。\n\n## 病假\n\n病假须提交医院证明，每年最多 15 天。\n\n## 婚假\n\n员工结婚可享受 13 天婚假。\n";
const PARKING_ZH: &str = "# 停车场收费标准\n\n| 车型 | 每小时 | 包月 |\n|---|---|---|\n| 小汽车 | 5 元 | 300 元 |\n| 摩托车 | 2 元 | 90 元 |\n| 大客车 | 12 元 | 800 元 |\n";

async fn answers(files: &[(&str, &str)], cases: &[(&str, &str)]) {
    let files: Vec<(&str, &[u8])> = files.iter().map(|(name, text)| (*name, text.as_bytes())).collect();
    let shelf = Shelf::with(&files).await;
    let mut wrong = Vec::new();
    for (question, expected) in cases {
        let text = told(&shelf, &[], question).await;
        if !text.contains(expected) {
            wrong.push(format!("{question} ({expected}): {text}"));
        }
    }
    shelf.close().await;
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
}

#[tokio::test]
async fn chinese_questions_over_english_documents() {
    let files = [("kettle.md", KETTLE), ("remote.md", REMOTE), ("library.md", LIBRARY), ("tickets.md", TICKETS)];
    let cases = [
        ("电水壶的保修期是多久？", "24 months"),
        ("Brisa K1 的保修期多长？", "24 months"),
        ("水壶多久清洗除垢一次？", "every 3 months"),
        ("员工每周可以在家办公几天？", "3 days"),
        ("公司会给远程办公的员工借什么设备？", "a monitor and a chair"),
        ("在国外远程工作需要谁批准？", "head of department"),
        ("图书可以借多长时间？", "4 weeks"),
        ("图书馆对逾期还书每天收多少钱？", "0.20 euros"),
        ("图书馆的阅览室星期几开放？", "Tuesday to Saturday"),
        ("动物园学生日票多少钱？", "12 EUR"),
    ];
    answers(&files, &cases).await;
}

#[tokio::test]
async fn english_questions_over_chinese_documents() {
    let files = [("水壶.md", KETTLE_ZH), ("请假制度.md", LEAVE_ZH), ("停车场.md", PARKING_ZH)];
    let cases = [
        ("How long is the warranty of the electric kettle?", "24 个月"),
        ("How long is the warranty of the K1?", "24 个月"),
        ("How many days of annual leave do employees get?", "10 天"),
        ("How many days of leave do employees get when they marry?", "13 天"),
        ("What do employees have to submit for sick leave?", "医院证明"),
        ("What does parking cost per hour for a motorcycle?", "2 元"),
    ];
    answers(&files, &cases).await;
}

#[tokio::test]
async fn what_documents_in_another_language_do_not_hold_is_not_answered() {
    let files =
        [("kettle.md", KETTLE.as_bytes()), ("library.md", LIBRARY.as_bytes()), ("请假制度.md", LEAVE_ZH.as_bytes())];
    let shelf = Shelf::with(&files).await;
    for question in ["公司的年营业额是多少？", "蒙古国的首都是哪里？", "What is the phone number of the hotel?"]
    {
        let found = shelf.question(question).await;
        assert_eq!(found.finding, Finding::NoKnowledge, "{question}: {:?}", found.trace.evidence_reason);
    }
    shelf.close().await;
}

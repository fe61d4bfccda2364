//! Words that name the same thing in everyday use: what one text calls a price is a cost or a fee in another.

use std::collections::HashMap;

/// What a word of a text is worth beside the one that a question says: never as good as the word itself.
const CREDIT: f32 = 0.9;

/// Each line names one thing, in English (singular where the plural means no more) and in Chinese, folded. Words of two
/// meanings are left out: a battery has a charge, "charges" are paid.
const SAME: &[&[&str]] = &[
    &[
        "price",
        "cost",
        "fee",
        "charges",
        "tariff",
        "expensive",
        "cheap",
        "价格",
        "价钱",
        "费用",
        "收费",
        "售价",
        "单价",
        "资费",
        "价目",
        "便宜",
    ],
    &["leave", "holiday", "vacation", "假期", "休假", "放假"],
    &["salary", "wage", "remuneration", "工资", "薪水", "薪资", "薪酬"],
    &["employee", "staff", "personnel", "员工", "职工", "雇员"],
    &["warranty", "guarantee", "保修", "质保", "保修期", "质保期"],
    &["delivery", "shipping", "shipment", "送货", "配送", "发货"],
    &["refund", "reimbursement", "退款", "退费"],
    &["sick", "ill", "illness", "sickness", "生病", "病假"],
    &["phone", "telephone", "电话"],
    &["car", "vehicle", "汽车", "车辆"],
    &["repair", "fix", "mend", "维修", "修理"],
    &["start", "begin", "commence", "开始"],
    &["forbid", "prohibit", "禁止", "不准"],
    &["buy", "purchase", "购买", "购置"],
    &["customer", "客户", "顾客"],
];

/// The line that a folded word stands in, its plural too.
fn line(word: &str) -> Option<&'static [&'static str]> {
    let holds = |word: &str| SAME.iter().copied().find(|line| line.contains(&word));
    let singular = || {
        let stem = word.strip_suffix("ies").map(|stem| format!("{stem}y"));
        stem.or_else(|| word.strip_suffix('s').map(str::to_owned)).and_then(|singular| holds(&singular))
    };
    holds(word).or_else(singular)
}

/// Adds to `kin` (word of a question → word of the text → credit) the words of `there` that name what a word of `asked`
/// names.
pub fn add<'w>(
    kin: &mut HashMap<String, HashMap<String, f32>>,
    asked: &[String],
    there: impl Iterator<Item = &'w String> + Clone,
) {
    for word in asked {
        let Some(own) = line(word) else { continue };
        for other in there.clone().filter(|other| *other != word && line(other) == Some(own)) {
            let credit = kin.entry(word.clone()).or_default().entry(other.clone()).or_default();
            *credit = credit.max(CREDIT);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_one_line_are_kin_in_both_numbers_and_languages() {
        let near = |asked: &str, there: &str| {
            let mut kin = HashMap::new();
            add(&mut kin, &[asked.to_owned()], [there.to_owned()].iter());
            kin.contains_key(asked)
        };
        for (asked, there) in
            [("cost", "price"), ("fees", "prices"), ("费用", "价格"), ("fee", "价格"), ("salaries", "wage")]
        {
            assert!(near(asked, there), "{asked} {there}");
        }
        for (asked, there) in [("cost", "leave"), ("cost", "cost"), ("robot", "price")] {
            assert!(!near(asked, there), "{asked} {there}");
        }
    }

    #[test]
    fn no_word_stands_in_two_lines() {
        let mut all: Vec<&str> = SAME.iter().flat_map(|line| line.iter().copied()).collect();
        all.sort_unstable();
        let count = all.len();
        all.dedup();
        assert_eq!(all.len(), count);
    }
}

//! Numbers with what they count: durations, money, percentages, dates, measures; English and Chinese.
//!
//! Two spans with the same [`Quantity::key`] say the same: "two years", "24 months" and "两年" all are `duration:24mo`.

mod bounds;
mod numbers;

use std::sync::LazyLock;

pub use bounds::{Bounds, bounds};
use numbers::{digit, number_at};
use regex::Regex;

/// What a quantity measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// A length of time.
    Duration,
    /// An amount of money.
    Money,
    /// A share of a hundred.
    Percent,
    /// A day, a month of a year, or a year.
    Date,
    /// A number with another unit.
    Measure,
    /// A bare number.
    Number,
}

/// A quantity in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Quantity {
    /// What it measures.
    pub kind: Kind,
    /// First byte in the text.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
    /// Kind and normalised value: equal keys say the same.
    pub key: String,
}

impl Quantity {
    /// The unit that it is counted in, as keys spell it; empty for bare numbers and dates.
    #[must_use]
    pub fn unit(&self) -> &str {
        let value = self.key.split_once(':').map_or("", |(_, value)| value);
        value.trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, '.' | '-'))
    }

    /// Whether both count the same thing in the same unit.
    #[must_use]
    pub fn is_of_unit_of(&self, other: &Self) -> bool {
        self.kind == other.kind && !self.unit().is_empty() && self.unit() == other.unit()
    }
}

/// The quantities of `text`, in order, without overlaps.
#[must_use]
pub fn quantities(text: &str) -> Vec<Quantity> {
    let mut found = dates(text);
    let mut at = 0;
    while at < text.len() {
        if let Some(date) = found.iter().find(|date| date.kind == Kind::Date && date.start <= at && at < date.end) {
            at = date.end;
            continue;
        }
        if let Some(quantity) = quantity_at(text, at)
            && !found.iter().any(|other| other.start < quantity.end && quantity.start < other.end)
        {
            at = quantity.end;
            found.push(quantity);
            continue;
        }
        at = next_start(text, at);
    }
    found.sort_by_key(|quantity| quantity.start);
    found
}

/// Skips the rest of a word or number, so that "x1" and "someone" hold no number.
fn next_start(text: &str, at: usize) -> usize {
    let mut chars = text[at..].char_indices();
    let Some((_, first)) = chars.next() else { return text.len() };
    let in_word = |c: char| c.is_ascii_alphanumeric() || digit(c).is_some();
    if !in_word(first) {
        return at + first.len_utf8();
    }
    for (offset, c) in chars {
        if !(in_word(c) || c == '-' || c == '_') {
            return at + offset;
        }
    }
    text.len()
}

fn quantity_at(text: &str, at: usize) -> Option<Quantity> {
    let rest = &text[at..];
    if let Some(after) = rest.strip_prefix("百分之") {
        let (value, taken) = number_at(after)?;
        return Some(quantity(Kind::Percent, at, "百分之".len() + taken, value, "%"));
    }
    if let Some((currency, symbol)) = symbol_at(rest) {
        let after = rest[symbol..].trim_start_matches(' ');
        let (value, taken) = number_at(after)?;
        return Some(quantity(Kind::Money, at, rest.len() - after.len() + taken, value, currency));
    }
    let (value, taken) = number_at(rest)?;
    let written = &rest[..taken];
    let after = &rest[taken..];
    let digits = written.starts_with(|c| digit(c).is_some());
    let gap = after.len() - after.trim_start_matches([' ', '\u{a0}', '-']).len();
    if let Some((kind, unit, factor, length)) = unit_at(&after[gap..]) {
        return Some(quantity(kind, at, taken + gap + length, value * factor, unit));
    }
    // A numeral word without a unit is mostly no number: "the other one", "统一".
    if !digits {
        return None;
    }
    // "5G", "3rd", "2nd-hand": part of a word.
    if after.starts_with(|c: char| c.is_ascii_alphabetic()) {
        return None;
    }
    let previous = text[..at].chars().next_back();
    if previous.is_some_and(|c| c.is_ascii_alphanumeric()) {
        return None;
    }
    Some(quantity(Kind::Number, at, taken, value, ""))
}

fn quantity(kind: Kind, start: usize, length: usize, value: f64, unit: &str) -> Quantity {
    let name = match kind {
        Kind::Duration => "duration",
        Kind::Money => "money",
        Kind::Percent => "percent",
        Kind::Date => "date",
        Kind::Measure => "measure",
        Kind::Number => "number",
    };
    let value = (value * 1e4).round() / 1e4;
    Quantity { kind, start, end: start + length, key: format!("{name}:{value}{unit}") }
}

/// A currency sign: its code and length.
fn symbol_at(text: &str) -> Option<(&'static str, usize)> {
    const SIGNS: [(&str, &str); 9] = [
        ("US$", "usd"),
        ("HK$", "hkd"),
        ("$", "usd"),
        ("€", "eur"),
        ("£", "gbp"),
        ("￥", "cny"),
        ("¥", "cny"),
        ("USD ", "usd"),
        ("EUR ", "eur"),
    ];
    SIGNS.iter().find(|(sign, _)| text.starts_with(sign)).map(|(sign, code)| (*code, sign.len()))
}

/// A unit: kind, normal unit, factor to it, length in bytes.
type Unit = (Kind, &'static str, f64, usize);

const ENGLISH: &[(&str, Kind, &str, f64)] = &[
    ("percent", Kind::Percent, "%", 1.0),
    ("per cent", Kind::Percent, "%", 1.0),
    ("second", Kind::Duration, "s", 1.0),
    ("sec", Kind::Duration, "s", 1.0),
    ("minute", Kind::Duration, "s", 60.0),
    ("min", Kind::Duration, "s", 60.0),
    ("hour", Kind::Duration, "s", 3600.0),
    ("business day", Kind::Duration, "workday", 1.0),
    ("working day", Kind::Duration, "workday", 1.0),
    ("day", Kind::Duration, "s", 86_400.0),
    ("week", Kind::Duration, "s", 604_800.0),
    ("month", Kind::Duration, "mo", 1.0),
    ("year", Kind::Duration, "mo", 12.0),
    ("yr", Kind::Duration, "mo", 12.0),
    ("dollar", Kind::Money, "usd", 1.0),
    ("cent", Kind::Money, "usd", 0.01),
    ("us dollar", Kind::Money, "usd", 1.0),
    ("usd", Kind::Money, "usd", 1.0),
    ("euro", Kind::Money, "eur", 1.0),
    ("eur", Kind::Money, "eur", 1.0),
    ("pound sterling", Kind::Money, "gbp", 1.0),
    ("gbp", Kind::Money, "gbp", 1.0),
    ("yuan", Kind::Money, "cny", 1.0),
    ("rmb", Kind::Money, "cny", 1.0),
    ("cny", Kind::Money, "cny", 1.0),
    ("yen", Kind::Money, "jpy", 1.0),
    ("kilometre", Kind::Measure, "m", 1000.0),
    ("kilometer", Kind::Measure, "m", 1000.0),
    ("km", Kind::Measure, "m", 1000.0),
    ("metre", Kind::Measure, "m", 1.0),
    ("meter", Kind::Measure, "m", 1.0),
    ("centimetre", Kind::Measure, "m", 0.01),
    ("centimeter", Kind::Measure, "m", 0.01),
    ("cm", Kind::Measure, "m", 0.01),
    ("mm", Kind::Measure, "m", 0.001),
    ("m", Kind::Measure, "m", 1.0),
    ("mile", Kind::Measure, "mile", 1.0),
    ("feet", Kind::Measure, "foot", 1.0),
    ("foot", Kind::Measure, "foot", 1.0),
    ("inch", Kind::Measure, "inch", 1.0),
    ("inches", Kind::Measure, "inch", 1.0),
    ("kilogram", Kind::Measure, "g", 1000.0),
    ("kg", Kind::Measure, "g", 1000.0),
    ("gram", Kind::Measure, "g", 1.0),
    ("mg", Kind::Measure, "g", 0.001),
    ("g", Kind::Measure, "g", 1.0),
    ("tonne", Kind::Measure, "g", 1e6),
    ("ton", Kind::Measure, "g", 1e6),
    ("litre", Kind::Measure, "l", 1.0),
    ("liter", Kind::Measure, "l", 1.0),
    ("ml", Kind::Measure, "l", 0.001),
    ("l", Kind::Measure, "l", 1.0),
    ("tb", Kind::Measure, "gb", 1024.0),
    ("gb", Kind::Measure, "gb", 1.0),
    ("mb", Kind::Measure, "mb", 1.0),
    ("kwh", Kind::Measure, "kwh", 1.0),
    ("wh", Kind::Measure, "wh", 1.0),
    ("mah", Kind::Measure, "mah", 1.0),
    ("kw", Kind::Measure, "w", 1000.0),
    ("watt", Kind::Measure, "w", 1.0),
    ("w", Kind::Measure, "w", 1.0),
    ("volt", Kind::Measure, "v", 1.0),
    ("v", Kind::Measure, "v", 1.0),
    ("ghz", Kind::Measure, "hz", 1e9),
    ("mhz", Kind::Measure, "hz", 1e6),
    ("khz", Kind::Measure, "hz", 1e3),
    ("hz", Kind::Measure, "hz", 1.0),
    ("db", Kind::Measure, "db", 1.0),
    ("lux", Kind::Measure, "lux", 1.0),
    ("bar", Kind::Measure, "bar", 1.0),
    ("°c", Kind::Measure, "°c", 1.0),
    ("℃", Kind::Measure, "°c", 1.0),
    ("degrees celsius", Kind::Measure, "°c", 1.0),
    ("°f", Kind::Measure, "°f", 1.0),
    ("people", Kind::Measure, "person", 1.0),
    ("person", Kind::Measure, "person", 1.0),
    ("time", Kind::Measure, "time", 1.0),
    ("user", Kind::Measure, "user", 1.0),
    ("seat", Kind::Measure, "seat", 1.0),
    ("device", Kind::Measure, "device", 1.0),
    ("point", Kind::Measure, "point", 1.0),
];

/// Longer ones first where one begins with the other.
const CHINESE: &[(&str, Kind, &str, f64)] = &[
    ("%", Kind::Percent, "%", 1.0),
    ("％", Kind::Percent, "%", 1.0),
    ("个百分点", Kind::Percent, "point", 1.0),
    ("个工作日", Kind::Duration, "workday", 1.0),
    ("工作日", Kind::Duration, "workday", 1.0),
    ("分钟", Kind::Duration, "s", 60.0),
    ("秒", Kind::Duration, "s", 1.0),
    ("个小时", Kind::Duration, "s", 3600.0),
    ("小时", Kind::Duration, "s", 3600.0),
    ("个月", Kind::Duration, "mo", 1.0),
    ("年", Kind::Duration, "mo", 12.0),
    ("个星期", Kind::Duration, "s", 604_800.0),
    ("星期", Kind::Duration, "s", 604_800.0),
    ("周", Kind::Duration, "s", 604_800.0),
    ("天", Kind::Duration, "s", 86_400.0),
    ("日", Kind::Duration, "s", 86_400.0),
    ("美元", Kind::Money, "usd", 1.0),
    ("欧元", Kind::Money, "eur", 1.0),
    ("英镑", Kind::Money, "gbp", 1.0),
    ("港元", Kind::Money, "hkd", 1.0),
    ("日元", Kind::Money, "jpy", 1.0),
    ("人民币", Kind::Money, "cny", 1.0),
    ("元", Kind::Money, "cny", 1.0),
    ("公里", Kind::Measure, "m", 1000.0),
    ("千米", Kind::Measure, "m", 1000.0),
    ("厘米", Kind::Measure, "m", 0.01),
    ("毫米", Kind::Measure, "m", 0.001),
    ("平方米", Kind::Measure, "m2", 1.0),
    ("平方公里", Kind::Measure, "m2", 1e6),
    ("米", Kind::Measure, "m", 1.0),
    ("公斤", Kind::Measure, "g", 1000.0),
    ("千克", Kind::Measure, "g", 1000.0),
    ("克", Kind::Measure, "g", 1.0),
    ("吨", Kind::Measure, "g", 1e6),
    ("毫升", Kind::Measure, "l", 0.001),
    ("升", Kind::Measure, "l", 1.0),
    ("毫安时", Kind::Measure, "mah", 1.0),
    ("千瓦时", Kind::Measure, "kwh", 1.0),
    ("千瓦", Kind::Measure, "w", 1000.0),
    ("瓦", Kind::Measure, "w", 1.0),
    ("伏", Kind::Measure, "v", 1.0),
    ("分贝", Kind::Measure, "db", 1.0),
    ("摄氏度", Kind::Measure, "°c", 1.0),
    ("度", Kind::Measure, "°", 1.0),
    ("名", Kind::Measure, "person", 1.0),
    ("人", Kind::Measure, "person", 1.0),
    ("位", Kind::Measure, "person", 1.0),
    ("次", Kind::Measure, "time", 1.0),
    ("倍", Kind::Measure, "times", 1.0),
    ("台", Kind::Measure, "device", 1.0),
    ("件", Kind::Measure, "piece", 1.0),
    ("家", Kind::Measure, "house", 1.0),
    ("座", Kind::Measure, "seat", 1.0),
    ("种", Kind::Measure, "kind", 1.0),
    ("项", Kind::Measure, "item", 1.0),
    ("岁", Kind::Measure, "age", 1.0),
    ("层", Kind::Measure, "floor", 1.0),
    ("公顷", Kind::Measure, "hectare", 1.0),
    ("个", Kind::Measure, "piece", 1.0),
];

fn unit_at(text: &str) -> Option<Unit> {
    for (word, kind, unit, factor) in CHINESE {
        if text.starts_with(word) {
            return Some((*kind, unit, *factor, word.len()));
        }
    }
    let mut best: Option<Unit> = None;
    for (word, kind, unit, factor) in ENGLISH {
        let Some(head) = text.get(..word.len()) else { continue };
        if !head.to_lowercase().eq(word) {
            continue;
        }
        // "5g" weighs, "5G" is a name.
        if word.len() == 1 && head != *word && !matches!(head, "W" | "V" | "L") {
            continue;
        }
        let mut length = word.len();
        let plural = text[length..].starts_with(['s', 'S']) && word.len() > 2;
        length += usize::from(plural);
        let whole = !text[length..].starts_with(|c: char| c.is_ascii_alphanumeric());
        if whole && best.is_none_or(|(.., taken)| taken < length) {
            best = Some((*kind, unit, *factor, length));
        }
    }
    best
}

static DATES: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    const MONTH: &str = r"(?P<name>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)";
    [
        r"\b(?P<year>[12]\d{3})\s?[-/.]\s?(?P<month>\d{1,2})\s?[-/.]\s?(?P<day>\d{1,2})\b".to_owned(),
        r"(?P<year>[12]\d{3}|[一二][〇零一二三四五六七八九]{3})\s?年(?:\s?(?P<month>[0-9]{1,2})\s?月(?:\s?(?P<day>[0-9]{1,2})\s?[日号])?)?".to_owned(),
        r"(?P<month>[0-9]{1,2})\s?月\s?(?P<day>[0-9]{1,2})\s?[日号]".to_owned(),
        format!(r"(?i)\b(?P<day>\d{{1,2}})(?:st|nd|rd|th)?(?: of)? {MONTH}\b\.?(?:,? (?P<year>[12]\d{{3}})\b)?"),
        format!(r"(?i)\b{MONTH}\.? (?P<day>\d{{1,2}})(?:st|nd|rd|th)?\b(?: ?, ?(?P<year>[12]\d{{3}})\b)?"),
        format!(r"(?i)\b{MONTH}\.?,? (?P<year>[12]\d{{3}})\b"),
        r"\b(?P<year>(?:1[5-9]|20)\d{2})\b".to_owned(),
    ]
    .iter()
    .filter_map(|pattern| Regex::new(pattern).ok())
    .collect()
});

const MONTHS: [&str; 12] = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];

fn dates(text: &str) -> Vec<Quantity> {
    let mut found: Vec<Quantity> = Vec::new();
    for (index, pattern) in DATES.iter().enumerate() {
        let bare_year = index + 1 == DATES.len();
        for captures in pattern.captures_iter(text) {
            let Some(whole) = captures.get(0) else { continue };
            if found.iter().any(|date| date.start < whole.end() && whole.start() < date.end) {
                continue;
            }
            if bare_year && !stands_alone(text, whole.start(), whole.end()) {
                continue;
            }
            let year = captures.name("year").and_then(|year| number_at(year.as_str())).map(|(year, _)| year);
            let month = captures.name("month").and_then(|month| number_at(month.as_str())).map(|(month, _)| month);
            #[expect(clippy::cast_precision_loss, reason = "twelve months")]
            let month = month.or_else(|| {
                let name = captures.name("name")?.as_str().to_lowercase();
                MONTHS.iter().position(|month| name.starts_with(month)).map(|month| month as f64 + 1.0)
            });
            let day = captures.name("day").and_then(|day| number_at(day.as_str())).map(|(day, _)| day);
            if month.is_some_and(|month| !(1.0..=12.0).contains(&month))
                || day.is_some_and(|day| !(1.0..=31.0).contains(&day))
            {
                continue;
            }
            let mut key = String::from("date:");
            if let Some(year) = year {
                key.push_str(&format!("{year:04}"));
            }
            if let Some(month) = month {
                key.push_str(&format!("-{month:02}"));
            }
            if let Some(day) = day {
                key.push_str(&format!("-{day:02}"));
            }
            found.push(Quantity { kind: Kind::Date, start: whole.start(), end: whole.end(), key });
        }
    }
    found
}

/// Four digits are a year only when they count nothing and cost nothing.
fn stands_alone(text: &str, start: usize, end: usize) -> bool {
    let before = text[..start].trim_end_matches(' ');
    if before.ends_with(['$', '€', '£', '¥', '￥', '.', ','])
        && text[..start].ends_with(['$', '€', '£', '¥', '￥', '.'])
    {
        return false;
    }
    let after = &text[end..];
    if after.starts_with(['%', '％']) || after.starts_with(['.', ',']) && leading_digit(&after[1..]) {
        return false;
    }
    let gap = after.len() - after.trim_start_matches([' ', '-']).len();
    unit_at(&after[gap..]).is_none()
}

fn leading_digit(text: &str) -> bool {
    text.starts_with(|c| digit(c).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(text: &str) -> Vec<String> {
        quantities(text).into_iter().map(|quantity| quantity.key).collect()
    }

    #[test]
    fn the_same_length_of_time_has_one_key() {
        for text in ["two years", "24 months", "两年", "24个月", "二十四个月", "a 24-month warranty", "２４ 个月"]
        {
            assert_eq!(keys(text), ["duration:24mo"], "{text}");
        }
        assert_eq!(keys("within 5 business days"), ["duration:5workday"]);
        assert_eq!(keys("30天内，或48小时"), ["duration:2592000s", "duration:172800s"]);
    }

    #[test]
    fn money_and_percent() {
        assert_eq!(keys("$1,200 or 1200 dollars"), ["money:1200usd", "money:1200usd"]);
        assert_eq!(keys("3.5万元和￥99"), ["money:35000cny", "money:99cny"]);
        assert_eq!(keys("12.5% 或百分之五"), ["percent:12.5%", "percent:5%"]);
    }

    #[test]
    fn dates_of_both_languages() {
        for text in ["2025-03-01", "1 March 2025", "March 1, 2025", "2025年3月1日", "2025/3/1"] {
            assert_eq!(keys(text), ["date:2025-03-01"], "{text}");
        }
        assert_eq!(keys("since 2023"), ["date:2023"]);
        assert_eq!(keys("March 2025"), ["date:2025-03"]);
        assert_eq!(keys("二〇二五年"), ["date:2025"]);
    }

    #[test]
    fn measures_and_bare_numbers() {
        assert_eq!(keys("weighs 1.5 kg and 3 米"), ["measure:1500g", "measure:3m"]);
        assert_eq!(keys("2000 people on 12 floors"), ["measure:2000person", "number:12"]);
    }

    #[test]
    fn names_and_numeral_words_are_no_numbers() {
        assert_eq!(keys("the Aurora X1, someone, the other one, 统一, 5G"), Vec::<String>::new());
    }

    #[test]
    fn spans_are_bytes_of_the_text() {
        let text = "保修期为24个月。";
        let spans: Vec<&str> = quantities(text).iter().map(|found| &text[found.start..found.end]).collect();
        assert_eq!(spans, ["24个月"]);
    }
}

//! Numbers as they are written: digits of any width, English words, Chinese numerals.

/// A number at the start of a text: its value and how many bytes it takes. `None` where none starts.
pub(super) fn number_at(text: &str) -> Option<(f64, usize)> {
    digits(text).or_else(|| chinese(text)).or_else(|| english(text))
}

/// Value of an ASCII or full-width digit.
pub(super) const fn digit(c: char) -> Option<u32> {
    match c {
        '0'..='9' => Some(c as u32 - '0' as u32),
        '０'..='９' => Some(c as u32 - '０' as u32),
        _ => None,
    }
}

/// `1,234.5`, `１２`, `3.5万`, `2 million`.
fn digits(text: &str) -> Option<(f64, usize)> {
    let mut whole = String::new();
    let mut end = 0;
    let mut chars = text.char_indices().peekable();
    let mut decimal = false;
    while let Some(&(at, c)) = chars.peek() {
        if let Some(value) = digit(c) {
            whole.push(char::from_digit(value, 10)?);
            end = at + c.len_utf8();
            chars.next();
            continue;
        }
        let rest = &text[at + c.len_utf8()..];
        let next_is_digit = rest.chars().next().is_some_and(|next| digit(next).is_some());
        match c {
            '.' | '．' if !decimal && !whole.is_empty() && next_is_digit => {
                decimal = true;
                whole.push('.');
                chars.next();
            }
            // A comma groups thousands only before exactly three digits.
            ',' | '，' if !decimal && !whole.is_empty() && leading_digits(rest) == 3 => {
                chars.next();
            }
            _ => break,
        }
    }
    let value: f64 = whole.parse().ok()?;
    let (factor, taken) = factor_at(&text[end..]);
    Some((value * factor, end + taken))
}

fn leading_digits(text: &str) -> usize {
    text.chars().take_while(|c| digit(*c).is_some()).count()
}

/// A multiplier that follows digits: 万, 亿, million, …
fn factor_at(text: &str) -> (f64, usize) {
    let trimmed = text.trim_start_matches([' ', '\u{a0}']);
    let skipped = text.len() - trimmed.len();
    for (word, factor) in [("万亿", 1e12), ("亿", 1e8), ("百万", 1e6), ("万", 1e4), ("千万", 1e7)] {
        if trimmed.starts_with(word) {
            return (factor, skipped + word.len());
        }
    }
    for (word, factor) in
        [("thousand", 1e3), ("million", 1e6), ("billion", 1e9), ("trillion", 1e12), ("bn", 1e9), ("mn", 1e6)]
    {
        let Some(head) = trimmed.get(..word.len()) else { continue };
        if head.eq_ignore_ascii_case(word) && !trimmed[word.len()..].starts_with(|c: char| c.is_alphanumeric()) {
            return (factor, skipped + word.len());
        }
    }
    (1.0, 0)
}

/// `二十四`, `两百`, `三千五百万`, `一二〇`.
fn chinese(text: &str) -> Option<(f64, usize)> {
    let mut total = 0.0;
    let mut section = 0.0;
    let mut current: Option<f64> = None;
    let mut plain = String::new();
    let mut positional = false;
    let mut end = 0;
    for (at, c) in text.char_indices() {
        if let Some(value) = "零一二三四五六七八九".chars().position(|known| known == c).or(match c {
            '〇' => Some(0),
            '两' | '兩' => Some(2),
            _ => None,
        }) {
            plain.push_str(&value.to_string());
            #[expect(clippy::cast_precision_loss, reason = "a digit")]
            let value = value as f64;
            current = Some(value);
        } else {
            let unit = match c {
                '十' => 10.0,
                '百' => 100.0,
                '千' => 1000.0,
                '万' | '萬' => 1e4,
                '亿' | '億' => 1e8,
                _ => break,
            };
            if end == 0 && unit > 10.0 {
                return None;
            }
            positional = true;
            if unit >= 1e4 {
                total = (total + section + current.take().unwrap_or(0.0)) * unit;
                section = 0.0;
            } else {
                section += current.take().unwrap_or(1.0) * unit;
            }
        }
        end = at + c.len_utf8();
    }
    if end == 0 {
        return None;
    }
    if !positional && plain.len() > 1 {
        return Some((plain.parse().ok()?, end));
    }
    Some((total + section + current.unwrap_or(0.0), end))
}

const UNITS: [&str; 20] = [
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
];
const TENS: [&str; 8] = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"];

/// `two`, `twenty-four`, `three hundred`.
fn english(text: &str) -> Option<(f64, usize)> {
    let mut value: Option<f64> = None;
    let mut end = 0;
    let mut at = 0;
    while let Some((word, start)) = word_at(text, at) {
        let lower = word.to_ascii_lowercase();
        #[expect(clippy::cast_precision_loss, reason = "below a hundred")]
        let next = if let Some(unit) = UNITS.iter().position(|known| *known == lower) {
            Some(value.unwrap_or(0.0) + unit as f64)
        } else if let Some(ten) = TENS.iter().position(|known| *known == lower) {
            Some(value.unwrap_or(0.0) + (ten as f64 + 2.0) * 10.0)
        } else {
            match lower.as_str() {
                "hundred" => value.map(|value| value * 100.0),
                "thousand" => value.map(|value| value * 1e3),
                "million" => value.map(|value| value * 1e6),
                "billion" => value.map(|value| value * 1e9),
                _ => None,
            }
        };
        let Some(next) = next else { break };
        value = Some(next);
        end = start + word.len();
        at = end;
        if at - start > 0 && !text[at..].starts_with(['-', ' ']) {
            break;
        }
        at += 1;
    }
    value.map(|value| (value, end))
}

/// The ASCII word that starts at `at`.
fn word_at(text: &str, at: usize) -> Option<(&str, usize)> {
    let rest = text.get(at..)?;
    let length = rest.bytes().take_while(u8::is_ascii_alphabetic).count();
    let whole = !rest[length..].starts_with(|c: char| c.is_alphanumeric() && c.is_ascii());
    (length > 0 && whole).then(|| (&rest[..length], at))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_both_languages() {
        let cases: [(&str, Option<f64>); 16] = [
            ("1,234.5 kg", Some(1234.5)),
            ("12", Some(12.0)),
            ("１２个月", Some(12.0)),
            ("3.5万元", Some(35000.0)),
            ("1.2亿", Some(1.2e8)),
            ("2 million", Some(2e6)),
            ("二十四个月", Some(24.0)),
            ("两年", Some(2.0)),
            ("十五天", Some(15.0)),
            ("三千五百万", Some(35_000_000.0)),
            ("二〇二五年", Some(2025.0)),
            ("twenty-four months", Some(24.0)),
            ("three hundred days", Some(300.0)),
            ("one", Some(1.0)),
            ("oneself", None),
            ("the", None),
        ];
        for (text, expected) in cases {
            assert_eq!(number_at(text).map(|(value, _)| value), expected, "{text}");
        }
        assert_eq!(number_at("1,2 and"), Some((1.0, 1)));
        assert_eq!(number_at("3. Next"), Some((3.0, 1)));
    }
}

//! Places in a list: "2", "the second", "B", 第二个, "last", 后者, "the first two".

use std::collections::BTreeSet;

use super::said::Token;

/// The options (from 0) that these tokens count off among `k`; `None` when they say anything else, or a place that
/// the list does not have.
pub(super) fn places(tokens: &[Token], k: usize) -> Option<BTreeSet<usize>> {
    let words: Vec<&str> = tokens.iter().map(|token| token.text.as_str()).collect();
    let joined: String = words.concat();
    let numbers: Vec<usize> = match words.as_slice() {
        [] => return None,
        [word] if !tokens[0].is_han() => vec![english(word, k)?],
        ["no", number] if !tokens[1].after_break && tokens[1].is_number() => vec![english(number, k)?],
        ["second" | "next", "last"] | ["second" | "next", "to", "last"] | ["last", "but", "one"] => {
            vec![k.checked_sub(1)?]
        }
        ["one", "before", "last"] | ["one", "before", "the", "last"] => vec![k.checked_sub(1)?],
        ["third", "to", "last"] | ["third", "last"] => vec![k.checked_sub(2)?],
        ["first" | "top", count] => (1..=cardinal(count).filter(|count| *count > 1)?).collect(),
        ["last" | "bottom", count] => {
            let count = cardinal(count).filter(|count| (2..=k).contains(count))?;
            (k + 1 - count..=k).collect()
        }
        _ => chinese(&joined, k)?,
    };
    let places: BTreeSet<usize> = numbers
        .into_iter()
        .map(|number| number.checked_sub(1).filter(|place| *place < k))
        .collect::<Option<BTreeSet<usize>>>()?;
    Some(places)
}

const CARDINALS: [&str; 8] = ["one", "two", "three", "four", "five", "six", "seven", "eight"];

/// Whether it counts things when a name follows: "one Borealis".
pub(super) fn is_cardinal_word(word: &str) -> bool {
    CARDINALS.contains(&word)
}

fn english(word: &str, k: usize) -> Option<usize> {
    if let [letter @ b'a'..=b'h'] = word.as_bytes() {
        return Some(usize::from(letter - b'a') + 1);
    }
    if word.bytes().all(|b| b.is_ascii_digit()) && word.len() <= 2 {
        return word.parse().ok();
    }
    match word {
        "last" | "final" | "bottom" | "latter" => Some(k),
        "penultimate" => k.checked_sub(1),
        "top" | "former" => Some(1),
        "middle" if k % 2 == 1 && k > 1 => Some(k / 2 + 1),
        "first" | "1st" => Some(1),
        "second" | "2nd" | "ii" => Some(2),
        "third" | "3rd" | "iii" => Some(3),
        "fourth" | "4th" | "iv" => Some(4),
        "fifth" | "5th" => Some(5),
        "sixth" | "6th" | "vi" => Some(6),
        "seventh" | "7th" | "vii" => Some(7),
        "eighth" | "8th" | "viii" => Some(8),
        word => cardinal(word),
    }
}

/// A number of things, spelt or in one digit.
pub(super) fn cardinal(word: &str) -> Option<usize> {
    let spelled = CARDINALS.iter().position(|known| *known == word).map(|at| at + 1);
    spelled.or_else(|| (word.len() == 1).then(|| word.parse().ok()).flatten())
}

fn chinese(text: &str, k: usize) -> Option<Vec<usize>> {
    let bare = without_classifier(text);
    match bare {
        "前者" | "首" | "头" | "头一" => return Some(vec![1]),
        "后者" | "最后" | "最后一" | "最末" | "最后面" | "末" | "末尾" | "最后那" => {
            return Some(vec![k]);
        }
        "中间" | "中间那" | "中间的" if k % 2 == 1 && k > 1 => return Some(vec![k / 2 + 1]),
        "甲" => return Some(vec![1]),
        "乙" => return Some(vec![2]),
        "丙" => return Some(vec![3]),
        "丁" => return Some(vec![4]),
        _ => {}
    }
    if let Some(number) = bare.strip_prefix("倒数第") {
        return Some(vec![(k + 1).checked_sub(numeral(number)?)?]);
    }
    let has_classifier = bare.len() < text.len();
    if let Some(count) = bare.strip_prefix('前').and_then(numeral).filter(|_| has_classifier) {
        return Some((1..=count).collect());
    }
    if let Some(count) = bare.strip_prefix(['后', '末']).and_then(numeral).filter(|count| has_classifier && *count <= k)
    {
        return Some((k + 1 - count..=k).collect());
    }
    if let Some(number) = bare.strip_prefix('第') {
        return Some(vec![numeral(number)?]);
    }
    if let [letter @ b'a'..=b'h'] = bare.as_bytes()
        && matches!(text.get(1..), Some("项" | "选项" | "款"))
    {
        return Some(vec![usize::from(letter - b'a') + 1]);
    }
    // Without 第 a number with a measure word counts things: 两个 is not the second.
    matches!(text.strip_prefix(bare), Some("" | "号" | "项" | "选项")).then(|| numeral(bare)).flatten().map(|n| vec![n])
}

/// Measure words of what is offered.
pub(super) const CLASSIFIERS: [&str; 19] = [
    "选项", "个", "款", "项", "种", "条", "本", "份", "号", "台", "件", "家", "篇", "类", "只", "张", "位", "部", "点",
];

fn without_classifier(text: &str) -> &str {
    let rest = CLASSIFIERS.iter().find_map(|classifier| text.strip_suffix(classifier));
    rest.filter(|rest| !rest.is_empty()).unwrap_or(text)
}

pub(super) fn numeral(text: &str) -> Option<usize> {
    let mut chars = text.chars();
    let only = (chars.next(), chars.next());
    if let (Some(c), None) = only
        && let Some(at) =
            ['一', '二', '三', '四', '五', '六', '七', '八', '九', '十'].iter().position(|known| *known == c)
    {
        return Some(at + 1);
    }
    match text {
        "两" => Some(2),
        _ if text.len() <= 2 && !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit()) => text.parse().ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::services::chat::reply::said::Said;

    fn of(text: &str, k: usize) -> Option<Vec<usize>> {
        places(&Said::new(text).tokens, k).map(|places| places.into_iter().map(|place| place + 1).collect())
    }

    #[test]
    fn places_in_a_list_of_three() {
        for (text, expected) in [
            ("2", Some(vec![2])),
            ("02", Some(vec![2])),
            ("no. 2", Some(vec![2])),
            ("(3)", Some(vec![3])),
            ("B", Some(vec![2])),
            ("third", Some(vec![3])),
            ("last", Some(vec![3])),
            ("second to last", Some(vec![2])),
            ("first two", Some(vec![1, 2])),
            ("last two", Some(vec![2, 3])),
            ("middle", Some(vec![2])),
            ("II", Some(vec![2])),
            ("Ⅲ", Some(vec![3])),
            ("penultimate", Some(vec![2])),
            ("one before the last", Some(vec![2])),
            ("第二个", Some(vec![2])),
            ("第3款", Some(vec![3])),
            ("第三", Some(vec![3])),
            ("二", Some(vec![2])),
            ("2号", Some(vec![2])),
            ("B选项", Some(vec![2])),
            ("最后一个", Some(vec![3])),
            ("后者", Some(vec![3])),
            ("前者", Some(vec![1])),
            ("倒数第二个", Some(vec![2])),
            ("前两个", Some(vec![1, 2])),
            ("后两个", Some(vec![2, 3])),
            ("中间那个", Some(vec![2])),
            ("乙", Some(vec![2])),
            ("4", None),
            ("0", None),
            ("第九个", None),
            ("2个", None),
            ("两个", None),
            ("E", None),
            ("2024", None),
            ("2.0", None),
            ("前天", None),
            ("", None),
        ] {
            assert_eq!(of(text, 3), expected, "{text}");
        }
    }
}

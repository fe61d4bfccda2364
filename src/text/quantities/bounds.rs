//! Stretches of values: "10 to 20 years", "满 10 年不满 20 年", "more than 30 days", "up to 5 kg". A question that says
//! "12 years" is about the first, though no text says twelve.

use super::{Kind, Quantity, quantities};

/// A stretch of values of one unit.
#[derive(Debug, Clone, PartialEq)]
pub struct Bounds {
    kind: Kind,
    unit: String,
    low: Option<Bound>,
    high: Option<Bound>,
    /// First byte of its first quantity.
    pub start: usize,
    /// One past the last byte of its last quantity.
    pub end: usize,
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct Bound {
    value: f64,
    /// Whether the value itself belongs to the stretch.
    is_in: bool,
}

impl Bounds {
    /// Whether `quantity` lies inside; `None` where it is of another unit, so that nothing can be said.
    #[must_use]
    pub fn hold(&self, quantity: &Quantity) -> Option<bool> {
        let (value, unit) = measured(quantity)?;
        if quantity.kind != self.kind || unit != self.unit {
            return None;
        }
        let above = self.low.is_none_or(|low| value > low.value || (low.is_in && value >= low.value));
        let below = self.high.is_none_or(|high| value < high.value || (high.is_in && value <= high.value));
        Some(above && below)
    }
}

/// Value and unit of a quantity that has both.
fn measured(quantity: &Quantity) -> Option<(f64, &str)> {
    let (_, value) = quantity.key.split_once(':')?;
    let unit = value.find(|c: char| !c.is_ascii_digit() && !matches!(c, '.' | '-')).unwrap_or(value.len());
    let number = value.get(..unit)?.parse().ok()?;
    (quantity.kind != Kind::Date).then_some((number, value.get(unit..)?))
}

/// Which end of a stretch a word marks, and whether the value belongs to it.
type Mark = (&'static str, End, bool);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Low,
    High,
}

/// Words before a value; longer ones first where one ends with another.
const BEFORE: &[Mark] = &[
    ("no more than", End::High, true),
    ("not more than", End::High, true),
    ("no less than", End::Low, true),
    ("not less than", End::Low, true),
    ("less than", End::High, false),
    ("fewer than", End::High, false),
    ("shorter than", End::High, false),
    ("under", End::High, false),
    ("below", End::High, false),
    ("up to", End::High, true),
    ("at most", End::High, true),
    ("maximum of", End::High, true),
    ("more than", End::Low, false),
    ("longer than", End::Low, false),
    ("over", End::Low, false),
    ("above", End::Low, false),
    ("beyond", End::Low, false),
    ("exceeding", End::Low, false),
    ("at least", End::Low, true),
    ("minimum of", End::Low, true),
    ("不超过", End::High, true),
    ("不多于", End::High, true),
    ("不高于", End::High, true),
    ("至多", End::High, true),
    ("最多", End::High, true),
    ("不满", End::High, false),
    ("未满", End::High, false),
    ("不足", End::High, false),
    ("不到", End::High, false),
    ("少于", End::High, false),
    ("小于", End::High, false),
    ("低于", End::High, false),
    ("不少于", End::Low, true),
    ("不低于", End::Low, true),
    ("至少", End::Low, true),
    ("超过", End::Low, false),
    ("多于", End::Low, false),
    ("大于", End::Low, false),
    ("高于", End::Low, false),
    ("已满", End::Low, true),
    ("满", End::Low, true),
];

/// Words behind a value.
const BEHIND: &[Mark] = &[
    ("or more", End::Low, true),
    ("and more", End::Low, true),
    ("or longer", End::Low, true),
    ("and above", End::Low, true),
    ("or above", End::Low, true),
    ("or less", End::High, true),
    ("or fewer", End::High, true),
    ("or shorter", End::High, true),
    ("及以上", End::Low, true),
    ("以上", End::Low, true),
    ("及以下", End::High, true),
    ("以下", End::High, false),
    ("以内", End::High, true),
];

/// What joins the two ends of one stretch that both carry their own word.
const JOINTS: &[&str] = &["", "，", ",", "、", "但", "且", "并", "and", "but", ", but", "，但", "或"];
/// What joins the two ends of a plain stretch.
const SPANS: &[&str] = &["to", "-", "–", "—", "~", "～", "至", "到", "－"];

/// The stretches of `text`, in order.
#[must_use]
pub fn bounds(text: &str) -> Vec<Bounds> {
    let mut found: Vec<Bounds> = Vec::new();
    let each = quantities(text);
    for (no, quantity) in each.iter().enumerate() {
        let spanned = no.checked_sub(1).and_then(|before| span(text, each.get(before)?, quantity));
        let Some(next) = spanned.or_else(|| marked(text, quantity)) else { continue };
        match found.last_mut() {
            Some(last) if closes(text, last, &next) => {
                last.high = next.high;
                last.end = next.end;
            }
            _ => found.push(next),
        }
    }
    found
}

/// "10 to 20 years": the first value may leave its unit to the second.
fn span(text: &str, first: &Quantity, second: &Quantity) -> Option<Bounds> {
    let (high, unit) = measured(second)?;
    let between = text.get(first.end..second.start)?.trim();
    if !SPANS.contains(&between) {
        return None;
    }
    let low = if first.kind == Kind::Number {
        // "10" of "10 to 20 years" means what "10 years" means.
        let written = text.get(second.start..second.end)?;
        let unit = written.trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, '.' | ',' | ' '));
        quantities(&format!("{} {unit}", text.get(first.start..first.end)?)).first().and_then(measured)?.0
    } else {
        measured(first).filter(|(_, other)| *other == unit)?.0
    };
    let bound = |value| Some(Bound { value, is_in: true });
    (low < high).then(|| Bounds {
        kind: second.kind,
        unit: unit.to_owned(),
        low: bound(low),
        high: bound(high),
        start: first.start,
        end: second.end,
    })
}

/// A value with a word that makes it an end.
fn marked(text: &str, quantity: &Quantity) -> Option<Bounds> {
    let (value, unit) = measured(quantity)?;
    let before = text.get(..quantity.start)?.trim_end().to_lowercase();
    let behind = text.get(quantity.end..)?.trim_start().to_lowercase();
    let stands_alone = |word: &str| {
        let head = before.strip_suffix(word).unwrap_or_default();
        !word.is_ascii() || !head.ends_with(|c: char| c.is_ascii_alphanumeric())
    };
    let (_, end, is_in) = BEFORE
        .iter()
        .find(|(word, ..)| before.ends_with(word) && stands_alone(word))
        .or_else(|| BEHIND.iter().find(|(word, ..)| behind.starts_with(word)))?;
    let bound = Some(Bound { value, is_in: *is_in });
    let (low, high) = if *end == End::Low { (bound, None) } else { (None, bound) };
    Some(Bounds { kind: quantity.kind, unit: unit.to_owned(), low, high, start: quantity.start, end: quantity.end })
}

/// Whether `next` is the upper end of the stretch that `last` begins: "满 10 年不满 20 年", "over 5 but under 10 kg".
fn closes(text: &str, last: &Bounds, next: &Bounds) -> bool {
    let is_pair = last.high.is_none() && next.low.is_none() && last.kind == next.kind && last.unit == next.unit;
    let between = text.get(last.end..next.start).unwrap_or_default().trim().to_lowercase();
    let joint = BEFORE.iter().filter_map(|(word, ..)| between.strip_suffix(word)).map(str::trim);
    let plain = BEHIND.iter().filter_map(|(word, ..)| between.strip_prefix(word)).map(str::trim);
    is_pair
        && (joint.chain([between.as_str()]).any(|joint| JOINTS.contains(&joint))
            || plain
                .filter_map(|rest| BEFORE.iter().find_map(|(word, ..)| rest.strip_suffix(word)))
                .any(|joint| JOINTS.contains(&joint.trim())))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Which of the stretches of `text` hold `value`.
    fn hold(text: &str, value: &str) -> Vec<Option<bool>> {
        let value = quantities(value).remove(0);
        bounds(text).iter().map(|bounds| bounds.hold(&value)).collect()
    }

    #[test]
    fn a_value_lies_in_the_stretch_that_holds_it() {
        let leave = "满 1 年不满 10 年的 5 天；满 10 年不满 20 年的 10 天；满 20 年的 15 天";
        assert_eq!(hold(leave, "12 年"), [Some(false), Some(true), Some(false)]);
        assert_eq!(hold(leave, "10 年"), [Some(false), Some(true), Some(false)]);
        assert_eq!(hold(leave, "25 年"), [Some(false), Some(false), Some(true)]);
        let fee = "Up to 5 kg: 4 €. More than 5 kg but less than 20 kg: 9 €. 20 kg or more: 15 €.";
        assert_eq!(hold(fee, "7 kg"), [Some(false), Some(true), Some(false)]);
        assert_eq!(hold(fee, "5 kg"), [Some(true), Some(false), Some(false)]);
        assert_eq!(hold("10 to 20 years", "12 years"), [Some(true)]);
        assert_eq!(hold("3-5 年", "6 年"), [Some(false)]);
        assert_eq!(hold("3-5 年", "6 天"), [None]);
        assert_eq!(hold("60 天以上", "两天"), [Some(false)]);
    }

    #[test]
    fn plain_values_are_no_stretches() {
        assert_eq!(bounds("The warranty is 24 months. 保修 2 年，电池 6 个月。"), []);
    }
}

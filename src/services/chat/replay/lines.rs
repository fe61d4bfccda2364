//! A line diff.

use crate::text::common::common;

/// Most pairs of lines that are compared; beyond it all lines between the common ends count as changed.
const MOST: usize = 4_000_000;

/// The lines of both texts: `-` those of `then`, `+` those of `now`, two spaces where they agree. Empty: they are equal.
pub(super) fn diff(then: &str, now: &str) -> Vec<String> {
    if then == now {
        return Vec::new();
    }
    let (then, now): (Vec<&str>, Vec<&str>) = (then.lines().collect(), now.lines().collect());
    let start = then.iter().zip(&now).take_while(|(a, b)| a == b).count();
    let end = then[start..].iter().rev().zip(now[start..].iter().rev()).take_while(|(a, b)| a == b).count();
    let (old, new) = (&then[start..then.len() - end], &now[start..now.len() - end]);
    let marked = |mark: &str, line: &str| format!("{mark}{line}");
    let mut lines: Vec<String> = then[..start].iter().map(|line| marked("  ", line)).collect();
    let is_bounded = old.len().saturating_mul(new.len() + 1) <= MOST;
    let common = if is_bounded { common(old, new) } else { Vec::new() };
    let (mut i, mut j) = (0, 0);
    for (a, b) in common.into_iter().chain([(old.len(), new.len())]) {
        lines.extend(old[i..a].iter().map(|line| marked("- ", line)));
        lines.extend(new[j..b].iter().map(|line| marked("+ ", line)));
        lines.extend(old.get(a).map(|line| marked("  ", line)));
        (i, j) = (a + 1, b + 1);
    }
    lines.extend(then[then.len() - end..].iter().map(|line| marked("  ", line)));
    lines
}

#[cfg(test)]
mod tests {
    use super::diff;

    #[test]
    fn lines_that_agree_stay_together() {
        assert_eq!(diff("a\nb", "a\nb"), Vec::<String>::new());
        assert_eq!(diff("24 months [1].", "Two years [1]."), ["- 24 months [1].", "+ Two years [1]."]);
        assert_eq!(diff("a\nb\nc\nd\ne", "a\nc\nx\nd\ne"), ["  a", "- b", "  c", "+ x", "  d", "  e"]);
        assert_eq!(diff("", "a"), ["+ a"]);
        assert_eq!(diff("a\nb\na", "b"), ["- a", "  b", "- a"]);
    }
}

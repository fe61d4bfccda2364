//! Headings in files that do not mark them.

use std::sync::LazyLock;

use regex::Regex;

/// A heading is at most this long, in characters.
const LONGEST: usize = 80;

/// Gives the level of a line that its pattern fits.
type Level = fn(&str) -> u8;

#[expect(clippy::expect_used, reason = "the patterns are constants, and a test builds them")]
static PATTERNS: LazyLock<[(Regex, Level); 5]> = LazyLock::new(|| {
    let pattern = |text: &str| Regex::new(text).expect("a valid pattern");
    [
        (pattern(r"^第[一二三四五六七八九十百零〇两\d]+(?:章|篇|编|部分|单元)(?:\s|$|[：:、\p{Han}])"), |_| 1),
        (pattern(r"^第[一二三四五六七八九十百零〇两\d]+节(?:\s|$|[：:、\p{Han}])"), |_| 2),
        (pattern(r"(?i)^(?:chapter|part|section|appendix|article)\s+(?:\d+|[ivxlc]+|[a-z])\b(?:[.:\s–—-]|$)"), |_| 1),
        (pattern(r"^\d{1,2}(?:\.\d{1,2}){0,4}\.?[ \t\u{3000}]+[\p{Lu}\p{Han}]"), |line| {
            let number = line.split([' ', '\t', '\u{3000}']).next().unwrap_or_default().trim_end_matches('.');
            u8::try_from(1 + number.matches('.').count()).unwrap_or(6).min(6)
        }),
        (pattern(r"^[一二三四五六七八九十]{1,3}、\p{Han}"), |_| 1),
    ]
});

/// The level of a line that stands alone and is numbered like a heading: "Chapter 3", "2.1 Battery", "第二章 保修",
/// "三、保修". Lines that end like a sentence or a list are none.
pub(super) fn numbered(line: &str) -> Option<u8> {
    let line = line.trim();
    if line.contains('\n')
        || line.chars().count() > LONGEST
        || line.ends_with(['.', '。', ';', '；', ',', '，', ':', '：', '!', '！', '?', '？'])
        || line.contains('。')
    {
        return None;
    }
    PATTERNS.iter().find(|(pattern, _)| pattern.is_match(line)).map(|(_, level)| level(line))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_tell_headings() {
        let level = numbered;
        assert_eq!(level("Chapter 3: Warranty"), Some(1));
        assert_eq!(level("2.1 Battery"), Some(2));
        assert_eq!(level("第二章 保修"), Some(1));
        assert_eq!(level("第三节　电池"), Some(2));
        assert_eq!(level("三、保修范围"), Some(1));
        assert_eq!(level("2 years of warranty."), None);
        assert_eq!(level("第二章规定的期限为两年。"), None);
        assert_eq!(level("1. Open the lid."), None);
        assert_eq!(level("Warranty"), None);
    }
}

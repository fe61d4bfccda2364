//! Words of both scripts, where they stand, and which of them say nothing by themselves.

use std::{collections::HashSet, sync::LazyLock};

use jieba_rs::Jieba;
use unicode_segmentation::UnicodeSegmentation;

/// Segments Chinese. Built on first use.
pub(super) static DICTIONARY: LazyLock<Jieba> = LazyLock::new(Jieba::new);

/// A word as it stands in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Word<'t> {
    /// Its letters.
    pub text: &'t str,
    /// First byte.
    pub start: usize,
    /// One past its last byte.
    pub end: usize,
}

impl Word<'_> {
    /// Whether it is written in Chinese characters.
    #[must_use]
    pub fn is_han(&self) -> bool {
        self.text.chars().next().is_some_and(is_han)
    }

    /// Whether it is a model or part number, a version or the like: letters and digits, or digits in
    /// groups. A number with decimals is none.
    #[must_use]
    pub fn is_code(&self) -> bool {
        let digits = self.text.bytes().any(|b| b.is_ascii_digit());
        digits && self.text.contains(|c: char| c.is_alphabetic() || (is_joint(c) && c != '.'))
    }
}

/// Whether `c` is a Chinese character (CJK ideographs, 々 and 〇).
#[must_use]
pub const fn is_han(c: char) -> bool {
    matches!(c,
        '\u{4e00}'..='\u{9fff}' | '\u{3400}'..='\u{4dbf}' | '\u{20000}'..='\u{323af}' | '\u{f900}'..='\u{faff}'
        | '々' | '〇')
}

/// The words of `text` in order, without what stands between them: Latin and other words by UAX 29, Chinese by
/// dictionary, codes such as "X1-200" and dates such as 2024-05-01 whole.
#[must_use]
pub fn words(text: &str) -> Vec<Word<'_>> {
    let mut words = Vec::new();
    for run in runs(text) {
        if !run.is_han() {
            words.push(run);
            continue;
        }
        let mut start = run.start;
        for token in DICTIONARY.cut(run.text, true) {
            let end = start + token.word.len();
            words.push(Word { text: token.word, start, end });
            start = end;
        }
    }
    words
}

/// Like [`words`], with each stretch of Chinese in one piece.
pub(super) fn runs(text: &str) -> Vec<Word<'_>> {
    let mut runs: Vec<Word<'_>> = Vec::new();
    // A joint that came directly after the last run: the byte behind it.
    let mut joint = None;
    for (start, piece) in text.split_word_bound_indices() {
        let end = start + piece.len();
        let Some(lead) = piece.find(|c: char| c.is_alphanumeric() || is_han(c)) else {
            let touches = runs.last().is_some_and(|last| last.end == start && !last.is_han());
            joint = (touches && piece.len() == 1 && piece.starts_with(is_joint)).then_some(end);
            continue;
        };
        // Lines that connect words are part of them for UAX 29, also where they only stand around one: _so_.
        let bare = piece.get(lead..).unwrap_or_default().trim_end_matches(is_connector);
        let start = start + lead;
        let end = start + bare.len();
        let word = Word { text: bare, start, end };
        let joined = runs.last().is_some_and(|last| {
            if word.is_han() { last.is_han() && last.end == start } else { joint == Some(start) && coded(last, &word) }
        });
        joint = None;
        match runs.last_mut() {
            Some(last) if joined => {
                *last = Word { text: text.get(last.start..end).unwrap_or_default(), start: last.start, end };
            }
            _ => runs.push(word),
        }
    }
    runs
}

const fn is_connector(c: char) -> bool {
    matches!(
        c,
        '_' | '\u{203f}' | '\u{2040}' | '\u{2054}' | '\u{fe33}' | '\u{fe34}' | '\u{fe4d}'..='\u{fe4f}' | '\u{ff3f}'
    )
}

/// Joins the groups of a code.
const fn is_joint(c: char) -> bool {
    matches!(c, '-' | '_' | '/' | '.' | '#' | '+')
}

/// Whether two pieces around a joint are one code: a digit in either, and neither of them a long plain word.
fn coded(left: &Word<'_>, right: &Word<'_>) -> bool {
    let digit = |w: &Word<'_>| w.text.bytes().any(|b| b.is_ascii_digit());
    let plain = |w: &Word<'_>| w.text.chars().all(char::is_alphabetic) && w.text.chars().count() > 4;
    (digit(left) || digit(right)) && !plain(left) && !plain(right)
}

/// Whether `word` (folded, see [`super::fold()`]) says nothing about what a text is about: articles, pronouns, auxiliary
/// verbs, question words, particles.
#[must_use]
pub fn is_stop(word: &str) -> bool {
    STOP.contains(word)
}

/// The words of a folded text that carry meaning, each once, as they are written: no numbers, codes or single characters.
#[must_use]
pub fn surfaces(folded: &str) -> HashSet<String> {
    words(folded)
        .into_iter()
        .filter(|word| !is_stop(word.text) && word.text.chars().nth(1).is_some() && !word.is_code())
        .filter(|word| !word.text.starts_with(|c: char| c.is_ascii_digit()))
        .map(|word| word.text.to_owned())
        .collect()
}

static STOP: LazyLock<HashSet<&'static str>> =
    LazyLock::new(|| EN.split_whitespace().chain(ZH.split_whitespace()).collect());

const EN: &str = "
a about again ain all also am an and any anybody anyone anything are aren't as at be because been being both but by
can can't cannot could couldn't d did didn't do does doesn't doing don don't else ever every
for from had hadn't has hasn't have haven't having he he'd he'll he's her here here's hers herself him himself his how
how's however i i'd i'll i'm i've if in into is isn't it it'd it'll it's its itself just kindly let let's ll m may me
might mine more most much must my myself nor of on one's only or other our ours ourselves own please re s shall she she'd
she'll she's should shouldn't so some somebody someone something such t tell than that that's the their theirs them
themselves then there there's therefore these they they'd they'll they're they've this those though thus to too us ve
very was wasn't we we'd we'll we're we've were weren't what what's when when's where where's whether which while who
who's whom whose why why's will with won't would wouldn't yet you you'd you'll you're you've your yours yourself
yourselves";

const ZH: &str = "
的 了 是 在 和 与 及 或 而 且 也 都 就 还 又 很 更 最 太 着 过 地 得 之 其 此 该 各 每 被 把 让 给 对 对于 关于 由 于 从 自 向 往
以 以及 因 因为 所以 但 但是 而且 并 并且 如果 若 则 即 那么 那 那个 那些 这 这个 这些 这里 那里 这样 那样 它 它们 他 他们 她 她们
我 我们 你 你们 您 咱们 自己 大家 什么 甚么 啥 哪 哪个 哪些 哪里 哪儿 哪一 谁 怎 怎么 怎么样 怎样 如何 多少 几 多久 为什么 为何 何时 何 是否
吗 呢 吧 啊 呀 哦 嘛 啦 么 请 请问 一下 告诉 想 想要 可以 可 能 能够 会 要 需要 应 应该 应当 有 没 没有 不是 就是 还是 只 只是 等 等等
个 中 里 上 下 时 时候 到 做 用 来 去 说 所 为 叫 叫做 有没有 能不能 可不可以 是不是 一个 一种";

#[cfg(test)]
mod tests {
    use super::{Word, is_stop, words};

    fn texts(text: &str) -> Vec<&str> {
        words(text).into_iter().map(|word| word.text).collect()
    }

    #[test]
    fn words_of_both_scripts() {
        assert_eq!(texts("The battery's life, 3.5 hours."), ["The", "battery's", "life", "3.5", "hours"]);
        assert_eq!(texts("手机的保修期是24个月"), ["手机", "的", "保修期", "是", "24", "个", "月"]);
        assert_eq!(texts("_so_ __init__ snake_case_ ＿全＿ _ -"), ["so", "init", "snake_case", "全"]);
    }

    #[test]
    fn codes_stay_whole() {
        assert_eq!(texts("Use X1-200 or AB/12_c; 2024-05-01"), ["Use", "X1-200", "or", "AB/12_c", "2024-05-01"]);
        assert_eq!(
            texts("and/or state-of-the-art 24-month"),
            ["and", "or", "state", "of", "the", "art", "24", "month"]
        );
        assert_eq!(texts("型号X1-200的"), ["型号", "X1-200", "的"]);
        let codes: Vec<&str> =
            words("X1-200 weighs 12 kg").iter().filter(|word| word.is_code()).map(|word| word.text).collect();
        assert_eq!(codes, ["X1-200"]);
    }

    #[test]
    fn places_are_bytes() {
        let text = "保修 two";
        assert_eq!(words(text), [Word { text: "保修", start: 0, end: 6 }, Word { text: "two", start: 7, end: 10 }]);
    }

    #[test]
    fn stop_words() {
        assert!(["the", "how", "的", "什么", "company's"].map(is_stop) == [true, true, true, true, false]);
    }
}

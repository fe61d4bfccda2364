//! What a question asks for, read from its words: the kind of answer, the words that carry it, names and numbers that
//! it fixes, and whether it leans on what was said before.

use std::sync::LazyLock;

use regex::Regex;
use unicode_segmentation::UnicodeSegmentation;

use super::{
    dimensions::{self, Dimension},
    fold::{fold, simplified},
    lang::{Lang, detect},
    pointing::{Pointed, pointed},
    quantities::{Quantity, quantities},
    terms::analyse,
    wants::wants,
    words::{Word, is_han, is_stop, words},
};

pub use super::wants::Wants;

/// How many of the things that match are meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Breadth {
    /// The one that is meant.
    One,
    /// All of them, or any.
    All,
    /// Several, against each other.
    Compare,
}

/// How much of a text or a table a question is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// One place that answers.
    Part,
    /// All of it: "which room has the most seats", "summarise the guide".
    Whole,
}

/// A word that carries meaning.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Content {
    /// Folded.
    pub text: String,
    /// As the analyser spells it: the stem of an English word; of a Chinese one itself.
    pub term: String,
    /// Written as a name: capitalised inside a sentence, or in quotation marks.
    pub is_name: bool,
    /// A code such as "X1".
    pub is_code: bool,
    /// Taken over from the turn before, by [`Question::following`].
    pub is_borrowed: bool,
}

impl Content {
    /// A word that is neither name nor code.
    fn plain(text: &str) -> Self {
        let term = analyse(text).into_iter().next().map_or_else(|| text.to_owned(), |term| term.text);
        Self { text: text.to_owned(), term, is_name: false, is_code: false, is_borrowed: false }
    }
}

/// A question, read.
#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    /// Its language.
    pub lang: Lang,
    /// See [`Wants`].
    pub wants: Wants,
    /// Words that carry meaning, in order, each once. The machinery of asking ("how long", "多少钱") is left out.
    pub content: Vec<Content>,
    /// Numbers, dates and amounts that it names.
    pub quantities: Vec<Quantity>,
    /// See [`Breadth`].
    pub breadth: Breadth,
    /// See [`Scope`].
    pub scope: Scope,
    /// What an adjective asks for: "how loud", "多重".
    pub dimension: Option<&'static Dimension>,
    /// Whether it leans on the turn before: "and the battery?", "它呢".
    pub is_follow_up: bool,
    /// A thing that it points at without naming it.
    pub pointed_at: Option<Pointed>,
    /// Folded text.
    pub folded: String,
}

impl Question {
    /// Reads a question.
    #[must_use]
    pub fn read(text: &str) -> Self {
        let folded = fold(text);
        let wants = wants(&folded);
        let mut content = content(text);
        let lang = detect(text);
        let is_follow_up = is_follow_up(&folded, &content);
        // "Warranty length" is about a warranty: its other word is the kind of answer.
        if wants == Wants::Duration && content.iter().any(|word| !names_duration(word)) {
            content.retain(|word| !names_duration(word));
        }
        let asked = dimensions::asked(&folded);
        let wants = if asked.is_some() && wants == Wants::Other { Wants::Amount } else { wants };
        // "Does it last", "does it hold" ask for it as its noun does.
        if let Some(asked) = asked {
            content.retain(|word| !asked.words().any(|known| known.strip_suffix('s') == Some(&word.text)));
        }
        let dimension = asked.or_else(|| content.iter().find_map(|word| dimensions::named(&word.text)));
        if let Some(dimension) = dimension
            && !content.iter().any(|word| dimension.words().any(|known| known == word.text))
        {
            content.push(Content::plain(dimension.noun(lang == Lang::Zh)));
        }
        Self {
            lang,
            wants,
            quantities: quantities(text),
            breadth: breadth(&folded),
            scope: if matches(&WHOLE, &folded) { Scope::Whole } else { Scope::Part },
            dimension,
            is_follow_up,
            pointed_at: pointed(text),
            content,
            folded,
        }
    }

    /// This question with what it leaves out filled in from the turn before: "and the battery?" after "How long is the
    /// warranty?" asks for a length of time and is about a warranty too. "And its battery?" asks for something else of the
    /// same thing.
    #[must_use]
    pub fn following(mut self, previous: &Self) -> Self {
        let is_of_it = matches(&OF_IT, &self.folded) && !self.content.is_empty() && previous.has_name();
        if self.wants == Wants::Other && !is_of_it {
            self.wants = previous.wants;
        }
        if self.lang == Lang::Other {
            self.lang = previous.lang;
        }
        if self.dimension.is_none() && self.wants == previous.wants && !is_of_it {
            self.dimension = previous.dimension;
        }
        // "And the Z9?" after a question about the X1 is about the Z9 alone.
        let names_own = self.content.iter().any(|word| word.is_code && !word.is_borrowed);
        let stays = |word: &&Content| !(names_own && word.is_code) && (!is_of_it || word.is_name || word.is_code);
        for word in previous.content.iter().filter(stays) {
            if !self.content.iter().any(|known| known.text == word.text) {
                self.content.push(Content { is_borrowed: true, ..word.clone() });
            }
        }
        self
    }

    /// Whether `quantity` measures what the question asks for, as far as it says what that is.
    #[must_use]
    pub fn is_measured_by(&self, quantity: &Quantity) -> bool {
        self.dimension.is_none_or(|dimension| dimension.units.contains(&quantity.unit()))
    }

    /// Whether it carries a name or a code.
    #[must_use]
    pub fn has_name(&self) -> bool {
        self.content.iter().any(|word| word.is_name || word.is_code)
    }
}

/// A pattern of a question. All are literals; a broken one is found by the tests and matches nothing.
pub(super) fn pattern(text: &str) -> Option<Regex> {
    Regex::new(text).ok()
}

fn matches(pattern: &LazyLock<Option<Regex>>, text: &str) -> bool {
    pattern.as_ref().is_some_and(|pattern| pattern.is_match(text))
}

static MACHINERY: LazyLock<Option<Regex>> = LazyLock::new(|| {
    pattern(
        r"(?ix)
        \bhow\ many\ ((business|working|calendar)\ )?(second|minute|hour|day|week|month|year)s?\b
        | \bhow\ (long|soon|early|late|much|many|far|fast|quickly|slow|high|tall|heavy|big|large|small|deep|thick|wide|often|frequently|loud|old|hot|cold|strong|powerful|bright|come|do|does|did|can|should|would|is|are)\b
        | \b(what|which)\ (year|date|day|month|time|percentage|percent)\b
        | \bwhat\ (kinds?|types?|sorts?)\ of\b | \bwhat\ (is|are)\ the\ (name|names)\ of\b
        | \b(tell|show|give|explain|describe)\ (me|us)\b | \b(do\ you\ know|i\ want\ to\ know|i\ would\ like\ to\ know)\b
        | \b(what|how)\ about\b | \bi\ need\b | \bin\ general\b | \brespectively\b
        | \bwhich\ ones?\b | \b(the|these|those)\ (two|three|four|five)\b
        | \bcompar(e|es|ed|ing|ison)\b | \b(the\ )?differences?\ (between|of|in)\b | \bhow\ do(es)?\b | \bdiffers?\b
        | \b(according\ to|based\ on|summari[sz]e|a\ summary\ of)\b | \b(each|every|both|all)\b | \b(mean|means|stand\ for|lasts?)\s*[?？]?\s*$
        | 根据|依据|总结|概述|简述|描述|列举|列出|各自|每[个款种]|所有
        | [更最](安静|便宜|昂贵|[重轻沉吵响大小高低长短快慢贵多少早晚好强弱宽深热冷])
        | 比较一?下?|对比一?下?|有什么区别|有什么不同|的?区别
        | 多少钱|多长时间|多长|多久|多少|多大|多高|多重|多远|什么时候|什么时间|何时|为什么|为何|怎么样|怎么办|怎么|如何|怎样|请问|想知道|我想了解|告诉我
        | 哪一?[年天月日个位些种款家里儿]|第几|几[个位名次天年月号点周种台件倍]|什么意思|什么|谁|是否|能不能|可不可以|有没有|是不是|能否|可否|分别|一般|总共|一共|一次\s*[?？]?\s*$|[吗呢吧呀啊][?？]?$",
    )
});

static NAMED_CODE: LazyLock<Option<Regex>> =
    LazyLock::new(|| pattern(r"\b(?P<name>[A-Za-z]{4,})-(?P<code>[A-Za-z]{1,3}[0-9]+[A-Za-z]?)\b"));

static MADE_OF: LazyLock<Option<Regex>> =
    LazyLock::new(|| pattern(r"(?i)\b(?:made|makes?|consists?|composed) (?:up |out )?(?:of|from)\b"));

static BATTERY_LIFE: LazyLock<Option<Regex>> =
    LazyLock::new(|| pattern(r"(?i)\b(?P<battery>batter(?:y|ies)) li(?:fe|ves)\b"));

/// Stop words as they are mistyped most.
const SLIPPED_STOPS: &[&str] =
    &["teh", "hte", "taht", "waht", "wiht", "adn", "fo", "si", "dose", "whta", "thsi", "thier"];

/// Capitalised words that begin sentences or are no names.
const NO_NAMES: &[&str] = &["i", "ok", "okay", "hi", "hello", "please", "thanks", "faq"];

fn content(text: &str) -> Vec<Content> {
    let text = simplified(text);
    let stripped = match MACHINERY.as_ref() {
        Some(machinery) => machinery.replace_all(&text, " ").into_owned(),
        None => text.into_owned(),
    };
    let quoted = quoted(&stripped);
    // A text all in capitals, or in title case, tells nothing by its capitals.
    let latin: Vec<&str> =
        stripped.unicode_words().filter(|word| word.starts_with(|c: char| c.is_alphabetic() && !is_han(c))).collect();
    let capitals = latin.iter().filter(|word| word.starts_with(char::is_uppercase)).count();
    let capitals_tell = capitals * 4 <= latin.len() * 3 || latin.len() <= 3;
    let mut found: Vec<Content> = Vec::new();
    // "Aurora-X1" says a name and a code; the life of a battery is how long it runs, what a thing is made of its material.
    let spelled = [(&NAMED_CODE, "$name $code"), (&BATTERY_LIFE, "$battery runtime"), (&MADE_OF, "material")];
    let stripped = spelled.into_iter().fold(stripped, |text, (pattern, spelled)| match pattern.as_ref() {
        Some(pattern) => pattern.replace_all(&text, spelled).into_owned(),
        None => text,
    });
    for word in joined(&stripped, words(&stripped)) {
        let folded = fold(word.text);
        if is_stop(&folded)
            || SLIPPED_STOPS.contains(&folded.as_str())
            || (folded.chars().count() == 1
                && !word.is_han()
                && !word.is_code()
                && !folded.bytes().all(|b| b.is_ascii_digit()))
        {
            continue;
        }
        if found.iter().any(|known| known.text == folded) {
            continue;
        }
        let begins = begins_sentence(&stripped, word.start);
        let capital = word.text.starts_with(char::is_uppercase) && !word.is_han();
        let shouted = capital && word.text.chars().count() >= 2 && word.text.chars().all(|c| !c.is_lowercase());
        let is_name = quoted.iter().any(|range| range.contains(&word.start))
            || (capitals_tell && capital && (!begins || shouted) && !NO_NAMES.contains(&folded.as_str()));
        let term = if word.is_han() {
            folded.clone()
        } else {
            analyse(word.text).into_iter().next().map_or_else(|| folded.clone(), |term| term.text)
        };
        found.push(Content { text: folded, term, is_name, is_code: word.is_code(), is_borrowed: false });
    }
    // Single Chinese characters are mostly units and particles (年, 天); beside real words they say nothing.
    let telling = |word: &Content| word.text.chars().nth(1).is_some() || !word.text.starts_with(is_han);
    if found.iter().any(telling) {
        found.retain(telling);
    }
    found
}

/// Words, with two neighbouring single Chinese characters that say something as one: the dictionary lacks 年假. A unit
/// behind a number stays alone.
fn joined<'t>(text: &'t str, words: Vec<Word<'t>>) -> Vec<Word<'t>> {
    let is_single = |word: &Word<'_>| word.is_han() && word.text.chars().nth(1).is_none() && !is_stop(word.text);
    let mut joined: Vec<Word<'t>> = Vec::new();
    let mut counts = false;
    for word in words {
        match joined.last_mut() {
            Some(last) if is_single(last) && is_single(&word) && last.end == word.start && !counts => {
                last.end = word.end;
                last.text = text.get(last.start..last.end).unwrap_or(last.text);
            }
            last => {
                counts = last.is_some_and(|last| last.text.ends_with(|c: char| c.is_ascii_digit()));
                joined.push(word);
            }
        }
    }
    joined
}

fn names_duration(word: &Content) -> bool {
    matches!(word.text.as_str(), "length" | "duration" | "period" | "时长" | "期限" | "周期" | "频率")
}

/// Byte ranges inside quotation marks and title marks.
fn quoted(text: &str) -> Vec<std::ops::Range<usize>> {
    let mut ranges = Vec::new();
    for (open, close) in [('"', '"'), ('“', '”'), ('《', '》'), ('「', '」'), ('『', '』')] {
        let mut from = 0;
        while let Some(start) = text.get(from..).and_then(|rest| rest.find(open)).map(|at| from + at + open.len_utf8())
        {
            let Some(end) = text.get(start..).and_then(|rest| rest.find(close)).map(|at| start + at) else { break };
            ranges.push(start..end);
            from = end + close.len_utf8();
        }
    }
    ranges
}

fn begins_sentence(text: &str, at: usize) -> bool {
    let before = text.get(..at).unwrap_or_default().trim_end();
    before.chars().next_back().is_none_or(|c| matches!(c, '.' | '?' | '!' | '。' | '？' | '！' | ':' | '\n'))
}

static COMPARE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    pattern(
        r"\b(compar\w*|difference|differences|differ|differs|versus|vs|better|worse|than|distinguish)\b|\bwhich\b.*\b(heavi|light|loud|quiet|cheap|long|short|bigg|larg|small|fast|slow|high|low|strong|weak|tall|wid|deep|new|old)e?r\b|\bwhich\b.*\bmore (expensive|powerful)\b|哪.{0,6}更|相比|比较|对比|区别|不同|差异|差别|哪个更|孰",
    )
});
static ALL: LazyLock<Option<Regex>> = LazyLock::new(|| {
    pattern(
        r"\b(all|both|each|every|respective|respectively|whichever|regardless)\b|\b(the|these|those) (two|three|four|five)\b|[这那][两三几](款|个|台|种|位|份|本)|\bin general\b|\bany of\b|\beither of\b|所有|全部|各自|各个|各种|各款|每种|每个|每款|分别|两者|两个都|都要|一般来说|无论|不论",
    )
});

/// Asks which of many, or for all in short.
static WHOLE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    pattern(
        r"^\W*which \w+( \w+)? (has|have|is|are|can|needs?|offers?|supports?|includes?|costs?|takes?)\b|\b(the|at) (most|least|highest|lowest|largest|smallest|biggest|longest|shortest|cheapest|heaviest|lightest|fastest|slowest|loudest|quietest|most expensive)\b|\b(summari[sz]e|summary|overview|outline)\b|最(多|少|高|低|大|小|长|短|贵|便宜|重|轻|快|慢)|总结|概述|概括|简述|摘要|哪(些|几|个|间|种|款|台|张).{1,8}(有|是|可以|支持|最)",
    )
});

fn breadth(folded: &str) -> Breadth {
    if matches(&COMPARE, folded) {
        Breadth::Compare
    } else if matches(&ALL, folded) {
        Breadth::All
    } else {
        Breadth::One
    }
}

static OPENS_FOLLOW_UP: LazyLock<Option<Regex>> = LazyLock::new(|| {
    pattern(
        r"^\s*((and|but|so|or|also|then)\b|(what|how) about\b|(那么|那|还有|以及|另外|此外|然后|它|这|该|其))|呢\s*[?？]?\s*$",
    )
});
static PRONOUN: LazyLock<Option<Regex>> = LazyLock::new(|| {
    pattern(
        r"\b(it|its|they|them|their|theirs|these|those|this|that|he|she|him|her|his|ones?|there|same|former|latter|above|such)\b|它们?|他们?|她们?|这些?|那些|该|此|其中|上述|前者|后者",
    )
});

static OF_IT: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r"\b(its|their|his|her)\b|[它他她其]们?的"));

fn is_follow_up(folded: &str, content: &[Content]) -> bool {
    if matches(&OPENS_FOLLOW_UP, folded) {
        return true;
    }
    let named = content.iter().any(|word| word.is_name || word.is_code);
    if !named && matches(&PRONOUN, folded) {
        return true;
    }
    // "The battery?": a fragment that asks for nothing by itself; "How long is the warranty?" does.
    let is_asking = || MACHINERY.as_ref().is_some_and(|machinery| machinery.is_match(folded));
    let is_number = |word: &Content| word.text.bytes().all(|byte| byte.is_ascii_digit());
    content.iter().all(is_number) || (content.len() == 1 && !named && !is_asking())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pattern_compiles() {
        for pattern in [
            &NAMED_CODE,
            &MADE_OF,
            &BATTERY_LIFE,
            &MACHINERY,
            &COMPARE,
            &ALL,
            &WHOLE,
            &OF_IT,
            &OPENS_FOLLOW_UP,
            &PRONOUN,
        ] {
            assert!(pattern.is_some());
        }
    }

    fn content_of(text: &str) -> Vec<String> {
        Question::read(text).content.into_iter().map(|word| word.text).collect()
    }

    #[test]
    fn the_machinery_of_asking_carries_nothing() {
        assert_eq!(content_of("How long is the warranty?"), ["warranty"]);
        assert_eq!(content_of("How much does the Aurora X1 weigh?"), ["aurora", "x1", "weigh"]);
        assert_eq!(content_of("How early are visitors registered?"), ["visitors", "registered"]);
        assert_eq!(content_of("How strong is the suction?"), ["suction"]);
        assert_eq!(content_of("How long does the battery last?"), ["battery", "runtime"]);
        assert_eq!(content_of("How long does the pass last?"), ["pass"]);
        assert_eq!(content_of("What is the handle made of?"), ["handle", "material"]);
        assert_eq!(content_of("保修期是多久？"), ["保修期"]);
        assert_eq!(content_of("每年可以休几天年假？"), ["每年", "年假"]);
        assert_eq!(content_of("请问晨星A5的滤芯多少钱？").first().map(String::as_str), Some("晨星"));
    }

    #[test]
    fn names_and_codes() {
        let question = Question::read("Does the Borealis have error E05?");
        let names: Vec<&str> =
            question.content.iter().filter(|word| word.is_name).map(|word| word.text.as_str()).collect();
        let codes: Vec<&str> =
            question.content.iter().filter(|word| word.is_code).map(|word| word.text.as_str()).collect();
        assert_eq!((names, codes), (vec!["borealis", "e05"], vec!["e05"]));
        assert!(!Question::read("Warranty period?").has_name());
    }

    #[test]
    fn breadth_of_a_question() {
        assert_eq!(Question::read("Compare the warranties").breadth, Breadth::Compare);
        assert_eq!(Question::read("两款产品的保修期分别是多久？").breadth, Breadth::All);
        assert_eq!(Question::read("How long is each warranty?").breadth, Breadth::All);
        assert_eq!(Question::read("How long is the warranty?").breadth, Breadth::One);
    }

    #[test]
    fn follow_ups() {
        for text in [
            "And the battery?",
            "What about the battery?",
            "From 2018 to 2019.",
            "电池呢？",
            "那滤芯多久换一次？",
            "How much does it weigh?",
        ] {
            assert!(Question::read(text).is_follow_up, "{text}");
        }
        for text in
            ["How long is the Aurora warranty?", "保修期和退货期限是多久？", "How does the Aurora X1 find its way?"]
        {
            assert!(!Question::read(text).is_follow_up, "{text}");
        }
    }

    #[test]
    fn what_is_asked_of_it_is_another_matter_of_the_same_thing() {
        for (before, text, own) in [
            ("What does the Aurora X1 weigh?", "What about its warranty?", "warranty"),
            ("晨星A5有多重？", "它的保修期呢？", "保修期"),
        ] {
            let question = Question::read(text).following(&Question::read(before));
            let words: Vec<&str> = question.content.iter().map(|word| word.text.as_str()).collect();
            assert_eq!((question.wants, words[0]), (Wants::Other, own), "{text}");
            assert!(question.has_name() && question.dimension.is_none(), "{words:?}");
        }
    }

    #[test]
    fn a_follow_up_takes_over_what_it_leaves_out() {
        let previous = Question::read("How long is the Aurora warranty?");
        let question = Question::read("And the battery?").following(&previous);
        let words: Vec<(&str, bool)> =
            question.content.iter().map(|word| (word.text.as_str(), word.is_borrowed)).collect();
        assert_eq!(
            (question.wants, words),
            (Wants::Duration, vec![("battery", false), ("aurora", true), ("warranty", true)])
        );
    }
}

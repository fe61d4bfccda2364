//! What an adjective asks for: "how loud" asks for a noise and is answered in decibels, "多重" for a weight.

use std::{collections::HashSet, sync::LazyLock};

use regex::Regex;

/// A dimension of things.
#[derive(Debug, PartialEq, Eq)]
pub struct Dimension {
    /// What names it in English and in Chinese: the noun first, folded.
    words: [&'static [&'static str]; 2],
    /// What asks for it, folded.
    asks: &'static str,
    /// Units that measure it, as quantities spell them.
    pub units: &'static [&'static str],
}

impl Dimension {
    /// Its names in both languages.
    pub fn words(&self) -> impl Iterator<Item = &'static str> {
        self.words.into_iter().flatten().copied()
    }

    /// The most usual of them: more would drown the question.
    pub fn search_words(&self) -> impl Iterator<Item = &'static str> {
        self.words.into_iter().flat_map(|words| words.iter().take(2)).copied()
    }

    /// Its noun, in Chinese or English.
    #[must_use]
    pub fn noun(&self, is_chinese: bool) -> &'static str {
        self.words[usize::from(is_chinese)].first().copied().unwrap_or_default()
    }
}

static ALL: [Dimension; 7] = [
    Dimension {
        words: [
            &["noise", "loudness", "loud", "louder", "noisy", "quiet", "quieter", "decibel"],
            &["噪音", "噪声", "音量", "分贝"],
        ],
        asks: r"\bhow (loud|noisy|quiet)\b|\bwhich\b.*\b(louder|quieter|noisier|loudest|quietest)\b|更(安静|吵|响)|最(安静|吵|响)|多(大声|响|吵|安静)|(噪音|噪声)(有)?多大",
        units: &["db"],
    },
    Dimension {
        words: [&["weight", "weigh", "heavy", "heavier", "lighter", "mass"], &["重量", "净重", "毛重", "体重"]],
        asks: r"\bhow (heavy|light)\b|\bwhich\b.*\b(heavier|lighter|heaviest|lightest)\b|[更最](重|轻|沉)|\b(how much|what) (do|does|did)\b.*\bweigh\b|多(重|沉)",
        units: &["g"],
    },
    Dimension {
        words: [&["width", "wide"], &["宽度", "宽"]],
        asks: r"\bhow (wide|broad)\b|多宽",
        units: &["m", "inch"],
    },
    Dimension { words: [&["depth", "deep"], &["深度", "深"]], asks: r"\bhow deep\b|多深", units: &["m", "inch"] },
    Dimension {
        words: [&["height", "high", "tall"], &["高度", "高"]],
        asks: r"\bhow tall\b|多高",
        units: &["m", "inch"],
    },
    Dimension {
        words: [&["temperature", "hot", "warm", "cold"], &["温度", "水温"]],
        asks: r"\bhow (hot|warm|cold)\b|多(热|烫|冷)",
        units: &["°c", "°f", "°"],
    },
    Dimension {
        words: [&["runtime", "runs", "lasts", "holds"], &["续航", "续航时间", "运行时间", "使用时间"]],
        asks: r"\bbattery life\b|\bhow long\b.*\b(run|last|work|operate)s?\b.*\b(on|per|with|from) ((one|a|each|the|full|single) ){0,2}(charge|battery)\b|\bhow long (does|do|will|can) (the|its|a) battery (last|hold|run)|续航|充(一次|满).*(用|跑|工作)",
        units: &["s"],
    },
];

static ASKS: LazyLock<Vec<Option<Regex>>> =
    LazyLock::new(|| ALL.iter().map(|dimension| Regex::new(dimension.asks).ok()).collect());

/// The dimension that a folded question asks for by an adjective or a verb.
#[must_use]
pub fn asked(folded: &str) -> Option<&'static Dimension> {
    let asks = |pattern: &Option<Regex>| pattern.as_ref().is_some_and(|pattern| pattern.is_match(folded));
    ASKS.iter().zip(&ALL).find(|(pattern, _)| asks(pattern)).map(|(_, dimension)| dimension)
}

/// The dimension whose noun a folded word is.
#[must_use]
pub fn named(word: &str) -> Option<&'static Dimension> {
    ALL.iter().find(|dimension| [false, true].into_iter().any(|zh| dimension.noun(zh) == word))
}

/// The dimension that a folded word is a noun, an adjective or a verb of.
#[must_use]
pub fn of(word: &str) -> Option<&'static Dimension> {
    ALL.iter().find(|dimension| dimension.words().any(|known| known == word))
}

/// Whether `words` hold another name of the dimension that `word` names, or a form of it ("weighs").
#[must_use]
pub fn named_in(word: &str, words: &HashSet<String>) -> bool {
    let Some(dimension) = of(word) else { return false };
    dimension.words().any(|known| words.contains(known) || known.is_ascii() && words.contains(&format!("{known}s")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn adjectives_ask_for_their_dimension() {
        let noun = |text: &str| asked(text).map(|dimension| dimension.noun(false));
        assert!(ASKS.iter().all(Option::is_some));
        for (text, expected) in [
            ("how loud is the mower?", Some("noise")),
            ("割草机噪音多大？", Some("noise")),
            ("how heavy is it", Some("weight")),
            ("how much does the mower weigh?", Some("weight")),
            ("这台机器多重？", Some("weight")),
            ("how wide is the blade", Some("width")),
            ("how high is the fee?", None),
            ("how long is the warranty?", None),
            ("how long does the warranty of the battery last?", None),
            ("how long does the warranty last for the battery?", None),
            ("what is the battery life?", Some("runtime")),
            ("how long does it run on one charge?", Some("runtime")),
            ("充满一次能用多久？", Some("runtime")),
        ] {
            assert_eq!(noun(text), expected, "{text}");
        }
    }
}

//! A thing that a question points at without naming it: "this library", "the clinic", "该产品". Where nothing was spoken of
//! before, only the asker knows which one is meant.

use std::{ops::Range, sync::LazyLock};

use regex::Regex;

use super::{
    fold,
    words::{is_stop, words},
};

/// A thing pointed at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pointed {
    /// Its noun with what stands before it, folded: "state library".
    pub noun: String,
    /// How.
    pub by: Pointer,
}

/// The word that points.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pointer {
    /// "this", "该": something near.
    This,
    /// "the": something known.
    The,
}

impl Pointed {
    /// The noun itself: "library" of "state library".
    #[must_use]
    pub fn head(&self) -> &str {
        self.noun.rsplit(' ').next().unwrap_or(&self.noun)
    }
}

/// The first thing that `text` points at.
pub(super) fn pointed(text: &str) -> Option<Pointed> {
    chinese(text).or_else(|| english(text))
}

/// Nouns that point at a time or at the conversation, not at a thing of the documents.
const NO_THINGS: &str = " year month week day time case way question issue problem term word context process method one ones \
    kind type sort amount number thing morning document before information point moment table period chart text article \
    passage paragraph page area regard respect ";

/// Verbs that only help: a subject follows them in a question.
const HELPS: &str = " is are was were do does did can could will would should may has have had ";

/// Nouns of things that carry names of their own, so that "the clinic" alone says which one only to whoever spoke of it.
const NAMED_THINGS: &str = " county city town village state country province region district library clinic hospital court \
    department office agency company organization organisation institution school university college museum park stadium \
    arena airport hotel restaurant store chain church temple bridge tower river lake mountain island hurricane storm \
    earthquake battle election team club league player actor actress singer author writer artist director president \
    minister mayor governor king queen emperor character hero book novel film movie series show episode season song album \
    band sitcom play painting poem magazine newspaper animal bird fish plant species breed language religion tribe product \
    model device phone car vehicle machine appliance app application bond stock fund treaty drug medicine vaccine disease \
    virus agreement tournament championship ";

/// Words that end a noun phrase: what stands before one of them is whole.
const ENDS: &str = " is are was were be been do does did has have had can could will would should may might must of in on at \
    for to from with and or by that which who whose where when as than about into before after during through under over \
    between without provide provides provided offer offers offered publish publishes allow allows support supports use \
    uses used make makes made take takes took play played give gives gave get gets got work works start starts end ends \
    run runs cost costs need needs require requires still now today also ever first last located born based called named \
    evolve evolved establish established ";

fn is_of(list: &str, word: &str) -> bool {
    list.split_ascii_whitespace().any(|known| known == word)
}

/// Words after which a phrase goes on to say which one is meant.
const TELLS_MORE: &str = " of that which who whose where called named for from on with ";

fn is_capital(word: &Word<'_>) -> bool {
    word.text.starts_with(char::is_uppercase)
}

fn is_named_thing(word: &str) -> bool {
    is_of(NAMED_THINGS, word) || word.strip_suffix('s').is_some_and(|one| is_of(NAMED_THINGS, one))
}

/// A Latin word with its place.
struct Word<'t> {
    text: &'t str,
    folded: String,
    /// Something other than white space, or an owner's 's, stands before it.
    is_apart: bool,
    /// A sentence ends behind it.
    ends_sentence: bool,
}

fn latin(text: &str) -> Vec<Word<'_>> {
    let mut words = Vec::new();
    let mut is_apart = true;
    for piece in text.split_whitespace() {
        let inner = piece.trim_matches(|c: char| !c.is_alphanumeric());
        if inner.is_empty() {
            is_apart = true;
            continue;
        }
        let opens = !piece.starts_with(char::is_alphanumeric);
        let closes = !piece.ends_with(char::is_alphanumeric);
        let owner = inner.strip_suffix("'s").or_else(|| inner.strip_suffix("’s"));
        let bare = owner.unwrap_or(inner);
        let ends_sentence = piece.ends_with(['.', '?', '!', ':']);
        words.push(Word { text: bare, folded: fold(bare), is_apart: is_apart || opens, ends_sentence });
        is_apart = closes || owner.is_some();
    }
    words
}

fn english(text: &str) -> Option<Pointed> {
    let words = latin(text);
    let capitals_tell = words.iter().any(|word| word.text.starts_with(char::is_uppercase));
    for (at, word) in words.iter().enumerate() {
        let by = match word.folded.as_str() {
            "this" => Pointer::This,
            "the" => Pointer::The,
            _ => continue,
        };
        let phrase: Vec<&Word<'_>> = words[at + 1..]
            .iter()
            .take_while(|word| {
                !word.is_apart && word.text.chars().all(|c| c.is_alphabetic() || c == '-') && !is_of(ENDS, &word.folded)
            })
            .take(5)
            .collect();
        let noun = match by {
            Pointer::This => near(&phrase, at.checked_sub(1).is_some_and(|before| is_of(HELPS, &words[before].folded))),
            Pointer::The => {
                let next = words.get(at + 1 + phrase.len()).filter(|next| !next.is_apart);
                known(&phrase, capitals_tell, next)
            }
        };
        if let Some(noun) = noun.filter(|noun| !names_another(&words, at + 1..at + 1 + noun.len())) {
            return Some(Pointed { noun: spelled(noun), by });
        }
    }
    None
}

fn spelled(phrase: &[&Word<'_>]) -> String {
    phrase.iter().map(|word| word.folded.as_str()).collect::<Vec<_>>().join(" ")
}

/// "this state library": the phrase up to its last noun of a named thing, else the whole of it. After a verb that only
/// helps, the last word is what is said of it ("is this robot quiet").
fn near<'p, 't>(phrase: &'p [&'p Word<'t>], is_helped: bool) -> Option<&'p [&'p Word<'t>]> {
    let whole = phrase.len().checked_sub(usize::from(is_helped))?;
    let end = phrase.iter().rposition(|word| is_named_thing(&word.folded)).map_or(whole, |last| last + 1);
    let phrase = phrase.get(..end)?;
    let names_time = phrase.iter().any(|word| is_of(NO_THINGS, &word.folded));
    ((1..=3).contains(&phrase.len()) && !names_time).then_some(phrase)
}

/// "the clinic", "the Prime Minister": a named thing's noun that nothing tells more of.
fn known<'p, 't>(
    phrase: &'p [&'p Word<'t>],
    capitals_tell: bool,
    next: Option<&Word<'_>>,
) -> Option<&'p [&'p Word<'t>]> {
    let head = phrase.iter().rposition(|word| is_named_thing(&word.folded))?;
    let noun = &phrase[..=head];
    let is_title = is_capital(phrase[head]);
    // "the film Psycho", "the fire triangle": what follows names it or is the thing itself. A verb may follow.
    let follows = &phrase[head + 1..];
    if follows.len() > 1 || follows.iter().any(|word| !word.folded.ends_with("ed")) {
        return None;
    }
    // Without capitals "the delaware river" looks like "the small river", and a name may follow anywhere.
    let is_named = !is_title && noun.iter().any(|word| is_capital(word));
    if noun.len() > 3 || !capitals_tell || is_named {
        return None;
    }
    // "the city of …", "the company that …" goes on to say which one.
    (!next.is_some_and(|next| is_of(TELLS_MORE, &next.folded))).then_some(noun)
}

/// Whether the question names something beside the words of `noun`: that settles which one is meant, unless it is a
/// place where it may be.
fn names_another(words: &[Word<'_>], noun: Range<usize>) -> bool {
    let mut in_place = false;
    let mut begins = true;
    for (at, word) in words.iter().enumerate() {
        let is_name = is_capital(word) && !begins && word.text != "I" && !noun.contains(&at);
        if is_name && !in_place {
            return true;
        }
        in_place = matches!(word.folded.as_str(), "in" | "of" | "at" | "across" | "from")
            || in_place && (is_name || word.folded == "the");
        begins = word.ends_sentence;
    }
    false
}

static CHINESE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r"(?:该|此|这(?:个|款|种|家|本|台|份|项|部|座|位)?|那(?:个|款|种|家|本|台|份|项|部|座|位))(\p{Han}{2,6}?)(?:的|是|有|在|能|可|会|支持|$|[^\p{Han}])",
    )
    .ok()
});

/// The same of Chinese, that is no thing.
const NO_THINGS_ZH: [&str; 5] = ["样", "里", "时候", "问题", "情况"];

fn chinese(text: &str) -> Option<Pointed> {
    let folded = fold(text);
    let captures = CHINESE.as_ref()?.captures(&folded)?;
    // "落山风这个名字": what stands before it is what it points at.
    let before = captures.get(0).and_then(|all| folded.get(..all.start()))?;
    let is_courtesy = words(before).iter().all(|word| is_stop(word.text));
    let noun = captures.get(1)?.as_str();
    (is_courtesy && !NO_THINGS_ZH.contains(&noun)).then(|| Pointed { noun: noun.to_owned(), by: Pointer::This })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noun(text: &str) -> Option<String> {
        pointed(text).map(|pointed| pointed.noun)
    }

    #[test]
    fn this_and_that() {
        let cases = [
            ("What services does this library provide?", Some("library")),
            ("What are the services offered by this state library?", Some("state library")),
            ("How wealthy is this county of California?", Some("county")),
            ("该产品的保修期多久？", Some("产品")),
            ("请问这家医院在哪里？", Some("医院")),
            ("落山风这个名字有什么来由？", None),
            ("那滤芯呢？", None),
            ("那款滤芯的价格是多少？", Some("滤芯")),
            ("Is this robot quiet?", Some("robot")),
            ("Is this different from the other one?", None),
            ("Does this mean that it is safe?", None),
            ("What changed this year?", None),
            ("How long is the warranty?", None),
        ];
        for (text, expected) in cases {
            assert_eq!(noun(text).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn things_that_have_names_of_their_own() {
        let cases = [
            ("What services does the clinic provide?", Some("clinic")),
            ("What did the Prime Minister do in the war?", Some("prime minister")),
            ("When was the famous football player born?", Some("famous football player")),
            ("How many people live in the city?", Some("city")),
            ("May dogs enter the museum's garden in France?", Some("museum")),
            ("Who directed the film Psycho?", None),
            ("Who is the mayor of the city of Ghent?", None),
            ("where does the delaware river start", None),
            ("where is the show last tango in halifax filmed", None),
            ("What does the company that bought it pay?", None),
            ("Did Tolstoy like the novel?", None),
            ("How long is the warranty of the robot?", None),
        ];
        for (text, expected) in cases {
            assert_eq!(noun(text).as_deref(), expected, "{text}");
        }
    }
}

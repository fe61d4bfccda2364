//! Models that think aloud inside their answer: `<think>…</think>` before the first word of it is reasoning.

use crate::domain::model::ModelEvent;

const OPEN: &str = "<think>";
const CLOSE: &str = "</think>";

/// Tells thoughts from the answer, whatever the pieces. Holds back less than a tag, and white space that may stand
/// before one. From the first word of the answer on a tag is text.
#[derive(Debug, Default)]
pub(super) struct Thoughts {
    place: Place,
    /// What may still become a tag.
    held: String,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Nothing was said yet.
    #[default]
    Start,
    /// As `Start`, behind thoughts: the white space that parts them from the answer is not the answer's.
    Behind,
    Inside,
    Answer,
}

impl Thoughts {
    /// Takes the next piece of a model's text; what is known of it goes to `out`.
    pub(super) fn push(&mut self, piece: &str, mut out: impl FnMut(ModelEvent)) {
        if self.place == Place::Answer {
            return out(ModelEvent::Text(piece.to_owned()));
        }
        self.held.push_str(piece);
        loop {
            match self.place {
                Place::Start | Place::Behind => {
                    let begun = self.held.trim_start();
                    if let Some(thoughts) = begun.strip_prefix(OPEN) {
                        self.held = thoughts.to_owned();
                        self.place = Place::Inside;
                    } else if OPEN.starts_with(begun) {
                        return self.bound(out);
                    } else {
                        if self.place == Place::Behind {
                            self.held = begun.to_owned();
                        }
                        self.place = Place::Answer;
                    }
                }
                Place::Inside => match self.held.split_once(CLOSE) {
                    Some((thoughts, rest)) => {
                        if !thoughts.is_empty() {
                            out(ModelEvent::Reasoning(thoughts.to_owned()));
                        }
                        self.held = rest.to_owned();
                        self.place = Place::Behind;
                    }
                    None => {
                        let sure = self.held.len() - unsure(&self.held);
                        let held = self.held.split_off(sure);
                        let thoughts = std::mem::replace(&mut self.held, held);
                        if !thoughts.is_empty() {
                            out(ModelEvent::Reasoning(thoughts));
                        }
                        return;
                    }
                },
                Place::Answer => return self.finish(out),
            }
        }
    }

    /// The text is over: what was held back is what it looks like.
    pub(super) fn finish(&mut self, mut out: impl FnMut(ModelEvent)) {
        let held = std::mem::take(&mut self.held);
        match self.place {
            _ if held.is_empty() => {}
            Place::Inside => out(ModelEvent::Reasoning(held)),
            Place::Behind if held.trim().is_empty() => {}
            Place::Start | Place::Behind | Place::Answer => out(ModelEvent::Text(held)),
        }
    }

    /// White space before the first word is no reason to hold back more and more.
    fn bound(&mut self, mut out: impl FnMut(ModelEvent)) {
        const MOST: usize = 256;
        let blank = self.held.len() - self.held.trim_start().len();
        if blank <= MOST {
            return;
        }
        let begun = self.held.split_off(blank);
        let blank = std::mem::replace(&mut self.held, begun);
        if self.place == Place::Start {
            out(ModelEvent::Text(blank));
        }
    }
}

/// How many bytes at the end of `text` may be the beginning of the closing tag.
fn unsure(text: &str) -> usize {
    (1..CLOSE.len()).rev().find(|&length| text.ends_with(&CLOSE[..length])).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Reasoning and text of a stream.
    fn read<'a>(pieces: impl IntoIterator<Item = &'a str>) -> (String, String) {
        let (mut reasoning, mut text) = (String::new(), String::new());
        let mut thoughts = Thoughts::default();
        let mut out = |event| match event {
            ModelEvent::Reasoning(piece) => reasoning.push_str(&piece),
            ModelEvent::Text(piece) => text.push_str(&piece),
            other => panic!("{other:?}"),
        };
        for piece in pieces {
            thoughts.push(piece, &mut out);
        }
        thoughts.finish(&mut out);
        (reasoning, text)
    }

    #[test]
    fn thoughts_before_the_answer_are_reasoning_however_they_are_cut() {
        for (said, reasoning, text) in [
            ("<think>hm [1]</think>\n\nTwo years [1].", "hm [1]", "Two years [1]."),
            (" \n<think>\n想一想\n</think>两年。", "\n想一想\n", "两年。"),
            ("<think>a</think> <think>b</think>c", "ab", "c"),
            ("<think></think>yes", "", "yes"),
            ("<think>never closed </thin", "never closed </thin", ""),
            ("<think>a < b </ think></think>c", "a < b </ think>", "c"),
            ("<think>only</think>\n", "only", ""),
            ("Use <think> in HTML</think>.", "", "Use <think> in HTML</think>."),
            ("  indented", "", "  indented"),
            ("<thin", "", "<thin"),
            ("<thinker>", "", "<thinker>"),
            ("", "", ""),
        ] {
            let expected = (reasoning.to_owned(), text.to_owned());
            assert_eq!(read([said]), expected, "{said}");
            for cut in (0..=said.len()).filter(|cut| said.is_char_boundary(*cut)) {
                assert_eq!(read([&said[..cut], &said[cut..]]), expected, "{said} cut at {cut}");
            }
            assert_eq!(read(said.split_inclusive(|_| true)), expected, "{said} in characters");
        }
    }

    #[test]
    fn an_answer_streams_at_once_and_white_space_is_not_gathered() {
        let mut thoughts = Thoughts::default();
        let mut events = Vec::new();
        thoughts.push("Two", |event| events.push(event));
        thoughts.push(" <", |event| events.push(event));
        assert_eq!(events, [ModelEvent::Text("Two".into()), ModelEvent::Text(" <".into())]);
        let mut thoughts = Thoughts::default();
        for _ in 0..10_000 {
            thoughts.push(" ", drop);
        }
        assert!(thoughts.held.len() < 1_000);
    }

    proptest! {
        #[test]
        fn nothing_is_lost_and_no_cut_matters(
            said in "( |\n|<|/|<think>|</think>|think|a|中){0,12}",
            cuts in proptest::collection::vec(0_usize..80, 0..5),
        ) {
            let whole = read([said.as_str()]);
            let mut bounds: Vec<usize> = cuts.into_iter().map(|cut| cut.min(said.len())).collect();
            bounds.retain(|cut| said.is_char_boundary(*cut));
            bounds.extend([0, said.len()]);
            bounds.sort_unstable();
            let pieces = bounds.windows(2).map(|pair| &said[pair[0]..pair[1]]);
            prop_assert_eq!(&read(pieces), &whole);
            if !said.trim_start().starts_with(OPEN) {
                prop_assert_eq!(whole, (String::new(), said));
            }
        }
    }
}

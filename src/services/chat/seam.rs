//! The seam between an answer that was cut off and what a model writes on: models like to say the last words again, or
//! all of it.

/// Most characters of the end that are looked for at the beginning of the new text.
const REACH: usize = 400;

/// Takes what repeats the earlier answer off the beginning of the new text.
///
/// It holds text back only as long as all of it repeats: the whole answer from its beginning, or its last words.
#[derive(Debug, Clone)]
pub(super) struct Seam {
    earlier: String,
    /// Where its last `REACH` characters begin.
    tail: usize,
    held: String,
    is_past: bool,
}

impl Seam {
    pub(super) fn behind(earlier: &str) -> Self {
        let tail = earlier.char_indices().rev().nth(REACH - 1).map_or(0, |(at, _)| at);
        Self { earlier: earlier.to_owned(), tail, held: String::new(), is_past: false }
    }

    /// Takes the next piece; gives what is new of the text so far.
    pub(super) fn push(&mut self, piece: &str) -> String {
        if self.is_past {
            return piece.to_owned();
        }
        self.held.push_str(piece);
        if self.may_repeat() { String::new() } else { self.finish() }
    }

    /// What was held back and is new; nothing is held back from here on.
    pub(super) fn finish(&mut self) -> String {
        self.is_past = true;
        let held = std::mem::take(&mut self.held);
        let new = &held[self.repeated(&held)..];
        self.joined(new)
    }

    /// Whether more text could make a repetition of all that is held.
    fn may_repeat(&self) -> bool {
        let held = self.held.trim_start();
        // Spaces alone say nothing yet.
        held.is_empty() || self.earlier.trim_start().starts_with(held) || self.ends().any(|end| end.starts_with(held))
    }

    /// Bytes of `text` that say again what was said.
    fn repeated(&self, text: &str) -> usize {
        let spaces = text.len() - text.trim_start().len();
        let body = &text[spaces..];
        // Behind a space begins a new word, which may only look like the last one; without a space a word that was cut
        // off is begun again.
        let is_new_word = spaces > 0 || self.earlier.ends_with(char::is_whitespace);
        let again = |end: &&str| {
            let Some(rest) = body.strip_prefix(end) else { return false };
            let goes_on =
                rest.chars().next().is_some_and(|c| !begins_word(end.chars().next_back(), c) && !c.is_whitespace());
            is_more_than_chance(end) && !(is_new_word && goes_on)
        };
        // All of it is the longest end; the others come longest first.
        let ends = std::iter::once(self.earlier.trim_start()).chain(self.ends());
        ends.map(str::trim_end).find(again).map_or(0, |end| spaces + end.len())
    }

    /// The ends of the earlier answer that begin with a word, longest first.
    fn ends(&self) -> impl Iterator<Item = &str> {
        let tail = &self.earlier[self.tail..];
        let mut before = self.earlier[..self.tail].chars().next_back();
        tail.char_indices().filter_map(move |(at, c)| {
            let begins = begins_word(before, c);
            before = Some(c);
            begins.then(|| &tail[at..])
        })
    }

    /// The new text behind the earlier one: a space between them stands once.
    fn joined(&self, new: &str) -> String {
        if self.earlier.ends_with(char::is_whitespace) {
            new.trim_start_matches(' ').to_owned()
        } else {
            new.to_owned()
        }
    }
}

/// Whether a word begins with `c` behind `before`. Chinese has a word at every character.
fn begins_word(before: Option<char>, c: char) -> bool {
    if c.is_whitespace() {
        return false;
    }
    let in_word = |c: char| c.is_ascii_alphanumeric() || (c.is_alphabetic() && !crate::text::words::is_han(c));
    !(in_word(c) && before.is_some_and(in_word))
}

/// Numbers, signs and single letters can follow themselves: "100 + 100 + 100". It takes a word of more than one character.
fn is_more_than_chance(end: &str) -> bool {
    let mut words = end.split(|c: char| !c.is_alphanumeric());
    words.any(|word| word.chars().nth(1).is_some() && word.contains(char::is_alphabetic))
}

#[cfg(test)]
mod tests {
    use super::Seam;

    /// The new text, however it is cut.
    fn after(earlier: &str, new: &str) -> String {
        let whole = {
            let mut seam = Seam::behind(earlier);
            seam.push(new) + &seam.finish()
        };
        let mut seam = Seam::behind(earlier);
        let mut joined: String = new.chars().map(|c| seam.push(&c.to_string())).collect();
        joined.push_str(&seam.finish());
        assert_eq!(joined, whole, "{earlier:?} + {new:?}");
        whole
    }

    #[test]
    fn last_words_are_not_said_twice() {
        assert_eq!(after("The warranty of the Aurora X1", " is 24 months."), " is 24 months.");
        assert_eq!(after("The warranty of the Aurora X1", "of the Aurora X1 is 24 months."), " is 24 months.");
        assert_eq!(after("The warranty of the ", "the Aurora X1"), "Aurora X1");
        assert_eq!(after("The warranty of the ", " Aurora X1"), "Aurora X1");
        assert_eq!(after("自购买之日起保修", "保修 24 个月。"), " 24 个月。");
        assert_eq!(after("tok1 tok2 tok3 ", "tok3 tok4"), "tok4");
    }

    #[test]
    fn an_answer_that_is_begun_anew_goes_on_where_it_stopped() {
        assert_eq!(after("Two years [1]. Keep", "Two years [1]. Keep the receipt [2]."), " the receipt [2].");
        assert_eq!(after("保修期为两年。请", "保修期为两年。请保留发票。"), "保留发票。");
        assert_eq!(after("Two years [1].", "Two years [1]."), "");
    }

    #[test]
    fn what_only_looks_alike_stays() {
        assert_eq!(after("It is a", "nother one."), "nother one.");
        assert_eq!(after("It is an", "another one."), "other one.");
        assert_eq!(after("the way of the", " theory of"), " theory of");
        assert_eq!(after("the way of the ", "theory of"), "theory of");
        assert_eq!(after("天", "天气很好"), "天气很好");
        assert_eq!(after("", "Hello"), "Hello");
        assert_eq!(after("Well.", "We ship in two days."), "We ship in two days.");
        assert_eq!(after("abc", "  "), "  ");
    }

    #[test]
    fn numbers_and_letters_that_follow_themselves_stay() {
        for (earlier, new) in [
            ("It weighs 0.5", "5 kg"),
            ("0.5", "5 kg"),
            ("100 + 100", " + 100 = 300"),
            ("2 x 2", " x 2 = 8"),
            ("The code is 1 2 1 2", " 1 2 3"),
            ("Call 555", "555 1234"),
            ("1", " 10 euros"),
            ("型号 12", "12 号"),
            ("A", " A is the first letter"),
        ] {
            assert_eq!(after(earlier, new), new, "{earlier:?}");
        }
        assert_eq!(after("Take the X1", "X1 with you"), " with you");
        assert_eq!(after("质保2年", "2年内免费"), "内免费");
    }

    #[test]
    fn an_answer_of_one_word_is_not_begun_anew_by_a_longer_one() {
        for (earlier, new) in [
            ("Yes", " Yesterday it rained."),
            ("In", " India the warranty"),
            ("A", " Aurora X1 weighs"),
            ("Yes ", "Yesterday it rained."),
        ] {
            assert_eq!(after(earlier, new), new, "{earlier:?}");
        }
        assert_eq!(after("Yes", " Yes, two years."), ", two years.");
        assert_eq!(after("Yes", "\n\nYes"), "");
        assert_eq!(after("The warr", "The warranty ends."), "anty ends.");
    }
}

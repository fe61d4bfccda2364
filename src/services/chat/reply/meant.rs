//! What an earlier reply meant: turns after it lean on the thing that was chosen, not on "2".

use std::borrow::Cow;

use super::{Verdict, understand};
use crate::domain::{
    evidence::Route,
    hitl::{Choice, Facet, OptionFilter, Question, Record},
};

/// The words that `reply` stands for behind askback's stored question `asked`: the labels that it chose, else its own.
pub(in crate::services::chat) fn meant<'r>(reply: &'r str, asked: &str) -> Cow<'r, str> {
    let Some(record) = read(asked) else { return reply.into() };
    match understand(reply, &record, None).verdict {
        Verdict::Answer(answer) if !answer.filters.is_empty() => answer.words.into(),
        _ => reply.into(),
    }
}

/// The question of an asking message: the prompt, a blank line, a `- label` line for each option.
fn read(asked: &str) -> Option<Record> {
    let (prompt, list) = asked.trim().split_once("\n\n")?;
    let labels: Vec<&str> = list.lines().map(|line| line.strip_prefix("- ")).collect::<Option<_>>()?;
    let options = labels.into_iter().enumerate().map(|(place, label)| Choice {
        id: place.to_string(),
        label: label.to_owned(),
        aliases: Vec::new(),
        evidence_count: 1,
        filter: OptionFilter { facet: Facet::Subject, value: label.to_owned(), documents: Vec::new() },
    });
    let question = Question {
        route: Route::ScopeSelect,
        prompt: prompt.to_owned(),
        options: options.collect(),
        missing_slots: Vec::new(),
        original_question: String::new(),
        rewrite_count: 0,
        parts: Vec::new(),
    };
    let is_asked = prompt.trim_end().ends_with(['?', '？']);
    is_asked.then_some(Record {
        v: Record::VERSION,
        question,
        answers: Vec::new(),
        asked: Vec::new(),
        only: None,
        collections: Vec::new(),
        index_generation: 0,
    })
}

#[cfg(test)]
mod tests {
    use super::meant;

    #[test]
    fn a_reply_stands_for_what_it_chose() {
        let plans = "Which care plan do you mean?\n\n- Basic\n- Plus\n- Premium";
        let cards = "您指的是哪一个会员等级？\n\n- 银卡\n- 金卡\n- 铂金卡";
        let cases = [
            ("3", plans, "Premium"),
            ("the second one", plans, "Plus"),
            ("Premium", plans, "Premium"),
            ("1 and 3", plans, "Basic Premium"),
            ("第二个", cards, "金卡"),
            ("B", cards, "金卡"),
            // What chooses nothing is what was typed.
            ("How long is the warranty?", plans, "How long is the warranty?"),
            ("never mind", plans, "never mind"),
            ("3", "There are three plans.", "3"),
            ("3", "The prices:\n\n- Basic\n- Plus\n- Premium", "3"),
            ("3", "Which year do you mean?", "3"),
        ];
        for (reply, asked, expected) in cases {
            assert_eq!(meant(reply, asked), expected, "{reply} to {asked}");
        }
    }
}

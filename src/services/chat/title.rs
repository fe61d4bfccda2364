//! A session's title: at once the first words of its first question, later what a model calls it. One that the user
//! gave stays.

use std::time::Duration;

use crate::{
    domain::model::{ChatModel, ModelRequest, Prompt, Sampling, complete},
    text::cut,
};

/// Longest title, in characters.
const MAX: usize = 48;
/// Longest title by a model, in characters; a longer one is none.
const MAX_BY_MODEL: usize = 80;
/// Longest part of question and of answer that a model is shown, in characters.
const MAX_SHOWN: usize = 1_500;
/// Tokens that the model may spend, thoughts included.
const MAX_TOKENS: u32 = 512;
/// How long the model may take.
const PATIENCE: Duration = Duration::from_secs(10);

const PROMPT: &str = include_str!("../prompts/title.md");

/// The title for a session that begins with `message`.
pub(super) fn title(message: &str) -> String {
    let line = message.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    let words: Vec<&str> = line.split_whitespace().collect();
    let mut title = String::new();
    for word in words {
        let length = title.chars().count() + word.chars().count() + usize::from(!title.is_empty());
        if length > MAX {
            if title.is_empty() {
                title.extend(word.chars().take(MAX));
            }
            break;
        }
        if !title.is_empty() {
            title.push(' ');
        }
        title.push_str(word);
    }
    let end = title.trim_end_matches(|c: char| "?.!,;:？。！，；：…".contains(c)).len();
    // Where there are no words but stops, they are the title.
    if end > 0 {
        title.truncate(end);
    }
    title
}

/// What `model` calls a session that begins so; `None` when it fails, takes too long or says no title. That costs nothing
/// but the title.
pub(super) async fn by_model(model: &dyn ChatModel, question: &str, answer: &str) -> Option<String> {
    let material =
        format!("Question:\n{}\n\nAnswer:\n{}", cut(question.trim(), MAX_SHOWN), cut(answer.trim(), MAX_SHOWN));
    let request = ModelRequest {
        messages: vec![Prompt::System { content: PROMPT.trim().into() }, Prompt::User { content: material }],
        sampling: Sampling { max_tokens: Some(MAX_TOKENS), ..Sampling::default() },
        ..ModelRequest::default()
    };
    match tokio::time::timeout(PATIENCE, complete(model, request)).await {
        Ok(Ok(answer)) => tidy(&answer.text),
        Ok(Err(error)) => {
            tracing::warn!(%error, model = model.name(), "the session keeps its first words as title");
            None
        }
        Err(_) => {
            tracing::warn!(model = model.name(), "the session keeps its first words as title: the model took too long");
            None
        }
    }
}

/// The line that names the session, without what models put around it.
fn tidy(said: &str) -> Option<String> {
    let line = said.lines().map(str::trim).find(|line| !line.is_empty())?;
    let line = line.strip_prefix("Title:").or_else(|| line.strip_prefix("标题：")).unwrap_or(line);
    let words: Vec<&str> =
        line.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty()).collect();
    let title = words.join(" ");
    let title = title.trim_matches(|c: char| "\"'“”‘’「」《》*#`.。 ".contains(c));
    (!title.is_empty() && title.chars().count() <= MAX_BY_MODEL).then(|| title.to_owned())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{MAX, tidy, title};

    proptest! {
        /// Characters of three and four bytes, accents, joined emoji, marks at the end.
        #[test]
        fn any_message_gives_a_short_title(message in "[a 保\u{301}\u{200d}👩𠀀?？。\n]{0,120}") {
            let title = title(&message);
            prop_assert!(title.chars().count() <= MAX);
            prop_assert!(title.chars().all(|c| message.contains(c)));
        }
    }

    #[test]
    fn first_words_without_the_last_stop() {
        assert_eq!(title("How long is the warranty?"), "How long is the warranty");
        assert_eq!(title("\n  保修期多久？ \n另外…"), "保修期多久");
        assert_eq!(
            title("Please compare the delivery times of all products that you have in stock"),
            "Please compare the delivery times of all"
        );
        assert_eq!(title(&"长".repeat(60)), "长".repeat(48));
        assert_eq!(title("？!"), "？!");
        assert_eq!(title("  "), "");
    }

    #[test]
    fn a_models_title_loses_its_wrapping() {
        for (said, title) in [
            ("Warranty of the Aurora X1", Some("Warranty of the Aurora X1")),
            ("\n **\"Warranty  terms.\"**\nmore", Some("Warranty terms")),
            ("标题：《保修期》", Some("保修期")),
            ("Title: Warranty", Some("Warranty")),
            (" \n", None),
            ("“”", None),
            (&"long ".repeat(20), None),
        ] {
            assert_eq!(tidy(said).as_deref(), title, "{said}");
        }
    }
}

//! Asking a model what a reply means, where the rules are not sure.

use serde::Deserialize;
use serde_json::{Value, json};

use super::{MAX_ANSWER, Understanding, Verdict, chosen};
use crate::{
    domain::{
        error::ModelError,
        hitl::{Answer, Record},
        model::{ChatModel, JsonSchema, ModelRequest, Prompt, Sampling, complete},
    },
    text::cut,
};

const INSTRUCTIONS: &str = include_str!("../../prompts/reply.md");
/// Most characters of the reply that the model reads.
const MAX_REPLY: usize = 2_000;
const MAX_TOKENS: u32 = 300;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Meaning {
    Answer,
    NewQuestion,
    Dismiss,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
struct Said {
    meaning: Meaning,
    #[serde(default)]
    options: Vec<usize>,
    #[serde(default)]
    detail: Option<String>,
    #[serde(default)]
    reason: Option<String>,
}

/// One call, and one more when its answer does not fit. `None`: the model gave nothing usable.
///
/// # Errors
/// Those of the model.
pub(super) async fn ask(
    reply: &str,
    record: &Record,
    model: &dyn ChatModel,
) -> Result<Option<Understanding>, ModelError> {
    let mut messages =
        vec![Prompt::System { content: INSTRUCTIONS.to_owned() }, Prompt::User { content: describe(reply, record) }];
    for _ in 0..2 {
        let request = ModelRequest {
            messages: messages.clone(),
            schema: Some(JsonSchema { name: "reply".into(), schema: schema() }),
            sampling: Sampling { temperature: Some(0.0), max_tokens: Some(MAX_TOKENS), ..Sampling::default() },
            ..ModelRequest::default()
        };
        let text = complete(model, request).await?.text;
        match read(&text, reply, record, model.name()) {
            Ok(understanding) => return Ok(Some(understanding)),
            Err(problem) => {
                let content = if text.trim().is_empty() { "(nothing)".to_owned() } else { text };
                messages.push(Prompt::Assistant { content, tool_calls: Vec::new() });
                messages.push(Prompt::User {
                    content: format!("That does not fit: {problem}. Answer again with one JSON object of the schema."),
                });
            }
        }
    }
    Ok(None)
}

fn describe(reply: &str, record: &Record) -> String {
    let question = &record.question;
    let mut text = format!("Original question: {}\nAsked back: {}\n", question.original_question, question.prompt);
    for (index, option) in question.options.iter().enumerate() {
        text.push_str(&format!("{}. {}\n", index + 1, option.label));
    }
    for slot in &question.missing_slots {
        text.push_str(&format!("Missing: {slot}\n"));
    }
    text.push_str(&format!("Reply: {}", cut(reply.trim(), MAX_REPLY)));
    text
}

fn schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "meaning": {"type": "string", "enum": ["answer", "new_question", "dismiss"]},
            "options": {"type": "array", "items": {"type": "integer"}},
            "detail": {"type": ["string", "null"]},
            "reason": {"type": "string"}
        },
        "required": ["meaning", "options", "detail", "reason"],
        "additionalProperties": false
    })
}

fn read(text: &str, reply: &str, record: &Record, by: &str) -> Result<Understanding, String> {
    let body = text.find('{').zip(text.rfind('}')).and_then(|(from, to)| text.get(from..=to)).unwrap_or(text);
    let said: Said = serde_json::from_str(body).map_err(|error| error.to_string())?;
    let k = record.question.options.len();
    let verdict = match said.meaning {
        Meaning::NewQuestion => Verdict::NewQuestion { given: Vec::new(), rest: None },
        Meaning::Dismiss => Verdict::Dismiss { rest: None },
        Meaning::Answer => {
            if let Some(wrong) = said.options.iter().find(|number| !(1..=k).contains(*number)) {
                return Err(format!("there is no option {wrong}"));
            }
            let detail = said.detail.as_deref().map(str::trim).filter(|detail| !detail.is_empty());
            if said.options.is_empty() && detail.is_none() {
                return Err("an answer names options or gives a detail".into());
            }
            let places = said.options.iter().map(|number| number - 1).collect();
            let mut answer: Answer = chosen(record, &places, reply);
            if let Some(detail) = detail {
                answer.words = format!("{} {}", answer.words, cut(detail, MAX_ANSWER)).trim().to_owned();
            }
            Verdict::Answer(answer)
        }
    };
    let reason = said.reason.as_deref().map_or("the model's judgement", |reason| cut(reason, 200)).to_owned();
    Ok(Understanding { verdict, reason, by: by.to_owned() })
}

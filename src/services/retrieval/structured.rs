//! A model's answer under a JSON schema: asked for, checked, repaired once.

use schemars::JsonSchema;
use serde::de::DeserializeOwned;

use crate::domain::{
    error::ModelError,
    model::{ChatModel, JsonSchema as Wanted, ModelRequest, Prompt, Sampling, complete},
};

/// Most tokens of such an answer.
const MAX_TOKENS: u32 = 700;

/// Why no answer of the wanted shape came. Texts of the server stay in the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unusable {
    /// The call failed.
    Failed,
    /// It did not fit the schema, twice.
    Misshapen,
}

impl Unusable {
    /// For the trace.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Failed => "failed",
            Self::Misshapen => "did not fit the schema",
        }
    }
}

/// Asks `model` for a `T`. A reply that does not fit is shown to the model once, with what is wrong.
pub(crate) async fn structured<T: DeserializeOwned + JsonSchema>(
    model: &dyn ChatModel,
    name: &str,
    instructions: &str,
    content: String,
) -> Result<T, Unusable> {
    let schema = schemars::schema_for!(T).to_value();
    let mut messages = vec![Prompt::System { content: instructions.to_owned() }, Prompt::User { content }];
    for attempt in 0..2 {
        let request = ModelRequest {
            messages: messages.clone(),
            schema: Some(Wanted { name: name.to_owned(), schema: schema.clone() }),
            sampling: Sampling { temperature: Some(0.0), top_p: None, max_tokens: Some(MAX_TOKENS) },
            ..ModelRequest::default()
        };
        let reply = complete(model, request).await.map_err(|error| failed(name, &error))?.text;
        match serde_json::from_str(object(&reply)) {
            Ok(value) => return Ok(value),
            Err(error) => {
                tracing::debug!(call = name, attempt, %error, "a structured answer does not fit");
                let shown = if reply.trim().is_empty() { "(nothing)".to_owned() } else { reply };
                messages.push(Prompt::Assistant { content: shown, tool_calls: Vec::new() });
                messages.push(Prompt::User {
                    content: format!(
                        "That is not the JSON that was asked for ({error}). Reply with the JSON object only."
                    ),
                });
            }
        }
    }
    Err(Unusable::Misshapen)
}

fn failed(name: &str, error: &ModelError) -> Unusable {
    tracing::warn!(call = name, %error, "a structured call failed; the built-in rule decides");
    Unusable::Failed
}

/// The JSON object inside a reply: models like to fence it or to introduce it.
fn object(reply: &str) -> &str {
    match (reply.find('{'), reply.rfind('}')) {
        (Some(start), Some(end)) if start < end => reply.get(start..=end).unwrap_or(reply),
        _ => reply,
    }
}

#[cfg(test)]
mod tests {
    use super::object;

    #[test]
    fn the_object_is_found_in_its_wrapping() {
        assert_eq!(object("```json\n{\"a\": {\"b\": 1}}\n```"), "{\"a\": {\"b\": 1}}");
        assert_eq!(object("no json"), "no json");
    }
}

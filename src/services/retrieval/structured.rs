//! A model's answer under a JSON schema: asked for, checked, repaired once.

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;

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
    let mut schema = schemars::schema_for!(T).to_value();
    close(&mut schema);
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

/// Keywords that servers which enforce a schema refuse.
const UNENFORCED: [&str; 5] = ["$schema", "title", "default", "format", "minimum"];

/// Makes a schema one that servers enforce to the letter: every property is required and no other allowed, choices are
/// enumerations, references stand alone.
fn close(schema: &mut Value) {
    let Some(object) = schema.as_object_mut() else { return };
    for keyword in UNENFORCED {
        object.remove(keyword);
    }
    if object.contains_key("$ref") {
        object.retain(|keyword, _| keyword == "$ref");
    }
    if let Some(Value::Array(choices)) = object.remove("oneOf") {
        let words = choices.iter().filter_map(|choice| choice.get("const").cloned()).collect();
        object.insert("type".into(), "string".into());
        object.insert("enum".into(), Value::Array(words));
    }
    if let Some(Value::Object(properties)) = object.get("properties") {
        let names = properties.keys().cloned().map(Value::String).collect();
        object.insert("required".into(), Value::Array(names));
        object.insert("additionalProperties".into(), Value::Bool(false));
    }
    for keyword in ["properties", "$defs"] {
        if let Some(Value::Object(inner)) = object.get_mut(keyword) {
            inner.values_mut().for_each(close);
        }
    }
    if let Some(items) = object.get_mut("items") {
        close(items);
    }
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
    use serde_json::json;

    use super::*;

    /// How it went.
    #[derive(JsonSchema)]
    #[serde(rename_all = "snake_case")]
    #[expect(dead_code, reason = "only its schema is read")]
    enum Outcome {
        /// Well.
        Good,
        /// Not so.
        Bad,
    }

    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "only its schema is read")]
    struct Reply {
        /// Described.
        outcome: Outcome,
        #[serde(default)]
        share: f32,
        #[serde(default)]
        words: Vec<String>,
    }

    #[test]
    fn schemas_are_closed() {
        let mut schema = schemars::schema_for!(Reply).to_value();
        close(&mut schema);
        assert_eq!(
            schema,
            json!({
                "type": "object",
                "properties": {
                    "outcome": {"$ref": "#/$defs/Outcome"},
                    "share": {"type": "number"},
                    "words": {"type": "array", "items": {"type": "string"}},
                },
                "required": ["outcome", "share", "words"],
                "additionalProperties": false,
                "$defs": {"Outcome": {"description": "How it went.", "type": "string", "enum": ["good", "bad"]}},
            })
        );
    }

    #[test]
    fn the_object_is_found_in_its_wrapping() {
        assert_eq!(object("```json\n{\"a\": {\"b\": 1}}\n```"), "{\"a\": {\"b\": 1}}");
        assert_eq!(object("no json"), "no json");
    }
}

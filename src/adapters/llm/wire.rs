//! The JSON of `POST /chat/completions`: strict in what is sent, lenient in what is read.

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use crate::domain::model::{ModelRequest, Prompt, ToolCall, Usage};

/// The body of a request.
#[derive(Debug, Serialize)]
pub(super) struct Request<'a> {
    model: &'a str,
    messages: Vec<Message<'a>>,
    stream: bool,
    stream_options: StreamOptions,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_format: Option<ResponseFormat<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    top_p: Option<f32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u32>,
}

#[derive(Debug, Serialize)]
struct StreamOptions {
    include_usage: bool,
}

#[derive(Debug, Serialize)]
struct Message<'a> {
    role: &'static str,
    /// `null` beside calls: some servers refuse an empty text.
    content: Option<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<Call<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_call_id: Option<&'a str>,
}

#[derive(Debug, Serialize)]
struct Call<'a> {
    id: &'a str,
    #[serde(rename = "type")]
    kind: &'static str,
    function: CallFunction<'a>,
}

#[derive(Debug, Serialize)]
struct CallFunction<'a> {
    name: &'a str,
    arguments: &'a str,
}

#[derive(Debug, Serialize)]
struct Tool<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    function: ToolFunction<'a>,
}

#[derive(Debug, Serialize)]
struct ToolFunction<'a> {
    name: &'a str,
    description: &'a str,
    parameters: &'a Value,
}

#[derive(Debug, Serialize)]
struct ResponseFormat<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    json_schema: Schema<'a>,
}

#[derive(Debug, Serialize)]
struct Schema<'a> {
    name: &'a str,
    schema: &'a Value,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    strict: bool,
}

/// Whether a server may hold a model to the schema to the letter: it does so only where every property is required and
/// no other allowed, and where it knows every keyword.
fn is_strict(schema: &Value) -> bool {
    let Some(object) = schema.as_object() else { return false };
    let within =
        |keyword: &str| object.get(keyword).and_then(Value::as_object).into_iter().flat_map(|map| map.values());
    let listed = object.get("anyOf").and_then(Value::as_array).into_iter().flatten();
    let is_closed = object.get("type").and_then(Value::as_str) != Some("object") || {
        let required = object.get("required").and_then(Value::as_array);
        let is_required = |name: &String| required.is_some_and(|names| names.iter().any(|known| known == name));
        object.get("additionalProperties") == Some(&Value::Bool(false))
            && object.get("properties").and_then(Value::as_object).is_some_and(|map| map.keys().all(is_required))
    };
    is_closed
        && !["oneOf", "allOf", "not", "default"].iter().any(|keyword| object.contains_key(*keyword))
        && within("properties").chain(within("$defs")).chain(listed).chain(object.get("items")).all(is_strict)
}

impl<'a> Request<'a> {
    /// The body for `request`, at the model `model` unless the request names another.
    pub(super) fn new(model: &'a str, request: &'a ModelRequest) -> Self {
        Self {
            model: request.model.as_deref().unwrap_or(model),
            messages: request.messages.iter().map(message).collect(),
            stream: true,
            stream_options: StreamOptions { include_usage: true },
            tools: request
                .tools
                .iter()
                .map(|tool| Tool {
                    kind: "function",
                    function: ToolFunction {
                        name: &tool.name,
                        description: &tool.description,
                        parameters: &tool.parameters,
                    },
                })
                .collect(),
            response_format: request.schema.as_ref().map(|wanted| ResponseFormat {
                kind: "json_schema",
                json_schema: Schema { name: &wanted.name, schema: &wanted.schema, strict: is_strict(&wanted.schema) },
            }),
            temperature: request.sampling.temperature,
            top_p: request.sampling.top_p,
            max_tokens: request.sampling.max_tokens,
        }
    }
}

impl Request<'_> {
    /// The same, for a server that takes no wanted format.
    pub(super) fn without_format(mut self) -> Self {
        self.response_format = None;
        self
    }
}

fn message(prompt: &Prompt) -> Message<'_> {
    let plain = |role, content| Message { role, content: Some(content), tool_calls: Vec::new(), tool_call_id: None };
    match prompt {
        Prompt::System { content } => plain("system", content),
        Prompt::User { content } => plain("user", content),
        Prompt::Assistant { content, tool_calls } => Message {
            role: "assistant",
            content: (!content.is_empty() || tool_calls.is_empty()).then_some(content),
            tool_calls: tool_calls.iter().map(call).collect(),
            tool_call_id: None,
        },
        Prompt::Tool { call_id, content, .. } => Message { tool_call_id: Some(call_id), ..plain("tool", content) },
    }
}

fn call(call: &ToolCall) -> Call<'_> {
    Call { id: &call.id, kind: "function", function: CallFunction { name: &call.name, arguments: &call.arguments } }
}

/// A piece of a streamed answer, or a whole answer: the two differ in `delta` and `message` only.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Chunk {
    #[serde(default, deserialize_with = "nullable")]
    pub(super) choices: Vec<Choice>,
    #[serde(default, deserialize_with = "counts")]
    pub(super) usage: Option<Usage>,
    #[serde(default)]
    pub(super) error: Option<Value>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Choice {
    #[serde(default)]
    pub(super) index: u32,
    #[serde(default, alias = "message", deserialize_with = "nullable")]
    pub(super) delta: Delta,
    #[serde(default)]
    pub(super) finish_reason: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct Delta {
    #[serde(default)]
    pub(super) content: Option<Content>,
    #[serde(default, alias = "reasoning")]
    pub(super) reasoning_content: Option<String>,
    #[serde(default, deserialize_with = "nullable")]
    pub(super) tool_calls: Vec<Fragment>,
}

/// Text, or a list of parts of which those with text count.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum Content {
    Text(String),
    Parts(Vec<Part>),
}

#[derive(Debug, Deserialize)]
pub(super) struct Part {
    #[serde(default)]
    text: String,
}

impl Content {
    pub(super) fn into_text(self) -> String {
        match self {
            Self::Text(text) => text,
            Self::Parts(parts) => parts.into_iter().map(|part| part.text).collect(),
        }
    }
}

/// A piece of a tool call.
#[derive(Debug, Deserialize)]
pub(super) struct Fragment {
    #[serde(default)]
    pub(super) index: Option<u32>,
    #[serde(default)]
    pub(super) id: Option<String>,
    #[serde(default, deserialize_with = "nullable")]
    pub(super) function: FunctionFragment,
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct FunctionFragment {
    #[serde(default)]
    pub(super) name: Option<String>,
    /// A text by the book; some servers send the object itself.
    #[serde(default)]
    pub(super) arguments: Option<Value>,
}

/// How a server counts decides about no answer: what is no whole number, at least 0, is as good as not said.
fn counts<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Usage>, D::Error> {
    let said = Value::deserialize(deserializer)?;
    let count = |name: &str| match said.get(name) {
        None => Some(0),
        Some(count) => count.as_u64(),
    };
    let usage = Option::zip(count("prompt_tokens"), count("completion_tokens")).filter(|_| said.is_object());
    Ok(usage.map(|(prompt_tokens, completion_tokens)| Usage { prompt_tokens, completion_tokens }))
}

/// `null` where a value may be left out means that it is left out.
fn nullable<'de, D: Deserializer<'de>, T: Default + Deserialize<'de>>(deserializer: D) -> Result<T, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::domain::model::{JsonSchema, Sampling, ToolSpec};

    #[test]
    fn odd_counts_fail_no_answer() {
        let usage = |said: &str| serde_json::from_str::<Chunk>(&format!(r#"{{"usage":{said}}}"#)).unwrap().usage;
        let counted = Usage { prompt_tokens: 7, completion_tokens: 0 };
        assert_eq!(usage(r#"{"prompt_tokens":7}"#), Some(counted));
        for odd in ["null", "\"7\"", "[7]", r#"{"prompt_tokens":-1}"#, r#"{"completion_tokens":1.5}"#] {
            assert_eq!(usage(odd), None, "{odd}");
        }
    }

    #[test]
    fn a_schema_is_strict_where_every_object_is_closed() {
        let object = |required: Value, inner: Value| {
            json!({"type": "object", "properties": {"a": inner, "b": {"type": "string"}}, "required": required,
                   "additionalProperties": false})
        };
        let closed = object(json!(["a", "b"]), json!({"type": ["string", "null"]}));
        assert!(is_strict(&closed));
        assert!(is_strict(&object(json!(["a", "b"]), json!({"type": "array", "items": closed}))));
        assert!(!is_strict(&object(json!(["a"]), json!({"type": "string"}))), "b may be left out");
        assert!(!is_strict(&object(json!(["a", "b"]), json!({"type": "array", "items": {"type": "object"}}))));
        assert!(!is_strict(&object(json!(["a", "b"]), json!({"oneOf": []}))));
        assert!(!is_strict(&json!({"type": "object"})));
    }

    #[test]
    fn a_request_on_the_wire() {
        let request = ModelRequest {
            model: None,
            messages: vec![
                Prompt::System { content: "Be brief.".into() },
                Prompt::User { content: "保修多久？".into() },
                Prompt::Assistant {
                    content: String::new(),
                    tool_calls: vec![ToolCall { id: "c1".into(), name: "find".into(), arguments: "{}".into() }],
                },
                Prompt::Tool { call_id: "c1".into(), name: "find".into(), content: "two years".into() },
            ],
            tools: vec![ToolSpec {
                name: "find".into(),
                description: "Finds.".into(),
                parameters: json!({"type": "object"}),
            }],
            schema: Some(JsonSchema { name: "grade".into(), schema: json!({"type": "object"}) }),
            sampling: Sampling { temperature: Some(0.5), top_p: None, max_tokens: Some(64) },
        };
        assert_eq!(
            serde_json::to_value(Request::new("m", &request)).unwrap(),
            json!({
                "model": "m",
                "messages": [
                    {"role": "system", "content": "Be brief."},
                    {"role": "user", "content": "保修多久？"},
                    {"role": "assistant", "content": null,
                     "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "find", "arguments": "{}"}}]},
                    {"role": "tool", "content": "two years", "tool_call_id": "c1"},
                ],
                "stream": true,
                "stream_options": {"include_usage": true},
                "tools": [{"type": "function", "function":
                    {"name": "find", "description": "Finds.", "parameters": {"type": "object"}}}],
                "response_format": {"type": "json_schema", "json_schema":
                    {"name": "grade", "schema": {"type": "object"}}},
                "temperature": 0.5,
                "max_tokens": 64,
            })
        );
    }
}

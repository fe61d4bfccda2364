//! Chat models and what is said to them.

use async_trait::async_trait;
use futures::stream::BoxStream;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::error::ModelError;

/// A call of a tool as a model asks for it. Arguments are kept as the text that the model wrote.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolCall {
    /// Unique within the turn.
    pub id: String,
    /// Which tool.
    pub name: String,
    /// A JSON object, if the model wrote one.
    pub arguments: String,
}

/// One message of a conversation with a model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "lowercase")]
pub enum Prompt {
    /// Instructions.
    System {
        /// Never empty.
        content: String,
    },
    /// The person.
    User {
        /// Never empty.
        content: String,
    },
    /// The model.
    Assistant {
        /// May be empty when there are calls.
        content: String,
        /// Calls it made; each is answered by exactly one `Tool` message that follows.
        tool_calls: Vec<ToolCall>,
    },
    /// A tool's answer.
    Tool {
        /// Which call it answers.
        call_id: String,
        /// Which tool answered.
        name: String,
        /// Never empty.
        content: String,
    },
}

/// A tool as models are told of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolSpec {
    /// Unique; letters, digits, `_`.
    pub name: String,
    /// For the model.
    pub description: String,
    /// JSON Schema of the arguments.
    pub parameters: Value,
}

/// How a model is to answer.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Sampling {
    /// 0 … 2.
    pub temperature: Option<f32>,
    /// 0 … 1.
    pub top_p: Option<f32>,
    /// Most tokens of the answer.
    pub max_tokens: Option<u32>,
}

impl Sampling {
    /// With what it leaves open taken from `other`.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self {
            temperature: self.temperature.or(other.temperature),
            top_p: self.top_p.or(other.top_p),
            max_tokens: self.max_tokens.or(other.max_tokens),
        }
    }
}

/// A structured answer that is wanted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JsonSchema {
    /// Letters, digits, `_`.
    pub name: String,
    /// JSON Schema.
    pub schema: Value,
}

/// One call of a model.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ModelRequest {
    /// Overrides the configured model's name at the same server.
    pub model: Option<String>,
    /// The conversation.
    pub messages: Vec<Prompt>,
    /// Tools it may call; empty: none.
    pub tools: Vec<ToolSpec>,
    /// Wants a JSON answer of this shape.
    pub schema: Option<JsonSchema>,
    /// How to answer.
    pub sampling: Sampling,
}

/// Tokens of a call, or of a turn's calls together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, utoipa::ToSchema)]
pub struct Usage {
    /// Read.
    pub prompt_tokens: u64,
    /// Written.
    pub completion_tokens: u64,
}

impl std::ops::AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        self.prompt_tokens += other.prompt_tokens;
        self.completion_tokens += other.completion_tokens;
    }
}

/// What a model says, piece by piece. A stream ends with `End` exactly once; ending without it is an error.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum ModelEvent {
    /// A piece of the answer.
    Text(String),
    /// A piece of its reasoning.
    Reasoning(String),
    /// A whole call (fragments are joined by the adapter).
    Call(ToolCall),
    /// It is done.
    End {
        /// `stop`, `length`, `tool_calls`, …; never empty.
        finish_reason: String,
        /// If the server counted.
        usage: Option<Usage>,
    },
}

/// What a model says. Dropping it closes the connection to the model at once.
pub type ModelStream = BoxStream<'static, Result<ModelEvent, ModelError>>;

/// A chat model.
///
/// Contract: the adapter bounds every wait; errors before the first event come as `Err` of `stream`; dropping the
/// future or the stream ends the call; no two `End`s, nothing after `End`.
#[async_trait]
pub trait ChatModel: Send + Sync {
    /// What traces and messages call it.
    fn name(&self) -> &str;
    /// Whether a request may name `model`. What a server offers is known only to it.
    fn offers(&self, model: &str) -> bool;
    /// Starts an answer.
    async fn stream(&self, request: ModelRequest) -> Result<ModelStream, ModelError>;
}

/// A whole answer.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Completion {
    /// All text pieces.
    pub text: String,
    /// All calls.
    pub calls: Vec<ToolCall>,
    /// Why it ended.
    pub finish_reason: String,
    /// If counted.
    pub usage: Option<Usage>,
}

/// Runs a call to its end.
///
/// # Errors
/// Those of the model; `BadResponse` when the stream ends without `End`.
pub async fn complete(model: &dyn ChatModel, request: ModelRequest) -> Result<Completion, ModelError> {
    use futures::StreamExt;
    let mut stream = model.stream(request).await?;
    let mut whole = Completion::default();
    while let Some(event) = stream.next().await {
        match event? {
            ModelEvent::Text(piece) => whole.text.push_str(&piece),
            ModelEvent::Reasoning(_) => {}
            ModelEvent::Call(call) => whole.calls.push(call),
            ModelEvent::End { finish_reason, usage } => {
                whole.finish_reason = finish_reason;
                whole.usage = usage;
                return Ok(whole);
            }
        }
    }
    Err(ModelError::BadResponse("the stream ended without completion".into()))
}

//! What OpenAI clients send: a conversation, and how it is to be gone on with. Fields that are not named here are ignored.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{
    http::{
        api::chat::{ChatBody, MAX_SESSION_CHARS, check_text},
        error::{ApiError, Result},
    },
    services::memory::conversations::{Line, Speaker},
};

/// What the model is called that answers where no other is named.
pub(super) const MODEL: &str = "askback";

/// A conversation that ends with the user's message.
#[derive(Deserialize, ToSchema)]
pub(in crate::http) struct CompletionBody {
    /// All of it, oldest first. Only the last one is read, which must be the user's; by those before it the conversation
    /// is known again. Instructions (`system`, `developer`) are ignored.
    messages: Vec<CompletionMessage>,
    /// `askback`, or another model of the same server.
    #[schema(example = "askback")]
    model: Option<String>,
    stream: Option<bool>,
    stream_options: Option<StreamOptions>,
    #[schema(minimum = 0, maximum = 2)]
    temperature: Option<f32>,
    #[schema(minimum = 0, maximum = 1)]
    top_p: Option<f32>,
    /// Most tokens of the answer.
    #[schema(minimum = 1)]
    max_completion_tokens: Option<u32>,
    /// The same by its older name.
    #[schema(minimum = 1)]
    max_tokens: Option<u32>,
    /// Answers wanted: one.
    #[schema(minimum = 1, maximum = 1)]
    n: Option<u32>,
    /// The session, where `metadata` names none.
    #[schema(max_length = 120)]
    user: Option<String>,
    metadata: Option<CompletionMetadata>,
}

/// A message of the conversation.
#[derive(Deserialize, ToSchema)]
pub(in crate::http) struct CompletionMessage {
    role: CompletionRole,
    content: Option<CompletionContent>,
}

/// Who speaks.
#[derive(Clone, Copy, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum CompletionRole {
    System,
    Developer,
    User,
    Assistant,
    Tool,
    Function,
}

/// What they say.
#[derive(Deserialize, ToSchema)]
#[serde(untagged, expecting = "must be text, or a list of parts")]
enum CompletionContent {
    Text(String),
    Parts(Vec<CompletionPart>),
}

/// A part of what they say. Those of another type than `text` are not taken by this version.
#[derive(Deserialize, ToSchema)]
struct CompletionPart {
    #[serde(rename = "type")]
    kind: String,
    text: Option<String>,
}

/// What a stream is to hold beside the answer.
#[derive(Deserialize, ToSchema)]
struct StreamOptions {
    /// Whether the tokens are told at its end.
    include_usage: Option<bool>,
}

/// What a client notes of a request.
#[derive(Deserialize, ToSchema)]
struct CompletionMetadata {
    /// The session that the conversation is. Without one it is known by its messages.
    #[schema(max_length = 120)]
    session_id: Option<String>,
}

/// What is asked for.
#[derive(Serialize)]
pub(super) struct Asked {
    /// The session, where the client names one.
    pub(super) session: Option<String>,
    /// The conversation before the message.
    pub(super) before: Vec<Line>,
    /// The user's message.
    pub(super) message: String,
    model: Option<String>,
    temperature: Option<f32>,
    top_p: Option<f32>,
    max_tokens: Option<u32>,
}

/// How it is to be told.
pub(super) struct Manner {
    /// What the client calls the model.
    pub(super) model: String,
    pub(super) stream: bool,
    pub(super) include_usage: bool,
}

impl CompletionBody {
    /// Checks it, and takes it apart.
    pub(super) fn apart(self) -> Result<(Asked, Manner)> {
        if self.n.is_some_and(|wanted| wanted != 1) {
            return Err(ApiError::field("n", "must be 1: a conversation has one answer at a time"));
        }
        let (before, message) = conversation(self.messages)?;
        let noted = self.metadata.and_then(|metadata| metadata.session_id).map(|name| ("metadata.session_id", name));
        let user = self.user.map(|name| ("user", name));
        // Clients send an empty text for what they do not know.
        let named = noted.into_iter().chain(user).find(|(_, name)| !name.is_empty());
        if let Some((field, name)) = &named {
            check_text(field, name, MAX_SESSION_CHARS)?;
        }
        let manner = Manner {
            model: self.model.clone().unwrap_or_else(|| MODEL.into()),
            stream: self.stream.unwrap_or_default(),
            include_usage: self.stream_options.and_then(|options| options.include_usage).unwrap_or_default(),
        };
        let asked = Asked {
            session: named.map(|(_, name)| name),
            before,
            message,
            model: self.model.filter(|model| model != MODEL),
            temperature: self.temperature,
            top_p: self.top_p,
            max_tokens: self.max_completion_tokens.or(self.max_tokens),
        };
        Ok((asked, manner))
    }
}

impl Asked {
    /// The turn that it asks for, in this session.
    pub(super) fn turn(&self, session: Option<String>) -> ChatBody {
        ChatBody {
            message: self.message.clone(),
            session_id: session,
            model: self.model.clone(),
            temperature: self.temperature,
            max_tokens: self.max_tokens,
            top_p: self.top_p,
            ..ChatBody::default()
        }
    }

    /// The conversation with the message, as the client holds it until it is answered.
    pub(super) fn lines(self) -> Vec<Line> {
        let mut lines = self.before;
        lines.push(Line { speaker: Speaker::User, text: self.message });
        lines
    }
}

/// The lines before the last message, and that message's text.
fn conversation(mut messages: Vec<CompletionMessage>) -> Result<(Vec<Line>, String)> {
    let last = messages.pop().filter(|last| last.role == CompletionRole::User);
    let Some(last) = last else { return Err(ApiError::field("messages", "must end with a message of the user")) };
    let field = format!("messages[{}].content", messages.len());
    if let Some(part) = last.parts().iter().find(|part| part.kind != "text") {
        let message = format!("holds a part of type {:?}; this version takes text alone", part.kind);
        return Err(ApiError::field(&field, message));
    }
    let message = last.into_text();
    if message.trim().is_empty() {
        return Err(ApiError::field(&field, "must not be empty"));
    }
    let before = messages.into_iter().filter_map(CompletionMessage::into_line).collect();
    Ok((before, message))
}

impl CompletionMessage {
    fn parts(&self) -> &[CompletionPart] {
        match &self.content {
            Some(CompletionContent::Parts(parts)) => parts,
            Some(CompletionContent::Text(_)) | None => &[],
        }
    }

    /// A part of text a paragraph.
    fn into_text(self) -> String {
        match self.content {
            None => String::new(),
            Some(CompletionContent::Text(text)) => text,
            Some(CompletionContent::Parts(parts)) => {
                parts.into_iter().filter_map(|part| part.text).collect::<Vec<_>>().join("\n")
            }
        }
    }

    fn into_line(self) -> Option<Line> {
        let speaker = match self.role {
            CompletionRole::System | CompletionRole::Developer => return None,
            CompletionRole::User => Speaker::User,
            CompletionRole::Assistant => Speaker::Assistant,
            CompletionRole::Tool | CompletionRole::Function => Speaker::Tool,
        };
        Some(Line { speaker, text: self.into_text() })
    }
}

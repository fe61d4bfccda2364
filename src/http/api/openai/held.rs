//! What the client holds of the conversation: by that it is known again.

use crate::{
    domain::{
        chat::TurnResult,
        id::{MessageId, UserId},
    },
    services::memory::conversations::{Conversations, Line, Speaker},
};

/// Remembers it.
pub(super) struct Holder {
    pub(super) conversations: Conversations,
    pub(super) user: UserId,
    /// The conversation with the user's message, and the answer once it is there.
    pub(super) lines: Vec<Line>,
}

impl Holder {
    /// `answer` is being told; its client may leave in the midst of it, and keep what it has heard.
    pub(super) async fn begin(&self, answer: Option<MessageId>) {
        if let Some(answer) = answer {
            self.remember(answer).await;
        }
    }

    /// The client was told `text` as the answer that `result` is.
    pub(super) async fn end(&mut self, text: &str, result: &TurnResult) {
        if let Some(answer) = result.message_id {
            self.lines.push(Line { speaker: Speaker::Assistant, text: text.to_owned() });
            self.remember(answer).await;
        }
    }

    /// Where it cannot be remembered, the client's next message begins a new session: no reason to fail this one.
    async fn remember(&self, answer: MessageId) {
        if let Err(error) = self.conversations.hold(self.user, &self.lines, answer).await {
            tracing::warn!(%error, "it is not remembered what the client holds");
        }
    }
}

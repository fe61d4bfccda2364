//! What the client will hold of the conversation once it is answered.

use crate::{
    domain::{chat::TurnResult, id::UserId},
    services::memory::conversations::{Conversations, Line, Speaker},
};

/// Remembers it.
pub(super) struct Holder {
    pub(super) conversations: Conversations,
    pub(super) user: UserId,
    /// The conversation with the user's message.
    pub(super) lines: Vec<Line>,
}

impl Holder {
    /// The client was told `text` as the answer that `result` is. Where that cannot be remembered, its next message begins
    /// a new session: no reason to fail this one.
    pub(super) async fn hold(&mut self, text: &str, result: &TurnResult) {
        let Some(answer) = result.message_id else { return };
        self.lines.push(Line { speaker: Speaker::Assistant, text: text.to_owned() });
        if let Err(error) = self.conversations.hold(self.user, &self.lines, answer).await {
            tracing::warn!(run_id = %result.run_id, %error, "it is not remembered what the client holds");
        }
    }
}

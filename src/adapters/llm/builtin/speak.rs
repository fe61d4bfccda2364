//! A finished text as a stream of small pieces, with a rough count of tokens.

use futures::{StreamExt, stream};

use crate::{
    domain::model::{ModelEvent, ModelStream, Prompt, ToolCall, Usage},
    text::words::is_han,
};

/// Chinese characters of one piece.
const HAN_PIECE: usize = 3;
/// Latin characters of a usual token.
const TOKEN_CHARS: u64 = 4;

/// Streams `text` word by word, up to `max_tokens`.
pub(super) fn text(text: &str, max_tokens: Option<u32>, prompt_tokens: u64) -> ModelStream {
    let limit = max_tokens.map_or(u64::MAX, u64::from);
    let mut events = Vec::new();
    let mut completion_tokens = 0;
    let mut finish_reason = "stop";
    for piece in pieces(text) {
        let cost = tokens(piece);
        if completion_tokens + cost > limit {
            finish_reason = "length";
            break;
        }
        completion_tokens += cost;
        events.push(ModelEvent::Text(piece.to_owned()));
    }
    events.push(end(finish_reason, prompt_tokens, completion_tokens));
    stream::iter(events).map(Ok).boxed()
}

/// Streams one call.
pub(super) fn call(call: ToolCall, prompt_tokens: u64) -> ModelStream {
    let completion_tokens = tokens(&call.arguments);
    let events = [ModelEvent::Call(call), end("tool_calls", prompt_tokens, completion_tokens)];
    stream::iter(events).map(Ok).boxed()
}

/// What a request costs to read.
pub(super) fn tokens_of(messages: &[Prompt]) -> u64 {
    messages
        .iter()
        .map(|message| match message {
            Prompt::System { content }
            | Prompt::User { content }
            | Prompt::Assistant { content, .. }
            | Prompt::Tool { content, .. } => tokens(content),
        })
        .sum()
}

fn end(finish_reason: &str, prompt_tokens: u64, completion_tokens: u64) -> ModelEvent {
    ModelEvent::End { finish_reason: finish_reason.to_owned(), usage: Some(Usage { prompt_tokens, completion_tokens }) }
}

/// One token per Chinese character, one per four other characters.
fn tokens(text: &str) -> u64 {
    let (mut han, mut other) = (0_u64, 0_u64);
    for c in text.chars() {
        if is_han(c) {
            han += 1;
        } else {
            other += 1;
        }
    }
    han + other.div_ceil(TOKEN_CHARS)
}

/// Words with the space behind them, and a few Chinese characters at a time.
fn pieces(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let mut han = 0;
        let mut end = rest.len();
        for (at, c) in rest.char_indices() {
            han += usize::from(is_han(c));
            if c.is_whitespace() || han == HAN_PIECE {
                end = at + c.len_utf8();
                break;
            }
        }
        let (piece, after) = rest.split_at(end);
        rest = after;
        Some(piece)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn spoken(whole: &str, max_tokens: Option<u32>) -> (Vec<String>, String, Usage) {
        let mut stream = text(whole, max_tokens, 7);
        let mut said = Vec::new();
        while let Some(event) = stream.next().await {
            match event.unwrap() {
                ModelEvent::Text(piece) => said.push(piece),
                ModelEvent::End { finish_reason, usage } => return (said, finish_reason, usage.unwrap()),
                other => panic!("{other:?}"),
            }
        }
        panic!("no end")
    }

    #[tokio::test]
    async fn small_pieces_that_make_the_whole() {
        let (said, reason, usage) = spoken("Two years. [1] 保修期为两年。", None).await;
        assert_eq!(said, ["Two ", "years. ", "[1] ", "保修期", "为两年", "。"]);
        assert_eq!((reason.as_str(), usage.prompt_tokens), ("stop", 7));
        assert!(usage.completion_tokens > 6);
    }

    #[tokio::test]
    async fn ends_at_the_limit() {
        let (said, reason, usage) = spoken("one two three four five", Some(2)).await;
        assert_eq!((said.concat().as_str(), reason.as_str(), usage.completion_tokens), ("one two ", "length", 2));
    }
}

//! A conversation as people read it.

use crate::domain::chat::{Citation, Message, MessageKind, MessageStatus, Session};

/// What stands above the messages.
pub(super) fn heading(session: &Session) -> String {
    format!("# {}\n", line(session.title.as_deref().unwrap_or(&session.name)))
}

/// A message, with its sources under it. A running answer that has said nothing yet is nothing.
pub(super) fn message(message: &Message) -> String {
    if message.content.is_empty() {
        return String::new();
    }
    let who = match (message.kind, &message.model) {
        (MessageKind::Human, _) => "User".to_owned(),
        (MessageKind::Ai, Some(model)) => format!("Assistant ({})", line(model)),
        (MessageKind::Ai, None) => "Assistant".to_owned(),
    };
    let end = match message.status {
        MessageStatus::Completed | MessageStatus::AwaitingInput => "",
        MessageStatus::Running => "\n*(running)*\n",
        MessageStatus::Stopped => "\n*(stopped)*\n",
        MessageStatus::Failed => "\n*(failed)*\n",
        MessageStatus::Interrupted => "\n*(interrupted)*\n",
    };
    let mut text = format!("\n## {who}, {}\n\n{}\n{end}", message.created_at, message.content.trim_end());
    if !message.citations.is_empty() {
        text.push_str("\n**Sources**\n\n");
    }
    message.citations.iter().for_each(|citation| text.push_str(&source(citation)));
    text
}

fn source(citation: &Citation) -> String {
    let page = citation.page.as_ref().map_or_else(String::new, |page| format!(", page {}", line(page)));
    let removed = if citation.removed { " (removed since)" } else { "" };
    let mut text = format!("- \\[{}\\] {}{page}{removed}\n", citation.marker, line(&citation.filename));
    for quoted in citation.quote.lines() {
        text.push_str("  > ");
        text.push_str(&escaped(quoted));
        text.push('\n');
    }
    text
}

/// Text on one line, without being taken for Markdown.
fn line(text: &str) -> String {
    escaped(&text.split_whitespace().collect::<Vec<_>>().join(" "))
}

fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        if r"\`*_[]<>#|".contains(c) {
            escaped.push('\\');
        }
        escaped.push(c);
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{id::DocumentId, time::Millis};

    #[test]
    fn an_answer_stands_over_its_sources() {
        let citation = Citation {
            marker: 1,
            document_id: DocumentId::at(Millis(1)),
            version: 2,
            filename: "X1_手册.pdf".into(),
            page: Some("iv".into()),
            start: 0,
            end: 12,
            quote: "Two years.\n<两年>".into(),
            quote_sha256: String::new(),
            removed: true,
        };
        let answer = Message {
            model: Some("built-in".into()),
            status: MessageStatus::Stopped,
            citations: vec![citation],
            created_at: Millis(0),
            ..Message::said(MessageKind::Ai, "It is *two* years. [1]")
        };
        assert_eq!(
            message(&answer),
            "\n## Assistant (built-in), 1970-01-01T00:00:00.000Z\n\nIt is *two* years. [1]\n\n*(stopped)*\n\
             \n**Sources**\n\n- \\[1\\] X1\\_手册.pdf, page iv (removed since)\n  > Two years.\n  > \\<两年\\>\n"
        );
        assert_eq!(message(&Message::said(MessageKind::Ai, "")), "");
    }
}

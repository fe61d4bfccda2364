//! Mail: the headers that people read, then the text.

use mail_parser::{Address, MessageParser, PartType};

use super::{build::Builder, html, text};
use crate::domain::{error::ExtractError, extract::BlockKind};

/// Reads an `.eml` file. Attachments are named, not read.
pub(super) fn read(bytes: &[u8], builder: &mut Builder) -> Result<(), ExtractError> {
    let message = MessageParser::default().parse(bytes).ok_or(ExtractError::Malformed)?;
    if message.from().is_none() && message.subject().is_none() && message.date().is_none() {
        return Err(ExtractError::Malformed);
    }
    if let Some(subject) = message.subject() {
        builder.title(subject);
        builder.push(BlockKind::Heading(1), subject);
    }
    let mut head = Vec::new();
    for (label, people) in [("From", message.from()), ("To", message.to()), ("Cc", message.cc())] {
        if let Some(people) = people {
            head.push(format!("{label}: {}", names(people)));
        }
    }
    if let Some(date) = message.date() {
        head.push(format!("Date: {}", date.to_rfc3339()));
    }
    let attachments: Vec<&str> = message.attachments().filter_map(mail_parser::MimeHeaders::attachment_name).collect();
    if !attachments.is_empty() {
        head.push(format!("Attachments: {}", attachments.join(", ")));
    }
    builder.push(BlockKind::Paragraph, &head.join("\n"));
    for part in message.text_body.iter().filter_map(|no| message.parts.get(*no as usize)) {
        match &part.body {
            PartType::Text(body) => text::read_plain(body, builder),
            PartType::Html(body) => html::read(body, builder),
            _ => {}
        }
    }
    Ok(())
}

fn names(people: &Address<'_>) -> String {
    let names: Vec<String> = people
        .iter()
        .map(|person| match (person.name(), person.address()) {
            (Some(name), Some(address)) => format!("{name} <{address}>"),
            (one, other) => one.or(other).unwrap_or_default().to_owned(),
        })
        .collect();
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_and_text() {
        let mut builder = Builder::default();
        read(
            "From: =?UTF-8?B?5byg5LiJ?= <zhang@a.example>\r\nTo: b@b.example\r\nSubject: =?UTF-8?Q?=E4=BF=9D=E4=BF=AE?= X1\r\n\
             Date: Mon, 5 Jan 2026 10:00:00 +0000\r\nMIME-Version: 1.0\r\nContent-Type: text/plain; charset=utf-8\r\n\
             Content-Transfer-Encoding: base64\r\n\r\n5L+d5L+u5pyf5Li65Lik5bm044CC\r\n"
                .as_bytes(),
            &mut builder,
        )
        .unwrap();
        let out = builder.finish();
        assert_eq!(
            out.text,
            "保修 X1\n\nFrom: 张三 <zhang@a.example>\nTo: b@b.example\nDate: 2026-01-05T10:00:00Z\n\n保修期为两年。"
        );
        assert_eq!(out.title.as_deref(), Some("保修 X1"));
    }

    #[test]
    fn text_that_is_no_mail() {
        assert_eq!(read(b"just words", &mut Builder::default()), Err(ExtractError::Malformed));
    }
}

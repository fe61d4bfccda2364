//! Mail: the headers that people read, then the text.

use mail_parser::{Address, Message, MessageParser, MessagePart, PartType};

use super::{build::Builder, html, text};
use crate::domain::{error::ExtractError, extract::BlockKind};

/// Messages in messages are read to this depth.
const DEEPEST: u8 = 5;

/// Reads an `.eml` file, and the messages that it forwards. Other attachments are named, not read.
pub(super) fn read(bytes: &[u8], builder: &mut Builder) -> Result<(), ExtractError> {
    let message = MessageParser::default().parse(bytes).ok_or(ExtractError::Malformed)?;
    if message.from().is_none() && message.subject().is_none() && message.date().is_none() {
        return Err(ExtractError::Malformed);
    }
    read_message(&message, 1, builder);
    Ok(())
}

fn read_message(message: &Message<'_>, depth: u8, builder: &mut Builder) {
    if let Some(subject) = message.subject() {
        builder.title(subject);
        builder.push(BlockKind::Heading(depth), subject);
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
    for part in body(message) {
        match &part.body {
            PartType::Text(body) => text::read_plain(body, builder),
            PartType::Html(body) => html::read(body, builder),
            _ => {}
        }
    }
    if depth < DEEPEST {
        for forwarded in message.attachments().filter_map(MessagePart::message) {
            read_message(forwarded, depth + 1, builder);
        }
    }
}

/// The parts that say what the message says: as text; as HTML where the text is left blank.
fn body<'m>(message: &'m Message<'m>) -> impl Iterator<Item = &'m MessagePart<'m>> {
    let of = |parts: &'m [u32]| parts.iter().filter_map(|no| message.parts.get(*no as usize));
    let is_blank = |part: &MessagePart<'_>| matches!(&part.body, PartType::Text(text) if text.trim().is_empty());
    of(if of(&message.text_body).all(is_blank) { &message.html_body } else { &message.text_body })
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

    fn text_of(mail: &[u8]) -> String {
        let mut builder = Builder::default();
        read(mail, &mut builder).unwrap();
        builder.finish().text
    }

    #[test]
    fn chinese_encodings() {
        let head = b"From: a@a.example\r\nSubject: =?gb2312?B?saPQ3g==?=\r\n\
                     Content-Type: text/html; charset=gb2312\r\n\r\n";
        let (body, _, _) = encoding_rs::GB18030.encode("<p>保修期为三年。</p>");
        assert_eq!(text_of(&[head, body.as_ref()].concat()), "保修\n\nFrom: a@a.example\n\n保修期为三年。");
        let head = b"From: a@a.example\r\nContent-Type: text/plain; charset=big5\r\n\r\n";
        let (body, _, _) = encoding_rs::BIG5.encode("保固期為三年。");
        assert_eq!(text_of(&[head, body.as_ref()].concat()), "From: a@a.example\n\n保固期為三年。");
    }

    #[test]
    fn a_blank_text_leaves_the_word_to_html() {
        let mail = |text: &str| {
            format!(
                "From: a@a.example\r\nContent-Type: multipart/alternative; boundary=b\r\n\r\n\
                 --b\r\nContent-Type: text/plain\r\n\r\n{text}\r\n\
                 --b\r\nContent-Type: text/html\r\n\r\n<p>The sale <b>ends</b> on Sunday.</p>\r\n--b--\r\n"
            )
        };
        assert_eq!(text_of(mail(" ").as_bytes()), "From: a@a.example\n\nThe sale ends on Sunday.");
        assert_eq!(text_of(mail("It ends.").as_bytes()), "From: a@a.example\n\nIt ends.");
    }

    #[test]
    fn what_was_forwarded_is_read() {
        let mail = "From: a@a.example\r\nSubject: Fwd\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n\
                    --b\r\nContent-Type: text/plain\r\n\r\nSee below.\r\n\
                    --b\r\nContent-Type: message/rfc822\r\n\r\n\
                    From: b@b.example\r\nSubject: Vault\r\n\r\nThe vault opens at noon.\r\n--b--\r\n";
        assert_eq!(
            text_of(mail.as_bytes()),
            "Fwd\n\nFrom: a@a.example\n\nSee below.\n\nVault\n\nFrom: b@b.example\n\nThe vault opens at noon."
        );
    }

    #[test]
    fn text_that_is_no_mail() {
        assert_eq!(read(b"just words", &mut Builder::default()), Err(ExtractError::Malformed));
    }
}

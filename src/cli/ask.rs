//! `askback ask`: a question in the terminal, its answer with sources, or the question back.

use std::io::{self, BufRead, IsTerminal};

use askback::{
    boot::BootError,
    config::Config,
    domain::{chat::TurnResult, event::TurnEvent, hitl::HitlView, run::RunStatus},
};
use futures::StreamExt;
use indicatif::ProgressBar;
use serde_json::{Value, json};

use super::{
    Failure,
    args::Ask,
    link::{self, Link},
    output,
};

/// File of the data folder with the name of the last conversation.
const LAST: &str = "last-conversation";
/// Longest quote that is shown of a source, in characters.
const QUOTE: usize = 160;

pub(crate) async fn run(config: Config, ask: Ask) -> Result<(), Failure> {
    let link = Link::open(&config).await?;
    let asked = converse(&link, &ask).await;
    link.close().await?;
    asked
}

async fn converse(link: &Link, ask: &Ask) -> Result<(), Failure> {
    let mut session = match &ask.session {
        Some(name) => Some(name.clone()),
        None if ask.new => None,
        None => link.folder.read(LAST).map_err(BootError::from)?,
    };
    let talks = !ask.json && io::stdin().is_terminal() && io::stdout().is_terminal();
    let mut message = ask.question.clone();
    let mut hitl = None;
    loop {
        let mut body = json!({ "message": message });
        if let Some(session) = &session {
            body["session_id"] = json!(session);
        }
        if let Some(id) = hitl {
            body["hitl"] = json!({ "id": id });
        }
        let result = turn(link, &body, ask.json).await?;
        link.folder.write(LAST, &result.session_id).map_err(BootError::from)?;
        if ask.json {
            return Ok(output::json(&result)?);
        }
        show_sources(&result)?;
        let Some(question) = result.hitl.as_ref().filter(|_| result.status == RunStatus::AwaitingInput) else {
            return Ok(());
        };
        show_options(question)?;
        let Some(reply) = (if talks { read_reply()? } else { None }) else {
            output::note("The question stays open; answer it with: askback ask \"…\"");
            return Ok(());
        };
        message = reply;
        hitl = Some(question.id);
        session = Some(result.session_id);
    }
}

/// One turn, shown while it comes.
async fn turn(link: &Link, body: &Value, silent: bool) -> Result<TurnResult, Failure> {
    let response = link::send(link.post("/chat/stream").json(body)).await?;
    let mut screen = Screen::new(silent);
    let mut pieces = response.bytes_stream();
    let mut buffer = Vec::new();
    let mut result = None;
    while let Some(piece) = pieces.next().await {
        buffer.extend_from_slice(&piece.map_err(|error| link::failed(&error))?);
        while let Some(end) = buffer.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = buffer.drain(..=end).collect();
            let Some(data) = line.strip_prefix(b"data: ") else { continue };
            if data.trim_ascii() == b"[DONE]" {
                continue;
            }
            let event: TurnEvent = serde_json::from_slice(data)
                .map_err(|error| Failure::Failed(format!("the server sent a frame that cannot be read: {error}")))?;
            match event {
                TurnEvent::Error { error, .. } => {
                    screen.clear();
                    return Err(Failure::Failed(link::told(&error)));
                }
                TurnEvent::Message { message } => result = Some(*message),
                other => screen.show(&other)?,
            }
        }
    }
    let result = result.ok_or_else(|| Failure::Failed("the answer was cut off; ask again".into()))?;
    screen.end(&result)?;
    Ok(result)
}

/// What is on the screen of this turn.
struct Screen {
    silent: bool,
    /// Pieces are shown as they come: only a person can forget text that was not the answer.
    live: bool,
    progress: ProgressBar,
    shown: String,
}

impl Screen {
    fn new(silent: bool) -> Self {
        let progress = if silent { ProgressBar::hidden() } else { ProgressBar::new_spinner() };
        Self { silent, live: !silent && io::stdout().is_terminal(), progress, shown: String::new() }
    }

    fn show(&mut self, event: &TurnEvent) -> io::Result<()> {
        match event {
            TurnEvent::RagStep { step, .. } if self.shown.is_empty() => {
                self.progress.set_message(format!("{} {} {}", step.icon, step.label, step.detail));
                self.progress.tick();
            }
            TurnEvent::Content { content, .. } if self.live => {
                self.clear();
                output::piece(content)?;
                self.shown.push_str(content);
            }
            TurnEvent::ContentReset if !self.shown.is_empty() => {
                output::piece("\n…\n")?;
                self.shown.clear();
            }
            _ => {}
        }
        Ok(())
    }

    fn clear(&self) {
        self.progress.finish_and_clear();
    }

    fn end(&mut self, result: &TurnResult) -> io::Result<()> {
        self.clear();
        if self.silent {
            return Ok(());
        }
        // The options of a question are shown with their numbers.
        let text = match &result.hitl {
            Some(question) if result.status == RunStatus::AwaitingInput => &question.prompt,
            _ => &result.response,
        };
        if self.shown == *text {
            return output::line("");
        }
        if !self.shown.is_empty() {
            output::line("")?;
        }
        output::line(text)
    }
}

fn show_sources(result: &TurnResult) -> io::Result<()> {
    if result.citations.is_empty() {
        return Ok(());
    }
    output::line("")?;
    for citation in &result.citations {
        let page = match citation.page.as_deref() {
            Some(label) if label.bytes().all(|byte| byte.is_ascii_digit()) => format!(", page {label}"),
            Some(label) => format!(", {label}"),
            None => String::new(),
        };
        let flat = citation.quote.split_whitespace().collect::<Vec<_>>().join(" ");
        let mut quote: String = flat.chars().take(QUOTE).collect();
        if quote.len() < flat.len() {
            quote.push('…');
        }
        output::line(&format!("[{}] {}{page}: {quote}", citation.marker, citation.filename))?;
    }
    Ok(())
}

fn show_options(question: &HitlView) -> io::Result<()> {
    if question.option_list.is_empty() {
        return Ok(());
    }
    output::line("")?;
    for (no, option) in question.option_list.iter().enumerate() {
        let passages = if option.evidence_count == 1 { "passage" } else { "passages" };
        output::line(&format!("  {}. {} ({} {passages})", no + 1, option.label, option.evidence_count))?;
    }
    Ok(())
}

/// The reply of the person at the terminal; none when they leave.
fn read_reply() -> io::Result<Option<String>> {
    output::piece("\nA number or your own words; nothing leaves the question open.\n> ")?;
    let mut line = String::new();
    if io::stdin().lock().read_line(&mut line)? == 0 {
        // Left with the end-of-file key: nobody has ended the prompt's line.
        output::line("")?;
    }
    output::line("")?;
    Ok(Some(line.trim().to_owned()).filter(|reply| !reply.is_empty()))
}

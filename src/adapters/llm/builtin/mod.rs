//! The chat model that needs no network: deterministic, it searches and answers with the sentences that answer.
//!
//! It speaks the same port as any model. A user message makes it call the knowledge tool (or answer small talk); the
//! tool's result, or evidence in the same format in an instruction, makes it answer in the documents' own words.

mod blocks;
mod clauses;
mod pick;
mod quoting;
mod rows;
mod speak;
mod talk;
mod terms;
mod told;
mod wishes;
mod wording;
mod write;

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::json;

use self::wishes::Wish;
use crate::domain::{
    error::ModelError,
    evidence::{ParsedEvidence, parse_evidence},
    index::Embedder,
    model::{ChatModel, ModelRequest, ModelStream, Prompt, ToolCall},
    setting::{LANGUAGE, language_wanted},
};
use crate::text::{
    cut,
    lang::{Lang, detect},
};

/// The tools that it calls.
const SEARCH: &str = "search_knowledge_base";
const LIST: &str = "list_sources";
const OPEN: &str = "open_source";
const REMEMBER: &str = "remember";
/// Characters by which the end of a begun answer is known again.
const LAST_WORDS: usize = 24;
/// Most characters of a query.
const MAX_QUERY: usize = 1_000;
/// How a search begins that the turn may not make.
const LIMIT_REACHED: &str = "TOOL_CALL_LIMIT_REACHED";

/// The built-in chat model.
#[derive(Clone)]
pub struct Builtin {
    embedder: Option<Arc<dyn Embedder>>,
}

impl Builtin {
    /// A model that compares sentences by words, and by meaning where there is an embedder.
    #[must_use]
    pub const fn new(embedder: Option<Arc<dyn Embedder>>) -> Self {
        Self { embedder }
    }

    async fn answer(&self, evidence: &ParsedEvidence, asked: &str, wanted: Option<Lang>) -> String {
        let question = if evidence.question.trim().is_empty() { asked } else { evidence.question.as_str() };
        let lang = wanted.unwrap_or_else(|| language(question, asked));
        if evidence.guidance.parts.is_empty() {
            return self.answer_one(evidence, question, asked, lang).await;
        }
        let mut answers = Vec::new();
        for part in &evidence.guidance.parts {
            let own = own(&part.question);
            let answer = match evidence.of_part(part) {
                Some(evidence) => self.answer_one(&evidence, &part.question, own, lang).await,
                None => write::unanswered(own, lang),
            };
            if !answers.contains(&answer) {
                answers.push(answer);
            }
        }
        answers.join("\n\n")
    }

    async fn answer_one(&self, evidence: &ParsedEvidence, question: &str, asked: &str, lang: Lang) -> String {
        let mut material = pick::Material::new(evidence, question, asked);
        if let Some(embedder) = &self.embedder {
            material.compare(embedder.as_ref()).await;
        }
        write::answer(evidence, &material, lang)
    }
}

#[async_trait]
impl ChatModel for Builtin {
    fn name(&self) -> &str {
        "builtin"
    }

    fn offers(&self, model: &str) -> bool {
        model == self.name()
    }

    async fn stream(&self, request: ModelRequest) -> Result<ModelStream, ModelError> {
        if request.schema.is_some() {
            return Err(ModelError::Permanent(
                "the built-in model gives no JSON; built-in rules decide instead".into(),
            ));
        }
        let prompt_tokens = speak::tokens_of(&request.messages);
        let turn = Turn::read(&request);
        let asked = turn.asked;
        let wanted = wanted(&request.messages);
        let lang = wanted.unwrap_or_else(|| language(asked, asked));
        let text = match turn.step {
            Step::Asked if offers(&request, SEARCH) => match talk::reply(asked, lang) {
                Some(text) => text.to_owned(),
                None => return Ok(speak::call(first_call(&request, asked), prompt_tokens)),
            },
            Step::Asked => talk::reply(asked, lang).unwrap_or(write::cannot_search(lang)).to_owned(),
            Step::Found(evidence) => self.answer(&evidence, asked, wanted).await,
            Step::Opened(evidence) => told::opened(&evidence, lang),
            Step::FoundNothing => write::no_knowledge(lang).to_owned(),
            Step::Listed(text) => told::listed(text, lang),
            Step::Remembered(text) => told::remembered(text, lang),
            Step::Told(text) => told::told(text, lang),
        };
        let rest = behind(turn.begun, &text);
        Ok(speak::text(rest, request.sampling.max_tokens, prompt_tokens))
    }
}

/// What stands in `text` behind an answer that was begun: behind its last words where it began otherwise. An answer that
/// is none of this text is complete.
fn behind<'t>(begun: &str, text: &'t str) -> &'t str {
    if begun.is_empty() {
        return text;
    }
    if let Some(rest) = text.strip_prefix(begun) {
        return rest;
    }
    let last = begun.char_indices().rev().nth(LAST_WORDS).map_or(begun, |(at, _)| &begun[at..]);
    text.rfind(last).map_or("", |at| &text[at + last.len()..])
}

/// A question without what it leans on, and what was answered to askback's own: that stands in brackets behind it.
fn own(question: &str) -> &str {
    question.split_once(" (").map_or(question, |(own, _)| own)
}

/// The language to answer in: that of what was typed, else the question's ("2" has none).
fn language(question: &str, asked: &str) -> Lang {
    [asked, own(question), question].into_iter().map(detect).find(|lang| *lang != Lang::Other).unwrap_or(Lang::En)
}

/// The language that the user has asked for once and for all, if it is one of those that this model writes.
fn wanted(messages: &[Prompt]) -> Option<Lang> {
    let code = messages.iter().find_map(|message| match message {
        Prompt::System { content } => language_wanted(content),
        _ => None,
    })?;
    [Lang::En, Lang::Zh].into_iter().find(|lang| lang.code() == Some(code))
}

fn offers(request: &ModelRequest, tool: &str) -> bool {
    request.tools.iter().any(|offered| offered.name == tool)
}

/// The call that a message begins with: a search, unless it speaks of the results of the last one, or wishes a language.
fn first_call(request: &ModelRequest, asked: &str) -> ToolCall {
    let messages = &request.messages;
    let is_cited = |message: &Prompt| matches!(message, Prompt::Assistant { content, .. } if wishes::is_cited(content));
    let wish = wishes::wish(asked, messages.iter().any(is_cited));
    let (name, arguments) = match wish {
        Some(Wish::Open(index)) if offers(request, OPEN) => (OPEN, json!({ "index": index })),
        Some(Wish::List) if offers(request, LIST) => (LIST, json!({})),
        Some(Wish::Speak(lang)) if offers(request, REMEMBER) => {
            (REMEMBER, json!({ "key": LANGUAGE, "value": lang.code() }))
        }
        _ => (SEARCH, json!({ "query": query(messages) })),
    };
    ToolCall { id: "call_1".into(), name: name.into(), arguments: arguments.to_string() }
}

/// What to search for: the user's message as it was typed. What it leans on, retrieval finds in the turns before.
fn query(messages: &[Prompt]) -> &str {
    let mut said = messages.iter().rev().filter_map(|message| match message {
        Prompt::User { content } if parse_evidence(content).is_none() => Some(content.trim()),
        _ => None,
    });
    cut(said.next().unwrap_or_default(), MAX_QUERY)
}

/// What the conversation asks for now.
struct Turn<'r> {
    /// The last message of the user; empty where it is material to answer from.
    asked: &'r str,
    /// What the answer begins with already.
    begun: &'r str,
    step: Step<'r>,
}

enum Step<'r> {
    /// The user spoke last, and nothing has been looked up.
    Asked,
    /// Passages to answer from.
    Found(ParsedEvidence),
    /// A section that was wished for.
    Opened(ParsedEvidence),
    /// The search found nothing, or may not run.
    FoundNothing,
    /// Results were listed.
    Listed(&'r str),
    /// Something is remembered.
    Remembered(&'r str),
    /// Another tool answered.
    Told(&'r str),
}

impl<'r> Turn<'r> {
    fn read(request: &'r ModelRequest) -> Self {
        let messages = &request.messages;
        let last_user = messages.iter().rposition(|message| matches!(message, Prompt::User { .. }));
        let asked = match last_user.map(|at| &messages[at]) {
            Some(Prompt::User { content }) => content.as_str(),
            _ => "",
        };
        let since = messages.get(last_user.map_or(0, |at| at + 1)..).unwrap_or_default();
        let results = since.iter().rev().filter_map(|message| match message {
            Prompt::Tool { name, content, .. } => Some((name.as_str(), content.as_str())),
            _ => None,
        });
        // Written on is an answer that stands between its passages and the last word of the user.
        let (asked, begun) = match messages.as_slice() {
            [.., Prompt::User { content }, Prompt::Assistant { content: begun, .. }, Prompt::User { .. }]
                if request.tools.is_empty() && parse_evidence(asked).is_none() =>
            {
                (content.as_str(), begun.as_str())
            }
            _ => (asked, ""),
        };
        let found = results.clone().find_map(|(name, content)| Some((name, parse_evidence(content)?)));
        let material = parse_evidence(asked);
        let asked = if material.is_some() { "" } else { asked };
        let given = || {
            let mut texts = messages.iter().rev().filter_map(|message| match message {
                Prompt::System { content } => Some(content.as_str()),
                _ => None,
            });
            material.or_else(|| texts.find_map(parse_evidence))
        };
        let told = results.clone().find(|(name, _)| *name != SEARCH);
        let step = if let Some((OPEN, evidence)) = found {
            Step::Opened(evidence)
        } else if let Some(evidence) = found.map(|(_, evidence)| evidence).or_else(given) {
            Step::Found(evidence)
        } else if let Some((_, content)) = told.filter(|(name, _)| *name == LIST) {
            Step::Listed(content)
        } else if let Some((_, content)) = told.filter(|(name, _)| *name == REMEMBER) {
            Step::Remembered(content)
        } else if let Some((_, content)) = told.filter(|(_, content)| !content.starts_with(LIMIT_REACHED)) {
            Step::Told(content)
        } else if results.count() > 0 {
            Step::FoundNothing
        } else {
            Step::Asked
        };
        Self { asked, begun, step }
    }
}

#[cfg(test)]
mod tests;

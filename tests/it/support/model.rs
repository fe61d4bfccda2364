//! A chat model that says what a test wrote down, and checks the invariants of every request that it gets.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex},
};

use askback::domain::{
    error::ModelError,
    model::{ChatModel, ModelEvent, ModelRequest, ModelStream, Prompt, ToolCall, Usage},
};
use async_trait::async_trait;
use futures::StreamExt;
use serde_json::Value;
use tokio::sync::Notify;

/// One thing that the model does in a reply.
#[derive(Debug, Clone)]
pub enum Say {
    Text(String),
    Reasoning(String),
    Call {
        id: String,
        name: String,
        arguments: String,
    },
    /// Fails here; nothing follows.
    Fail(ModelError),
    /// Says nothing more, and does not end.
    Hang,
    /// Goes on when the test says so.
    WaitFor(Arc<Notify>),
    /// Panics here.
    Panic,
}

/// A reply of these pieces of text.
pub fn says(pieces: &[&str]) -> Vec<Say> {
    pieces.iter().map(|piece| Say::Text((*piece).into())).collect()
}

/// A reply that calls one tool.
pub fn calls(name: &str, arguments: &Value) -> Vec<Say> {
    vec![call("c1", name, arguments)]
}

/// A call within a reply.
pub fn call(id: &str, name: &str, arguments: &Value) -> Say {
    Say::Call { id: id.into(), name: name.into(), arguments: arguments.to_string() }
}

/// What a model says to a request.
type Reaction = dyn Fn(&ModelRequest) -> Vec<Say> + Send + Sync;

/// See the module. A call beyond the script is a fault of the test or of askback: it panics, and the turn fails.
#[derive(Default)]
pub struct ScriptedModel {
    script: Mutex<VecDeque<Vec<Say>>>,
    beyond: Option<Box<Reaction>>,
    seen: Mutex<Vec<ModelRequest>>,
    violations: Mutex<Vec<String>>,
}

impl ScriptedModel {
    /// Gives these replies, one per call.
    pub fn new(replies: impl IntoIterator<Item = Vec<Say>>) -> Arc<Self> {
        Arc::new(Self { script: Mutex::new(replies.into_iter().collect()), ..Self::default() })
    }

    /// Gives this reply to every call.
    pub fn always(reply: Vec<Say>) -> Arc<Self> {
        Self::reacting(move |_| reply.clone())
    }

    /// Replies to what it is asked.
    pub fn reacting(reaction: impl Fn(&ModelRequest) -> Vec<Say> + Send + Sync + 'static) -> Arc<Self> {
        Arc::new(Self { beyond: Some(Box::new(reaction)), ..Self::default() })
    }

    /// Adds a reply.
    pub fn then(&self, reply: Vec<Say>) {
        self.script.lock().unwrap().push_back(reply);
    }

    /// Forgets the replies that were not given.
    pub fn drain(&self) {
        self.script.lock().unwrap().clear();
    }

    /// All requests so far.
    pub fn seen(&self) -> Vec<ModelRequest> {
        self.seen.lock().unwrap().clone()
    }

    /// What was wrong with them.
    pub fn violations(&self) -> Vec<String> {
        self.violations.lock().unwrap().clone()
    }
}

#[async_trait]
impl ChatModel for ScriptedModel {
    fn name(&self) -> &str {
        "scripted"
    }

    fn offers(&self, _: &str) -> bool {
        true
    }

    async fn stream(&self, request: ModelRequest) -> Result<ModelStream, ModelError> {
        if let Err(violation) = check(&request) {
            self.violations.lock().unwrap().push(violation.clone());
            panic!("{violation}");
        }
        let planned = self.script.lock().unwrap().pop_front();
        let next = planned.or_else(|| self.beyond.as_ref().map(|react| react(&request)));
        self.seen.lock().unwrap().push(request);
        let reply = next.expect("a model call beyond the script");
        if let [Say::Fail(error)] = reply.as_slice() {
            return Err(error.clone());
        }
        Ok(speak(reply).boxed())
    }
}

fn speak(reply: Vec<Say>) -> impl futures::Stream<Item = Result<ModelEvent, ModelError>> + Send {
    async_stream::stream! {
        let mut finish_reason = "stop";
        let mut words = 0;
        for say in reply {
            match say {
                Say::Text(piece) => {
                    words += 1;
                    yield Ok(ModelEvent::Text(piece));
                }
                Say::Reasoning(piece) => yield Ok(ModelEvent::Reasoning(piece)),
                Say::Call { id, name, arguments } => {
                    finish_reason = "tool_calls";
                    yield Ok(ModelEvent::Call(ToolCall { id, name, arguments }));
                }
                Say::Fail(error) => {
                    yield Err(error);
                    return;
                }
                Say::Hang => std::future::pending::<()>().await,
                Say::WaitFor(gate) => gate.notified().await,
                Say::Panic => panic!("scripted"),
            }
        }
        yield Ok(ModelEvent::End {
            finish_reason: finish_reason.into(),
            usage: Some(Usage { prompt_tokens: 10, completion_tokens: words }),
        });
    }
}

/// The invariants of a request: instructions first and once, nobody says nothing, roles alternate, every call is
/// answered once and in order right behind its message, and the model is the next to speak.
fn check(request: &ModelRequest) -> Result<(), String> {
    let messages = &request.messages;
    let wrong = |index: usize, what: &str| Err(format!("message {index} of {}: {what}: {messages:#?}", messages.len()));
    let mut open: VecDeque<&str> = VecDeque::new();
    let mut answered: Vec<&str> = Vec::new();
    for (index, message) in messages.iter().enumerate() {
        let before = index.checked_sub(1).map(|before| &messages[before]);
        let is_empty = match message {
            Prompt::System { content } | Prompt::User { content } | Prompt::Tool { content, .. } => {
                content.trim().is_empty()
            }
            Prompt::Assistant { content, tool_calls } => content.trim().is_empty() && tool_calls.is_empty(),
        };
        if is_empty {
            return wrong(index, "is empty");
        }
        if !matches!(message, Prompt::Tool { .. }) && !open.is_empty() {
            return wrong(index, "calls before it are not answered");
        }
        match (before, message) {
            (None, Prompt::System { .. }) => {}
            (None, _) => return wrong(index, "is not the instructions"),
            (_, Prompt::System { .. }) => return wrong(index, "instructions again"),
            (Some(Prompt::User { .. }), Prompt::User { .. }) => return wrong(index, "the user speaks twice"),
            (Some(Prompt::Tool { .. }), Prompt::User { .. }) => return wrong(index, "the user speaks after a tool"),
            (Some(Prompt::System { .. } | Prompt::Assistant { .. }), Prompt::Assistant { .. }) => {
                return wrong(index, "the model speaks out of turn");
            }
            (_, Prompt::Tool { call_id, .. }) => {
                if open.pop_front() != Some(call_id) {
                    return wrong(index, "answers a call that is not open");
                }
                if answered.contains(&call_id.as_str()) {
                    return wrong(index, "answers a call again");
                }
                answered.push(call_id);
            }
            (_, Prompt::Assistant { tool_calls, .. }) => open.extend(tool_calls.iter().map(|call| call.id.as_str())),
            (_, Prompt::User { .. }) => {}
        }
    }
    match messages.last() {
        Some(Prompt::User { .. } | Prompt::Tool { .. }) if open.is_empty() => Ok(()),
        _ => wrong(messages.len(), "the model is not the next to speak"),
    }
}

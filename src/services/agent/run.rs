//! The agent as a machine of data: what was said so far, and what comes next. No I/O, no clock, no model.
//!
//! Steps are counted as behaviour.md §3 counts them: a model call is one, a batch of tool calls is one. At the limit
//! one closing model call without tools is allowed beyond it, so that a turn never ends in silence.

use serde::{Deserialize, Serialize};

use crate::domain::{
    hitl::Question,
    model::{Prompt, ToolCall},
};

/// Most calls of one batch that are carried out; the others are answered with an error.
pub const MAX_BATCH: usize = 16;

/// What has to happen next.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// Ask the model; without tools when it is the closing call.
    CallModel {
        /// Whether the model may call tools.
        tools: bool,
    },
    /// Carry out these calls; the machine has already answered those that need no carrying out.
    CallTools(Vec<ToolCall>),
    /// Ask the user; the turn is over.
    AskUser(Box<Question>),
    /// The answer is there.
    Done,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// The model ended its message.
    ModelSaid {
        /// Its text.
        text: String,
        /// The calls it wants.
        calls: Vec<ToolCall>,
    },
    /// A call was carried out.
    ToolAnswered {
        /// Which.
        call_id: String,
        /// What the model is told. Never empty.
        text: String,
        /// A question that ends the turn.
        question: Option<Box<Question>>,
        /// Whether an equal call later in the turn gets the same answer.
        reusable: bool,
    },
}

/// What taking in an event brought about, for those who watch.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Effect {
    /// Calls that the model made, with ids that are unique in the turn.
    pub calls: Vec<ToolCall>,
    /// Calls that were answered without being carried out, with what the model is told.
    pub answered: Vec<(ToolCall, String)>,
}

/// A call of the current batch and its answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Slot {
    call: ToolCall,
    answer: Option<String>,
    question: Option<Box<Question>>,
    /// An earlier call of this batch that gets the same answer.
    same_as: Option<usize>,
}

/// An answer that equal calls get again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Known {
    name: String,
    arguments: String,
    text: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum State {
    Model,
    Tools(Vec<Slot>),
    Asked(Box<Question>),
    Answered(String),
}

/// One turn of the agent. Serializable between any two steps.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Run {
    messages: Vec<Prompt>,
    state: State,
    steps: u32,
    limit: u32,
    closing: bool,
    known: Vec<Known>,
    /// Names of tools that count their own calls: equal calls reach them again.
    metered: Vec<String>,
    ids: Vec<String>,
}

impl Run {
    /// A turn over this conversation, which ends with the user's message, of at most `limit` steps.
    #[must_use]
    pub const fn new(messages: Vec<Prompt>, limit: u32, metered: Vec<String>) -> Self {
        Self {
            messages,
            state: State::Model,
            steps: 0,
            limit,
            closing: false,
            known: Vec::new(),
            metered,
            ids: Vec::new(),
        }
    }

    /// What has to happen next. Asking twice gives the same.
    #[must_use]
    pub fn next(&self) -> Step {
        match &self.state {
            State::Model => Step::CallModel { tools: !self.closing && self.steps < self.limit },
            State::Tools(slots) => Step::CallTools(
                slots
                    .iter()
                    .filter(|slot| slot.answer.is_none() && slot.same_as.is_none())
                    .map(|slot| slot.call.clone())
                    .collect(),
            ),
            State::Asked(question) => Step::AskUser(question.clone()),
            State::Answered(_) => Step::Done,
        }
    }

    /// Takes in what happened. Events that do not fit the state are ignored: a late answer changes nothing.
    pub fn apply(&mut self, event: Event) -> Effect {
        match (event, &mut self.state) {
            (Event::ModelSaid { text, calls }, State::Model) => self.model_said(text, calls),
            (Event::ToolAnswered { call_id, text, question, reusable }, State::Tools(slots)) => {
                let Some(slot) = slots.iter_mut().find(|slot| slot.call.id == call_id && slot.answer.is_none()) else {
                    return Effect::default();
                };
                if reusable && question.is_none() && !self.metered.contains(&slot.call.name) {
                    self.known.push(Known {
                        name: slot.call.name.clone(),
                        arguments: canonical(&slot.call.arguments),
                        text: text.clone(),
                    });
                }
                slot.answer = Some(text);
                slot.question = question;
                Effect { calls: Vec::new(), answered: self.close_batch() }
            }
            _ => Effect::default(),
        }
    }

    fn model_said(&mut self, text: String, calls: Vec<ToolCall>) -> Effect {
        let last = self.closing || self.steps >= self.limit;
        self.closing |= last;
        if !last {
            self.steps += 1;
        }
        if last || calls.is_empty() {
            self.messages.push(Prompt::Assistant { content: text.clone(), tool_calls: Vec::new() });
            self.state = State::Answered(text);
            return Effect::default();
        }
        let calls: Vec<ToolCall> = calls.into_iter().map(|call| self.with_own_id(call)).collect();
        self.messages.push(Prompt::Assistant { content: text, tool_calls: calls.clone() });
        let room = self.steps < self.limit;
        if room {
            self.steps += 1;
        }
        let mut slots: Vec<Slot> = Vec::with_capacity(calls.len());
        let mut answered = Vec::new();
        for (index, call) in calls.iter().cloned().enumerate() {
            let (answer, same_as) = if !room {
                (Some("STEP_LIMIT_REACHED: no more tools can be called in this turn.".to_owned()), None)
            } else if index >= MAX_BATCH {
                (Some(format!("Error: at most {MAX_BATCH} calls are carried out at once; this one was not.")), None)
            } else {
                (self.known_answer(&call), self.twin(&slots, &call))
            };
            answered.extend(answer.clone().map(|text| (call.clone(), text)));
            slots.push(Slot { call, answer, question: None, same_as });
        }
        self.state = State::Tools(slots);
        answered.extend(self.close_batch());
        Effect { calls, answered }
    }

    /// Gives a call an id that no other call of the turn has; some servers number calls anew in every message.
    fn with_own_id(&mut self, mut call: ToolCall) -> ToolCall {
        if call.id.is_empty() {
            call.id = "call".into();
        }
        let given = call.id.clone();
        let mut n = 2;
        while self.ids.contains(&call.id) {
            call.id = format!("{given}-{n}");
            n += 1;
        }
        self.ids.push(call.id.clone());
        call
    }

    fn known_answer(&self, call: &ToolCall) -> Option<String> {
        let arguments = canonical(&call.arguments);
        self.known
            .iter()
            .find(|known| known.name == call.name && known.arguments == arguments)
            .map(|known| known.text.clone())
    }

    fn twin(&self, slots: &[Slot], call: &ToolCall) -> Option<usize> {
        if self.metered.contains(&call.name) {
            return None;
        }
        let arguments = canonical(&call.arguments);
        slots.iter().position(|slot| slot.call.name == call.name && canonical(&slot.call.arguments) == arguments)
    }

    /// Gives twins the answer of their first, and tells which. When every call of the batch has its answer: hands them
    /// to the model, in the order of the calls, or asks.
    fn close_batch(&mut self) -> Vec<(ToolCall, String)> {
        let State::Tools(slots) = &mut self.state else { return Vec::new() };
        let mut told = Vec::new();
        for index in 0..slots.len() {
            let first = slots[index].same_as.and_then(|first| slots[first].answer.clone());
            let slot = &mut slots[index];
            if let (Some(text), None) = (first, &slot.answer) {
                told.push((slot.call.clone(), text.clone()));
                slot.answer = Some(text);
            }
        }
        if slots.iter().any(|slot| slot.answer.is_none()) {
            return told;
        }
        let mut question = None;
        for slot in std::mem::take(slots) {
            self.messages.push(Prompt::Tool {
                call_id: slot.call.id,
                name: slot.call.name,
                content: slot.answer.unwrap_or_default(),
            });
            question = question.or(slot.question);
        }
        self.closing |= self.steps >= self.limit;
        self.state = match question {
            Some(question) => State::Asked(question),
            None => State::Model,
        };
        told
    }

    /// The conversation so far: what the model is asked with.
    #[must_use]
    pub fn messages(&self) -> &[Prompt] {
        &self.messages
    }

    /// The answer, once it is there.
    #[must_use]
    pub fn answer(&self) -> Option<&str> {
        match &self.state {
            State::Answered(text) => Some(text),
            State::Model | State::Tools(_) | State::Asked(_) => None,
        }
    }

    /// Steps taken; the closing call is not one.
    #[must_use]
    pub const fn steps(&self) -> u32 {
        self.steps
    }

    /// Whether the limit ended the turn.
    #[must_use]
    pub const fn hit_limit(&self) -> bool {
        self.closing
    }
}

/// Arguments that mean the same compare equal: objects are read and written again with sorted keys.
fn canonical(arguments: &str) -> String {
    match serde_json::from_str::<serde_json::Value>(arguments) {
        Ok(value) => value.to_string(),
        Err(_) => arguments.trim().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::evidence::Route;

    fn call(id: &str, name: &str, arguments: &str) -> ToolCall {
        ToolCall { id: id.into(), name: name.into(), arguments: arguments.into() }
    }

    fn said(text: &str, calls: Vec<ToolCall>) -> Event {
        Event::ModelSaid { text: text.into(), calls }
    }

    fn answered(id: &str, text: &str) -> Event {
        Event::ToolAnswered { call_id: id.into(), text: text.into(), question: None, reusable: true }
    }

    fn tool(id: &str, name: &str, content: &str) -> Prompt {
        Prompt::Tool { call_id: id.into(), name: name.into(), content: content.into() }
    }

    fn run(limit: u32) -> Run {
        Run::new(vec![Prompt::User { content: "hi".into() }], limit, vec!["search".into()])
    }

    fn question() -> Box<Question> {
        Box::new(Question {
            route: Route::Clarify,
            prompt: "Which year?".into(),
            options: vec![],
            missing_slots: vec!["year".into()],
            original_question: "hi".into(),
            rewrite_count: 0,
            parts: Vec::new(),
        })
    }

    #[test]
    fn an_answer_without_calls_ends_it() {
        let mut run = run(8);
        assert_eq!(run.next(), Step::CallModel { tools: true });
        run.apply(said("hello", vec![]));
        assert_eq!((run.next(), run.answer(), run.steps(), run.hit_limit()), (Step::Done, Some("hello"), 1, false));
    }

    #[test]
    fn calls_are_answered_in_their_order_each_once() {
        let mut run = run(8);
        let (a, b) = (call("1", "a", "{}"), call("2", "b", "{}"));
        run.apply(said("let me see", vec![a.clone(), b.clone()]));
        assert_eq!(run.next(), Step::CallTools(vec![a.clone(), b.clone()]));
        run.apply(answered("2", "B"));
        assert_eq!(run.next(), Step::CallTools(vec![a.clone()]));
        run.apply(answered("2", "again"));
        run.apply(answered("1", "A"));
        assert_eq!(run.next(), Step::CallModel { tools: true });
        assert_eq!(
            run.messages(),
            [
                Prompt::User { content: "hi".into() },
                Prompt::Assistant { content: "let me see".into(), tool_calls: vec![a, b] },
                tool("1", "a", "A"),
                tool("2", "b", "B"),
            ]
        );
    }

    #[test]
    fn equal_calls_are_answered_from_the_first_unless_metered() {
        let mut run = run(8);
        let (a, b) = (call("1", "a", r#"{"x":1,"y":2}"#), call("2", "a", r#"{"y":2, "x":1}"#));
        run.apply(said("", vec![a.clone(), b.clone()]));
        assert_eq!(run.next(), Step::CallTools(vec![a]));
        assert_eq!(run.apply(answered("1", "A")), Effect { calls: vec![], answered: vec![(b, "A".into())] });
        let (c, s) = (call("3", "a", r#"{"x":1,"y":2}"#), call("4", "search", "{}"));
        let effect = run.apply(said("", vec![c.clone(), s.clone()]));
        assert_eq!(effect, Effect { calls: vec![c.clone(), s.clone()], answered: vec![(c, "A".into())] });
        assert_eq!(run.next(), Step::CallTools(vec![s]));
        run.apply(answered("4", "found"));
        let again = call("5", "search", "{}");
        run.apply(said("", vec![again.clone()]));
        assert_eq!(run.next(), Step::CallTools(vec![again]));
        let told: Vec<&Prompt> =
            run.messages().iter().filter(|message| matches!(message, Prompt::Tool { .. })).collect();
        assert_eq!(
            told,
            [&tool("1", "a", "A"), &tool("2", "a", "A"), &tool("3", "a", "A"), &tool("4", "search", "found")]
        );
    }

    #[test]
    fn ids_that_repeat_are_made_unique() {
        let mut run = run(8);
        let effect = run.apply(said("", vec![call("", "a", "1"), call("", "a", "2"), call("call-2", "a", "3")]));
        let ids: Vec<String> = effect.calls.into_iter().map(|call| call.id).collect();
        assert_eq!(ids, ["call", "call-2", "call-2-2"]);
    }

    #[test]
    fn at_the_limit_one_closing_call_without_tools() {
        let mut run = run(8);
        let mut model_calls = 0;
        for n in 0.. {
            match run.next() {
                Step::CallModel { tools } => {
                    model_calls += 1;
                    assert_eq!(tools, model_calls <= 4);
                    run.apply(said("so far", vec![call(&n.to_string(), "a", &n.to_string())]));
                }
                Step::CallTools(calls) => {
                    run.apply(answered(&calls[0].id, "A"));
                }
                Step::AskUser(_) => panic!("nothing to ask"),
                Step::Done => break,
            }
        }
        assert_eq!((run.steps(), model_calls, run.answer(), run.hit_limit()), (8, 5, Some("so far"), true));
    }

    #[test]
    fn an_odd_limit_answers_the_last_calls_without_carrying_them_out() {
        let mut run = run(1);
        run.apply(said("", vec![call("1", "a", "{}")]));
        assert_eq!((run.next(), run.steps()), (Step::CallModel { tools: false }, 1));
        assert!(matches!(run.messages().last(), Some(Prompt::Tool { call_id, content, .. })
            if call_id == "1" && content.starts_with("STEP_LIMIT_REACHED")));
    }

    #[test]
    fn a_question_ends_the_turn_once_the_batch_is_answered() {
        let mut run = run(8);
        run.apply(said("", vec![call("1", "search", "{}"), call("2", "a", "{}")]));
        run.apply(Event::ToolAnswered {
            call_id: "1".into(),
            text: "NEEDS_CLARIFICATION".into(),
            question: Some(question()),
            reusable: true,
        });
        assert!(matches!(run.next(), Step::CallTools(_)));
        run.apply(answered("2", "A"));
        assert_eq!(run.next(), Step::AskUser(question()));
    }

    #[test]
    fn it_survives_being_stored_between_steps() {
        let mut run = run(8);
        run.apply(said("", vec![call("1", "a", "{}")]));
        let stored = serde_json::to_string(&run).unwrap();
        let mut again: Run = serde_json::from_str(&stored).unwrap();
        assert_eq!(again, run);
        again.apply(answered("1", "A"));
        assert_eq!(again.next(), Step::CallModel { tools: true });
    }
}

//! The agent's only I/O: asks the model and carries out the tools that [`run::Run`] wants, one step after another.

mod bounded;
pub mod registry;
pub mod run;
mod weather;

use futures::{FutureExt, StreamExt, stream::FuturesUnordered};

use crate::domain::{
    error::{ModelError, ToolError, ToolFault, TurnError},
    event::ResultView,
    hitl::Question,
    model::{ChatModel, ModelEvent, ModelRequest, Sampling, ToolCall, Usage},
    tool::{ToolContext, ToolOutcome},
    user::Role,
};

pub use self::weather::CurrentWeather;
use self::{
    registry::Registry,
    run::{Event, Run, Step},
};

/// Most characters of one answer. A model that goes on beyond is cut off with `length`.
pub const MAX_ANSWER_CHARS: usize = 400_000;

/// What happens while an agent works, for those who watch.
#[derive(Debug)]
pub enum Said {
    /// A model call begins.
    Thinking,
    /// A piece of the answer, as far as one can tell yet.
    Text(String),
    /// A piece of reasoning.
    Reasoning(String),
    /// The text so far belonged to a step, not to the answer.
    Reset,
    /// A tool is called.
    Call(ToolCall),
    /// It answered; once per call.
    Answered {
        /// As clients see it.
        view: ResultView,
        /// What the model reads.
        text: String,
        /// What else the tool gave, if it was carried out and worked.
        outcome: Option<Box<ToolOutcome>>,
        /// Why it did not, if it was to be carried out.
        fault: Option<ToolFault>,
    },
    /// A model call ended.
    ModelEnded {
        /// Why.
        finish_reason: String,
        /// If counted.
        usage: Option<Usage>,
    },
}

/// How an agent's turn ended.
#[derive(Debug)]
pub enum End {
    /// All of the answer was said.
    Answered,
    /// A tool wants to ask the user.
    Asked(Box<Question>),
}

/// With what an agent works.
pub struct Agent<'a> {
    /// Speaks.
    pub model: &'a dyn ChatModel,
    /// Overrides the model's name at its server.
    pub model_name: Option<String>,
    /// How it is to answer.
    pub sampling: Sampling,
    /// What it may do.
    pub tools: &'a Registry,
}

impl Agent<'_> {
    /// Drives `run` to its end. `say` hears everything at once, in order; it must not block.
    ///
    /// Dropping the future closes the connection to the model and cancels the tools.
    ///
    /// # Errors
    /// A model failed, or a tool failed in a way that the turn cannot survive. What was said before was heard by `say`.
    pub async fn drive(
        &self,
        run: &mut Run,
        ctx: &ToolContext,
        say: &mut (dyn FnMut(Said) + Send),
    ) -> Result<End, TurnError> {
        loop {
            match run.next() {
                Step::CallModel { tools } => {
                    let (text, calls) = self.ask(run, tools.then_some(ctx.role), say).await?;
                    let effect = run.apply(Event::ModelSaid { text, calls });
                    effect.calls.into_iter().for_each(|call| say(Said::Call(call)));
                    effect.answered.iter().for_each(|(call, text)| say(not_carried_out(call, text)));
                }
                Step::CallTools(calls) => self.carry_out(run, calls, ctx, say).await?,
                Step::AskUser(question) => return Ok(End::Asked(question)),
                Step::Done => return Ok(End::Answered),
            }
        }
    }

    /// One model call, with the tools of a role or with none. Text is heard as it comes; when a call follows it, it is
    /// taken back.
    async fn ask(
        &self,
        run: &Run,
        tools: Option<Role>,
        say: &mut (dyn FnMut(Said) + Send),
    ) -> Result<(String, Vec<ToolCall>), TurnError> {
        fail::fail_point!("turn:model", |_| Err(TurnError::Model(ModelError::Transient("failpoint".into()))));
        say(Said::Thinking);
        let request = ModelRequest {
            model: self.model_name.clone(),
            messages: run.messages().to_vec(),
            tools: tools.map(|role| self.tools.specs(role)).unwrap_or_default(),
            schema: None,
            sampling: self.sampling.clone(),
        };
        listen(self.model, request, tools.is_some(), say).await
    }

    async fn carry_out(
        &self,
        run: &mut Run,
        calls: Vec<ToolCall>,
        ctx: &ToolContext,
        say: &mut (dyn FnMut(Said) + Send),
    ) -> Result<(), TurnError> {
        fail::fail_point!("tool:before", |_| Err(TurnError::Internal("failpoint".into())));
        let mut open: FuturesUnordered<_> = calls.into_iter().map(|call| self.call(call, ctx).boxed()).collect();
        while let Some((call, result)) = open.next().await {
            let (outcome, fault) = match result {
                Ok(outcome) => (Some(outcome), None),
                Err(ToolError::RespondToModel(fault)) => (None, Some(fault)),
                Err(ToolError::Fatal(error)) => return Err(error),
            };
            let (status, text, summary) = match (&outcome, &fault) {
                (Some(outcome), _) => (outcome.status.clone(), outcome.text.clone(), outcome.summary.clone()),
                (None, fault) => {
                    let text = fault.as_ref().map(ToString::to_string).unwrap_or_default();
                    ("error".to_owned(), text.clone(), first_line(&text))
                }
            };
            let text = if text.trim().is_empty() { "(nothing)".to_owned() } else { text };
            let question = outcome.as_ref().and_then(|outcome| outcome.question.clone()).map(Box::new);
            let status = if question.is_some() { "asked".to_owned() } else { status };
            say(Said::Answered {
                view: ResultView { id: call.id.clone(), name: call.name.clone(), status, summary },
                text: text.clone(),
                outcome: outcome.map(Box::new),
                fault,
            });
            let effect = run.apply(Event::ToolAnswered { call_id: call.id, text, question, reusable: true });
            effect.answered.iter().for_each(|(call, text)| say(not_carried_out(call, text)));
            fail::fail_point!("tool:answered", |_| Err(TurnError::Internal("failpoint".into())));
        }
        Ok(())
    }

    async fn call(&self, call: ToolCall, ctx: &ToolContext) -> (ToolCall, Result<ToolOutcome, ToolError>) {
        let result = match self.tools.resolve(&call, ctx.role) {
            Ok((tool, arguments)) => bounded::call(tool.as_ref(), ctx, arguments).await,
            Err(error) => Err(error),
        };
        (call, result)
    }
}

/// Hears one model call to its end. When `calls_count`, text is taken back once a call follows it; else calls that a
/// model makes without having tools are ignored.
///
/// # Errors
/// The model's; `BadResponse` when its stream ends without saying so.
pub async fn listen(
    model: &dyn ChatModel,
    request: ModelRequest,
    calls_count: bool,
    say: &mut (dyn FnMut(Said) + Send),
) -> Result<(String, Vec<ToolCall>), TurnError> {
    let mut stream = model.stream(request).await?;
    fail::fail_point!("model:opened", |_| Err(TurnError::Model(ModelError::Transient("failpoint".into()))));
    let (mut text, mut calls) = (String::new(), Vec::new());
    let mut shown = false;
    while let Some(event) = stream.next().await {
        fail::fail_point!("model:heard", |_| Err(TurnError::Model(ModelError::Transient("failpoint".into()))));
        match event? {
            ModelEvent::Text(piece) => {
                if piece.is_empty() {
                    continue;
                }
                text.push_str(&piece);
                if calls.is_empty() {
                    shown = true;
                    say(Said::Text(piece));
                }
                if text.len() > MAX_ANSWER_CHARS * 4 {
                    say(Said::ModelEnded { finish_reason: "length".into(), usage: None });
                    return Ok((text, calls));
                }
            }
            ModelEvent::Reasoning(piece) => say(Said::Reasoning(piece)),
            ModelEvent::Call(call) if calls_count => {
                if std::mem::take(&mut shown) {
                    say(Said::Reset);
                }
                calls.push(call);
            }
            ModelEvent::Call(_) => {}
            ModelEvent::End { finish_reason, usage } => {
                say(Said::ModelEnded { finish_reason, usage });
                fail::fail_point!("model:ended", |_| Err(TurnError::Model(ModelError::Transient("failpoint".into()))));
                return Ok((text, calls));
            }
        }
    }
    Err(TurnError::Model(ModelError::BadResponse("the stream ended without completion".into())))
}

/// The answer of a call that was not carried out, for those who watch.
fn not_carried_out(call: &ToolCall, text: &str) -> Said {
    let status =
        if ["Error (", "Error:", "STEP_LIMIT"].iter().any(|begins| text.starts_with(begins)) { "error" } else { "ok" };
    Said::Answered {
        view: ResultView {
            id: call.id.clone(),
            name: call.name.clone(),
            status: status.into(),
            summary: first_line(text),
        },
        text: text.to_owned(),
        outcome: None,
        fault: None,
    }
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().chars().take(120).collect()
}

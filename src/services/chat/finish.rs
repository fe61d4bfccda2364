//! The end of a turn: what is written in its one transaction, and the terminal frames that become visible after it.

use std::time::Duration;

use super::{
    Inner,
    cite::citations,
    live::LiveRun,
    turn::{Ending, Scene, Work},
};
use crate::domain::{
    chat::{Finish, Timings, TurnResult},
    episode::Remembered,
    error::{StoreError, TurnError},
    event::TurnEvent,
    hitl::{HitlStatus, Settlement},
    id::UserId,
    problem::Problem,
    run::RunStatus,
};

/// Tries before the watchers are let go: the end then waits for the store, but nobody has to wait for it.
const TRIES: u32 = 4;

/// What became of the attempt to write a turn's end.
pub(super) enum Written {
    /// It is durable.
    Yes,
    /// It is not: another process had ended the run.
    No,
    /// The store did not take it; it is to be written when it does.
    Late(Box<Finish>),
}

impl Inner {
    /// Writes the end of a turn and shows it.
    pub(super) async fn finish(&self, scene: &Scene, live: &LiveRun, mut work: Work, ending: Ending) -> Written {
        work.transcript.close();
        if matches!(ending, Ending::Asked(_)) {
            work.transcript.reset();
        }
        live.seal().await;
        fail::fail_point!("turn:sealed");
        let now = self.ports.clock.now();
        let status = ending.status();
        let problem = match &ending {
            Ending::Failed(error) => Some(scene.problem(error)),
            Ending::Interrupted => Some(scene.problem(&TurnError::Interrupted)),
            Ending::Answered | Ending::Asked(_) | Ending::Stopped => None,
        };
        let settle = scene.accepted.question.as_ref().and_then(|question| match (&ending, &work.settlement) {
            (Ending::Answered | Ending::Asked(_), Some((settlement, reason))) => {
                let is_taken = question.status == HitlStatus::Taken;
                let settlement = if is_taken { *settlement } else { Settlement::Repeated };
                Some((question.id, settlement, reason.clone()))
            }
            // It was settled before, and stays so.
            _ if question.status != HitlStatus::Taken => None,
            // A turn that ends well has judged the message; one that did not leaves the question as it was.
            _ => Some((question.id, Settlement::Reopened, status.as_str().to_owned())),
        });
        let extends = !scene.request.kind.answers_anew();
        let result = self.result(scene, &work, &ending);
        // A failure takes nothing away from an earlier answer and adds nothing to it.
        let has_text = match (&ending, extends) {
            (Ending::Failed(_), true) => false,
            (Ending::Stopped | Ending::Interrupted, true) => work.transcript.said_something(),
            _ => true,
        };
        let episodes = episodes(&work);
        let frames = live.close_with(&terminal(&result, problem.as_ref()));
        fail::fail_point!("turn:closed");
        let transcript = work.transcript;
        let finish = Finish {
            run: scene.run,
            owner: self.owner.clone(),
            session: scene.accepted.session.id,
            extends,
            human: scene.accepted.human,
            message: scene.accepted.message,
            status,
            content: if has_text { result.response.clone() } else { String::new() },
            finish_reason: result.finish_reason.clone(),
            model: Some(result.model.clone()),
            usage: Some(result.usage),
            timings: Some(result.timings),
            parts: transcript.parts,
            citations: result.citations.clone(),
            trace: result.rag_trace.clone(),
            settle,
            ask: match ending {
                Ending::Asked(asked) => Some(asked.pending),
                Ending::Answered | Ending::Stopped | Ending::Failed(_) | Ending::Interrupted => None,
            },
            // What a model was told in a turn that failed, or whose words gave way to a question, nobody has heard.
            episodes,
            told: if status == RunStatus::Completed { work.told } else { Vec::new() },
            error: problem,
            frames,
            now,
        };
        let last_seq = finish.frames.last_seq;
        let written = self.write(finish, scene.user).await;
        if matches!(written, Written::Yes) {
            live.flushed(last_seq);
            fail::fail_point!("turn:shown");
        }
        written
    }

    async fn write(&self, finish: Finish, user: UserId) -> Written {
        let mut pause = Duration::from_millis(50);
        for attempt in 1..=TRIES {
            match commit(self, &finish).await {
                Ok(()) => return Written::Yes,
                // A commit whose answer was lost is found done.
                Err(StoreError::Conflict(_) | StoreError::NotFound) if self.stands(&finish, user).await => {
                    return Written::Yes;
                }
                Err(StoreError::Conflict(_) | StoreError::NotFound) => {
                    tracing::warn!(run_id = %finish.run, "the run was ended elsewhere; what it said is dropped");
                    return Written::No;
                }
                Err(error @ StoreError::Unavailable(_)) => {
                    tracing::error!(run_id = %finish.run, attempt, %error, "the end of a turn could not be written");
                }
            }
            if attempt < TRIES {
                tokio::time::sleep(pause).await;
                pause *= 4;
            }
        }
        Written::Late(Box::new(finish))
    }

    /// Whether the store holds exactly this end.
    async fn stands(&self, finish: &Finish, user: UserId) -> bool {
        let frames = &finish.frames;
        let Ok(run) = self.ports.chats.run(user, finish.run).await else { return false };
        if (run.status, run.last_seq) != (finish.status, frames.last_seq) {
            return false;
        }
        let last = self.ports.chats.frames(finish.run, frames.last_seq.saturating_sub(1), 1).await;
        last.is_ok_and(|batches| batches.iter().any(|batch| batch.lines == frames.lines))
    }

    fn result(&self, scene: &Scene, work: &Work, ending: &Ending) -> TurnResult {
        let transcript = &work.transcript;
        let (response, hitl) = match ending {
            Ending::Asked(asked) => (asked.text.clone(), Some(asked.view.clone())),
            _ => (transcript.answer().to_owned(), None),
        };
        let passages = transcript.evidence.as_ref().map_or(&[][..], |evidence| &evidence.passages);
        let mut citations = if hitl.is_none() { citations(&response, passages) } else { Vec::new() };
        for citation in &mut citations {
            if let Some(said) = transcript.citations.iter().find(|said| said.marker == citation.marker) {
                citation.clone_from(said);
            }
        }
        let model = scene.request.model.clone().unwrap_or_else(|| self.ports.chat_model.name().to_owned());
        let mut trace = transcript.trace.as_deref().cloned();
        if let Some(trace) = &mut trace {
            trace.model = Some(model.clone());
            trace.hitl_reply_verdict.clone_from(&work.verdict);
        }
        TurnResult {
            message_id: (!response.is_empty()).then_some(scene.accepted.message),
            response,
            status: ending.status(),
            session_id: scene.session_name.clone(),
            run_id: scene.run,
            user_message_id: Some(scene.accepted.human),
            parent_id: scene.accepted.parent,
            rag_trace: trace,
            citations,
            hitl,
            model,
            finish_reason: finish_reason(ending, transcript.finish_reason.as_deref()),
            usage: transcript.usage,
            timings: waited(transcript.timings(), scene.queued),
        }
    }
}

/// What the turns after this one can speak of: what was found, and what tools could not do.
fn episodes(work: &Work) -> Vec<Remembered> {
    let sources = work.markers.sources();
    let results = (!sources.is_empty()).then_some(Remembered::Results { sources });
    results.into_iter().chain(work.transcript.faults.iter().cloned()).collect()
}

/// Why the answer ended. A turn is whole: that its model called tools on the way is no reason of its own, and a question
/// is as good an end as an answer.
fn finish_reason(ending: &Ending, model: Option<&str>) -> Option<String> {
    match (ending, model) {
        (Ending::Asked(_), _) | (Ending::Answered, Some("tool_calls")) => Some("stop".into()),
        (Ending::Answered, model) => model.map(str::to_owned),
        (Ending::Stopped | Ending::Failed(_) | Ending::Interrupted, _) => None,
    }
}

/// The times of a turn that had waited before it began.
fn waited(mut timings: Timings, queued: Option<Duration>) -> Timings {
    let queued = queued.map_or(0, super::transcript::millis);
    timings.queue_ms = queued;
    timings.total_ms += queued;
    timings
}

/// One try.
pub(super) async fn commit(inner: &Inner, finish: &Finish) -> Result<(), StoreError> {
    fail::fail_point!("turn:before-finish", |_| Err(StoreError::Unavailable("failpoint".into())));
    inner.ports.chats.finish(finish).await?;
    fail::fail_point!("turn:after-finish");
    Ok(())
}

/// The frames that end a run, in the order of protocol.md.
pub(super) fn terminal(result: &TurnResult, problem: Option<&Problem>) -> Vec<TurnEvent> {
    if let Some(problem) = problem {
        return vec![failure(problem)];
    }
    let trace = result.rag_trace.clone().map(|trace| TurnEvent::Trace { rag_trace: Box::new(trace) });
    let hitl = result.hitl.clone().map(|hitl| TurnEvent::HitlRequest { hitl: Box::new(hitl) });
    let message = TurnEvent::Message { message: Box::new(result.clone()) };
    trace.into_iter().chain(hitl).chain([message]).collect()
}

/// The frame of a turn that failed.
pub(super) fn failure(problem: &Problem) -> TurnEvent {
    TurnEvent::Error { content: problem.detail.clone(), error: Box::new(problem.clone()) }
}

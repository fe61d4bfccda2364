//! Running a recorded turn again: on what its ports answered then, or on today's models.
//!
//! It is played on an empty stage, by the same code as any turn: nothing of it reaches the conversation.

mod compare;
mod lines;

use std::{sync::Arc, time::Duration};

use futures::StreamExt;

use super::{Chat, ChatPorts, Frame, StartError, Submission, Watch, live::StopReason};
use crate::{
    domain::{
        chat::Head as Waiting,
        error::StoreError,
        id::{RunId, SessionId},
        recording::{Head, Recording, Replay},
        run::RunStatus,
        time::Millis,
        user::User,
    },
    services::record::{Recorder, Report, Scope, Stage, Tape, TapedChats, TapedModel, TapedQueue},
};

/// Why a run cannot be played. Each says what to do.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ReplayError {
    /// There is no such run.
    #[error("There is no such run. The result of each turn names its run_id.")]
    NotFound,
    /// There is none, or none any more.
    #[error(
        "This run has no recording: recording was off, or it has expired. Turn it on (record.runs = \"on\") and ask again."
    )]
    NotRecorded,
    /// It came to more than the cap.
    #[error("The recording of this run is incomplete: it came to more than record.size_limit. Raise it and ask again.")]
    Incomplete,
    /// Another version wrote it.
    #[error("The recording has form {0}, which this version does not read. Replay it with the version that wrote it.")]
    OtherForm(u32),
    /// Something that is not on the tape ended it.
    #[error("This run was ended from outside ({0}), and a replay would not be. Replay one that ended by itself.")]
    EndedFromOutside(String),
    /// As many are played as may be.
    #[error("Other runs are being replayed. Try again in a moment.")]
    Busy,
    /// The turn could not be begun.
    #[error("The turn could not be begun: {0}")]
    Start(#[from] StartError),
    /// The store failed.
    #[error(transparent)]
    Store(StoreError),
}

impl Chat {
    /// Runs a recorded turn again, whoever's it is, and says what differs. `live` calls the models again and searches
    /// today's documents; tools that may do more than answer are played in both cases.
    ///
    /// # Errors
    /// See [`ReplayError`].
    pub async fn replay(&self, run: RunId, live: bool) -> Result<Replay, ReplayError> {
        let shelf = self.inner.ports.recorder.shelf().ok_or(ReplayError::NotRecorded)?;
        let _place = shelf.place().ok_or(ReplayError::Busy)?;
        let recording = match shelf.recording(run).await {
            Ok(Some(recording)) => playable(recording)?,
            Ok(None) => return Err(ReplayError::NotRecorded),
            Err(StoreError::NotFound) => return Err(ReplayError::NotFound),
            Err(error) => return Err(ReplayError::Store(error)),
        };
        let (head, then) = (recording.head.clone(), recording.frames.clone());
        let scope = if live { Scope::Conversation } else { Scope::Everything };
        let tape = Tape::playing(recording, scope);
        let now = self.play(&head, Arc::clone(&tape), live).await?;
        let mut replay = compare::compare(run, live, &then, &now);
        replay.calls = calls(&tape.report());
        Ok(replay)
    }

    /// The frames of the turn that `head` describes, played.
    async fn play(&self, head: &Head, tape: Arc<Tape>, live: bool) -> Result<Vec<Frame>, ReplayError> {
        let ports = &self.inner.ports;
        let model = Arc::clone(&ports.chat_model);
        let stage = ChatPorts {
            chats: TapedChats::over(Arc::new(Stage)),
            queue: TapedQueue::over(Arc::new(Stage)),
            history: Arc::new(Stage),
            memory: Arc::clone(&ports.memory),
            settings: Arc::clone(&ports.settings),
            documents: Arc::clone(&ports.documents),
            clock: Arc::clone(&ports.clock),
            chat_model: if live { model } else { TapedModel::named(model, &head.model) },
            fast: ports.fast.clone(),
            retrieval: Arc::clone(&ports.retrieval),
            tools: ports.tools.clone(),
            recorder: Recorder::Playing(tape),
        };
        let play = Play(Self::new(stage, self.inner.config.clone()));
        let watch = if head.waited { play.waited(head).await? } else { play.0.start(submission(head)).await?.watch };
        let frames = watch.collect().await;
        play.0.shutdown(Duration::ZERO).await;
        Ok(frames)
    }
}

/// A service that plays one turn. Whoever waits for it may leave at any time: its tasks end with it.
struct Play(Chat);

impl Play {
    /// A turn that had waited, from where it was started; it has ended when this gives it.
    async fn waited(&self, head: &Head) -> Result<Watch, StartError> {
        let inner = &self.0.inner;
        let now = inner.ports.clock.now();
        let waiting = Waiting { run: RunId::at(now), session: SessionId::at(now), user: head.user, is_to_stop: false };
        let place = Arc::clone(&inner.admission).try_acquire_owned().map_err(|_| super::overloaded())?;
        let mut watch = None;
        inner.run_head(&waiting, place, |live| watch = Some(Watch::live(live, 0))).await?;
        watch.ok_or(StartError::Internal)
    }
}

impl Drop for Play {
    fn drop(&mut self) {
        let inner = &self.0.inner;
        inner.live().values().for_each(|live| live.stop(StopReason::Shutdown));
        inner.closing.cancel();
    }
}

fn playable(recording: Recording) -> Result<Recording, ReplayError> {
    let head = &recording.head;
    if head.v != Head::VERSION {
        return Err(ReplayError::OtherForm(head.v));
    }
    if !head.is_complete {
        return Err(ReplayError::Incomplete);
    }
    match (head.status, head.error_code.as_deref()) {
        (RunStatus::Stopped | RunStatus::Interrupted, _) => {
            Err(ReplayError::EndedFromOutside(head.status.as_str().into()))
        }
        (RunStatus::Failed, Some(code @ "turn_timeout")) => Err(ReplayError::EndedFromOutside(code.into())),
        _ => Ok(recording),
    }
}

fn submission(head: &Head) -> Submission {
    let user = User {
        id: head.user,
        name: String::new(),
        role: head.role,
        password_hash: String::new(),
        auth_epoch: 0,
        disabled_at: None,
        created_at: Millis::default(),
    };
    let (session_name, request) = (head.session_name.clone(), head.request.clone());
    Submission { user, session_name, request, idempotency: None, request_id: None }
}

/// What a person is told of how the tape was asked.
fn calls(report: &Report) -> Vec<String> {
    let told =
        |ports: &[String], what: &str| -> Vec<String> { ports.iter().map(|port| format!("{port}: {what}")).collect() };
    [
        told(&report.asked_differently, "asked otherwise than recorded; the next recorded reply was given"),
        told(&report.missing, "asked something that is not recorded"),
        told(&report.unused, "not asked as often as recorded"),
    ]
    .concat()
}

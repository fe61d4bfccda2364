//! Recording what a turn's ports answer, and playing it back.
//!
//! Each port that may answer differently tomorrow is wrapped once, where everything is wired. The wrapper looks for the
//! tape of the turn at hand: without one it only hands the call on, on a recording tape it notes the answer, on a
//! playing one it answers from the recording. A turn is one task, so the tape travels with the task and no service
//! between has to know of it.
//!
//! Not recorded: vectors of single words (made only by embedders whose answer never changes) and everything that is
//! written.

mod documents;
mod line;
mod model;
mod recorder;
mod search;
mod stage;
mod talk;
mod tape;
mod tools;

use std::{future::Future, sync::Arc};

use serde::{Serialize, de::DeserializeOwned};

use self::tape::Turned;
pub use self::{
    documents::TapedDocuments,
    line::TapedQueue,
    model::TapedModel,
    recorder::{Keeping, Opening, Recorder, Shelf, tend},
    search::{TapedEmbedder, TapedIndex, TapedReranker, taped},
    stage::Stage,
    talk::{TapedChats, TapedClock, TapedEpisodes, TapedMemory, TapedSettings},
    tape::{Report, Scope, Tape},
    tools::TapedTool,
};
use crate::domain::error::{EngineError, ModelError, StoreError};

tokio::task_local! {
    static TAPE: Arc<Tape>;
}

/// The tape of the turn at hand.
fn tape() -> Option<Arc<Tape>> {
    TAPE.try_with(Arc::clone).ok()
}

/// An error of a port that can say that an answer is not on the tape.
trait Unrecorded {
    fn unrecorded() -> Self;
}

const NOT_ON_TAPE: &str = "not recorded";

impl Unrecorded for StoreError {
    fn unrecorded() -> Self {
        Self::Unavailable(NOT_ON_TAPE.into())
    }
}

impl Unrecorded for EngineError {
    fn unrecorded() -> Self {
        Self::Unavailable(NOT_ON_TAPE.into())
    }
}

impl Unrecorded for ModelError {
    fn unrecorded() -> Self {
        Self::Transient(NOT_ON_TAPE.into())
    }
}

/// One call of a port: handed on, noted, or answered from the tape.
async fn through<T, E>(
    port: &'static str,
    request: &impl Serialize,
    call: impl Future<Output = Result<T, E>>,
) -> Result<T, E>
where
    T: Serialize + DeserializeOwned,
    E: Serialize + DeserializeOwned + Unrecorded,
{
    let Some(tape) = tape() else { return call.await };
    match tape.turn(port, request) {
        Turned::Through => call.await,
        Turned::Note(note) => {
            let answer = call.await;
            note.answered(&answer);
            answer
        }
        Turned::Played(answer) => answer,
        Turned::Cut => std::future::pending().await,
        Turned::Missing => Err(E::unrecorded()),
    }
}

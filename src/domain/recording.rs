//! Recordings of runs: what the ports answered, so that a turn can be run again on the same answers.

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    chat::TurnRequest,
    error::StoreError,
    id::{RunId, UserId},
    run::RunStatus,
    time::Millis,
    user::Role,
};

/// What a turn began with and how it ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Head {
    /// Form of the recording: [`Self::VERSION`].
    pub v: u32,
    /// Who asked.
    pub user: UserId,
    /// What they might do.
    pub role: Role,
    /// The session's name, if the client gave one.
    pub session_name: Option<String>,
    /// What was asked for.
    pub request: TurnRequest,
    /// The model that answered.
    pub model: String,
    /// Whether it had waited in line.
    #[serde(default)]
    pub waited: bool,
    /// When the turn began.
    pub began_at: Millis,
    /// How it ended.
    pub status: RunStatus,
    /// The code of its failure.
    pub error_code: Option<String>,
    /// Whether all answers are there; those of a turn that came to more than the cap are not.
    pub is_complete: bool,
}

impl Head {
    /// The form that this version writes and reads.
    pub const VERSION: u32 = 3;
}

/// What a port answered to one call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    /// Its place among the calls of the run.
    pub path: String,
    /// How many equal calls came before it.
    pub attempt: i64,
    /// Which port, and which method of it.
    pub port: String,
    /// Hex SHA-256 of what it was asked.
    pub request_sha256: String,
    /// The answer, as JSON.
    pub body: Vec<u8>,
}

/// A recorded run.
#[derive(Debug, Clone, PartialEq)]
pub struct Recording {
    /// Which.
    pub run: RunId,
    /// How it began and ended.
    pub head: Head,
    /// The frames that it told, one a line.
    pub frames: Vec<u8>,
    /// What the ports answered, in the order in which they were called.
    pub replies: Vec<Reply>,
}

/// Keeps recordings. They go with their run.
#[async_trait]
pub trait RecordingStore: Send + Sync {
    /// Keeps a recording until `expires_at`. One of a run that is gone is dropped.
    async fn keep(&self, recording: &Recording, expires_at: Millis) -> Result<(), StoreError>;
    /// The recording of a run, whoever's. `NotFound` covers a run that is not there; `None`: it was not recorded, or
    /// its recording has expired.
    async fn recording(&self, run: RunId) -> Result<Option<Recording>, StoreError>;
    /// Removes at most `limit` recordings that have expired by `now`, the oldest first; gives how many it removed.
    async fn forget(&self, now: Millis, limit: i64) -> Result<u64, StoreError>;
}

/// What running a recorded turn again came to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct Replay {
    /// The run that was recorded.
    pub run_id: RunId,
    /// Whether the models were called again.
    pub live: bool,
    /// Whether it came to the same: the same events or, live, the same end, route and answer.
    pub equal: bool,
    /// Both ends.
    pub status: Change,
    /// What retrieval decided, if it ran.
    pub route: Change,
    /// The answers as a line diff: `-` recorded, `+` now, two spaces where they agree. Empty: they are equal.
    pub answer: Vec<String>,
    /// How the events differ; the first hundred differences. Live, events differ always: none are told.
    pub events: Vec<Difference>,
    /// What the turn asked its ports otherwise than recorded. That alone is no difference.
    pub calls: Vec<String>,
}

/// A value then and now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct Change {
    /// As recorded.
    pub recorded: Option<String>,
    /// Now.
    pub now: Option<String>,
}

/// A place at which an event differs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct Difference {
    /// Which event, from 1, pieces of one text counted as one.
    pub event: usize,
    /// Its type.
    pub kind: String,
    /// Where in it, as a JSON pointer.
    pub at: String,
    /// As recorded; null: there was none.
    pub recorded: Value,
    /// Now; null: there is none.
    pub now: Value,
}

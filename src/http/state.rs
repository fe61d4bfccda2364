//! What handlers share.

use std::{path::PathBuf, sync::Arc, time::Duration};

use axum::http::HeaderValue;
use futures::future::BoxFuture;
use serde::Serialize;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use crate::{
    domain::{
        chat::{OnBusy, OnDisconnect},
        extract::Extractor,
        knowledge::{BlobStore, DocumentStore},
        time::Clock,
    },
    services::{
        auth::Accounts,
        chat::Chat,
        ingest::{Ingest, folders::Folders},
        memory::{conversations::Conversations, events::Events, notebook::Notebook, settings::Settings},
        retrieval::Retrieval,
    },
};

/// Everything that a handler may reach. Made by boot, shared by all requests.
pub struct App {
    /// Who may come in.
    pub accounts: Accounts,
    /// Turns, runs and sessions.
    pub chat: Chat,
    /// What a turn does when its session is busy, when the request does not say.
    pub on_busy: OnBusy,
    /// What becomes of a turn whose watchers left, when the request does not say.
    pub on_disconnect: OnDisconnect,
    /// Finds passages without a model.
    pub retrieval: Arc<Retrieval>,
    /// Takes documents in and removes them.
    pub ingest: Ingest,
    /// Folders whose files are documents.
    pub folders: Folders,
    /// What happened while nobody looked.
    pub events: Events,
    /// What users want remembered.
    pub settings: Settings,
    /// Notes and episodes of sessions.
    pub notebook: Notebook,
    /// Where conversations stand that clients keep themselves.
    pub conversations: Conversations,
    /// Collections and documents, for reading and for who may read.
    pub documents: Arc<dyn DocumentStore>,
    /// The files as they were uploaded.
    pub blobs: Arc<dyn BlobStore>,
    /// Tells the types of files.
    pub extractor: Arc<dyn Extractor>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Where uploads are written until the blob store has them; on the same file system.
    pub uploads: PathBuf,
    /// What is too much.
    pub limits: Limits,
    /// Room for requests whose answer has not begun: as many as [`Limits::requests`].
    pub places: Semaphore,
    /// Cancelled when the server begins to shut down.
    pub shutdown: CancellationToken,
    /// Origins whose pages may call; none: CORS is off.
    pub origins: Vec<HeaderValue>,
    /// Asks every engine and model how it is. Bounded in time by whoever makes it.
    pub components: Box<dyn Fn() -> BoxFuture<'static, Vec<Component>> + Send + Sync>,
    /// Renders the metrics in Prometheus' text format.
    pub metrics: Box<dyn Fn() -> String + Send + Sync>,
}

/// An engine or a model, as `/readyz` names it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, utoipa::ToSchema)]
pub struct Component {
    /// What it does: `storage`, `index`, `embedder`, `vectors` (whose answer; not ready while reindexing is due),
    /// `chat_model`, …
    #[schema(example = "chat_model")]
    pub role: String,
    /// Which one it is.
    #[schema(example = "builtin")]
    pub name: String,
    /// Whether it works.
    pub ready: bool,
    /// Whether the server is of no use without it. A model that is down is not: the built-in one takes over.
    pub required: bool,
}

/// What is too much, of the doors.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of a JSON body.
    pub json_bytes: usize,
    /// Bytes of an uploaded file.
    pub upload_bytes: u64,
    /// Bytes of a request's headers.
    pub header_bytes: usize,
    /// Requests whose answer has not begun; more get 503.
    pub requests: usize,
    /// Open connections; more wait to be accepted.
    pub connections: usize,
    /// Time for the head of a request, for a JSON body, and between two pieces of an upload.
    pub read_timeout: Duration,
    /// How long a client may leave what is sent to it unread, or read next to nothing of it; then its connection is closed.
    pub write_timeout: Duration,
    /// Longest silence of an event stream.
    pub keep_alive: Duration,
    /// Time that running requests have to end at shutdown.
    pub drain: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            json_bytes: 1 << 20,
            upload_bytes: 100 << 20,
            header_bytes: 16 << 10,
            requests: 1024,
            connections: 8192,
            read_timeout: Duration::from_secs(30),
            write_timeout: Duration::from_secs(60),
            keep_alive: Duration::from_secs(10),
            drain: Duration::from_secs(20),
        }
    }
}

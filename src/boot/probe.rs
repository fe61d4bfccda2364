//! What `/readyz` is told of the parts of a node.

use std::time::Duration;

use crate::{
    adapters::{llm::Client, storage::Storage},
    domain::{index::Filter, profile::Serving},
    http::Component,
    services::ingest::Ingest,
};

/// How long a model server may take to say that it is there.
const PING: Duration = Duration::from_secs(2);

/// Asks the parts of a node how they are.
#[derive(Clone)]
pub(super) struct Probe {
    pub(super) storage: Storage,
    pub(super) serving: Serving,
    pub(super) ingest: Ingest,
    pub(super) embedder: String,
    pub(super) chat: String,
    pub(super) servers: Vec<(&'static str, String, Client)>,
}

impl Probe {
    pub(super) async fn components(self) -> Vec<Component> {
        let part = |role: &str, name: &str, ready, required| Component {
            role: role.into(),
            name: name.into(),
            ready,
            required,
        };
        let storage = self.storage.ready().await.is_ok();
        let served = self.serving.current();
        let index = served.index.count(&Filter::default()).await.is_ok();
        let mut components = vec![
            part("storage", self.storage.engine(), storage, true),
            part("index", "embedded", index, true),
            part("embedder", &self.embedder, true, true),
            // Not ready: some are not the embedder's, and reindexing is due. All questions are answered all the same.
            part("vectors", &served.stored.profile.embedder, !self.ingest.reindex_is_due(), false),
        ];
        if self.servers.iter().all(|(role, ..)| *role != "chat_model") {
            components.push(part("chat_model", &self.chat, true, false));
        }
        let pings = self.servers.iter().map(|(role, model, client)| async move {
            let answered = tokio::time::timeout(PING, client.ping()).await.is_ok_and(|pinged| pinged.is_ok());
            part(role, model, answered, false)
        });
        components.extend(futures::future::join_all(pings).await);
        components
    }
}

//! Which chat models the configuration means.

use std::{collections::HashMap, sync::Arc};

use secrecy::ExposeSecret;

use crate::{
    adapters::llm::{Client, ClientError, Limits, OpenAiChat, builtin::Builtin},
    config::{Endpoint, Llm},
    domain::{index::Embedder, model::ChatModel},
};

/// The models of a node.
pub(super) struct Models {
    /// Answers.
    pub(super) chat: Arc<dyn ChatModel>,
    /// Small decisions; none: built-in rules.
    pub(super) fast: Option<Arc<dyn ChatModel>>,
    /// Judges evidence; none: the built-in grader.
    pub(super) grade: Option<Arc<dyn ChatModel>>,
    /// The servers behind them: role, model, client.
    pub(super) remote: Vec<(&'static str, String, Client)>,
}

/// Makes them. Models of one server and key share its pool of connections.
///
/// # Errors
/// When an address or a key cannot be used.
pub(super) fn models(llm: &Llm, embedder: Arc<dyn Embedder>) -> Result<Models, ClientError> {
    let limits = Limits {
        connect: llm.connect,
        first_token: llm.first_token,
        between_tokens: llm.between_tokens,
        total: llm.total,
        retries: llm.retries,
    };
    let mut clients: HashMap<(String, Option<String>), Client> = HashMap::new();
    let mut remote = Vec::new();
    let mut open = |role, endpoint: Option<Endpoint>| -> Result<Option<Arc<dyn ChatModel>>, ClientError> {
        let Some(endpoint) = endpoint else { return Ok(None) };
        let key = endpoint.api_key.as_ref().map(|key| key.expose_secret().to_owned());
        let client = match clients.get(&(endpoint.base_url.clone(), key.clone())) {
            Some(client) => client.clone(),
            None => {
                let client = Client::new(&endpoint.base_url, endpoint.api_key, limits)?;
                clients.insert((endpoint.base_url, key), client.clone());
                client
            }
        };
        remote.push((role, endpoint.model.clone(), client.clone()));
        Ok(Some(Arc::new(OpenAiChat::new(client, endpoint.model))))
    };
    let chat = open("chat_model", llm.chat())?;
    let fast = open("fast_model", llm.fast())?;
    let grade = open("grade_model", llm.grade())?;
    let chat = chat.unwrap_or_else(|| Arc::new(Builtin::new(Some(embedder))));
    Ok(Models { chat, fast, grade, remote })
}

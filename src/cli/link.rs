//! A way to a server over this data folder: the running one, or else one of our own for as long as the command takes.
//!
//! Commands speak HTTP in both cases, so that there is one path through the program and it is the doors' own.

use std::{net::SocketAddr, time::Duration};

use askback::{
    boot::{
        BootError, Node,
        door::{self, Door},
        folder::DataFolder,
    },
    config::Config,
    domain::problem::Problem,
    telemetry::Metrics,
};
use reqwest::{Method, RequestBuilder, Response, Url};
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::task::JoinHandle;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{Failure, serve::show_new_invite_code};

/// How long a server may take to say that it is there.
const GREETING: Duration = Duration::from_secs(3);

/// An open way.
pub(crate) struct Link {
    http: reqwest::Client,
    door: Door,
    /// The data folder.
    pub(crate) folder: DataFolder,
    own: Option<Own>,
}

/// A server of our own.
struct Own {
    shutdown: CancellationToken,
    serving: JoinHandle<Result<(), BootError>>,
}

impl Link {
    /// Finds the running server, or starts one of our own on this machine's loopback.
    pub(crate) async fn open(config: &Config) -> Result<Self, Failure> {
        // No proxy: the server is on this machine.
        let http = reqwest::Client::builder().no_proxy().build().map_err(|error| failed(&error))?;
        let folder = DataFolder::open(&config.storage.data_dir).map_err(BootError::from)?;
        if let Some(door) = door::find(&folder).map_err(BootError::from)?
            && greets(&http, &door).await
        {
            return Ok(Self { http, door, folder, own: None });
        }
        let metrics = Metrics::start().map_err(|error| Failure::Failed(error.to_string()))?;
        let node = match Node::start(config, metrics).await {
            Err(error) if error.is_locked() => {
                return Err(Failure::Failed(format!(
                    "another askback process is using the data folder {} and does not answer; \
                     wait until it listens, or stop it",
                    config.storage.data_dir.display()
                )));
            }
            started => started?,
        };
        show_new_invite_code(&node);
        let token = node.local_token().await?;
        let (listener, bound) = node.listen(&SocketAddr::from(([127, 0, 0, 1], 0)).to_string()).await?;
        let shutdown = node.app.shutdown.clone();
        let tasks = TaskTracker::new();
        let serving = tasks.spawn(node.serve(listener, bound));
        let door = Door { url: format!("http://{bound}"), token };
        Ok(Self { http, door, folder, own: Some(Own { shutdown, serving }) })
    }

    /// Whether a server that was running answers, by the settings that it was started with.
    pub(crate) const fn is_anothers(&self) -> bool {
        self.own.is_none()
    }

    /// A GET as the local admin.
    pub(crate) fn get(&self, path: &str) -> RequestBuilder {
        self.http.get(format!("{}{path}", self.door.url)).bearer_auth(&self.door.token)
    }

    /// A POST as the local admin.
    pub(crate) fn post(&self, path: &str) -> RequestBuilder {
        self.http.post(format!("{}{path}", self.door.url)).bearer_auth(&self.door.token)
    }

    /// A request as the local admin to the address that these names lead to; names may hold anything.
    pub(crate) fn at(&self, method: Method, names: &[&str]) -> Result<RequestBuilder, Failure> {
        let unfit = || Failure::Failed(format!("{} is no address of a server", self.door.url));
        let mut url = Url::parse(&self.door.url).map_err(|_| unfit())?;
        url.path_segments_mut().map_err(|()| unfit())?.clear().extend(names);
        Ok(self.http.request(method, url).bearer_auth(&self.door.token))
    }

    /// All items of the list at `path`, page by page.
    pub(crate) async fn list(&self, path: &str, items: &str) -> Result<Vec<Value>, Failure> {
        let (mut all, mut cursor) = (Vec::new(), None::<String>);
        loop {
            // Cursors are made of what an address may hold.
            let request = match &cursor {
                Some(cursor) => self.get(&format!("{path}?cursor={cursor}")),
                None => self.get(path),
            };
            let mut page: Value = read(send(request).await?).await?;
            if let Value::Array(found) = page[items].take() {
                all.extend(found);
            }
            match page["next_cursor"].as_str() {
                Some(next) => cursor = Some(next.to_owned()),
                None => return Ok(all),
            }
        }
    }

    /// Ends a server of our own, in order.
    pub(crate) async fn close(self) -> Result<(), Failure> {
        let Some(own) = self.own else { return Ok(()) };
        own.shutdown.cancel();
        own.serving.await.map_err(|error| Failure::Failed(error.to_string()))??;
        Ok(())
    }
}

/// Sends a request; what is no success becomes the failure that its problem tells.
pub(crate) async fn send(request: RequestBuilder) -> Result<Response, Failure> {
    let response = request.send().await.map_err(|error| failed(&error))?;
    if response.status().is_success() {
        return Ok(response);
    }
    let status = response.status();
    Err(match response.json::<Problem>().await {
        Ok(problem) => Failure::Refused { text: told(&problem), code: problem.code },
        Err(_) => Failure::Failed(format!("the server answered {status}")),
    })
}

/// Reads a JSON answer.
pub(crate) async fn read<T: DeserializeOwned>(response: Response) -> Result<T, Failure> {
    response.json().await.map_err(|error| failed(&error))
}

/// A problem in a line.
pub(crate) fn told(problem: &Problem) -> String {
    // Of one field the detail speaks already.
    let more = problem.errors.iter().filter(|error| !problem.detail.contains(&error.message));
    let fields: String = more.map(|error| format!("; {}: {}", error.field, error.message)).collect();
    format!("{} ({}){fields}", problem.detail, problem.code)
}

/// A failure of the way itself.
pub(crate) fn failed(error: &reqwest::Error) -> Failure {
    let mut cause: &dyn std::error::Error = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    Failure::Failed(format!("the server does not answer: {cause}"))
}

async fn greets(http: &reqwest::Client, door: &Door) -> bool {
    let me = http.get(format!("{}/auth/me", door.url)).bearer_auth(&door.token).timeout(GREETING);
    me.send().await.is_ok_and(|response| response.status().is_success())
}

//! The real binary as a server.

use std::{
    path::Path,
    process::{ExitStatus, Stdio},
};

use futures::StreamExt;
use reqwest::{Client, Method, RequestBuilder};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt, BufReader},
    process::{Child, ChildStdout, Command},
};

/// A running `askback serve`; it is killed when dropped.
pub struct Server {
    /// `http://127.0.0.1:…`
    pub url: String,
    child: Child,
    out: BufReader<ChildStdout>,
    http: Client,
}

impl Server {
    /// Starts it over `folder`, with these variables and no others, and waits until it listens.
    pub async fn start(folder: &Path, variables: &[(&str, &str)]) -> Self {
        Self::try_start(folder, variables).await.unwrap_or_else(|ended| panic!("it does not listen: {ended}"))
    }

    /// The same for one that may end before it listens; then how it ended.
    pub async fn try_start(folder: &Path, variables: &[(&str, &str)]) -> Result<Self, ExitStatus> {
        let mut child = Command::new(env!("CARGO_BIN_EXE_askback"))
            .args(["serve", "--listen", "127.0.0.1:0", "--data-dir", "var"])
            .env_clear()
            .envs(variables.iter().copied())
            .current_dir(folder)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .kill_on_drop(true)
            .spawn()
            .expect("the binary starts");
        let mut out = BufReader::new(child.stdout.take().expect("it is piped"));
        let mut line = String::new();
        out.read_line(&mut line).await.expect("it prints UTF-8");
        let Some(url) = line.strip_prefix("listening on ").map(|url| url.trim().to_owned()) else {
            return Err(child.wait().await.expect("it ends"));
        };
        Ok(Self { url, child, out, http: Client::builder().no_proxy().build().expect("a client") })
    }

    /// How it ended, if it has.
    pub fn ended(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().expect("it is ours")
    }

    /// Waits until it has ended by itself.
    pub async fn end(mut self) -> ExitStatus {
        self.child.wait().await.expect("it is ours")
    }

    /// A request of the holder of `token`.
    pub fn request(&self, method: Method, token: &str, path: &str) -> RequestBuilder {
        self.http.request(method, format!("{}{path}", self.url)).bearer_auth(token)
    }

    /// `kill -9`.
    pub async fn kill(mut self) {
        self.child.kill().await.expect("it was running");
    }

    /// SIGTERM; gives the exit code, and what it printed since it listens.
    pub async fn terminate(mut self) -> (Option<i32>, String) {
        self.ask_to_end().await;
        let mut rest = String::new();
        while self.out.read_line(&mut rest).await.expect("it prints UTF-8") > 0 {}
        (self.child.wait().await.expect("it ends").code(), rest)
    }

    /// Sends SIGTERM.
    pub async fn ask_to_end(&self) {
        self.signal("-TERM").await;
    }

    /// `kill -9` while others still speak to it.
    pub async fn strike(&self) {
        self.signal("-KILL").await;
    }

    async fn signal(&self, name: &str) {
        let id = self.child.id().expect("it runs").to_string();
        let sent = Command::new("kill").args([name, &id]).status().await.expect("kill can be called");
        assert!(sent.success());
    }

    /// Registers an account and gives its token.
    pub async fn register(&self, name: &str) -> String {
        let body = json!({"username": name, "password": "correct horse 7"});
        let answer = self.http.post(format!("{}/auth/register", self.url)).json(&body).send().await.unwrap();
        let answer: Value = answer.json().await.unwrap();
        answer["access_token"].as_str().expect("it is registered").to_owned()
    }

    /// A GET that succeeds.
    pub async fn get(&self, token: &str, path: &str) -> Value {
        let answer = self.http.get(format!("{}{path}", self.url)).bearer_auth(token).send().await.unwrap();
        assert!(answer.status().is_success(), "{path}: {}", answer.text().await.unwrap());
        answer.json().await.unwrap()
    }

    /// A POST that succeeds.
    pub async fn post(&self, token: &str, path: &str, body: &Value) -> Value {
        let answer = self.http.post(format!("{}{path}", self.url)).bearer_auth(token).json(body).send().await.unwrap();
        assert!(answer.status().is_success(), "{path}: {}", answer.text().await.unwrap());
        answer.json().await.unwrap()
    }

    /// Asks at `/chat/stream` and gives the frames up to the first one for which `enough` holds.
    pub async fn stream_until(&self, token: &str, body: &Value, enough: impl Fn(&Value) -> bool) -> Vec<Value> {
        let request = self.http.post(format!("{}/chat/stream", self.url)).bearer_auth(token).json(body);
        self.frames(request, enough).await
    }

    /// Every frame that is kept of a run.
    pub async fn kept(&self, token: &str, run: &str) -> Vec<Value> {
        let request = self.http.get(format!("{}/runs/{run}/events", self.url)).bearer_auth(token);
        self.frames(request, |_| false).await
    }

    async fn frames(&self, request: reqwest::RequestBuilder, enough: impl Fn(&Value) -> bool) -> Vec<Value> {
        let answer = request.send().await.unwrap();
        assert!(answer.status().is_success(), "{}", answer.text().await.unwrap());
        let mut pieces = answer.bytes_stream();
        let (mut text, mut frames) = (Vec::new(), Vec::new());
        while let Some(piece) = pieces.next().await {
            text.extend_from_slice(&piece.unwrap());
            while let Some(end) = text.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = text.drain(..=end).collect();
                let Some(frame) = line.strip_prefix(b"data: ").and_then(|data| serde_json::from_slice(data).ok())
                else {
                    continue;
                };
                frames.push(frame);
                if enough(&frames[frames.len() - 1]) {
                    return frames;
                }
            }
        }
        frames
    }
}

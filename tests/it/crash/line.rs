//! The process dies while turns wait in line, and starts again over the same data.

use std::os::unix::process::ExitStatusExt;

use reqwest::Method;
use serde_json::{Value, json};

use crate::support::{
    fake_openai::{FakeOpenAi, Reply},
    home::Home,
    process::Server,
};

const SIGABRT: i32 = 6;

/// A server at whose session `s` a turn hangs, so that another one waits behind it.
struct Line {
    home: Home,
    llm: FakeOpenAi,
    token: String,
}

impl Line {
    async fn new(home: Home) -> Self {
        let server = home.start(&[]).await;
        let token = server.register("anna").await;
        server.kill().await;
        let llm = FakeOpenAi::start(vec![Reply::says_and_hangs(&["So far"])]).await;
        Self { home, llm, token }
    }

    async fn start(&self, failpoints: &str) -> Server {
        let model = [("ASKBACK_LLM_BASE_URL", self.llm.base_url.as_str()), ("ASKBACK_MODEL", "scripted")];
        self.home.start(&[&model[..], &[("FAILPOINTS", failpoints), ("ASKBACK_LOG", "off")]].concat()).await
    }

    /// Begins the turn that the others wait for; gives its run.
    async fn hold(&self, server: &Server) -> String {
        let body = json!({"message": "first", "session_id": "s"});
        let seen = server.stream_until(&self.token, &body, |frame| frame["type"] == "content").await;
        seen[0]["run_id"].as_str().unwrap().to_owned()
    }

    fn second(&self, server: &Server, on_disconnect: &str) -> reqwest::RequestBuilder {
        let body =
            json!({"message": "second", "session_id": "s", "on_busy": "enqueue", "on_disconnect": on_disconnect});
        server.request(Method::POST, &self.token, "/chat/stream").header("idempotency-key", "second").json(&body)
    }

    /// Puts the second turn in line; gives its run, and the stream that watches it.
    async fn line_up(&self, server: &Server, on_disconnect: &str) -> (String, reqwest::Response) {
        let mut watch = self.second(server, on_disconnect).send().await.unwrap();
        let first = watch.chunk().await.unwrap().expect("it waits");
        let first = std::str::from_utf8(&first).unwrap().lines().next().unwrap().strip_prefix("data: ").unwrap();
        let first: Value = serde_json::from_str(first).unwrap();
        (first["run_id"].as_str().unwrap().to_owned(), watch)
    }

    /// The messages of the session once nothing of it runs or waits any more.
    async fn settled(&self, server: &Server, runs: &[&str]) -> Vec<String> {
        for run in runs {
            server.kept(&self.token, run).await;
        }
        let session = server.get(&self.token, "/sessions/s").await;
        assert_eq!(session["active_run_id"], Value::Null);
        let messages = session["messages"].as_array().unwrap().iter();
        messages.map(|message| message["content"].as_str().unwrap().to_owned()).collect()
    }
}

async fn died(server: Server, point: &str) {
    let ended = server.end().await;
    assert_eq!(ended.signal(), Some(SIGABRT), "{point}: {ended}");
}

async fn dies_before_it_was_told_its_place(home: Home) {
    let line = Line::new(home).await;

    // Told by nobody that it waits, it is sent again.
    let server = line.start("queue:told=panic(kill)").await;
    let first = line.hold(&server).await;
    line.second(&server, "continue").send().await.unwrap_err();
    died(server, "queue:told").await;
    line.llm.script(vec![Reply::says(&["Yes."])]);
    let server = line.start("").await;
    let (second, _watch) = line.line_up(&server, "continue").await;
    assert_eq!(line.settled(&server, &[&first, &second]).await, ["first", "So far", "second", "Yes."]);
    assert_eq!(line.llm.seen().len(), 2);
    server.kill().await;
    line.home.remove().await;
}

async fn dies_when_its_turn_has_come(home: Home) {
    let line = Line::new(home).await;
    let server = line.start("queue:started=panic(kill)").await;
    let first = line.hold(&server).await;
    let (second, watch) = line.line_up(&server, "continue").await;
    // Whether the stop is answered before the process dies, nobody knows.
    let stop = server.request(Method::POST, &line.token, &format!("/runs/{first}/stop")).send().await;
    drop((stop, watch));
    died(server, "queue:started").await;
    let server = line.start("").await;
    let kept = server.kept(&line.token, &second).await;
    assert_eq!(kept.last().unwrap()["error"]["code"], "interrupted");
    assert_eq!(line.settled(&server, &[&first, &second]).await, ["first", "So far", "second"]);
    server.kill().await;
    line.home.remove().await;
}

async fn a_stop_that_was_asked_for_holds(home: Home) {
    let line = Line::new(home).await;
    let server = line.start("queue:stopping=panic(kill)").await;
    let first = line.hold(&server).await;
    let (second, watch) = line.line_up(&server, "continue").await;
    server.request(Method::POST, &line.token, &format!("/runs/{second}/stop")).send().await.unwrap_err();
    drop(watch);
    died(server, "queue:stopping").await;
    let server = line.start("").await;
    let kept = server.kept(&line.token, &second).await;
    assert_eq!(kept.last().unwrap()["message"]["status"], "stopped");
    assert_eq!(line.settled(&server, &[&first, &second]).await, ["first", "So far"]);
    assert_eq!(line.llm.seen().len(), 1, "it never ran");
    server.kill().await;
    line.home.remove().await;
}

async fn who_is_gone_is_not_answered(home: Home) {
    let line = Line::new(home).await;
    let server = line.start("").await;
    let first = line.hold(&server).await;
    let (second, watch) = line.line_up(&server, "cancel").await;
    server.kill().await;
    // The stream broke: its watcher has left.
    drop(watch);
    let server = line.start("").await;
    let kept = server.kept(&line.token, &second).await;
    assert_eq!(kept.last().unwrap()["message"]["status"], "stopped");
    assert_eq!(line.settled(&server, &[&first, &second]).await, ["first", "So far"]);
    assert_eq!(line.llm.seen().len(), 1, "it never ran");
    server.kill().await;
    line.home.remove().await;
}

/// Makes each named function a test of a real process over both engines.
macro_rules! over_both_engines {
    ($($case:ident),+ $(,)?) => {
        mod sqlite {
            $(#[tokio::test(flavor = "multi_thread")]
            async fn $case() {
                super::$case(crate::support::home::Home::sqlite()).await;
            })+
        }
        mod postgres {
            $(#[tokio::test(flavor = "multi_thread")]
            async fn $case() {
                let Some(home) = crate::support::home::Home::postgres().await else { return };
                super::$case(home).await;
            })+
        }
    };
}

over_both_engines! {
    dies_before_it_was_told_its_place,
    dies_when_its_turn_has_come,
    a_stop_that_was_asked_for_holds,
    who_is_gone_is_not_answered,
}

//! One conversation through crashes: everything that its client was told, and whether the server still stands by it.

use std::time::Duration;

use futures::StreamExt;
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::{fake_openai::Reply, process::Server};

/// Two manuals that differ in what the first question asks for.
pub(crate) const MANUALS: [(&str, &str); 2] = [
    (
        "aurora-x1.md",
        "# Aurora X1 manual\n\n## Warranty\n\nThe warranty of the Aurora X1 lasts 24 months.\n\n\
         ## Battery\n\nThe battery of the Aurora X1 charges in two hours.\n",
    ),
    (
        "borealis-z9.md",
        "# Borealis Z9 manual\n\n## Warranty\n\nThe warranty of the Borealis Z9 lasts 36 months.\n\n\
         ## Battery\n\nThe battery of the Borealis Z9 charges in five hours.\n",
    ),
];

/// Asked back, answered by resuming, answered twice; after the fourth the session has a note.
pub(super) const SCRIPT: [(&str, &str); 4] = [
    ("How long is the warranty?", "awaiting_input"),
    ("2", "completed"),
    ("How long does the battery of the Aurora X1 take to charge?", "completed"),
    ("How long does the battery of the Borealis Z9 take to charge?", "completed"),
];

/// A slow model that searches once and then says its answer in pieces: `slow-7` takes seven milliseconds for each.
pub(super) fn slow_model(request: &Value) -> Reply {
    let messages = request["messages"].as_array().expect("messages");
    let last = messages.last().expect("a message");
    let question = last["content"].as_str().unwrap_or_default();
    let pace = request["model"].as_str().and_then(|name| name.strip_prefix("slow-")?.parse().ok());
    let reply = if request["tools"].is_array() && last["role"] == "user" {
        Reply::calls("search_knowledge_base", &json!({ "query": question }))
    } else {
        Reply::says(&["It ", "takes ", "as ", "long ", "as ", "the ", "manual ", "says", " [1]", "."])
    };
    reply.slowly(Duration::from_millis(pace.unwrap_or(4)))
}

/// See the module.
pub(super) struct Talk {
    token: String,
    session: String,
    turns: Vec<Told>,
}

/// What the client was told of one turn.
#[derive(Default)]
struct Told {
    message: String,
    /// Its `Idempotency-Key`.
    key: String,
    /// Known as soon as the turn was acknowledged.
    run: Option<String>,
    /// Each frame as it came, byte by byte.
    frames: Vec<String>,
    /// Its end was told.
    whole: bool,
}

/// The server did not answer to the end.
#[derive(Debug)]
pub(super) struct Gone;

impl Talk {
    pub(super) fn new(token: &str, session: &str) -> Self {
        Self { token: token.into(), session: session.into(), turns: Vec::new() }
    }

    /// Says the script from where it stands to its end.
    pub(super) async fn go_on(&mut self, server: &Server) -> Result<(), Gone> {
        let done = self.steps_done(server).await?;
        for (message, ends) in &SCRIPT[done..] {
            self.turns.push(Told {
                message: (*message).into(),
                key: format!("{}-{}", self.session, self.turns.len()),
                ..Told::default()
            });
            let status = self.say_last(server).await?;
            assert_eq!((&status, *message), (&json!(ends), *message), "{}", self.session);
        }
        Ok(())
    }

    /// How many steps of the script have ended well.
    async fn steps_done(&self, server: &Server) -> Result<usize, Gone> {
        let mut done = 0;
        for turn in &self.turns {
            let run = turn.run.as_ref().expect("it was settled");
            let state = self.get(server, &format!("/runs/{run}")).await?;
            if state["status"] == SCRIPT[done].1 {
                done += 1;
            }
        }
        Ok(done)
    }

    /// Sends the newest message and hears its turn to the end. Gives the status that its result tells.
    async fn say_last(&mut self, server: &Server) -> Result<Value, Gone> {
        let (token, session) = (self.token.clone(), self.session.clone());
        let turn = self.turns.last_mut().expect("there is one");
        let body = json!({"message": turn.message, "session_id": session});
        let request = server.request(Method::POST, &token, "/chat/stream").header("idempotency-key", &turn.key);
        let answer = request.json(&body).send().await.map_err(|_| Gone)?;
        if !answer.status().is_success() {
            panic!("{session}: {} was refused: {}", turn.message, answer.text().await.map_err(|_| Gone)?);
        }
        turn.frames.clear();
        let mut lines = Lines::of(answer);
        while let Some(line) = lines.next().await? {
            if line == "[DONE]" {
                turn.whole = true;
                continue;
            }
            let frame: Value = serde_json::from_str(&line).expect("a frame");
            turn.run.get_or_insert_with(|| frame["run_id"].as_str().expect("every frame names its run").into());
            turn.whole |= frame["type"] == "error";
            turn.frames.push(line);
        }
        // The stream can end in order only when the turn was told whole.
        if !turn.whole {
            return Err(Gone);
        }
        let last: Value = serde_json::from_str(turn.frames.last().expect("a whole turn has frames")).expect("a frame");
        Ok(if last["type"] == "error" { last["error"]["code"].clone() } else { last["message"]["status"].clone() })
    }

    /// After a restart: what was told stands, a message whose fate is unknown is sent again under its key, and then all
    /// is there once.
    pub(super) async fn settle(&mut self, server: &Server) -> Result<(), Gone> {
        self.check(server).await?;
        if self.turns.last().is_some_and(|turn| turn.run.is_none()) {
            self.say_last(server).await?;
            self.check(server).await?;
        }
        Ok(())
    }

    /// Compares everything that was told with what the server says now.
    pub(super) async fn check(&self, server: &Server) -> Result<(), Gone> {
        let mut expected = Vec::new();
        let mut open = Value::Null;
        for turn in &self.turns {
            let Some(run) = &turn.run else { continue };
            let state = self.get(server, &format!("/runs/{run}")).await?;
            let kept = self.kept(server, run).await?;
            let context = format!("{} {run} {:?}", self.session, turn.message);
            assert!(kept.starts_with(&turn.frames), "{context}: seen {:#?}\nkept {kept:#?}", turn.frames);
            assert!(!turn.whole || kept.len() == turn.frames.len(), "{context}: frames behind the end");
            let end: Value = serde_json::from_str(kept.last().expect("a run has frames")).expect("a frame");
            expected.push(json!({"type": "human", "content": turn.message, "status": "completed"}));
            let said = match (end["type"].as_str(), state["status"].as_str()) {
                (Some("message"), Some("completed" | "awaiting_input")) => {
                    assert_eq!(end["message"], state["result"], "{context}");
                    open = end["message"]["hitl"]["id"].clone();
                    end["message"]["response"].as_str().expect("a text").to_owned()
                }
                (Some("error"), Some("interrupted")) => {
                    assert_eq!(end["error"]["code"], "interrupted", "{context}");
                    said(&kept)
                }
                other => panic!("{context}: {other:?} is no end"),
            };
            if !said.is_empty() {
                expected.push(json!({"type": "ai", "content": said, "status": state["status"]}));
            }
        }
        let unsure = self.turns.last().filter(|turn| turn.run.is_none());
        let session = match self.find(server, &format!("/sessions/{}", self.session)).await? {
            Some(session) => session,
            None if expected.is_empty() => return Ok(()),
            None => panic!("{} is gone", self.session),
        };
        let listed = session["messages"].as_array().expect("messages").iter();
        let mut there: Vec<Value> = listed
            .map(|message| json!({"type": message["type"], "content": message["content"], "status": message["status"]}))
            .collect();
        // Its accept may have been committed without anyone being told, and its turn may have gone on from there.
        if let Some(unsure) = unsure
            && there.len() > expected.len()
        {
            let rest = there.split_off(expected.len());
            let first = json!({"type": "human", "content": unsure.message, "status": "completed"});
            assert!(rest[0] == first && rest.len() <= 2, "{}: {rest:#?}", self.session);
        } else {
            assert_eq!(session["pending_hitl"]["id"], open, "{}: the open question", self.session);
        }
        assert_eq!(there, expected, "{}", self.session);
        assert_eq!(session["active_run_id"], Value::Null, "{}", self.session);
        Ok(())
    }

    async fn kept(&self, server: &Server, run: &str) -> Result<Vec<String>, Gone> {
        let request = server.request(Method::GET, &self.token, &format!("/runs/{run}/events"));
        let mut lines = Lines::of(request.send().await.map_err(|_| Gone)?);
        let mut kept = Vec::new();
        while let Some(line) = lines.next().await? {
            kept.push(line);
        }
        kept.retain(|line| line != "[DONE]");
        Ok(kept)
    }

    async fn get(&self, server: &Server, path: &str) -> Result<Value, Gone> {
        Ok(self.find(server, path).await?.unwrap_or_else(|| panic!("{path} is not there")))
    }

    async fn find(&self, server: &Server, path: &str) -> Result<Option<Value>, Gone> {
        let answer = server.request(Method::GET, &self.token, path).send().await.map_err(|_| Gone)?;
        match answer.status().as_u16() {
            200 => answer.json().await.map(Some).map_err(|_| Gone),
            404 => Ok(None),
            other => panic!("{path}: {other} {}", answer.text().await.map_err(|_| Gone)?),
        }
    }
}

/// What an answer says, as its frames tell it.
fn said(frames: &[String]) -> String {
    let mut said = String::new();
    for frame in frames {
        let frame: Value = serde_json::from_str(frame).expect("a frame");
        match frame["type"].as_str() {
            Some("content") => said.push_str(frame["content"].as_str().expect("text")),
            Some("content_reset") => said.clear(),
            _ => {}
        }
    }
    said
}

/// The data lines of an event stream.
struct Lines<S> {
    pieces: S,
    buffer: Vec<u8>,
}

impl Lines<()> {
    fn of(answer: reqwest::Response) -> Lines<futures::stream::BoxStream<'static, reqwest::Result<bytes::Bytes>>> {
        Lines { pieces: answer.bytes_stream().boxed(), buffer: Vec::new() }
    }
}

impl<S: futures::Stream<Item = reqwest::Result<bytes::Bytes>> + Unpin> Lines<S> {
    /// The next one; none at an orderly end.
    async fn next(&mut self) -> Result<Option<String>, Gone> {
        loop {
            while let Some(end) = self.buffer.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.buffer.drain(..=end).collect();
                if let Some(data) = line.strip_prefix(b"data: ") {
                    return Ok(Some(String::from_utf8(data.trim_ascii_end().to_vec()).expect("UTF-8")));
                }
            }
            match self.pieces.next().await {
                Some(piece) => self.buffer.extend_from_slice(&piece.map_err(|_| Gone)?),
                None => return Ok(None),
            }
        }
    }
}

//! An OpenAI-compatible model that costs next to nothing: it says what it was built to say, and keeps nothing.

use std::{sync::Arc, time::Duration};

use serde_json::json;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    task::{AbortHandle, JoinSet},
};

/// How it answers.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Manner {
    /// This many tokens at once.
    Says(usize),
    /// One call of the knowledge tool first, then this many tokens at once.
    Searches(usize),
    /// This many tokens with this pause before each.
    Paced(usize, Duration),
    /// Headers, and then silence until the client leaves.
    Silent,
}

/// The server; it ends when dropped.
pub(crate) struct Model {
    /// What `ASKBACK_LLM_BASE_URL` is set to.
    pub(crate) base_url: String,
    accepting: AbortHandle,
}

impl Drop for Model {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

/// What is sent, made once.
struct Script {
    manner: Manner,
    call: Vec<u8>,
    tokens: Vec<Vec<u8>>,
    end: Vec<u8>,
}

const HEAD: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";

impl Model {
    /// Starts one.
    pub(crate) async fn start(manner: Manner) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base_url = format!("http://{}/v1", listener.local_addr().unwrap());
        let script = Arc::new(Script::of(manner));
        let serving = tokio::spawn(async move {
            let mut connections = JoinSet::new();
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                stream.set_nodelay(true).unwrap();
                let script = Arc::clone(&script);
                connections.spawn(async move {
                    // A client that leaves in between is what some measurements are about.
                    let _left = script.serve(stream).await;
                });
                while connections.try_join_next().is_some() {}
            }
        });
        Self { base_url, accepting: serving.abort_handle() }
    }
}

impl Script {
    fn of(manner: Manner) -> Self {
        let call = json!({"index": 0, "id": "call_1", "type": "function", "function":
            {"name": "search_knowledge_base", "arguments": json!({"query": "how long is the warranty"}).to_string()}});
        let mut calling = event(&json!({"choices": [{"index": 0, "delta": {"tool_calls": [call]}}]}));
        calling.extend(event(&json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]})));
        calling.extend(closing());
        let count = match manner {
            Manner::Says(count) | Manner::Searches(count) | Manner::Paced(count, _) => count,
            Manner::Silent => 0,
        };
        let tokens = (0..count)
            .map(|no| event(&json!({"choices": [{"index": 0, "delta": {"content": format!("tok{no} ")}}]})))
            .collect();
        let mut end = event(&json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}));
        end.extend(event(&json!({"choices": [], "usage": {"prompt_tokens": 10, "completion_tokens": count}})));
        end.extend(closing());
        Self { manner, call: calling, tokens, end }
    }

    /// Answers one request after the other.
    async fn serve(&self, mut stream: TcpStream) -> std::io::Result<()> {
        let mut bytes = Vec::new();
        loop {
            let Some(body) = request(&mut stream, &mut bytes).await? else { return Ok(()) };
            let searched = contains(&body, br#""role":"tool""#);
            match self.manner {
                Manner::Searches(_) if !searched => stream.write_all(&[HEAD, &self.call].concat()).await?,
                Manner::Says(_) | Manner::Searches(_) => {
                    stream.write_all(&[HEAD, &self.tokens.concat(), &self.end].concat()).await?;
                }
                Manner::Paced(_, pause) => {
                    stream.write_all(HEAD).await?;
                    let mut clock = tokio::time::interval(pause);
                    clock.tick().await;
                    for token in &self.tokens {
                        clock.tick().await;
                        stream.write_all(token).await?;
                    }
                    stream.write_all(&self.end).await?;
                }
                Manner::Silent => {
                    stream.write_all(HEAD).await?;
                    stream.read_u8().await?;
                }
            }
        }
    }
}

/// The body of the next request; none: the client is gone.
async fn request(stream: &mut TcpStream, bytes: &mut Vec<u8>) -> std::io::Result<Option<Vec<u8>>> {
    loop {
        if let Some(head) = position(bytes, b"\r\n\r\n") {
            let text = String::from_utf8_lossy(&bytes[..head]).to_ascii_lowercase();
            let length = text
                .split("\r\n")
                .find_map(|line| line.strip_prefix("content-length:"))
                .map_or(0, |length| length.trim().parse().unwrap());
            if bytes.len() >= head + 4 + length {
                let body = bytes[head + 4..head + 4 + length].to_vec();
                bytes.drain(..head + 4 + length);
                return Ok(Some(body));
            }
        }
        if stream.read_buf(bytes).await? == 0 {
            return Ok(None);
        }
    }
}

fn event(data: &serde_json::Value) -> Vec<u8> {
    let event = format!("data: {data}\n\n");
    format!("{:x}\r\n{event}\r\n", event.len()).into_bytes()
}

fn closing() -> Vec<u8> {
    b"e\r\ndata: [DONE]\n\n\r\n0\r\n\r\n".to_vec()
}

fn contains(bytes: &[u8], part: &[u8]) -> bool {
    position(bytes, part).is_some()
}

fn position(bytes: &[u8], part: &[u8]) -> Option<usize> {
    bytes.windows(part.len()).position(|window| window == part)
}

//! An OpenAI-compatible server on this machine that answers by a script, piece by piece, and keeps what it was asked.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex},
    time::Duration,
};

use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::watch,
    task::JoinHandle,
};

/// One move of an answer.
#[derive(Debug, Clone)]
pub enum Step {
    /// These bytes, as a chunk of their own.
    Send(Vec<u8>),
    /// Nothing more until the client leaves.
    Hang,
    /// The connection breaks.
    Break,
    /// This long nothing.
    Wait(Duration),
}

/// One scripted answer.
#[derive(Debug, Clone)]
pub struct Reply {
    head: String,
    steps: Vec<Step>,
}

impl Reply {
    /// An event stream of these data lines.
    pub fn events(data: &[&str]) -> Self {
        let steps = data.iter().map(|data| Step::Send(format!("data: {data}\n\n").into_bytes())).collect();
        Self { head: "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n".into(), steps }
    }

    /// A streamed answer of these pieces, whole and with a token count.
    pub fn says(pieces: &[&str]) -> Self {
        let mut data: Vec<String> = pieces.iter().map(|piece| text(piece)).collect();
        data.push(json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}).to_string());
        data.push(json!({"choices": [], "usage": {"prompt_tokens": 5, "completion_tokens": 3}}).to_string());
        data.push("[DONE]".into());
        Self::events(&data.iter().map(String::as_str).collect::<Vec<_>>())
    }

    /// These pieces, and then silence.
    pub fn says_and_hangs(pieces: &[&str]) -> Self {
        let data: Vec<String> = pieces.iter().map(|piece| text(piece)).collect();
        Self::events(&data.iter().map(String::as_str).collect::<Vec<_>>()).then(Step::Hang)
    }

    /// A call of one tool.
    pub fn calls(name: &str, arguments: &Value) -> Self {
        let call = json!({"index": 0, "id": "call_1", "type": "function",
                          "function": {"name": name, "arguments": arguments.to_string()}});
        let delta = json!({"choices": [{"index": 0, "delta": {"tool_calls": [call]}}]}).to_string();
        let end = json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}).to_string();
        Self::events(&[&delta, &end, "[DONE]"])
    }

    /// A whole body under this status.
    pub fn json(status: u16, body: &Value) -> Self {
        Self {
            head: format!("HTTP/1.1 {status} Scripted\r\ncontent-type: application/json\r\n"),
            steps: vec![Step::Send(body.to_string().into_bytes())],
        }
    }

    /// The same with this pause before each piece.
    pub fn slowly(mut self, pause: Duration) -> Self {
        self.steps = self.steps.into_iter().flat_map(|step| [Step::Wait(pause), step]).collect();
        self
    }

    /// The same, each byte in a chunk of its own.
    pub fn bytewise(mut self) -> Self {
        let bytes = |step| match step {
            Step::Send(bytes) => bytes.into_iter().map(|byte| Step::Send(vec![byte])).collect(),
            other => vec![other],
        };
        self.steps = self.steps.into_iter().flat_map(bytes).collect();
        self
    }

    /// One more header.
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.head.push_str(&format!("{name}: {value}\r\n"));
        self
    }

    /// One more step.
    pub fn then(mut self, step: Step) -> Self {
        self.steps.push(step);
        self
    }
}

/// The data line of a piece of text.
pub fn text(piece: &str) -> String {
    json!({"choices": [{"index": 0, "delta": {"content": piece}}]}).to_string()
}

/// A request as it arrived.
#[derive(Debug, Clone, PartialEq)]
pub struct Seen {
    /// Request line and headers, names in lower case.
    pub head: String,
    /// Its JSON.
    pub body: Value,
}

/// The server; it ends when dropped.
pub struct FakeOpenAi {
    /// For `ASKBACK_LLM_BASE_URL`.
    pub base_url: String,
    shared: Arc<Shared>,
    left: watch::Receiver<usize>,
    server: JoinHandle<()>,
}

/// Answers a request's body.
pub type Rule = fn(&Value) -> Reply;

struct Shared {
    script: Mutex<VecDeque<Reply>>,
    /// Answers when the script is over.
    rule: Rule,
    seen: Mutex<Vec<Seen>>,
    left: watch::Sender<usize>,
}

impl FakeOpenAi {
    /// Starts on a free port. When the script is over every further request gets the status 500.
    pub async fn start(script: Vec<Reply>) -> Self {
        Self::new(script, |_| Reply::json(500, &json!({"error": {"message": "the script is over"}}))).await
    }

    /// Answers every request by `rule`.
    pub async fn answering(rule: Rule) -> Self {
        Self::new(Vec::new(), rule).await
    }

    async fn new(script: Vec<Reply>, rule: Rule) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let base_url = format!("http://{}/v1", listener.local_addr().expect("it is bound"));
        let (sender, left) = watch::channel(0);
        let shared = Arc::new(Shared { script: Mutex::new(script.into()), rule, seen: Mutex::default(), left: sender });
        let state = Arc::clone(&shared);
        let server = tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                tokio::spawn(serve(socket, Arc::clone(&state)));
            }
        });
        Self { base_url, shared, left, server }
    }

    /// Appends to the script.
    pub fn script(&self, replies: Vec<Reply>) {
        self.shared.script.lock().expect("no panic").extend(replies);
    }

    /// Everything that was asked so far.
    pub fn seen(&self) -> Vec<Seen> {
        self.shared.seen.lock().expect("no panic").clone()
    }

    /// Waits until `count` clients have left while the server was silent.
    pub async fn left(&self, count: usize) {
        self.left.clone().wait_for(|left| *left >= count).await.expect("the server runs");
    }
}

impl Drop for FakeOpenAi {
    fn drop(&mut self) {
        self.server.abort();
    }
}

async fn serve(mut socket: TcpStream, shared: Arc<Shared>) {
    let mut buffer = Vec::new();
    while let Some(seen) = read(&mut socket, &mut buffer).await {
        let scripted = shared.script.lock().expect("no panic").pop_front();
        let reply = scripted.unwrap_or_else(|| (shared.rule)(&seen.body));
        shared.seen.lock().expect("no panic").push(seen);
        let head = format!("{}transfer-encoding: chunked\r\n\r\n", reply.head);
        if socket.write_all(head.as_bytes()).await.is_err() {
            return;
        }
        for step in reply.steps {
            match step {
                Step::Send(bytes) => {
                    let mut chunk = format!("{:x}\r\n", bytes.len()).into_bytes();
                    chunk.extend_from_slice(&bytes);
                    chunk.extend_from_slice(b"\r\n");
                    if socket.write_all(&chunk).await.is_err() {
                        return;
                    }
                }
                Step::Hang => {
                    while socket.read(&mut [0; 64]).await.is_ok_and(|count| count > 0) {}
                    shared.left.send_modify(|left| *left += 1);
                    return;
                }
                Step::Break => return,
                Step::Wait(pause) => tokio::time::sleep(pause).await,
            }
        }
        if socket.write_all(b"0\r\n\r\n").await.is_err() {
            return;
        }
    }
}

/// The next request of a connection; none when it is closed.
async fn read(socket: &mut TcpStream, buffer: &mut Vec<u8>) -> Option<Seen> {
    let mut piece = [0; 4096];
    loop {
        if let Some(end) = buffer.windows(4).position(|window| window == b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&buffer[..end]).into_owned();
            let length = head
                .lines()
                .filter_map(|line| line.split_once(':'))
                .find(|(name, _)| name.eq_ignore_ascii_case("content-length"))
                .and_then(|(_, value)| value.trim().parse().ok())
                .unwrap_or(0);
            if buffer.len() >= end + 4 + length {
                let body = serde_json::from_slice(&buffer[end + 4..end + 4 + length]).unwrap_or(Value::Null);
                buffer.drain(..end + 4 + length);
                return Some(Seen { head, body });
            }
        }
        match socket.read(&mut piece).await {
            Ok(count) if count > 0 => buffer.extend_from_slice(&piece[..count]),
            _ => return None,
        }
    }
}

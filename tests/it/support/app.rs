//! A whole server in this process: real store, index, extraction and model client, on a free port, in a folder of its
//! own. Only the model's server is scripted.

use std::{
    collections::BTreeSet,
    net::SocketAddr,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
    time::Duration,
};

use askback::{
    adapters::{
        amap::Amap,
        blobs::LocalBlobs,
        clock::SystemClock,
        embed::builtin::Builtin,
        extract::{Isolated, Limits as ExtractLimits},
        llm::{Client, Limits as ModelLimits, OpenAiChat, builtin},
        storage::{Engine, Options, Storage},
        vector::embedded::EmbeddedIndexes,
    },
    domain::{
        chat::{OnBusy, OnDisconnect},
        index::Embedder,
        knowledge::{BlobStore, DocumentStore},
        model::ChatModel,
        profile::Embedders,
        time::{Clock, Millis},
    },
    http::{self, App, Component, Limits},
    services::{
        agent::{CurrentWeather, registry::Registry},
        auth::{Accounts, AuthConfig, Hashing, SigningSecret, new_signing_secret},
        chat::{Chat, ChatConfig, ChatPorts},
        ingest::{
            Ingest, Ports, Vectors, WorkerConfig,
            folders::{Folders, FoldersConfig},
        },
        memory::{Remember, conversations::Conversations, events::Events, notebook::Notebook, settings::Settings},
        record::{Keeping, Recorder},
        retrieval::{Judges, KnowledgeTool, ListSources, OpenSource, Retrieval, RetrievalConfig, search::Search},
    },
};
use async_trait::async_trait;
use futures::FutureExt as _;
use reqwest::{Method, RequestBuilder, StatusCode, header::HeaderMap};
use serde_json::{Value, json};
use tokio::{net::TcpListener, sync::Semaphore, task::JoinHandle};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::fake_openai::{FakeOpenAi, Reply};

/// The invite code of every test server.
pub const INVITE: &str = "an invite code for tests";
/// The password of every user that [`TestApp::user`] makes.
pub const PASSWORD: &str = "correct horse battery";

/// The system's clock, moved by a test.
#[derive(Default)]
pub struct MovedClock(AtomicI64);

impl MovedClock {
    pub fn advance(&self, span: Duration) {
        self.0.fetch_add(i64::try_from(span.as_millis()).unwrap(), Ordering::Relaxed);
    }
}

#[async_trait]
impl Clock for MovedClock {
    fn now(&self) -> Millis {
        Millis(SystemClock.now().0 + self.0.load(Ordering::Relaxed))
    }

    async fn sleep(&self, span: Duration) {
        SystemClock.sleep(span).await;
    }
}

/// How a server is set up; see [`TestApp::with`].
pub struct Setup {
    pub limits: Limits,
    pub origins: Vec<&'static str>,
    pub secret: String,
    pub login_burst: u32,
    pub max_running: usize,
    /// Answers in place of the scripted server's model.
    pub model: Option<Arc<dyn ChatModel>>,
    pub script: Vec<Reply>,
}

impl Default for Setup {
    fn default() -> Self {
        Self {
            limits: Limits::default(),
            origins: Vec::new(),
            secret: secrecy::ExposeSecret::expose_secret(&new_signing_secret()).to_owned(),
            login_burst: 5,
            max_running: 16,
            model: None,
            script: Vec::new(),
        }
    }
}

/// A running server.
pub struct TestApp {
    pub address: SocketAddr,
    pub app: Arc<App>,
    pub model: FakeOpenAi,
    pub clock: Arc<MovedClock>,
    pub folder: PathBuf,
    server: JoinHandle<std::io::Result<()>>,
    storage: Storage,
    tasks: TaskTracker,
    _temp: tempfile::TempDir,
}

impl TestApp {
    pub async fn start() -> Self {
        Self::with(Setup::default()).await
    }

    /// A server whose model answers its first requests with these.
    pub async fn scripted(script: Vec<Reply>) -> Self {
        Self::with(Setup { script, ..Setup::default() }).await
    }

    /// A server with the built-in model.
    pub async fn builtin() -> Self {
        Self::with(Setup { model: Some(Arc::new(builtin::Builtin::new(None))), ..Setup::default() }).await
    }

    pub async fn with(setup: Setup) -> Self {
        let temp = tempfile::tempdir().unwrap();
        let folder = temp.path().to_owned();
        let clock = Arc::new(MovedClock::default());
        let port: Arc<dyn Clock> = clock.clone();
        let engine = Engine::Sqlite { folder: folder.clone() };
        let storage = Storage::open(Options { engine, clock: port.clone() }).await.unwrap();
        let store = Arc::new(storage.clone());
        let documents: Arc<dyn DocumentStore> = store.clone();
        let blobs: Arc<dyn BlobStore> = Arc::new(LocalBlobs::open(&folder.join("blobs")).unwrap());
        let uploads = folder.join("uploads");
        std::fs::create_dir_all(&uploads).unwrap();
        let model = FakeOpenAi::start(setup.script).await;
        let wait = Duration::from_secs(30);
        let limits =
            ModelLimits { connect: wait, first_token: wait, between_tokens: wait, total: wait * 4, retries: 0 };
        let client = Client::new(&model.base_url, None, limits).unwrap();
        let scripted = Arc::new(OpenAiChat::new(client, "scripted".into()));
        let chat_model: Arc<dyn ChatModel> = setup.model.unwrap_or(scripted);
        let embedder: Arc<dyn Embedder> = Arc::new(Builtin::load().unwrap());
        let extractor = Arc::new(Isolated {
            program: env!("CARGO_BIN_EXE_askback").into(),
            limits: ExtractLimits::default(),
            ocr: None,
        });
        let indexes = EmbeddedIndexes::over(documents.clone());
        let vectors =
            Vectors::open(store.clone(), indexes, Embedders::new(embedder.clone()), port.now()).await.unwrap();
        let retrieval = Arc::new(Retrieval {
            search: Search::new(vectors.serving.clone(), embedder),
            documents: documents.clone(),
            clock: port.clone(),
            reranker: None,
            fast: None,
            grade: None,
            judges: Judges::default(),
            config: RetrievalConfig::default(),
        });
        let (tasks, shutdown) = (TaskTracker::new(), CancellationToken::new());
        let ingest = Ingest::new(
            Ports {
                documents: documents.clone(),
                jobs: store.clone(),
                upkeep: store.clone(),
                blobs: blobs.clone(),
                vectors,
                extractor: extractor.clone(),
                clock: port.clone(),
            },
            WorkerConfig::new("test:1"),
        );
        ingest.start(&tasks, &shutdown).await.unwrap();
        let scratch = folder.join("watched");
        std::fs::create_dir_all(&scratch).unwrap();
        let watching = FoldersConfig::new("test", scratch, folder.clone());
        let folders = Folders::new(ingest.clone(), store.clone(), port.clone(), watching);
        let settings = Settings::new(store.clone(), port.clone());
        let chat = Chat::new(
            ChatPorts {
                chats: store.clone(),
                queue: store.clone(),
                history: store.clone(),
                memory: store.clone(),
                settings: store.clone(),
                documents: documents.clone(),
                clock: port.clone(),
                chat_model,
                fast: None,
                retrieval: retrieval.clone(),
                tools: Registry::new(vec![
                    Arc::new(KnowledgeTool::new(retrieval.clone())),
                    Arc::new(ListSources::new(retrieval.clone(), store.clone())),
                    Arc::new(OpenSource::new(retrieval.clone(), store.clone())),
                    Arc::new(CurrentWeather::new(Arc::new(Amap::new("http://127.0.0.1:1", None).unwrap()))),
                    Arc::new(Remember::new(settings.clone())),
                ]),
                recorder: Recorder::new(store.clone(), store.clone(), port.clone(), Keeping::default()),
            },
            ChatConfig { max_running: setup.max_running, ..ChatConfig::new("test", "1") },
        );
        chat.recover().await;
        let config = AuthConfig {
            secret: SigningSecret::new(setup.secret.into()).unwrap(),
            invite_code: INVITE.into(),
            hashing: Hashing { memory_kib: 64, passes: 1, concurrency: 2 },
            access_ttl: Duration::from_secs(3600),
            refresh_ttl: Duration::from_secs(30 * 24 * 3600),
            login_burst: setup.login_burst,
            login_refill: Duration::from_secs(30),
        };
        let component = Component { role: "storage".into(), name: "sqlite".into(), ready: true, required: true };
        let app = Arc::new(App {
            accounts: Accounts::new(store.clone(), port.clone(), config).unwrap(),
            chat,
            on_busy: OnBusy::Reject,
            on_disconnect: OnDisconnect::Continue,
            retrieval,
            ingest,
            folders,
            events: Events::new(store.clone(), store.clone(), port.clone()),
            settings,
            notebook: Notebook::new(store.clone(), store.clone(), store.clone(), port.clone()),
            conversations: Conversations::new(store.clone(), port.clone()),
            documents,
            blobs,
            extractor,
            clock: port,
            uploads,
            places: Semaphore::new(setup.limits.requests),
            limits: setup.limits,
            shutdown,
            origins: setup.origins.into_iter().map(reqwest::header::HeaderValue::from_static).collect(),
            components: Box::new(move || futures::future::ready(vec![component.clone()]).boxed()),
            metrics: Box::new(|| "askback_up 1\n".into()),
        });
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let server = tokio::spawn(http::serve(listener, app.clone()));
        Self { address, app, model, clock, folder, server, storage, tasks, _temp: temp }
    }

    /// Nobody: requests without a token.
    pub fn anyone(&self) -> As {
        As { http: reqwest::Client::new(), base: format!("http://{}", self.address), token: None }
    }

    /// Someone with this token.
    pub fn bearer(&self, token: &str) -> As {
        As { token: Some(token.into()), ..self.anyone() }
    }

    /// A new user.
    pub async fn user(&self, name: &str) -> As {
        self.register(json!({"username": name, "password": PASSWORD})).await
    }

    /// A new admin.
    pub async fn admin(&self, name: &str) -> As {
        self.register(json!({"username": name, "password": PASSWORD, "role": "admin", "admin_code": INVITE})).await
    }

    async fn register(&self, body: Value) -> As {
        let answer = self.anyone().post("/auth/register", body).await;
        assert_eq!(answer.status, StatusCode::CREATED, "{}", answer.text);
        self.bearer(answer.json()["access_token"].as_str().unwrap())
    }

    /// Shuts down as the process would, and waits for the end.
    pub async fn stop(self) {
        self.app.shutdown.cancel();
        let grace = Duration::from_secs(5);
        let (served, ()) = tokio::join!(self.server, self.app.chat.shutdown(grace));
        served.unwrap().unwrap();
        self.tasks.close();
        self.tasks.wait().await;
        self.storage.close().await;
    }
}

/// A client with an identity.
#[derive(Clone)]
pub struct As {
    http: reqwest::Client,
    base: String,
    pub token: Option<String>,
}

impl As {
    /// A request that the test completes itself.
    pub fn request(&self, method: Method, path: &str) -> RequestBuilder {
        let request = self.http.request(method, format!("{}{path}", self.base));
        match &self.token {
            Some(token) => request.bearer_auth(token),
            None => request,
        }
    }

    pub async fn get(&self, path: &str) -> Answer {
        Answer::of(self.request(Method::GET, path)).await
    }

    pub async fn delete(&self, path: &str) -> Answer {
        Answer::of(self.request(Method::DELETE, path)).await
    }

    pub async fn post(&self, path: &str, body: Value) -> Answer {
        Answer::of(self.request(Method::POST, path).json(&body)).await
    }

    pub async fn patch(&self, path: &str, body: Value) -> Answer {
        Answer::of(self.request(Method::PATCH, path).json(&body)).await
    }

    pub async fn put(&self, path: &str, body: Value) -> Answer {
        Answer::of(self.request(Method::PUT, path).json(&body)).await
    }

    /// A body that may be anything, said to be JSON.
    pub async fn post_raw(&self, path: &str, body: impl Into<reqwest::Body>) -> Answer {
        let request = self.request(Method::POST, path).header("content-type", "application/json").body(body);
        Answer::of(request).await
    }

    /// Uploads a file and waits until it answers.
    pub async fn upload(&self, name: &str, bytes: &[u8], collection: Option<&str>) -> Answer {
        let part = reqwest::multipart::Part::bytes(bytes.to_vec()).file_name(name.to_owned());
        let mut form = reqwest::multipart::Form::new().part("file", part);
        if let Some(collection) = collection {
            form = form.text("collection", collection.to_owned());
        }
        Answer::of(self.request(Method::POST, "/documents/upload").multipart(form)).await
    }
}

/// A whole answer.
#[derive(Debug)]
pub struct Answer {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub text: String,
}

impl Answer {
    pub async fn of(request: RequestBuilder) -> Self {
        let response = request.send().await.unwrap();
        let (status, headers) = (response.status(), response.headers().clone());
        Self { status, headers, text: response.text().await.unwrap() }
    }

    pub fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|_| panic!("no JSON: {}", self.text))
    }

    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }

    /// Status, code and the wrong fields of a problem; checks that it is one.
    pub fn problem(&self) -> (u16, String, Vec<String>) {
        let body = self.json();
        assert_eq!(self.header("content-type"), "application/problem+json", "{body}");
        assert_eq!(body["status"], self.status.as_u16(), "{body}");
        assert_eq!(body["type"], "about:blank", "{body}");
        assert!(!body["title"].as_str().unwrap().is_empty(), "{body}");
        assert!(!body["detail"].as_str().unwrap().is_empty(), "{body}");
        assert_eq!(body["request_id"], self.header("x-request-id"), "{body}");
        let errors = body["errors"].as_array().into_iter().flatten();
        let fields = errors.map(|error| error["field"].as_str().unwrap().to_owned()).collect();
        (self.status.as_u16(), body["code"].as_str().unwrap().to_owned(), fields)
    }

    /// Status, type, code and field of an error in OpenAI's shape; checks that it is one.
    pub fn openai_error(&self) -> (u16, String, String, Option<String>) {
        let body = self.json();
        assert_eq!(self.header("content-type"), "application/json", "{body}");
        assert!(!self.header("x-request-id").is_empty(), "{body}");
        let fields = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<BTreeSet<_>>();
        assert_eq!(fields(&body), BTreeSet::from(["error".into()]));
        let error = &body["error"];
        assert_eq!(fields(error), BTreeSet::from(["code", "message", "param", "type"].map(str::to_owned)));
        assert!(!error["message"].as_str().unwrap().is_empty(), "{body}");
        let text = |name: &str| error[name].as_str().map(str::to_owned);
        (self.status.as_u16(), text("type").unwrap(), text("code").unwrap(), text("param"))
    }

    /// The frames of an event stream, checked to be one `data:` line each.
    pub fn frames(&self) -> Vec<String> {
        let blocks = self.text.split_terminator("\n\n").filter(|block| !block.starts_with(':'));
        blocks.map(|block| block.strip_prefix("data: ").unwrap_or_else(|| panic!("{block}")).to_owned()).collect()
    }
}

/// What a problem is expected to be.
pub fn problem(status: u16, code: &str, fields: &[&str]) -> (u16, String, Vec<String>) {
    (status, code.into(), fields.iter().map(|&field| field.into()).collect())
}

//! The chat service over a real store, with a scripted model and a scripted knowledge tool.

use std::sync::{Arc, Mutex, PoisonError};

use askback::{
    adapters::storage::{Options, Storage},
    domain::{
        chat::{ChatStore, HistoryStore, HitlReply, TurnRequest, TurnResult},
        error::ToolError,
        evidence::{Evidence, Passage, RetrievalStatus, Route},
        hitl::{Choice, Facet, OptionFilter, Question},
        id::{ChunkId, DocumentId, Id, RunId, UserId},
        knowledge::Facets,
        model::{ChatModel, ToolSpec},
        run::RunKind,
        time::Clock,
        tool::{Tool, ToolContext, ToolOutcome},
        trace::RagTrace,
        user::{Role, User, UserStore},
    },
    services::{
        agent::registry::Registry,
        chat::{Chat, ChatConfig, ChatPorts, Frame, StartError, Submission, Turn},
        memory::{Remember, settings::Settings},
        record::{
            Keeping, Recorder, TapedChats, TapedClock, TapedDocuments, TapedEpisodes, TapedMemory, TapedModel,
            TapedQueue, TapedSettings, TapedTool,
        },
        retrieval::{KnowledgeTool, ListSources, OpenSource, Retrieval},
    },
};
use async_trait::async_trait;
use futures::StreamExt;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::{
    faults::{Fault, Faults, FaultyChats, FaultyModel, FaultyQueue},
    knowledge,
    model::ScriptedModel,
    store::{TestClock, TestStore},
};

/// A knowledge tool that gives what a test wrote down, and counts its calls like the real one.
pub struct ScriptedSearch {
    spec: ToolSpec,
    results: Mutex<Vec<ToolOutcome>>,
    pub queries: Mutex<Vec<String>>,
}

impl ScriptedSearch {
    pub fn new(results: impl IntoIterator<Item = ToolOutcome>) -> Arc<Self> {
        let mut results: Vec<ToolOutcome> = results.into_iter().collect();
        results.reverse();
        Arc::new(Self {
            spec: ToolSpec {
                name: "search_knowledge_base".into(),
                description: "Searches.".into(),
                parameters: json!({
                    "type": "object",
                    "properties": { "query": { "type": "string" } },
                    "required": ["query"],
                    "additionalProperties": false,
                }),
            },
            results: Mutex::new(results),
            queries: Mutex::default(),
        })
    }
}

#[async_trait]
impl Tool for ScriptedSearch {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn metered(&self) -> bool {
        true
    }

    async fn call(&self, ctx: &ToolContext, arguments: Value) -> Result<ToolOutcome, ToolError> {
        let query = arguments["query"].as_str().unwrap().to_owned();
        if !ctx.quota.take() {
            return Ok(ToolOutcome {
                text: "TOOL_CALL_LIMIT_REACHED: answer with what you have.".into(),
                status: "limit".into(),
                summary: "limit reached".into(),
                ..ToolOutcome::default()
            });
        }
        ctx.progress.step("🔍", "Searching", &query, None);
        self.queries.lock().unwrap().push(query);
        Ok(self.results.lock().unwrap().pop().expect("a search beyond the script"))
    }
}

/// A search that found these texts.
pub fn found(texts: &[&str]) -> ToolOutcome {
    let passages: Vec<Passage> = texts.iter().zip(1..).map(|(text, n)| passage(n, text)).collect();
    ToolOutcome {
        text: texts.iter().zip(1..).map(|(text, n)| format!("[{n}] file{n}.md: {text}\n")).collect(),
        status: "ok".into(),
        summary: format!("{} passages", texts.len()),
        trace: Some(Box::new(RagTrace {
            tool_used: true,
            tool_name: Some("search_knowledge_base".into()),
            route: Some(Route::Answer),
            retrieval_status: Some(RetrievalStatus::Answerable),
            retrieved_chunks: Some(passages.clone()),
            ..RagTrace::default()
        })),
        evidence: Some(Evidence { passages, ..Evidence::default() }),
        question: None,
    }
}

/// A search that found nothing.
pub fn nothing() -> ToolOutcome {
    ToolOutcome {
        text: "NO_KNOWLEDGE: the documents do not hold it.".into(),
        status: "ok".into(),
        summary: "nothing found".into(),
        trace: Some(Box::new(RagTrace {
            tool_used: true,
            route: Some(Route::NoKnowledge),
            retrieval_status: Some(RetrievalStatus::NoKnowledge),
            ..RagTrace::default()
        })),
        ..ToolOutcome::default()
    }
}

/// A search that asks which of two products is meant.
pub fn asks() -> ToolOutcome {
    ToolOutcome {
        text: "NEEDS_SCOPE_SELECTION".into(),
        status: "ok".into(),
        summary: "two products".into(),
        question: Some(question()),
        trace: Some(Box::new(RagTrace { tool_used: true, ..RagTrace::default() })),
        evidence: None,
    }
}

pub fn question() -> Question {
    let option = |id: &str, label: &str| Choice {
        id: id.into(),
        label: label.into(),
        aliases: vec![],
        evidence_count: 2,
        filter: OptionFilter {
            facet: Facet::Subject,
            value: label.into(),
            documents: vec![DocumentId::from_uuid(uuid::Uuid::from_u128(7))],
        },
    };
    Question {
        route: Route::ScopeSelect,
        prompt: "Which product do you mean?".into(),
        options: vec![option("00000001", "Aurora X1"), option("00000002", "Borealis Z9")],
        missing_slots: vec![],
        original_question: "How long is the warranty?".into(),
        rewrite_count: 0,
        parts: Vec::new(),
    }
}

pub fn passage(n: u32, text: &str) -> Passage {
    let id = uuid::Uuid::from_u128(u128::from(n));
    Passage {
        filename: format!("file{n}.md"),
        page_number: None,
        pages: Vec::new(),
        text: text.into(),
        score: 1.0,
        rrf_rank: n,
        rerank_score: None,
        chunk_id: ChunkId::from_uuid(id),
        document_id: DocumentId::from_uuid(id),
        version: 1,
        start: 0,
        end: i64::try_from(text.chars().count()).unwrap(),
        dense_score: None,
        lexical_score: None,
        section: None,
        header: None,
        level: 3,
        title: None,
        removed: false,
        facets: Facets::default(),
    }
}

/// The service and everything around it. Dropping it checks that the model was asked properly.
pub struct Harness {
    pub chat: Chat,
    pub store: Storage,
    pub model: Arc<ScriptedModel>,
    pub search: Arc<ScriptedSearch>,
    pub clock: Arc<TestClock>,
    pub faults: Faults,
    pub user: User,
    session: Mutex<String>,
    folder: Arc<TempDir>,
    retrieval: Arc<Retrieval>,
    tool: Arc<dyn Tool>,
    fast: Option<Arc<dyn ChatModel>>,
    keeping: Keeping,
}

/// What a harness is put together from.
struct Parts {
    store: Storage,
    folder: Arc<TempDir>,
    clock: Arc<TestClock>,
    user: User,
    model: Arc<ScriptedModel>,
    search: Arc<ScriptedSearch>,
    retrieval: Arc<Retrieval>,
    tool: Arc<dyn Tool>,
    fast: Option<Arc<dyn ChatModel>>,
    faults: Faults,
    keeping: Keeping,
}

fn as_port(clock: &Arc<TestClock>) -> Arc<dyn Clock> {
    Arc::clone(clock) as Arc<dyn Clock>
}

impl Harness {
    /// A fresh account over `test`.
    pub async fn new(test: &TestStore, model: Arc<ScriptedModel>, search: Arc<ScriptedSearch>) -> Self {
        Self::with(test, model, search, |_| {}).await
    }

    /// The same with other bounds.
    pub async fn with(
        test: &TestStore,
        model: Arc<ScriptedModel>,
        search: Arc<ScriptedSearch>,
        change: impl FnOnce(&mut ChatConfig),
    ) -> Self {
        let folder = Arc::new(tempfile::tempdir().unwrap());
        let (store, clock) = (test.store.clone(), Arc::clone(&test.clock));
        let user = User {
            id: UserId::at(clock.now()),
            name: format!("ann-{}", uuid::Uuid::now_v7()),
            role: Role::User,
            password_hash: "-".into(),
            auth_epoch: 0,
            disabled_at: None,
            created_at: clock.now(),
        };
        store.add_user(&user, &user.name).await.unwrap();
        let retrieval = knowledge::empty(&store, &as_port(&clock));
        let tool = TapedTool::over(Arc::clone(&search) as Arc<dyn Tool>);
        let faults = Faults::default();
        let keeping = Keeping::default();
        let parts = Parts { store, folder, clock, user, model, search, retrieval, tool, fast: None, faults, keeping };
        Self::over(parts, "boot1", change)
    }

    /// A fresh one with the real knowledge tool over these files.
    pub async fn over_files(test: &TestStore, model: Arc<ScriptedModel>, files: &[(&str, &str)]) -> Self {
        Self::over_files_with(test, model, files, |_| {}).await
    }

    /// The same with other bounds.
    pub async fn over_files_with(
        test: &TestStore,
        model: Arc<ScriptedModel>,
        files: &[(&str, &str)],
        change: impl FnOnce(&mut ChatConfig),
    ) -> Self {
        let bare = Self::new(test, model, ScriptedSearch::new([])).await;
        let retrieval =
            knowledge::library(&bare.store, &as_port(&bare.clock), bare.folder.path(), files, &bare.faults).await;
        let tool = Arc::new(KnowledgeTool::new(Arc::clone(&retrieval)));
        bare.retire().await;
        Self::over(Parts { retrieval, tool, ..bare.parts() }, "boot1", change)
    }

    /// The same with a fast model.
    pub fn fast(self, fast: &Arc<ScriptedModel>) -> Self {
        let fast = Arc::clone(fast) as Arc<dyn ChatModel>;
        Self::over(Parts { fast: Some(fast), ..self.parts() }, "boot1", |_| {})
    }

    /// The same with its turns recorded.
    pub fn recording(self, keeping: Keeping) -> Self {
        Self::over(Parts { keeping: Keeping { records: true, ..keeping }, ..self.parts() }, "boot1", |_| {})
    }

    /// The same with another model.
    pub fn speaking(self, model: Arc<ScriptedModel>) -> Self {
        Self::over(Parts { model, ..self.parts() }, "boot1", |_| {})
    }

    /// The same with a model that grades.
    pub fn graded_by(self, grader: &Arc<ScriptedModel>) -> Self {
        let library = &self.retrieval;
        let retrieval = Arc::new(Retrieval {
            search: library.search.clone(),
            documents: Arc::clone(&library.documents),
            clock: Arc::clone(&library.clock),
            reranker: None,
            fast: None,
            grade: Some(Arc::clone(grader) as Arc<dyn ChatModel>),
            judges: library.judges.clone(),
            config: library.config.clone(),
        });
        let tool = Arc::new(KnowledgeTool::new(Arc::clone(&retrieval)));
        Self::over(Parts { retrieval, tool, ..self.parts() }, "boot1", |_| {})
    }

    /// The same with another knowledge tool; answers are resumed over the documents all the same.
    pub async fn searching_with(self, tool: Arc<dyn Tool>) -> Self {
        self.retire().await;
        Self::over(Parts { tool, ..self.parts() }, "boot1", |_| {})
    }

    /// Puts files into the library; one that is there gets a new version.
    pub async fn shelve(&self, files: &[(&str, &str)]) {
        knowledge::shelve(&self.store, &self.retrieval, self.folder.path(), files).await;
    }

    /// Ends, so that nobody beats for the same process beside what comes after it.
    async fn retire(&self) {
        self.chat.shutdown(std::time::Duration::from_secs(60)).await;
    }

    fn parts(&self) -> Parts {
        Parts {
            store: self.store.clone(),
            folder: Arc::clone(&self.folder),
            clock: Arc::clone(&self.clock),
            user: self.user.clone(),
            model: Arc::clone(&self.model),
            search: Arc::clone(&self.search),
            retrieval: Arc::clone(&self.retrieval),
            tool: Arc::clone(&self.tool),
            fast: self.fast.clone(),
            faults: self.faults.clone(),
            keeping: self.keeping,
        }
    }

    fn over(parts: Parts, boot: &str, change: impl FnOnce(&mut ChatConfig)) -> Self {
        let Parts { store, folder, clock, user, model, search, retrieval, tool, fast, faults, keeping } = parts;
        let mut config = ChatConfig::new("node", boot);
        change(&mut config);
        let episodes = TapedEpisodes::over(Arc::new(store.clone()));
        let ports = ChatPorts {
            chats: TapedChats::over(Arc::new(FaultyChats { inner: Arc::new(store.clone()), faults: faults.clone() })),
            queue: TapedQueue::over(Arc::new(FaultyQueue { inner: Arc::new(store.clone()), faults: faults.clone() })),
            history: Arc::new(store.clone()),
            memory: TapedMemory::over(Arc::new(store.clone())),
            settings: TapedSettings::over(Arc::new(store.clone())),
            documents: TapedDocuments::over(Arc::new(store.clone())),
            clock: TapedClock::over(as_port(&clock)),
            chat_model: TapedModel::chat(Arc::new(FaultyModel { inner: Arc::clone(&model), faults: faults.clone() })),
            fast: fast.clone().map(TapedModel::fast),
            retrieval: Arc::clone(&retrieval),
            tools: Registry::new(vec![
                Arc::clone(&tool),
                Arc::new(ListSources::new(Arc::clone(&retrieval), Arc::clone(&episodes))),
                Arc::new(OpenSource::new(Arc::clone(&retrieval), episodes)),
                TapedTool::over(Arc::new(Remember::new(Settings::new(Arc::new(store.clone()), as_port(&clock))))),
            ]),
            recorder: Recorder::new(Arc::new(store.clone()), Arc::new(store.clone()), as_port(&clock), keeping),
        };
        Self {
            chat: Chat::new(ports, config),
            store,
            model,
            search,
            clock,
            faults,
            user,
            session: Mutex::new("s1".into()),
            folder,
            retrieval,
            tool,
            fast,
            keeping,
        }
    }

    /// Another start of the process over the same data, as after a crash: nothing of this one was ended, and nothing that
    /// is left of it reaches the store any more.
    pub async fn after_crash(&self, model: Arc<ScriptedModel>, search: Arc<ScriptedSearch>) -> Self {
        self.cut_off();
        let tool = Arc::clone(&search) as Arc<dyn Tool>;
        let faults = Faults::default();
        let restarted = Self::over(Parts { model, search, tool, faults, ..self.parts() }, "boot2", |_| {});
        restarted.chat.recover().await;
        restarted
    }

    /// Another start of the process over the same data, as after an orderly end.
    pub async fn restarted(&self) -> Self {
        self.retire().await;
        self.started_again().await
    }

    /// The same as after a crash, with the model, the tool and the documents that it had.
    pub async fn crashed(&self) -> Self {
        self.cut_off();
        self.started_again().await
    }

    async fn started_again(&self) -> Self {
        let boot = uuid::Uuid::now_v7().to_string();
        let again = Self::over(Parts { faults: Faults::default(), ..self.parts() }, &boot, |_| {});
        again.move_to(&self.session());
        again.chat.recover().await;
        again
    }

    /// Nothing of this process reaches the store any more.
    fn cut_off(&self) {
        for op in ["log", "finish", "beat_process", "orphans", "heads", "start"] {
            self.faults.always(op, Fault::Fail);
        }
    }

    /// Another process over the same data, at the same time.
    pub fn beside(&self) -> Self {
        Self::over(self.parts(), "boot1", |config| config.node = "other".into())
    }

    /// The same on a machine with a clock of its own.
    pub async fn beside_with(&self, test: &TestStore, clock: Arc<TestClock>) -> Self {
        let store = Storage::open(Options { engine: test.engine.clone(), clock: as_port(&clock) }).await.unwrap();
        let parts = Parts { store, clock, faults: Faults::default(), ..self.parts() };
        Self::over(parts, "boot1", |config| config.node = "other".into())
    }

    /// The session that the next turns are in; `s1` until [`move_to`](Self::move_to).
    pub fn session(&self) -> String {
        self.session.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub fn move_to(&self, session: &str) {
        *self.session.lock().unwrap() = session.into();
    }

    pub fn submission(&self, message: &str) -> Submission {
        Submission {
            user: self.user.clone(),
            session_name: Some(self.session()),
            request: TurnRequest { message: message.into(), ..TurnRequest::default() },
            idempotency: None,
            request_id: Some("req".into()),
        }
    }

    pub async fn start(&self, message: &str) -> Result<Turn, StartError> {
        self.chat.start(self.submission(message)).await
    }

    /// The whole turn that `message` starts, as its frames.
    pub async fn frames(&self, message: &str) -> Vec<Value> {
        self.start(message).await.unwrap().watch.map(|frame| plain(&frame)).collect().await
    }

    /// The whole turn that `message` starts, as its result.
    pub async fn ask(&self, message: &str) -> TurnResult {
        self.start(message).await.unwrap().finish().await.unwrap()
    }

    /// The same for a reply with a `hitl` part.
    pub async fn reply(&self, message: &str, hitl: HitlReply) -> Result<Turn, StartError> {
        let mut submission = self.submission(message);
        submission.request.hitl = Some(hitl);
        self.chat.start(submission).await
    }

    /// A turn that starts from a message that is there.
    pub async fn from(&self, kind: RunKind, message: &str) -> Result<Turn, StartError> {
        let mut submission = self.submission(message);
        submission.request.kind = kind;
        self.chat.start(submission).await
    }

    /// `who: text (status)` of every message of the session.
    pub async fn history(&self) -> Vec<String> {
        let conversation = self.chat.session(self.user.id, &self.session(), 1000).await.unwrap();
        conversation
            .messages
            .iter()
            .map(|message| format!("{:?}: {} ({})", message.kind, message.content, message.status.as_str()))
            .collect()
    }

    /// States of the questions of the session, oldest first.
    pub async fn questions(&self) -> Vec<(u32, &'static str)> {
        let (_, branch) = self.store.conversation(self.user.id, &self.session(), None, 1000).await.unwrap();
        branch
            .iter()
            .filter_map(|message| message.pending.as_ref())
            .map(|pending| (pending.round, pending.status.as_str()))
            .collect()
    }

    /// What the store holds of a run's log, past the service's memory.
    pub async fn store_log(&self, run: RunId) -> Vec<String> {
        let batches = self.store.frames(run, 0, 1000).await.unwrap();
        batches
            .into_iter()
            .flat_map(|batch| String::from_utf8(batch.lines).unwrap().lines().map(str::to_owned).collect::<Vec<_>>())
            .collect()
    }

    /// The log of a run, as frames.
    pub async fn log(&self, run: RunId) -> Vec<Value> {
        let watch = self.chat.watch(self.user.id, run, 0).await.unwrap();
        watch.map(|frame| plain(&frame)).collect().await
    }
}

impl Drop for Harness {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            assert_eq!(self.model.violations(), Vec::<String>::new());
        }
    }
}

/// A frame without what differs from run to run: times are 0, ids are named by what they are.
pub fn plain(frame: &Frame) -> Value {
    let mut value: Value = serde_json::from_slice(&frame.json).unwrap();
    assert_eq!((value["type"].as_str(), value["seq"].as_u64()), (Some(frame.kind), Some(frame.seq)));
    value.as_object_mut().unwrap().remove("run_id");
    redact(&mut value);
    value
}

fn redact(value: &mut Value) {
    match value {
        Value::Object(object) => {
            for (key, inner) in object.iter_mut() {
                if key.ends_with("_ms") || key == "tokens_per_second" {
                    *inner = json!(0);
                } else if inner.as_str().is_some_and(|text| text.parse::<Id<()>>().is_ok()) {
                    *inner = json!(format!("<{key}>"));
                } else {
                    redact(inner);
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(redact),
        _ => {}
    }
}

/// `type` of each frame, runs of equal ones once.
pub fn kinds(frames: &[Value]) -> Vec<&str> {
    let mut kinds: Vec<&str> = frames.iter().map(|frame| frame["type"].as_str().unwrap()).collect();
    kinds.dedup();
    kinds
}

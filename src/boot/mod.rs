//! Composition root: configuration → adapters → services → doors, and the order in which they end.

pub mod door;
pub mod folder;
mod limits;
mod models;
mod probe;
mod sample;

use std::{net::SocketAddr, sync::Arc, time::Duration};

use futures::FutureExt;
use secrecy::SecretString;
use tokio::{net::TcpListener, sync::Semaphore};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use uuid::Uuid;

pub use self::sample::{COLLECTION as SAMPLE_COLLECTION, SampleError};
use self::{
    folder::{DataFolder, FolderError},
    models::{Models, models},
    probe::Probe,
};
use crate::{
    adapters::{
        amap::{Amap, AmapError},
        blobs::LocalBlobs,
        clock::SystemClock,
        embed::builtin::Builtin as BuiltinEmbedder,
        extract::Isolated,
        llm::ClientError,
        storage::{Engine, OpenError, Options, Storage},
        vector::embedded::{EmbeddedIndex, EmbeddedIndexes},
    },
    config::{Config, OnBusy, OnDisconnect},
    domain::{
        chat,
        error::{EngineError, StoreError},
        extract::Extractor,
        index::Embedder,
        knowledge::{BlobStore, DocumentStore},
        profile::Embedders,
        time::Clock,
        upkeep::Upkeep as _,
        user::UserStore,
    },
    http::{self, App},
    services::{
        agent::{CurrentWeather, registry::Registry},
        auth::{
            Accounts, AuthConfig, AuthError, Hashing, SigningSecret, WeakSecret, new_invite_code, new_signing_secret,
        },
        chat::{Chat, ChatPorts},
        eval,
        ingest::{
            Ingest, Ports, Vectors,
            folders::{FolderError as WatchError, Folders},
        },
        memory::{Remember, conversations::Conversations, events::Events, notebook::Notebook, settings::Settings},
        record::{
            self, Recorder, TapedChats, TapedClock, TapedDocuments, TapedEmbedder, TapedEpisodes, TapedMemory,
            TapedModel, TapedQueue, TapedSettings, TapedTool, taped,
        },
        retrieval::{Judges, KnowledgeTool, ListSources, OpenSource, Retrieval, search::Search},
    },
    telemetry::Metrics,
};

/// File of the data folder with the signing secret.
const JWT_SECRET: &str = "jwt-secret";
/// File of the data folder with the invite code.
const INVITE_CODE: &str = "admin-invite-code";
/// File of the data folder that names this node through restarts.
const NODE: &str = "node-id";
/// Failed logins in a row, and the span after which one more is granted.
const LOGIN_BURST: u32 = 10;
const LOGIN_REFILL: Duration = Duration::from_secs(30);
/// How often metrics are settled.
const SETTLE: Duration = Duration::from_secs(5);

/// Why a node does not start. Each says what to do.
#[derive(Debug, thiserror::Error)]
pub enum BootError {
    /// Something is set that this version does not have.
    #[error("{0} is set, but this version does not support it; unset it")]
    Unsupported(&'static str),
    /// The data folder cannot be used.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// The database cannot be used.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The signing secret is weak.
    #[error("auth.jwt_secret: {0}")]
    Secret(#[from] WeakSecret),
    /// A model's settings cannot be used.
    #[error("llm: {0}")]
    Model(#[from] ClientError),
    /// The weather service's settings cannot be used.
    #[error("weather: {0}")]
    Weather(#[from] AmapError),
    /// The index or the embedder does not start.
    #[error("{0}")]
    Engine(#[from] EngineError),
    /// Accounts do not work.
    #[error("accounts: {0}")]
    Accounts(#[from] AuthError),
    /// The store failed.
    #[error("{0}")]
    Store(#[from] StoreError),
    /// The sample corpus could not be indexed.
    #[error(transparent)]
    Sample(#[from] SampleError),
    /// The settings name a folder that cannot be watched, or the store failed.
    #[error("ingest.folders: {0}")]
    Watch(#[from] WatchError),
    /// An origin that is none.
    #[error("server.cors_origins: {0} is not an origin; write it like https://app.example.org")]
    Origin(String),
    /// The address is taken or not ours.
    #[error("cannot listen on {address}: {error}; choose another with --listen")]
    Listen {
        /// As configured.
        address: String,
        /// Why not.
        error: std::io::Error,
    },
    /// The server itself failed.
    #[error("the server failed: {0}")]
    Serve(std::io::Error),
    /// The machine refused something basic.
    #[error("{0}")]
    System(#[from] std::io::Error),
}

impl BootError {
    /// Whether another process owns the data folder.
    #[must_use]
    pub const fn is_locked(&self) -> bool {
        matches!(self, Self::Open(OpenError::Locked(_)) | Self::Folder(FolderError::Locked(_)))
    }
}

/// Everything of one process, wired and at work. Dropping it without [`stop`](Self::stop) is a crash, which the next
/// start recovers from.
pub struct Node {
    /// What the doors see.
    pub app: Arc<App>,
    /// The data folder.
    pub folder: DataFolder,
    /// The invite code, if it was made at this start: to be shown once.
    pub new_invite_code: Option<SecretString>,
    storage: Storage,
    /// Workers and upkeep.
    tasks: TaskTracker,
    /// Ends them.
    stop: CancellationToken,
    /// Time that turns have to end by themselves.
    grace: Duration,
    _lock: Option<std::fs::File>,
}

impl Node {
    /// Opens the data folder, brings the database up to date, ends what the last process left, and starts the workers.
    /// Nothing listens yet.
    ///
    /// # Errors
    /// See [`BootError`]; what was opened is closed again.
    pub async fn start(config: &Config, metrics: Metrics) -> Result<Self, BootError> {
        let node = Self::open(config, metrics).await?;
        match node.work().await {
            Ok(()) => Ok(node),
            Err(error) => {
                node.stop().await;
                Err(error)
            }
        }
    }

    /// The same with nobody at work on documents: what is stored stays as it is, until [`work`](Self::work).
    ///
    /// # Errors
    /// See [`BootError`]; what was opened is closed again.
    pub async fn open(config: &Config, metrics: Metrics) -> Result<Self, BootError> {
        limits::refuse_unsupported(config)?;
        let folder = DataFolder::open(&config.storage.data_dir)?;
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let (engine, lock) = engine(config, &folder)?;
        let storage = Storage::open(Options { engine, clock: Arc::clone(&clock) }).await?;
        let started = Self::wire(config, metrics, folder, storage.clone(), clock, lock).await;
        if started.is_err() {
            storage.close().await;
        }
        started
    }

    async fn wire(
        config: &Config,
        metrics: Metrics,
        folder: DataFolder,
        storage: Storage,
        clock: Arc<dyn Clock>,
        lock: Option<std::fs::File>,
    ) -> Result<Self, BootError> {
        let store = Arc::new(storage.clone());
        let documents: Arc<dyn DocumentStore> = store.clone();
        let node = folder.secret(NODE, || Uuid::now_v7().to_string().into())?.0;
        let node = secrecy::ExposeSecret::expose_secret(&node).to_owned();
        let boot = Uuid::now_v7().to_string();
        let stop = CancellationToken::new();
        let tasks = TaskTracker::new();
        let origins = limits::origins(&config.server.cors_origins)?;

        let (accounts, new_invite_code) = accounts(config, &folder, store.clone(), Arc::clone(&clock))?;
        let embedder: Arc<dyn Embedder> = Arc::new(BuiltinEmbedder::load()?);
        // Read before the index: what changes meanwhile is taken up again.
        let seen = store.last_change().await?;
        let indexes = EmbeddedIndexes::over(Arc::clone(&documents));
        let embedders = Embedders::new(Arc::clone(&embedder));
        let vectors = Vectors::open(store.clone(), indexes, embedders, clock.now()).await?;
        let serving = vectors.serving.clone();
        let Models { chat: chat_model, fast, grade, remote } = models(&config.llm, Arc::clone(&embedder))?;
        let blobs: Arc<dyn BlobStore> = Arc::new(LocalBlobs::open(&folder.path("blobs"))?);
        let extractor: Arc<dyn Extractor> = Arc::new(Isolated {
            program: std::env::current_exe()?,
            limits: limits::extraction(config),
            ocr: limits::ocr(config),
        });
        let uploads = folder.scratch("uploads")?;

        let ingest = Ingest::new(
            Ports {
                documents: Arc::clone(&documents),
                jobs: store.clone(),
                upkeep: store.clone(),
                blobs: Arc::clone(&blobs),
                vectors,
                extractor: Arc::clone(&extractor),
                clock: Arc::clone(&clock),
            },
            limits::worker(config, &node, &boot),
        );
        ingest.survey().await?;
        if ingest.reindex_is_due() {
            let answering = &serving.current().stored.profile.embedder;
            tracing::warn!(
                answering,
                configured = embedder.name(),
                "reindexing is due: not all vectors are as configured"
            );
        }
        let scratch = folder.scratch("watched")?;
        let folders =
            Folders::new(ingest.clone(), store.clone(), Arc::clone(&clock), limits::folders(config, &node, scratch));
        // What turns ask is asked through a tape; without a turn that records or plays, it only passes.
        let (read, told) = (TapedDocuments::over(Arc::clone(&documents)), TapedClock::over(Arc::clone(&clock)));
        let (fast, grade) = (fast.map(TapedModel::fast), grade.map(TapedModel::grade));
        let retrieval = Arc::new(Retrieval {
            search: Search::new(serving.through(taped), TapedEmbedder::over(Arc::clone(&embedder))),
            documents: Arc::clone(&read),
            clock: Arc::clone(&told),
            reranker: None,
            fast: fast.clone(),
            grade,
            judges: Judges::default(),
            config: limits::retrieval(config),
        });
        let episodes = TapedEpisodes::over(store.clone());
        let settings = Settings::new(store.clone(), Arc::clone(&clock));
        let weather = Arc::new(Amap::new(&config.weather.url, config.weather.api_key.clone())?);
        let chat = Chat::new(
            ChatPorts {
                chats: TapedChats::over(store.clone()),
                queue: TapedQueue::over(store.clone()),
                history: store.clone(),
                memory: TapedMemory::over(store.clone()),
                settings: TapedSettings::over(store.clone()),
                documents: read,
                clock: told,
                chat_model: TapedModel::chat(Arc::clone(&chat_model)),
                fast,
                retrieval: Arc::clone(&retrieval),
                // Over ports that are recorded. A tool that asks elsewhere is to stand in a `TapedTool`.
                tools: Registry::new(vec![
                    Arc::new(KnowledgeTool::new(Arc::clone(&retrieval))),
                    Arc::new(ListSources::new(Arc::clone(&retrieval), Arc::clone(&episodes))),
                    Arc::new(OpenSource::new(Arc::clone(&retrieval), episodes)),
                    TapedTool::over(Arc::new(CurrentWeather::new(weather))),
                    TapedTool::over(Arc::new(Remember::new(settings.clone()))),
                ]),
                recorder: Recorder::new(store.clone(), store.clone(), Arc::clone(&clock), limits::keeping(config)),
            },
            limits::chat(config, &node, &boot),
        );
        chat.recover().await;
        if storage.is_shared() {
            ingest.mirror(seen, &tasks, &stop);
        }
        let upkeep = metrics.clone();
        tasks.spawn(stop.clone().run_until_cancelled_owned(async move {
            loop {
                tokio::time::sleep(SETTLE).await;
                upkeep.settle();
            }
        }));
        let (recordings, now) = (store.clone(), Arc::clone(&clock));
        tasks.spawn(
            stop.clone().run_until_cancelled_owned(async move {
                match record::tend(recordings.as_ref(), now.as_ref()).await {}
            }),
        );

        let probe = Probe {
            storage: storage.clone(),
            serving,
            ingest: ingest.clone(),
            embedder: embedder.name().to_owned(),
            chat: chat_model.name().to_owned(),
            servers: remote,
        };
        let doors = limits::http(config);
        let app = Arc::new(App {
            accounts,
            chat,
            on_busy: match config.turn.on_busy {
                OnBusy::Reject => chat::OnBusy::Reject,
                OnBusy::Enqueue => chat::OnBusy::Enqueue,
                OnBusy::Interrupt => chat::OnBusy::Interrupt,
            },
            on_disconnect: match config.turn.on_disconnect {
                OnDisconnect::Continue => chat::OnDisconnect::Continue,
                OnDisconnect::Cancel => chat::OnDisconnect::Cancel,
            },
            retrieval,
            ingest,
            folders,
            events: Events::new(store.clone(), store.clone(), Arc::clone(&clock)),
            settings,
            notebook: Notebook::new(store.clone(), store.clone(), store.clone(), Arc::clone(&clock)),
            conversations: Conversations::new(store.clone(), Arc::clone(&clock)),
            documents,
            blobs,
            extractor,
            clock,
            uploads,
            places: Semaphore::new(doors.requests),
            limits: doors,
            shutdown: CancellationToken::new(),
            origins,
            components: Box::new(move || probe.clone().components().boxed()),
            metrics: Box::new(move || metrics.render()),
        });
        Ok(Self {
            app,
            folder,
            new_invite_code,
            storage,
            tasks,
            stop,
            // What is left of it is for telling those who watch.
            grace: config.server.shutdown * 4 / 5,
            _lock: lock,
        })
    }

    /// Starts the workers that read documents.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn work(&self) -> Result<(), BootError> {
        Ok(self.app.ingest.start(&self.tasks, &self.stop).await?)
    }

    /// Indexes the sample corpus, once in the life of the data folder. Gives how many documents were indexed now.
    ///
    /// # Errors
    /// See [`SampleError`].
    pub async fn index_sample(&self) -> Result<usize, BootError> {
        Ok(sample::index(&self.folder, &self.app.ingest).await?)
    }

    /// Follows the watched folders, those that the settings name among them, until the node stops. For servers: a command
    /// that is soon done leaves them to the next server.
    ///
    /// # Errors
    /// When the settings cannot be meant so, or the store fails. A folder that cannot be read is no error: it is listed
    /// with its fault.
    pub async fn watch(&self, config: &Config) -> Result<(), BootError> {
        let named: Vec<_> =
            config.ingest.folders.iter().map(|folder| (folder.path.clone(), folder.collection.clone())).collect();
        Ok(self.app.folders.start(&named, &self.tasks, &self.stop).await?)
    }

    /// Listens at `address` (`host:port`), and leaves a door for the command line in the data folder. Whoever comes now
    /// waits until [`serve`](Self::serve).
    ///
    /// # Errors
    /// When the address cannot be had.
    pub async fn listen(&self, address: &str) -> Result<(TcpListener, SocketAddr), BootError> {
        let refused = |error| BootError::Listen { address: address.to_owned(), error };
        let listener = TcpListener::bind(address).await.map_err(refused)?;
        let bound = listener.local_addr().map_err(refused)?;
        door::open(&self.app, &self.folder, bound).await;
        Ok((listener, bound))
    }

    /// Serves until [`App::shutdown`] is cancelled, and stops everything in order: doors and turns together, because
    /// event streams end when their turns do; then the workers, then the store.
    ///
    /// # Errors
    /// When the listener fails for good.
    pub async fn serve(self, listener: TcpListener, bound: SocketAddr) -> Result<(), BootError> {
        let door = door::keep(&self.app, &self.folder, bound);
        let doors = async {
            let served = tokio::select! {
                served = http::serve(listener, Arc::clone(&self.app)) => served,
                never = door => match never {},
            };
            self.app.shutdown.cancel();
            served
        };
        let turns = async {
            self.app.shutdown.cancelled().await;
            self.app.chat.shutdown(self.grace).await;
        };
        let (served, ()) = tokio::join!(doors, turns);
        let closed = self.folder.remove(door::FILE);
        self.stop().await;
        served.map_err(BootError::Serve)?;
        Ok(closed?)
    }

    /// Ends turns (after their grace), workers and the store, in this order.
    pub async fn stop(self) {
        self.app.shutdown.cancel();
        self.app.chat.shutdown(self.grace).await;
        self.stop.cancel();
        self.tasks.close();
        self.tasks.wait().await;
        self.storage.close().await;
    }

    /// An access token of the account that the command line acts as.
    ///
    /// # Errors
    /// When it was disabled, or the store fails.
    pub async fn local_token(&self) -> Result<String, BootError> {
        Ok(door::token(&self.app.accounts).await?)
    }
}

/// Measures retrieval on evaluation sets, with the configured embedder and an index of its own: the data folder is not
/// touched.
///
/// # Errors
/// When embedder or index fail.
pub async fn evaluate_retrieval(config: &Config, sets: &[eval::Set]) -> Result<eval::Report, BootError> {
    limits::refuse_unsupported(config)?;
    let embedder: Arc<dyn Embedder> = Arc::new(BuiltinEmbedder::load()?);
    let dims = embedder.dims();
    Ok(eval::retrieval(sets, embedder, || Arc::new(EmbeddedIndex::new(dims))).await?)
}

/// Brings the database to the layout of this version, and nothing else.
///
/// # Errors
/// When it cannot be opened.
pub async fn migrate(config: &Config) -> Result<(), BootError> {
    let folder = DataFolder::open(&config.storage.data_dir)?;
    let (engine, _lock) = engine(config, &folder)?;
    let storage = Storage::open(Options { engine, clock: Arc::new(SystemClock) }).await?;
    storage.close().await;
    Ok(())
}

/// The invite code that a server over `folder` accepts, if there is one yet.
///
/// # Errors
/// When the file cannot be read.
pub fn invite_code(config: &Config, folder: &DataFolder) -> Result<Option<SecretString>, BootError> {
    match &config.auth.admin_invite_code {
        Some(code) => Ok(Some(code.clone())),
        None => Ok(folder.read(INVITE_CODE)?.map(SecretString::from)),
    }
}

/// The database, and the lock of the data folder where the store does not take it itself.
fn engine(config: &Config, folder: &DataFolder) -> Result<(Engine, Option<std::fs::File>), BootError> {
    let Some(url) = config.storage.database_url.clone() else {
        return Ok((Engine::Sqlite { folder: config.storage.data_dir.clone() }, None));
    };
    Ok((Engine::Postgres { url, connections: config.storage.connections }, Some(folder.lock()?)))
}

fn accounts(
    config: &Config,
    folder: &DataFolder,
    store: Arc<dyn UserStore>,
    clock: Arc<dyn Clock>,
) -> Result<(Accounts, Option<SecretString>), BootError> {
    let auth = &config.auth;
    let secret = match &auth.jwt_secret {
        Some(secret) => secret.clone(),
        None => folder.secret(JWT_SECRET, new_signing_secret)?.0,
    };
    let (invite_code, is_new) = match &auth.admin_invite_code {
        Some(code) => (code.clone(), false),
        None => folder.secret(INVITE_CODE, new_invite_code)?,
    };
    let shown = is_new.then(|| invite_code.clone());
    let accounts = Accounts::new(
        store,
        clock,
        AuthConfig {
            secret: SigningSecret::new(secret)?,
            invite_code,
            hashing: Hashing {
                memory_kib: auth.argon2_memory_kib,
                passes: auth.argon2_passes,
                concurrency: auth.argon2_concurrency,
            },
            access_ttl: auth.access_token,
            refresh_ttl: auth.refresh_token,
            login_burst: LOGIN_BURST,
            login_refill: LOGIN_REFILL,
        },
    )?;
    Ok((accounts, shown))
}

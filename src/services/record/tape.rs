//! The tape of one turn: what its ports answer, noted or played.

use std::{
    collections::{BTreeSet, HashMap},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use sha2::{Digest, Sha256};

use crate::{
    domain::{
        id::RunId,
        index::{TermId, TermStats},
        recording::{Recording, Reply},
        run::RunStatus,
        time::Millis,
    },
    text::terms,
};

/// What a call takes beside its answer, in bytes.
const CALL: usize = 128;

/// What is answered from a tape that plays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// Every port.
    Everything,
    /// What the conversation was when the turn began, and tools, which may do more than answer. Models and documents
    /// answer for themselves.
    Conversation,
}

/// See the module.
#[derive(Debug)]
pub struct Tape(Mode);

#[derive(Debug)]
enum Mode {
    Recording { limit: usize, notes: Mutex<Notes> },
    Playing { scope: Scope, at: Millis, deck: Mutex<Deck> },
}

/// What a turn did, as far as its ports saw it.
#[derive(Debug, Default)]
pub(super) struct Notes {
    calls: Vec<Call>,
    bytes: usize,
    overflows: bool,
    /// The terms that the turn weighs: all that is needed of the index's statistics.
    terms: BTreeSet<TermId>,
    pub(super) run: Option<RunId>,
    pub(super) end: Option<(RunStatus, Option<String>)>,
}

#[derive(Debug)]
struct Call {
    port: &'static str,
    request_sha256: String,
    answer: Answer,
}

/// Statistics as they are recorded: of the turn's terms alone.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Counts {
    generation: u64,
    points: u64,
    df: HashMap<TermId, u32>,
}

impl Counts {
    fn of(stats: &TermStats, terms: impl Iterator<Item = TermId>) -> Self {
        let df = terms.map(|term| (term, stats.df(term))).filter(|(_, df)| *df > 0).collect();
        Self { generation: stats.generation, points: stats.points, df }
    }
}

impl From<Counts> for TermStats {
    fn from(Counts { generation, points, df }: Counts) -> Self {
        Self { generation, points, collections: vec![Arc::new(df)] }
    }
}

#[derive(Debug)]
enum Answer {
    /// The caller did not wait for it, or does not yet.
    None,
    Json(Vec<u8>),
    /// Cut to the turn's terms when all of them are known.
    Stats(Arc<TermStats>),
}

/// The recorded answers, each given once.
#[derive(Debug, Default)]
struct Deck {
    replies: Vec<Option<Reply>>,
    report: Report,
}

/// How a playing tape was asked.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Report {
    /// Ports that were asked something else than recorded, and gave the next recorded answer all the same.
    pub asked_differently: Vec<String>,
    /// Ports that were asked something that is not recorded.
    pub missing: Vec<String>,
    /// Recorded answers that nobody asked for, by port.
    pub unused: Vec<String>,
}

/// What becomes of a call.
pub(super) enum Turned<T> {
    /// The port answers, and nothing is noted.
    Through,
    /// The port answers, and its answer is noted.
    Note(Note),
    /// The recorded answer.
    Played(T),
    /// There was no answer while the caller waited.
    Cut,
    /// This was not asked.
    Missing,
}

impl Tape {
    /// A tape that notes up to `limit` bytes.
    #[must_use]
    pub fn recording(limit: usize) -> Arc<Self> {
        Arc::new(Self(Mode::Recording { limit, notes: Mutex::default() }))
    }

    /// A tape that plays `recording`.
    #[must_use]
    pub fn playing(recording: Recording, scope: Scope) -> Arc<Self> {
        let at = recording.head.began_at;
        let replies = recording.replies.into_iter().map(Some).collect();
        Arc::new(Self(Mode::Playing { scope, at, deck: Mutex::new(Deck { replies, report: Report::default() }) }))
    }

    /// When the turn is, if the tape says so.
    pub(super) const fn at(&self) -> Option<Millis> {
        match &self.0 {
            Mode::Playing { scope: Scope::Everything, at, .. } => Some(*at),
            Mode::Playing { scope: Scope::Conversation, .. } | Mode::Recording { .. } => None,
        }
    }

    /// Whether it plays: then nothing may be written.
    pub(super) const fn plays(&self) -> bool {
        matches!(self.0, Mode::Playing { .. })
    }

    /// How it was asked, if it plays everything.
    #[must_use]
    pub fn report(&self) -> Report {
        let Mode::Playing { scope: Scope::Everything, deck, .. } = &self.0 else { return Report::default() };
        let deck = lock(deck);
        let mut report = deck.report.clone();
        let mut unused: Vec<String> = deck.replies.iter().flatten().map(|reply| reply.port.clone()).collect();
        unused.dedup();
        report.unused = unused;
        report
    }

    /// Notes a call of `port`, or answers it.
    pub(super) fn turn<T: DeserializeOwned>(
        self: &Arc<Self>,
        port: &'static str,
        request: &impl Serialize,
    ) -> Turned<T> {
        match &self.0 {
            Mode::Recording { notes, .. } => {
                let request_sha256 = sha256(request);
                let mut notes = lock(notes);
                if notes.overflows {
                    return Turned::Through;
                }
                let place = notes.calls.len();
                notes.calls.push(Call { port, request_sha256, answer: Answer::None });
                Turned::Note(Note { tape: Arc::clone(self), place })
            }
            Mode::Playing { scope: Scope::Conversation, .. } if !is_conversation(port) => Turned::Through,
            Mode::Playing { deck, .. } => {
                let request_sha256 = sha256(request);
                let Some(reply) = lock(deck).take(port, &request_sha256) else { return Turned::Missing };
                match serde_json::from_slice::<Option<T>>(&reply.body) {
                    Ok(Some(answer)) => Turned::Played(answer),
                    Ok(None) => Turned::Cut,
                    Err(error) => {
                        tracing::warn!(%error, port, "a recorded answer cannot be read");
                        Turned::Missing
                    }
                }
            }
        }
    }

    /// The turn weighs the words of `text`.
    pub(super) fn weighs(&self, text: &str) {
        let Mode::Recording { notes, .. } = &self.0 else { return };
        let terms = terms::analyse(text).into_iter().map(|term| terms::term_id(&term.text));
        lock(notes).terms.extend(terms);
    }

    /// The turn is this run.
    pub(super) fn accepted(&self, run: RunId) {
        self.note(|notes| notes.run = Some(run));
    }

    /// The run's end is in the store.
    pub(super) fn ended(&self, status: RunStatus, error_code: Option<String>) {
        self.note(|notes| notes.end = Some((status, error_code)));
    }

    fn note(&self, change: impl FnOnce(&mut Notes)) {
        if let Mode::Recording { notes, .. } = &self.0 {
            change(&mut lock(notes));
        }
    }

    /// What was noted, and nothing more is.
    pub(super) fn take(&self) -> Notes {
        match &self.0 {
            Mode::Recording { notes, .. } => std::mem::take(&mut *lock(notes)),
            Mode::Playing { .. } => Notes::default(),
        }
    }
}

/// A panic leaves what is behind the lock whole, so a poisoned one is as good as any.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Ports that say what the conversation was; and tools, which may do more than answer.
fn is_conversation(port: &str) -> bool {
    port.starts_with("chats.") || port.starts_with("memory.") || port == "tool"
}

/// Ports whose answers still mean something when they are asked differently: a model's reply is its next one.
fn speaks(port: &str) -> bool {
    port.ends_with("_model")
}

fn sha256(request: &impl Serialize) -> String {
    // What does not serialize is a request without parts: all of them are equal.
    hex::encode(Sha256::digest(serde_json::to_vec(request).unwrap_or_default()))
}

impl Deck {
    fn take(&mut self, port: &'static str, request_sha256: &str) -> Option<Reply> {
        let is_equal = |reply: &&mut Option<Reply>| {
            reply.as_ref().is_some_and(|reply| reply.port == port && reply.request_sha256 == request_sha256)
        };
        if let Some(reply) = self.replies.iter_mut().find(is_equal) {
            return reply.take();
        }
        let is_next = |reply: &&mut Option<Reply>| reply.as_ref().is_some_and(|reply| reply.port == port);
        match self.replies.iter_mut().find(is_next).filter(|_| speaks(port)) {
            Some(reply) => {
                self.report.asked_differently.push(port.to_owned());
                reply.take()
            }
            None => {
                self.report.missing.push(port.to_owned());
                None
            }
        }
    }
}

impl Notes {
    /// Whether all answers are there.
    pub(super) const fn is_complete(&self) -> bool {
        !self.overflows
    }

    /// The answers, in the order of the calls.
    pub(super) fn replies(self) -> Vec<Reply> {
        let mut equal: HashMap<(&'static str, String), i64> = HashMap::new();
        let mut replies = Vec::with_capacity(self.calls.len());
        for (place, call) in self.calls.into_iter().enumerate() {
            let body = match call.answer {
                Answer::None => b"null".to_vec(),
                Answer::Json(body) => body,
                Answer::Stats(stats) => json(&Ok::<_, ()>(Counts::of(&stats, self.terms.iter().copied()))),
            };
            let attempt = equal.entry((call.port, call.request_sha256.clone())).or_default();
            replies.push(Reply {
                path: format!("{place:06}"),
                attempt: *attempt,
                port: call.port.to_owned(),
                request_sha256: call.request_sha256,
                body,
            });
            *attempt += 1;
        }
        replies
    }
}

fn json(answer: &impl Serialize) -> Vec<u8> {
    // Answers are plain data; one that did not serialize is found missing when it is played.
    serde_json::to_vec(answer).unwrap_or_else(|error| {
        tracing::error!(%error, "an answer could not be recorded");
        b"null".to_vec()
    })
}

/// The place on a tape where an answer belongs. Dropped without one, the answer was not waited for.
pub(super) struct Note {
    tape: Arc<Tape>,
    place: usize,
}

impl Note {
    pub(super) fn answered(self, answer: &impl Serialize) {
        let body = json(answer);
        self.put(body.len(), Answer::Json(body));
    }

    /// Statistics are shared with the index, and cut later.
    pub(super) fn counted(self, stats: Arc<TermStats>) {
        self.put(0, Answer::Stats(stats));
    }

    fn put(self, bytes: usize, answer: Answer) {
        let Mode::Recording { limit, notes } = &self.tape.0 else { return };
        let mut notes = lock(notes);
        notes.bytes = notes.bytes.saturating_add(bytes).saturating_add(CALL);
        if notes.bytes > *limit {
            notes.overflows = true;
            notes.calls = Vec::new();
        } else if let Some(call) = notes.calls.get_mut(self.place) {
            call.answer = answer;
        }
    }

    /// The answer is larger than what the tape takes.
    pub(super) fn overflow(self) {
        self.put(usize::MAX, Answer::None);
    }

    /// Whether an answer of this size still has a place.
    pub(super) fn has_room(&self, bytes: usize) -> bool {
        match &self.tape.0 {
            Mode::Recording { limit, notes } => lock(notes).bytes.saturating_add(bytes) <= *limit,
            Mode::Playing { .. } => false,
        }
    }
}

//! Runs the reader in a child process, so that no file can take the server down with it.
//!
//! The child limits itself before it opens the file: address space, processor time, no core, no file written. That
//! needs neither unsafe code between fork and exec nor a shell; the limits hold for whatever the format crates do.

use std::{
    fs::File,
    io::{ErrorKind, Read, Write},
    os::unix::process::ExitStatusExt,
    path::{Path, PathBuf},
    process::{ExitCode, ExitStatus, Stdio},
    time::Duration,
};

use async_trait::async_trait;
use rlimit::Resource;
use serde::{Deserialize, Serialize};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    process::{Child, Command},
};

use super::{
    ocr::{self, Ocr},
    window::{self, Window},
};
use crate::domain::{
    error::ExtractError,
    extract::{Extracted, Extractor, FileType, Part},
};

/// Longest request that a child reads, in bytes.
pub(super) const MAX_REQUEST: u64 = 64 << 10;
/// How much of the child's complaints is looked at, in bytes.
const MAX_COMPLAINT: u64 = 8 << 10;
/// Parsers recurse; a short stack would make deep but honest files unreadable.
const STACK: usize = 64 << 20;
/// What the standard library says when the address space is used up.
const OUT_OF_MEMORY: &str = "memory allocation of";
/// `SIGKILL`: the kernel's way when memory runs out.
const SIGKILL: i32 = 9;
/// `SIGXCPU`: processor time is used up.
const SIGXCPU: i32 = 24;

/// What one file may cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// By the wall clock, and as processor time.
    pub time: Duration,
    /// Address space of the child, in bytes.
    pub memory: u64,
    /// What an archive may unpack to, in bytes.
    pub unpacked: u64,
    /// What the child may answer with, in bytes.
    pub output: u64,
    /// How much of a long text is read at a time, in bytes.
    pub part: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { time: Duration::from_secs(120), memory: 1 << 30, unpacked: 512 << 20, output: 256 << 20, part: 4 << 20 }
    }
}

/// What the child is asked.
#[derive(Debug, Serialize, Deserialize)]
struct Request {
    path: PathBuf,
    filename: String,
    from: u64,
    limits: Limits,
}

/// Extracts in a child process: `program extract-worker`, which must call [`worker_main`].
#[derive(Debug, Clone)]
pub struct Isolated {
    /// The executable, usually the server's own.
    pub program: PathBuf,
    /// What one file may cost.
    pub limits: Limits,
    /// What reads PDFs without text, if anything does.
    pub ocr: Option<Ocr>,
}

impl Isolated {
    /// Has a child read the file.
    async fn read(&self, path: &Path, filename: &str, from: u64) -> Result<Part, ExtractError> {
        let request = Request { path: path.to_owned(), filename: filename.to_owned(), from, limits: self.limits };
        let ended = self.child("extract-worker", &request, self.limits.time).await?;
        ended.outcome(self.limits.output)
    }

    /// Has the operator's command read the pictures of the pages.
    async fn recognise(&self, ocr: &Ocr, path: &Path) -> Result<Extracted, ExtractError> {
        let ended = self.child("ocr-worker", &ocr.request(path), ocr.time).await?;
        if ended.answer.len() as u64 > self.limits.output {
            return Err(ExtractError::ArchiveLimit);
        }
        if !ended.status.success() {
            tracing::error!(status = %ended.status, complaint = %ended.complaint, command = ?ocr.command, "OCR failed");
            return Err(match (ended.status.code(), ended.status.signal()) {
                (Some(code), _) if code == i32::from(ocr::NOT_FOUND) => ExtractError::Unavailable,
                (_, Some(SIGXCPU)) => ExtractError::Timeout,
                // What the command cannot read has no text for us.
                _ => ExtractError::NoText,
            });
        }
        let read = tokio::task::spawn_blocking(move || ocr::read(&ended.answer)).await;
        read.unwrap_or(Err(ExtractError::Malformed))
    }

    /// Asks a child process for something and waits for its end, but no longer than `time`.
    async fn child<R: Serialize + Sync>(&self, role: &str, request: &R, time: Duration) -> Result<Ended, ExtractError> {
        let request = serde_json::to_vec(request).map_err(|error| {
            tracing::error!(%error, role, "the child process cannot be asked");
            ExtractError::Unavailable
        })?;
        // The environment may hold secrets; a process that reads hostile files gets none of it.
        let child = Command::new(&self.program)
            .arg(role)
            .env_clear()
            .env("PATH", ocr::PATH)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn();
        let mut child = child.map_err(|error| {
            tracing::error!(%error, program = %self.program.display(), role, "the child process did not start");
            ExtractError::Unavailable
        })?;
        match tokio::time::timeout(time, converse(&mut child, &request, self.limits.output)).await {
            Ok(Ok(ended)) => Ok(ended),
            Ok(Err(error)) => {
                tracing::warn!(%error, role, "talking to the child process failed");
                Err(ExtractError::Unavailable)
            }
            Err(_elapsed) => {
                if let Err(error) = child.kill().await {
                    tracing::warn!(%error, role, "the child process could not be killed");
                }
                Err(ExtractError::Timeout)
            }
        }
    }
}

#[async_trait]
impl Extractor for Isolated {
    fn name(&self) -> &str {
        super::NAME
    }

    fn file_type(&self, filename: &str) -> Option<FileType> {
        super::file_type(filename)
    }

    async fn extract(&self, path: &Path, filename: &str, from: u64) -> Result<Part, ExtractError> {
        match (self.read(path, filename, from).await, &self.ocr) {
            (Err(ExtractError::NoText), Some(ocr)) if self.file_type(filename) == Some(FileType::Pdf) => {
                self.recognise(ocr, path).await.map(Part::from)
            }
            (read, _) => read,
        }
    }
}

/// How a child ended.
struct Ended {
    status: ExitStatus,
    answer: Vec<u8>,
    complaint: String,
}

impl Ended {
    fn outcome(&self, limit: u64) -> Result<Part, ExtractError> {
        if self.answer.len() as u64 > limit {
            return Err(ExtractError::ArchiveLimit);
        }
        if self.status.success() {
            return serde_json::from_slice::<Result<Part, ExtractError>>(&self.answer)
                .unwrap_or(Err(ExtractError::Malformed));
        }
        tracing::warn!(status = %self.status, complaint = %self.complaint, "the extraction process died");
        Err(match self.status.signal() {
            _ if self.complaint.contains(OUT_OF_MEMORY) => ExtractError::Memory,
            Some(SIGKILL) => ExtractError::Memory,
            Some(SIGXCPU) => ExtractError::Timeout,
            Some(_) => ExtractError::Malformed,
            // A file crashes the reader or is answered; only the reader itself gives up.
            None => ExtractError::Unavailable,
        })
    }
}

/// Asks the child and waits for its end, reading no more than it may say.
async fn converse(child: &mut Child, request: &[u8], limit: u64) -> std::io::Result<Ended> {
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let (Some(mut stdin), Some(stdout), Some(mut stderr)) = (stdin, stdout, stderr) else {
        return Err(std::io::Error::other("a pipe is missing"));
    };
    // A child that dies at once closes its end; its status says more than the broken pipe.
    let _ = stdin.write_all(request).await;
    drop(stdin);
    let mut answer = Vec::new();
    let mut complaint = Vec::new();
    let mut bounded = stdout.take(limit + 1);
    let (read, heard) = tokio::join!(bounded.read_to_end(&mut answer), async {
        let heard = (&mut stderr).take(MAX_COMPLAINT).read_to_end(&mut complaint).await;
        tokio::io::copy(&mut stderr, &mut tokio::io::sink()).await.and(heard)
    });
    read.and(heard)?;
    // Too much was said: the pipe closes here, and the child ends by it.
    drop(bounded);
    let status = child.wait().await?;
    Ok(Ended { status, answer, complaint: String::from_utf8_lossy(&complaint).into_owned() })
}

/// The child's whole life: reads one request from standard input and writes one answer to standard output. Call it
/// before anything else starts a thread or takes memory.
#[must_use]
pub fn worker_main() -> ExitCode {
    let mut request = Vec::new();
    if std::io::stdin().take(MAX_REQUEST).read_to_end(&mut request).is_err() {
        return ExitCode::FAILURE;
    }
    let Ok(request) = serde_json::from_slice::<Request>(&request) else { return ExitCode::FAILURE };
    if limit(&request.limits).is_err() {
        return ExitCode::FAILURE;
    }
    let output = request.limits.output;
    let reader = std::thread::Builder::new().stack_size(STACK).spawn(move || serve(&request));
    // A panic of a format crate is a file that cannot be read.
    let outcome = reader
        .map_err(|_| ExtractError::Memory)
        .and_then(|reader| reader.join().unwrap_or(Err(ExtractError::Malformed)));
    let Ok(mut answer) = serde_json::to_vec(&outcome) else { return ExitCode::FAILURE };
    if answer.len() as u64 > output {
        let refused: Result<Part, ExtractError> = Err(ExtractError::ArchiveLimit);
        let Ok(short) = serde_json::to_vec(&refused) else { return ExitCode::FAILURE };
        answer = short;
    }
    let mut stdout = std::io::stdout().lock();
    match stdout.write_all(&answer).and_then(|()| stdout.flush()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

fn limit(limits: &Limits) -> std::io::Result<()> {
    let seconds = limits.time.as_secs().max(1);
    Resource::AS.set(limits.memory, limits.memory)?;
    Resource::CPU.set(seconds, seconds + 1)?;
    Resource::CORE.set(0, 0)?;
    Resource::FSIZE.set(0, 0)
}

fn serve(request: &Request) -> Result<Part, ExtractError> {
    let kind = super::file_type(&request.filename).ok_or(ExtractError::Unsupported)?;
    let read = File::open(&request.path).and_then(|mut file| {
        let length = file.metadata()?.len();
        window::window(&mut file, length, kind, request.from, request.limits.part)
    });
    let Window { bytes, next } = read.map_err(|error| match error.kind() {
        ErrorKind::OutOfMemory => ExtractError::Memory,
        _ => ExtractError::Unavailable,
    })?;
    match super::read(&bytes, &request.filename, request.limits.unpacked) {
        // Blank pages of a long text are no error.
        Err(ExtractError::EmptyFile) if request.from > 0 || next.is_some() => {
            Ok(Part { extracted: Extracted::default(), next })
        }
        read => read.map(|extracted| Part { extracted, next }),
    }
}

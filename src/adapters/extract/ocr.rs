//! Scanned pages, read by a command that the operator names: it gets the path of the PDF as its last word and prints the
//! text, pages parted by form feeds.

use std::{
    io::Read,
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::{Command, ExitCode},
    time::Duration,
};

use rlimit::Resource;
use serde::{Deserialize, Serialize};

use super::{build::Builder, isolate::MAX_REQUEST, quality, text};
use crate::domain::{error::ExtractError, extract::Extracted};

/// Where the command and what it calls are looked for; nothing else of the server's environment is handed on.
pub(super) const PATH: &str = "/usr/local/bin:/usr/bin:/bin";
/// Address space of each of its processes, in bytes: page images are large.
const MEMORY: u64 = 4 << 30;
/// The largest file that it may write on its way, in bytes.
const FILE: u64 = 1 << 30;
/// Processor time over the wall clock's limit: it may work on several cores.
const CORES: u64 = 8;
/// What a shell says of a command that is not there.
pub(super) const NOT_FOUND: u8 = 127;

/// How scanned pages are read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ocr {
    /// The program and its words; the path of the PDF is added.
    pub command: Vec<String>,
    /// How long it may take.
    pub time: Duration,
}

/// What the child is asked.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Request {
    pub(super) command: Vec<String>,
    pub(super) path: PathBuf,
    pub(super) seconds: u64,
}

impl Ocr {
    pub(super) fn request(&self, path: &Path) -> Request {
        Request { command: self.command.clone(), path: path.to_owned(), seconds: self.time.as_secs().max(1) }
    }
}

/// The child's life: it limits itself, and becomes the command.
#[must_use]
pub fn ocr_main() -> ExitCode {
    let mut request = Vec::new();
    if std::io::stdin().take(MAX_REQUEST).read_to_end(&mut request).is_err() {
        return ExitCode::FAILURE;
    }
    let Ok(request) = serde_json::from_slice::<Request>(&request) else { return ExitCode::FAILURE };
    let Some((program, words)) = request.command.split_first() else { return ExitCode::FAILURE };
    if limit(request.seconds).is_err() {
        return ExitCode::FAILURE;
    }
    // Returns only when the command cannot be started.
    let _not_started = Command::new(program).args(words).arg(&request.path).exec();
    ExitCode::from(NOT_FOUND)
}

fn limit(seconds: u64) -> std::io::Result<()> {
    let cpu = seconds.saturating_mul(CORES);
    Resource::AS.set(MEMORY, MEMORY)?;
    Resource::CPU.set(cpu, cpu + 1)?;
    Resource::CORE.set(0, 0)?;
    Resource::FSIZE.set(FILE, FILE)
}

/// What the command printed, as pages of text.
pub(super) fn read(printed: &[u8]) -> Result<Extracted, ExtractError> {
    let printed = String::from_utf8_lossy(printed);
    let mut builder = Builder::default();
    for (no, page) in printed.split('\u{0C}').enumerate() {
        builder.page((no + 1).to_string());
        text::read_plain(page, &mut builder);
    }
    builder.warn("ocr", "The text was recognised from pictures of the pages and may have errors.");
    let mut extracted = builder.finish();
    if extracted.blocks.is_empty() {
        return Err(ExtractError::NoText);
    }
    quality::judge(&mut extracted);
    Ok(extracted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn form_feeds_part_pages() {
        let read = read("第一页\n\u{0C}\n\u{0C}Third page.\n\u{0C}".as_bytes()).unwrap();
        assert_eq!(read.text, "第一页\n\nThird page.");
        let pages: Vec<(&str, usize)> = read.pages.iter().map(|page| (page.label.as_str(), page.start)).collect();
        assert_eq!(pages, [("1", 0), ("3", 5)]);
        assert_eq!(read.warnings.iter().map(|warning| warning.code.as_str()).collect::<Vec<_>>(), ["ocr"]);
        assert_eq!(super::read(b" \x0c\n"), Err(ExtractError::NoText));
    }
}

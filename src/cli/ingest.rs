//! `askback ingest`: files and folders in, with progress.

use std::{
    collections::BTreeSet,
    ffi::OsStr,
    io,
    path::{Path, PathBuf},
};

use askback::{adapters::extract::file_type, config::Config, domain::job::JobState};
use futures::{StreamExt, stream};
use indicatif::{MultiProgress, ProgressBar};
use reqwest::{
    Body,
    multipart::{Form, Part},
};
use serde::Serialize;
use tokio_util::io::ReaderStream;

use super::{
    Failure,
    args::Ingest,
    job::{self, Job, style},
    link::Link,
    output,
};

/// Files that are under way at a time; the server reads a few of them and queues the rest.
const AT_ONCE: usize = 4;

/// What became of a file.
#[derive(Debug, Serialize)]
struct Outcome {
    path: String,
    filename: String,
    /// `completed` or `failed`.
    status: JobState,
    chunks: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    error_code: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

#[derive(Serialize)]
struct Report<'a> {
    collection: &'a str,
    completed: usize,
    failed: usize,
    files: &'a [Outcome],
    /// Files of folders that are of no type that askback reads.
    skipped: &'a BTreeSet<String>,
    /// Links of folders that lead out of the folder, to another folder or nowhere.
    not_followed: &'a BTreeSet<String>,
}

pub(crate) async fn run(config: Config, wish: Ingest) -> Result<(), Failure> {
    let mut files = Files::default();
    for path in &wish.paths {
        files.collect(path)?;
    }
    if files.found.is_empty() {
        return Err(Failure::Failed("there is no file that askback reads; see `askback ingest --help`".into()));
    }
    let link = Link::open(&config).await?;
    let outcomes = ingest(&link, &wish.collection, std::mem::take(&mut files.found)).await;
    link.close().await?;
    report(&wish, &outcomes, &files)
}

/// Files to take in, with the names they get.
#[derive(Default)]
struct Files {
    found: Vec<(PathBuf, String)>,
    skipped: BTreeSet<String>,
    not_followed: BTreeSet<String>,
}

impl Files {
    /// A file that was named, whatever its type; or everything readable in a folder, under the path from there.
    fn collect(&mut self, path: &Path) -> Result<(), Failure> {
        let unreadable = |error: io::Error| Failure::Failed(format!("{}: {error}", path.display()));
        let metadata = std::fs::metadata(path).map_err(unreadable)?;
        if metadata.is_dir() {
            let root = path.canonicalize().map_err(unreadable)?;
            return self.walk(&root, path, "").map_err(unreadable);
        }
        let name = text(path.file_name().unwrap_or(path.as_os_str()));
        self.found.push((path.to_owned(), name));
        Ok(())
    }

    /// What `folder` holds, which is `root` or lies in it. A link to a file is followed as long as it stays in `root`:
    /// what was not named must not be taken in. Links to folders are not, for they may lead in circles.
    fn walk(&mut self, root: &Path, folder: &Path, prefix: &str) -> io::Result<()> {
        let mut entries = std::fs::read_dir(folder)?.collect::<io::Result<Vec<_>>>()?;
        entries.sort_by_key(std::fs::DirEntry::file_name);
        for entry in entries {
            let plain = text(&entry.file_name());
            if plain.starts_with('.') {
                continue;
            }
            let name = format!("{prefix}{plain}");
            let kind = entry.file_type()?;
            if kind.is_dir() {
                self.walk(root, &entry.path(), &format!("{name}/"))?;
            } else if kind.is_symlink() && !leads_to_file_in(root, &entry.path()) {
                self.not_followed.insert(text(entry.path().as_os_str()));
            } else if file_type(&plain).is_some() && entry.path().is_file() {
                self.found.push((entry.path(), name));
            } else if kind.is_file() {
                self.skipped.insert(text(entry.path().as_os_str()));
            }
        }
        Ok(())
    }
}

fn leads_to_file_in(root: &Path, path: &Path) -> bool {
    path.canonicalize().is_ok_and(|target| target.starts_with(root) && target.is_file())
}

/// A name or path as text: bytes that are no UTF-8 as `%` and two digits, so that different names stay different.
fn text(name: &OsStr) -> String {
    let mut text = String::new();
    for chunk in name.as_encoded_bytes().utf8_chunks() {
        text.push_str(chunk.valid());
        chunk.invalid().iter().for_each(|byte| text.push_str(&format!("%{byte:02X}")));
    }
    text
}

async fn ingest(link: &Link, collection: &str, files: Vec<(PathBuf, String)>) -> Vec<Outcome> {
    let bars = MultiProgress::new();
    let all = bars.add(ProgressBar::new(files.len() as u64));
    all.set_style(style("{bar:30} {pos}/{len} files, {elapsed}"));
    let mut outcomes: Vec<(usize, Outcome)> = stream::iter(files.into_iter().enumerate())
        .map(|(no, (path, filename))| {
            let bar = bars.insert_before(&all, ProgressBar::new_spinner());
            bar.set_style(style("  {spinner} {prefix}: {msg}"));
            bar.set_prefix(filename.clone());
            let all = all.clone();
            async move {
                let shown = text(path.as_os_str());
                let outcome = match one(link, collection, &path, &filename, &bar).await {
                    Ok(job) => Outcome {
                        path: shown,
                        filename,
                        status: job.status,
                        chunks: job.processed_chunks,
                        error_code: job.error_code,
                        error: job.error,
                    },
                    Err(failure) => Outcome {
                        path: shown,
                        filename,
                        status: JobState::Failed,
                        chunks: 0,
                        error: Some(failure.to_string()),
                        error_code: match failure {
                            Failure::Refused { code, .. } => Some(code),
                            _ => None,
                        },
                    },
                };
                bar.finish_and_clear();
                all.inc(1);
                (no, outcome)
            }
        })
        .buffer_unordered(AT_ONCE)
        .collect()
        .await;
    all.finish_and_clear();
    outcomes.sort_by_key(|(no, _)| *no);
    outcomes.into_iter().map(|(_, outcome)| outcome).collect()
}

/// One file from upload to the end of its job.
async fn one(link: &Link, collection: &str, path: &Path, filename: &str, bar: &ProgressBar) -> Result<Job, Failure> {
    bar.set_message("uploading");
    let file = tokio::fs::File::open(path).await?;
    let bytes = file.metadata().await?.len();
    let part = Part::stream_with_length(Body::wrap_stream(ReaderStream::new(file)), bytes);
    let form = Form::new().text("collection", collection.to_owned()).part("file", part.file_name(filename.to_owned()));
    let start = link.post("/documents/upload/async").multipart(form);
    job::follow(link, start, "/documents/upload/jobs", |job| {
        bar.set_message(format!("{} {}/{}", job.message, job.processed_chunks, job.total_chunks));
        bar.tick();
    })
    .await
}

fn report(wish: &Ingest, outcomes: &[Outcome], files: &Files) -> Result<(), Failure> {
    let Files { skipped, not_followed, .. } = files;
    let failed = outcomes.iter().filter(|outcome| outcome.status == JobState::Failed).count();
    let completed = outcomes.len() - failed;
    if wish.json {
        let collection = &wish.collection;
        output::json(&Report { collection, completed, failed, files: outcomes, skipped, not_followed })?;
    } else {
        for outcome in outcomes {
            let name = &outcome.filename;
            if outcome.status == JobState::Failed {
                let error = outcome.error.as_deref().unwrap_or("the job failed");
                output::line(&format!("failed     {name}: {error}"))?;
            } else {
                output::line(&format!("completed  {name}: {} chunks", outcome.chunks))?;
            }
        }
        for path in skipped {
            output::note(&format!("skipped    {path} (no type that askback reads)"));
        }
        for path in not_followed {
            output::note(&format!("skipped    {path} (a link that leads out of the folder, to a folder or nowhere)"));
        }
        output::line(&format!("{completed} completed, {failed} failed, in the collection {}", wish.collection))?;
    }
    if failed == 0 { Ok(()) } else { Err(Failure::Silent) }
}

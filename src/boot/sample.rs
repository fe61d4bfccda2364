//! The sample corpus, inside the binary: a first run needs nothing but it.

use std::time::Duration;

use super::folder::DataFolder;
use crate::{
    domain::{
        job::{Job, JobState},
        knowledge::Submitted,
    },
    services::ingest::{Ingest, IngestError},
};

/// Where the sample documents go.
pub const COLLECTION: &str = "sample";
/// Tells that it was done: documents that were deleted since do not come back.
const MARK: &str = "sample-indexed";
/// How long one document may take.
const PATIENCE: Duration = Duration::from_secs(120);

macro_rules! corpus {
    ($($name:literal),* $(,)?) => {
        &[$(($name, include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/data/corpus/", $name)))),*]
    };
}

/// Name and content of each document.
const DOCUMENTS: &[(&str, &[u8])] = corpus![
    "aurora-x1-user-manual.md",
    "borealis-z9-user-manual.pdf",
    "care-plan-prices.xlsx",
    "data-centre-visitors.html",
    "incident-response-guide.pdf",
    "returns-and-refunds.html",
    "travel-policy-2023.md",
    "travel-policy-2025.docx",
    "会员服务价目表.xlsx",
    "员工休假制度.pdf",
    "差旅报销制度-2023.md",
    "差旅报销制度-2025.html",
    "晨星A5-用户手册.md",
    "晨星B7-用户手册.docx",
];

/// Why the sample corpus could not be indexed.
#[derive(Debug, thiserror::Error)]
pub enum SampleError {
    /// The folder refused.
    #[error(transparent)]
    Folder(#[from] super::folder::FolderError),
    /// The file system refused.
    #[error("the sample document {0} could not be written: {1}")]
    Write(&'static str, std::io::Error),
    /// Ingestion refused.
    #[error("the sample document {0} was refused: {1}")]
    Refused(&'static str, IngestError),
    /// Reading it failed or took too long.
    #[error("the sample document {0} could not be indexed: {1}")]
    Failed(&'static str, String),
}

/// Indexes the sample corpus, once in the life of a data folder. Gives how many documents were indexed now.
///
/// # Errors
/// The first document that could not be indexed; the next start tries again.
pub(super) async fn index(folder: &DataFolder, ingest: &Ingest) -> Result<usize, SampleError> {
    if folder.read(MARK)?.is_some() {
        return Ok(0);
    }
    let mut jobs = Vec::new();
    for (name, bytes) in DOCUMENTS {
        let path = folder.path("sample-document");
        std::fs::write(&path, bytes).map_err(|error| SampleError::Write(name, error))?;
        let submitted = ingest.submit(None, COLLECTION, name, &path).await;
        folder.remove("sample-document")?;
        match submitted.map_err(|error| SampleError::Refused(name, error))? {
            Submitted::Queued { job, .. } => jobs.push((*name, job)),
            Submitted::Unchanged { .. } => {}
        }
    }
    for (name, job) in &jobs {
        let job = ingest.wait(*job, PATIENCE).await.map_err(|error| SampleError::Refused(name, error))?;
        if job.state != JobState::Completed {
            return Err(SampleError::Failed(name, reason(&job)));
        }
    }
    folder.write(MARK, &format!("{} documents in the collection {COLLECTION}", DOCUMENTS.len()))?;
    Ok(jobs.len())
}

fn reason(job: &Job) -> String {
    job.error.clone().unwrap_or_else(|| "it is still being read; start again to go on".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_document_of_the_folder_is_inside() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/data/corpus");
        let mut there: Vec<String> =
            std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        there.sort();
        let mut inside: Vec<&str> = DOCUMENTS.iter().map(|(name, _)| *name).collect();
        inside.sort_unstable();
        assert_eq!(inside, there);
    }
}

//! Passages for tests.

use super::Passage;
use crate::domain::{
    id::{ChunkId, DocumentId, VersionId},
    knowledge::Facets,
};

/// A leaf of the document named `filename`; the same name gives the same document.
pub(crate) fn passage(filename: &str, text: &str) -> Passage {
    let root = VersionId::from_uuid(uuid::Uuid::nil());
    let document = DocumentId::derived(root, filename);
    Passage {
        filename: filename.into(),
        page_number: None,
        pages: Vec::new(),
        text: text.into(),
        score: 0.8,
        rrf_rank: 1,
        rerank_score: None,
        chunk_id: ChunkId::derived(document, text),
        document_id: document,
        version: 1,
        start: 0,
        end: i64::try_from(text.chars().count()).unwrap(),
        dense_score: Some(0.5),
        lexical_score: Some(0.5),
        section: None,
        header: None,
        level: 3,
        title: None,
        removed: false,
        facets: Facets::default(),
    }
}

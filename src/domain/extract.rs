//! Taking text out of files.

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use super::{error::ExtractError, knowledge::Warning};

/// What a stretch of text is, so that chunks can follow structure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum BlockKind {
    /// A heading; 1 is the outermost.
    Heading(u8),
    /// Prose.
    Paragraph,
    /// A list item.
    ListItem,
    /// The header of a table; the rows that follow belong to it.
    TableHeader,
    /// A row of a table.
    TableRow,
    /// Code, kept whole.
    Code,
}

/// A structural unit: `start..end` of the text, in Unicode scalar values. Blocks ascend, do not overlap, and leave
/// nothing but white space between them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Block {
    /// What it is.
    pub kind: BlockKind,
    /// First character.
    pub start: usize,
    /// One past the last.
    pub end: usize,
}

/// Where a page, sheet or slide begins.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct PageMark {
    /// "1", "Prices".
    pub label: String,
    /// First character of it in the text, in Unicode scalar values.
    pub start: usize,
}

/// A file's text: NFC, cleaned of control, zero-width, bidi and private-use characters; the text that is stored, and
/// that all offsets mean.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Extracted {
    /// The whole text.
    pub text: String,
    /// Its structure.
    pub blocks: Vec<Block>,
    /// Its pages; empty where the format has none.
    pub pages: Vec<PageMark>,
    /// The title that the file gives itself.
    pub title: Option<String>,
    /// The language it declares.
    pub lang: Option<String>,
    /// What else it declares about itself, key and value (front matter): no part of the text.
    #[serde(default)]
    pub declared: Vec<(String, String)>,
    /// What readers should know.
    pub warnings: Vec<Warning>,
}

/// What was read of a file: all of it, or of a very long text a part of some megabytes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// Its text; without a block where it is blank and not the only part.
    pub extracted: Extracted,
    /// The byte at which the next part begins; none after the last.
    pub next: Option<u64>,
}

impl From<Extracted> for Part {
    fn from(extracted: Extracted) -> Self {
        Self { extracted, next: None }
    }
}

/// A kind of file that askback reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FileType {
    /// `.pdf`
    Pdf,
    /// `.docx`
    Word,
    /// `.xlsx`, `.xls`, `.ods`
    Excel,
    /// `.pptx`
    PowerPoint,
    /// `.html`, `.htm`
    Html,
    /// `.md`
    Markdown,
    /// `.txt` and anything else that is text
    Text,
    /// `.csv`, `.tsv`
    Csv,
    /// `.json`
    Json,
    /// `.eml`
    Email,
    /// source code
    Code,
}

impl FileType {
    /// The word of protocol.md.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pdf => "PDF",
            Self::Word => "Word",
            Self::Excel => "Excel",
            Self::PowerPoint => "PowerPoint",
            Self::Html => "HTML",
            Self::Markdown => "Markdown",
            Self::Text => "Text",
            Self::Csv => "CSV",
            Self::Json => "JSON",
            Self::Email => "Email",
            Self::Code => "Code",
        }
    }

    /// The media type that files of this type are kept under.
    #[must_use]
    pub const fn media_type(self) -> &'static str {
        match self {
            Self::Pdf => "application/pdf",
            Self::Word => "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
            Self::Excel => "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
            Self::PowerPoint => "application/vnd.openxmlformats-officedocument.presentationml.presentation",
            Self::Html => "text/html",
            Self::Markdown => "text/markdown",
            Self::Text | Self::Code => "text/plain",
            Self::Csv => "text/csv",
            Self::Json => "application/json",
            Self::Email => "message/rfc822",
        }
    }
}

/// Reads files. May be slow and hostile: implementations bound time and memory and never bring the process down.
#[async_trait]
pub trait Extractor: Send + Sync {
    /// Name and version, stored with what it read.
    fn name(&self) -> &str;
    /// The type of a file by its name; `None` where askback does not read it.
    fn file_type(&self, filename: &str) -> Option<FileType>;
    /// Reads the file at `path` as what `filename` says it is: the part of it that begins at byte `from`, which is 0 or what
    /// the part before gave as `next`.
    async fn extract(&self, path: &std::path::Path, filename: &str, from: u64) -> Result<Part, ExtractError>;
}

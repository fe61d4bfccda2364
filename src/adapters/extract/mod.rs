//! Takes text out of files. [`Isolated`] is what a server uses; it runs [`read`] in a child process with limits.

mod archive;
mod build;
mod decode;
mod email;
mod grid;
mod headings;
mod html;
mod isolate;
mod json;
mod markdown;
mod nesting;
mod ocr;
mod office;
mod pdf;
mod quality;
mod sheet;
mod text;
mod window;

pub use isolate::{Isolated, Limits, worker_main};
pub use ocr::{Ocr, ocr_main};

use crate::domain::{
    error::ExtractError,
    extract::{Extracted, FileType},
};

/// Name and revision of this reader; a change that reads the same file to another text raises the number.
pub const NAME: &str = "askback-extract/3";

/// The type of a file by its name; a name without extension is taken for text.
#[must_use]
pub fn file_type(filename: &str) -> Option<FileType> {
    let filename = filename.rsplit(['/', '\\']).next().unwrap_or(filename).trim_end_matches(['.', ' ']);
    let Some((stem, extension)) = filename.rsplit_once('.') else { return Some(FileType::Text) };
    if stem.is_empty() {
        return Some(FileType::Text);
    }
    Some(match extension.to_lowercase().as_str() {
        "pdf" => FileType::Pdf,
        "docx" | "docm" | "dotx" => FileType::Word,
        "xlsx" | "xlsm" | "xlsb" | "xls" | "ods" => FileType::Excel,
        "pptx" | "pptm" | "ppsx" => FileType::PowerPoint,
        "html" | "htm" | "xhtml" => FileType::Html,
        "md" | "markdown" | "mdx" | "mkd" => FileType::Markdown,
        "txt" | "text" | "log" | "rst" | "adoc" | "asciidoc" | "org" | "tex" | "srt" | "vtt" => FileType::Text,
        "csv" | "tsv" | "tab" => FileType::Csv,
        "json" | "jsonl" | "ndjson" | "geojson" => FileType::Json,
        "eml" => FileType::Email,
        "rs" | "py" | "pyi" | "js" | "mjs" | "cjs" | "jsx" | "ts" | "tsx" | "java" | "kt" | "kts" | "scala" | "c"
        | "h" | "cc" | "cpp" | "cxx" | "hpp" | "hh" | "cs" | "go" | "rb" | "php" | "swift" | "lua" | "pl" | "pm"
        | "r" | "jl" | "sh" | "bash" | "zsh" | "fish" | "ps1" | "bat" | "sql" | "proto" | "graphql" | "css"
        | "scss" | "less" | "vue" | "svelte" | "toml" | "yaml" | "yml" | "ini" | "cfg" | "conf" | "properties"
        | "xml" | "xsd" | "gradle" | "cmake" | "dockerfile" | "tf" | "hcl" | "ex" | "exs" | "erl" | "hs" | "ml"
        | "clj" | "dart" | "zig" | "nim" => FileType::Code,
        _ => return None,
    })
}

/// Reads a whole file's `bytes` as what `filename` says it is. `unpacked` bounds what an archive may unpack to, in
/// bytes. Runs on the caller's thread, and on a hostile file for as long and with as much memory as that likes: only
/// the worker process calls it, and tests.
pub fn read(bytes: &[u8], filename: &str, unpacked: u64) -> Result<Extracted, ExtractError> {
    let kind = file_type(filename).ok_or(ExtractError::Unsupported)?;
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Err(ExtractError::EmptyFile);
    }
    if matches!(kind, FileType::Word | FileType::Excel | FileType::PowerPoint) {
        match archive::check(bytes, unpacked) {
            // Old workbooks are no archives; their reader judges them.
            Ok(()) | Err(ExtractError::Malformed) => {}
            Err(refused) => return Err(refused),
        }
    }
    let mut builder = build::Builder::default();
    match kind {
        FileType::Pdf => pdf::read(bytes, &mut builder)?,
        FileType::Word | FileType::PowerPoint => office::read(bytes, &mut builder)?,
        FileType::Excel => sheet::read_workbook(bytes, &mut builder)?,
        FileType::Email => email::read(bytes, &mut builder)?,
        FileType::Html => {
            let source = decode::decode(bytes, declared_charset(bytes).as_deref(), &mut builder)?;
            html::read(&source, &mut builder);
        }
        FileType::Markdown | FileType::Text | FileType::Csv | FileType::Json | FileType::Code => {
            let source = decode::decode(bytes, None, &mut builder)?;
            match kind {
                FileType::Markdown => markdown::read(&source, &mut builder),
                FileType::Csv => sheet::read_delimited(&source, &mut builder)?,
                FileType::Json => json::read(&source, &mut builder)?,
                FileType::Code => text::read_code(&source, &mut builder),
                _ => text::read_plain(&source, &mut builder),
            }
        }
    }
    let mut extracted = builder.finish();
    if extracted.blocks.is_empty() {
        let typed = matches!(kind, FileType::Text | FileType::Markdown | FileType::Code | FileType::Csv);
        return Err(if typed { ExtractError::EmptyFile } else { ExtractError::NoText });
    }
    quality::judge(&mut extracted);
    Ok(extracted)
}

/// What an HTML file's head says about its encoding; the names are ASCII in every encoding that can say it.
fn declared_charset(bytes: &[u8]) -> Option<String> {
    let head = String::from_utf8_lossy(&bytes[..bytes.len().min(2_048)]).to_ascii_lowercase();
    let after = head.split_once("charset=")?.1;
    let name: String = after
        .trim_start_matches(['"', '\''])
        .chars()
        .take_while(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | ':'))
        .collect();
    (!name.is_empty()).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_types() {
        let word = |name: &str| file_type(name).map(FileType::as_str);
        assert_eq!(word("报告.PDF"), Some("PDF"));
        assert_eq!(word("README"), Some("Text"));
        assert_eq!(word(".env"), Some("Text"));
        assert_eq!(word("a.b.html"), Some("HTML"));
        assert_eq!(word("a.d/b"), Some("Text"));
        assert_eq!(word("movie.mp4"), None);
    }

    #[test]
    fn nothing_is_an_error_of_its_own() {
        assert_eq!(read(b"", "a.pdf", 1), Err(ExtractError::EmptyFile));
        assert_eq!(read(b" \n\t", "a.txt", 1), Err(ExtractError::EmptyFile));
        assert_eq!(read(b"<p></p>", "a.html", 1), Err(ExtractError::NoText));
        assert_eq!(read(b"not one", "a.pdf", 1), Err(ExtractError::Malformed));
        assert_eq!(read(b"not one", "a.docx", 1), Err(ExtractError::Malformed));
        assert_eq!(read(b"not one", "a.xlsx", 1), Err(ExtractError::Malformed));
        assert_eq!(read(b"x", "a.exe", 1), Err(ExtractError::Unsupported));
    }

    #[test]
    fn html_says_its_encoding() {
        let (bytes, _, _) = encoding_rs::GBK.encode("<html><head><meta charset=\"gbk\"></head><p>保修期为两年</p>");
        assert_eq!(read(&bytes, "a.html", 1).map(|out| out.text), Ok("保修期为两年".into()));
    }
}

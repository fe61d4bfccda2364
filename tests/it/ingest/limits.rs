//! No file takes the server down: limits of the extraction process.

use std::{
    io::{Cursor, Write},
    path::PathBuf,
    time::Duration,
};

use askback::{
    adapters::extract::{Isolated, Limits},
    domain::{
        error::ExtractError,
        extract::{Extracted, Extractor},
    },
};

async fn read(limits: Limits, filename: &str, bytes: &[u8]) -> Result<Extracted, ExtractError> {
    read_by(PathBuf::from(env!("CARGO_BIN_EXE_askback")), limits, filename, bytes).await
}

async fn read_by(program: PathBuf, limits: Limits, filename: &str, bytes: &[u8]) -> Result<Extracted, ExtractError> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    std::fs::write(&path, bytes).unwrap();
    let part = Isolated { program, limits, ocr: None }.extract(&path, filename, 0).await?;
    assert_eq!(part.next, None);
    Ok(part.extracted)
}

#[tokio::test]
async fn text_comes_back_whole() {
    let text = "保修期为两年。".repeat(100_000);
    let read = read(Limits::default(), "a.txt", text.as_bytes()).await.unwrap();
    assert_eq!(read.text, text);
}

#[tokio::test]
async fn time_is_limited() {
    let limits = Limits { time: Duration::ZERO, ..Limits::default() };
    assert_eq!(read(limits, "a.txt", b"x").await, Err(ExtractError::Timeout));
}

#[tokio::test]
async fn memory_is_limited() {
    let limits = Limits { memory: 200 << 20, ..Limits::default() };
    let text = "word ".repeat(30 << 20);
    assert_eq!(read(limits, "a.py", text.as_bytes()).await, Err(ExtractError::Memory));
}

#[tokio::test]
async fn output_is_limited() {
    let limits = Limits { output: 1_000, ..Limits::default() };
    assert_eq!(read(limits, "a.txt", "x".repeat(2_000).as_bytes()).await, Err(ExtractError::ArchiveLimit));
}

/// A zip of these entries.
fn archive(entries: &[(&str, &[u8])]) -> Vec<u8> {
    let mut writer = zip::ZipWriter::new(Cursor::new(Vec::new()));
    for (name, bytes) in entries {
        writer.start_file(*name, zip::write::SimpleFileOptions::default()).unwrap();
        writer.write_all(bytes).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

#[tokio::test]
async fn archives_are_limited() {
    let limits = Limits { unpacked: 1 << 20, ..Limits::default() };
    let blank = vec![b' '; 2 << 20];
    for (name, part) in [
        ("a.docx", "word/document.xml"),
        ("a.xlsx", "xl/workbook.xml"),
        ("a.pptx", "ppt/presentation.xml"),
        ("a.ods", "content.xml"),
    ] {
        let bomb = archive(&[(part, &blank)]);
        assert_eq!(read(limits, name, &bomb).await, Err(ExtractError::ArchiveLimit), "{name}");
        // Readers of archives look from the end: what stands before it hides nothing.
        let hidden = [b"junk before it", bomb.as_slice()].concat();
        assert_eq!(read(limits, name, &hidden).await, Err(ExtractError::ArchiveLimit), "{name}");
    }
    let bomb = archive(&[("zeros", &vec![0; 64 << 20])]);
    assert_eq!(read(Limits::default(), "a.docx", &bomb).await, Err(ExtractError::ArchiveLimit), "packed too tight");
    let many: Vec<(String, &[u8])> = (0..20_001).map(|no| (no.to_string(), &b""[..])).collect();
    let many: Vec<(&str, &[u8])> = many.iter().map(|(name, bytes)| (name.as_str(), *bytes)).collect();
    assert_eq!(read(limits, "a.xlsx", &archive(&many)).await, Err(ExtractError::ArchiveLimit), "too many entries");
}

#[tokio::test]
async fn an_archive_in_an_archive_stays_packed() {
    let inner = archive(&[("zeros", &vec![0; 64 << 20])]);
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("data/corpus/travel-policy-2025.docx");
    let honest = std::fs::read(path).unwrap();
    let mut writer = zip::ZipWriter::new_append(Cursor::new(honest.clone())).unwrap();
    writer.start_file("word/embeddings/bomb.zip", zip::write::SimpleFileOptions::default()).unwrap();
    writer.write_all(&inner).unwrap();
    let carrying = writer.finish().unwrap().into_inner();
    let limits = Limits { unpacked: 8 << 20, ..Limits::default() };
    let expected = read(limits, "a.docx", &honest).await.unwrap();
    assert_eq!(read(limits, "a.docx", &carrying).await.unwrap().text, expected.text);
}

#[tokio::test]
async fn a_process_that_talks_nonsense_is_a_file_that_cannot_be_read() {
    assert_eq!(read_by("/bin/true".into(), Limits::default(), "a.txt", b"x").await, Err(ExtractError::Malformed),);
}

#[tokio::test]
async fn a_process_that_cannot_start_or_gives_up_is_no_fault_of_the_file() {
    for program in ["/bin/false", "/nowhere/askback"] {
        assert_eq!(
            read_by(program.into(), Limits::default(), "a.txt", b"x").await,
            Err(ExtractError::Unavailable),
            "{program}"
        );
    }
    let program = PathBuf::from(env!("CARGO_BIN_EXE_askback"));
    let reader = Isolated { program, limits: Limits::default(), ocr: None };
    let gone = reader.extract("/nowhere/file".as_ref(), "a.txt", 0).await;
    assert_eq!(gone, Err(ExtractError::Unavailable));
}

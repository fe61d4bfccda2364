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
    Isolated { program, limits }.extract(&path, filename).await
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
    assert_eq!(read(limits, "a.txt", text.as_bytes()).await, Err(ExtractError::Memory));
}

#[tokio::test]
async fn output_is_limited() {
    let limits = Limits { output: 1_000, ..Limits::default() };
    assert_eq!(read(limits, "a.txt", "x".repeat(2_000).as_bytes()).await, Err(ExtractError::ArchiveLimit));
}

#[tokio::test]
async fn archives_are_limited() {
    let mut writer = zip::ZipWriter::new(Cursor::new(Vec::new()));
    writer.start_file("word/document.xml", zip::write::SimpleFileOptions::default()).unwrap();
    writer.write_all(&vec![b' '; 2 << 20]).unwrap();
    let bytes = writer.finish().unwrap().into_inner();
    let limits = Limits { unpacked: 1 << 20, ..Limits::default() };
    for name in ["a.docx", "a.xlsx", "a.pptx"] {
        assert_eq!(read(limits, name, &bytes).await, Err(ExtractError::ArchiveLimit), "{name}");
    }
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
    let gone = Isolated { program, limits: Limits::default() }.extract("/nowhere/file".as_ref(), "a.txt").await;
    assert_eq!(gone, Err(ExtractError::Unavailable));
}

//! An evaluation set on disk: passages, questions, judgements.

use std::{collections::HashMap, io, path::Path};

use serde::{Deserialize, de::DeserializeOwned};

/// A folder with `corpus.jsonl`, `queries.jsonl` and `qrels.tsv`.
#[derive(Debug, Clone, PartialEq)]
pub struct Set {
    /// The folder's name.
    pub name: String,
    /// `corpus.jsonl`.
    pub passages: Vec<Passage>,
    /// `queries.jsonl`.
    pub questions: Vec<Question>,
    /// `qrels.tsv`: question to passage to grade, grades above 0 only.
    pub judged: HashMap<String, HashMap<String, f64>>,
}

/// A line of `corpus.jsonl`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Passage {
    /// Unique in the set.
    #[serde(rename = "_id")]
    pub id: String,
    /// May be empty.
    #[serde(default)]
    pub title: String,
    /// The passage.
    pub text: String,
    /// `en`, `zh`.
    #[serde(default)]
    pub lang: String,
}

/// A line of `queries.jsonl`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Question {
    /// Unique in the set.
    #[serde(rename = "_id")]
    pub id: String,
    /// The last user turn.
    pub text: String,
    /// `en`, `zh`.
    #[serde(default)]
    pub lang: String,
    /// The turns before it, oldest first.
    #[serde(default)]
    pub history: Vec<Turn>,
}

/// An earlier turn.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Turn {
    /// `user` or `assistant`.
    pub role: String,
    /// What was said.
    pub text: String,
}

impl Set {
    /// Reads a folder.
    ///
    /// # Errors
    /// Those of the file system; `InvalidData` with file and line where the format is another one.
    pub fn read(folder: &Path) -> io::Result<Self> {
        let name = folder.file_name().map_or_else(|| "set".to_owned(), |name| name.to_string_lossy().into_owned());
        Ok(Self {
            name,
            passages: lines(&folder.join("corpus.jsonl"))?,
            questions: lines(&folder.join("queries.jsonl"))?,
            judged: judgements(&folder.join("qrels.tsv"))?,
        })
    }
}

fn lines<T: DeserializeOwned>(path: &Path) -> io::Result<Vec<T>> {
    let text = read(path)?;
    let lines = (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty());
    lines.map(|(no, line)| serde_json::from_str(line).map_err(|error| invalid(path, no, &error.to_string()))).collect()
}

fn judgements(path: &Path) -> io::Result<HashMap<String, HashMap<String, f64>>> {
    let mut judged: HashMap<String, HashMap<String, f64>> = HashMap::new();
    for (no, line) in (1..).zip(read(path)?.lines()).skip(1) {
        let mut cells = line.split('\t');
        let (Some(question), Some(passage), Some(grade)) = (cells.next(), cells.next(), cells.next()) else {
            return Err(invalid(path, no, "three columns are needed"));
        };
        let grade: f64 = grade.trim().parse().map_err(|_| invalid(path, no, "the grade is no number"))?;
        if grade > 0.0 {
            judged.entry(question.to_owned()).or_default().insert(passage.to_owned(), grade);
        }
    }
    Ok(judged)
}

fn read(path: &Path) -> io::Result<String> {
    std::fs::read_to_string(path).map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", path.display())))
}

fn invalid(path: &Path, no: usize, reason: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("{}:{no}: {reason}", path.display()))
}

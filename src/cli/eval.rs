//! `askback eval`.

use std::path::PathBuf;

use askback::{
    boot,
    config::Config,
    services::eval::{Report, Row, Set, Turns, metrics::Figures},
};
use comfy_table::{CellAlignment, Table, presets};

use super::{Failure, args::EvalCommand, output};

pub(crate) async fn run(config: Config, command: EvalCommand) -> Result<(), Failure> {
    let EvalCommand::Retrieval { folders, json } = command;
    let sets = tokio::task::spawn_blocking(move || read(&folders))
        .await
        .map_err(|error| Failure::Failed(error.to_string()))??;
    let report = boot::evaluate_retrieval(&config, &sets).await?;
    if json { Ok(output::json(&report)?) } else { Ok(output::line(&table(&report))?) }
}

fn read(folders: &[PathBuf]) -> Result<Vec<Set>, Failure> {
    folders.iter().map(|folder| Ok(Set::read(folder)?)).collect()
}

fn table(report: &Report) -> String {
    let mut table = Table::new();
    table.load_style(presets::ASCII_MARKDOWN);
    table.set_header(["nDCG@10 / R@10", "turns", "questions", "BM25", "dense", "RRF", "coverage"]);
    for column in table.column_iter_mut().skip(2) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    for row in &report.rows {
        table.add_row([
            name(row),
            turns(row.turns).to_owned(),
            row.questions.to_string(),
            figures(row.bm25),
            figures(row.dense),
            figures(row.rrf),
            figures(row.coverage),
        ]);
    }
    format!("embedder: {}\n{table}", report.embedder)
}

fn name(row: &Row) -> String {
    match &row.languages {
        Some((question, passage)) => format!("{} {question}→{passage}", row.set),
        None => row.set.clone(),
    }
}

const fn turns(turns: Turns) -> &'static str {
    match turns {
        Turns::Last => "last",
        Turns::Previous => "last and previous",
        Turns::All => "all",
    }
}

fn figures(figures: Figures) -> String {
    format!("{:.3} / {:.3}", figures.ndcg_10, figures.recall_10)
}

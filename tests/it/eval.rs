//! The retrieval figures, on a small set of our own and on any that is named.

use std::{path::Path, sync::Arc};

use askback::{
    adapters::{embed::builtin::Builtin, vector::embedded::EmbeddedIndex},
    domain::index::{Embedder, VectorIndex},
    services::eval::{Report, Set, retrieval},
};

async fn measured(folders: &[&Path]) -> Report {
    let sets: Vec<Set> = folders.iter().map(|folder| Set::read(folder).unwrap()).collect();
    let embedder: Arc<dyn Embedder> = Arc::new(Builtin::load().unwrap());
    let dims = embedder.dims();
    retrieval(&sets, embedder, || Arc::new(EmbeddedIndex::new(dims)) as Arc<dyn VectorIndex>).await.unwrap()
}

#[tokio::test]
async fn figures_of_a_small_set() {
    let folder = tempfile::tempdir().unwrap();
    let passages = [
        r#"{"_id":"a","title":"Kettle","text":"The kettle holds 1.7 litres and comes with a warranty of two years.","lang":"en"}"#,
        r#"{"_id":"b","title":"Lamp","text":"The lamp needs a bulb of nine watts.","lang":"en"}"#,
        r#"{"_id":"c","title":"","text":"电水壶的保修期为两年。","lang":"zh"}"#,
        r#"{"_id":"d","title":"","text":"台灯需要九瓦的灯泡。","lang":"zh"}"#,
    ];
    let questions = [
        r#"{"_id":"1","text":"How long is the kettle's warranty?","lang":"en"}"#,
        r#"{"_id":"2","text":"水壶保修多久？","lang":"zh"}"#,
        r#"{"_id":"3","text":"Who wrote this?","lang":"en"}"#,
    ];
    std::fs::write(folder.path().join("corpus.jsonl"), passages.join("\n")).unwrap();
    std::fs::write(folder.path().join("queries.jsonl"), questions.join("\n")).unwrap();
    let judged = "query_id\tdoc_id\tscore\n1\ta\t2\n1\tc\t1\n2\tc\t2\n2\ta\t1\n2\tb\t0\n";
    std::fs::write(folder.path().join("qrels.tsv"), judged).unwrap();
    let report = measured(&[folder.path()]).await;
    let seen: Vec<_> = report
        .rows
        .iter()
        .map(|row| {
            let (asked, searched) = row.languages.clone().unwrap();
            (asked, searched, row.questions, row.coverage.ndcg_10 == 1.0, row.bm25.ndcg_10 == 1.0)
        })
        .collect();
    let direction = |asked: &str, searched: &str, words| (asked.to_owned(), searched.to_owned(), 1, true, words);
    assert_eq!(
        seen,
        [
            direction("en", "en", true),
            direction("en", "zh", false),
            direction("zh", "en", false),
            direction("zh", "zh", true)
        ]
    );
}

#[tokio::test]
async fn figures_of_the_folders_in_the_environment() {
    let Ok(folders) = std::env::var("ASKBACK_TEST_EVAL") else {
        println!("skipped: ASKBACK_TEST_EVAL names no evaluation folders (separated by ':')");
        return;
    };
    let folders: Vec<&Path> = folders.split(':').map(Path::new).collect();
    println!("{}", measured(&folders).await);
}

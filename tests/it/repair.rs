//! `askback doctor`: files, SQL and index are damaged, one after the other; it names what, and mends what can be mended.

use serde_json::Value;

use crate::support::{
    home::Home,
    store::{rows, tamper},
};

const FILES: [(&str, &str); 3] = [
    ("lantern.md", "# Lantern\n\nThe lantern burns for nine hours.\n"),
    ("kettle.md", "# Kettle\n\nThe kettle boils in three minutes.\n"),
    ("灯笼.md", "# 灯笼\n\n灯笼可燃九小时。\n"),
];

/// Exit code, and the failed checks: name, detail, action.
fn doctor(home: &Home, words: &[&str]) -> (i32, Vec<[String; 3]>) {
    let output = home.askback(&[&["doctor", "--json"], words].concat()).output().expect("it starts");
    let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let checks = report["checks"].as_array().expect("checks");
    let failed = checks.iter().filter(|check| check["ok"] == false);
    let text = |check: &Value, key: &str| check[key].as_str().unwrap_or_default().to_owned();
    let told = failed.map(|check| [text(check, "name"), text(check, "detail"), text(check, "action")]).collect();
    (output.status.code().expect("it ends"), told)
}

/// What a question finds: the document, or nothing.
fn answers(home: &Home, question: &str) -> Option<String> {
    let output = home.askback(&["ask", "--new", "--json", question]).output().expect("it starts");
    let answer: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    answer["citations"][0]["filename"].as_str().map(str::to_owned)
}

async fn doctor_names_and_mends(home: Home) {
    home.ingest(&FILES);
    assert_eq!(doctor(&home, &[]), (0, Vec::new()));

    // SQL: a passage says something else than the text it stands in.
    tamper(&home.engine(), "update chunks set body = replace(body, 'nine', 'five') where body like '%lantern burns%'")
        .await;
    // The index: the vectors of a document cannot be read any more.
    let of_kettle = "update segments set body = substr(body, 1, 20) where version_id in
                     (select v.id from versions v join documents d on d.id = v.document_id where d.filename = 'kettle.md')";
    tamper(&home.engine(), of_kettle).await;
    let (code, told) = doctor(&home, &[]);
    let [[name, detail, action]] = &told[..] else { panic!("{told:?}") };
    assert_eq!((code, name.as_str(), action.as_str()), (1, "documents", "mend it with: askback doctor --repair"));
    assert!(detail.contains("lantern.md") && detail.contains("kettle.md") && !detail.contains("灯笼"), "{detail}");
    assert_eq!(answers(&home, "How fast does the kettle boil?"), None, "the others answer without it");
    assert_eq!(answers(&home, "灯笼可燃多久？").as_deref(), Some("灯笼.md"));
    assert_eq!(doctor(&home, &["--repair"]), (0, Vec::new()));
    assert_eq!(doctor(&home, &[]), (0, Vec::new()));
    assert_eq!(answers(&home, "How fast does the kettle boil?").as_deref(), Some("kettle.md"));

    // The files: one is damaged, one is gone, one is nobody's.
    let blobs: Vec<_> = home.blobs();
    let holding = |text: &str| {
        blobs.iter().find(|path| std::fs::read_to_string(path).is_ok_and(|held| held == text)).expect("it is there")
    };
    std::fs::write(holding(FILES[0].1), "# Lantern\n\nThe lantern burns for five hours.\n").unwrap();
    std::fs::remove_file(holding(FILES[1].1)).unwrap();
    let orphan = home.path().join("var/blobs").join("ab").join("cd".repeat(31));
    std::fs::create_dir_all(orphan.parent().unwrap()).unwrap();
    std::fs::write(&orphan, "nobody's").unwrap();
    let (code, told) = doctor(&home, &[]);
    let names: Vec<&str> = told.iter().map(|[name, ..]| name.as_str()).collect();
    assert_eq!((code, names), (1, vec!["files", "files of documents"]));
    let detail = &told[1][1];
    assert_eq!(*detail, "damaged for lantern.md (in default); gone for kettle.md (in default)");

    // What is lost cannot be mended here, and is not offered for download.
    let (code, told) = doctor(&home, &["--repair"]);
    let [[name, detail, action]] = &told[..] else { panic!("{told:?}") };
    assert_eq!((code, name.as_str(), action.as_str()), (1, "files of documents", "upload these documents again"));
    assert!(detail.contains("lantern.md") && detail.contains("kettle.md"), "{detail}");
    assert!(!orphan.exists());
    assert_eq!(answers(&home, "How fast does the kettle boil?").as_deref(), Some("kettle.md"), "and all answer");
    home.ingest(&FILES);
    assert_eq!(doctor(&home, &[]), (0, Vec::new()));
    assert_eq!((home.blobs().len(), rows(&home.engine(), "chunks where level = 3").await), (3, 3));
    home.remove().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn doctor_names_what_is_damaged_and_mends_it() {
    doctor_names_and_mends(Home::sqlite()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn doctor_names_what_is_damaged_and_mends_it_on_postgres() {
    let Some(home) = Home::postgres().await else { return };
    doctor_names_and_mends(home).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn doctor_does_not_miss_what_another_server_has() {
    let Some(home) = Home::postgres().await else { return };
    home.ingest(&FILES);
    let neighbour = home.neighbour().expect("it is on Postgres");
    assert_eq!(doctor(&neighbour, &[]), (0, Vec::new()));
    let output = neighbour.askback(&["doctor"]).output().expect("it starts");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.contains("those of 3 documents lie with other servers, which took them in"), "{said}");
    assert_eq!(doctor(&neighbour, &["--repair"]), (0, Vec::new()));
    assert_eq!(doctor(&home, &[]), (0, Vec::new()));
    drop(neighbour);
    home.remove().await;
}

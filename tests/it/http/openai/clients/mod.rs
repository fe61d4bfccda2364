//! The door with the stock clients of PyPI and npm: what they make of answers, streams, questions and failures.

use std::{
    ffi::OsStr,
    path::{Path, PathBuf},
    process::Stdio,
};

use serde_json::{Value, json};
use tokio::process::Command;

use super::{ASKED, over_manuals, search, search_aloud};
use crate::support::fake_openai::{Reply, Step, text};

/// What the tests are about; a newer one is a change of them.
const PYTHON: &str = "openai==3.57.0";
const NODE: &str = "openai@6.49.0";

/// Where `install` has put a package, once for all runs. `None`, and a line that says so, where it cannot be had.
async fn installed(package: &str, install: impl FnOnce(&Path) -> Command) -> Option<PathBuf> {
    let shelf = Path::new(env!("CARGO_TARGET_TMPDIR"));
    std::fs::create_dir_all(shelf).unwrap();
    let place = shelf.join(package);
    if place.is_dir() {
        return Some(place);
    }
    let fresh = tempfile::tempdir_in(shelf).unwrap();
    let output = install(fresh.path()).stdin(Stdio::null()).output().await;
    match output {
        Ok(output) if output.status.success() => {
            // Another run may have been quicker.
            if std::fs::rename(fresh.path(), &place).is_ok() {
                let _ = fresh.keep();
            }
            Some(place)
        }
        Ok(output) => {
            let words = String::from_utf8_lossy(&output.stderr).into_owned();
            println!("skipped: {package} cannot be installed: {words}");
            None
        }
        Err(error) => {
            println!("skipped: {package} cannot be installed: {error}");
            None
        }
    }
}

/// What `client` reports of a server with two manuals whose model answers as the steps need it.
async fn report(mut client: Command) -> Value {
    let failure = || Reply::json(500, &json!({"error": {"message": "no"}}));
    let (app, ada) = over_manuals(vec![
        Reply::says(&["Good ", "day."]),
        Reply::says(&["Once ", "more."]),
        Reply::says(&["Good ", "day."]),
        search(),
        Reply::says(&["36 months ", "[1]."]),
        search_aloud(),
        Reply::says(&["36 months ", "[1]."]),
        failure(),
        failure(),
        Reply::events(&[&text("Half an ")]).then(Step::Break),
    ])
    .await;
    let key = ada.post("/auth/keys", json!({"name": "client"})).await.json()["key"].as_str().unwrap().to_owned();
    let output = client
        .env("DOOR", format!("http://{}/v1", app.address))
        .env("KEY", key)
        .env("NO_PROXY", "127.0.0.1")
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output()
        .await
        .unwrap();
    let (said, words) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{said}{words}");
    serde_json::from_str(&said).unwrap_or_else(|_| panic!("{said}{words}"))
}

/// What it has to be. Sessions are compared here: a conversation stays in its own.
fn check(mut report: Value) {
    let mut sessions = Vec::new();
    for (_, step) in report.as_object_mut().unwrap() {
        if let Some(session) = step.as_object_mut().and_then(|fields| fields.remove("session")) {
            sessions.push(session.as_str().unwrap().to_owned());
        }
    }
    // By the names of the steps: plain, plain again, plain stream, question, … answered, question stream, … answered.
    assert_eq!(sessions.len(), 7);
    assert_eq!((&sessions[0], &sessions[3], &sessions[5]), (&sessions[1], &sessions[4], &sessions[6]));
    let begun = [0, 2, 3, 5].map(|place| &sessions[place]);
    assert_eq!(begun.into_iter().collect::<std::collections::BTreeSet<_>>().len(), 4, "{sessions:?}");

    let whole = |text: &str, asks: bool, cites: &[&str]| json!({"text": text, "role": "assistant", "finish_reason": "stop", "asks": asks, "cites": cites});
    let streamed = |text: &str, asks: bool, cites: &[&str]| json!({"text": text, "roles": ["assistant"], "finish_reasons": ["stop"], "asks": asks, "cites": cites});
    let refused = |status: u16, kind: &str, code: &str| json!({"status": status, "type": kind, "code": code});
    let mut tokens = Vec::new();
    for (name, step) in report.as_object_mut().unwrap() {
        if let Some(counted) = step.as_object_mut().and_then(|fields| fields.remove("tokens")) {
            assert!(counted.is_u64(), "{name}: {counted}");
            if !name.starts_with("question") {
                tokens.push(counted);
            }
        }
    }
    assert_eq!(tokens, [8, 8, 8]);
    let broken = json!({"text": "Half an ", "type": "server_error", "has_code": true});
    let expected = json!({
        "models": ["askback"],
        "plain": whole("Good day.", false, &[]),
        "plain again": whole("Once more.", false, &[]),
        "plain stream": streamed("Good day.", false, &[]),
        "question": whole(ASKED, true, &[]),
        "question answered": whole("36 months [1].", false, &["borealis-z9.md"]),
        "question stream": streamed(&format!("Let me look.\n\n{ASKED}"), true, &[]),
        "question stream answered": streamed("36 months [1].", false, &["borealis-z9.md"]),
        "refused": refused(502, "server_error", "model_unavailable"),
        "refused stream": refused(502, "server_error", "model_unavailable"),
        "broken": broken,
        "wrong body": refused(400, "invalid_request_error", "invalid_field"),
        "stranger": refused(401, "authentication_error", "invalid_token"),
    });
    assert_eq!(report, expected);
}

fn script(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/http/openai/clients").join(name)
}

#[tokio::test(flavor = "multi_thread")]
async fn python() {
    let install = |place: &Path| {
        let mut pip = Command::new("python3");
        pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--target"]);
        pip.arg(place).arg(PYTHON);
        pip
    };
    let Some(place) = installed(PYTHON, install).await else { return };
    let mut client = Command::new("python3");
    client.arg(script("client.py")).env("PYTHONPATH", place);
    check(report(client).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn node() {
    let install = |place: &Path| {
        let mut npm = Command::new("npm");
        npm.args(["install", "--silent", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix"]);
        npm.arg(place).arg(NODE);
        npm
    };
    let Some(place) = installed(NODE, install).await else { return };
    let mut client = Command::new("node");
    client.arg(script("client.cjs")).env("NODE_PATH", place.join(OsStr::new("node_modules")));
    check(report(client).await);
}

//! The command line: the real binary, its exit codes and what it prints.

use std::{
    path::Path,
    process::{Command, Output},
};

use serde_json::Value;

/// The binary with an empty environment, at work in `folder`.
fn askback(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_askback"));
    command.env_clear().current_dir(folder);
    command
}

fn texts(output: &Output) -> (i32, String, String) {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("it prints UTF-8");
    (output.status.code().expect("it exits"), text(&output.stdout), text(&output.stderr))
}

#[test]
fn a_wrong_command_line_is_2() {
    let folder = tempfile::tempdir().unwrap();
    for words in [&[][..], &["nonsense"], &["config", "show", "--no-such-flag", "1"]] {
        let (code, out, _) = texts(&askback(folder.path()).args(words).output().unwrap());
        assert_eq!((code, out.as_str()), (2, ""), "{words:?}");
    }
    let (code, out, _) = texts(&askback(folder.path()).arg("--help").output().unwrap());
    assert_eq!(code, 0);
    assert!(out.contains("Exit codes: 0 done, 1 failed, 2 wrong command line or configuration."));
}

#[test]
fn wrong_settings_are_2_and_name_the_nearest_key() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("askback.toml"), "[retrieval]\ntopk = 3\n").unwrap();
    let output = askback(folder.path()).args(["config", "show"]).env("ASKBACK_LISTN", "x").output().unwrap();
    let said = "error: unknown key retrieval.topk in askback.toml; the nearest known one is retrieval.top_k\n\
                unknown key ASKBACK_LISTN in the environment; the nearest known one is ASKBACK_LISTEN\n\
                See the settings that exist with: askback config example\n";
    assert_eq!(texts(&output), (2, String::new(), said.into()));
}

#[test]
fn config_show_tells_value_and_source_and_no_secret() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("other.toml"), "[retrieval]\ntop_k = 3\n").unwrap();
    let output = askback(folder.path())
        .args(["config", "show", "--json", "--config", "other.toml", "--listen", "127.0.0.1:0"])
        .env("ASKBACK_JWT_SECRET", "canary-canary-canary-canary-canary")
        .env("DATABASE_URL", "postgres://user:canary@db/askback")
        .output()
        .unwrap();
    let (code, out, err) = texts(&output);
    assert_eq!((code, err.as_str()), (0, ""));
    assert!(!out.contains("canary"));
    let rows: Vec<Value> = serde_json::from_str(&out).unwrap();
    let row = |key: &str| {
        let row = rows.iter().find(|row| row["key"] == key).unwrap();
        (row["value"].as_str().map(str::to_owned), row["source"].as_str().unwrap().to_owned())
    };
    assert_eq!(row("server.listen"), (Some("127.0.0.1:0".into()), "flag --listen".into()));
    assert_eq!(row("retrieval.top_k"), (Some("3".into()), "file other.toml".into()));
    assert_eq!(row("auth.jwt_secret"), (Some("(secret)".into()), "environment ASKBACK_JWT_SECRET".into()));
    assert_eq!(row("storage.database_url"), (Some("postgres://db/askback".into()), "environment DATABASE_URL".into()));
    assert_eq!(row("llm.model"), (None, "default".into()));
}

#[test]
fn the_example_can_be_used_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let example = askback(folder.path()).args(["config", "example"]).output().unwrap();
    std::fs::write(folder.path().join("askback.toml"), &example.stdout).unwrap();
    let shown = askback(folder.path()).args(["config", "show", "--json"]).output().unwrap();
    assert_eq!(texts(&shown).0, 0);
}

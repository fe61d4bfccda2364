//! The command line: the real binary, its exit codes and what it prints.

use std::{
    io::Write,
    os::unix::fs::PermissionsExt,
    path::Path,
    process::{Command, Output, Stdio},
};

use serde_json::{Value, json};

use crate::support::{
    fake_openai::{FakeOpenAi, Reply},
    process::Server,
};

/// The binary with nothing in its environment but where the data is, at work in `folder`.
fn askback(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_askback"));
    command.env_clear().env("ASKBACK_DATA_DIR", "var").current_dir(folder);
    command
}

/// Runs it with this standard input.
fn piped(command: &mut Command, input: &str) -> Output {
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    child.stdin.take().expect("it is piped").write_all(input.as_bytes()).expect("it reads");
    child.wait_with_output().expect("it ends")
}

/// A command that must do its work and print one JSON value.
fn json_of(command: &mut Command) -> Value {
    let (code, out, err) = texts(&command.output().expect("it starts"));
    assert_eq!(code, 0, "{out}{err}");
    serde_json::from_str(&out).expect("it prints JSON")
}

/// A folder with two documents in two languages.
fn documents() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(folder.path().join("docs/中文")).unwrap();
    std::fs::write(folder.path().join("docs/badge.md"), "# Badges\n\nA lost badge costs 25 dollars to replace.\n")
        .unwrap();
    std::fs::write(folder.path().join("docs/中文/班车.txt"), "班车每天早上七点半从东门出发。\n").unwrap();
    std::fs::write(folder.path().join("docs/picture.xyz"), "no document").unwrap();
    folder
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

/// Ingests and asks, whoever serves.
fn ingests_and_asks(folder: &Path) {
    let report = json_of(askback(folder).args(["ingest", "docs", "--collection", "office", "--json"]));
    let files: Vec<_> = report["files"]
        .as_array()
        .unwrap()
        .iter()
        .map(|file| (file["filename"].clone(), file["status"].clone(), file["chunks"].clone()))
        .collect();
    let done = json!("completed");
    assert_eq!(files, [(json!("badge.md"), done.clone(), json!(1)), (json!("中文/班车.txt"), done, json!(1))]);
    assert_eq!(report["skipped"], json!(["docs/picture.xyz"]));

    let first = json_of(askback(folder).args(["ask", "How much does it cost to replace a lost badge?", "--json"]));
    assert_eq!((&first["status"], &first["citations"][0]["filename"]), (&json!("completed"), &json!("badge.md")));
    assert!(first["response"].as_str().unwrap().contains("25 dollars"), "{first:#}");
    let next = json_of(askback(folder).args(["ask", "班车几点出发？", "--json"]));
    assert_eq!(
        (&next["session_id"], &next["citations"][0]["filename"]),
        (&first["session_id"], &json!("中文/班车.txt"))
    );
    let new = json_of(askback(folder).args(["ask", "--new", "班车几点出发？", "--json"]));
    assert_ne!(new["session_id"], first["session_id"]);
}

#[test]
fn odd_names_and_links_are_taken_in_as_far_as_they_stay_in_the_folder() {
    use std::os::unix::{ffi::OsStrExt as _, fs::symlink};
    let folder = documents();
    let docs = folder.path().join("docs");
    std::fs::create_dir(folder.path().join("outside")).unwrap();
    let secret = folder.path().join("outside/secret.txt");
    std::fs::write(&secret, "The secret is 42.").unwrap();
    for name in [b"na\xefve.txt".as_slice(), b"na\xeeve.txt"] {
        let name = std::ffi::OsStr::from_bytes(name);
        std::fs::write(docs.join(name), format!("A file called {}.", name.to_string_lossy())).unwrap();
    }
    symlink("badge.md", docs.join("same.md")).unwrap();
    symlink(&secret, docs.join("leak.txt")).unwrap();
    symlink("../../outside/secret.txt", docs.join("中文/leak.txt")).unwrap();
    symlink("../outside", docs.join("outside")).unwrap();
    symlink(".", docs.join("circle")).unwrap();
    symlink("nowhere.txt", docs.join("broken.txt")).unwrap();
    let report = json_of(askback(folder.path()).args(["ingest", "docs", "--json"]));
    let files: Vec<_> = report["files"].as_array().unwrap().iter().map(|file| file["filename"].clone()).collect();
    assert_eq!(files, ["badge.md", "na%EEve.txt", "na%EFve.txt", "same.md", "中文/班车.txt"]);
    assert_eq!(report["files"][1]["path"], "docs/na%EEve.txt");
    let left = ["broken.txt", "circle", "leak.txt", "outside", "中文/leak.txt"].map(|name| format!("docs/{name}"));
    assert_eq!((&report["completed"], &report["not_followed"]), (&json!(5), &json!(left)));
    let (code, out, err) = texts(&askback(folder.path()).args(["ingest", "docs"]).output().unwrap());
    assert_eq!(code, 0);
    assert!(out.contains("5 completed, 0 failed"), "{out}");
    assert!(err.contains("skipped    docs/leak.txt (a link that leads out of the folder"), "{err}");
    // What is named itself is meant.
    let report = json_of(askback(folder.path()).args(["ingest", "docs/leak.txt", "--json"]));
    assert_eq!((&report["completed"], &report["files"][0]["filename"]), (&json!(1), &json!("leak.txt")));
}

#[test]
fn ingest_and_ask_work_without_a_server() {
    let folder = documents();
    ingests_and_asks(folder.path());
    let output = askback(folder.path()).args(["ask", "班车几点出发？"]).output().unwrap();
    let (code, out, err) = texts(&output);
    assert_eq!((code, err.as_str()), (0, ""));
    assert!(out.contains("[1]") && out.contains("\n[1] 中文/班车.txt: 班车每天早上七点半从东门出发。\n"), "{out}");
}

#[tokio::test(flavor = "multi_thread")]
async fn ingest_and_ask_go_through_a_running_server() {
    let folder = documents();
    let server = Server::start(folder.path(), &[]).await;
    let door = folder.path().join("var/local-door.json");
    assert_eq!(std::fs::metadata(&door).unwrap().permissions().mode() & 0o777, 0o600);
    let path = folder.path().to_owned();
    tokio::task::spawn_blocking(move || ingests_and_asks(&path)).await.unwrap();
    assert_eq!(server.terminate().await, (Some(0), String::new()));
    assert!(!door.exists());
}

#[test]
fn a_question_asked_back_is_numbered_and_the_next_ask_answers_it() {
    let folder = tempfile::tempdir().unwrap();
    for (product, years) in [("Aurora X1", "three"), ("Borealis Z9", "two")] {
        let text = format!("# {product} manual\n\n## Warranty\n\nThe warranty of the {product} lasts {years} years.\n");
        std::fs::write(folder.path().join(format!("{product}.md")), text).unwrap();
    }
    json_of(askback(folder.path()).args(["ingest", "Aurora X1.md", "Borealis Z9.md", "--json"]));
    let asked = askback(folder.path()).args(["ask", "How long is the warranty?"]).output().unwrap();
    let (code, out, err) = texts(&asked);
    assert_eq!((code, err.as_str()), (0, "The question stays open; answer it with: askback ask \"…\"\n"));
    assert!(out.contains("\n  1. ") && out.contains("\n  2. "), "{out}");
    let second = if out.contains("2. Aurora X1") { ("three", "Aurora X1.md") } else { ("two", "Borealis Z9.md") };
    let answer = json_of(askback(folder.path()).args(["ask", "2", "--json"]));
    assert!(answer["response"].as_str().unwrap().contains(second.0), "{answer:#}");
    let cited: Vec<_> = answer["citations"].as_array().unwrap().iter().map(|citation| &citation["filename"]).collect();
    assert!(!cited.is_empty() && cited.iter().all(|filename| **filename == second.1), "{answer:#}");
}

#[test]
fn a_recorded_run_is_replayed() {
    let folder = documents();
    let run = |words: &[&str], record: &str| {
        texts(&askback(folder.path()).args(words).env("ASKBACK_RECORD", record).output().expect("it starts"))
    };
    let ask = |record: &str| -> String {
        let (code, out, err) = run(&["ask", "--new", "--json", "What does a lost badge cost?"], record);
        assert_eq!(code, 0, "{err}");
        serde_json::from_str::<Value>(&out).unwrap()["run_id"].as_str().unwrap().to_owned()
    };
    assert_eq!(run(&["ingest", "docs/badge.md"], "off").0, 0);
    let (unrecorded, recorded) = (ask("off"), ask("on"));
    let same = (0, "the same events\n".to_owned(), String::new());
    assert_eq!(run(&["replay", &recorded], "off"), same);
    assert_eq!(run(&["replay", &recorded, "--live"], "off").0, 0);

    for (run_id, why) in
        [(unrecorded.as_str(), "has no recording"), ("01890000-0000-7000-8000-000000000000", "no such run")]
    {
        let (code, out, err) = run(&["replay", run_id], "off");
        assert_eq!((code, out.as_str()), (2, ""));
        assert!(err.contains(why), "{err}");
    }

    // The recording outlives what it was made from; live, today's documents count.
    std::fs::write(folder.path().join("docs/badge.md"), "# Badges\n\nA lost badge costs 40 dollars to replace.\n")
        .unwrap();
    assert_eq!(run(&["ingest", "docs/badge.md"], "off").0, 0);
    assert_eq!(run(&["replay", &recorded], "off"), same);
    let (code, out, _) = run(&["replay", &recorded, "--live", "--json"], "off");
    let told: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((code, &told["equal"]), (1, &json!(false)));
    let lines = told["answer"].to_string();
    assert!(lines.contains("- A lost badge costs 25") && lines.contains("+ A lost badge costs 40"), "{lines}");
}

#[tokio::test(flavor = "multi_thread")]
async fn no_key_is_in_a_recording() {
    const KEY: &str = "sk-this-must-not-be-kept";
    let folder = documents();
    let llm = FakeOpenAi::start(vec![Reply::says(&["Hello."])]).await;
    let mut ask = askback(folder.path());
    ask.args(["ask", "--json", "Hello"]).env("ASKBACK_RECORD", "on").env("ASKBACK_LLM_API_KEY", KEY);
    let result = json_of(ask.env("ASKBACK_LLM_BASE_URL", &llm.base_url).env("ASKBACK_MODEL", "scripted"));
    let replayed = askback(folder.path()).args(["replay", result["run_id"].as_str().unwrap()]).output().unwrap();
    assert_eq!(texts(&replayed).0, 0, "without any model");
    for entry in std::fs::read_dir(folder.path().join("var")).unwrap() {
        let path = entry.unwrap().path();
        let Ok(bytes) = std::fs::read(&path) else { continue };
        assert!(!bytes.windows(KEY.len()).any(|window| window == KEY.as_bytes()), "{}", path.display());
    }
}

#[test]
fn a_file_that_fails_is_1_and_the_others_are_read() {
    let folder = documents();
    std::fs::write(folder.path().join("docs/broken.pdf"), "this is no PDF").unwrap();
    std::fs::write(folder.path().join("docs/empty.txt"), "").unwrap();
    let words = ["ingest", "docs", "docs/picture.xyz", "--json"];
    let (code, out, _) = texts(&askback(folder.path()).args(words).output().unwrap());
    assert_eq!(code, 1);
    let report: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((&report["completed"], &report["failed"]), (&json!(2), &json!(3)));
    let codes: Vec<&Value> = report["files"].as_array().unwrap().iter().map(|file| &file["error_code"]).collect();
    // A job's failure, and refusals of the upload itself.
    let expected = json!([null, "malformed", "empty_file", null, "unsupported_media_type"]);
    assert_eq!(json!(codes), expected, "{report:#}");
    let (code, _, err) = texts(&askback(folder.path()).args(["ingest", "nowhere"]).output().unwrap());
    assert_eq!(code, 1);
    assert!(err.starts_with("error: nowhere: "), "{err}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_process_is_told_who_owns_the_folder() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &[]).await;
    let output = askback(folder.path()).args(["serve", "--listen", "127.0.0.1:0"]).output().unwrap();
    let said =
        "error: another askback process is using the data folder var; stop it, or give this one a folder of its own\n";
    assert_eq!(texts(&output), (1, String::new(), said.into()));
    server.kill().await;
    let (code, ..) = texts(&askback(folder.path()).arg("migrate").output().unwrap());
    assert_eq!(code, 0, "a dead process owns nothing");
}

#[test]
fn a_weak_signing_secret_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let output = askback(folder.path()).arg("serve").env("ASKBACK_JWT_SECRET", "secret").output().unwrap();
    let (code, out, err) = texts(&output);
    assert_eq!((code, out.as_str()), (2, ""));
    assert!(err.starts_with("error: auth.jwt_secret: the signing secret has 6 bytes; it needs at least 32"), "{err}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_added_admin_is_one() {
    let folder = tempfile::tempdir().unwrap();
    let add = ["user", "add", "anna", "--role", "admin", "--password-stdin"];
    let (code, out, err) = texts(&piped(askback(folder.path()).args(add), "correct horse 7\n"));
    assert_eq!((code, out.as_str()), (0, "added anna (admin)\n"));
    assert!(err.starts_with("admin invite code: "), "shown by whatever starts first: {err}");
    let taken = texts(&piped(askback(folder.path()).args(add), "correct horse 7"));
    assert_eq!((taken.0, taken.2.contains("username_taken")), (1, true), "{taken:?}");
    let weak = texts(&piped(askback(folder.path()).args(["user", "add", "ben", "--password-stdin"]), "12345678"));
    assert_eq!((weak.0, weak.2.contains("weak_password")), (1, true), "{weak:?}");
    assert_eq!(texts(&piped(askback(folder.path()).args(add), "")).0, 2);

    let server = Server::start(folder.path(), &[]).await;
    let login = json!({"username": "anna", "password": "correct horse 7"});
    let token = server.post("", "/auth/login", &login).await["access_token"].as_str().unwrap().to_owned();
    assert_eq!(server.get(&token, "/auth/me").await, json!({"username": "anna", "role": "admin"}));
}

#[tokio::test(flavor = "multi_thread")]
async fn accounts_and_groups_are_managed() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &[]).await;
    let token = server.register("an/na 安").await;
    let run = |words: &[&str]| texts(&askback(folder.path()).args(words).output().expect("it starts"));
    let said = |words: &[&str]| {
        let (code, out, err) = run(words);
        assert_eq!((code, err.as_str()), (0, ""), "{words:?}");
        out
    };
    assert_eq!(said(&["group", "add", "h/r", "--member", "an/na 安"]), "h/r: an/na 安\n");
    assert_eq!(said(&["group", "add", "it"]), "it: nobody\n");
    assert_eq!(said(&["user", "groups", "an/na 安", "--add", "it", "--remove", "h/r"]), "an/na 安  user  in it\n");
    assert_eq!(said(&["user", "role", "an/na 安", "admin"]), "an/na 安  admin  in it\n");
    assert_eq!(said(&["group", "rename", "h/r", "people"]), "people: nobody\n");
    let groups = json_of(askback(folder.path()).args(["group", "list", "--json"]));
    assert_eq!(groups, json!([{"name": "it", "members": ["an/na 安"]}, {"name": "people", "members": []}]));
    let users = json_of(askback(folder.path()).args(["user", "list", "--json"]));
    let names: Vec<_> = users.as_array().unwrap().iter().map(|user| (&user["username"], &user["role"])).collect();
    assert_eq!(names, [(&json!("an/na 安"), &json!("admin")), (&json!("local"), &json!("admin"))]);

    let (code, out, err) = run(&["user", "disable", "an/na 安"]);
    assert_eq!((code, out.as_str()), (1, ""));
    assert!(err.contains("(last_admin)"), "{err}");
    assert!(run(&["user", "delete", "local"]).2.contains("(local_account)"));
    assert!(run(&["user", "groups", "an/na 安", "--add", "none"]).2.contains("askback group list"));
    assert_eq!(server.get(&token, "/auth/me").await["username"], "an/na 安");
    server.register("ben").await;
    said(&["user", "role", "ben", "admin"]);
    said(&["user", "role", "an/na 安", "user"]);
    let off = json_of(askback(folder.path()).args(["user", "disable", "an/na 安", "--json"]));
    assert_eq!(off["disabled"], true);
    let me = server.request(reqwest::Method::GET, &token, "/auth/me").send().await.unwrap();
    assert_eq!(me.status(), 401);
    assert_eq!(said(&["user", "enable", "an/na 安"]), "an/na 安  user  in it\n");
    assert_eq!(said(&["group", "delete", "it"]), "deleted it\n");
    assert_eq!(said(&["user", "delete", "an/na 安"]), "deleted an/na 安\n");
    assert_eq!(said(&["user", "list"]), "ben  admin\nlocal  admin\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_of_the_settings_is_followed() {
    let folder = documents();
    let settings = [("ASKBACK_INGEST_FOLDERS", "docs=handbooks"), ("ASKBACK_SCAN_SECONDS", "1")];
    let server = Server::start(folder.path(), &settings).await;
    let door: Value =
        serde_json::from_slice(&std::fs::read(folder.path().join("var/local-door.json")).unwrap()).unwrap();
    let token = door["token"].as_str().unwrap();
    let ready = async |count: i64| {
        for _ in 0..600 {
            let listed = server.get(token, "/ingest/folders").await["folders"][0].take();
            if listed["files"]["ready"] == count && listed["files"]["total"] == count {
                return listed;
            }
            tokio::time::sleep(std::time::Duration::from_millis(100)).await;
        }
        panic!("the folder is not followed: {}", server.get(token, "/ingest/folders").await)
    };
    let listed = ready(2).await;
    assert_eq!((&listed["source"], &listed["status"]), (&json!("config"), &json!("watching")));
    std::fs::remove_file(folder.path().join("docs/badge.md")).unwrap();
    ready(1).await;
    let left = server.get(token, "/documents?collection=handbooks").await;
    assert_eq!(left["documents"].as_array().unwrap().len(), 1);
    assert_eq!(left["documents"][0]["filename"], "中文/班车.txt");
    assert_eq!(server.terminate().await, (Some(0), String::new()));
}

#[test]
fn doctor_says_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let well = json_of(askback(folder.path()).args(["doctor", "--json"]).env("ASKBACK_INGEST_FOLDERS", "."));
    assert_eq!(well["ok"], true, "{well:#}");
    let nowhere = askback(folder.path()).args(["doctor"]).env("ASKBACK_INGEST_FOLDERS", "nowhere").output().unwrap();
    let (code, out, _) = texts(&nowhere);
    assert_eq!(code, 1);
    assert!(out.contains("FAIL  watched folder: nowhere: ") && out.contains("take it out of ingest.folders"), "{out}");
    let output = askback(folder.path())
        .args(["doctor", "--json"])
        .env("ASKBACK_LLM_BASE_URL", "http://127.0.0.1:9/v1")
        .env("ASKBACK_MODEL", "small")
        .output()
        .unwrap();
    let (code, out, _) = texts(&output);
    assert_eq!(code, 1);
    let ill: Value = serde_json::from_str(&out).unwrap();
    let failed: Vec<_> = ill["checks"].as_array().unwrap().iter().filter(|check| check["ok"] == false).collect();
    assert_eq!(failed.len(), 1, "{ill:#}");
    assert_eq!((&failed[0]["name"], &failed[0]["detail"]), (&json!("chat_model"), &json!("small does not answer")));
    assert!(failed[0]["action"].as_str().unwrap().starts_with("start the model's server"));
}

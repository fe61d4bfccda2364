//! `askback doctor`: what is wrong with this installation, and what to do about it.

use std::time::Duration;

use askback::{
    boot::{
        BootError, Node,
        door::{self, Door},
        folder::DataFolder,
    },
    config::{Config, Folder},
    domain::upkeep::Damaged,
    http::Component,
    services::ingest::Findings,
    telemetry::Metrics,
};
use serde::{Deserialize, Serialize};

use super::{Failure, args::Doctor, output, serve::show_new_invite_code};

/// How long a document may take that is read again.
const READING: Duration = Duration::from_secs(600);
/// Documents that are named in one line.
const NAMED: usize = 10;
/// How long a running server may take to say how it is.
const PATIENCE: Duration = Duration::from_secs(10);

/// One thing that was looked at.
#[derive(Debug, Serialize)]
struct Check {
    name: String,
    ok: bool,
    detail: String,
    /// What to do, where something is wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    action: Option<String>,
}

#[derive(Serialize)]
struct Report<'a> {
    ok: bool,
    checks: &'a [Check],
}

#[derive(Deserialize)]
struct Ready {
    components: Vec<Part>,
}

#[derive(Deserialize)]
struct Part {
    role: String,
    name: String,
    ready: bool,
}

impl From<Component> for Part {
    fn from(component: Component) -> Self {
        Self { role: component.role, name: component.name, ready: component.ready }
    }
}

pub(crate) async fn run(config: Config, wish: Doctor) -> Result<(), Failure> {
    let mut checks = vec![good("settings", "valid; see them with: askback config show")];
    look(&config, wish.repair, &mut checks).await;
    let ok = checks.iter().all(|check| check.ok);
    if wish.json {
        output::json(&Report { ok, checks: &checks })?;
    } else {
        for check in &checks {
            let mark = if check.ok { "ok  " } else { "FAIL" };
            output::line(&format!("{mark}  {}: {}", check.name, check.detail))?;
            if let Some(action) = &check.action {
                output::line(&format!("      -> {action}"))?;
            }
        }
    }
    if ok { Ok(()) } else { Err(Failure::Silent) }
}

/// A folder that the settings name. How it is followed, a running server tells at `/ingest/folders`.
fn watched(folder: &Folder) -> Check {
    let path = folder.path.display();
    match std::fs::read_dir(&folder.path) {
        Ok(_) => good("watched folder", &format!("{path} can be read")),
        Err(error) => {
            bad("watched folder", &format!("{path}: {error}"), "mount it or make it, or take it out of ingest.folders")
        }
    }
}

/// Everything behind the settings; stops where nothing further can be seen.
async fn look(config: &Config, repair: bool, checks: &mut Vec<Check>) {
    let path = config.storage.data_dir.display();
    let state = if config.storage.data_dir.exists() { "can be written" } else { "was not there and has been made" };
    let folder = match DataFolder::open(&config.storage.data_dir).and_then(|folder| {
        folder.write("doctor", "can be written")?;
        folder.remove("doctor")?;
        Ok(folder)
    }) {
        Ok(folder) => folder,
        Err(error) => {
            let action = "let this user write there, or choose another folder with --data-dir";
            checks.push(bad("data folder", &error.to_string(), action));
            return;
        }
    };
    checks.push(good("data folder", &format!("{path} {state}")));
    checks.extend(config.ingest.folders.iter().map(watched));
    if let Ok(Some(door)) = door::find(&folder)
        && let Some(ready) = ask_server(&door).await
    {
        checks.push(good("server", &format!("runs at {}", door.url)));
        checks.extend(ready.components.into_iter().map(part));
        checks.push(if repair {
            bad("documents", "nothing is mended while a server runs", "stop the server and run this again")
        } else {
            good("documents", "not compared with files and index while a server runs")
        });
        return;
    }
    let started = match Metrics::start() {
        Ok(metrics) => Node::open(config, metrics).await,
        Err(error) => {
            checks.push(bad("telemetry", &error.to_string(), "report this as a defect"));
            return;
        }
    };
    match started {
        Ok(node) => {
            show_new_invite_code(&node);
            checks.push(good("server", "none runs over this data folder; start one with: askback serve"));
            checks.extend((node.app.components)().await.into_iter().map(|component| part(component.into())));
            documents(&node, repair, checks).await;
            node.stop().await;
        }
        Err(error) => checks.push(start_failure(&error)),
    }
}

/// Whether SQL, files and index say the same; with `repair`, once that was mended which can be.
async fn documents(node: &Node, repair: bool, checks: &mut Vec<Check>) {
    let found = match compare(node, repair).await {
        Ok(found) => found,
        Err(error) => return checks.push(bad("documents", &error, "see the log")),
    };
    let mend = "mend it with: askback doctor --repair";
    let Findings { orphan_files, leftovers, unsound, misindexed, stray, .. } = &found;
    checks.push(match orphan_files.len() {
        0 => good("files", "each belongs to a document or an upload"),
        count => bad("files", &format!("{count} belong to nothing"), mend),
    });
    checks.push(files_of_documents(&found));
    checks.push(match leftovers.len() {
        0 => good("versions", "none left half-built"),
        count => bad("versions", &format!("{count} do not answer and still take space"), mend),
    });
    checks.push(match unsound.len() {
        0 => good("documents", "text, passages and vectors of each fit together"),
        _ => bad("documents", &format!("parts are missing or changed of {}", names(unsound)), mend),
    });
    checks.push(match (misindexed.as_slice(), stray.len()) {
        ([], 0) => good("index content", &format!("{} leaves, as in SQL", found.indexed)),
        ([], count) => bad("index content", &format!("{count} documents that do not answer are in the index"), mend),
        (other, _) => {
            let other: Vec<Damaged> = other.iter().map(|(document, _)| document.clone()).collect();
            bad("index content", &format!("other leaves than in SQL of {}", names(&other)), mend)
        }
    });
}

fn files_of_documents(found: &Findings) -> Check {
    let lost: Vec<Damaged> = found.damaged_files.iter().flat_map(|(_, documents)| documents).cloned().collect();
    let copies = found.damaged_files.iter().filter(|(_, documents)| documents.is_empty()).count();
    let mut wrong = Vec::new();
    if !lost.is_empty() {
        wrong.push(format!("damaged for {}", names(&lost)));
    }
    if copies > 0 {
        wrong.push(format!("damaged are copies of {copies} files that other servers hold"));
    }
    if !found.without_file.is_empty() {
        wrong.push(format!("gone for {}", names(&found.without_file)));
    }
    let action = match (found.damaged_files.len(), lost.len() + found.without_file.len()) {
        (0, 0) => {
            let elsewhere = match found.elsewhere {
                0 => String::new(),
                count => format!("; those of {count} documents lie with other servers, which took them in"),
            };
            let detail = format!("all are there, with the bytes that were uploaded{elsewhere}");
            return good("files of documents", &detail);
        }
        (0, _) => "upload these documents again",
        (_, 0) => "mend it with: askback doctor --repair",
        _ => "run: askback doctor --repair, and upload these documents again",
    };
    bad("files of documents", &wrong.join("; "), action)
}

async fn compare(node: &Node, repair: bool) -> Result<Findings, String> {
    let ingest = &node.app.ingest;
    let found = ingest.audit().await.map_err(|error| error.to_string())?;
    if !repair {
        return Ok(found);
    }
    // Mended first: the workers' first act is to remove what nothing needs.
    let jobs = ingest.mend(&found).await.map_err(|error| error.to_string())?;
    node.work().await.map_err(|error| error.to_string())?;
    for job in jobs {
        ingest.wait(job, READING).await.map_err(|error| error.to_string())?;
    }
    ingest.audit().await.map_err(|error| error.to_string())
}

fn names(documents: &[Damaged]) -> String {
    let named = documents.iter().take(NAMED).map(|each| format!("{} (in {})", each.filename, each.collection));
    let mut text = named.collect::<Vec<_>>().join(", ");
    if documents.len() > NAMED {
        text.push_str(&format!(" and {} more", documents.len() - NAMED));
    }
    text
}

fn start_failure(error: &BootError) -> Check {
    let action = match error {
        _ if error.is_locked() => "wait until the other process listens, or stop it",
        BootError::Open(_) => "start the database, or fix DATABASE_URL; unset it to use SQLite in the data folder",
        _ => "fix the setting that is named and run askback doctor again",
    };
    bad("start", &error.to_string(), action)
}

fn part(part: Part) -> Check {
    if part.role == "vectors" {
        return vectors(&part);
    }
    if part.ready {
        return good(&part.role, &format!("{} is ready", part.name));
    }
    let action = match part.role.as_str() {
        "storage" => "look at free disk space and at the database's log",
        role if role.ends_with("_model") => {
            "start the model's server, or fix llm.base_url and its key; unset both to use the built-in model"
        }
        _ => "see the server's log",
    };
    bad(&part.role, &format!("{} does not answer", part.name), action)
}

/// Whose vectors answer.
fn vectors(part: &Part) -> Check {
    let name = &part.name;
    if part.ready {
        return good("vectors", &format!("all are of {name}, as configured"));
    }
    let detail =
        format!("those of {name} answer, and not all documents have those of the configured embedder and version");
    bad("vectors", &detail, "run: askback reindex")
}

async fn ask_server(door: &Door) -> Option<Ready> {
    let http = reqwest::Client::builder().no_proxy().timeout(PATIENCE).build().ok()?;
    http.get(format!("{}/readyz", door.url)).send().await.ok()?.json().await.ok()
}

fn good(name: &str, detail: &str) -> Check {
    Check { name: name.into(), ok: true, detail: detail.into(), action: None }
}

fn bad(name: &str, detail: &str, action: &str) -> Check {
    Check { name: name.into(), ok: false, detail: detail.into(), action: Some(action.into()) }
}

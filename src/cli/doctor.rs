//! `askback doctor`: what is wrong with this installation, and what to do about it.

use std::time::Duration;

use askback::{
    boot::{
        BootError, Node,
        door::{self, Door},
        folder::DataFolder,
    },
    config::Config,
    http::Component,
    telemetry::Metrics,
};
use serde::{Deserialize, Serialize};

use super::{Failure, output};

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

pub(crate) async fn run(config: Config, json: bool) -> Result<(), Failure> {
    let mut checks = vec![good("settings", "valid; see them with: askback config show")];
    look(&config, &mut checks).await;
    let ok = checks.iter().all(|check| check.ok);
    if json {
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

/// Everything behind the settings; stops where nothing further can be seen.
async fn look(config: &Config, checks: &mut Vec<Check>) {
    let path = config.storage.data_dir.display();
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
    checks.push(good("data folder", &format!("{path} can be written")));
    if let Ok(Some(door)) = door::find(&folder)
        && let Some(ready) = ask_server(&door).await
    {
        checks.push(good("server", &format!("runs at {}", door.url)));
        checks.extend(ready.components.into_iter().map(part));
        return;
    }
    let started = match Metrics::start() {
        Ok(metrics) => Node::start(config, metrics).await,
        Err(error) => {
            checks.push(bad("telemetry", &error.to_string(), "report this as a defect"));
            return;
        }
    };
    match started {
        Ok(node) => {
            checks.push(good("server", "none runs over this data folder; start one with: askback serve"));
            checks.extend((node.app.components)().await.into_iter().map(|component| part(component.into())));
            checks.push(index(&node).await);
            node.stop().await;
        }
        Err(error) => checks.push(start_failure(&error)),
    }
}

/// Whether the index holds what SQL says is current.
async fn index(node: &Node) -> Check {
    match node.leaves().await {
        Ok((indexed, stored)) if indexed == stored => good("index content", &format!("{indexed} leaves, as in SQL")),
        Ok((indexed, stored)) => bad(
            "index content",
            &format!("{indexed} leaves in the index, {stored} in SQL"),
            "restart the server: the index is read from SQL at start; if that does not help, upload the documents again",
        ),
        Err(error) => bad("index content", &error.to_string(), "see the log"),
    }
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

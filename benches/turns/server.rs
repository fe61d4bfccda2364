//! The real binary, and what the system says of it.

use std::{fs, path::PathBuf, process::Stdio};

use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt, BufReader},
    process::{Child, Command},
};

use crate::model::Model;

/// A running `askback serve` over a folder of its own; it is killed when dropped.
pub(crate) struct Server {
    /// `http://127.0.0.1:…`
    pub(crate) url: String,
    /// Of the account that asks.
    pub(crate) token: String,
    child: Child,
    _folder: tempfile::TempDir,
}

impl Server {
    /// Starts one that asks `model`, on one core if so wanted.
    pub(crate) async fn start(model: &Model, on_one_core: bool) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let binary = env!("CARGO_BIN_EXE_askback");
        let mut command = if on_one_core {
            let mut pinned = Command::new("taskset");
            pinned.args(["-c", "0", binary]);
            pinned
        } else {
            Command::new(binary)
        };
        let mut child = command
            .args(["serve", "--listen", "127.0.0.1:0", "--data-dir", "var"])
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("ASKBACK_LLM_BASE_URL", &model.base_url)
            .env("ASKBACK_MODEL", "free")
            .env("ASKBACK_LOG", "off")
            .env("ASKBACK_TURN_LIMIT", "10000")
            .current_dir(folder.path())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .kill_on_drop(true)
            .spawn()
            .expect("the binary starts");
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).await.unwrap();
        let url = line.strip_prefix("listening on ").expect("it listens").trim().to_owned();
        let body = json!({"username": "load", "password": "correct horse 7"});
        let answer = client().post(format!("{url}/auth/register")).json(&body).send().await.unwrap();
        let answer: Value = answer.json().await.unwrap();
        let token = answer["access_token"].as_str().expect("it registers").to_owned();
        Self { url, token, child, _folder: folder }
    }

    /// Time of the processors that it has used so far, in milliseconds.
    pub(crate) fn cpu_ms(&self) -> f64 {
        let stat = fs::read_to_string(self.proc("stat")).unwrap();
        let fields: Vec<&str> = stat.rsplit_once(") ").unwrap().1.split(' ').collect();
        // Ticks of user and of system time; Linux shows a hundred a second to user space.
        let ticks: f64 = fields[11].parse::<f64>().unwrap() + fields[12].parse::<f64>().unwrap();
        ticks * 10.0
    }

    /// Memory that is resident, in KiB.
    pub(crate) fn resident_kib(&self) -> f64 {
        let status = fs::read_to_string(self.proc("status")).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        line.trim().trim_end_matches(" kB").parse().unwrap()
    }

    fn proc(&self, name: &str) -> PathBuf {
        PathBuf::from(format!("/proc/{}/{name}", self.child.id().expect("it runs")))
    }
}

/// A client that keeps its connections.
pub(crate) fn client() -> reqwest::Client {
    reqwest::Client::builder().no_proxy().tcp_nodelay(true).build().unwrap()
}

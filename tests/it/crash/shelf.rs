//! Documents through crashes: everything that one client was told about its uploads, and whether the server still stands
//! by it.

use std::collections::BTreeMap;

use reqwest::Method;
use serde_json::{Value, json};

use super::talk::Gone;
use crate::support::{home::Home, process::Server};

/// The invite code of the servers.
const INVITE: &str = "an invite code for tests";
/// What every server of these tests is told.
pub(super) const VARIABLES: [(&str, &str); 2] = [("ASKBACK_ADMIN_INVITE_CODE", INVITE), ("ASKBACK_LOG", "off")];
/// Looks at the disk before a file counts as staying for ever.
const LOOKS: usize = 500;

/// See the module.
pub(super) struct Shelf {
    token: String,
    files: BTreeMap<String, Vec<Sent>>,
}

/// Something that was asked for a name.
struct Sent {
    what: What,
    /// The path of its job, once it was acknowledged.
    job: Option<String>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum What {
    Text(String),
    Broken,
    Deletion,
}

impl Shelf {
    pub(super) async fn new(server: &Server) -> Self {
        let body = json!({"username": "root", "password": "correct horse 7", "role": "admin", "admin_code": INVITE});
        let answer = server.post("", "/auth/register", &body).await;
        Self { token: answer["access_token"].as_str().expect("a token").into(), files: BTreeMap::new() }
    }

    /// Uploads this text; returns when it was acknowledged.
    pub(super) async fn upload(&mut self, server: &Server, name: &str, text: &str) -> Result<(), Gone> {
        self.send(server, name, What::Text(text.into())).await
    }

    /// Uploads something that cannot be read.
    pub(super) async fn upload_broken(&mut self, server: &Server, name: &str) -> Result<(), Gone> {
        self.send(server, name, What::Broken).await
    }

    /// Has a document deleted.
    pub(super) async fn delete(&mut self, server: &Server, name: &str) -> Result<(), Gone> {
        self.send(server, name, What::Deletion).await
    }

    async fn send(&mut self, server: &Server, name: &str, what: What) -> Result<(), Gone> {
        let sent = self.files.entry(name.into()).or_default();
        sent.push(Sent { what: what.clone(), job: None });
        let path = ask(server, &self.token, name, &what).await?;
        if let Some(last) = sent.last_mut() {
            last.job = Some(path);
        }
        Ok(())
    }

    /// Uploads many at once, each of another name, until they are acknowledged or the server is gone.
    pub(super) async fn upload_all(&mut self, server: &Server, texts: Vec<(String, String)>) {
        let uploads = texts.into_iter().map(|(name, text)| {
            let token = self.token.clone();
            async move {
                let what = What::Text(text);
                let job = ask(server, &token, &name, &what).await.ok();
                (name, Sent { what, job })
            }
        });
        let sent = futures::future::join_all(uploads).await;
        for (name, sent) in sent {
            self.files.entry(name).or_default().push(sent);
        }
    }

    /// Returns once every job that was acknowledged has ended.
    pub(super) async fn wait(&self, server: &Server) -> Result<(), Gone> {
        for sent in self.files.values().flatten() {
            if let Some(job) = &sent.job {
                end_of(server, &self.token, job).await?;
            }
        }
        Ok(())
    }

    /// After a restart: every job ends, also those whose acknowledgement was lost, and what was told stands. The text of
    /// a name is the last that was acknowledged, or one that was sent after it, and a search finds no other.
    pub(super) async fn check(&mut self, server: &Server) {
        let listed = server.get(&self.token, "/documents/upload/jobs").await;
        for job in listed["jobs"].as_array().expect("jobs") {
            let id = job["job_id"].as_str().expect("an id");
            end_of(server, &self.token, &format!("/documents/upload/jobs/{id}")).await.expect("it answers");
        }
        let documents = server.get(&self.token, "/documents").await;
        let documents: BTreeMap<&str, &Value> = documents["documents"]
            .as_array()
            .expect("documents")
            .iter()
            .map(|document| (document["filename"].as_str().expect("a name"), document))
            .collect();
        for (name, all) in &mut self.files {
            for sent in all.iter() {
                if let Some(path) = &sent.job {
                    let job = end_of(server, &self.token, path).await.expect("it answers");
                    let expected = if sent.what == What::Broken { "failed" } else { "completed" };
                    assert_eq!(job["status"], expected, "{name}: {job:#}");
                }
            }
            let changes: Vec<&Sent> = all.iter().filter(|sent| sent.what != What::Broken).collect();
            let told = changes.iter().rposition(|sent| sent.job.is_some());
            let possible = &changes[told.unwrap_or(0)..];
            let found = match documents.get(name.as_str()) {
                Some(document) if document["chunk_count"].as_i64() > Some(0) => {
                    let id = document["document_id"].as_str().expect("an id");
                    let text = server.get(&self.token, &format!("/documents/{id}/text")).await;
                    let text = text["text"].as_str().expect("a text").to_owned();
                    assert_alone(server, &self.token, id, &document["version"], &text).await;
                    Some(text)
                }
                _ => None,
            };
            let is_possible = match &found {
                Some(found) => possible.iter().any(|sent| sent.what == What::Text(found.clone())),
                None => told.is_none() || possible.iter().any(|sent| sent.what == What::Deletion),
            };
            assert!(is_possible, "{name}: {found:?}");
            // What was lost without a word is settled now.
            let settled = found.map_or(What::Deletion, What::Text);
            all.clear();
            all.push(Sent { what: settled, job: None });
        }
    }

    /// Returns once the collector has removed what nothing needs: each document's versions keep their file, and a broken
    /// upload too, as it may be tried again.
    pub(super) async fn tidied(&self, server: &Server, home: &Home) -> Result<(), Gone> {
        let mut needed = 0;
        for _ in 0..LOOKS {
            let answer = server.request(Method::GET, &self.token, "/documents").send().await.map_err(|_| Gone)?;
            let documents: Value = answer.json().await.map_err(|_| Gone)?;
            let kept = documents["documents"].as_array().expect("documents");
            needed = kept.iter().map(|document| document["version"].as_u64().unwrap_or(1)).sum();
            if home.blobs().len() as u64 <= needed {
                return Ok(());
            }
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
        panic!("{} files where {needed} are needed", home.blobs().len());
    }
}

/// Asks for something; gives the path of its job.
async fn ask(server: &Server, token: &str, name: &str, what: &What) -> Result<String, Gone> {
    let (request, jobs) = match what {
        What::Deletion => {
            let path = format!("/documents/delete/async/{name}");
            (server.request(Method::DELETE, token, &path), "/documents/delete/jobs")
        }
        What::Text(text) => (upload(server, token, name, text), "/documents/upload/jobs"),
        What::Broken => (upload(server, token, name, "%PDF-1.7\nnothing of the kind"), "/documents/upload/jobs"),
    };
    let answer = request.send().await.map_err(|_| Gone)?;
    let status = answer.status();
    let body: Value = answer.json().await.map_err(|_| Gone)?;
    assert_eq!(status.as_u16(), 202, "{name}: {body:#}");
    Ok(format!("{jobs}/{}", body["job_id"].as_str().expect("an id")))
}

fn upload(server: &Server, token: &str, name: &str, text: &str) -> reqwest::RequestBuilder {
    let part = reqwest::multipart::Part::bytes(text.as_bytes().to_vec()).file_name(name.to_owned());
    let form = reqwest::multipart::Form::new().part("file", part);
    server.request(Method::POST, token, "/documents/upload/async").multipart(form)
}

/// The job once it has ended.
async fn end_of(server: &Server, token: &str, path: &str) -> Result<Value, Gone> {
    loop {
        let answer = server.request(Method::GET, token, path).send().await.map_err(|_| Gone)?;
        let job: Value = answer.json().await.map_err(|_| Gone)?;
        if job["status"] == "completed" || job["status"] == "failed" {
            return Ok(job);
        }
        if path.contains("/upload/") {
            // Its events go on until it has ended.
            let events = server.request(Method::GET, token, &format!("{path}/events")).send().await;
            events.map_err(|_| Gone)?.bytes().await.map_err(|_| Gone)?;
        } else {
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    }
}

/// A search for the text finds its own document in this version, and the document in no other.
async fn assert_alone(server: &Server, token: &str, id: &str, version: &Value, text: &str) {
    let body = json!({"query": text, "filter": {"document_ids": [id]}, "top_k": 100});
    let found = server.post(token, "/search", &body).await;
    let versions: Vec<&Value> =
        found["passages"].as_array().expect("passages").iter().map(|passage| &passage["version"]).collect();
    assert!(!versions.is_empty() && versions.iter().all(|found| *found == version), "{text}: {versions:?}");
}

/// What `askback doctor` finds over data that no server runs over: nothing.
pub(super) fn assert_sound(home: &Home) {
    let output = home.askback(&["doctor", "--json"]).output().expect("it starts");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}");
    let report: Value = serde_json::from_str(&said).expect("JSON");
    let names: Vec<&str> =
        report["checks"].as_array().expect("checks").iter().filter_map(|check| check["name"].as_str()).collect();
    assert!(names.contains(&"index content") && names.contains(&"files"), "{said}");
}

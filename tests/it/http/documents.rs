//! Documents on the wire.

use std::io::{Cursor, Write};

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::support::app::{Answer, As, TestApp, problem};

const MANUAL: &str = "# Aurora X1\n\nThe warranty of the Aurora X1 lasts two years.\n\n保修期为两年。\n";

#[tokio::test]
async fn upload_list_read_delete() {
    let app = TestApp::start().await;
    let root = app.admin("root").await;
    let uploaded = root.upload("保修 manual.md", MANUAL.as_bytes(), None).await;
    assert_eq!(uploaded.status, StatusCode::OK, "{}", uploaded.text);
    let uploaded = uploaded.json();
    let id = uploaded["document_id"].as_str().unwrap();
    assert_eq!((&uploaded["filename"], &uploaded["version"]), (&json!("保修 manual.md"), &json!(1)));
    let chunks = uploaded["chunks_processed"].as_i64().unwrap();
    assert!(chunks >= 1);

    let mut listed = root.get("/documents?collection=default").await.json();
    let document = &mut listed["documents"][0];
    assert!(document["uploaded_at"].take().as_str().unwrap().ends_with('Z'));
    let expected = json!({
        "document_id": id, "filename": "保修 manual.md", "file_type": "Markdown", "collection": "default", "version": 1,
        "chunk_count": chunks, "uploaded_at": null, "status": "ready", "warnings": [],
    });
    assert_eq!(*document, expected);
    assert_eq!(root.get("/documents?collection=other").await.json()["documents"], json!([]));

    // Readers may read what they may search.
    let ada = app.user("ada").await;
    let text = ada.get(&format!("/documents/{id}/text")).await.json();
    assert!(text["text"].as_str().unwrap().contains("保修期为两年。"), "{text}");
    let part = ada.get(&format!("/documents/{id}/text?start=2&end=8&version=1")).await.json();
    let expected: String = text["text"].as_str().unwrap().chars().skip(2).take(6).collect();
    assert_eq!(part, json!({"text": expected, "start": 2, "end": 8}));
    for query in ["start=-1", "start=5&end=4", "start=0&end=200000"] {
        let answer = ada.get(&format!("/documents/{id}/text?{query}")).await;
        assert_eq!((answer.problem().0, answer.problem().1.as_str()), (422, "invalid_field"), "{query}");
    }
    assert_eq!(ada.get(&format!("/documents/{id}/text?version=2")).await.problem(), problem(404, "not_found", &[]));
    let file = ada.get(&format!("/documents/{id}/content")).await;
    assert_eq!(file.text, MANUAL);
    assert_eq!(
        file.header("content-disposition"),
        "attachment; filename=\"___manual.md\"; filename*=UTF-8''%E4%BF%9D%E4%BF%AE%20manual.md"
    );

    let deleted = root.delete("/documents/%E4%BF%9D%E4%BF%AE%20manual.md").await.json();
    assert_eq!((&deleted["filename"], &deleted["chunks_deleted"]), (&json!("保修 manual.md"), &json!(chunks)));
    for path in ["text", "content", "text?version=1", "content?version=1"] {
        let answer = ada.get(&format!("/documents/{id}/{path}")).await;
        assert_eq!(answer.problem(), problem(404, "not_found", &[]), "{path} of a deleted document");
    }
}

#[tokio::test]
async fn a_name_is_the_same_however_its_letters_are_composed() {
    let app = TestApp::start().await;
    let root = app.admin("root").await;
    let (composed, decomposed) = ("Garantie é 가.md", "Garantie e\u{301} \u{1100}\u{1161}.md");
    let first = root.upload(decomposed, MANUAL.as_bytes(), None).await.json();
    assert_eq!((&first["filename"], &first["version"]), (&json!(composed), &json!(1)));
    let second = root.upload(composed, format!("{MANUAL}\nNew.").as_bytes(), None).await.json();
    assert_eq!((&second["document_id"], &second["version"]), (&first["document_id"], &json!(2)));
    let third = root.upload(decomposed, MANUAL.as_bytes(), None).await.json();
    assert_eq!((&third["document_id"], &third["version"]), (&first["document_id"], &json!(3)));
    let listed = root.get("/documents").await.json();
    let names: Vec<&Value> = listed["documents"].as_array().unwrap().iter().map(|each| &each["filename"]).collect();
    assert_eq!(names, [composed]);
    let path = "/documents/Garantie%20e%CC%81%20%E1%84%80%E1%85%A1.md";
    assert_eq!(root.delete(path).await.json()["filename"], composed);
    assert_eq!(root.get("/documents").await.json()["documents"], json!([]));
}

#[tokio::test]
async fn jobs_tell_how_it_goes() {
    let app = TestApp::start().await;
    let root = app.admin("root").await;
    let part = reqwest::multipart::Part::bytes(MANUAL.as_bytes()).file_name("manual.md");
    let form = reqwest::multipart::Form::new().text("collection", "manuals").part("file", part);
    let accepted = Answer::of(root.request(Method::POST, "/documents/upload/async").multipart(form)).await;
    assert_eq!(accepted.status, StatusCode::ACCEPTED, "{}", accepted.text);
    let job = accepted.json()["job_id"].as_str().unwrap().to_owned();
    app.app.ingest.wait(job.parse().unwrap(), std::time::Duration::from_secs(60)).await.unwrap();
    let done = root.get(&format!("/documents/upload/jobs/{job}")).await.json();
    assert_eq!(
        (&done["status"], &done["filename"], &done["error"]),
        (&json!("completed"), &json!("manual.md"), &Value::Null)
    );
    let keys: Vec<&str> = done["steps"].as_array().unwrap().iter().map(|step| step["key"].as_str().unwrap()).collect();
    assert_eq!(keys, ["upload", "cleanup", "parse", "parent_store", "vector_store"]);
    assert_eq!(root.get("/documents/upload/jobs").await.json()["jobs"], json!([done]));

    root.upload("manual.md", MANUAL.as_bytes(), None).await;
    let ambiguous = root.delete("/documents/manual.md").await;
    assert_eq!(ambiguous.problem(), problem(409, "ambiguous_name", &["collection"]));
    assert_eq!(ambiguous.json()["errors"][0]["valid"], json!(["default", "manuals"]));

    let deleting = root.delete("/documents/delete/async/manual.md?collection=manuals").await;
    assert_eq!(deleting.status, StatusCode::ACCEPTED);
    let job = deleting.json()["job_id"].as_str().unwrap().to_owned();
    app.app.ingest.wait(job.parse().unwrap(), std::time::Duration::from_secs(60)).await.unwrap();
    let done = root.get(&format!("/documents/delete/jobs/{job}")).await.json();
    assert_eq!(done["status"], "completed", "{done}");
    let other_kind = root.get(&format!("/documents/upload/jobs/{job}")).await;
    assert_eq!(other_kind.problem(), problem(404, "not_found", &[]));
    assert_eq!(root.get("/documents?collection=manuals").await.json()["documents"], json!([]));
}

/// Uploads without waiting; gives the job's path.
async fn queue(root: &As, name: &str, bytes: &[u8]) -> String {
    let part = reqwest::multipart::Part::bytes(bytes.to_vec()).file_name(name.to_owned());
    let form = reqwest::multipart::Form::new().part("file", part);
    let accepted = Answer::of(root.request(Method::POST, "/documents/upload/async").multipart(form)).await;
    assert_eq!(accepted.status, StatusCode::ACCEPTED, "{}", accepted.text);
    format!("/documents/upload/jobs/{}", accepted.json()["job_id"].as_str().unwrap())
}

#[tokio::test]
async fn jobs_are_followed_cancelled_and_tried_again() {
    let app = TestApp::start().await;
    let root = app.admin("root").await;
    let job = queue(&root, "manual.md", MANUAL.as_bytes()).await;
    let frames = root.get(&format!("{job}/events")).await.frames();
    let last: Value = serde_json::from_str(frames.last().unwrap()).unwrap();
    assert_eq!(last, root.get(&job).await.json(), "the stream ends with the job");
    assert_eq!(last["status"], "completed");
    assert_eq!(root.get(&format!("{job}/events")).await.frames(), [frames.last().unwrap().clone()]);
    let cancelled = root.post(&format!("{job}/cancel"), json!({})).await;
    assert_eq!((cancelled.status, cancelled.json()), (StatusCode::OK, last), "what has ended stays");
    let retried = root.post(&format!("{job}/retry"), json!({})).await;
    assert_eq!(retried.problem(), problem(409, "job_not_failed", &[]));

    let job = queue(&root, "broken.pdf", b"no PDF").await;
    let failed = |answer: &Answer| answer.frames().last().unwrap().contains("malformed");
    assert!(failed(&root.get(&format!("{job}/events")).await));
    let retried = root.post(&format!("{job}/retry"), json!({})).await;
    assert_eq!((retried.status, &retried.json()["status"]), (StatusCode::ACCEPTED, &json!("pending")));
    assert!(failed(&root.get(&format!("{job}/events")).await), "the same file, the same end");

    let ada = app.user("ada").await;
    for path in ["events", "cancel", "retry"] {
        let ask = |who: As, path: String| async move {
            if path.ends_with("events") { who.get(&path).await } else { who.post(&path, json!({})).await }
        };
        assert_eq!(ask(ada.clone(), format!("{job}/{path}")).await.problem(), problem(403, "forbidden", &[]));
        let nobodys = format!("/documents/upload/jobs/{}/{path}", uuid::Uuid::now_v7());
        assert_eq!(ask(root.clone(), nobodys).await.problem(), problem(404, "not_found", &[]));
    }
}

#[tokio::test]
async fn files_that_cannot_be_read() {
    let app = TestApp::start().await;
    let root = app.admin("root").await;
    let name = "EncryptedPackage".encode_utf16().flat_map(u16::to_le_bytes);
    let locked: Vec<u8> = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1".iter().copied().chain(name).collect();
    let mut bomb = zip::ZipWriter::new(Cursor::new(Vec::new()));
    bomb.start_file("word/document.xml", zip::write::SimpleFileOptions::default()).unwrap();
    bomb.write_all(&vec![b' '; 64 << 20]).unwrap();
    let bomb = bomb.finish().unwrap().into_inner();
    for (name, bytes, status, code) in [
        ("empty.txt", b"".as_slice(), 422, "empty_file"),
        ("blank.txt", b" \n\n", 422, "empty_file"),
        ("pictures.html", b"<img src='a.png'>", 422, "no_text"),
        ("locked.docx", &locked, 422, "encrypted"),
        ("locked.xlsx", &locked, 422, "encrypted"),
        ("bomb.docx", &bomb, 422, "archive_limit"),
        ("not.pdf", b"this is no PDF", 422, "malformed"),
        ("not.pptx", b"this is no presentation", 422, "malformed"),
        ("not.ods", b"this is no table", 422, "malformed"),
        ("not.json", b"{\"a\":", 422, "malformed"),
        ("not.eml", b"this is no mail", 422, "malformed"),
        ("photo.jpg", b"\xff\xd8\xff", 415, "unsupported_media_type"),
    ] {
        let refused = root.upload(name, bytes, None).await;
        assert_eq!(refused.problem(), problem(status, code, &[]), "{name}");
        let refused = refused.json();
        let detail = refused["detail"].as_str().unwrap();
        assert!(detail.starts_with(char::is_uppercase) && detail.ends_with('.'), "{name}: {detail}");
    }
    assert_eq!(std::fs::read_dir(app.folder.join("uploads")).unwrap().count(), 0);
}

#[tokio::test]
async fn names_are_kept_as_they_are_and_stored_nowhere() {
    let app = TestApp::start().await;
    let root = app.admin("root").await;
    let names = [
        format!("{}.md", "报".repeat(120)),
        format!("{}.txt", "a".repeat(251)),
        "🗂️ 手册 👩‍🔧.md".into(),
        "../../etc/../manual.md".into(),
        "manual.md.".into(),
        "..".into(),
    ];
    for name in &names {
        let uploaded = root.upload(name, format!("About {name}").as_bytes(), None).await;
        assert_eq!(uploaded.status, StatusCode::OK, "{name}: {}", uploaded.text);
        let uploaded = uploaded.json();
        assert_eq!(uploaded["filename"], json!(name));
        let file = root.get(&format!("/documents/{}/content", uploaded["document_id"].as_str().unwrap())).await;
        assert_eq!(file.text, format!("About {name}"));
        let disposition = file.header("content-disposition").to_owned();
        let served = disposition.split_once("filename*=UTF-8''").unwrap().1;
        let served = reqwest::Url::parse(&format!("http://test/?name={served}")).unwrap();
        assert_eq!(served.query_pairs().next().unwrap().1, name.as_str());
    }
    let listed = root.get("/documents").await.json();
    let mut listed: Vec<&str> =
        listed["documents"].as_array().unwrap().iter().map(|each| each["filename"].as_str().unwrap()).collect();
    let mut expected: Vec<&str> = names.iter().map(String::as_str).collect();
    listed.sort_unstable();
    expected.sort_unstable();
    assert_eq!(listed, expected);
    for folder in std::fs::read_dir(app.folder.join("blobs")).unwrap() {
        let folder = folder.unwrap();
        for file in std::fs::read_dir(folder.path()).unwrap() {
            let path = format!("{}{}", folder.file_name().display(), file.unwrap().file_name().display());
            assert!(path.len() == 64 && path.bytes().all(|byte| byte.is_ascii_hexdigit()), "{path}");
        }
    }
}

#[tokio::test]
async fn forms_that_are_none() {
    let app = TestApp::start().await;
    let root = app.admin("root").await;
    let send = |content_type: &'static str, body: &'static str| {
        Answer::of(root.request(Method::POST, "/documents/upload").header("content-type", content_type).body(body))
    };
    let form = "multipart/form-data; boundary=b";
    assert_eq!(send("application/json", "{}").await.problem(), problem(415, "unsupported_media_type", &[]));
    assert_eq!(send(form, "--b--\r\n").await.problem(), problem(422, "invalid_field", &["file"]));
    assert_eq!(send(form, "--b\r\ncontent-disp").await.problem(), problem(400, "malformed_form", &[]));
    let part = |head: &str| format!("--b\r\nContent-Disposition: form-data; {head}\r\n\r\nx\r\n--b--\r\n");
    for (head, expected) in [
        ("name=\"file\"", problem(422, "invalid_field", &["file"])),
        ("name=\"files\"; filename=\"a.txt\"", problem(422, "unknown_field", &["files"])),
    ] {
        let request = root.request(Method::POST, "/documents/upload").header("content-type", form).body(part(head));
        assert_eq!(Answer::of(request).await.problem(), expected, "{head}");
    }
}

/// Every byte but unreserved ones percent-encoded; `.` too, since clients resolve dot segments.
fn encoded(name: &str) -> String {
    name.bytes()
        .map(|byte| if byte.is_ascii_alphanumeric() { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}

/// Sends a DELETE whose path no client has touched; gives the status.
async fn delete_raw(app: &TestApp, token: &str, path: &str) -> String {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    let mut socket = tokio::net::TcpStream::connect(app.address).await.unwrap();
    let request =
        format!("DELETE {path} HTTP/1.1\r\nhost: test\r\nauthorization: Bearer {token}\r\nconnection: close\r\n\r\n");
    socket.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    socket.read_to_string(&mut answer).await.unwrap();
    answer.split(' ').nth(1).unwrap().to_owned()
}

#[tokio::test]
async fn a_document_of_any_name_can_be_deleted() {
    let app = TestApp::start().await;
    let root = app.admin("root").await;
    let token = root.token.clone().unwrap();
    let document = serde_json::to_value(askback::http::document()).unwrap();
    let routes = document["paths"].as_object().unwrap().keys().filter_map(|path| path.strip_prefix("/documents/"));
    let mut names: Vec<String> = routes.map(|path| path.split('/').next().unwrap().to_owned()).collect();
    for name in ["jobs", "async", "a/b", "../x", "..", ".", "100%", "%75pload", "a b", "报告 (最终).md", "?x=1#y", "+"]
    {
        names.push(name.into());
    }
    names.sort();
    names.dedup();
    assert!(names.iter().any(|name| name == "upload") && names.iter().any(|name| name == "delete"), "{names:?}");
    for name in names.iter().filter(|name| app.app.extractor.file_type(name).is_some()) {
        for prefix in ["/documents/", "/documents/delete/async/"] {
            assert_eq!(root.upload(name, MANUAL.as_bytes(), None).await.status, StatusCode::OK, "{name}");
            let path = format!("{prefix}{}", encoded(name));
            let plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
            let expected = if prefix.ends_with("async/") { "202" } else { "200" };
            assert_eq!(delete_raw(&app, &token, &path).await, expected, "{name}");
            let left = root.get("/documents").await.json();
            assert_eq!(left["documents"], json!([]), "{name}");
            if plain {
                assert_eq!(delete_raw(&app, &token, &format!("{prefix}{name}")).await, "404", "gone by its bare name");
            }
        }
    }
}

#[tokio::test]
async fn who_may_read_a_collection() {
    let app = TestApp::start().await;
    let (root, ada, bea) = (app.admin("root").await, app.user("ada").await, app.user("bea").await);
    let made = root.post("/collections", json!({"name": "人事", "readers": {"users": ["BEA"]}})).await;
    let readers = json!({"everyone": false, "users": ["bea"], "groups": []});
    assert_eq!((made.status, made.json()["readers"].clone()), (StatusCode::CREATED, readers.clone()));
    assert_eq!(root.get("/collections").await.json()["collections"][0]["readers"], readers);
    let again = root.post("/collections", json!({"name": "人事"})).await;
    assert_eq!(again.problem(), problem(409, "name_taken", &[]));
    let unknown = root.post("/collections", json!({"name": "x", "readers": {"users": ["nobody"]}})).await;
    assert_eq!(unknown.problem(), problem(422, "invalid_field", &["readers.users[0]"]));

    let id =
        root.upload("pay.md", MANUAL.as_bytes(), Some("人事")).await.json()["document_id"].as_str().unwrap().to_owned();
    let path = format!("/documents/{id}/text");
    assert_eq!(bea.get(&path).await.status, StatusCode::OK);
    assert_eq!(ada.get(&path).await.problem(), problem(404, "not_found", &[]));
    assert_eq!(root.get(&path).await.problem(), problem(404, "not_found", &[]), "admins read by the same rule");
    let search = |client: &crate::support::app::As, body: Value| {
        let (client, body) = (client.clone(), body);
        async move {
            let found = client.post("/search", body).await.json();
            let names = found["passages"].as_array().unwrap_or_else(|| panic!("{found}")).iter();
            names.map(|passage| passage["filename"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
        }
    };
    let query = json!({"query": "保修期", "top_k": 1});
    assert_eq!(search(&bea, query.clone()).await, ["pay.md"]);
    assert_eq!(search(&ada, query.clone()).await, [""; 0]);
    assert_eq!(search(&ada, json!({"query": "保修期", "filter": {"document_ids": [id]}})).await, [""; 0]);
    assert_eq!(search(&bea, json!({"query": "保修期", "collections": ["default"]})).await, [""; 0]);
    for (body, expected) in [
        (json!({"query": " "}), problem(422, "invalid_field", &["query"])),
        (json!({"query": "a", "top_k": 0}), problem(422, "invalid_field", &["top_k"])),
        (json!({"query": "a", "filter": {"page": 1}}), problem(422, "unknown_field", &["filter.page"])),
    ] {
        assert_eq!(bea.post("/search", body).await.problem(), expected);
    }
    let opened = root.patch("/collections/%E4%BA%BA%E4%BA%8B", json!({"readers": {"everyone": true}})).await;
    assert_eq!(opened.json()["readers"], json!({"everyone": true, "users": [], "groups": []}));
    assert_eq!(ada.get(&path).await.status, StatusCode::OK);
    let unknown = root.patch("/collections/nothing", json!({"readers": {"everyone": true}})).await;
    assert_eq!(unknown.problem(), problem(404, "not_found", &[]));
}

#[tokio::test]
async fn a_citation_names_the_page_of_its_quote() {
    let app = TestApp::builtin().await;
    let root = app.admin("root").await;
    let places = [
        "bakery", "chapel", "harbour", "library", "museum", "orchard", "stable", "theatre", "tower", "vineyard",
        "windmill", "workshop", "quarry",
    ];
    let page = |(no, place): (usize, &&str)| {
        let said = [
            format!("The lantern of the {place} burns for {} hours a night.", 1_001 + no),
            format!("The keeper of the {place} looks after it each day."),
        ];
        said.to_vec()
    };
    let file = crate::support::pdf::pdf(&places.iter().enumerate().map(page).collect::<Vec<_>>());
    let uploaded = root.upload("lanterns.pdf", &file, None).await.json();
    let id = uploaded["document_id"].as_str().unwrap();
    for no in [1, 7, 13] {
        let question = format!("For how many hours does the lantern of the {} burn?", places[no - 1]);
        let turn = root.post("/chat", json!({"message": question})).await.json();
        let citation = &turn["citations"][0];
        let quote = citation["quote"].as_str().unwrap_or_else(|| panic!("{turn:#}"));
        assert!(quote.contains(&format!("burns for {} hours", 1_000 + no)), "{turn:#}");
        assert_eq!(citation["page"], no.to_string(), "{turn:#}");
        let place = format!("start={}&end={}", citation["start"], citation["end"]);
        let stands = root.get(&format!("/documents/{id}/text?version=1&{place}")).await.json();
        assert_eq!(stands["text"], quote);
    }
}

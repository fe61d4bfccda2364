//! Layers, unknown keys, and a canary that no secret is printed.

use std::path::PathBuf;

use secrecy::ExposeSecret;

use super::*;

fn env(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect()
}

fn file(text: &str) -> Option<(PathBuf, String)> {
    Some(("askback.toml".into(), text.to_owned()))
}

fn entry(loaded: &Loaded, key: &str) -> (Option<String>, String) {
    let entry = loaded.entries.iter().find(|entry| entry.key == key).expect("the key exists");
    (entry.value.clone(), entry.source.to_string())
}

fn wrong(layers: &Layers) -> Vec<String> {
    layers.load().expect_err("it is wrong").0
}

#[test]
fn the_defaults_are_valid_and_every_setting_has_a_field() {
    let loaded = Layers::default().load().expect("defaults are valid");
    assert_eq!(loaded.config.server.listen, "127.0.0.1:8080");
    assert_eq!(loaded.config.ingest.upload_limit, 100 << 20);
    assert_eq!(loaded.entries.len(), SETTINGS.len());
    let all = Layers {
        environment: SETTINGS
            .iter()
            .filter(|setting| setting.default.is_none())
            .map(|setting| {
                let text = match setting.kind {
                    kind::Kind::Url => "http://h/v1",
                    kind::Kind::DatabaseUrl => "postgres://h/d",
                    _ => "value",
                };
                (setting.env.to_owned(), text.to_owned())
            })
            .collect(),
        ..Layers::default()
    };
    assert_eq!(all.load().map(|loaded| loaded.config.ingest.folders[0].collection.clone()), Ok("default".into()));
    assert_eq!(all.load().map(|loaded| loaded.config.llm.chat().map(|chat| chat.model)), Ok(Some("value".into())));
}

#[test]
fn each_layer_covers_the_one_below() {
    let mut layers = Layers { file: file("[retrieval]\ntop_k = 5\ncandidate_k = 40\n"), ..Layers::default() };
    assert_eq!(entry(&layers.load().unwrap(), "retrieval.top_k"), (Some("5".into()), "file askback.toml".into()));
    layers.environment = env(&[("ASKBACK_TOP_K", "6"), ("PATH", "/bin"), ("ASKBACK_TEST_DATABASE_URL", "x")]);
    assert_eq!(
        entry(&layers.load().unwrap(), "retrieval.top_k"),
        (Some("6".into()), "environment ASKBACK_TOP_K".into())
    );
    layers.flags = env(&[("retrieval.top_k", "7")]);
    let loaded = layers.load().unwrap();
    assert_eq!(entry(&loaded, "retrieval.top_k"), (Some("7".into()), "flag --top-k".into()));
    assert_eq!(entry(&loaded, "retrieval.candidate_k"), (Some("40".into()), "file askback.toml".into()));
    assert_eq!(entry(&loaded, "turn.recursion_limit"), (Some("8".into()), "default".into()));
    assert_eq!(loaded.config.retrieval.top_k, 7);
}

#[test]
fn an_empty_variable_is_unset() {
    let layers =
        Layers { environment: env(&[("ASKBACK_LLM_API_KEY", ""), ("ASKBACK_LISTEN", " ")]), ..Layers::default() };
    assert_eq!(entry(&layers.load().unwrap(), "server.listen"), (Some("127.0.0.1:8080".into()), "default".into()));
}

#[test]
fn unknown_keys_name_the_nearest_known_one() {
    let layers = Layers {
        file: file("lsten = 1\n[server]\nturn_limt = 3\n[qdrant]\n"),
        environment: env(&[("ASKBACK_TOPK", "3")]),
        flags: Vec::new(),
    };
    assert_eq!(
        wrong(&layers),
        [
            "unknown key lsten in askback.toml; the nearest known one is server.listen",
            "unknown key server.turn_limt in askback.toml; the nearest known one is server.turn_limit",
            "unknown key ASKBACK_TOPK in the environment; the nearest known one is ASKBACK_TOP_K",
        ]
    );
}

#[test]
fn everything_that_is_wrong_is_said_at_once() {
    let layers = Layers {
        file: file("[turn]\non_busy = \"wait\"\n"),
        environment: env(&[("ASKBACK_TOP_K", "0"), ("ASKBACK_UPLOAD_LIMIT", "much")]),
        flags: env(&[("server.listen", "here")]),
    };
    assert_eq!(
        wrong(&layers),
        [
            "turn.on_busy (file askback.toml) must be one of reject, enqueue, interrupt",
            "retrieval.top_k (environment ASKBACK_TOP_K) must be a whole number in 1 … 50",
            "ingest.upload_limit (environment ASKBACK_UPLOAD_LIMIT) must be a size in 1024 … 17179869184 bytes, \
             such as \"4 MiB\"",
            "server.listen (flag --listen) must be host:port",
        ]
    );
    let alone =
        Layers { environment: env(&[("ASKBACK_MODEL", "m"), ("ASKBACK_GRADE_MODEL", "g")]), ..Layers::default() };
    assert_eq!(
        wrong(&alone),
        [
            "llm.base_url and llm.model go together: set both, or neither for the built-in model",
            "llm.grade_model needs llm.grade_base_url or llm.base_url",
        ]
    );
}

#[test]
fn no_secret_is_ever_printed() {
    let secrets: Vec<_> =
        SETTINGS.iter().filter(|setting| setting.kind == kind::Kind::Secret).map(|setting| setting.env).collect();
    let mut environment: Vec<_> = secrets.iter().map(|name| ((*name).to_owned(), "canary-8741".to_owned())).collect();
    environment.push(("DATABASE_URL".into(), "postgres://user:canary-8741@db/x".into()));
    let loaded = Layers { environment, ..Layers::default() }.load().unwrap();
    let printed = format!("{loaded:?}");
    assert!(!printed.contains("canary"), "{printed}");
    assert_eq!(loaded.config.auth.jwt_secret.unwrap().expose_secret(), "canary-8741");

    let broken = Layers { file: file("[auth]\njwt_secret = \"canary-8741\nlisten = 1"), ..Layers::default() };
    assert!(!wrong(&broken).join("\n").contains("canary"));
    let mistyped = Layers { file: file("[auth]\njwt_secret = 8741\n"), ..Layers::default() };
    assert!(!wrong(&mistyped).join("\n").contains("8741"));
}

#[test]
fn keys_stay_with_their_server() {
    let layers = Layers {
        environment: env(&[
            ("ASKBACK_LLM_BASE_URL", "http://one/v1/"),
            ("ASKBACK_LLM_API_KEY", "key-one"),
            ("ASKBACK_MODEL", "big"),
            ("ASKBACK_FAST_MODEL", "small"),
            ("ASKBACK_GRADE_MODEL", "judge"),
            ("ASKBACK_GRADE_BASE_URL", "http://two/v1"),
        ]),
        ..Layers::default()
    };
    let llm = layers.load().unwrap().config.llm;
    let shown = [llm.chat(), llm.fast(), llm.grade()].map(|endpoint| {
        let endpoint = endpoint.unwrap();
        (endpoint.base_url, endpoint.model, endpoint.api_key.map(|key| key.expose_secret().to_owned()))
    });
    assert_eq!(
        shown,
        [
            ("http://one/v1".to_owned(), "big".to_owned(), Some("key-one".to_owned())),
            ("http://one/v1".to_owned(), "small".to_owned(), Some("key-one".to_owned())),
            ("http://two/v1".to_owned(), "judge".to_owned(), None),
        ]
    );
}

#[test]
fn the_example_is_a_file_that_loads() {
    let text = example();
    assert!(Layers { file: file(&text), ..Layers::default() }.load().is_ok());
    let spoken: String = text
        .lines()
        .filter(|line| !line.starts_with("# ") && !line.ends_with('='))
        .map(|line| format!("{}\n", line.trim_start_matches('#')))
        .collect();
    let loaded = Layers { file: file(&spoken), ..Layers::default() }.load().unwrap();
    let plain = Layers::default().load().unwrap();
    let values = |loaded: &Loaded| loaded.entries.iter().map(|entry| entry.value.clone()).collect::<Vec<_>>();
    assert_eq!(values(&loaded), values(&plain));
}

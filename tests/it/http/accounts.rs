//! Accounts and tokens.

use std::time::Duration;

use askback::domain::time::Clock as _;
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use jsonwebtoken::{Algorithm, EncodingKey, Header};
use reqwest::StatusCode;
use serde_json::{Value, json};

use crate::support::app::{INVITE, PASSWORD, Setup, TestApp, problem};

const SECRET: &str = "f3a1c0de77e84b2a9b5d6e1f20c4a8b7-for-forging";

#[tokio::test]
async fn register_login_me() {
    let app = TestApp::start().await;
    let registered =
        app.anyone().post("/auth/register", json!({"username": "Ada", "password": PASSWORD, "role": null})).await;
    assert_eq!(registered.status, StatusCode::CREATED);
    let body = registered.json();
    let shown = |body: &Value| {
        (body["token_type"].clone(), body["expires_in"].clone(), body["username"].clone(), body["role"].clone())
    };
    let expected = (json!("bearer"), json!(3600), json!("Ada"), json!("user"));
    assert_eq!(shown(&body), expected);

    let login = app.anyone().post("/auth/login", json!({"username": "ａｄａ", "password": PASSWORD})).await;
    assert_eq!((login.status, shown(&login.json())), (StatusCode::OK, expected));
    let me = app.bearer(login.json()["access_token"].as_str().unwrap()).get("/auth/me").await;
    assert_eq!((me.status, me.json()), (StatusCode::OK, json!({"username": "Ada", "role": "user"})));
}

#[tokio::test]
async fn who_may_not_register() {
    let app = TestApp::start().await;
    app.user("ada").await;
    for (body, expected) in [
        (json!({"username": "ADA", "password": PASSWORD}), problem(409, "username_taken", &[])),
        (json!({"username": "Local", "password": PASSWORD}), problem(409, "username_taken", &[])),
        (json!({"username": "bob", "password": "short"}), problem(422, "weak_password", &["password"])),
        (json!({"username": "bob", "password": "Password123"}), problem(422, "weak_password", &["password"])),
        (json!({"username": "bobby-tables", "password": "Bobby-Tables"}), problem(422, "weak_password", &["password"])),
        (json!({"username": "", "password": PASSWORD}), problem(422, "invalid_field", &["username"])),
        (json!({"username": "b\u{0}b", "password": PASSWORD}), problem(422, "invalid_field", &["username"])),
        (json!({"username": "bob"}), problem(422, "invalid_field", &["password"])),
        (json!({"username": "bob", "password": PASSWORD, "role": "root"}), problem(422, "invalid_field", &["role"])),
        (json!({"username": "bob", "password": PASSWORD, "admin": true}), problem(422, "unknown_field", &["admin"])),
        (json!({"username": "bob", "password": PASSWORD, "role": "admin"}), problem(403, "invalid_admin_code", &[])),
        (
            json!({"username": "bob", "password": PASSWORD, "role": "admin", "admin_code": "guess"}),
            problem(403, "invalid_admin_code", &[]),
        ),
    ] {
        let answer = app.anyone().post("/auth/register", body.clone()).await;
        assert_eq!(answer.problem(), expected, "{body}");
    }
    // Refusals left nothing behind.
    let body = json!({"username": "bob", "password": PASSWORD, "role": "admin", "admin_code": INVITE});
    assert_eq!(app.anyone().post("/auth/register", body).await.json()["role"], "admin");
}

#[tokio::test]
async fn wrong_names_and_wrong_passwords_look_alike() {
    let app = TestApp::start().await;
    app.user("ada").await;
    let answer = |name: &'static str, password: &'static str| {
        let anyone = app.anyone();
        async move {
            let answer = anyone.post("/auth/login", json!({"username": name, "password": password})).await;
            let mut body = answer.json();
            body["request_id"] = Value::Null;
            (answer.status, body)
        }
    };
    let wrong = answer("ada", "not the password").await;
    assert_eq!(wrong.0, StatusCode::UNAUTHORIZED);
    assert_eq!(wrong.1["code"], "invalid_credentials");
    assert_eq!(answer("nobody", "not the password").await, wrong);
    assert_eq!(answer("nobody\u{0}", "").await, wrong);
}

#[tokio::test]
async fn guessing_is_slowed_down() {
    let app = TestApp::with(Setup { login_burst: 2, ..Setup::default() }).await;
    app.user("ada").await;
    let guess = json!({"username": "ada", "password": "a guess"});
    for _ in 0..2 {
        assert_eq!(app.anyone().post("/auth/login", guess.clone()).await.status, StatusCode::UNAUTHORIZED);
    }
    let right = json!({"username": "ada", "password": PASSWORD});
    let limited = app.anyone().post("/auth/login", right.clone()).await;
    assert_eq!(limited.problem(), problem(429, "rate_limited", &[]));
    let wait: u64 = limited.header("retry-after").parse().unwrap();
    app.clock.advance(Duration::from_secs(wait));
    assert_eq!(app.anyone().post("/auth/login", right).await.status, StatusCode::OK);
}

#[tokio::test]
async fn a_refresh_token_works_once_and_its_reuse_ends_the_family() {
    let app = TestApp::start().await;
    let register = app.anyone().post("/auth/register", json!({"username": "ada", "password": PASSWORD})).await.json();
    let first = register["refresh_token"].as_str().unwrap().to_owned();
    let refresh = |token: String| {
        let anyone = app.anyone();
        async move { anyone.post("/auth/refresh", json!({"refresh_token": token})).await }
    };
    let rotated = refresh(first.clone()).await;
    assert_eq!(rotated.status, StatusCode::OK);
    let second = rotated.json()["refresh_token"].as_str().unwrap().to_owned();
    assert_ne!(first, second);
    assert_eq!(refresh(first).await.problem(), problem(401, "refresh_reused", &[]));
    assert_eq!(refresh(second).await.problem(), problem(401, "invalid_token", &[]), "of the same family");
    assert_eq!(refresh("made up".into()).await.problem(), problem(401, "invalid_token", &[]));

    let login = app.anyone().post("/auth/login", json!({"username": "ada", "password": PASSWORD})).await.json();
    let third = login["refresh_token"].as_str().unwrap().to_owned();
    for _ in 0..2 {
        let logout = app.anyone().post("/auth/logout", json!({"refresh_token": third})).await;
        assert_eq!((logout.status, logout.text.as_str()), (StatusCode::NO_CONTENT, ""));
    }
    assert_eq!(refresh(third).await.problem(), problem(401, "invalid_token", &[]), "after logout");
}

#[tokio::test]
async fn only_living_tokens_of_this_server_open_doors() {
    let app = TestApp::with(Setup { secret: SECRET.into(), ..Setup::default() }).await;
    let ada = app.anyone().post("/auth/register", json!({"username": "ada", "password": PASSWORD})).await.json();
    let good = ada["access_token"].as_str().unwrap().to_owned();
    let claims: Value = {
        let body = good.split('.').nth(1).unwrap();
        serde_json::from_slice(&URL_SAFE_NO_PAD.decode(body).unwrap()).unwrap()
    };
    let forge = |algorithm: Algorithm, secret: &str, change: &dyn Fn(&mut Value)| {
        let mut claims = claims.clone();
        change(&mut claims);
        let key = EncodingKey::from_secret(secret.as_bytes()).unwrap();
        jsonwebtoken::encode(&Header::new(algorithm), &claims, &key).unwrap()
    };
    let hs256 = |change: &dyn Fn(&mut Value)| forge(Algorithm::HS256, SECRET, change);
    assert_eq!(app.bearer(&hs256(&|_| {})).get("/auth/me").await.status, StatusCode::OK, "the forger knows how");

    let none = {
        let mut parts: Vec<&str> = good.split('.').collect();
        let header = URL_SAFE_NO_PAD.encode(r#"{"alg":"none","typ":"JWT"}"#);
        parts[0] = &header;
        parts[2] = "";
        parts.join(".")
    };
    let invalid = problem(401, "invalid_token", &[]);
    for (what, token) in [
        ("nonsense", "abc".to_owned()),
        ("other key", forge(Algorithm::HS256, "another secret of thirty-two bytes!", &|_| {})),
        ("other algorithm", forge(Algorithm::HS512, SECRET, &|_| {})),
        ("no algorithm", none),
        ("refresh token", ada["refresh_token"].as_str().unwrap().to_owned()),
        ("other type", hs256(&|claims| claims["typ"] = json!("refresh"))),
        ("other issuer", hs256(&|claims| claims["iss"] = json!("someone"))),
        ("other audience", hs256(&|claims| claims["aud"] = json!("someone"))),
        ("older epoch", hs256(&|claims| claims["epoch"] = json!(-1))),
        ("nobody", hs256(&|claims| claims["sub"] = json!("01890000-0000-7000-8000-000000000000"))),
    ] {
        let answer = app.bearer(&token).get("/auth/me").await;
        assert_eq!(answer.problem(), invalid, "{what}");
        assert_eq!(answer.header("www-authenticate"), "Bearer");
    }
    assert_eq!(app.anyone().get("/auth/me").await.problem(), problem(401, "missing_token", &[]));

    let now = app.clock.now();
    app.clock.advance(Duration::from_secs(3600));
    assert!(app.clock.now() > now);
    assert_eq!(app.bearer(&good).get("/auth/me").await.problem(), problem(401, "token_expired", &[]));
}

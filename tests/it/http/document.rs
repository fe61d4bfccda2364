//! The OpenAPI document says what the router does.

use std::collections::BTreeSet;

use askback::http;
use reqwest::{Method, StatusCode};
use serde_json::Value;

use crate::support::app::{Answer, TestApp};

/// Method, path, and the operation's description.
pub fn operations() -> Vec<(Method, String, Value)> {
    let document = serde_json::to_value(http::document()).unwrap();
    let mut operations = Vec::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            let method = method.to_uppercase().parse().unwrap();
            operations.push((method, path.clone(), operation.clone()));
        }
    }
    operations
}

#[test]
fn snapshot() {
    insta::assert_snapshot!(http::document().to_pretty_json().unwrap());
}

#[test]
fn every_route_of_the_router_is_in_it() {
    let router = include_str!("../../../src/http/router.rs");
    assert!(
        !router.contains(".route(") && !router.contains(".nest("),
        "a route that describes itself is made by routes!"
    );
    let handlers: usize =
        router.split("routes!(").skip(1).map(|rest| rest.split(')').next().unwrap().split(',').count()).sum();
    assert_eq!(operations().len(), handlers);
}

#[test]
fn it_is_sound() {
    fn refs<'a>(value: &'a Value, found: &mut Vec<&'a str>) {
        match value {
            Value::Object(fields) => {
                found.extend(fields.get("$ref").and_then(Value::as_str));
                fields.values().for_each(|value| refs(value, found));
            }
            Value::Array(items) => items.iter().for_each(|value| refs(value, found)),
            _ => {}
        }
    }
    let document = serde_json::to_value(http::document()).unwrap();
    let mut found = Vec::new();
    refs(&document, &mut found);
    for reference in found {
        assert!(document.pointer(reference.strip_prefix('#').unwrap()).is_some(), "{reference}");
    }
    let mut names = BTreeSet::new();
    for (method, path, operation) in operations() {
        assert!(names.insert(operation["operationId"].as_str().unwrap().to_owned()), "{method} {path}");
        for (status, response) in operation["responses"].as_object().unwrap() {
            assert!(!response["description"].as_str().unwrap().is_empty(), "{method} {path} {status}");
        }
    }
}

#[test]
fn only_listed_routes_are_public() {
    let public: BTreeSet<String> = operations()
        .into_iter()
        .filter(|(.., operation)| operation["security"].is_null())
        .map(|(method, path, _)| format!("{method} {path}"))
        .collect();
    let expected = [
        "GET /healthz",
        "GET /metrics",
        "GET /openapi.json",
        "GET /readyz",
        "POST /auth/login",
        "POST /auth/logout",
        "POST /auth/refresh",
        "POST /auth/register",
    ];
    assert_eq!(public, expected.map(str::to_owned).into());
}

#[tokio::test]
async fn what_it_says_of_guards_is_true() {
    let app = TestApp::start().await;
    let (anyone, ada, root) = (app.anyone(), app.user("ada").await, app.admin("root").await);
    for (method, path, operation) in operations() {
        if operation["security"].is_null() {
            continue;
        }
        let ask = |client: &crate::support::app::As| Answer::of(client.request(method.clone(), &path));
        let refused = ask(&anyone).await;
        if path.starts_with("/v1/") {
            let error = (401, "authentication_error".into(), "missing_token".into(), None);
            assert_eq!(refused.openai_error(), error, "{method} {path}");
        } else {
            assert_eq!(refused.problem(), (401, "missing_token".into(), Vec::new()), "{method} {path}");
        }
        let is_admin = operation["responses"]["403"].is_object();
        assert_eq!(ask(&ada).await.status == StatusCode::FORBIDDEN, is_admin, "{method} {path}");
        let of_admin = ask(&root).await;
        assert!(![401, 403, 405, 500].contains(&of_admin.status.as_u16()), "{method} {path}: {}", of_admin.text);
        let described = operation["responses"].as_object().unwrap();
        assert!(
            described.contains_key(of_admin.status.as_str()),
            "{method} {path} does not describe {}: {}",
            of_admin.status,
            of_admin.text
        );
    }
}

#[tokio::test]
async fn it_is_served_and_shown_without_a_network() {
    let app = TestApp::start().await;
    let served = app.anyone().get("/openapi.json").await;
    assert_eq!(served.json(), serde_json::to_value(http::document()).unwrap());
    assert_eq!(served.json()["openapi"].as_str().unwrap().split('.').take(2).collect::<Vec<_>>(), ["3", "1"]);

    let page = app.anyone().get("/docs/").await;
    assert_eq!(page.status, StatusCode::OK);
    let policy = page.header("content-security-policy");
    assert!(policy.contains("script-src 'self';"), "{policy}");
    // Everything that the page loads comes from here, and none of its script stands in the page.
    let tags = page.text.split('<').filter(|tag| tag.starts_with("script") || tag.starts_with("link"));
    for tag in tags {
        let address =
            tag.split_once("src=\"").or_else(|| tag.split_once("href=\"")).unwrap_or_else(|| panic!("{tag}")).1;
        let path = address.split('"').next().unwrap().trim_start_matches("./");
        assert!(!path.contains(':') && !path.starts_with('/'), "{tag}");
        assert_eq!(app.anyone().get(&format!("/docs/{path}")).await.status, StatusCode::OK, "{path}");
    }
}

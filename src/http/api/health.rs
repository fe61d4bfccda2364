//! What the outside asks about the server itself.

use std::sync::Arc;

use axum::{
    extract::State,
    http::{StatusCode, header},
    response::IntoResponse,
};
use serde::Serialize;
use utoipa::ToSchema;

use crate::http::state::{App, Component};

/// That the process lives.
#[derive(Serialize, ToSchema)]
pub(in crate::http) struct HealthView {
    /// Always `ok`.
    #[schema(example = "ok")]
    status: &'static str,
    version: &'static str,
}

/// Whether the server can answer questions.
#[derive(Serialize, ToSchema)]
pub(in crate::http) struct ReadyView {
    /// `ready`, `not_ready` or `shutting_down`.
    #[schema(example = "ready")]
    status: &'static str,
    /// The engines and models that it uses.
    components: Vec<Component>,
}

/// Whether the process lives.
#[utoipa::path(get, path = "/healthz", tag = "Server", responses((status = 200, body = HealthView)))]
pub(in crate::http) async fn healthz() -> axum::Json<HealthView> {
    axum::Json(HealthView { status: "ok", version: env!("CARGO_PKG_VERSION") })
}

/// Whether the server can answer questions, and with which engines and models.
#[utoipa::path(
    get, path = "/readyz", tag = "Server",
    responses((status = 200, body = ReadyView), (status = 503, description = "Not ready", body = ReadyView))
)]
pub(in crate::http) async fn readyz(State(app): State<Arc<App>>) -> (StatusCode, axum::Json<ReadyView>) {
    let components = (app.components)().await;
    let status = if app.shutdown.is_cancelled() {
        "shutting_down"
    } else if components.iter().all(|component| component.ready || !component.required) {
        "ready"
    } else {
        "not_ready"
    };
    let code = if status == "ready" { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    (code, axum::Json(ReadyView { status, components }))
}

/// Metrics in Prometheus' text format.
#[utoipa::path(get, path = "/metrics", tag = "Server", responses((status = 200, body = String, content_type = "text/plain")))]
pub(in crate::http) async fn metrics(State(app): State<Arc<App>>) -> impl IntoResponse {
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], (app.metrics)())
}

/// This document.
#[utoipa::path(get, path = "/openapi.json", tag = "Server", responses((status = 200, body = serde_json::Value)))]
pub(in crate::http) async fn openapi() -> impl IntoResponse {
    ([(header::CONTENT_TYPE, "application/json")], crate::http::router::document_json())
}

//! Every route on one screen. A route needs a caller unless it stands under `public`.

use std::{
    any::Any,
    sync::{Arc, LazyLock},
};

use axum::{
    Router,
    extract::DefaultBodyLimit,
    http::{Method, header},
    middleware::{from_fn, from_fn_with_state},
    response::{IntoResponse as _, Response},
};
use bytes::Bytes;
use tower::util::option_layer;
use tower_http::{catch_panic::CatchPanicLayer, cors::CorsLayer};
use utoipa::openapi::OpenApi;
use utoipa_axum::{router::OpenApiRouter, routes};
use utoipa_swagger_ui::SwaggerUi;

use super::{
    api::{
        auth, chat, collections, documents, folders, groups, health, jobs, keys, memory, messages, openai, reindex,
        runs, search, sessions, tools, users,
    },
    drain,
    error::ApiError,
    extract::DISCARDED,
    guard, openapi,
    state::App,
    trace,
};

type Routes = OpenApiRouter<Arc<App>>;

fn public() -> Routes {
    Routes::default()
        .routes(routes!(auth::register))
        .routes(routes!(auth::login))
        .routes(routes!(auth::refresh))
        .routes(routes!(auth::logout))
        .routes(routes!(health::healthz))
        .routes(routes!(health::readyz))
        .routes(routes!(health::metrics))
        .routes(routes!(health::openapi))
}

fn signed_in() -> Routes {
    Routes::default()
        .routes(routes!(auth::me))
        .routes(routes!(keys::list, keys::add))
        .routes(routes!(keys::revoke))
        .routes(routes!(chat::chat))
        .routes(routes!(chat::stream))
        .routes(routes!(runs::read))
        .routes(routes!(runs::events))
        .routes(routes!(runs::stop))
        .routes(routes!(sessions::list))
        .routes(routes!(sessions::read, sessions::change, sessions::delete))
        .routes(routes!(sessions::tree))
        .routes(routes!(sessions::export))
        .routes(routes!(sessions::questions))
        .routes(routes!(messages::regenerate))
        .routes(routes!(messages::go_on))
        .routes(routes!(messages::edit))
        .routes(routes!(sessions::delete_message))
        .routes(routes!(sessions::rate))
        .routes(routes!(search::search))
        .routes(routes!(memory::events, memory::add_event))
        .routes(routes!(memory::settings, memory::replace_settings, memory::forget_settings))
        .routes(routes!(memory::setting, memory::put_setting, memory::forget_setting))
        .routes(routes!(memory::episodes, memory::forget_episodes))
        .routes(routes!(memory::note, memory::put_note, memory::erase_note))
        .routes(routes!(tools::list))
        .routes(routes!(documents::text))
        .routes(routes!(documents::content))
}

fn admin() -> Routes {
    Routes::default()
        .routes(routes!(documents::list))
        .routes(routes!(documents::upload, documents::delete_upload))
        .routes(routes!(documents::upload_async))
        .routes(routes!(documents::delete))
        .routes(routes!(documents::delete_async))
        .routes(routes!(jobs::uploads))
        .routes(routes!(jobs::upload))
        .routes(routes!(jobs::events))
        .routes(routes!(jobs::cancel))
        .routes(routes!(jobs::retry))
        .routes(routes!(jobs::deletion))
        .routes(routes!(reindex::start))
        .routes(routes!(reindex::job))
        .routes(routes!(reindex::cancel))
        .routes(routes!(collections::list, collections::create))
        .routes(routes!(collections::read, collections::update, collections::delete))
        .routes(routes!(folders::list, folders::add, folders::remove))
        .routes(routes!(users::list))
        .routes(routes!(users::read, users::change, users::delete))
        .routes(routes!(groups::list, groups::create))
        .routes(routes!(groups::read, groups::change, groups::delete))
        .routes(routes!(runs::replay))
}

/// The doors of other APIs. They open to API keys too.
fn programs() -> Routes {
    Routes::default().routes(routes!(openai::models)).routes(routes!(openai::model)).routes(routes!(openai::complete))
}

/// The whole API over `app`.
pub fn router(app: Arc<App>) -> Router {
    let admin = admin().route_layer(from_fn(guard::admin));
    let guarded = signed_in().merge(admin).route_layer(from_fn_with_state(Arc::clone(&app), guard::signed_in));
    let programs = programs().route_layer(from_fn_with_state(Arc::clone(&app), guard::program));
    let (routes, _) = public().merge(guarded).merge(programs).split_for_parts();
    let viewer = SwaggerUi::new("/docs").config(utoipa_swagger_ui::Config::from("/openapi.json"));
    let cors = cors(&app);
    let form_bytes = usize::try_from(app.limits.upload_bytes).unwrap_or(usize::MAX).saturating_add(DISCARDED);
    routes
        .merge(viewer)
        // For forms, whose parts are bounded one by one where they are read; other bodies have their own limits.
        .layer(DefaultBodyLimit::max(form_bytes))
        .layer(from_fn_with_state(Arc::clone(&app), guard::admission))
        .layer(CatchPanicLayer::custom(panicked))
        .layer(option_layer(cors))
        .layer(from_fn(guard::security_headers))
        .layer(from_fn(trace::requests))
        .layer(from_fn(drain::unread))
        .with_state(app)
}

/// The OpenAPI document of all routes.
#[must_use]
pub fn document() -> OpenApi {
    let admin = openapi::guarded(admin(), "admin");
    let signed_in = openapi::guarded(signed_in(), "caller");
    let programs = openapi::guarded(programs(), "caller");
    let routes = Routes::with_openapi(openapi::base()).merge(public()).merge(signed_in).merge(programs).merge(admin);
    let mut document = routes.into_openapi();
    openapi::complete(&mut document);
    document
}

/// The document as it is served, written once.
pub(super) fn document_json() -> Bytes {
    static JSON: LazyLock<Bytes> = LazyLock::new(|| document().to_json().unwrap_or_default().into());
    JSON.clone()
}

/// None, and so no trace of it in any answer, unless origins are configured.
fn cors(app: &App) -> Option<CorsLayer> {
    if app.origins.is_empty() {
        return None;
    }
    let layer = CorsLayer::new()
        .allow_origin(app.origins.clone())
        .allow_methods([Method::GET, Method::POST, Method::PUT, Method::PATCH, Method::DELETE])
        .allow_headers([
            header::AUTHORIZATION,
            header::CONTENT_TYPE,
            header::HeaderName::from_static("idempotency-key"),
        ])
        .expose_headers([header::RETRY_AFTER, header::HeaderName::from_static("x-request-id")]);
    Some(layer)
}

fn panicked(panic: Box<dyn Any + Send>) -> Response {
    let words = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
    ApiError::internal(format!("panicked: {}", words.unwrap_or("without words"))).into_response()
}

//! The OpenAPI document: what the handlers say of themselves, and what holds for many of them.

use utoipa::{
    OpenApi, ToSchema as _,
    openapi::{
        Content, Ref, RefOr, ResponseBuilder,
        path::{Operation, PathItem},
        security::{HttpAuthScheme, HttpBuilder, SecurityRequirement, SecurityScheme},
    },
};
use utoipa_axum::router::OpenApiRouter;

use super::api::openai;
use crate::domain::{event::TurnEvent, problem::Problem};

const BEARER: &str = "bearer";

#[derive(OpenApi)]
#[openapi(
    info(
        title = "askback",
        description = "Answers questions from documents with citations that can be checked, and asks back when the \
                       evidence says that the question is ambiguous."
    ),
    components(schemas(Problem, TurnEvent, openai::ErrorBody))
)]
struct Base;

/// The document without routes.
pub(super) fn base() -> utoipa::openapi::OpenApi {
    let mut document = Base::openapi();
    let scheme = HttpBuilder::new().scheme(HttpAuthScheme::Bearer).bearer_format("JWT").build();
    document.components.get_or_insert_default().add_security_scheme(BEARER, SecurityScheme::Http(scheme));
    document
}

/// Says of every route of `router` that it needs a token, or an admin's.
pub(super) fn guarded<S: Clone + Send + Sync + 'static>(mut router: OpenApiRouter<S>, by: &str) -> OpenApiRouter<S> {
    for operation in operations(router.get_openapi_mut()) {
        operation.security = Some(vec![SecurityRequirement::new(BEARER, [] as [&str; 0])]);
        describe(operation, "401", "`missing_token`, `invalid_token`, `token_expired`");
        if by == "admin" {
            describe(operation, "403", "`forbidden`");
        }
    }
    router
}

/// Adds what every route may answer, the shape of all errors, and a name for each operation.
pub(super) fn complete(document: &mut utoipa::openapi::OpenApi) {
    for (path, item) in &mut document.paths.paths {
        let (wrong, error) = if openai::is_at(path) {
            (openai::status(422), ("application/json", Ref::from_schema_name(openai::ErrorBody::name())))
        } else {
            (422, ("application/problem+json", Ref::from_schema_name(Problem::name())))
        };
        for (method, operation) in methods(item) {
            operation.operation_id = Some(name(method, path));
            operation.summary = operation.summary.take().map(|summary| summary.replace('\n', " "));
            if let Some(RefOr::T(body)) = &operation.request_body {
                let is_json = body.content.contains_key("application/json");
                describe_body(operation, is_json, wrong);
            }
            describe(operation, "503", "`overloaded`, `store_unavailable`, `shutting_down`");
            describe(operation, "default", "Any other error");
            describe_errors(operation, &error);
        }
    }
}

/// Gives each error its shape: a content type and a schema.
fn describe_errors(operation: &mut Operation, (content_type, schema): &(&str, Ref)) {
    for (status, response) in &mut operation.responses.responses {
        let RefOr::T(response) = response else { continue };
        if response.description.is_empty() {
            response.description = "Done".into();
        }
        let is_error = status == "default" || status.starts_with(['4', '5']);
        if is_error && response.content.is_empty() {
            response.content.insert((*content_type).into(), RefOr::T(Content::new(Some(schema.clone()))));
        }
    }
}

/// `get_runs_run_id_events` for `GET /runs/{run_id}/events`.
fn name(method: &str, path: &str) -> String {
    let words = path.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').filter(|word| !word.is_empty());
    std::iter::once(method).chain(words).collect::<Vec<_>>().join("_")
}

/// `wrong`: the status of a body whose fields are wrong.
fn describe_body(operation: &mut Operation, is_json: bool, wrong: u16) {
    if is_json {
        describe(operation, "400", "`malformed_json`");
    }
    describe(operation, "413", "`payload_too_large`");
    describe(operation, "415", "`unsupported_media_type`");
    describe(operation, &wrong.to_string(), "`invalid_field`, `unknown_field`");
}

/// Adds a response unless the handler describes it itself.
fn describe(operation: &mut Operation, status: &str, codes: &str) {
    operation
        .responses
        .responses
        .entry(status.to_owned())
        .or_insert_with(|| RefOr::T(ResponseBuilder::new().description(codes).build()));
}

fn operations(document: &mut utoipa::openapi::OpenApi) -> impl Iterator<Item = &mut Operation> {
    document.paths.paths.values_mut().flat_map(|item| methods(item).map(|(_, operation)| operation))
}

fn methods(item: &mut PathItem) -> impl Iterator<Item = (&'static str, &mut Operation)> {
    let all = [
        ("get", &mut item.get),
        ("post", &mut item.post),
        ("put", &mut item.put),
        ("patch", &mut item.patch),
        ("delete", &mut item.delete),
    ];
    all.into_iter().filter_map(|(method, operation)| operation.as_mut().map(|operation| (method, operation)))
}

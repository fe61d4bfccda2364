//! What the agent may do for the caller.

use std::sync::Arc;

use axum::extract::State;
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use crate::{
    domain::model::ToolSpec,
    http::{extract::SignedIn, state::App},
};

/// A tool as models are told of it.
#[derive(Serialize, ToSchema)]
pub(in crate::http) struct ToolView {
    #[schema(example = "search_knowledge_base")]
    name: String,
    description: String,
    /// JSON Schema of its arguments.
    #[schema(value_type = Object)]
    parameters: Value,
}

impl From<ToolSpec> for ToolView {
    fn from(ToolSpec { name, description, parameters }: ToolSpec) -> Self {
        Self { name, description, parameters }
    }
}

/// Tools in the order in which models are told of them.
#[derive(Serialize, ToSchema)]
pub(in crate::http) struct ToolList {
    tools: Vec<ToolView>,
}

/// The tools that the caller's turns may use.
#[utoipa::path(get, path = "/tools", tag = "Memory", responses((status = 200, body = ToolList)))]
pub(in crate::http) async fn list(State(app): State<Arc<App>>, SignedIn(user): SignedIn) -> axum::Json<ToolList> {
    axum::Json(ToolList { tools: app.chat.tools(user.role).into_iter().map(Into::into).collect() })
}

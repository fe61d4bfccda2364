//! Documents: uploading, listing, deleting, and reading what they say.

mod content;
mod delete;
mod list;
mod text;
mod upload;

// All of each: a handler has a hidden sibling that describes it.
pub(in crate::http) use self::{content::*, delete::*, list::*, text::*, upload::*};
use crate::{
    domain::{id::DocumentId, knowledge::Document, user::User},
    http::{
        error::{ApiError, Result},
        state::App,
    },
};

/// A document, for those who may read its collection; for others it does not exist.
async fn readable(app: &App, user: &User, id: DocumentId) -> Result<Document> {
    let document = app.documents.document(id).await?;
    let access = app.documents.readable(user.id, None).await?;
    if access.collections.contains(&document.collection) { Ok(document) } else { Err(ApiError::not_found()) }
}

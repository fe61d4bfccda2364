//! Parts of a request as handlers take them. What does not fit becomes a problem here.

mod identity;
mod json;
mod page;
mod path;
mod query;
mod wrong;

pub(super) use self::{
    identity::{Address, IdempotencyKey, SignedIn},
    json::Json,
    page::{Cursor, Page, PageQuery},
    path::{IdPath, NamePath},
    query::Query,
};

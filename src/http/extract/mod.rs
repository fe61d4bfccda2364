//! Parts of a request as handlers take them. What does not fit becomes a problem here.

mod identity;
mod json;
mod page;
mod path;
mod query;
mod wrong;

/// Bytes beyond a limit that are still read, and thrown away, before a body is refused. A client that is answered and
/// cut off while it sends often sees a broken connection and not the answer.
pub(super) const DISCARDED: usize = 32 << 20;

pub(super) use self::{
    identity::{Address, IdempotencyKey, SignedIn},
    json::Json,
    page::{Page, PageQuery, cursor, invalid_cursor},
    path::{IdPath, MessagePath, NamePath},
    query::Query,
};

//! The count of changes, by which processes that keep an index in memory notice what others changed.

use super::super::sql::{Sql, Tx};
use crate::domain::{error::StoreError, id::DocumentId};

// The one row is held until the transaction ends: whoever sees a number has seen all below it.
const COUNT: &str = "update change_count set last_no = last_no + 1 returning last_no";

const MARK: &str = "update documents set changed_no = $2 where id = $1";

/// The number of a change that is made now. Other changes wait until the transaction ends.
pub(super) async fn count(tx: &mut Tx) -> Result<i64, StoreError> {
    Sql::new(COUNT).one::<(i64,)>(tx).await.map(|(no,)| no)
}

/// Tells the others that something else answers in this document from now on. The last step of its transaction: from
/// here on other changes wait.
pub(super) async fn note(tx: &mut Tx, document: DocumentId) -> Result<(), StoreError> {
    let no = count(tx).await?;
    Sql::new(MARK).bind(document).bind(no).run(tx).await.map(|_| ())
}

const LAST: &str = "select last_no from change_count";

pub(super) async fn last(tx: &mut Tx) -> Result<i64, StoreError> {
    Sql::new(LAST).one::<(i64,)>(tx).await.map(|(no,)| no)
}

const CHANGED: &str = "select changed_no, id from documents where changed_no > $1 order by changed_no limit $2";

pub(super) async fn since(tx: &mut Tx, after: i64, limit: i64) -> Result<Vec<(i64, DocumentId)>, StoreError> {
    Sql::new(CHANGED).bind(after).bind(limit).all(tx).await
}

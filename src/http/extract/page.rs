//! Lists in pages: `limit` and `cursor`.

use std::str::FromStr;

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use serde::Deserialize;
use utoipa::IntoParams;

use crate::{
    domain::{id::Id, time::Millis},
    http::error::{ApiError, Result},
};

/// Most items of a page, and as many as come without `limit`.
const MAX: u32 = 1000;

/// The query of a list.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(in crate::http) struct PageQuery {
    /// Most items, 1 to 1000.
    pub(in crate::http) limit: Option<u32>,
    /// `next_cursor` of the page before.
    pub(in crate::http) cursor: Option<String>,
}

/// A place in a list that is ordered by time and id. Opaque to clients.
pub(in crate::http) struct Cursor<T>(pub(in crate::http) Millis, pub(in crate::http) Id<T>);

impl<T> Cursor<T> {
    fn encode(&self) -> String {
        URL_SAFE_NO_PAD.encode(format!("{}.{}", self.0.0, self.1))
    }

    fn decode(text: &str) -> Option<Self> {
        let text = String::from_utf8(URL_SAFE_NO_PAD.decode(text).ok()?).ok()?;
        let (time, id) = text.split_once('.')?;
        Some(Self(Millis(time.parse().ok()?), Id::from_str(id).ok()?))
    }
}

/// What a list is to be read for.
pub(in crate::http) struct Page<T> {
    limit: usize,
    /// The last item of the page before.
    pub(in crate::http) after: Option<(Millis, Id<T>)>,
}

impl<T> Page<T> {
    /// Checks `limit` and `cursor`.
    pub(in crate::http) fn new(limit: Option<u32>, cursor: Option<&str>) -> Result<Self> {
        let limit = limit.unwrap_or(MAX);
        if !(1..=MAX).contains(&limit) {
            return Err(ApiError::field("limit", format!("must be 1 to {MAX}")));
        }
        let after = match cursor {
            None => None,
            Some(text) => {
                let cursor = Cursor::decode(text).ok_or_else(|| {
                    ApiError::new(400, "invalid_cursor", "The cursor is not one that this server gave.")
                })?;
                Some((cursor.0, cursor.1))
            }
        };
        Ok(Self { limit: limit as usize, after })
    }

    /// How many to ask for: one more than is shown tells whether there is a next page.
    pub(in crate::http) fn fetch(&self) -> i64 {
        i64::try_from(self.limit).unwrap_or(i64::MAX).saturating_add(1)
    }

    /// Cuts what was fetched to the page, and gives the cursor of the next one, if there is one.
    pub(in crate::http) fn cut<R>(&self, rows: &mut Vec<R>, place: impl Fn(&R) -> Cursor<T>) -> Option<String> {
        let is_last = rows.len() <= self.limit;
        rows.truncate(self.limit);
        if is_last { None } else { rows.last().map(|row| place(row).encode()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cursors_come_back_whole() {
        let id = Id::<()>::at(Millis(5));
        let text = Cursor(Millis(7), id).encode();
        assert_eq!(Page::new(Some(1), Some(&text)).unwrap().after, Some((Millis(7), id)));
        for bad in ["", "x", "!!!!", &URL_SAFE_NO_PAD.encode("7"), &URL_SAFE_NO_PAD.encode("7.x")] {
            let error = Page::<()>::new(None, Some(bad)).err().unwrap();
            assert_eq!(error.problem().code, "invalid_cursor", "{bad}");
        }
    }

    #[test]
    fn the_last_page_has_no_next() {
        let page = Page::<()>::new(Some(2), None).unwrap();
        let place = |number: &i64| Cursor(Millis(*number), Id::at(Millis(1)));
        let mut rows = vec![1, 2, 3];
        assert!(page.cut(&mut rows, place).is_some());
        assert_eq!(rows, [1, 2]);
        assert!(page.cut(&mut rows, place).is_none());
    }
}

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
    /// The cursor that the page before gave.
    pub(in crate::http) cursor: Option<String>,
}

/// A place in a list, as its cursor tells it. Opaque to clients.
pub(in crate::http) trait Place: Sized {
    fn text(&self) -> String;
    fn parse(text: &str) -> Option<Self>;
}

/// In a list by time and id.
impl<T> Place for (Millis, Id<T>) {
    fn text(&self) -> String {
        format!("{}.{}", self.0.0, self.1)
    }

    fn parse(text: &str) -> Option<Self> {
        let (time, id) = text.split_once('.')?;
        Some((Millis(time.parse().ok()?), Id::from_str(id).ok()?))
    }
}

/// In a list by number.
impl Place for i64 {
    fn text(&self) -> String {
        self.to_string()
    }

    fn parse(text: &str) -> Option<Self> {
        text.parse().ok()
    }
}

/// In a list by name.
impl Place for String {
    fn text(&self) -> String {
        self.clone()
    }

    fn parse(text: &str) -> Option<Self> {
        (!text.is_empty() && !text.contains('\0')).then(|| text.to_owned())
    }
}

/// In a list by two names.
impl Place for (String, String) {
    fn text(&self) -> String {
        serde_json::json!([self.0, self.1]).to_string()
    }

    fn parse(text: &str) -> Option<Self> {
        let place: Self = serde_json::from_str(text).ok()?;
        (!place.0.is_empty() && ![&place.0, &place.1].iter().any(|name| name.contains('\0'))).then_some(place)
    }
}

/// In a branch.
impl<T> Place for Id<T> {
    fn text(&self) -> String {
        self.to_string()
    }

    fn parse(text: &str) -> Option<Self> {
        text.parse().ok()
    }
}

/// The cursor that stands for `place`.
pub(in crate::http) fn cursor(place: &impl Place) -> String {
    URL_SAFE_NO_PAD.encode(place.text())
}

/// The problem of a cursor that stands for nothing.
pub(in crate::http) fn invalid_cursor() -> ApiError {
    ApiError::new(400, "invalid_cursor", "The cursor is not one that this server gave.")
}

/// What a list is to be read for.
pub(in crate::http) struct Page<P> {
    limit: usize,
    /// The last item of the page before.
    pub(in crate::http) after: Option<P>,
}

impl<P: Place> Page<P> {
    /// Checks `limit` and `cursor`.
    pub(in crate::http) fn new(limit: Option<u32>, cursor: Option<&str>) -> Result<Self> {
        let limit = limit.unwrap_or(MAX);
        if !(1..=MAX).contains(&limit) {
            return Err(ApiError::field("limit", format!("must be 1 to {MAX}")));
        }
        let after = match cursor {
            None => None,
            Some(text) => Some(read(text).ok_or_else(invalid_cursor)?),
        };
        Ok(Self { limit: limit as usize, after })
    }

    /// Most items that are shown.
    pub(in crate::http) fn limit(&self) -> i64 {
        i64::try_from(self.limit).unwrap_or(i64::MAX)
    }

    /// How many to ask for: one more than is shown tells whether there is a next page.
    pub(in crate::http) fn fetch(&self) -> i64 {
        self.limit().saturating_add(1)
    }

    /// Cuts what was fetched to the page, and gives the cursor of the next one, if there is one.
    pub(in crate::http) fn cut<R>(&self, rows: &mut Vec<R>, place: impl Fn(&R) -> P) -> Option<String> {
        let is_last = rows.len() <= self.limit;
        rows.truncate(self.limit);
        if is_last { None } else { rows.last().map(|row| cursor(&place(row))) }
    }
}

fn read<P: Place>(cursor: &str) -> Option<P> {
    P::parse(&String::from_utf8(URL_SAFE_NO_PAD.decode(cursor).ok()?).ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cursors_come_back_whole() {
        let id = Id::<()>::at(Millis(5));
        assert_eq!(Page::new(None, Some(&cursor(&(Millis(7), id)))).unwrap().after, Some((Millis(7), id)));
        assert_eq!(Page::new(None, Some(&cursor(&7))).unwrap().after, Some(7));
        assert_eq!(Page::new(None, Some(&cursor(&id))).unwrap().after, Some(id));
        let names = ("/srv/[\"a\", 手册]".to_owned(), "b".to_owned());
        assert_eq!(Page::new(None, Some(&cursor(&names))).unwrap().after, Some(names));
        for bad in ["", "x", "!!!!", &URL_SAFE_NO_PAD.encode("7"), &URL_SAFE_NO_PAD.encode("7.x")] {
            let error = Page::<(Millis, Id<()>)>::new(None, Some(bad)).err().unwrap();
            assert_eq!(error.problem().code, "invalid_cursor", "{bad}");
        }
    }

    #[test]
    fn the_last_page_has_no_next() {
        let page = Page::new(Some(2), None).unwrap();
        let place = |number: &i64| *number;
        let mut rows = vec![1, 2, 3];
        assert!(page.cut(&mut rows, place).is_some());
        assert_eq!(rows, [1, 2]);
        assert!(page.cut(&mut rows, place).is_none());
    }
}

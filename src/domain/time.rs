//! Time as the domain counts it, and the port that tells it.

use std::{
    fmt,
    ops::{Add, Sub},
    time::Duration,
};

use async_trait::async_trait;
use serde::{Deserialize, Serialize, Serializer};

/// Milliseconds since 1970-01-01T00:00Z. Stored as a number, shown as RFC 3339 (see [`Rfc3339`]).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Millis(pub i64);

impl Millis {
    /// How long after `earlier` this is; zero when it is not after.
    #[must_use]
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(u64::try_from(self.0 - earlier.0).unwrap_or(0))
    }
}

impl Add<Duration> for Millis {
    type Output = Self;

    fn add(self, span: Duration) -> Self {
        Self(self.0.saturating_add(millis(span)))
    }
}

impl Sub<Duration> for Millis {
    type Output = Self;

    fn sub(self, span: Duration) -> Self {
        Self(self.0.saturating_sub(millis(span)))
    }
}

fn millis(span: Duration) -> i64 {
    i64::try_from(span.as_millis()).unwrap_or(i64::MAX)
}

impl fmt::Display for Millis {
    /// `2026-01-02T03:04:05.678Z`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match jiff::Timestamp::from_millisecond(self.0) {
            Ok(time) => write!(f, "{time:.3}"),
            Err(_) => write!(f, "{}", self.0),
        }
    }
}

/// A [`Millis`] that serializes as RFC 3339 UTC with milliseconds, the form of the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rfc3339(pub Millis);

impl Serialize for Rfc3339 {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

impl From<Millis> for Rfc3339 {
    fn from(time: Millis) -> Self {
        Self(time)
    }
}

/// Tells the time, and lets it pass. The only source of it outside tests is the system clock's adapter.
#[async_trait]
pub trait Clock: Send + Sync {
    /// The wall clock, now.
    fn now(&self) -> Millis;
    /// Returns once this span has passed; dropping it ends the wait.
    async fn sleep(&self, span: Duration);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_never_leave_what_can_be_counted() {
        let span = Duration::from_millis(5);
        assert_eq!((Millis(7) + span, Millis(7) - span), (Millis(12), Millis(2)));
        assert_eq!((Millis(1) + Duration::MAX, Millis(-2) - Duration::MAX), (Millis(i64::MAX), Millis(i64::MIN)));
    }

    #[test]
    fn shows_milliseconds_always() {
        assert_eq!(Millis(0).to_string(), "1970-01-01T00:00:00.000Z");
        assert_eq!(Millis(1_767_323_045_678).to_string(), "2026-01-02T03:04:05.678Z");
    }
}

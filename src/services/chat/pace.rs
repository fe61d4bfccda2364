//! How fast a model writes.

use std::time::Duration;

use tokio::time::Instant;

/// A model that is heard for less than this was heard from a buffer, or is no model that writes token by token.
const LEAST: Duration = Duration::from_millis(100);

/// What was heard of one call of a model.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Pace {
    span: Option<(Instant, Instant)>,
    tokens: u64,
}

impl Pace {
    /// A piece of an answer, or of the thoughts before it, came.
    pub(super) fn heard(&mut self, now: Instant) {
        let (first, _) = self.span.unwrap_or((now, now));
        self.span = Some((first, now));
    }

    /// The call ended after so many tokens.
    pub(super) const fn ended(&mut self, tokens: u64) {
        self.tokens = tokens;
    }

    /// Tokens per second, to one decimal; none where there is nothing to measure.
    pub(super) fn per_second(&self) -> Option<f64> {
        let (first, last) = self.span?;
        let span = last.saturating_duration_since(first);
        if self.tokens == 0 || span < LEAST {
            return None;
        }
        #[expect(clippy::cast_precision_loss, reason = "tokens are counted in thousands")]
        let tokens = self.tokens as f64;
        Some((tokens / span.as_secs_f64() * 10.0).round() / 10.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pace(milliseconds: &[u64], tokens: u64) -> Option<f64> {
        let start = Instant::now();
        let mut pace = Pace::default();
        for at in milliseconds {
            pace.heard(start + Duration::from_millis(*at));
        }
        pace.ended(tokens);
        pace.per_second()
    }

    #[test]
    fn a_speed_needs_time_and_tokens() {
        assert_eq!(pace(&[0, 900, 3_000], 100), Some(33.3));
        assert_eq!(pace(&[0, 100], 1), Some(10.0));
        assert_eq!(pace(&[0, 99], 500), None, "from a buffer");
        assert_eq!(pace(&[5], 500), None, "in one piece");
        assert_eq!(pace(&[], 500), None);
        assert_eq!(pace(&[0, 900], 0), None, "a server that counts nothing");
    }
}

//! The system's clock.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use async_trait::async_trait;

use crate::domain::time::{Clock, Millis};

/// The wall clock of the machine.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

#[async_trait]
impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "this is the port's one reader of the system clock")]
    fn now(&self) -> Millis {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Millis(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
    }

    async fn sleep(&self, span: Duration) {
        tokio::time::sleep(span).await;
    }
}

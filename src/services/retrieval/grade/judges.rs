//! Where judging runs: beside the runtime's threads, a few at a time. A pool of leaves takes milliseconds to read, which
//! would hold up every other turn.

use std::sync::Arc;

use tokio::sync::Semaphore;

use crate::domain::error::TurnError;

/// How many pools are judged at the same time; further ones wait.
const AT_ONCE: usize = 4;

/// Runs judgements. Clones share its bound.
#[derive(Debug, Clone)]
pub struct Judges {
    free: Arc<Semaphore>,
}

impl Default for Judges {
    fn default() -> Self {
        Self { free: Arc::new(Semaphore::new(AT_ONCE)) }
    }
}

impl Judges {
    /// Runs `job`. It goes on when whoever waits for it leaves, and keeps its place until it is done.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        job: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, TurnError> {
        let place = Arc::clone(&self.free)
            .acquire_owned()
            .await
            .map_err(|_| TurnError::Internal("the judges are dismissed".to_owned()))?;
        let work = tokio::task::spawn_blocking(move || {
            let done = job();
            drop(place);
            done
        });
        work.await.map_err(|error| TurnError::Internal(format!("judging stopped: {error}")))
    }
}

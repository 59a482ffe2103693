//! Owns how often and how long to wait before a model is asked again. Used by the loop for streams
//! that break after their first delta, and by the retry decorator for everything before.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// Further attempts of one prompt, shared by all its calls and agents, so that a broken server costs
/// a bounded number of them however many ask it. A call that succeeds gives one back.
#[derive(Debug, Clone)]
pub struct RetryBudget {
    spent: Arc<AtomicU32>,
    limit: u32,
}

impl RetryBudget {
    /// A budget of `limit` further attempts.
    pub fn new(limit: u32) -> Self {
        Self { spent: Arc::default(), limit }
    }

    /// Takes one attempt and gives its number from 1, or `None` when none is left.
    pub fn take(&self) -> Option<u32> {
        let more = |spent| (spent < self.limit).then_some(spent + 1);
        self.spent.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).ok().map(|spent| spent + 1)
    }

    /// Gives one attempt back: the model answers again.
    pub fn refund(&self) {
        let less = |spent: u32| spent.checked_sub(1);
        let _ = self.spent.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
    }
}

/// The longest wait that we choose ourselves. A server's `retry-after` may be longer.
const LONGEST: Duration = Duration::from_secs(60);
const FIRST: Duration = Duration::from_millis(500);

/// How long to wait before `attempt` (from 1): what the server asked for, else exponential with
/// full jitter so that many clients do not return at once.
pub fn delay(attempt: u32, retry_after: Option<Duration>) -> Duration {
    if let Some(asked) = retry_after {
        return asked;
    }
    let ceiling = FIRST.saturating_mul(1 << attempt.clamp(1, 16)).min(LONGEST);
    FIRST / 2 + ceiling.mul_f64(fastrand::f64())
}

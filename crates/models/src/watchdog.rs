//! Owns how long an answer may be waited for, and the end of a call that takes longer.
//! Must not know what a call is made of, or whether it is made again.

use std::sync::Arc;
use std::time::Duration;

use futures::{StreamExt, stream};
use kernel::{ErrorKind, Model, ModelError, ModelEvent, ModelEvents, ModelRequest};
use tokio::time::{Instant, timeout};

/// A wait that ends this much too late was not a wait: nobody asked for the next event meanwhile.
const LATE: Duration = Duration::from_secs(1);
const HINT: &str = "Ask again; where the server is known to be slow, RSAGENT_STALL_SECONDS allows it more seconds";

/// How long is waited, each time until something comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// From the call until the first event of any kind: a server may accept a connection and never answer.
    pub first: Duration,
    /// From then on between two events of any kind: the connection may be dead.
    pub quiet: Duration,
    /// Between two events that are more than [`ModelEvent::Alive`]: a server may live and do nothing.
    pub progress: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self { first: Duration::from_secs(300), quiet: Duration::from_secs(120), progress: Duration::from_secs(300) }
    }
}

/// A model whose answers end with [`ErrorKind::Stalled`] when one of the [`Limits`] is reached, also
/// after deltas. Only time in which somebody waits for `model` counts: neither a slow consumer nor a
/// machine that sleeps is a stall. It keeps every [`ModelEvent::Alive`] to itself.
pub struct Watchdog {
    model: Arc<dyn Model>,
    limits: Limits,
}

impl Watchdog {
    /// Watches over `model`.
    pub fn new(model: Arc<dyn Model>, limits: Limits) -> Self {
        Self { model, limits }
    }
}

impl Model for Watchdog {
    fn stream(&self, request: ModelRequest) -> ModelEvents {
        let name = request.model.clone();
        let answer = Some(self.model.stream(request));
        let watch = Watch { name, answer, limits: self.limits, waited: Waited::default() };
        Box::pin(stream::unfold(watch, |mut watch| async move { watch.next().await.map(|event| (event, watch)) }))
    }
}

struct Watch {
    /// The model's id, for people.
    name: String,
    /// `None` once a limit was reached: the connection is closed then.
    answer: Option<ModelEvents>,
    limits: Limits,
    waited: Waited,
}

/// What has been waited for since the last progress.
#[derive(Default)]
struct Waited {
    /// Whether any event has come since the attempt began.
    begun: bool,
    /// How long, waits that ended with a sign of life included.
    progress: Duration,
    /// What does not count: the pause before an attempt, where `model` itself makes attempts.
    pause: Duration,
}

#[derive(Clone, Copy)]
enum Clock {
    First,
    Quiet,
    Progress,
}

impl Watch {
    async fn next(&mut self) -> Option<Result<ModelEvent, ModelError>> {
        loop {
            let (left, clock) = self.left();
            let answer = self.answer.as_mut()?;
            let start = Instant::now();
            // A clock that has run out does not wait for what is there already: that may be an endless flood.
            let event = match left.is_zero() {
                true => Err(()),
                false => timeout(left, answer.next()).await.map_err(drop),
            };
            let waited = start.elapsed();
            let Ok(event) = event else {
                if waited > left + LATE {
                    continue;
                }
                self.answer = None;
                return Some(Err(self.stalled(clock)));
            };
            match event {
                Some(Ok(ModelEvent::Alive)) => {
                    let waited = if waited > left { Duration::ZERO } else { waited };
                    let progress = (self.waited.progress + waited).saturating_sub(self.waited.pause);
                    self.waited = Waited { begun: true, progress, ..Waited::default() };
                    continue;
                }
                Some(Ok(ModelEvent::Retry { delay, .. })) => {
                    self.waited = Waited { pause: delay, ..Waited::default() };
                }
                _ => self.waited = Waited { begun: true, ..Waited::default() },
            }
            return event;
        }
    }

    /// The clock that runs out next, and the time until then.
    fn left(&self) -> (Duration, Clock) {
        let Limits { first, quiet, progress } = self.limits;
        if !self.waited.begun {
            return (first.saturating_add(self.waited.pause), Clock::First);
        }
        // Every event ends a wait, so the quiet clock starts anew with each.
        let progress = progress.saturating_sub(self.waited.progress);
        if progress < quiet { (progress, Clock::Progress) } else { (quiet, Clock::Quiet) }
    }

    fn stalled(&self, clock: Clock) -> ModelError {
        let Limits { first, quiet, progress } = self.limits;
        let name = &self.name;
        let text = match clock {
            Clock::First => format!("{name} did not begin to answer within {first:?}"),
            Clock::Quiet => format!("nothing more came from {name} for {quiet:?}, in the middle of its answer"),
            Clock::Progress => format!("for {progress:?} {name} sent signs of life and nothing of an answer"),
        };
        ModelError::new(ErrorKind::Stalled, text).with_hint(HINT)
    }
}

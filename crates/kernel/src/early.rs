//! Owns a running call: how it is started, also while the model still speaks, and how its end is
//! waited for. Must not know batches or permission questions.
//!
//! A call begins early when it only reads, is safe beside others, may happen without a question, and
//! nothing before it in the answer has to come first. Nothing is said of it before `tool_start`; it
//! ends with the attempt when the stream fails.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use serde_json::Value;
use tokio_util::task::AbortOnDropHandle;

use crate::*;

/// How long a cancelled tool may take to wind up before its task is dropped.
const GRACE: Duration = Duration::from_secs(5);
/// The id under which a call may speak; empty as long as nothing has been said of the call.
pub(crate) type Voice = Arc<OnceLock<ToolUseId>>;

/// A call at work. Dropping it ends it.
pub(crate) struct Running {
    task: AbortOnDropHandle<(ToolOutput, Duration)>,
    voice: Voice,
    started: Instant,
}

impl Running {
    /// Starts a tool in a task of its own, so that a panic, or a tool that will not end when it is
    /// told to, costs one result and nothing else.
    pub(crate) fn start(scope: &Arc<Scope>, tool: Arc<dyn Tool>, input: &Value, voice: Voice) -> Self {
        let cancel = scope.params.cancel.child_token();
        let context =
            ToolContext { cancel, place: scope.params.place.clone(), caller: Some((scope.clone(), voice.clone())) };
        let (input, started) = (input.clone(), Instant::now());
        let work = async move { (tool.call(input, &context).await, started.elapsed()) };
        Self { task: AbortOnDropHandle::new(tokio::spawn(work)), voice, started }
    }

    /// Waits for the end of the call, of which `tool_start` has been said, and gives its result and
    /// the time that it took.
    pub(crate) async fn finish(mut self, scope: &Scope, call: &Call) -> (ToolOutput, Duration) {
        self.voice.get_or_init(|| call.id.clone());
        let ended = tokio::select! {
            ended = &mut self.task => Some(ended),
            () = scope.params.cancel.cancelled() => {
                // A child has less time than its parent, so that its end is still heard.
                let grace = GRACE / (scope.depth + 1);
                tokio::time::timeout(grace, &mut self.task).await.ok()
            }
        };
        let output = match ended {
            Some(Ok(output)) => return output,
            Some(Err(fault)) => match fault.try_into_panic() {
                Ok(panic) => ToolOutput::error(format!("{} panicked: {}", call.name, panic_text(&*panic))),
                Err(_) => ToolOutput::error("interrupted"),
            },
            None => ToolOutput::error("interrupted; the tool did not end by itself"),
        };
        (output, self.started.elapsed())
    }
}

/// The calls of an answer that began while it was still coming, by their place among its calls.
#[derive(Default)]
pub(crate) struct Early {
    calls: Vec<Option<Running>>,
    /// A call must run alone: what comes after it waits for it.
    shut: bool,
}

impl Early {
    /// Takes the next call of the answer and starts it if that may be.
    pub(crate) fn consider(&mut self, scope: &Arc<Scope>, name: &str, input: &Value) {
        let running = self.calls.iter().flatten().count();
        let tool = scope.params.tools.get(name).filter(|_| !self.shut && running < WIDTH);
        let begins = tool.is_some_and(|tool| {
            let fits = AssertUnwindSafe(|| tool.check(input).is_ok().then(|| tool.is_concurrency_safe(input)));
            let safe = catch_unwind(fits).unwrap_or(Some(false));
            // What cannot run at all disturbs nothing.
            self.shut = safe == Some(false);
            let harmless = || tool.may_start_early(input) && scope.params.gate.allows_to_read(scope, &**tool, input);
            safe == Some(true) && catch_unwind(AssertUnwindSafe(harmless)).unwrap_or(false)
        });
        let start = |tool: &Arc<dyn Tool>| Running::start(scope, tool.clone(), input, Voice::default());
        self.calls.push(tool.filter(|_| begins).map(start));
    }

    /// The nth call of the answer, from 0, if it has begun.
    pub(crate) fn take(&mut self, place: usize) -> Option<Running> {
        self.calls.get_mut(place)?.take()
    }
}

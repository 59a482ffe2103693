//! Owns one round of tools: partition into batches, ask permission one call at a time, run, report
//! as they finish. Must not know the model. A tool never fails outside its result.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use futures::{FutureExt, StreamExt, stream};

use crate::*;

/// Calls of one batch that run at the same time.
pub(crate) const WIDTH: usize = 10;

const NOT_RUN: &str = "interrupted before it started; it was not executed";

/// Blocks that a feature wants appended after the results, under its name.
pub(crate) type Added = (String, Vec<Block>);

/// Runs every call of an assistant message and records each result in the conversation. Returns what
/// extensions want appended after the results.
pub(crate) async fn run_round(scope: &Arc<Scope>, message: &Message, mut early: Early, at: At) -> Vec<Added> {
    let calls = message.tool_uses().enumerate().map(|(place, (id, name, input))| {
        let call = Call { at, id: id.clone(), name: name.clone(), input: input.clone() };
        match resolve(&scope.params, &call) {
            Ok(tool) => Resolved::Runs(Runnable { tool, call, running: early.take(place) }),
            Err(fault) => Resolved::Cannot(call, fault),
        }
    });
    let mut appended = Vec::new();
    for batch in partition(calls) {
        appended.extend(run_batch(scope, batch).await);
    }
    appended
}

/// A call, with its tool; `running` where it began while the model still spoke.
struct Runnable {
    tool: Arc<dyn Tool>,
    call: Call,
    running: Option<Running>,
}

/// A call that has a tool, or the reason why there is none that could run.
enum Resolved {
    Runs(Runnable),
    Cannot(Call, String),
}

fn resolve(params: &QueryParams, call: &Call) -> Result<Arc<dyn Tool>, String> {
    let Some(tool) = params.tools.get(&call.name) else {
        let known = params.tools.names().join(", ");
        return Err(format!("there is no tool `{}`; the tools are: {known}", call.name));
    };
    match catch_unwind(AssertUnwindSafe(|| tool.check(&call.input))) {
        Ok(Ok(())) => Ok(tool.clone()),
        Ok(Err(fault)) => Err(format!("invalid input for {}: {fault}", call.name)),
        Err(panic) => Err(format!("{} could not read its input: {}", call.name, panic_text(&*panic))),
    }
}

/// Adjacent concurrency-safe calls form one batch; anything else is a batch of its own. What cannot
/// run at all disturbs no batch.
fn partition(calls: impl Iterator<Item = Resolved>) -> Vec<Vec<Resolved>> {
    let mut batches: Vec<(bool, Vec<Resolved>)> = Vec::new();
    for resolved in calls {
        let safe = match &resolved {
            Resolved::Cannot(..) => true,
            Resolved::Runs(Runnable { tool, call, .. }) => {
                catch_unwind(AssertUnwindSafe(|| tool.is_concurrency_safe(&call.input))).unwrap_or(false)
            }
        };
        match batches.last_mut() {
            Some((true, batch)) if safe => batch.push(resolved),
            _ => batches.push((safe, vec![resolved])),
        }
    }
    batches.into_iter().map(|(_, batch)| batch).collect()
}

async fn run_batch(scope: &Arc<Scope>, batch: Vec<Resolved>) -> Vec<Added> {
    let mut permitted = Vec::new();
    for resolved in batch {
        match resolved {
            Resolved::Runs(runnable) if admit(scope, &*runnable.tool, &runnable.call).await => permitted.push(runnable),
            Resolved::Runs(_) => {}
            Resolved::Cannot(call, fault) => report(scope, &call, ToolOutput::error(fault), Duration::ZERO).await,
        }
    }
    let parallel = permitted.len() > 1;
    let runs: Vec<_> = permitted.into_iter().map(|runnable| run(scope, runnable, parallel).boxed()).collect();
    stream::iter(runs).buffer_unordered(WIDTH).concat().await
}

/// Whether a call may run. One that may not is answered here.
async fn admit(scope: &Scope, tool: &dyn Tool, call: &Call) -> bool {
    let mut refusal = scope.params.gate.admit(scope, tool, call).await.err();
    for extension in scope.params.extensions.iter() {
        if refusal.is_none() {
            refusal = extension.before_tool(call).await;
        }
    }
    if scope.params.cancel.is_cancelled() {
        report(scope, call, ToolOutput::error(NOT_RUN), Duration::ZERO).await;
        return false;
    }
    let Some(reason) = refusal else { return true };
    let text = format!("Error: permission denied: {reason}");
    scope.params.conversation.lock().record_result(&call.id, ResultContent::Text(text), true);
    let denied = AgentEvent::PermissionDenied { id: call.id.clone(), name: call.name.clone(), reason };
    scope.outlet.send(denied).await;
    false
}

async fn run(scope: &Arc<Scope>, runnable: Runnable, parallel: bool) -> Vec<Added> {
    let Runnable { tool, call, running } = runnable;
    let Call { id, name, input, .. } = call.clone();
    let cancel = &scope.params.cancel;
    if !cancel.is_cancelled() {
        scope.outlet.send(AgentEvent::ToolStart { id, name, input, parallel }).await;
    }
    // A feature may have held the event while the prompt was interrupted.
    if cancel.is_cancelled() {
        report(scope, &call, ToolOutput::error(NOT_RUN), Duration::ZERO).await;
        return Vec::new();
    }
    let start = || Running::start(scope, tool, &call.input, Arc::new(call.id.clone().into()));
    let (output, took) = running.unwrap_or_else(start).finish(scope, &call).await;
    let mut added = Vec::new();
    for extension in scope.params.extensions.iter() {
        added.push((extension.name().to_owned(), extension.after_tool(&call, &output).await));
    }
    report(scope, &call, output, took).await;
    added
}

async fn report(scope: &Scope, call: &Call, output: ToolOutput, took: Duration) {
    let ToolOutput { content, is_error, detail } = output;
    let content = content.sendable();
    scope.params.conversation.lock().record_result(&call.id, content.clone(), is_error);
    let result = AgentEvent::ToolResult {
        id: call.id.clone(),
        name: call.name.clone(),
        content,
        is_error,
        duration_ms: u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
        detail,
    };
    scope.outlet.send(result).await;
}

pub(crate) fn panic_text(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "no message".to_owned())
}

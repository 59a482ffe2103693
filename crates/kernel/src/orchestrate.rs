//! Owns one round of tools: partition into batches, ask permission one call at a time, run, report
//! as they finish. Must not know the model. A tool never fails outside its result.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::{FutureExt, StreamExt, stream};
use serde_json::Value;

use crate::event::AgentEvent;
use crate::extension::{At, CallView};
use crate::gate::Admission;
use crate::message::{Block, Message, ToolUseId};
use crate::query::QueryParams;
use crate::subagent::Scope;
use crate::tool::{ResultContent, Tool, ToolContext, ToolOutput};

/// Calls of one batch that run at the same time.
const WIDTH: usize = 10;
/// How long a cancelled tool may take to wind up before its task is dropped.
const GRACE: Duration = Duration::from_secs(5);

struct Call {
    id: ToolUseId,
    name: String,
    input: Value,
    /// The tool, or why there is none that could run.
    tool: Result<Arc<dyn Tool>, String>,
}

/// Runs every call of an assistant message and records each result in the conversation. Returns what
/// extensions want appended after the results.
pub(crate) async fn run_round(
    params: &QueryParams,
    scope: &Arc<Scope>,
    message: &Message,
    at: At,
) -> Vec<Block> {
    let mut appended = Vec::new();
    for batch in partition(calls(params, message)) {
        appended.extend(run_batch(params, scope, batch, at).await);
    }
    appended
}

fn calls(params: &QueryParams, message: &Message) -> Vec<Call> {
    let uses = message.content().iter().filter_map(|block| match block {
        Block::ToolUse { id, name, input, .. } => Some((id, name, input)),
        Block::Text { .. }
        | Block::Thinking { .. }
        | Block::ToolResult { .. }
        | Block::Other(_) => None,
    });
    uses.map(|(id, name, input)| Call {
        id: id.clone(),
        name: name.clone(),
        input: input.clone(),
        tool: resolve(params, name, input),
    })
    .collect()
}

fn resolve(params: &QueryParams, name: &str, input: &Value) -> Result<Arc<dyn Tool>, String> {
    let Some(tool) = params.tools.get(name) else {
        let known = params.tools.names().join(", ");
        return Err(format!("there is no tool `{name}`; the tools are: {known}"));
    };
    match catch_unwind(AssertUnwindSafe(|| tool.check(input))) {
        Ok(Ok(())) => Ok(tool.clone()),
        Ok(Err(fault)) => Err(format!("invalid input for {name}: {fault}")),
        Err(panic) => Err(format!("{name} could not read its input: {}", panic_text(&*panic))),
    }
}

/// Adjacent concurrency-safe calls form one batch; anything else is a batch of its own. What cannot
/// run at all disturbs no batch.
fn partition(calls: Vec<Call>) -> Vec<Vec<Call>> {
    let mut batches: Vec<(bool, Vec<Call>)> = Vec::new();
    for call in calls {
        let safe = call.tool.as_ref().map_or(true, |tool| {
            catch_unwind(AssertUnwindSafe(|| tool.is_concurrency_safe(&call.input)))
                .unwrap_or(false)
        });
        match batches.last_mut() {
            Some((true, batch)) if safe => batch.push(call),
            _ => batches.push((safe, vec![call])),
        }
    }
    batches.into_iter().map(|(_, batch)| batch).collect()
}

async fn run_batch(
    params: &QueryParams,
    scope: &Arc<Scope>,
    batch: Vec<Call>,
    at: At,
) -> Vec<Block> {
    let mut permitted = Vec::new();
    for call in batch {
        if let Some(ready) = admit(params, scope, call, at).await {
            permitted.push(ready);
        }
    }
    let parallel = permitted.len() > 1;
    let mut runs = Vec::new();
    for (call, tool) in permitted {
        runs.push(run(params, scope, call, tool, parallel, at).boxed());
    }
    let mut runs = stream::iter(runs).buffer_unordered(WIDTH);
    let mut appended = Vec::new();
    while let Some(blocks) = runs.next().await {
        appended.extend(blocks);
    }
    appended
}

/// Lets a call through, or answers it.
async fn admit(
    params: &QueryParams,
    scope: &Arc<Scope>,
    call: Call,
    at: At,
) -> Option<(Call, Arc<dyn Tool>)> {
    let tool = match &call.tool {
        Ok(tool) => tool.clone(),
        Err(fault) => {
            report(params, scope, &call, ToolOutput::error(fault), Duration::ZERO).await;
            return None;
        }
    };
    if params.cancel.is_cancelled() {
        not_run(params, scope, &call).await;
        return None;
    }
    let admission = params
        .gate
        .admit(&*tool, &call.id, &call.input, &params.place, &scope.outlet, &params.cancel)
        .await;
    let refusal = match admission {
        Admission::Denied(reason) => Some(reason),
        Admission::Granted => {
            let mut refusal = None;
            for extension in params.extensions.iter() {
                if refusal.is_none() {
                    refusal = extension.before_tool(view(&call, at)).await;
                }
            }
            refusal
        }
    };
    let Some(reason) = refusal else { return Some((call, tool)) };
    let text = format!("Error: permission denied: {reason}");
    params.conversation.lock().record_result(&call.id, ResultContent::Text(text), true);
    let denied = AgentEvent::PermissionDenied { id: call.id, name: call.name, reason };
    scope.outlet.send(denied).await;
    None
}

async fn run(
    params: &QueryParams,
    scope: &Arc<Scope>,
    call: Call,
    tool: Arc<dyn Tool>,
    parallel: bool,
    at: At,
) -> Vec<Block> {
    if params.cancel.is_cancelled() {
        not_run(params, scope, &call).await;
        return Vec::new();
    }
    let start = AgentEvent::ToolStart {
        id: call.id.clone(),
        name: call.name.clone(),
        input: call.input.clone(),
        parallel,
    };
    scope.outlet.send(start).await;
    let started = Instant::now();
    let output = execute(params, scope, &call, tool).await;
    let took = started.elapsed();
    let mut appended = Vec::new();
    for extension in params.extensions.iter() {
        appended.extend(extension.after_tool(view(&call, at), &output).await);
    }
    report(params, scope, &call, output, took).await;
    appended
}

/// Runs the tool in a task of its own, so that a panic, or a tool that will not end when it is told
/// to, costs one result and nothing else.
async fn execute(
    params: &QueryParams,
    scope: &Arc<Scope>,
    call: &Call,
    tool: Arc<dyn Tool>,
) -> ToolOutput {
    let context = ToolContext {
        id: call.id.clone(),
        cancel: params.cancel.child_token(),
        place: params.place.clone(),
        scope: scope.clone(),
    };
    let input = call.input.clone();
    let mut task = AbortOnDrop(tokio::spawn(async move { tool.call(input, &context).await }));
    let ended = tokio::select! {
        ended = &mut task.0 => Some(ended),
        () = params.cancel.cancelled() => tokio::time::timeout(GRACE, &mut task.0).await.ok(),
    };
    match ended {
        Some(Ok(output)) => output,
        Some(Err(fault)) => match fault.try_into_panic() {
            Ok(panic) => {
                ToolOutput::error(format!("{} panicked: {}", call.name, panic_text(&*panic)))
            }
            Err(_) => ToolOutput::error("interrupted"),
        },
        None => ToolOutput::error("interrupted; the tool did not end by itself"),
    }
}

struct AbortOnDrop(tokio::task::JoinHandle<ToolOutput>);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

async fn not_run(params: &QueryParams, scope: &Arc<Scope>, call: &Call) {
    let output = ToolOutput::error("interrupted before it started; it was not executed");
    report(params, scope, call, output, Duration::ZERO).await;
}

async fn report(
    params: &QueryParams,
    scope: &Arc<Scope>,
    call: &Call,
    output: ToolOutput,
    took: Duration,
) {
    let ToolOutput { mut content, is_error, detail } = output;
    if content.text().is_empty() && matches!(content, ResultContent::Text(_)) {
        content = ResultContent::Text("(no output)".into());
    }
    params.conversation.lock().record_result(&call.id, content.clone(), is_error);
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

fn view(call: &Call, at: At) -> CallView<'_> {
    CallView { at, id: &call.id, name: &call.name, input: &call.input }
}

pub(crate) fn panic_text(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "no message".to_owned())
}

//! Owns automatic and manual compaction: when it is due, where history is cut, what takes its place.
//! Must not know the model that writes the summary.

use std::fmt::Write as _;
use std::sync::Arc;

use crate::*;

const PROMPT: &str = include_str!("summarize.md");
/// Threshold where the context window is not known, in tokens of messages.
const UNKNOWN_WINDOW: u64 = 30_000;

/// When history is summarised. All sizes in tokens.
#[derive(Debug, Clone, Default)]
pub struct CompactPolicy {
    /// Set by a person: tokens of messages.
    pub threshold: Option<u64>,
    /// The model's context window, where known.
    pub window: Option<u64>,
    /// What must stay free for the answer.
    pub reserve: u64,
}

impl CompactPolicy {
    /// Tokens of messages above which history is summarised, when `fixed` go to system and tools.
    pub fn threshold(&self, fixed: u64) -> u64 {
        let of_window = |window: u64| window.saturating_sub(self.reserve) * 4 / 5;
        self.threshold
            .or_else(|| self.window.map(|window| of_window(window).saturating_sub(fixed)))
            .unwrap_or(UNKNOWN_WINDOW)
    }
}

/// Tokens of messages above which history is summarised.
pub(crate) fn threshold(params: &QueryParams) -> u64 {
    params.limits.compact.threshold(params.conversation.lock().prefix().tokens())
}

/// Whether history is over the threshold and has a part that a summary could replace.
pub(crate) fn is_due(params: &QueryParams) -> bool {
    let threshold = threshold(params);
    let conversation = params.conversation.lock();
    // What cannot get much smaller must not be summarised at every turn.
    let due = threshold.max(conversation.floor() + threshold / 4);
    conversation.tokens() > due && boundary(&conversation.messages(), threshold).is_some()
}

/// Opens a summary epoch. On an error history is as it was; `None` means interrupted.
pub(crate) async fn compact(scope: &Scope, kind: &str) -> Result<(), Option<String>> {
    let params = &scope.params;
    let threshold = threshold(params);
    let mut request = request(params);
    let messages = request.messages.clone();
    let Some(cut) = boundary(&messages, threshold) else {
        return Err(Some("nothing to compact yet".into()));
    };
    request.extra = Some(Arc::new(Message::user(PROMPT)));
    let (blocks, stop, usage) = match call_model(scope, request, Audience::Nobody).await {
        Answered::Whole { blocks, stop, usage } => (blocks, stop, usage),
        Answered::Failed(error) => return Err(Some(format!("compaction failed: {error}"))),
        Answered::Aborted { .. } => return Err(None),
    };
    count(scope, usage).await;
    let summary = Message::new(Role::Assistant, blocks).text();
    let whole = matches!(stop, StopReason::EndTurn | StopReason::Other(_));
    if !whole || summary.trim().is_empty() {
        return Err(Some("compaction failed: the model wrote no whole summary".into()));
    }
    if params.cancel.is_cancelled() {
        return Err(None);
    }
    let pins = params.extensions.iter().flat_map(|feature| feature.pins());
    let first = first_message(&summary, pins, params.conversation.lock().asked(), &messages[cut..]);
    let draft = Draft { kind: EpochKind::Summary, messages: vec![first] };
    open_epoch(scope, draft, kind).await.map_err(|fault| Some(format!("compaction failed: {fault}")))
}

/// Opens an epoch and says so.
pub(crate) async fn open_epoch(scope: &Scope, draft: Draft, kind: &str) -> Result<(), Fault> {
    let (tokens_before, tokens_after) = {
        let mut conversation = scope.params.conversation.lock();
        let before = conversation.tokens();
        conversation.open_epoch(draft, None)?;
        (before, conversation.tokens())
    };
    let event = AgentEvent::Compact { kind: kind.to_owned(), tokens_before, tokens_after };
    scope.outlet.send(event).await;
    Ok(())
}

/// Index of the first message that is kept: the last request, if what it keeps is under half the
/// threshold; else what follows the earliest answered round that brings it under. `None` when
/// nothing would be left to summarise.
fn boundary(messages: &[Arc<Message>], threshold: u64) -> Option<usize> {
    let fits = |cut: usize| {
        let kept: usize = messages[cut..].iter().map(|message| message.weight()).sum();
        kept == 0 || (kept as u64 / 4) < threshold / 2
    };
    let request = messages.iter().rposition(|message| message.is_plain_user());
    if let Some(cut) = request.filter(|cut| *cut > 0 && fits(*cut)) {
        return Some(cut);
    }
    (2..=messages.len()).find(|cut| ends_round(&messages[cut - 1]) && fits(*cut))
}

/// Whether nothing is open after this message.
fn ends_round(message: &Message) -> bool {
    match message.role {
        Role::User => !message.is_plain_user(),
        Role::Assistant => message.tool_uses().next().is_none(),
    }
}

/// The message that stands for everything before: summary, pins, the newest request verbatim, and
/// the kept tail as text, since calls and thinking are only valid where they were made.
fn first_message(
    summary: &str,
    pins: impl Iterator<Item = String>,
    newest: &[Block],
    tail: &[Arc<Message>],
) -> Message {
    let mut blocks = vec![Block::text(format!(
        "The conversation so far was summarised to save room.\n\n<summary>\n{}\n</summary>",
        summary.trim()
    ))];
    blocks.extend(pins.map(Block::text).filter(|pin| !pin.is_blank()));
    if !newest.is_empty() {
        blocks.push(Block::text("The user's newest request, verbatim:"));
        blocks.extend(newest.iter().cloned());
    }
    // The tail may begin with the request itself; it has just been given.
    let given =
        |first: &&Arc<Message>| !newest.is_empty() && first.role == Role::User && first.content.ends_with(newest);
    let tail = if tail.first().is_some_and(|first| given(&first)) { &tail[1..] } else { tail };
    let rendered = render(tail);
    if !rendered.is_empty() {
        blocks.push(Block::text(format!("The last messages, as text. Go on from here:\n\n{rendered}")));
    }
    Message::new(Role::User, blocks)
}

fn render(messages: &[Arc<Message>]) -> String {
    let mut out = String::new();
    for block in messages.iter().flat_map(|message| &message.content) {
        let _ = match block {
            Block::Text { text, .. } => writeln!(out, "{text}\n"),
            Block::ToolUse { name, input, .. } => writeln!(out, "[called {name} with {input}]\n"),
            Block::ToolResult { content, is_error, .. } => {
                let word = if *is_error { "failed" } else { "returned" };
                writeln!(out, "[it {word}]\n{}\n", content.text())
            }
            Block::Thinking { .. } | Block::Other(_) => Ok(()),
        };
    }
    out.trim_end().to_owned()
}

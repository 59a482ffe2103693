//! Owns automatic and manual compaction: when it is due, where history is cut, what takes its place.
//! Must not know the model that writes the summary.

use std::fmt::Write as _;
use std::sync::Arc;

use crate::conversation::{Draft, EpochKind};
use crate::event::AgentEvent;
use crate::message::{Block, Message, Role};
use crate::query::{QueryParams, count};
use crate::subagent::Scope;
use crate::turn::{Answered, Audience, ask, request};

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

fn threshold(params: &QueryParams) -> u64 {
    let fixed = params.conversation.lock().prefix().tokens();
    params.limits.compact.threshold(fixed)
}

/// Whether history is over the threshold and has a part that a summary could replace.
pub(crate) fn is_due(params: &QueryParams) -> bool {
    let threshold = threshold(params);
    let conversation = params.conversation.lock();
    conversation.tokens() > threshold && boundary(&conversation.messages(), threshold).is_some()
}

/// Opens a summary epoch. On an error history is as it was; `None` means interrupted.
pub(crate) async fn compact(
    params: &QueryParams,
    scope: &Scope,
    kind: &str,
) -> Result<(), Option<String>> {
    let threshold = threshold(params);
    params.conversation.lock().append(Vec::new());
    let mut request = request(params);
    let messages = request.messages.clone();
    let Some(cut) = boundary(&messages, threshold) else {
        return Err(Some("nothing to compact yet".into()));
    };
    request.extra = Some(Arc::new(Message::user(PROMPT)));
    let summary = match ask(params, &scope.outlet, request, Audience::Nobody).await {
        Answered::Whole { blocks, usage, .. } => {
            count(params, scope, usage).await;
            Message::new(Role::Assistant, blocks).text()
        }
        Answered::Failed(error) => return Err(Some(format!("compaction failed: {error}"))),
        Answered::Aborted { .. } => return Err(None),
    };
    if summary.trim().is_empty() {
        return Err(Some("compaction failed: the model wrote no summary".into()));
    }
    let compacted = {
        let mut conversation = params.conversation.lock();
        let before = conversation.tokens();
        let first = first_message(
            &summary,
            &params.extensions.pins(),
            conversation.request(),
            &messages[cut..],
        );
        let draft = Draft { kind: EpochKind::Summary, messages: vec![first] };
        conversation
            .open_epoch(draft, None)
            .map(|()| (before, conversation.tokens()))
            .map_err(|fault| Some(format!("compaction failed: {fault}")))
    };
    let (tokens_before, tokens_after) = compacted?;
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
        (kept as u64 / 4) < threshold / 2
    };
    let request = messages.iter().rposition(|message| message.is_plain_user());
    if let Some(cut) = request.filter(|cut| *cut > 0 && fits(*cut)) {
        return Some(cut);
    }
    (2..=messages.len()).find(|cut| ends_round(&messages[cut - 1]) && fits(*cut))
}

/// Whether nothing is open after this message.
fn ends_round(message: &Message) -> bool {
    match message.role() {
        Role::User => !message.is_plain_user(),
        Role::Assistant => {
            !message.content().iter().any(|block| matches!(block, Block::ToolUse { .. }))
        }
    }
}

/// The message that stands for everything before: summary, pins, the newest request verbatim, and
/// the kept tail as text, since calls and thinking are only valid where they were made.
fn first_message(
    summary: &str,
    pins: &[String],
    newest: &[Block],
    tail: &[Arc<Message>],
) -> Message {
    let mut blocks = vec![Block::text(format!(
        "The conversation so far was summarised to save room.\n\n<summary>\n{}\n</summary>",
        summary.trim()
    ))];
    blocks.extend(pins.iter().map(Block::text));
    if !newest.is_empty() {
        blocks.push(Block::text("The user's newest request, verbatim:"));
        blocks.extend(newest.iter().cloned());
    }
    // The tail may begin with the request itself; it has just been given.
    let tail = match tail.first() {
        Some(first) if first.content().ends_with(newest) => &tail[1..],
        _ => tail,
    };
    let rendered = render(tail);
    if !rendered.is_empty() {
        blocks.push(Block::text(format!(
            "The last messages, as text. Go on from here:\n\n{rendered}"
        )));
    }
    Message::new(Role::User, blocks)
}

fn render(messages: &[Arc<Message>]) -> String {
    let mut out = String::new();
    for block in messages.iter().flat_map(|message| message.content()) {
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

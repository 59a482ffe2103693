//! Owns the summary of a conversation: where history is cut, how it is asked for, what takes its
//! place. Must not know when one is due.

use std::fmt::Write as _;
use std::sync::Arc;

use kernel::{Act, Block, Case, Draft, EpochKind, ErrorKind, Message, ModelError, Role};

use super::Policy;

const PROMPT: &str = include_str!("summarize.md");
const TEXT_ALONE: &str = "The last attempt at it was no whole text. Call no tool, whatever is still to be done; write \
                          the summary as plain text, and a shorter one.";
/// Of a tool result, so many bytes are kept at either end where history has to be cut to be read.
const RESULT_END: usize = 400;

/// A summary in the place of history. `None` where there is nothing to summarise, or nobody waits
/// for it any more.
pub(super) async fn act(case: &Case<'_>, policy: &Policy) -> Option<Act> {
    let (messages, size) = {
        let conversation = case.conversation();
        // A person, or a model that is smaller than was thought, may want a small history smaller still.
        let threshold = policy.threshold(conversation.prefix().tokens());
        (conversation.messages(), threshold.min(conversation.tokens()))
    };
    let cut = boundary(&messages, size)?;
    let summary = match ask(case, &messages, policy).await {
        Ok(summary) => summary,
        Err(fault) => return fault.map(|fault| Act::Fail(format!("compaction failed: {fault}"))),
    };
    let asked = case.conversation().asked().to_vec();
    let first = first_message(&summary, case.pins(), &asked, &messages[cut..]);
    Some(Act::Epoch(Draft { kind: EpochKind::Summary, messages: vec![Arc::new(first)] }))
}

/// The history plus one message extends the last request, so its prefix is read from the cache. Where
/// that does not fit, the model gets what does, as text; where it went on working instead, it is told
/// once more what to do.
async fn ask(case: &Case<'_>, messages: &[Arc<Message>], policy: &Policy) -> Result<String, Option<ModelError>> {
    let answered = match case.ask(None, PROMPT).await {
        Ok(None) => case.ask(None, &format!("{PROMPT}\n{TEXT_ALONE}")).await,
        Err(Some(error)) if matches!(error.kind, ErrorKind::ContextOverflow | ErrorKind::TooLarge) => {
            let tokens = case.conversation().tokens();
            // Bytes / 4 may be wrong by a factor; half of what is known not to fit is likely to.
            let room = policy.window.map_or(tokens, |window| window.min(tokens)) / 2;
            let bytes = usize::try_from(room * 4).unwrap_or(usize::MAX);
            case.ask(Some(vec![Message::user(digest(messages, bytes))]), PROMPT).await
        }
        answered => answered,
    };
    let nothing = || Some(ModelError::new(ErrorKind::Invalid, "the model wrote no whole answer"));
    answered.and_then(|summary| summary.ok_or_else(nothing))
}

/// Index of the first message that is kept: the last request, if what it keeps is under half of `size`;
/// else what follows the earliest answered round that brings it under. `None` when nothing would be
/// left to summarise.
fn boundary(messages: &[Arc<Message>], size: u64) -> Option<usize> {
    let fits = |cut: usize| {
        let kept: usize = messages[cut..].iter().map(|message| message.weight()).sum();
        kept == 0 || (kept as u64 / 4) < size / 2
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
fn first_message(summary: &str, pins: Vec<String>, newest: &[Block], tail: &[Arc<Message>]) -> Message {
    let mut blocks = vec![Block::text(format!(
        "The conversation so far was summarised to save room.\n\n<summary>\n{}\n</summary>",
        summary.trim()
    ))];
    blocks.extend(pins.into_iter().map(Block::text).filter(|pin| !pin.is_blank()));
    if !newest.is_empty() {
        blocks.push(Block::text("The user's newest request, verbatim:"));
        blocks.extend(newest.iter().cloned());
    }
    // The tail may begin with the request itself; it has just been given.
    let given =
        |first: &&Arc<Message>| !newest.is_empty() && first.role == Role::User && first.content.ends_with(newest);
    let tail = if tail.first().is_some_and(|first| given(&first)) { &tail[1..] } else { tail };
    let rendered = render(tail, str::to_owned);
    if !rendered.is_empty() {
        blocks.push(Block::text(format!("The last messages, as text. Go on from here:\n\n{rendered}")));
    }
    Message::new(Role::User, blocks)
}

/// The conversation as text of at most so many bytes: results shortened, then the oldest left out.
fn digest(messages: &[Arc<Message>], bytes: usize) -> String {
    let text = render(messages, |result| match result.len() > 3 * RESULT_END {
        true => {
            let head = &result[..result.floor_char_boundary(RESULT_END)];
            let tail = &result[result.ceil_char_boundary(result.len() - RESULT_END)..];
            format!("{head}\n[…]\n{tail}")
        }
        false => result.to_owned(),
    });
    let from = text.ceil_char_boundary(text.len().saturating_sub(bytes));
    let note = if from > 0 { "[The beginning is left out: it did not fit.]\n\n" } else { "" };
    format!("A conversation, as text:\n\n{note}{}", &text[from..])
}

fn render(messages: &[Arc<Message>], of_result: impl Fn(&str) -> String) -> String {
    let mut out = String::new();
    for block in messages.iter().flat_map(|message| &message.content) {
        let _ = match block {
            Block::Text { text, .. } => writeln!(out, "{text}\n"),
            Block::ToolUse { name, input, .. } => writeln!(out, "[called {name} with {input}]\n"),
            Block::ToolResult { content, is_error, .. } => {
                let word = if *is_error { "failed" } else { "returned" };
                writeln!(out, "[it {word}]\n{}\n", of_result(&content.text()))
            }
            Block::Thinking { .. } | Block::Other(_) => Ok(()),
        };
    }
    out.trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use kernel::ResultContent;

    use super::*;

    #[test]
    fn a_digest_keeps_the_newest_and_shortens_results() {
        let long = "x".repeat(5000);
        let result = Block::result(kernel::ToolUseId("a".into()), ResultContent::Text(long), false);
        let messages = [Message::user("old"), Message::new(Role::User, vec![result]), Message::user("新しい")];
        let messages = messages.map(Arc::new);
        let ends = "x".repeat(RESULT_END);
        let whole = format!("old\n\n[it returned]\n{ends}\n[…]\n{ends}\n\n新しい");
        assert_eq!(digest(&messages, 10_000), format!("A conversation, as text:\n\n{whole}"));
        assert_eq!(
            digest(&messages, 8),
            "A conversation, as text:\n\n[The beginning is left out: it did not fit.]\n\nしい"
        );
    }
}

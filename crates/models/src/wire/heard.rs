//! Owns whether a server read all of a prompt: some drop the front of a long one and say nothing.
//! Must not know how a prompt is sent.

use kernel::{Block, Message, ModelRequest, ResultContent, Usage};

use super::{Dialect, Site, error};

/// Estimates are off by some; less than this is never spoken of.
const SLACK: u64 = 1_000;

/// An estimate of a prompt in tokens (bytes / 4) that is rather too low: media and inputs of calls are
/// left out. `None` where it is not asked for: servers of models that anybody can start have a small window
/// unless told otherwise; the other dialect has none of them.
pub(super) fn at_least(site: &Site, request: &ModelRequest) -> Option<u64> {
    if site.dialect != Dialect::OpenAi {
        return None;
    }
    let messages = request.messages.iter().chain(&request.extra);
    let bytes: usize = messages.flat_map(|message: &std::sync::Arc<Message>| &message.content).map(text).sum();
    Some(request.prefix.tokens() + (bytes / 4) as u64)
}

fn text(block: &Block) -> usize {
    match block {
        Block::Text { text, .. } | Block::ToolResult { content: ResultContent::Text(text), .. } => text.len(),
        Block::ToolResult { .. } | Block::Thinking { .. } | Block::ToolUse { .. } | Block::Other(_) => 0,
    }
}

/// What a person should know where the server counted less than half of what was sent.
pub(super) fn unread(site: &Site, sent: u64, counted: &Usage) -> Option<String> {
    let read = counted.total() - counted.output_tokens;
    (read > 0 && sent > 2 * read + SLACK).then(|| {
        format!(
            "{} read only {read} tokens of about {sent}: it seems to drop the front of the conversation. \
             Give the model a longer context there (with Ollama num_ctx or OLLAMA_CONTEXT_LENGTH)",
            error::place(site)
        )
    })
}

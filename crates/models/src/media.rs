//! Owns what a model without eyes gets in the place of images and documents: a word. Must not know
//! which models those are.

use kernel::{Block, ResultContent};
use serde_json::{Value, json};

/// The same blocks with a word in the place of each medium; `None` where there is none.
pub(crate) fn as_text(content: &[Block]) -> Option<Vec<Block>> {
    content.iter().any(holds_media).then(|| content.iter().map(blind).collect())
}

/// Whether a value is an image or a document.
pub(crate) fn is_medium(value: &Value) -> bool {
    value["type"] == "image" || value["type"] == "document"
}

fn holds_media(block: &Block) -> bool {
    match block {
        Block::Other(value) => is_medium(value),
        Block::ToolResult { content: ResultContent::Blocks(blocks), .. } => blocks.iter().any(is_medium),
        Block::ToolResult { .. } | Block::Text { .. } | Block::Thinking { .. } | Block::ToolUse { .. } => false,
    }
}

fn blind(block: &Block) -> Block {
    match block {
        Block::Other(value) if is_medium(value) => Block::text(word(value)),
        Block::ToolResult { tool_use_id, content: ResultContent::Blocks(blocks), is_error, extra } => {
            let seen = |value: &Value| match is_medium(value) {
                true => json!({"type": "text", "text": word(value)}),
                false => value.clone(),
            };
            let content = ResultContent::Blocks(blocks.iter().map(seen).collect());
            Block::ToolResult { tool_use_id: tool_use_id.clone(), content, is_error: *is_error, extra: extra.clone() }
        }
        other => other.clone(),
    }
}

fn word(value: &Value) -> String {
    format!("[{} left out: this model reads only text]", value["type"].as_str().unwrap_or("medium"))
}

//! Owns how words take the place of images and documents, and what a model without eyes is told.
//! Must not know which models those are, nor why else a medium has to go.

use kernel::{Block, ResultContent};
use serde_json::{Value, json};

/// The same blocks with a word in the place of each medium; `None` where there is none.
pub(crate) fn as_text(content: &[Block]) -> Option<Vec<Block>> {
    let word = |value: &Value| Some(format!("[{} left out: this model reads only text]", kind(value)?));
    replaced(content, word)
}

/// The same blocks with a text in the place of each medium for which there is one; `None` where there is
/// none.
pub fn replaced(content: &[Block], word: impl Fn(&Value) -> Option<String>) -> Option<Vec<Block>> {
    let word = |value: &Value| word(value).filter(|_| kind(value).is_some());
    let any = content.iter().any(|block| match block {
        Block::Other(value) => word(value).is_some(),
        Block::ToolResult { content: ResultContent::Blocks(blocks), .. } => blocks.iter().any(|b| word(b).is_some()),
        Block::ToolResult { .. } | Block::Text { .. } | Block::Thinking { .. } | Block::ToolUse { .. } => false,
    });
    any.then(|| content.iter().map(|block| instead(block, &word)).collect())
}

/// `image` or `document`; `None` for what is no medium.
pub fn kind(value: &Value) -> Option<&str> {
    value["type"].as_str().filter(|kind| ["image", "document"].contains(kind))
}

fn instead(block: &Block, word: &impl Fn(&Value) -> Option<String>) -> Block {
    match block {
        Block::Other(value) => word(value).map_or_else(|| block.clone(), Block::text),
        Block::ToolResult { tool_use_id, content: ResultContent::Blocks(blocks), is_error, extra } => {
            let seen = |value: &Value| match word(value) {
                Some(word) => json!({"type": "text", "text": word}),
                None => value.clone(),
            };
            let content = ResultContent::Blocks(blocks.iter().map(seen).collect());
            Block::ToolResult { tool_use_id: tool_use_id.clone(), content, is_error: *is_error, extra: extra.clone() }
        }
        other => other.clone(),
    }
}

//! Owns what becomes of content that is not the model's own: text, images and documents in the words of
//! this dialect, and words in the place of what it has none for. Must not know messages.

use serde::Serialize;
use serde_json::{Value, json};

/// A part of a user message.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Part {
    Text {
        text: String,
    },
    ImageUrl {
        /// `{"url"}`.
        image_url: Value,
    },
    File {
        /// `{"filename", "file_data"}`.
        file: Value,
    },
}

impl Part {
    pub(super) fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into() }
    }

    /// The part that a block becomes; `files` says whether documents may be sent.
    pub(super) fn of(block: &Value, files: bool) -> Self {
        let source = &block["source"];
        let said = |value: &Value| value.as_str().unwrap_or("").to_owned();
        let data = |otherwise: &str| {
            let kind = source["media_type"].as_str().unwrap_or(otherwise);
            format!("data:{kind};base64,{}", source["data"].as_str().unwrap_or(""))
        };
        match (block["type"].as_str().unwrap_or(""), source["type"].as_str().unwrap_or("")) {
            ("text", _) => Self::text(said(&block["text"])),
            ("image", "base64") => Self::ImageUrl { image_url: json!({"url": data("image/png")}) },
            ("image", "url") => Self::ImageUrl { image_url: json!({"url": said(&source["url"])}) },
            ("document", "text") => Self::text(titled(block, said(&source["data"]))),
            ("document", "content") => Self::text(titled(block, words(&source["content"]))),
            ("document", "base64") if files => {
                let name = block["title"].as_str().unwrap_or("document.pdf");
                Self::File { file: json!({"filename": name, "file_data": data("application/pdf")}) }
            }
            ("document", "url") => Self::text(titled(block, said(&source["url"]))),
            ("search_result", _) => {
                let head = [&block["title"], source].map(said).join("\n");
                Self::text(format!("{head}\n{}", words(&block["content"])))
            }
            (kind, _) => {
                let told = [&block["text"], &block["content"]].map(words).concat();
                match told.trim().is_empty() {
                    true => Self::text(format!("[{} left out: it cannot be sent here]", name(kind))),
                    false => Self::text(told),
                }
            }
        }
    }
}

/// The text of a value that is a text, or a list of blocks with text in them.
pub(super) fn words(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => {
            let texts: Vec<&str> = blocks.iter().filter_map(|block| block["text"].as_str()).collect();
            texts.join("\n")
        }
        _ => String::new(),
    }
}

fn titled(block: &Value, text: String) -> String {
    match block["title"].as_str() {
        Some(title) if !title.is_empty() => format!("{title}\n{text}"),
        _ => text,
    }
}

fn name(kind: &str) -> &str {
    if kind.is_empty() { "content" } else { kind }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_each_block_becomes() {
        let pdf =
            json!({"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": "JQ=="}});
        let of = |block: Value, files| serde_json::to_value(Part::of(&block, files)).unwrap();
        let text = |text: &str| json!({"type": "text", "text": text});
        let image = json!({"type": "image", "source": {"type": "base64", "media_type": "image/gif", "data": "AA=="}});
        let url = |url| json!({"type": "image_url", "image_url": {"url": url}});
        assert_eq!(of(image, false), url("data:image/gif;base64,AA=="));
        let far = json!({"type": "image", "source": {"type": "url", "url": "https://h/a.png"}});
        assert_eq!(of(far, false), url("https://h/a.png"));
        let file = json!({"filename": "document.pdf", "file_data": "data:application/pdf;base64,JQ=="});
        assert_eq!(of(pdf.clone(), true), json!({"type": "file", "file": file}));
        assert_eq!(of(pdf, false), text("[document left out: it cannot be sent here]"));
        let plain = json!({"type": "document", "title": "T", "source": {"type": "text", "data": "abc"}});
        assert_eq!(of(plain, false), text("T\nabc"));
        let found = json!({"type": "search_result", "title": "T", "source": "https://h", "content": [{"type": "text", "text": "x"}]});
        assert_eq!(of(found, false), text("T\nhttps://h\nx"));
        assert_eq!(of(json!({"type": "sparkle", "content": "shine"}), false), text("shine"));
        assert_eq!(of(json!({"type": "sparkle"}), false), text("[sparkle left out: it cannot be sent here]"));
        assert_eq!(of(json!(3), false), text("[content left out: it cannot be sent here]"));
    }
}

//! Owns the same history less some blocks: thinking that a model cannot take, media that are too
//! much. Must not know why they have to go. Messages that stay as they are stay shared.

use std::sync::Arc;

use kernel::{Block, Message};
use models::media;
use serde_json::Value;

use super::is_thinking;

/// A history.
pub(super) type Messages = Vec<Arc<Message>>;

/// Which media have to go.
#[derive(Debug, Clone, Copy)]
pub(super) enum Media {
    /// All of them.
    All,
    /// Those of more than so many bytes.
    LargerThan(usize),
    /// Those of one message, by its place in the history.
    Of(usize),
}

/// The history without thinking; `None` where it has none.
pub(super) fn without_thinking(messages: &[Arc<Message>]) -> Option<Messages> {
    changed(messages, |_, message| {
        if !message.content.iter().any(is_thinking) {
            return None;
        }
        let mut content: Vec<Block> = message.content.iter().filter(|block| !is_thinking(block)).cloned().collect();
        if content.is_empty() {
            content.push(Block::text("(thinking left out)"));
        }
        Some(content)
    })
}

/// The history with a word in the place of such media; `None` where it has none.
pub(super) fn without_media(messages: &[Arc<Message>], which: Media) -> Option<Messages> {
    changed(messages, |place, message| {
        media::replaced(&message.content, |value| concerns(which, place, value).then(|| placeholder(value)))
    })
}

/// The message that an error of the API names, as in `messages.4.content.0.image: …`.
pub(super) fn named_message(error: &str) -> Option<usize> {
    let (_, after) = error.split_once("messages.")?;
    let digits = after.split(|c: char| !c.is_ascii_digit()).next()?;
    digits.parse().ok()
}

fn changed(messages: &[Arc<Message>], change: impl Fn(usize, &Message) -> Option<Vec<Block>>) -> Option<Messages> {
    let mut any = false;
    let mut keep = |(place, message): (usize, &Arc<Message>)| match change(place, message) {
        None => message.clone(),
        Some(content) => {
            any = true;
            Arc::new(Message::new(message.role, content))
        }
    };
    let messages = messages.iter().enumerate().map(&mut keep).collect();
    any.then_some(messages)
}

fn concerns(which: Media, place: usize, value: &Value) -> bool {
    match which {
        Media::All => true,
        Media::LargerThan(bytes) => value["source"]["data"].as_str().is_some_and(|data| data.len() > bytes),
        Media::Of(named) => place == named,
    }
}

fn placeholder(value: &Value) -> String {
    let kind = media::kind(value).unwrap_or("medium");
    format!("[{kind} left out: the model cannot take it, or the request was too large]")
}

#[cfg(test)]
mod tests {
    use kernel::{ResultContent, Role};
    use serde_json::json;

    use super::*;

    fn image(bytes: usize) -> Value {
        json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "A".repeat(bytes)}})
    }

    fn history() -> Messages {
        let call = kernel::ToolUseId("a".into());
        let results = ResultContent::Blocks(vec![json!({"type": "text", "text": "seen"}), image(9)]);
        [
            Message::new(Role::User, vec![Block::text("look"), Block::Other(image(3))]),
            Message::new(
                Role::Assistant,
                vec![
                    Block::Thinking { thinking: "hm".into(), signature: None, extra: serde_json::Map::new() },
                    Block::ToolUse {
                        id: call.clone(),
                        name: "Read".into(),
                        input: json!({}),
                        extra: serde_json::Map::new(),
                    },
                ],
            ),
            Message::new(Role::User, vec![Block::result(call, results, false)]),
        ]
        .map(Arc::new)
        .to_vec()
    }

    fn shown(messages: Option<Messages>) -> String {
        messages.map(|messages| serde_json::to_string(&messages).unwrap()).unwrap_or_default()
    }

    const GONE: &str = "[image left out: the model cannot take it, or the request was too large]";

    #[test]
    fn what_stays_the_same_is_shared() {
        let before = history();
        let after = without_thinking(&before).unwrap();
        assert!(Arc::ptr_eq(&before[0], &after[0]) && Arc::ptr_eq(&before[2], &after[2]));
        assert_eq!(after[1].content.len(), 1);
        assert_eq!(without_thinking(&after), None);
        kernel::conversation::check(&after).unwrap();
    }

    #[test]
    fn a_message_of_nothing_but_thinking_keeps_its_place() {
        let thinking = Block::Other(json!({"type": "redacted_thinking", "data": "AA"}));
        let messages = vec![Arc::new(Message::new(Role::Assistant, vec![thinking]))];
        let expected = r#"[{"role":"assistant","content":[{"type":"text","text":"(thinking left out)"}]}]"#;
        assert_eq!(shown(without_thinking(&messages)), expected);
    }

    #[test]
    fn media_go_where_they_are_meant_and_a_word_takes_their_place() {
        let gone = |which| shown(without_media(&history(), which)).matches(GONE).count();
        assert_eq!(
            [gone(Media::All), gone(Media::LargerThan(3)), gone(Media::Of(0)), gone(Media::Of(1))],
            [2, 1, 1, 0]
        );
        assert_eq!(without_media(&history(), Media::LargerThan(9)), None);
        let after = without_media(&history(), Media::Of(2)).unwrap();
        assert_eq!(
            serde_json::to_value(&after[2]).unwrap()["content"][0]["content"],
            json!([{"type": "text", "text": "seen"}, {"type": "text", "text": GONE}])
        );
    }

    #[test]
    fn errors_name_their_message() {
        assert_eq!(named_message("(400 …: messages.4.content.0.image.source: Could not process image)"), Some(4));
        assert_eq!(named_message("Could not process image"), None);
        assert_eq!(named_message("messages.x"), None);
    }
}

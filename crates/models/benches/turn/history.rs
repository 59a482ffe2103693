//! Owns a history of so many turns, as a session grows it.

use std::sync::Arc;

use kernel::conversation::Prefix;
use kernel::{
    Block, Conversation, Draft, EpochKind, ModelRequest, ResultContent, RetryBudget, SharedConversation, SystemBlock,
    ToolSpec, ToolUseId, Usage,
};
use models::table::Shape;
use models::wire::Dialect;
use serde_json::{Map, json};
use tokio_util::sync::CancellationToken;

/// A conversation and the shape of its requests.
pub struct History {
    conversation: Conversation,
    shape: Shape,
    turns: usize,
}

impl History {
    pub fn of(turns: usize) -> Self {
        let mut conversation = Conversation::new(prefix());
        conversation.push_user(vec![Block::text("Read every file.")]).unwrap();
        let shape = Shape { images: true, bounded: true, ..Shape::default() };
        let mut history = Self { conversation, shape, turns: 0 };
        (0..turns).for_each(|_| history.turn());
        history
    }

    /// One more call with its result.
    pub fn turn(&mut self) {
        self.turns += 1;
        let id = ToolUseId(format!("toolu_{}", self.turns));
        let input = json!({"file_path": "crates/models/src/lib.rs", "offset": self.turns});
        let call = Block::ToolUse { id: id.clone(), name: "Look".into(), input, extra: Map::new() };
        self.conversation.push_assistant(vec![Block::text("I look at the next one."), call]);
        self.conversation.measure(Usage { input_tokens: 10, ..Usage::default() });
        let text = "1\tpub mod one;\n".repeat(20);
        self.conversation.record_result(&id, ResultContent::Text(text), false);
        self.conversation.close_round();
    }

    /// The body of the next request.
    pub fn body(&self) -> Vec<u8> {
        let request = ModelRequest {
            model: "claude-test".into(),
            max_tokens: 32_000,
            prefix: self.conversation.prefix(),
            messages: self.conversation.messages(),
            extra: None,
            retries: RetryBudget::new(0),
            cancel: CancellationToken::new(),
        };
        Dialect::Anthropic.body(&request, &self.shape)
    }

    /// A conversation of its own with this history, grown far enough to have room for more.
    pub fn conversation(&self) -> SharedConversation {
        let mut conversation = Conversation::new(prefix());
        let messages = self.conversation.messages().to_vec();
        conversation.open_epoch(Draft { kind: EpochKind::Filtered, messages }, None).unwrap();
        conversation.push_assistant(vec![Block::text("So far, so good.")]);
        SharedConversation::new(conversation)
    }
}

fn prefix() -> Prefix {
    let system = vec![SystemBlock { text: "You are rsagent. ".repeat(200), cache: true }];
    let tool = |name: &str| ToolSpec {
        name: name.into(),
        description: "Looks at a file. ".repeat(40),
        input_schema: json!({"type": "object", "properties": {"file_path": {"type": "string"}}}),
    };
    Prefix::new(system, ["Look", "Read", "Write", "Bash"].map(tool).into())
}

/// Shared by what a query is given.
pub fn nowhere() -> Arc<kernel::Place> {
    Arc::new(kernel::Place { cwd: "/w".into(), roots: vec!["/w".into()], home: None, trusted: true })
}

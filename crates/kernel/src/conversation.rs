//! Owns history: the only way to grow it, and the only way to replace it.
//! Must not know who produces messages or who sends them.
//!
//! What the APIs demand is made impossible to break here instead of being repaired elsewhere:
//! every `tool_use` is answered once, in the next message, results first; no text is blank; ids are
//! unique; nothing that was sent is ever edited. A change of what is sent opens a new epoch.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use thiserror::Error;

use crate::message::{Block, Encoded, Memo, Message, Role, ToolUseId};
use crate::model::Usage;
use crate::tool::{ResultContent, ToolSpec};

/// One block of the system prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SystemBlock {
    /// The text, not blank.
    pub text: String,
    /// Whether what comes up to here stays the same between sessions, so that a cache mark pays.
    pub cache: bool,
}

/// What comes before the messages: frozen for an epoch, so that the vendor's cache keeps it.
#[derive(Debug, Default)]
pub struct Prefix {
    /// The system prompt.
    pub system: Vec<SystemBlock>,
    /// What the model knows of the tools.
    pub tools: Vec<ToolSpec>,
    memo: Memo,
}

impl Prefix {
    /// A prefix of these parts.
    pub fn new(system: Vec<SystemBlock>, tools: Vec<ToolSpec>) -> Self {
        Self { system, tools, memo: Memo::default() }
    }

    /// The serialised form in `dialect`, made by `encode` once.
    pub fn encoded(
        &self,
        dialect: &'static str,
        encode: impl FnOnce(&Self) -> Encoded,
    ) -> Arc<Encoded> {
        self.memo.get(dialect, || encode(self))
    }

    /// An estimate of its size in tokens: bytes / 4.
    pub fn tokens(&self) -> u64 {
        let system: usize = self.system.iter().map(|block| block.text.len()).sum();
        let tools: usize = self
            .tools
            .iter()
            .map(|tool| {
                tool.name.len()
                    + tool.description.len()
                    + crate::message::value_weight(&tool.input_schema)
            })
            .sum();
        ((system + tools) / 4) as u64
    }
}

/// Why history may be replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EpochKind {
    /// A summary takes the place of what it summarises. It must be smaller.
    Summary,
    /// The same messages less some blocks.
    Filtered,
    /// A fresh start, as after `/clear`: the draft may be empty.
    Fresh,
}

/// Messages that shall become the history. Checked like any history before they do.
#[derive(Debug)]
pub struct Draft {
    /// Why.
    pub kind: EpochKind,
    /// The whole new history.
    pub messages: Vec<Message>,
}

/// Why a draft was refused or a message could not be taken. History is as it was.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Fault {
    /// A message without content.
    #[error("the message is empty")]
    Empty,
    /// A tool round has not been closed.
    #[error("a tool call is still open")]
    OpenRound,
    /// The summary did not make the history smaller.
    #[error("the summary is not smaller than what it replaces ({after} tokens, was {before})")]
    NotSmaller {
        /// Estimated tokens of the history.
        before: u64,
        /// Estimated tokens of the draft.
        after: u64,
    },
    /// The first message must be the user's.
    #[error("message {0}: a history starts with a message of the user")]
    Start(usize),
    /// A blank text block.
    #[error("message {0}: a text block is blank")]
    Blank(usize),
    /// A call without its result, or the other way round.
    #[error("message {0}: tool call {1} and its result do not pair up")]
    Unpaired(usize, ToolUseId),
    /// Two calls with one id.
    #[error("message {0}: tool call id {1} is used twice")]
    Twice(usize, ToolUseId),
}

/// The round of the last assistant message: its calls, each with its result once that is known.
#[derive(Debug)]
struct Round(Vec<(ToolUseId, Option<Block>)>);

fn result_block((id, result): &(ToolUseId, Option<Block>)) -> Block {
    result.clone().unwrap_or_else(|| Block::ToolResult {
        tool_use_id: id.clone(),
        content: ResultContent::Text(INTERRUPTED.into()),
        is_error: true,
    })
}

/// The text of a result that nobody gave.
pub const INTERRUPTED: &str = "Error: interrupted before it finished; its effects are unknown";

/// A history that can be sent at any time.
#[derive(Debug)]
pub struct Conversation {
    prefix: Arc<Prefix>,
    messages: Arc<Vec<Arc<Message>>>,
    round: Option<Round>,
    /// Every call id of the session: renamed ids must not meet an old one, in any epoch.
    ids: HashSet<ToolUseId>,
    /// Tokens of the first `.1` messages, as the API counted them.
    measured: (u64, usize),
    /// What was last asked for, carried verbatim through every summary.
    request: Vec<Block>,
}

impl Conversation {
    /// An empty history behind `prefix`.
    pub fn new(prefix: Prefix) -> Self {
        Self {
            prefix: Arc::new(prefix),
            messages: Arc::default(),
            round: None,
            ids: HashSet::new(),
            measured: (0, 0),
            request: Vec::new(),
        }
    }

    /// System prompt and tools of this epoch.
    pub fn prefix(&self) -> Arc<Prefix> {
        self.prefix.clone()
    }

    /// The messages so far. The results of an open round are not among them yet.
    pub fn messages(&self) -> Arc<Vec<Arc<Message>>> {
        self.messages.clone()
    }

    /// The history as it would be sent now: with the results of an open round.
    pub fn history(&self) -> Arc<Vec<Arc<Message>>> {
        let mut messages = self.messages.clone();
        if let Some(round) = &self.round {
            let results = round.0.iter().map(result_block).collect();
            Arc::make_mut(&mut messages).push(Arc::new(Message::new(Role::User, results)));
        }
        messages
    }

    /// What was last asked for.
    pub fn request(&self) -> &[Block] {
        &self.request
    }

    /// Takes a request of a person or a program. An open round is closed in the same message,
    /// results first. Errors when nothing but blanks is left; then nothing has changed.
    pub fn push_user(&mut self, content: Vec<Block>) -> Result<Arc<Message>, Fault> {
        let said: Vec<Block> = content.into_iter().filter(|block| !block.is_blank()).collect();
        if said.is_empty() {
            return Err(Fault::Empty);
        }
        self.request = said.clone();
        let mut blocks = self.take_results();
        blocks.extend(said);
        Ok(self.push(Message::new(Role::User, blocks)))
    }

    /// Closes an open round and appends what features add to it; nothing when there is neither.
    pub fn append(&mut self, added: Vec<Block>) -> Option<Arc<Message>> {
        let mut blocks = self.take_results();
        blocks.extend(added.into_iter().filter(|block| !block.is_blank()));
        (!blocks.is_empty()).then(|| self.push(Message::new(Role::User, blocks)))
    }

    /// Takes what the model said: blank texts are dropped, call ids made unique and sendable.
    /// `None` when nothing is left, and then nothing has changed.
    pub fn push_assistant(&mut self, content: Vec<Block>) -> Option<Arc<Message>> {
        let mut blocks: Vec<Block> =
            content.into_iter().filter(|block| !block.is_blank()).collect();
        if blocks.is_empty() {
            return None;
        }
        self.append(Vec::new());
        let mut calls = Vec::new();
        for block in &mut blocks {
            if let Block::ToolUse { id, .. } = block {
                *id = self.unused_id(id);
                self.ids.insert(id.clone());
                calls.push((id.clone(), None));
            }
        }
        self.round = (!calls.is_empty()).then_some(Round(calls));
        Some(self.push(Message::new(Role::Assistant, blocks)))
    }

    /// Takes the result of one call of the open round. A second result for a call, or one for a call
    /// that is not open, changes nothing and is `false`.
    pub fn record_result(
        &mut self,
        id: &ToolUseId,
        content: ResultContent,
        is_error: bool,
    ) -> bool {
        let open = self.round.iter_mut().flat_map(|round| &mut round.0);
        let Some((_, slot)) = open.into_iter().find(|(call, slot)| call == id && slot.is_none())
        else {
            return false;
        };
        *slot = Some(Block::ToolResult { tool_use_id: id.clone(), content, is_error });
        true
    }

    /// Replaces the history, and the prefix where one is given. On an error nothing has changed.
    pub fn open_epoch(&mut self, draft: Draft, prefix: Option<Prefix>) -> Result<(), Fault> {
        if self.round.is_some() && draft.kind != EpochKind::Fresh {
            return Err(Fault::OpenRound);
        }
        check(&draft.messages)?;
        let after = draft.messages.iter().map(Message::weight).sum::<usize>() as u64 / 4;
        let before = self.tokens();
        match draft.kind {
            EpochKind::Summary if after >= before => {
                return Err(Fault::NotSmaller { before, after });
            }
            EpochKind::Summary | EpochKind::Filtered | EpochKind::Fresh => {}
        }
        self.round = None;
        self.messages = Arc::new(draft.messages.into_iter().map(Arc::new).collect());
        self.measured = (0, 0);
        if let Some(prefix) = prefix {
            self.prefix = Arc::new(prefix);
        }
        Ok(())
    }

    /// Notes what the API counted in the call whose answer is the last message.
    pub fn measure(&mut self, usage: Usage) {
        if usage.total() > 0 {
            let tokens = usage.total().saturating_sub(self.prefix.tokens());
            self.measured = (tokens, self.messages.len());
        }
    }

    /// The size of the messages in tokens: as measured, plus bytes / 4 of what came after.
    pub fn tokens(&self) -> u64 {
        let (tokens, count) = self.measured;
        let rest: usize = self.messages.iter().skip(count).map(|message| message.weight()).sum();
        tokens + rest as u64 / 4
    }

    fn push(&mut self, message: Message) -> Arc<Message> {
        let message = Arc::new(message);
        // In place: a request holds the list only while it is being answered.
        Arc::make_mut(&mut self.messages).push(message.clone());
        message
    }

    fn take_results(&mut self) -> Vec<Block> {
        let Some(Round(calls)) = self.round.take() else { return Vec::new() };
        calls.iter().map(result_block).collect()
    }

    /// The id itself where it is sendable and new; else the nearest that is.
    fn unused_id(&self, id: &ToolUseId) -> ToolUseId {
        let allowed = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
        let base: String = id.0.chars().map(allowed).collect();
        let base = if base.is_empty() { "call".to_owned() } else { base };
        let mut candidate = ToolUseId(base.clone());
        let mut number = 2;
        while self.ids.contains(&candidate) {
            candidate = ToolUseId(format!("{base}_{number}"));
            number += 1;
        }
        candidate
    }
}

/// Checks that a history can be sent: the rules that [`Conversation`] keeps by itself.
pub fn check(messages: &[Message]) -> Result<(), Fault> {
    let mut ids = HashSet::new();
    let mut open: Vec<&ToolUseId> = Vec::new();
    for (number, message) in messages.iter().enumerate() {
        if number == 0 && message.role() != Role::User {
            return Err(Fault::Start(number));
        }
        if message.content().is_empty() || message.content().iter().any(Block::is_blank) {
            return Err(Fault::Blank(number));
        }
        let mut expected = std::mem::take(&mut open).into_iter();
        for block in message.content() {
            match block {
                Block::ToolResult { tool_use_id, .. } => {
                    if message.role() != Role::User || expected.next() != Some(tool_use_id) {
                        return Err(Fault::Unpaired(number, tool_use_id.clone()));
                    }
                }
                Block::ToolUse { id, .. } => {
                    if message.role() != Role::Assistant {
                        return Err(Fault::Unpaired(number, id.clone()));
                    }
                    if !ids.insert(id) {
                        return Err(Fault::Twice(number, id.clone()));
                    }
                    open.push(id);
                }
                Block::Text { .. } | Block::Thinking { .. } | Block::Other(_) => {
                    // Results come first: once something else is met, none may be missing.
                    if let Some(id) = expected.next() {
                        return Err(Fault::Unpaired(number, id.clone()));
                    }
                }
            }
        }
        if let Some(id) = expected.next() {
            return Err(Fault::Unpaired(number, id.clone()));
        }
    }
    match open.first() {
        Some(id) => Err(Fault::Unpaired(messages.len(), (*id).clone())),
        None => Ok(()),
    }
}

/// A conversation that a session and a running query share. Locked for moments, never across waits.
#[derive(Debug, Clone)]
pub struct SharedConversation(Arc<Mutex<Conversation>>);

impl SharedConversation {
    /// Shares a conversation.
    pub fn new(conversation: Conversation) -> Self {
        Self(Arc::new(Mutex::new(conversation)))
    }

    /// The conversation, for a moment. A panic elsewhere while it was held does not lose it: every
    /// method leaves it whole.
    pub fn lock(&self) -> MutexGuard<'_, Conversation> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

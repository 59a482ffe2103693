//! Owns history: the only way to grow it, and the only way to replace it.
//! Must not know who produces messages or who sends them.
//!
//! What the APIs demand is made impossible to break here instead of being repaired elsewhere:
//! every `tool_use` is answered once, in the next message, results first; no text is blank; ids are
//! unique; nothing that was sent is ever edited. A change of what is sent opens a new epoch.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard};

use thiserror::Error;

use crate::*;

/// One block of the system prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SystemBlock {
    /// The text, not blank.
    pub text: String,
    /// Whether what comes up to here stays the same between sessions, so that a cache mark pays. Blocks
    /// without it are facts of the session, and children inherit them.
    pub cache: bool,
}

/// What comes before the messages: frozen for an epoch, so that the vendor's cache keeps it.
#[derive(Debug, Default)]
pub struct Prefix {
    /// The system prompt.
    pub system: Vec<SystemBlock>,
    /// What the model knows of the tools.
    pub tools: Vec<ToolSpec>,
    /// What dialects serialised.
    pub memo: Memo,
}

impl Prefix {
    /// A prefix of these parts.
    pub fn new(system: Vec<SystemBlock>, tools: Vec<ToolSpec>) -> Self {
        Self { system, tools, memo: Memo::default() }
    }

    /// An estimate of its size in tokens: bytes / 4.
    pub fn tokens(&self) -> u64 {
        let system = self.system.iter().map(|block| block.text.len());
        let tool = |tool: &ToolSpec| tool.name.len() + tool.description.len() + value_weight(&tool.input_schema);
        (system.chain(self.tools.iter().map(tool)).sum::<usize>() / 4) as u64
    }
}

/// Why history may be replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EpochKind {
    /// A summary takes the place of what it summarises. It must be smaller.
    Summary,
    /// The same messages less some blocks; whoever drafts it sees to that.
    Filtered,
    /// A fresh start, as after `/clear`: the draft may be empty.
    Fresh,
}

/// Messages that shall become the history. Checked like any history before they do.
#[derive(Debug)]
pub struct Draft {
    /// Why.
    pub kind: EpochKind,
    /// The whole new history. What is the same as before is shared, with its serialised bytes.
    pub messages: Vec<Arc<Message>>,
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
    /// A message breaks a rule of the APIs.
    #[error("message {number}: {rule}")]
    Broken {
        /// Its place in the history, from 0.
        number: usize,
        /// The rule.
        rule: &'static str,
    },
}

/// A call of the last assistant message, with its result once that is known.
type Open = (ToolUseId, Option<Block>);

fn result_block((id, result): &Open) -> Block {
    result.clone().unwrap_or_else(|| Block::result(id.clone(), ResultContent::Text(INTERRUPTED.into()), true))
}

/// The text of a result that nobody gave.
pub const INTERRUPTED: &str = "Error: interrupted before it finished; its effects are unknown";

/// A history that can be sent at any time.
#[derive(Debug)]
pub struct Conversation {
    prefix: Arc<Prefix>,
    messages: Arc<Vec<Arc<Message>>>,
    /// The open round; empty where none is open.
    round: Vec<Open>,
    /// Every call id of the session: renamed ids must not meet an old one, in any epoch. With each, the
    /// last number that a call of this id was given: a server may use one id for all calls.
    ids: HashMap<ToolUseId, u32>,
    /// Tokens of the messages up to the last answer that the API counted.
    measured: u64,
    /// Bytes of the messages after it.
    unmeasured: usize,
    /// What was last asked for, carried verbatim through every summary.
    asked: Vec<Block>,
    /// Tokens with which the last summary left the history.
    floor: u64,
}

impl Conversation {
    /// An empty history behind `prefix`.
    pub fn new(prefix: Prefix) -> Self {
        Self {
            prefix: Arc::new(prefix),
            messages: Arc::default(),
            round: Vec::new(),
            ids: HashMap::new(),
            measured: 0,
            unmeasured: 0,
            asked: Vec::new(),
            floor: 0,
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
        if !self.round.is_empty() {
            let results = self.round.iter().map(result_block).collect();
            Arc::make_mut(&mut messages).push(Arc::new(Message::new(Role::User, results)));
        }
        messages
    }

    /// What was last asked for.
    pub fn asked(&self) -> &[Block] {
        &self.asked
    }

    /// Tokens with which the last summary left the history; 0 where there was none.
    pub fn floor(&self) -> u64 {
        self.floor
    }

    /// Takes a request of a person or a program, and gives it back as it was taken. An open round is
    /// closed in the same message, results first. Errors when nothing but blanks is left; then
    /// nothing has changed.
    pub fn push_user(&mut self, content: Vec<Block>) -> Result<Arc<Message>, Fault> {
        let said = self.append(content).ok_or(Fault::Empty)?;
        self.asked = said.content.to_vec();
        Ok(said)
    }

    /// Closes an open round, appends what is said after it, and gives that back; `None` when nothing
    /// but blanks was said, and then the round stays as it is.
    pub fn append(&mut self, content: Vec<Block>) -> Option<Arc<Message>> {
        let said: Vec<Block> = content.into_iter().filter(|block| block.may_be_said_by(Role::User)).collect();
        if said.is_empty() {
            return None;
        }
        let mut blocks = self.take_results();
        if blocks.is_empty() {
            return Some(self.push(Message::new(Role::User, said)));
        }
        blocks.extend(said.iter().cloned());
        self.push(Message::new(Role::User, blocks));
        Some(Arc::new(Message::new(Role::User, said)))
    }

    /// Closes an open round: one user message with every result in call order; what has none is
    /// answered as interrupted.
    pub fn close_round(&mut self) {
        let blocks = self.take_results();
        if !blocks.is_empty() {
            self.push(Message::new(Role::User, blocks));
        }
    }

    /// Takes what the model said: blank texts are dropped, call ids made unique and sendable.
    /// `None` when nothing is left or nothing was asked, and then nothing has changed.
    pub fn push_assistant(&mut self, content: Vec<Block>) -> Option<Arc<Message>> {
        let mut blocks: Vec<Block> =
            content.into_iter().filter(|block| block.may_be_said_by(Role::Assistant)).collect();
        if blocks.is_empty() || self.messages.is_empty() {
            return None;
        }
        self.close_round();
        for block in &mut blocks {
            if let Block::ToolUse { id, .. } = block {
                *id = self.unused_id(id);
                self.ids.insert(id.clone(), 1);
                self.round.push((id.clone(), None));
            }
        }
        Some(self.push(Message::new(Role::Assistant, blocks)))
    }

    /// Takes the result of one call of the open round. A second result for a call, or one for a call
    /// that is not open, changes nothing and is `false`.
    pub fn record_result(&mut self, id: &ToolUseId, content: ResultContent, is_error: bool) -> bool {
        let open = self.round.iter_mut().find(|(call, slot)| call == id && slot.is_none());
        let taken = open.is_some();
        if let Some((_, slot)) = open {
            *slot = Some(Block::result(id.clone(), content.sendable(), is_error));
        }
        taken
    }

    /// Replaces the history, and the prefix where one is given. On an error nothing has changed.
    pub fn open_epoch(&mut self, draft: Draft, prefix: Option<Prefix>) -> Result<(), Fault> {
        if !self.round.is_empty() && draft.kind != EpochKind::Fresh {
            return Err(Fault::OpenRound);
        }
        check(&draft.messages)?;
        let bytes = draft.messages.iter().map(|message| message.weight()).sum::<usize>();
        let after = bytes as u64 / 4;
        let before = self.tokens();
        if draft.kind == EpochKind::Summary && after >= before {
            return Err(Fault::NotSmaller { before, after });
        }
        // A summary carries the request in its first message; any other history says itself what was
        // asked last.
        if draft.kind != EpochKind::Summary {
            let asked = draft.messages.iter().rfind(|message| message.is_plain_user());
            self.asked = asked.map(|message| message.content.to_vec()).unwrap_or_default();
        }
        let uses = draft.messages.iter().flat_map(|message| message.tool_uses());
        self.ids.extend(uses.map(|(id, ..)| (id.clone(), 1)));
        self.round.clear();
        self.floor = if draft.kind == EpochKind::Summary { after } else { 0 };
        self.messages = Arc::new(draft.messages);
        (self.measured, self.unmeasured) = (0, bytes);
        self.prefix = prefix.map_or_else(|| self.prefix(), Arc::new);
        Ok(())
    }

    /// Notes what the API counted in the call whose answer is the last message.
    pub fn measure(&mut self, usage: Usage) {
        if usage.total() > 0 {
            self.measured = usage.total().saturating_sub(self.prefix.tokens());
            self.unmeasured = 0;
        }
    }

    /// The size of the messages in tokens: as measured, plus bytes / 4 of what came after.
    pub fn tokens(&self) -> u64 {
        self.measured + self.unmeasured as u64 / 4
    }

    fn push(&mut self, message: Message) -> Arc<Message> {
        let message = Arc::new(message);
        self.unmeasured += message.weight();
        // In place: a request holds the list only while it is being answered.
        Arc::make_mut(&mut self.messages).push(message.clone());
        message
    }

    fn take_results(&mut self) -> Vec<Block> {
        std::mem::take(&mut self.round).iter().map(result_block).collect()
    }

    /// The id itself where it is sendable and new; else the nearest that is.
    fn unused_id(&mut self, id: &ToolUseId) -> ToolUseId {
        let base = ToolUseId(sendable(id));
        let mut candidate = base.clone();
        while self.ids.contains_key(&candidate) {
            let number = self.ids.entry(base.clone()).or_insert(1);
            *number += 1;
            candidate = ToolUseId(format!("{base}_{number}"));
        }
        candidate
    }
}

/// The id in characters that every API takes.
fn sendable(id: &ToolUseId) -> String {
    let allowed = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
    match id.0.as_str() {
        "" => "call".to_owned(),
        text => text.chars().map(allowed).collect(),
    }
}

/// Checks that a history can be sent: the rules that [`Conversation`] keeps by itself.
pub fn check(messages: &[Arc<Message>]) -> Result<(), Fault> {
    let mut ids = HashSet::new();
    let mut open: Vec<&ToolUseId> = Vec::new();
    for (number, message) in messages.iter().enumerate() {
        let broken = |rule| Err(Fault::Broken { number, rule });
        if number == 0 && message.role != Role::User {
            return broken("a history starts with a message of the user");
        }
        if message.content.is_empty() || message.content.iter().any(Block::is_blank) {
            return broken("no message and no text may be blank");
        }
        let results: Vec<&ToolUseId> = message.content.iter().map_while(Block::answers).collect();
        let late = message.content.iter().skip(results.len()).any(|block| block.answers().is_some());
        if results != open || late || (message.role == Role::Assistant && !results.is_empty()) {
            return broken("the results of all calls before it come first, in order, and no others");
        }
        open = message.tool_uses().map(|(id, ..)| id).collect();
        if message.role == Role::User && !open.is_empty() {
            return broken("only the model calls tools");
        }
        if open.iter().any(|id| sendable(id) != id.0 || !ids.insert(*id)) {
            return broken("call ids are unique and of letters, digits, - and _");
        }
    }
    match open.is_empty() {
        true => Ok(()),
        false => Err(Fault::Broken { number: messages.len(), rule: "the results of the last calls are missing" }),
    }
}

/// A conversation that a session and a running query share. Locked for moments, never across waits;
/// leased to one query at a time.
#[derive(Debug, Clone)]
pub struct SharedConversation {
    conversation: Arc<Mutex<Conversation>>,
    lease: Arc<tokio::sync::Mutex<()>>,
}

impl SharedConversation {
    /// Shares a conversation.
    pub fn new(conversation: Conversation) -> Self {
        Self { conversation: Arc::new(Mutex::new(conversation)), lease: Arc::default() }
    }

    /// Waits until no other query works on it. One whose consumer went away may still be winding
    /// down, and must not write into the next prompt.
    pub(crate) async fn lease(&self) -> tokio::sync::OwnedMutexGuard<()> {
        self.lease.clone().lock_owned().await
    }

    /// The conversation, for a moment. A panic elsewhere while it was held does not lose it: every
    /// method leaves it whole.
    pub fn lock(&self) -> MutexGuard<'_, Conversation> {
        lock(&self.conversation)
    }
}

//! Owns what becomes of a conversation that cannot go on as it is: when history is summarised, and
//! the ladder of remedies after a failed or unfinished answer. Must not know the loop that asks.
//!
//! Each rung has a name and is tried once per prompt, the cheapest first; what changes history opens
//! an epoch.

mod filter;
mod summary;

use std::sync::{Mutex, PoisonError};

use async_trait::async_trait;
use kernel::{Act, Block, Case, Draft, EpochKind, ErrorKind, Extension, ModelError, Remedy, StopReason, Trouble};

use filter::Media;

/// Threshold where the context window is not known, in tokens of messages.
const UNKNOWN_WINDOW: u64 = 30_000;
/// Media of fewer bytes stay when a request is too large: leaving them out would not help.
const LARGE_MEDIA: usize = 64 * 1024;

const NUDGE: &str = "Your last message had no answer in it. Go on.";
const CONTINUE: &str = "Your last message was cut at the output limit. Go on exactly where it ends; write \
                        long files in several smaller steps.";
const HALF_CALL: &str = "Your last message ended inside a tool call that was written as text, so nothing was run. \
                         Call the tool again, whole, through the tool interface.";

/// What is known of the model, as far as it decides about history. All sizes in tokens.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Policy {
    /// Set by a person: the size of messages above which they are summarised.
    pub threshold: Option<u64>,
    /// The context window, where known.
    pub window: Option<u64>,
    /// What must stay free for the answer.
    pub reserve: u64,
    /// The longest answer that the model gives, where known.
    pub max_output: Option<u32>,
    /// Whether thinking is void once something before it changes.
    pub bound: bool,
    /// Whether the vendor wants the thinking of every tool turn back.
    pub echo: bool,
}

impl Policy {
    /// Tokens of messages above which history is summarised, when `fixed` go to system and tools.
    pub fn threshold(&self, fixed: u64) -> u64 {
        let of_window = |window: u64| window.saturating_sub(self.reserve) * 4 / 5;
        self.threshold
            .or_else(|| self.window.map(|window| of_window(window).saturating_sub(fixed)))
            .unwrap_or(UNKNOWN_WINDOW)
    }
}

/// The feature. Its policy changes with the model.
#[derive(Debug, Default)]
pub struct Context(Mutex<Policy>);

impl Context {
    /// A feature that acts by this policy.
    pub fn new(policy: Policy) -> Self {
        Self(Mutex::new(policy))
    }

    /// Replaces the policy, from the next question on.
    pub fn set(&self, policy: Policy) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = policy;
    }

    fn policy(&self) -> Policy {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

#[async_trait]
impl Extension for Context {
    fn name(&self) -> &str {
        "context"
    }

    async fn remedy(&self, case: &Case<'_>) -> Option<Remedy> {
        let policy = self.policy();
        match case.trouble {
            Trouble::Before => match is_due(case, &policy) {
                true => summarised("auto", case, &policy).await,
                false => None,
            },
            Trouble::Asked => {
                let act = summary::act(case, &policy).await;
                let nothing = || Act::Fail("nothing to compact yet".to_owned());
                Some(Remedy { name: "manual", act: act.unwrap_or_else(nothing) })
            }
            Trouble::Failed(error) => after_failure(case, error, &policy).await,
            Trouble::Unfinished(stop) => after_cut(case, stop, &policy).await,
        }
    }
}

/// Whether history is over the threshold. What cannot get much smaller must not be summarised at
/// every turn: it must first grow by a quarter, and to three times its size where a summary was not enough.
fn is_due(case: &Case<'_>, policy: &Policy) -> bool {
    let conversation = case.conversation();
    let threshold = policy.threshold(conversation.prefix().tokens());
    let floor = conversation.floor();
    let grown = if floor > threshold { 3 * floor } else { floor + threshold / 4 };
    conversation.tokens() > threshold.max(grown)
}

/// Whether history may be too much for the model, as far as an estimate can tell. What is refused as
/// too large for another reason would be so after a summary too.
fn is_near_window(case: &Case<'_>, policy: &Policy) -> bool {
    let conversation = case.conversation();
    let fixed = conversation.prefix().tokens();
    let window = policy.window.unwrap_or_else(|| fixed + policy.threshold(fixed));
    3 * (fixed + conversation.tokens()) >= 2 * window
}

async fn summarised(name: &'static str, case: &Case<'_>, policy: &Policy) -> Option<Remedy> {
    match case.tried.contains(&name) {
        true => None,
        false => summary::act(case, policy).await.map(|act| Remedy { name, act }),
    }
}

async fn after_failure(case: &Case<'_>, error: &ModelError, policy: &Policy) -> Option<Remedy> {
    match error.kind {
        ErrorKind::ContextOverflow | ErrorKind::TooLarge => {
            match without_media(case, policy, Media::LargerThan(LARGE_MEDIA)) {
                Some(remedy) => Some(remedy),
                None if error.kind == ErrorKind::TooLarge && !is_near_window(case, policy) => None,
                None => summarised("overflow", case, policy).await,
            }
        }
        ErrorKind::Media => {
            let named = filter::named_message(&error.message).map(Media::Of);
            named
                .and_then(|named| without_media(case, policy, named))
                .or_else(|| without_media(case, policy, Media::All))
        }
        // A vendor that wants all thinking back is not helped by less of it.
        ErrorKind::Thinking if !policy.echo => {
            let messages = filter::without_thinking(&case.conversation().messages())?;
            Some(filtered("thinking", messages))
        }
        ErrorKind::Thinking
        | ErrorKind::RateLimited(_)
        | ErrorKind::Overloaded(_)
        | ErrorKind::Transport
        | ErrorKind::Stalled
        | ErrorKind::Auth
        | ErrorKind::Billing
        | ErrorKind::NotFound
        | ErrorKind::Invalid
        | ErrorKind::Refused => None,
    }
}

/// `None` where no such medium is in the history, or it was tried.
fn without_media(case: &Case<'_>, policy: &Policy, which: Media) -> Option<Remedy> {
    if case.tried.contains(&"media") {
        return None;
    }
    let messages = filter::without_media(&case.conversation().messages(), which)?;
    // Thinking that was made behind a medium is void without it.
    let messages = match policy.bound {
        true => filter::without_thinking(&messages).unwrap_or(messages),
        false => messages,
    };
    Some(filtered("media", messages))
}

fn filtered(name: &'static str, messages: filter::Messages) -> Remedy {
    Remedy { name, act: Act::Epoch(Draft { kind: EpochKind::Filtered, messages }) }
}

async fn after_cut(case: &Case<'_>, stop: &StopReason, policy: &Policy) -> Option<Remedy> {
    let say = |name, text: &str| Some(Remedy { name, act: Act::Say(text.to_owned()) });
    match stop {
        StopReason::MaxTokens => match policy.max_output.filter(|most| *most > case.max_tokens) {
            Some(most) if !case.tried.contains(&"longer") => Some(Remedy { name: "longer", act: Act::Longer(most) }),
            Some(_) | None => say("continue", CONTINUE),
        },
        StopReason::ContextWindow => summarised("overflow", case, policy).await,
        StopReason::HalfCall => say("half call", HALF_CALL),
        StopReason::EndTurn | StopReason::Other(_) => say("nudge", NUDGE),
        StopReason::PauseTurn | StopReason::Refusal(_) => None,
    }
}

/// The history without thinking, as a change of provider needs it. `None` where it has none.
pub fn without_thinking(conversation: &kernel::Conversation) -> Option<Draft> {
    let messages = filter::without_thinking(&conversation.messages())?;
    Some(Draft { kind: EpochKind::Filtered, messages })
}

/// Whether a block is reasoning of a model.
fn is_thinking(block: &Block) -> bool {
    match block {
        Block::Thinking { .. } => true,
        Block::Other(value) => value["type"] == "redacted_thinking",
        Block::Text { .. } | Block::ToolUse { .. } | Block::ToolResult { .. } => false,
    }
}

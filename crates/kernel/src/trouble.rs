//! Owns what happens when a turn cannot go on by itself: the case, as features are told of it, and
//! the remedies that they may propose. Must not know which remedies there are.

use std::sync::Arc;
use std::time::Duration;

use crate::*;

/// What a case is about.
#[derive(Debug, Clone, Copy)]
pub enum Trouble<'a> {
    /// None yet: the model is about to be called, and history may be too large for it.
    Before,
    /// A person wants history summarised.
    Asked,
    /// A call failed for good.
    Failed(&'a ModelError),
    /// The answer calls no tool and is no end either: it was cut, or has no words in it.
    Unfinished(&'a StopReason),
}

/// A turn that may not be able to go on, and what a remedy can be made of. No round is open.
pub struct Case<'a> {
    /// Where in the session.
    pub at: At,
    /// What is wrong.
    pub trouble: Trouble<'a>,
    /// Names of the remedies that this prompt has had.
    pub tried: &'a [&'static str],
    /// How long the answer could be, in tokens.
    pub max_tokens: u32,
    scope: &'a Arc<Scope>,
}

/// What helps. Each name helps once per prompt; before a call as often as it does.
#[derive(Debug)]
pub struct Remedy {
    /// A word for it, shown with what comes of it.
    pub name: &'static str,
    /// What it does.
    pub act: Act,
}

/// What a remedy does.
#[derive(Debug)]
pub enum Act {
    /// The same turn again, with this history. What was shown of an answer is void.
    Epoch(Draft),
    /// The same turn again, with an answer of up to this many tokens. What was shown is void.
    Longer(u32),
    /// The answer is kept, this is said to the model, and the next turn begins.
    Say(String),
    /// Nothing, and a person is told why.
    Fail(String),
}

impl Case<'_> {
    /// The conversation, for a moment.
    pub fn conversation(&self) -> std::sync::MutexGuard<'_, Conversation> {
        self.scope.params.conversation.lock()
    }

    /// What every summary must carry on verbatim.
    pub fn pins(&self) -> Vec<String> {
        self.scope.params.extensions.iter().flat_map(|feature| feature.pins()).collect()
    }

    /// Asks the model `text` about the history, or about `instead` of it. Nothing of this enters
    /// the conversation. `None` where the model wrote no whole answer, `Err(None)` when the prompt was interrupted.
    pub async fn ask(&self, instead: Option<Vec<Message>>, text: &str) -> Result<Option<String>, Option<ModelError>> {
        let mut request = request(&self.scope.params, Some(self.max_tokens));
        if let Some(messages) = instead {
            request.messages = Arc::new(messages.into_iter().map(Arc::new).collect());
        }
        request.extra = Some(Arc::new(Message::user(text)));
        match call_model(self.scope, request, Audience::Nobody).await {
            Answered::Whole(Reply { blocks, stop, usage, .. }) => {
                count(self.scope, usage).await;
                let said = Message::new(Role::Assistant, blocks);
                let ended = matches!(stop, StopReason::EndTurn | StopReason::Other(_));
                let whole = ended && said.tool_uses().next().is_none();
                match self.scope.params.cancel.is_cancelled() {
                    true => Err(None),
                    false => Ok(Some(said.text()).filter(|text| whole && !text.trim().is_empty())),
                }
            }
            Answered::Failed { error, .. } => Err(Some(error)),
            Answered::Stopped(why) => Err(Some(ModelError::new(ErrorKind::Invalid, why))),
            Answered::Aborted { .. } => Err(None),
        }
    }
}

/// Lets the features help, and does what the first remedy says that was not tried yet. `None` when
/// nothing came of it; a person was told why. What an answer has so far is kept or void accordingly.
pub(crate) async fn help(
    scope: &Arc<Scope>,
    at: At,
    trouble: Trouble<'_>,
    progress: &mut Progress,
    reply: &mut Option<Reply>,
) -> Option<Step> {
    scope.params.conversation.lock().close_round();
    let max_tokens = progress.longer.unwrap_or(scope.params.max_tokens);
    let case = Case { at, trouble, tried: &progress.tried, max_tokens, scope };
    let mut proposed = None;
    for extension in scope.params.extensions.iter() {
        proposed = extension.remedy(&case).await.filter(|remedy| !case.tried.contains(&remedy.name));
        if proposed.is_some() {
            break;
        }
    }
    let Remedy { name, act } = proposed?;
    progress.tried.push(name);
    if let Some(Reply { blocks, usage, .. }) = reply.take_if(|_| !matches!(act, Act::Fail(_))) {
        match act {
            Act::Say(_) => drop(keep(scope, blocks, usage).await),
            Act::Epoch(_) | Act::Longer(_) | Act::Fail(_) => {
                count(scope, usage).await;
                let void = retry_event(format!("the answer was not whole ({name})"), 1, Duration::ZERO, true);
                scope.outlet.send(void).await;
            }
        }
    }
    let fault = match act {
        Act::Longer(limit) => {
            progress.longer = Some(limit);
            return Some(Step::Again);
        }
        Act::Say(text) => {
            append(scope, vec![(name.to_owned(), vec![Block::text(text)])]).await;
            return Some(Step::GoOn);
        }
        Act::Epoch(draft) => match open_epoch(scope, draft, name).await {
            Ok(()) => {
                progress.tried.retain(|tried| *tried != name || !matches!(trouble, Trouble::Before));
                return Some(Step::Again);
            }
            Err(fault) => format!("the history stays as it was: {fault}"),
        },
        Act::Fail(text) => text,
    };
    scope.outlet.send(AgentEvent::notice(name, Level::Error, fault)).await;
    None
}

/// Opens an epoch and says so.
async fn open_epoch(scope: &Scope, draft: Draft, kind: &str) -> Result<(), Fault> {
    let (tokens_before, tokens_after) = {
        let mut conversation = scope.params.conversation.lock();
        let before = conversation.tokens();
        conversation.open_epoch(draft, None)?;
        (before, conversation.tokens())
    };
    let event = AgentEvent::Compact { kind: kind.to_owned(), tokens_before, tokens_after };
    scope.outlet.send(event).await;
    Ok(())
}

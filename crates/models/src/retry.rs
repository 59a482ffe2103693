//! Owns when a failed call is made again: before anything of its answer was seen, for errors that
//! pass. Must not know what a call is made of. After the first delta the loop decides.

use std::sync::Arc;
use std::time::Duration;

use futures::{StreamExt, stream};
use kernel::{Model, ModelError, ModelEvent, ModelEvents, ModelRequest};

/// The reason of a wait is shown up to this many characters.
const SHOWN: usize = 200;

/// A model that asks `M` again, as often as the request's budget allows, for errors that pass. Once a
/// delta or a block has been passed on, whatever follows is passed on too. A whole answer gives one
/// attempt back, so that a budget bounds what a broken server costs, and not how long a prompt may be.
#[derive(Debug)]
pub struct Retrying<M: ?Sized>(Arc<M>);

impl<M> Retrying<M> {
    /// Decorates `model`.
    pub fn new(model: M) -> Self {
        Self(Arc::new(model))
    }
}

impl<M: ?Sized> From<Arc<M>> for Retrying<M> {
    fn from(model: Arc<M>) -> Self {
        Self(model)
    }
}

impl<M: Model + ?Sized + 'static> Model for Retrying<M> {
    fn stream(&self, request: ModelRequest) -> ModelEvents {
        let call = Call { model: self.0.clone(), request, answer: None, wait: None, begun: false, over: false };
        Box::pin(stream::unfold(call, |mut call| async move { call.next().await.map(|event| (event, call)) }))
    }
}

struct Call<M: ?Sized> {
    model: Arc<M>,
    request: ModelRequest,
    answer: Option<ModelEvents>,
    /// To wait before the next attempt, and the error that made it necessary.
    wait: Option<(Duration, ModelError)>,
    begun: bool,
    over: bool,
}

impl<M: Model + ?Sized> Call<M> {
    async fn next(&mut self) -> Option<Result<ModelEvent, ModelError>> {
        if self.over {
            return None;
        }
        if let Some((delay, error)) = self.wait.take() {
            tokio::select! {
                biased;
                () = self.request.cancel.cancelled() => {
                    self.over = true;
                    return Some(Err(error));
                }
                () = tokio::time::sleep(delay) => {}
            }
        }
        let answer = self.answer.get_or_insert_with(|| self.model.stream(self.request.clone()));
        let event = answer.next().await;
        match &event {
            Some(Ok(ModelEvent::Stop(_))) => {
                self.over = true;
                self.request.retries.refund();
            }
            Some(Ok(said)) => self.begun |= is_answer(said),
            None => self.over = true,
            Some(Err(error)) => {
                // A waiting call needs neither the connection nor the half answer.
                self.answer = None;
                let worth_it = error.kind.is_transient() && !self.begun;
                if let Some(attempt) = worth_it.then(|| self.request.retries.take()).flatten() {
                    let delay = kernel::retry::delay(attempt, error.kind.retry_after());
                    self.wait = Some((delay, error.clone()));
                    let reason = brief(&error.message);
                    return Some(Ok(ModelEvent::Retry { reason, attempt, delay }));
                }
                self.over = true;
            }
        }
        event
    }
}

/// Whether an event is part of the answer itself: from then on the call cannot be made again unseen.
pub(crate) fn is_answer(event: &ModelEvent) -> bool {
    match event {
        ModelEvent::TextDelta(_) | ModelEvent::ThinkingDelta(_) | ModelEvent::Block(_) => true,
        ModelEvent::Retry { .. } | ModelEvent::Usage(_) | ModelEvent::Alive | ModelEvent::Notice(_) => false,
        // Of half a call nothing was shown.
        ModelEvent::InputDelta | ModelEvent::Stop(_) => false,
    }
}

/// The first line of a message, of moderate length and without a page that a proxy may have sent.
fn brief(message: &str) -> String {
    let line = message.lines().next().unwrap_or_default();
    // Markup is letters right behind the sign; `A + B < C` is none.
    let markup = |at: &usize| line[*at + 1..].starts_with(|c: char| c.is_ascii_alphabetic() || c == '!');
    let words = &line[..line.match_indices('<').map(|(at, _)| at).find(markup).unwrap_or(line.len())];
    match words.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &words[..end]),
        None => words.trim_end_matches([' ', ':']).to_owned(),
    }
}

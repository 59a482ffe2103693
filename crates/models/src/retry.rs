//! Owns when a failed call is made again: before anything of its answer was seen, for errors that
//! pass. Must not know what a call is made of. After the first delta the loop decides.

use std::sync::Arc;
use std::time::Duration;

use futures::{StreamExt, stream};
use kernel::{Model, ModelError, ModelEvent, ModelEvents, ModelRequest};

/// A model that asks `M` again, as often as the request's budget allows. Once a delta or a block
/// has been passed on, whatever follows is passed on too.
#[derive(Debug)]
pub struct Retrying<M>(Arc<M>);

impl<M> Retrying<M> {
    /// Decorates `model`.
    pub fn new(model: M) -> Self {
        Self(Arc::new(model))
    }
}

impl<M: Model + 'static> Model for Retrying<M> {
    fn stream(&self, request: ModelRequest) -> ModelEvents {
        let call = Call { model: self.0.clone(), request, answer: None, wait: None, begun: false, over: false };
        Box::pin(stream::unfold(call, |mut call| async move { call.next().await.map(|event| (event, call)) }))
    }
}

struct Call<M> {
    model: Arc<M>,
    request: ModelRequest,
    answer: Option<ModelEvents>,
    /// To wait before the next attempt, and the error that made it necessary.
    wait: Option<(Duration, ModelError)>,
    begun: bool,
    over: bool,
}

impl<M: Model> Call<M> {
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
            Some(Ok(ModelEvent::TextDelta(_) | ModelEvent::ThinkingDelta(_) | ModelEvent::Block(_))) => {
                self.begun = true;
            }
            Some(Ok(ModelEvent::Retry { .. } | ModelEvent::Usage(_) | ModelEvent::Notice(_) | ModelEvent::Alive)) => {}
            Some(Ok(ModelEvent::Stop(_))) | None => self.over = true,
            Some(Err(error)) => {
                // A waiting call needs neither the connection nor the half answer.
                self.answer = None;
                let worth_it = error.kind.is_transient() && !self.begun;
                if let Some(attempt) = worth_it.then(|| self.request.retries.take()).flatten() {
                    let delay = kernel::retry::delay(attempt, error.kind.retry_after());
                    self.wait = Some((delay, error.clone()));
                    let reason = error.message.clone();
                    return Some(Ok(ModelEvent::Retry { reason, attempt, delay }));
                }
                self.over = true;
            }
        }
        event
    }
}

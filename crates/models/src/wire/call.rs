//! Owns one call over HTTP, from request to answer, in whatever dialect.
//! Must not know why a call is made, nor when it is made again.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use futures::stream;
use kernel::{ErrorKind, Model, ModelError, ModelEvent, ModelEvents, ModelRequest, Usage};
use reqwest::header::CONTENT_TYPE;
use reqwest::{Response, StatusCode};

use super::{Answer, Site, error, heard};
use crate::http::{Http, NetConfig, cause};
use crate::table::Shape;

/// Of the body of an error, more than this is never of use.
const ERROR_BODY: usize = 64 * 1024;
/// How long the end of a body may take after the last event.
const LINGER: Duration = Duration::from_millis(50);
/// How long more may be waited for once the model has said why it stopped. What can still come are
/// counts; some servers send none and leave the connection open.
const LAST_WORDS: Duration = Duration::from_secs(5);

/// A model at a provider. One attempt per call.
#[derive(Debug)]
pub struct Remote {
    site: Arc<Site>,
    http: Arc<Http>,
    shape: Shape,
    /// A person was told once that the server does not read everything.
    warned: Arc<AtomicBool>,
}

impl Remote {
    /// The provider at `site`, reached as `network` says; its requests have this shape.
    pub fn new(site: Site, shape: Shape, network: NetConfig) -> Self {
        let http = Arc::new(Http::new(network));
        Self { site: Arc::new(site), http, shape, warned: Arc::default() }
    }
}

impl Model for Remote {
    fn stream(&self, request: ModelRequest) -> ModelEvents {
        let call = Call {
            site: self.site.clone(),
            http: self.http.clone(),
            events: VecDeque::new(),
            sent: match self.warned.load(Ordering::Relaxed) {
                true => None,
                false => heard::at_least(&self.site, &request),
            },
            counted: Usage::default(),
            warned: self.warned.clone(),
            state: State::Unsent(self.site.dialect.body(&request, &self.shape)),
            model: request.model,
        };
        Box::pin(stream::unfold(call, |mut call| async move { call.next().await.map(|event| (event, call)) }))
    }
}

/// One call. Dropping it closes the connection or, in HTTP/2, the stream.
struct Call {
    site: Arc<Site>,
    http: Arc<Http>,
    model: String,
    state: State,
    events: VecDeque<ModelEvent>,
    /// An estimate of the prompt in tokens, where a person may have to be told.
    sent: Option<u64>,
    /// What the server counted last.
    counted: Usage,
    warned: Arc<AtomicBool>,
}

enum State {
    Unsent(Vec<u8>),
    Answering(Box<(Response, Answer)>),
    /// What came before the error is passed on first.
    Failed(ModelError),
    Over,
}

impl Call {
    async fn next(&mut self) -> Option<Result<ModelEvent, ModelError>> {
        loop {
            if let Some(event) = self.events.pop_front() {
                return Some(Ok(self.remarked(event)));
            }
            let advanced = match std::mem::replace(&mut self.state, State::Over) {
                State::Over => return None,
                State::Failed(error) => return Some(Err(error)),
                State::Unsent(body) => self.send(body).await,
                State::Answering(answering) => self.read(answering).await,
            };
            self.state = advanced.unwrap_or_else(State::Failed);
        }
    }

    /// The event, or before the last one a word about what the server did not read.
    fn remarked(&mut self, event: ModelEvent) -> ModelEvent {
        match &event {
            ModelEvent::Usage(usage) => self.counted = *usage,
            ModelEvent::Stop(_) => {
                let unread = self.sent.and_then(|sent| heard::unread(&self.site, sent, &self.counted));
                if let Some(text) = unread.filter(|_| !self.warned.swap(true, Ordering::Relaxed)) {
                    self.events.push_front(event);
                    return ModelEvent::Notice(text);
                }
            }
            _ => {}
        }
        event
    }

    async fn send(&self, body: Vec<u8>) -> Result<State, ModelError> {
        let site = &self.site;
        let client = self.http.client(&site.url).map_err(|fault| {
            ModelError::new(ErrorKind::Invalid, fault)
                .with_hint("Correct the proxy and certificate settings (HTTPS_PROXY, HTTP_PROXY, SSL_CERT_FILE, NODE_EXTRA_CA_CERTS)")
        })?;
        let sent = site.authorized(client.post(site.url.clone()))?.body(body).send().await;
        let answered = &self.http.answered;
        let mut response = sent.map_err(|fault| match answered.load(Ordering::Relaxed) {
            true => error::unreachable(site, &fault),
            false => error::never_reached(site, &fault),
        })?;
        answered.store(true, Ordering::Relaxed);
        if response.status() != StatusCode::OK {
            // An error without its body is still an error.
            let mut text = Vec::new();
            while let Ok(Some(chunk)) = response.chunk().await {
                text.extend_from_slice(&chunk);
                if text.len() > ERROR_BODY {
                    break;
                }
            }
            let (status, headers) = (response.status().as_u16(), response.headers());
            let now = SystemTime::now();
            return Err(error::of_response(site, &self.model, status, headers, &text, now));
        }
        let content_type = response.headers().get(CONTENT_TYPE);
        let content_type = content_type.and_then(|value| value.to_str().ok()).unwrap_or("");
        let answer = Answer::new(site.clone(), &self.model, content_type);
        Ok(State::Answering(Box::new((response, answer))))
    }

    async fn read(&mut self, mut answering: Box<(Response, Answer)>) -> Result<State, ModelError> {
        let (response, answer) = &mut *answering;
        let chunk = match answer.is_complete() {
            true => tokio::time::timeout(LAST_WORDS, response.chunk()).await.unwrap_or(Ok(None)),
            false => response.chunk().await,
        };
        match chunk {
            Ok(Some(bytes)) => {
                answer.push(&bytes, &mut self.events)?;
                if self.events.is_empty() {
                    self.events.push_back(ModelEvent::Alive);
                }
            }
            Ok(None) => answer.finish(&mut self.events)?,
            // A server that closes without ceremony after its last word has still said it.
            Err(_) if answer.is_complete() => answer.finish(&mut self.events)?,
            Err(fault) => return Err(error::cut(&self.site, Some(&cause(&fault)))),
        }
        if !matches!(self.events.back(), Some(ModelEvent::Stop(_))) {
            return Ok(State::Answering(answering));
        }
        // A connection can serve the next call once its body has been read to the end, and the end
        // comes with the last event or right after it.
        let _ = tokio::time::timeout(LINGER, answering.0.chunk()).await;
        Ok(State::Over)
    }
}

//! When a call is made again, and what is seen of it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use futures::{StreamExt, stream};
use kernel::{ErrorKind, Model, ModelError, ModelEvent, ModelEvents, ModelRequest};
use models::Retrying;
use serde_json::json;

use crate::server::{Reply, Server};
use crate::support::{ask, block, hello, model_at, says, sse, start, text};

fn busy(status: &'static str, kind: &str) -> Reply {
    let body = format!(r#"{{"type":"error","error":{{"type":"{kind}","message":"busy"}}}}"#);
    Reply::new(status, "application/json", &body).header("retry-after", "0")
}

fn retries(events: &[Result<ModelEvent, ModelError>]) -> Vec<(u32, Duration)> {
    let retry = |event: &Result<ModelEvent, ModelError>| match event {
        Ok(ModelEvent::Retry { attempt, delay, .. }) => Some((*attempt, *delay)),
        _ => None,
    };
    events.iter().filter_map(retry).collect()
}

#[tokio::test]
async fn it_is_asked_again_after_429_and_529() {
    let replies = vec![
        busy("429 Too Many Requests", "rate_limit_error"),
        busy("529 Overloaded", "overloaded_error"),
        Reply::events(&says("hi")),
    ];
    let server = Server::start(replies).await;
    let events = ask(&model_at(&server.url), hello()).await;
    assert_eq!(retries(&events), [(1, Duration::ZERO), (2, Duration::ZERO)]);
    assert_eq!(events.len(), 7);
    assert!(matches!(events.last(), Some(Ok(ModelEvent::Stop(_)))));
    let host = server.url.trim_start_matches("http://");
    let Some(Ok(ModelEvent::Retry { reason, .. })) = events.first() else { panic!("no retry") };
    insta::assert_snapshot!(reason.replace(host, "HOST"), @"anthropic (HOST) limits how often it is called (429 rate_limit_error: busy)");
    let bodies: Vec<String> = server.requests().into_iter().map(|request| request.body).collect();
    assert_eq!(bodies.len(), 3);
    assert!(bodies.iter().all(|body| *body == bodies[0]));
}

#[tokio::test]
async fn it_gives_up_after_three_more_attempts() {
    let server = Server::start(vec![busy("503 Service Unavailable", "api_error")]).await;
    let events = ask(&model_at(&server.url), hello()).await;
    assert_eq!(retries(&events).len(), 3);
    assert_eq!(server.requests().len(), 4);
    let Some(Err(error)) = events.last() else { panic!("no error") };
    assert_eq!(error.kind, ErrorKind::Overloaded(Some(Duration::ZERO)));
}

#[tokio::test]
async fn what_cannot_help_is_not_tried() {
    let server = Server::start(vec![busy("401 Unauthorized", "authentication_error")]).await;
    let events = ask(&model_at(&server.url), hello()).await;
    assert_eq!(events.len(), 1);
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test]
async fn a_stream_that_is_cut_after_its_first_delta_is_left_to_the_loop() {
    let empty = block(0, json!({"type": "text", "text": ""}));
    let body = sse(&[start(), empty, text(0, "so far")]);
    let server = Server::start(vec![Reply::events(&body).cut()]).await;
    let events = ask(&model_at(&server.url), hello()).await;
    assert_eq!(server.requests().len(), 1);
    assert_eq!(events[1], Ok(ModelEvent::TextDelta("so far".into())));
    let Some(Err(error)) = events.last() else { panic!("no error") };
    assert_eq!((error.kind, events.len()), (ErrorKind::Transport, 3));
    assert!(error.message.contains("was cut off before its end"), "{error}");
}

#[tokio::test]
async fn a_stream_that_ends_cleanly_but_early_is_cut_too() {
    let empty = block(0, json!({"type": "text", "text": ""}));
    let server = Server::start(vec![Reply::events(&sse(&[start(), empty, text(0, "a")]))]).await;
    let events = ask(&model_at(&server.url), hello()).await;
    assert_eq!(events.last().unwrap().as_ref().unwrap_err().kind, ErrorKind::Transport);
}

#[tokio::test]
async fn a_connection_that_breaks_after_the_last_word_is_no_loss() {
    let body = says("hi").replace("event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n", "");
    let server = Server::start(vec![Reply::events(&body).cut()]).await;
    let events = ask(&model_at(&server.url), hello()).await;
    assert!(matches!(events.last(), Some(Ok(ModelEvent::Stop(_)))), "{events:?}");
}

#[tokio::test]
async fn a_dropped_stream_closes_its_connection() {
    let empty = block(0, json!({"type": "text", "text": ""}));
    let body = sse(&[start(), empty, text(0, "a")]);
    let server = Server::start(vec![Reply::events(&body).open()]).await;
    let model = model_at(&server.url);
    let mut events = model.stream(hello());
    assert!(matches!(events.next().await, Some(Ok(ModelEvent::Usage(_)))));
    drop(events);
    server.closed.notified().await;
}

/// Fails for ever, and asks for a wait that no test could sit out.
struct Failing(Arc<AtomicU32>);

impl Model for Failing {
    fn stream(&self, _: ModelRequest) -> ModelEvents {
        self.0.fetch_add(1, Ordering::Relaxed);
        let kind = ErrorKind::RateLimited(Some(Duration::from_secs(3600)));
        Box::pin(stream::iter([Err(ModelError::new(kind, "slow down"))]))
    }
}

#[tokio::test]
async fn stream_cancel_f0fd4f() {
    let calls = Arc::new(AtomicU32::new(0));
    let model = Retrying::new(Failing(calls.clone()));
    let request = hello();
    let cancel = request.cancel.clone();
    let mut events = model.stream(request);
    let first = events.next().await.unwrap().unwrap();
    let delay = Duration::from_secs(3600);
    assert_eq!(first, ModelEvent::Retry { reason: "slow down".into(), attempt: 1, delay });
    cancel.cancel();
    assert!(events.next().await.unwrap().is_err());
    assert_eq!(events.next().await, None);
    assert_eq!(calls.load(Ordering::Relaxed), 1);
}

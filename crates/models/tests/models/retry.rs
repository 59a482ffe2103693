//! When a call is made again, and what is seen of it.

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use futures::future::join_all;
use kernel::{ErrorKind, Model, ModelError, ModelEvent, ModelRequest, RetryBudget};
use models::Retrying;
use serde_json::json;
use tokio::time::Instant;

use crate::script::{Event, Script, Step, answer, delta, events, fails};
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

/// Policy: a key comes from the environment, which no running program's rotation can change. So there is
/// nothing to read again: the error names the variable, at once, and no request follows.
#[tokio::test]
async fn retry_stale_credentials_30bfb0() {
    for (status, kind) in [("401 Unauthorized", "authentication_error"), ("403 Forbidden", "permission_error")] {
        let server = Server::start(vec![busy(status, kind), Reply::events(&says("hi"))]).await;
        let events = ask(&model_at(&server.url), hello()).await;
        let [Err(error)] = &events[..] else { panic!("{events:?}") };
        assert_eq!((error.kind, server.requests().len()), (ErrorKind::Auth, 1));
        assert_eq!(error.hint.as_deref(), Some("Set ANTHROPIC_API_KEY to a valid key"));
    }
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

/// What a scripted model is asked through the decorator.
fn retrying(answers: impl IntoIterator<Item = Vec<Step>>) -> (Arc<Script>, Arc<dyn Model>) {
    let script = Script::new(answers);
    (script.clone(), Arc::new(Retrying::from(script)))
}

fn retry(reason: &str, attempt: u32, seconds: u64) -> Event {
    Ok(ModelEvent::Retry { reason: reason.into(), attempt, delay: Duration::from_secs(seconds) })
}

fn limited(seconds: u64) -> ErrorKind {
    ErrorKind::RateLimited(Some(Duration::from_secs(seconds)))
}

#[tokio::test(start_paused = true)]
async fn retry_429_f20323() {
    let (script, model) = retrying([fails(limited(300)), answer("hi")]);
    let start = Instant::now();
    let expected = [vec![retry("it failed", 1, 300)], events(&answer("hi"))].concat();
    assert_eq!(ask(&model, hello()).await, expected);
    assert_eq!((start.elapsed(), script.calls()), (Duration::from_secs(300), 2));
}

#[tokio::test(start_paused = true)]
async fn stream_cancel_f0fd4f() {
    let (script, model) = retrying([fails(limited(3600))]);
    let request = hello();
    let cancel = request.cancel.clone();
    let mut events = model.stream(request);
    assert_eq!(events.next().await.unwrap(), retry("it failed", 1, 3600));
    let start = Instant::now();
    let (event, ()) = tokio::join!(events.next(), async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        cancel.cancel();
    });
    assert_eq!(event, Some(Err(ModelError::new(limited(3600), "it failed"))));
    assert_eq!(events.next().await, None);
    assert_eq!((start.elapsed(), script.calls()), (Duration::from_secs(1), 1));
}

#[tokio::test(start_paused = true)]
async fn agents_share_what_a_dead_server_may_cost() {
    let (script, model) = retrying([fails(ErrorKind::Transport)]);
    let budget = RetryBudget::new(4);
    let agents = (0..5).map(|_| ask(&model, ModelRequest { retries: budget.clone(), ..hello() }));
    let heard = join_all(agents).await;
    assert_eq!(script.calls(), 5 + 4);
    let mut attempts: Vec<u32> = heard.iter().flat_map(|events| retries(events)).map(|(attempt, _)| attempt).collect();
    attempts.sort_unstable();
    assert_eq!(attempts, [1, 2, 3, 4]);
    let last = Some(Err(ModelError::new(ErrorKind::Transport, "it failed")));
    assert!(heard.into_iter().all(|mut events| events.pop() == last));
}

#[tokio::test(start_paused = true)]
async fn a_server_that_answers_again_does_not_wear_the_budget_out() {
    let trouble = (0..20).flat_map(|_| [fails(limited(1)), answer("hi")]);
    let (script, model) = retrying(trouble);
    let request = ModelRequest { retries: RetryBudget::new(1), ..hello() };
    let expected = [vec![retry("it failed", 1, 1)], events(&answer("hi"))].concat();
    for _ in 0..20 {
        assert_eq!(ask(&model, request.clone()).await, expected);
    }
    assert_eq!(script.calls(), 40);
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_breaks_gives_nothing_back() {
    let broken = [vec![delta("a")], fails(ErrorKind::Transport)].concat();
    let (script, model) = retrying([broken, fails(ErrorKind::Transport)]);
    let request = ModelRequest { retries: RetryBudget::new(1), ..hello() };
    assert_eq!(request.retries.take(), Some(1));
    assert_eq!(ask(&model, request.clone()).await.len(), 2);
    let failed = vec![Err(ModelError::new(ErrorKind::Transport, "it failed"))];
    assert_eq!(ask(&model, request).await, failed);
    assert_eq!(script.calls(), 2);
}

#[tokio::test(start_paused = true)]
async fn only_what_passes_is_tried_again() {
    let lasting = [
        ErrorKind::ContextOverflow,
        ErrorKind::TooLarge,
        ErrorKind::Auth,
        ErrorKind::Billing,
        ErrorKind::Media,
        ErrorKind::Thinking,
        ErrorKind::NotFound,
        ErrorKind::Invalid,
        ErrorKind::Refused,
    ];
    for kind in lasting {
        let (script, model) = retrying([fails(kind)]);
        assert_eq!((ask(&model, hello()).await, script.calls()), (events(&fails(kind)), 1));
    }
    for kind in [ErrorKind::RateLimited(None), ErrorKind::Overloaded(None), ErrorKind::Transport, ErrorKind::Stalled] {
        let (script, model) = retrying([fails(kind)]);
        assert_eq!((retries(&ask(&model, hello()).await).len(), script.calls()), (3, 4));
    }
}

#[tokio::test(start_paused = true)]
async fn the_reason_of_a_wait_is_short_and_no_page() {
    let long = "x".repeat(1000);
    let cases = [
        ("x.test is busy (502): <html><head><title>Bad gateway</title>", "x.test is busy (502)".to_owned()),
        ("busy <!DOCTYPE html>", "busy".to_owned()),
        ("1 < 2 and 2 <3\nmore", "1 < 2 and 2 <3".to_owned()),
        (long.as_str(), format!("{}…", "x".repeat(200))),
    ];
    for (message, reason) in cases {
        let failure = vec![Step::Say(Err(ModelError::new(limited(0), message)))];
        let (_, model) = retrying([failure, answer("hi")]);
        assert_eq!(ask(&model, hello()).await[0], retry(&reason, 1, 0));
    }
}

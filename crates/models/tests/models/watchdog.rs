//! Which waits are stalls, and which are not. Time is paused: it moves only where everybody waits.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use futures::{FutureExt, StreamExt};
use kernel::{ErrorKind, Model, ModelError, ModelEvent};
use models::{Limits, Watchdog};
use tokio::time::{Instant, advance};

use crate::script::{Event, Script, Step, answer, delta, events, say, wait};
use crate::support::{ask, hello};

const HINT: &str = "Ask again; where the server is known to be slow, RSAGENT_STALL_SECONDS allows it more seconds";

fn watched(steps: Vec<Step>) -> (Arc<Script>, Arc<dyn Model>) {
    let script = Script::new([steps]);
    (script.clone(), Arc::new(Watchdog::new(script, Limits::default())))
}

fn stalled(text: &str) -> Event {
    Err(ModelError::new(ErrorKind::Stalled, text).with_hint(HINT))
}

fn alive() -> Step {
    say(ModelEvent::Alive)
}

/// What comes of such an answer, and after how many seconds it ends.
async fn outcome(steps: Vec<Step>) -> (Vec<Event>, u64) {
    let (script, model) = watched(steps);
    let start = Instant::now();
    let events = ask(&model, hello()).await;
    assert_eq!(script.open.load(Ordering::Relaxed), 0, "the connection is closed");
    (events, start.elapsed().as_secs())
}

#[tokio::test(start_paused = true)]
async fn stream_idle_stall_a0c3a0() {
    let comments = (0..1000).flat_map(|_| [wait(5), alive()]).collect();
    let text = "for 300s claude-test sent signs of life and nothing of an answer";
    assert_eq!(outcome(comments).await, (vec![stalled(text)], 300));
}

#[tokio::test(start_paused = true)]
async fn stream_idle_stall_eaa20a() {
    let text = "claude-test did not begin to answer within 300s";
    assert_eq!(outcome(vec![Step::Hang]).await, (vec![stalled(text)], 300));
}

#[tokio::test(start_paused = true)]
async fn stream_idle_stall_9488e8() {
    let steps = vec![delta("a"), delta("b"), delta("c"), Step::Hang];
    let mut expected = events(&steps);
    expected.push(stalled("nothing more came from claude-test for 120s, in the middle of its answer"));
    assert_eq!(outcome(steps).await, (expected, 120));
}

/// The watchdog's part: many signs of life before the first word.
#[tokio::test(start_paused = true)]
async fn sse_fields_6823f3() {
    let mut steps: Vec<Step> = (0..30).flat_map(|_| [wait(3), alive()]).collect();
    steps.extend(answer("hi"));
    assert_eq!(outcome(steps).await, (events(&answer("hi")), 90));
}

#[tokio::test(start_paused = true)]
async fn silence_after_signs_of_life_is_the_shorter_wait() {
    let text = "nothing more came from claude-test for 120s, in the middle of its answer";
    assert_eq!(outcome(vec![wait(3), alive(), Step::Hang]).await, (vec![stalled(text)], 123));
}

#[tokio::test(start_paused = true)]
async fn a_flood_of_signs_of_life_is_no_answer_either() {
    let limits = Limits { progress: Duration::ZERO, ..Limits::default() };
    let flood = (0..1000).map(|_| alive()).collect::<Vec<_>>();
    let model: Arc<dyn Model> = Arc::new(Watchdog::new(Script::new([flood]), limits));
    let text = "for 0ns claude-test sent signs of life and nothing of an answer";
    assert_eq!(ask(&model, hello()).await, [stalled(text)]);
}

#[tokio::test(start_paused = true)]
async fn every_piece_of_an_answer_starts_the_clocks_again() {
    let usage = ModelEvent::Usage(kernel::Usage::default());
    let notice = ModelEvent::Notice("n".into());
    let mut steps = vec![wait(299)];
    for piece in [say(usage), say(notice), delta("a"), say(ModelEvent::ThinkingDelta("t".into()))] {
        steps.extend([piece, wait(100), alive(), wait(100), alive(), wait(99)]);
    }
    steps.extend(answer("hi"));
    let expected = events(&steps).into_iter().filter(|event| *event != Ok(ModelEvent::Alive)).collect();
    assert_eq!(outcome(steps).await, (expected, 299 * 5));
}

#[tokio::test(start_paused = true)]
async fn the_pause_before_another_attempt_is_no_stall() {
    let delay = Duration::from_secs(3600);
    let retry = || say(ModelEvent::Retry { reason: "busy".into(), attempt: 1, delay });
    let mut steps = vec![retry(), wait(3600 + 299), alive()];
    steps.extend(answer("hi"));
    let expected = [events(&[retry()]), events(&answer("hi"))].concat();
    assert_eq!(outcome(steps).await, (expected, 3899));
    let text = "claude-test did not begin to answer within 300s";
    let expected = [events(&[retry()]), vec![stalled(text)]].concat();
    assert_eq!(outcome(vec![retry(), Step::Hang]).await, (expected, 3900));
}

#[tokio::test(start_paused = true)]
async fn a_slow_consumer_is_no_stall() {
    let (_, model) = watched(answer("hi"));
    let mut stream = model.stream(hello());
    let mut seen = Vec::new();
    loop {
        advance(Duration::from_secs(1000)).await;
        let Some(event) = stream.next().await else { break };
        seen.push(event);
    }
    assert_eq!(seen, events(&answer("hi")));
}

#[tokio::test(start_paused = true)]
async fn a_consumer_that_leaves_while_it_waits_is_no_stall() {
    let mut steps = vec![delta("a"), wait(1100)];
    steps.extend(answer("hi"));
    let (_, model) = watched(steps);
    let mut stream = model.stream(hello());
    assert_eq!(stream.next().await, Some(Ok(ModelEvent::TextDelta("a".into()))));
    assert_eq!(stream.next().now_or_never(), None);
    advance(Duration::from_secs(1000)).await;
    assert_eq!(stream.collect::<Vec<_>>().await, events(&answer("hi")));
}

//! When another model answers, what it is given, and for how long.

use std::sync::Arc;
use std::time::Duration;

use kernel::{Block, ErrorKind, Message, Model, ModelEvent, ModelRequest, RetryBudget, Role};
use models::{Fallback, Other, Retrying};
use serde_json::json;
use tokio::time::advance;

use crate::script::{Event, Script, Step, answer, delta, events, fails, say, thinking, tool_use};
use crate::support::{ask, assistant, hello, request};

const BUSY: ErrorKind = ErrorKind::Overloaded(None);

struct Pair {
    primary: Arc<Script>,
    other: Arc<Script>,
    model: Arc<dyn Model>,
}

impl Pair {
    fn new(primary: impl IntoIterator<Item = Vec<Step>>, other: Vec<Step>, reads: bool) -> Self {
        let (primary, other) = (Script::new(primary), Script::new([other]));
        let second = Other { model: other.clone(), id: "claude-y".into(), max_tokens: 8_000, reads };
        let model = Arc::new(Fallback::new(primary.clone(), second));
        Self { primary, other, model }
    }

    /// What a further call brings, and how often each was asked up to then.
    async fn ask(&self) -> (Vec<Event>, usize, usize) {
        (ask(&self.model, hello()).await, self.primary.calls(), self.other.calls())
    }
}

/// The other's answer, the first after a switch.
fn switched(why: &str) -> Vec<Event> {
    let notice = ModelEvent::Notice(format!("claude-test {why}; claude-y answers for now"));
    [vec![Ok(notice)], events(&answer("y"))].concat()
}

#[tokio::test(start_paused = true)]
async fn a_model_that_does_not_exist_is_replaced_at_once() {
    let pair = Pair::new([fails(ErrorKind::NotFound)], answer("y"), true);
    assert_eq!(pair.ask().await, (switched("was not found"), 1, 1));
    let asked = pair.other.requests.lock().unwrap();
    assert_eq!((asked[0].model.as_str(), asked[0].max_tokens), ("claude-y", 8_000));
}

#[tokio::test(start_paused = true)]
async fn the_smaller_bound_of_an_answer_holds() {
    let pair = Pair::new([fails(ErrorKind::NotFound)], answer("y"), true);
    ask(&pair.model, ModelRequest { max_tokens: 100, ..hello() }).await;
    assert_eq!(pair.other.requests.lock().unwrap()[0].max_tokens, 100);
}

#[tokio::test(start_paused = true)]
async fn the_third_overload_in_a_row_is_one_too_many() {
    let failures = [fails(BUSY), fails(ErrorKind::RateLimited(None)), fails(BUSY)];
    let pair = Pair::new(failures, answer("y"), true);
    assert_eq!(pair.ask().await, (events(&fails(BUSY)), 1, 0));
    assert_eq!(pair.ask().await, (events(&fails(ErrorKind::RateLimited(None))), 2, 0));
    assert_eq!(pair.ask().await, (switched("is overloaded"), 3, 1));
    assert_eq!(pair.ask().await, (events(&answer("y")), 3, 2));
}

#[tokio::test(start_paused = true)]
async fn within_the_attempts_of_one_call_it_switches_too() {
    let pair = Pair::new([fails(BUSY)], answer("y"), true);
    let model: Arc<dyn Model> = Arc::new(Retrying::from(pair.model));
    let said = ask(&model, ModelRequest { retries: RetryBudget::new(9), ..hello() }).await;
    assert!(matches!(said[..2], [Ok(ModelEvent::Retry { .. }), Ok(ModelEvent::Retry { .. })]), "{said:?}");
    assert_eq!(said[2..], switched("is overloaded"));
    assert_eq!((pair.primary.calls(), pair.other.calls()), (3, 1));
}

#[tokio::test(start_paused = true)]
async fn an_answer_between_failures_starts_the_count_again() {
    let pair = Pair::new([fails(BUSY), fails(BUSY), answer("x"), fails(BUSY), fails(BUSY)], answer("y"), true);
    for expected in [fails(BUSY), fails(BUSY), answer("x"), fails(BUSY), fails(BUSY)] {
        assert_eq!(pair.ask().await.0, events(&expected));
    }
    assert_eq!(pair.ask().await, (switched("is overloaded"), 6, 1));
}

#[tokio::test(start_paused = true)]
async fn what_another_model_does_not_help_against_is_passed_on() {
    let limited = ErrorKind::RateLimited(Some(Duration::from_secs(9)));
    for kind in [limited, ErrorKind::Transport, ErrorKind::Stalled, ErrorKind::Auth, ErrorKind::ContextOverflow] {
        let pair = Pair::new([fails(kind)], answer("y"), true);
        for calls in 1..6 {
            assert_eq!(pair.ask().await, (events(&fails(kind)), calls, 0));
        }
    }
}

#[tokio::test(start_paused = true)]
async fn after_five_minutes_the_first_model_is_tried_again() {
    let pair = Pair::new([fails(ErrorKind::NotFound), answer("x")], answer("y"), true);
    assert_eq!(pair.ask().await, (switched("was not found"), 1, 1));
    advance(Duration::from_secs(299)).await;
    assert_eq!(pair.ask().await, (events(&answer("y")), 1, 2));
    advance(Duration::from_secs(1)).await;
    assert_eq!(pair.ask().await, (events(&answer("x")), 2, 2));
}

#[tokio::test(start_paused = true)]
async fn a_first_model_that_is_still_overloaded_gets_no_three_chances() {
    let pair = Pair::new([fails(BUSY)], answer("y"), true);
    for _ in 0..3 {
        pair.ask().await;
    }
    advance(Duration::from_secs(300)).await;
    assert_eq!(pair.ask().await, (switched("is overloaded"), 4, 2));
}

#[tokio::test(start_paused = true)]
async fn after_the_first_delta_errors_are_passed_on() {
    let broken = [vec![delta("a")], fails(BUSY)].concat();
    let pair = Pair::new([broken.clone()], answer("y"), true);
    for calls in 1..4 {
        assert_eq!(pair.ask().await, (events(&broken), calls, 0));
    }
    // They count all the same: the next call begins with the other.
    assert_eq!(pair.ask().await, (switched("is overloaded"), 3, 1));
}

#[tokio::test(start_paused = true)]
async fn the_error_of_the_other_is_passed_on() {
    let pair = Pair::new([fails(ErrorKind::NotFound)], fails(BUSY), true);
    let (said, ..) = pair.ask().await;
    assert_eq!(said[1..], events(&fails(BUSY)));
    assert_eq!(pair.ask().await, (events(&fails(BUSY)), 1, 2));
}

fn redacted() -> Block {
    Block::Other(json!({"type": "redacted_thinking", "data": "AAEC"}))
}

fn thoughtful() -> ModelRequest {
    let call = tool_use("t1", json!({"file_path": "a"}));
    let said = assistant(vec![thinking("hm"), redacted(), Block::text("so"), call]);
    let answered = Message::new(Role::User, vec![crate::support::result("t1", "done", false)]);
    request(vec![Message::user("hello"), said, answered, assistant(vec![thinking("")]), Message::user("go on")])
}

#[tokio::test(start_paused = true)]
async fn thinking_that_the_other_cannot_read_stays_here() {
    let pair = Pair::new([fails(ErrorKind::NotFound)], answer("y"), false);
    let request = thoughtful();
    ask(&pair.model, request.clone()).await;
    ask(&pair.model, request.clone()).await;
    let asked = pair.other.requests.lock().unwrap();
    let (first, second) = (&asked[0].messages, &asked[1].messages);
    let said = assistant(vec![Block::text("so"), tool_use("t1", json!({"file_path": "a"}))]);
    let empty = assistant(vec![Block::text("(thinking omitted)")]);
    let sent = [&request.messages[0], &said, &request.messages[2], &empty, &request.messages[4]];
    assert!(first.iter().map(|message| &**message).eq(sent.map(|message: &Message| message)));
    // What need not change is shared, and what must is made once.
    let same = |at: usize| Arc::ptr_eq(&first[at], &request.messages[at]);
    assert_eq!([0, 1, 2, 3, 4].map(same), [true, false, true, false, true]);
    assert!(first.iter().zip(second.iter()).all(|(first, second)| Arc::ptr_eq(first, second)));
}

#[tokio::test(start_paused = true)]
async fn thinking_that_the_other_reads_is_sent() {
    let pair = Pair::new([fails(ErrorKind::NotFound)], answer("y"), true);
    let request = thoughtful();
    ask(&pair.model, request.clone()).await;
    assert!(Arc::ptr_eq(&pair.other.requests.lock().unwrap()[0].messages, &request.messages));
}

/// The first model goes on with a history that it could not read otherwise.
#[tokio::test(start_paused = true)]
async fn what_the_other_thinks_is_kept_only_where_both_can_read() {
    let thought = || vec![say(ModelEvent::ThinkingDelta("hm".into()))];
    let kept = |block| [thought(), vec![say(ModelEvent::Block(block))], answer("y")].concat();
    for block in [thinking("hm"), redacted()] {
        let pair = Pair::new([fails(ErrorKind::NotFound)], kept(block.clone()), false);
        let (said, ..) = pair.ask().await;
        assert_eq!(said[1..], events(&[thought(), answer("y")].concat()));
        let pair = Pair::new([fails(ErrorKind::NotFound)], kept(block.clone()), true);
        let (said, ..) = pair.ask().await;
        assert_eq!(said[1..], events(&kept(block)));
    }
}

//! What stands in a recording, what must not, and that it can be answered from.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use kernel::{Block, ErrorKind, Message, Model, ModelError, ModelEvent, ModelRequest, Role, StopReason, Usage};
use models::{Pace, Recording, Replay};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::time::Instant;

use crate::script::{Event, Script, Step, answer, delta, events, fails, say, thinking, tool_use, wait};
use crate::support::{ask, assistant, hello, request, result};

/// A file that is not there yet.
fn fresh() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("answers.jsonl");
    (folder, path)
}

fn recording(answers: impl IntoIterator<Item = Vec<Step>>, path: &Path, secrets: &[String]) -> Arc<dyn Model> {
    Arc::new(Recording::new(Script::new(answers), path, secrets).unwrap())
}

fn replay(path: &Path, pace: Pace) -> Arc<dyn Model> {
    Arc::new(Replay::open(path, pace).unwrap())
}

fn lines(path: &Path) -> Vec<Value> {
    fs::read_to_string(path).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The values of the lines of one kind.
fn of_kind(path: &Path, kind: &str) -> Vec<Value> {
    lines(path).iter().filter_map(|line| line.get(kind).cloned()).collect()
}

/// Everything that a model can say.
fn everything() -> Vec<Step> {
    let unknown = Block::Other(json!({"type": "redacted_thinking", "data": "AAEC", "n": [1, 2.5, null]}));
    let usage = Usage { input_tokens: 1, cost: Some(0.25), ephemeral_1h_input_tokens: 7, ..Usage::default() };
    let delay = Duration::new(1, 234_567_891);
    let said = [
        ModelEvent::Retry { reason: "busy".into(), attempt: 1, delay },
        ModelEvent::Usage(usage),
        ModelEvent::Alive,
        ModelEvent::ThinkingDelta("hm".into()),
        ModelEvent::Block(thinking("hm")),
        ModelEvent::Block(unknown),
        ModelEvent::TextDelta("1 < ".into()),
        ModelEvent::Notice("n".into()),
        ModelEvent::TextDelta("2 \u{1f600}\n".into()),
        ModelEvent::Block(Block::text("1 < 2 \u{1f600}\n")),
        ModelEvent::Block(tool_use("t1", json!({"b": 1, "a": {"x": ["y"]}}))),
        ModelEvent::Usage(Usage { output_tokens: 9, ..usage }),
    ];
    said.into_iter().flat_map(|event| [wait(1), say(event)]).collect()
}

fn ends(with: StopReason) -> Vec<Step> {
    [everything(), vec![say(ModelEvent::Stop(with))]].concat()
}

#[tokio::test(start_paused = true)]
async fn what_was_recorded_is_said_again() {
    let reasons = [
        StopReason::EndTurn,
        StopReason::MaxTokens,
        StopReason::Refusal(None),
        StopReason::Refusal(Some("no".into())),
        StopReason::PauseTurn,
        StopReason::ContextWindow,
        StopReason::Other("new".into()),
    ];
    let kinds = [
        ErrorKind::RateLimited(None),
        ErrorKind::RateLimited(Some(Duration::from_millis(1500))),
        ErrorKind::Overloaded(Some(Duration::from_secs(3))),
        ErrorKind::Transport,
        ErrorKind::Stalled,
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
    let error = ModelError::new(ErrorKind::Transport, "cut").with_hint("ask again");
    let broken = [everything(), vec![Step::Say(Err(error))]].concat();
    let cut = vec![delta("so f"), delta("ar")];
    let answers: Vec<Vec<Step>> =
        reasons.map(ends).into_iter().chain(kinds.map(fails)).chain([broken, cut, Vec::new()]).collect();

    let (_folder, path) = fresh();
    let recorded = recording(answers.clone(), &path, &[]);
    for answer in &answers {
        assert_eq!(ask(&recorded, hello()).await, events(answer));
    }
    let replayed = replay(&path, Pace::AtOnce);
    for answer in &answers {
        assert_eq!(ask(&replayed, hello()).await, events(answer));
    }
}

#[tokio::test(start_paused = true)]
async fn a_replay_takes_as_long_as_it_is_told_to() {
    let (_folder, path) = fresh();
    ask(&recording([ends(StopReason::EndTurn)], &path, &[]), hello()).await;
    for (pace, seconds) in [(Pace::AtOnce, 0), (Pace::AsRecorded, 12)] {
        let start = Instant::now();
        assert_eq!(ask(&replay(&path, pace), hello()).await, events(&ends(StopReason::EndTurn)));
        assert_eq!(start.elapsed(), Duration::from_secs(seconds));
    }
}

#[tokio::test(start_paused = true)]
async fn each_line_says_one_thing_and_no_message_is_written_twice() {
    let (_folder, path) = fresh();
    let model = recording([answer("hi")], &path, &[]);
    let mut first = hello();
    ask(&model, first.clone()).await;
    let call = assistant(vec![tool_use("t1", json!({"file_path": "a"}))]);
    let answered = Message::new(Role::User, vec![result("t1", "done", false)]);
    let aside = Arc::new(Message::user("aside"));
    ask(&model, ModelRequest { messages: Arc::new(vec![aside]), ..first.clone() }).await;
    Arc::make_mut(&mut first.messages).extend([Arc::new(call), Arc::new(answered)]);
    first.extra = Some(Arc::new(Message::user("sum it up")));
    ask(&model, first.clone()).await;

    let system = json!([{"text": "You are rsagent.", "cache": true}, {"text": "cwd: /w", "cache": false}]);
    assert_eq!(of_kind(&path, "prefix"), [json!({"system": system, "tools": first.prefix.tools})]);
    let user = |text: &str| json!({"role": "user", "content": [{"type": "text", "text": text}]});
    let message = |message: &Message| serde_json::to_value(message).unwrap();
    let said = [user("hello"), user("aside"), message(&first.messages[1]), message(&first.messages[2])];
    assert_eq!(of_kind(&path, "message"), said);
    let asked = |number: u32, messages: Value, extra: Value| {
        json!({"number": number, "model": "claude-test", "max_tokens": 32_000, "prefix": 0, "messages": messages,
            "extra": extra})
    };
    let requests = [
        asked(1, json!([[0, 1]]), Value::Null),
        asked(2, json!([[1, 1]]), Value::Null),
        asked(3, json!([[0, 1], [2, 2]]), user("sum it up")),
    ];
    assert_eq!(of_kind(&path, "request"), requests);
    let event = |event: Value| json!({"event": {"request": 3, "after_ms": 0, "event": event}});
    let usage = json!({"input_tokens": 3, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0,
        "output_tokens": 1, "cost": null});
    let told = [
        event(json!({"usage": usage})),
        event(json!({"text_delta": "hi"})),
        event(json!({"block": {"type": "text", "text": "hi"}})),
        event(json!({"stop": "end_turn"})),
    ];
    let all = lines(&path);
    assert_eq!(all[0], json!({"recording": {"version": 1}}));
    assert_eq!(all[all.len() - 4..], told);
}

#[tokio::test(start_paused = true)]
async fn requests_that_overlap_keep_their_answers_apart() {
    let (_folder, path) = fresh();
    let texts = |a: &str, b: &str| vec![wait(1), delta(a), say(ModelEvent::Block(Block::text(a))), wait(1), delta(b)];
    let (one, two) = (texts("a", "b"), texts("c", "d"));
    let model = recording([one.clone(), two.clone()], &path, &[]);
    tokio::join!(ask(&model, hello()), ask(&model, hello()));
    let replayed = replay(&path, Pace::AtOnce);
    assert_eq!(ask(&replayed, hello()).await, events(&one));
    assert_eq!(ask(&replayed, hello()).await, events(&two));
    let ends = [1, 2].map(|request| json!({"request": request, "after_ms": 2000, "how": "cut"}));
    assert_eq!(of_kind(&path, "end"), ends);
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_nobody_waits_for_is_kept_as_far_as_it_came() {
    let (_folder, path) = fresh();
    let model = recording([vec![delta("so far"), Step::Hang]], &path, &[]);
    let mut stream = model.stream(hello());
    stream.next().await;
    drop(stream);
    assert_eq!(of_kind(&path, "end"), [json!({"request": 1, "after_ms": 0, "how": "left"})]);
    let expected: Vec<Event> = events(&[delta("so far")]);
    assert_eq!(ask(&replay(&path, Pace::AtOnce), hello()).await, expected);
}

#[tokio::test(start_paused = true)]
async fn a_file_takes_more_than_one_session() {
    let (_folder, path) = fresh();
    for text in ["a", "b"] {
        ask(&recording([answer(text)], &path, &[]), hello()).await;
    }
    assert_eq!(of_kind(&path, "message").len(), 2, "each session stands alone");
    let replayed = replay(&path, Pace::AtOnce);
    for text in ["a", "b"] {
        assert_eq!(ask(&replayed, hello()).await, events(&answer(text)));
    }
}

#[cfg(unix)]
#[tokio::test]
async fn only_its_owner_may_read_a_recording() {
    use std::os::unix::fs::PermissionsExt;
    let (_folder, path) = fresh();
    let mode = || fs::metadata(&path).unwrap().permissions().mode() & 0o777;
    drop(recording([answer("hi")], &path, &[]));
    assert_eq!(mode(), 0o600);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    drop(recording([answer("hi")], &path, &[]));
    assert_eq!(mode(), 0o600);
}

#[test]
fn a_file_that_cannot_be_opened_is_named() {
    let (folder, _) = fresh();
    let path = folder.path().join("missing/answers.jsonl");
    let fault = Recording::new(Script::new([]), &path, &[]).err().unwrap().to_string();
    let text = fault.replace(&path.display().to_string(), "FILE");
    let expected = "the model's answers cannot be recorded in FILE: No such file or directory (os error 2). \
                    Name another file";
    assert_eq!(text, expected);
}

#[cfg(unix)]
#[tokio::test(start_paused = true)]
async fn a_recording_that_cannot_go_on_fails_no_call() {
    use std::os::fd::AsRawFd;
    let (reader, writer) = std::io::pipe().unwrap();
    let path = format!("/dev/fd/{}", writer.as_raw_fd());
    let model = recording([answer("hi")], Path::new(&path), &[]);
    assert_eq!(ask(&model, hello()).await, events(&answer("hi")));
    drop(reader);
    let text = format!("{path} cannot be written (Broken pipe (os error 32)); nothing more is recorded there");
    let expected = [vec![Ok(ModelEvent::Notice(text))], events(&answer("hi"))].concat();
    assert_eq!(ask(&model, hello()).await, expected);
    assert_eq!(ask(&model, hello()).await, events(&answer("hi")));
}

/// Texts in which `<…>` is a secret.
const SECRETS: &[&str] = &[
    "my key is <sk-ant-api03-AbCd_efgh-1234>, keep it",
    "<sk-proj-abcdefgh12345678>",
    "<sk-0123456789abcdef0123456789abcdef>",
    "<sk_live_abcdefghijkl>",
    "AWS: <AKIAIOSFODNN7EXAMPLE>.",
    "<ghp_0123456789abcdefghijABCDEFGHIJ012345> and <github_pat_11ABCDEFG0abcdefghij_xyz>",
    "<xoxb-123456789012-abcdefghij>",
    "<AIzaSyA0123456789abcdefghijklmnopqrstuv>",
    "<hf_abcdefghijklmnopqrstuv>, <gsk_abcdefghijklmnopqrstuv>, <glpat-abcdefghij0123456789>",
    "<eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dBjftJeZ4CVP-mB92K27>",
    "a\n<-----BEGIN RSA PRIVATE KEY-----\nMIIE\nowIB\n-----END RSA PRIVATE KEY----->\nb",
    "cut: <-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNz>",
    "curl -H 'Authorization: Bearer <abcdef.ghi-123>' x",
    "Authorization: Basic <dXNlcjpwYXNz>",
    "postgres://joe:<pa55>@db/x",
    "PGPASSWORD=<hunter2!> psql",
    "password: <hunter22>\nuser: joe",
    "export GITHUB_TOKEN=\"<a b c d>\"",
    "{\\\"api_key\\\": \\\"<0123456789>\\\"}",
    "aws_secret_access_key = <wJalrXUtnFEMI/K7MDENG>",
    "login --token <abcdef123456> now",
    "known by name: <correct horse>",
    "nothing: max_tokens: 32000, risk-taking-and-other-habits, bearer of news, a token, tokens=1234567",
];

#[tokio::test(start_paused = true)]
async fn no_secret_is_recorded() {
    let (_folder, path) = fresh();
    let known = ["correct horse".to_owned(), " \n".to_owned(), "is".to_owned()];
    let plain: Vec<String> = SECRETS.iter().map(|text| text.replace(['<', '>'], "")).collect();
    let steps: Vec<Step> = plain.iter().map(|text| say(ModelEvent::Block(Block::text(text.clone())))).collect();
    let model = recording([steps.clone()], &path, &known);
    let messages = plain.iter().map(|text| Message::user(text.clone())).collect();
    assert_eq!(ask(&model, request(messages)).await, events(&steps), "the answer itself is left alone");
    let expected: Vec<String> = SECRETS.iter().map(|text| redacted(text)).collect();
    let texts = |kind: &str, at: &str| -> Vec<String> {
        of_kind(&path, kind).iter().map(|line| line.pointer(at).unwrap().as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(texts("message", "/content/0/text"), expected);
    assert_eq!(texts("event", "/event/block/text"), expected);
}

fn redacted(marked: &str) -> String {
    let mut parts = marked.split('<');
    let start = parts.next().unwrap_or_default().to_owned();
    parts.fold(start, |text, part| text + "[redacted]" + part.split_once('>').unwrap().1)
}

#[tokio::test(start_paused = true)]
async fn a_secret_is_found_wherever_it_is_cut() {
    let (_folder, path) = fresh();
    let usage = || say(ModelEvent::Usage(Usage::default()));
    let steps = vec![delta("é a s"), delta("k-ant-"), usage(), delta("api03-abcdefgh b"), delta(" c")];
    let ending = vec![say(ModelEvent::Block(Block::text("é a sk-ant-api03-abcdefgh b c")))];
    let model = recording([[steps, ending].concat()], &path, &[]);
    ask(&model, hello()).await;
    let expected = vec![
        delta("é a [redacted]"),
        delta(""),
        usage(),
        delta(" b"),
        delta(" c"),
        say(ModelEvent::Block(Block::text("é a [redacted] b c"))),
    ];
    assert_eq!(ask(&replay(&path, Pace::AtOnce), hello()).await, events(&expected));
}

#[tokio::test(start_paused = true)]
async fn secrets_in_inputs_errors_and_notices_are_found_too() {
    let (_folder, path) = fresh();
    let key = "sk-ant-api03-abcdefgh";
    let input = |secret: &str, password: &str| {
        let input = json!({"env": {"DB_PASSWORD": password, "list": [secret, 1]}, secret: true});
        say(ModelEvent::Block(tool_use("t1", input)))
    };
    let notice = |secret: &str| say(ModelEvent::Notice(format!("n {secret}")));
    let retry = |secret: &str| {
        say(ModelEvent::Retry { reason: format!("r {secret}"), attempt: 1, delay: Duration::from_secs(1) })
    };
    let error = |secret: &str| {
        let error = ModelError::new(ErrorKind::Auth, format!("e {secret}")).with_hint(format!("h {secret}"));
        Step::Say(Err(error))
    };
    let all =
        |secret: &str, password: &str| vec![retry(secret), notice(secret), input(secret, password), error(secret)];
    ask(&recording([all(key, "abc")], &path, &[]), hello()).await;
    let mark = "[redacted]";
    assert_eq!(ask(&replay(&path, Pace::AtOnce), hello()).await, events(&all(mark, mark)));
    assert!(!fs::read_to_string(&path).unwrap().contains("api03"));
}

#[tokio::test(start_paused = true)]
async fn a_recording_without_a_further_answer_says_so() {
    let (_folder, path) = fresh();
    ask(&recording([answer("hi")], &path, &[]), hello()).await;
    let replayed = replay(&path, Pace::AtOnce);
    ask(&replayed, hello()).await;
    let text = format!("the recording {} ends in line 8, after 1 answers; one more was asked for", path.display());
    let hint = "Record the session again, or leave out what is broken";
    for _ in 0..2 {
        let error = ModelError::new(ErrorKind::Invalid, text.clone()).with_hint(hint);
        assert_eq!(ask(&replayed, hello()).await, [Err(error)]);
    }
}

#[test]
fn a_broken_recording_names_the_line() {
    let (_folder, path) = fresh();
    let start = "{\"recording\":{\"version\":1}}\n";
    let event = "{\"event\":{\"request\":2,\"after_ms\":0,\"event\":\"alive\"}}\n";
    let cases = [
        (format!("{start}{{\"event\""), "line 2: EOF while parsing an object at line 1 column 8"),
        (format!("{start}{event}"), "line 2: there is no request 2 before it"),
        (event.to_owned(), "line 1: a recording begins with its version"),
        ("{\"recording\":{\"version\":9}}".to_owned(), "line 1: version 9 is not known here"),
    ];
    for (text, fault) in cases {
        fs::write(&path, text).unwrap();
        let error = Replay::open(&path, Pace::AtOnce).err().unwrap();
        let expected = format!("the recording {} is broken in {fault}", path.display());
        assert_eq!((error.kind, error.message), (ErrorKind::Invalid, expected));
    }
    fs::remove_file(&path).unwrap();
    let error = Replay::open(&path, Pace::AtOnce).err().unwrap();
    assert!(error.message.starts_with(&format!("the recording {} cannot be read: ", path.display())), "{error}");
}

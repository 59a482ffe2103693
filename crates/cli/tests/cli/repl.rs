//! The talk in a terminal: on a pseudo-terminal as a person sees it, and on a pipe as scripts use it.

use super::screen::Screen;
use super::support::Place;

const CHINESE: (&str, &str) = ("LANG", "zh_CN.UTF-8");

fn chinese() -> Place {
    Place::new().env(CHINESE.0, CHINESE.1)
}

#[test]
fn a_prompt_in_chinese_is_edited_and_answered() {
    let place = chinese().with("说明.txt", "第一行\n第二行\n");
    let mut screen = Screen::start(&place, &["--provider", "mock"]);
    let welcome = screen.wait_for_prompt();
    assert!(welcome.contains("rsagent 0.1.0 · mock/"), "{welcome}");
    assert!(welcome.contains("当前是模拟模型"), "{welcome}");
    // Wide characters move the cursor by two columns; Backspace takes a whole one away.
    screen.type_text("读取 说明错");
    screen.wait_for("> 读取 说明错");
    assert_eq!(screen.cursor().0, 2 + 2 * 2 + 1 + 3 * 2);
    screen.type_text("\u{7f}");
    screen.wait("one character less", |contents| !contents.contains('错'));
    assert_eq!(screen.cursor().0, 2 + 2 * 2 + 1 + 2 * 2);
    screen.enter(".txt");
    screen.wait_for("→ Read 说明.txt");
    screen.wait_for("1  第一行");
    let shown = screen.wait("the closing line", |contents| contents.contains("· 输出 "));
    assert!(shown.contains("⎿ "), "{shown}");
    screen.wait_for_prompt();
    screen.enter("/exit");
    assert_eq!(screen.exit_code(), 0);
}

#[test]
fn a_question_shows_command_reason_and_rule() {
    let place = Place::new();
    let mut screen = Screen::start(&place, &["--provider", "mock"]);
    screen.wait_for_prompt();
    screen.enter("run touch one");
    let asked = screen.wait_for("y = once");
    assert!(asked.contains("Bash asks for permission:\n    touch one"), "{asked}");
    assert!(asked.contains("always would add, for this session: Bash(touch one)"), "{asked}");
    assert!(asked.contains("why: "), "{asked}");
    assert!(!place.has("one"), "it ran before it was allowed");
    screen.enter("y");
    screen.wait_for_prompt();
    assert!(place.has("one"));
    // Always: the same call is not asked about again.
    screen.enter("run touch two");
    screen.wait_for("always would add, for this session: Bash(touch two)");
    screen.enter("a");
    screen.wait_for_prompt();
    std::fs::remove_file(place.work().join("two")).unwrap();
    screen.enter("/clear");
    screen.wait_for("The conversation is forgotten.");
    screen.enter("run touch two");
    screen.wait("the call done", |_| place.has("two"));
    screen.wait_for_prompt();
    screen.enter("run touch three");
    screen.wait_for("always would add, for this session: Bash(touch three)");
    screen.enter("n not in this folder");
    screen.wait_for("denied: the user said no: not in this folder");
    screen.wait_for_prompt();
    assert!(!place.has("three"));
}

#[test]
fn ctrl_c_interrupts_a_turn_and_keeps_the_session() {
    let place = chinese().with("a.txt", "alpha\n");
    let mut screen = Screen::start(&place, &["--provider", "mock", "--mode", "bypassPermissions"]);
    screen.wait_for_prompt();
    screen.enter("运行 touch begun; sleep 300");
    screen.wait_for("→ Bash touch begun; sleep 300");
    while !place.has("begun") {
        std::thread::yield_now();
    }
    screen.type_text("\u{3}");
    screen.wait_for("已中断，会话保留。");
    screen.wait_for_prompt();
    screen.enter("读取 a.txt");
    screen.wait_for("1  alpha");
    screen.wait_for_prompt();
    screen.type_text("\u{3}");
    screen.wait_for("再按一次 Ctrl-C 退出");
    screen.wait_for_prompt();
    screen.type_text("\u{3}");
    screen.wait_for("再见。");
    assert_eq!(screen.exit_code(), 0);
}

#[test]
fn ctrl_c_at_a_question_is_no_consent() {
    let place = Place::new();
    let mut screen = Screen::start(&place, &["--provider", "mock"]);
    screen.wait_for_prompt();
    screen.enter("run touch one");
    screen.wait_for("y = once");
    screen.wait_for_line("?");
    screen.type_text("\u{3}");
    screen.wait_for("Interrupted. The session goes on.");
    screen.wait_for_prompt();
    assert!(!place.has("one"));
}

#[test]
fn colour_is_off_without_a_terminal_and_with_no_color() {
    let place = Place::new().with("a.txt", "alpha\n");
    let piped = place.run_with_stdin(&["--interactive", "--provider", "mock"], "read a.txt\n");
    assert!(!piped.stdout.contains('\u{1b}'), "{}", piped.stdout);
    assert!(piped.stdout.contains("→ Read a.txt"), "{}", piped.stdout);
}

#[test]
fn on_a_pipe_a_question_takes_the_next_line() {
    let place = Place::new();
    let script = "run touch one\ny\nrun touch two\nn leave it\nrun touch three\na\nrun touch three\n/mode plan\nrun touch four\n";
    let ran = place.run_with_stdin(&["--interactive", "--provider", "mock"], script);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
    let made = ["one", "two", "three", "four"].map(|name| place.has(name));
    assert_eq!(made, [true, false, true, false], "{}", ran.stdout);
    assert!(ran.stdout.contains("denied: the user said no: leave it"), "{}", ran.stdout);
    assert_eq!(ran.stdout.matches("asks for permission").count(), 3, "{}", ran.stdout);
    assert!(ran.stdout.contains("Mode: plan"), "{}", ran.stdout);
    // The end of the pipe is no consent.
    let ended = place.run_with_stdin(&["--interactive", "--provider", "mock"], "run touch five\n");
    assert_eq!(ended.code, Some(0));
    assert!(!place.has("five"), "{}", ended.stdout);
}

#[test]
fn every_command_answers() {
    let place = Place::new();
    let script = "/help\n/mode\n/mode wild\n/mode acceptEdits\n/model\n/model other\n/usage\n/system\n\
                  /compact\n/nothing\nhello\n/usage\n/exit\nnever read\n";
    let ran = place.run_with_stdin(&["--interactive", "--provider", "mock"], script);
    assert_eq!(ran.code, Some(0));
    for expected in [
        "/compact          summarise the conversation now",
        "Mode: default",
        "unknown mode `wild`; use default, acceptEdits, plan, bypassPermissions or dontAsk",
        "Mode: acceptEdits",
        "Model: mock/",
        "Model: mock/other",
        "This session: 0 in",
        "cache boundary",
        "nothing to compact yet",
        "No command /nothing. /help lists them.",
        "Bye.",
    ] {
        assert!(ran.stdout.contains(expected), "no {expected:?} in {}", ran.stdout);
    }
    assert!(!ran.stdout.contains("never read"));
}

#[test]
fn text_of_tools_cannot_drive_the_terminal() {
    let place = Place::new().with("evil.txt", "\u{1b}]0;title\u{7}\u{1b}[2Jhello\n");
    let ran = place.run_with_stdin(&["--interactive", "--provider", "mock"], "read evil.txt\n");
    assert!(!ran.stdout.contains('\u{1b}') && !ran.stdout.contains('\u{7}'), "{:?}", ran.stdout);
    assert!(ran.stdout.contains("␛[2Jhello"), "{}", ran.stdout);
}

/// The kernel counts how often each thread of a process was woken.
#[cfg(target_os = "linux")]
#[test]
fn idle_means_no_wake_ups() {
    let place = Place::new().with("a.txt", "alpha\n");
    let mut screen = Screen::start(&place, &["--provider", "mock"]);
    screen.wait_for_prompt();
    screen.enter("read a.txt");
    screen.wait_for("1  alpha");
    screen.wait_for_prompt();
    let id = screen.process_id();
    let switches = || -> u64 {
        let tasks = std::fs::read_dir(format!("/proc/{id}/task")).unwrap();
        tasks
            .map(|task| {
                let status = std::fs::read_to_string(task.unwrap().path().join("status")).unwrap();
                let counts = status.lines().filter(|line| line.contains("ctxt_switches"));
                counts.map(|l| l.split_whitespace().last().unwrap().parse::<u64>().unwrap()).sum::<u64>()
            })
            .sum()
    };
    // The last of its work may still be under way when the prompt appears: wait until it rests.
    let rest = std::time::Duration::from_secs(1);
    let mut before = switches();
    for _ in 0..20 {
        std::thread::sleep(rest);
        let now = switches();
        if now == before {
            return;
        }
        before = now;
    }
    panic!("the process never rests");
}

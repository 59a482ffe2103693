//! Runs of real children.

use std::path::Path;
use std::time::{Duration, Instant};

use host::process::{Command, End, Finished, SpawnError, run};
use tempfile::tempdir;
use tokio_util::sync::CancellationToken;

/// Far more than anything here takes, far less than what a leak would wait for.
const HANG: Duration = Duration::from_secs(20);

fn shell(script: &str) -> Command {
    Command {
        program: "/bin/sh".into(),
        args: vec!["-c".into(), script.into()],
        cwd: "/".into(),
        env: vec![("PATH".into(), "/usr/bin:/bin".into())],
        timeout: None,
        output_limit: 1_000,
        sandbox: None,
        grant: host::sandbox::Grant::Nothing,
    }
}

async fn finished(command: Command) -> Finished {
    let cancel = CancellationToken::new();
    let run = run(command, &cancel, |_| {});
    tokio::time::timeout(HANG, run).await.expect("it hangs").unwrap()
}

fn done(end: End, output: &str) -> Finished {
    Finished { end, output: output.into(), dropped: 0 }
}

/// Whether a process is there and not merely waiting to be reaped.
fn alive(id: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", id.trim()));
    stat.is_ok_and(|stat| !stat.rsplit_once(") ").unwrap().1.starts_with('Z'))
}

fn exists(id: u32) -> bool {
    Path::new(&format!("/proc/{id}")).exists()
}

/// Waits for what is bound to happen.
async fn until(what: &str, mut happened: impl FnMut() -> bool) {
    let start = Instant::now();
    while !happened() {
        assert!(start.elapsed() < HANG, "never: {what}");
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn both_streams_in_order_and_the_exit_code() {
    let run = finished(shell("echo a; echo b >&2; echo c; exit 3")).await;
    assert_eq!(run, done(End::Code(3), "a\nb\nc\n"));
}

#[tokio::test]
async fn a_signal_is_told_from_a_code() {
    assert_eq!(finished(shell("kill -9 $$")).await, done(End::Signal(9), ""));
}

#[tokio::test]
async fn input_is_closed() {
    assert_eq!(finished(shell("cat; echo after")).await, done(End::Code(0), "after\n"));
}

#[tokio::test]
async fn the_environment_is_the_given_one_and_nobody_pages() {
    // What shells themselves set is of no interest.
    let mut command = shell("/usr/bin/env | LC_ALL=C /usr/bin/sort | /bin/grep -Ev '^(_|PWD|OLDPWD|SHLVL)='");
    command.env = vec![("A".into(), "1".into()), ("PAGER".into(), "less".into())];
    let expected = "A=1\nCLAUDECODE=1\nGCM_INTERACTIVE=never\nGIT_EDITOR=true\nGIT_OPTIONAL_LOCKS=0\nGIT_PAGER=cat\n\
                    GIT_SEQUENCE_EDITOR=true\nGIT_TERMINAL_PROMPT=0\nMANPAGER=cat\nPAGER=cat\nRSAGENT=1\n\
                    SSH_ASKPASS=false\nSSH_ASKPASS_REQUIRE=force\n";
    assert_eq!(finished(command).await, done(End::Code(0), expected));
}

#[tokio::test]
async fn a_background_child_that_holds_the_pipe_delays_nothing() {
    let run = finished(shell("sleep 300 & echo $!")).await;
    assert_eq!(run.end, End::Code(0));
    assert!(alive(&run.output), "a child in the background outlives its shell");
    let id = rustix::process::Pid::from_raw(run.output.trim().parse().unwrap()).unwrap();
    rustix::process::kill_process(id, rustix::process::Signal::KILL).unwrap();
}

#[tokio::test]
async fn a_background_child_that_never_stops_writing_delays_nothing() {
    let script = "(trap '' PIPE; while :; do echo x || exit; done) & sleep 0.3; echo end";
    let cancel = CancellationToken::new();
    let mut seen = String::new();
    let run = run(shell(script), &cancel, |text| seen.push_str(text));
    let run = tokio::time::timeout(HANG, run).await.expect("it hangs").unwrap();
    assert_eq!(run.end, End::Code(0));
    // In what is kept, the middle may be missing.
    assert!(seen.contains("end\n"));
}

#[tokio::test]
async fn everything_written_before_the_exit_is_there() {
    for _ in 0..50 {
        let mut command = shell("i=0; while [ $i -lt 500 ]; do echo 0123456789; i=$((i+1)); done");
        command.output_limit = 10_000;
        assert_eq!(finished(command).await, done(End::Code(0), &"0123456789\n".repeat(500)));
    }
}

#[tokio::test]
async fn endless_output_is_bounded_and_counted() {
    let mut command = shell("yes 0123456789 | head -c 30000000; echo end");
    command.output_limit = 100;
    let run = finished(command).await;
    assert_eq!(run.end, End::Code(0));
    assert_eq!(run.dropped, 30_000_004 - 100);
    assert!(run.output.starts_with("0123456789\n"));
    assert!(run.output.contains("\n[… 29999904 bytes left out …]\n"));
    assert!(run.output.ends_with("end\n"));
}

#[tokio::test]
async fn a_character_split_between_two_writes_stays_whole() {
    let script = r"printf '\344\275'; sleep 0.2; printf '\240'; sleep 0.2; printf '\377\344'";
    let mut pieces = Vec::new();
    let cancel = CancellationToken::new();
    let run = run(shell(script), &cancel, |text| pieces.push(text.to_owned())).await.unwrap();
    assert_eq!(run.output, "你\u{FFFD}\u{FFFD}");
    assert_eq!(pieces.concat(), run.output);
    assert_eq!(pieces.first().map(String::as_str), Some("你"));
}

/// Runs a script and cancels it as soon as it says something.
async fn cancelled_when_it_speaks(script: &str) -> Finished {
    let cancel = CancellationToken::new();
    let run = run(shell(script), &cancel, |_| cancel.cancel());
    tokio::time::timeout(HANG, run).await.expect("it hangs").unwrap()
}

#[tokio::test]
async fn output_is_seen_while_the_child_runs() {
    let run = cancelled_when_it_speaks("echo ready; sleep 300").await;
    assert_eq!(run, done(End::Cancelled, "ready\n"));
}

#[tokio::test]
async fn a_timeout_ends_the_whole_tree() {
    let mut command = shell("echo $$; sh -c 'sleep 300 & echo $!; sleep 300'");
    command.timeout = Some(Duration::from_secs(1));
    let run = finished(command).await;
    assert_eq!(run.end, End::TimedOut);
    assert_eq!(run.output.lines().count(), 2, "{}", run.output);
    for id in run.output.lines() {
        until("it is gone", || !alive(id)).await;
    }
}

#[tokio::test]
async fn a_tree_that_ignores_the_request_is_killed() {
    let run = cancelled_when_it_speaks("trap '' TERM; echo $$; while :; do sleep 0.05; done").await;
    assert_eq!(run.end, End::Cancelled);
    assert!(!alive(&run.output));
}

#[tokio::test]
async fn a_child_may_say_a_last_word() {
    let script = "trap 'echo bye; exit 0' TERM; echo ready; while :; do sleep 0.05; done";
    let run = cancelled_when_it_speaks(script).await;
    assert_eq!(run.end, End::Cancelled);
    assert!(run.output.ends_with("bye\n"), "{}", run.output);
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn descendants_that_left_the_group_end_with_it() {
    let run = cancelled_when_it_speaks("setsid sh -c 'echo $$; sleep 300; :' & wait").await;
    assert_eq!(run.end, End::Cancelled);
    // The one that left leads a group of its own, in which a child may just have been born.
    let group = rustix::process::Pid::from_raw(run.output.trim().parse().unwrap()).unwrap();
    until("they are gone", || rustix::process::test_kill_process_group(group).is_err()).await;
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn dropping_the_future_kills_and_reaps() {
    let cancel = CancellationToken::new();
    let (send, mut receive) = tokio::sync::mpsc::unbounded_channel::<String>();
    let command = shell("echo $$; sleep 300");
    let running = run(command, &cancel, move |text| send.send(text.to_owned()).unwrap());
    let id = tokio::select! {
        _ = running => panic!("it cannot end"),
        id = receive.recv() => id.unwrap().trim().parse().unwrap(),
    };
    assert!(until_gone(id).await);
}

/// A child that was dropped is reaped by the runtime at the next child that ends.
async fn until_gone(id: u32) -> bool {
    for _ in 0..100 {
        finished(shell("exit 0")).await;
        if !exists(id) {
            return true;
        }
    }
    false
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn no_zombies_and_no_open_files_stay() {
    let open = || std::fs::read_dir("/proc/self/fd").unwrap().count();
    finished(shell("exit 0")).await;
    let before = open();
    for _ in 0..100 {
        let run = finished(shell("echo $$")).await;
        assert!(!exists(run.output.trim().parse().unwrap()));
    }
    // Other tests of this binary run at the same time and hold a few.
    assert!(open() < before + 50, "{before} files were open, now {}", open());
}

#[tokio::test]
async fn cancelled_before_it_began() {
    let cancel = CancellationToken::new();
    cancel.cancel();
    let folder = tempdir().unwrap();
    let mut command = shell("touch made");
    command.cwd = folder.path().into();
    assert_eq!(run(command, &cancel, |_| {}).await.unwrap(), done(End::Cancelled, ""));
    assert!(!folder.path().join("made").exists());
}

#[tokio::test]
async fn what_is_missing_is_named() {
    let cancel = CancellationToken::new();
    let mut command = shell("true");
    command.cwd = "/no/such/folder".into();
    let fault = run(command, &cancel, |_| {}).await.unwrap_err();
    assert!(matches!(fault, SpawnError::NoFolder(path) if path == Path::new("/no/such/folder")));
    let mut command = shell("true");
    command.program = "no-such-program".into();
    let fault = run(command, &cancel, |_| {}).await.unwrap_err();
    assert!(matches!(fault, SpawnError::NoProgram(name) if name == "no-such-program"));
}

//! Sessions as a person has them, with all that stands round a model, against a server that breaks
//! its answers in every way. Whatever it does, each prompt ends with a word on how, each request can
//! be sent, no call runs twice, and the session is of use afterwards.
//!
//! The clock is the runtime's and runs a hundred times as fast, so that waits are waited for.

mod story;
mod watch;

use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use fastrand::Rng;
use futures::StreamExt;
use harness::settings::FlagRules;
use harness::{Environment, Session, SessionConfig};
use kernel::{Mode, TerminalReason};
use serde_json::json;
use testkit::wire::WIRES;
use testkit::{Server, Wire};

use story::Story;
use watch::Watch;

/// Sessions at the same time.
const WIDTH: usize = 16;
/// The clock runs so many times as fast.
const HASTE: u32 = 100;
/// No session takes this long by the hastened clock.
const LONGEST: Duration = Duration::from_secs(6000);
/// Memory is compared with what it was after so many sessions.
const WARM: usize = 200;

/// How the prompts of a session ended, and how many calls ran that leave a trace.
type Told = (Vec<String>, usize);

#[test]
fn sixty_sessions_of_chaos() {
    run(60, 1);
}

/// `cargo xtask chaos [SESSIONS] [SEED]`.
#[test]
#[ignore = "long: cargo xtask chaos"]
fn as_many_sessions_as_asked_for() {
    let number = |name: &str, usual| std::env::var(name).map_or(usual, |value| value.parse().unwrap());
    run(number("RSAGENT_CHAOS_SESSIONS", 1000), number("RSAGENT_CHAOS_SEED", 1));
}

fn run(sessions: u64, first: u64) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    let (faults, memory, runs) = runtime.block_on(async {
        tokio::spawn(hasten());
        let (mut faults, mut memory, mut done, mut runs) = (Vec::new(), Vec::new(), 0, 0);
        let seeds = (first..first + sessions).flat_map(|seed| WIRES.iter().map(move |wire| (seed, *wire)));
        let mut ended = futures::stream::iter(seeds.map(|(seed, wire)| session(seed, wire))).buffer_unordered(WIDTH);
        let mut endings: HashMap<String, usize> = HashMap::new();
        while let Some((seed, outcome)) = ended.next().await {
            done += 1;
            match outcome {
                Ok((reasons, ran)) => {
                    runs += ran;
                    reasons.into_iter().for_each(|reason| *endings.entry(reason).or_default() += 1);
                }
                Err(fault) => faults.push(format!("seed {seed}: {fault}")),
            }
            if done % WARM == 0 {
                memory.push(resident());
                println!("{done} sessions, {} MiB, {} faults", resident() / 1024, faults.len());
            }
        }
        println!("prompts ended: {endings:?}; {runs} calls left their trace");
        (faults, memory, runs)
    });
    let replay = "replay one with `cargo xtask chaos 1 SEED`";
    assert!(runs > 0 || sessions < 10, "no call ran, so nothing was tested");
    assert!(faults.is_empty(), "{} of {sessions} sessions, {replay}:\n{}", faults.len(), faults.join("\n"));
    if let (Some(warm), Some(last)) = (memory.first(), memory.last()) {
        assert!(*last < 2 * warm + 64 * 1024, "memory grows: {memory:?} KiB, every {WARM} sessions");
    }
}

/// Makes time pass. Work on a blocking thread keeps the runtime from skipping to the next timer.
async fn hasten() {
    const TICK: Duration = Duration::from_millis(1);
    loop {
        let slept = tokio::task::spawn_blocking(|| {
            let start = std::time::Instant::now();
            std::thread::sleep(TICK);
            start.elapsed().min(4 * TICK)
        });
        tokio::time::advance(slept.await.unwrap() * HASTE).await;
    }
}

/// KiB of memory in use; 0 where the system does not say.
fn resident() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

/// One session of a few prompts. Gives how they ended, or what must not be.
async fn session(seed: u64, wire: &'static Wire) -> (u64, Result<Told, String>) {
    let story = Arc::new(Story::new(seed, wire));
    let telling = story.clone();
    let server = Server::start(move |number, _| telling.reply(number));
    let folder = tempfile::tempdir().unwrap();
    let outcome = tokio::time::timeout(LONGEST, prompts(seed, &story, &server, folder.path())).await;
    let outcome = outcome.unwrap_or_else(|_| Err("it does not end".to_owned()));
    let told = || format!(", after {:?}", story.log().faults);
    (seed, outcome.map_err(|fault| fault + &told()))
}

async fn prompts(seed: u64, story: &Story, server: &Server, folder: &Path) -> Result<Told, String> {
    let mut rng = Rng::with_seed(seed);
    let mut session = open(server, story, folder, &mut rng);
    let mut watch = Watch::default();
    let mut reasons = Vec::new();
    for number in 0..rng.usize(1..4) {
        // A person may interrupt.
        let interrupt_at = (rng.u8(..8) == 0).then(|| rng.usize(..20));
        let mut events = session.prompt(&format!("Do it, number {number}."));
        let mut seen = 0;
        while let Some(event) = events.next().await {
            seen += 1;
            if interrupt_at == Some(seen) {
                session.interrupter().cancel();
            }
            watch.see(&event);
        }
        reasons.push(watch.ended(interrupt_at.is_some_and(|at| at <= seen))?);
    }
    story.calm.store(true, Ordering::Release);
    let mut events = session.prompt("Is all well?");
    while let Some(event) = events.next().await {
        watch.see(&event);
    }
    let said = watch.errors();
    let useless = (watch.ended(false)? != "Completed").then(|| format!("the session is of no use afterwards: {said}"));
    for (number, request) in server.requests().iter().enumerate() {
        if let Some(fault) = &request.fault {
            return Err(format!("request {number} is not valid: {fault}: {}", request.body["messages"]));
        }
    }
    if let Some(fault) = useless {
        return Err(fault);
    }
    let runs = fs::read_to_string(folder.join("runs")).unwrap_or_default();
    for token in story.log().tokens {
        let (ran, started) = (runs.matches(token.as_str()).count(), watch.started(&token));
        if ran > 1 || ran > started {
            return Err(format!("the call of {token} was started {started} times and ran {ran} times"));
        }
    }
    Ok((reasons, runs.lines().count()))
}

fn open(server: &Server, story: &Story, folder: &Path, rng: &mut Rng) -> Session {
    let home = folder.join("home");
    fs::create_dir_all(home.join(".rsagent")).unwrap();
    fs::write(folder.join("a.txt"), "alpha\n").unwrap();
    let programs = folder.join("programs");
    fs::create_dir(&programs).unwrap();
    let note = programs.join("note");
    fs::write(&note, "#!/bin/sh\necho \"$1\" >> runs\n").unwrap();
    fs::set_permissions(&note, fs::Permissions::from_mode(0o755)).unwrap();
    let provider = json!({"dialect": story.dialect(), "baseUrl": server.url(), "model": "claude-sonnet-5-5"});
    let settings = json!({"providers": {"double": provider}}).to_string();
    fs::write(home.join(".rsagent/settings.json"), settings).unwrap();
    let mut variables = vec![
        ("PATH".into(), format!("{}:{}", programs.display(), std::env::var("PATH").unwrap()).into()),
        ("HOME".into(), home.into_os_string()),
        ("RSAGENT_STALL_SECONDS".into(), "40".into()),
    ];
    if rng.bool() {
        variables.push(("RSAGENT_COMPACT_THRESHOLD".into(), "2000".into()));
    }
    let config = SessionConfig {
        environment: Environment::of(variables),
        cwd: folder.into(),
        provider: Some("double".into()),
        fallback_model: rng.bool().then(|| "claude-haiku-5-5".into()),
        // Broken bytes may make another command of one: it must not run.
        mode: Some(Mode::AcceptEdits),
        rules: FlagRules { allow: vec!["Bash(note *)".into(), "Agent".into()], deny: Vec::new() },
        ..SessionConfig::default()
    };
    Session::open(config).unwrap()
}

/// How a prompt may end in spite of everything.
fn may_end(reason: TerminalReason, interrupted: bool) -> bool {
    match reason {
        TerminalReason::Completed | TerminalReason::Error | TerminalReason::Refused => true,
        TerminalReason::Aborted => interrupted,
        TerminalReason::MaxTurns | TerminalReason::Budget => false,
    }
}

//! Owns what runs between the sandbox and a command: a process that sees the sandbox from inside, gives up
//! what the plan does not grant, starts the command, and reports over its line to the session how that
//! ended. Must not know what the command is.
//!
//! Its words, one a line: `ready` when the command is about to start, `code N` or `signal N` when it has
//! ended, `missing` when there is no such program, `fault TEXT` when the sandbox is not as it should be.
//! When the line closes, it tells all that runs inside to end.

use std::ffi::OsString;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::fs::StatVfsMountFlags;
use rustix::process::{DumpableBehavior, Pid, Resource, Rlimit, Signal};

use super::spec::{Node, Spec};
use super::{landlock, relay, seccomp};
use crate::process::descriptors;

/// How many processes and threads a command may have, where the system counts them by sandbox.
const PROCESSES: u64 = 4_096;
/// How long what was told to end may take. The session waits a little longer before it ends the helper.
pub(crate) const GRACE: Duration = Duration::from_secs(1);
/// How often it is looked whether all have ended, once a millisecond.
const LOOKS: u32 = 2_000;
/// The exit code when no command was run.
const FAILED: u8 = 125;

/// The helper's whole life. `arguments` are those after [`super::HELPER`]. Gives its exit code.
pub fn run(arguments: impl Iterator<Item = OsString>) -> u8 {
    let mut arguments = arguments.into_iter();
    let spec = arguments.next().and_then(|spec| serde_json::from_str::<Spec>(spec.to_str()?).ok());
    let (Some(spec), Some(program)) = (spec, arguments.next()) else { return FAILED };
    let Ok(line) = descriptors::adopt(spec.control) else { return FAILED };
    let mut line = UnixStream::from(line);
    match supervise(&spec, &line, program, arguments.collect()) {
        Ok(word) => {
            let _ = writeln!(line, "{word}");
            0
        }
        Err(fault) => {
            let _ = writeln!(line, "fault {}", fault.replace('\n', " "));
            FAILED
        }
    }
}

fn supervise(spec: &Spec, line: &UnixStream, program: OsString, args: Vec<OsString>) -> Result<String, String> {
    let said = |what: &'static str| move |fault: std::io::Error| format!("{what}: {fault}");
    descriptors::close_at_exec().map_err(said("descriptors"))?;
    verify(spec)?;
    // Orphans of the command stay below this process, where they are found.
    let alone = spec.landlock.is_none();
    if alone && rustix::process::getppid() != Some(Pid::INIT) {
        return Err("this is no namespace of its own".into());
    }
    if !alone {
        rustix::process::set_child_subreaper(Some(rustix::process::getpid())).map_err(|fault| fault.to_string())?;
    }
    if let Some(socket) = &spec.proxy {
        relay::start(socket).map_err(said("relay"))?;
    }
    end_when_told(line.try_clone().map_err(said("line"))?, alone).map_err(said("watch"))?;
    // Only this thread, and so the command, is restricted from here on.
    restrict(spec)?;
    let mut speaker = line.try_clone().map_err(said("line"))?;
    writeln!(speaker, "ready").map_err(said("line"))?;
    let started = Command::new(program)
        .args(args)
        .stdin(Stdio::null())
        // What it sends to its own group is not meant for this process.
        .process_group(0)
        .spawn();
    let mut child = match started {
        Ok(child) => child,
        Err(fault) if fault.kind() == std::io::ErrorKind::NotFound => return Ok("missing".into()),
        Err(fault) => return Err(format!("cannot start the command: {fault}")),
    };
    let status = child.wait().map_err(said("wait"))?;
    // Nothing runs any more when the end is reported: then the place holders under the mounts go.
    end_for_good(alone);
    Ok(match (status.code(), status.signal()) {
        (Some(code), _) => format!("code {code}"),
        (None, signal) => format!("signal {}", signal.unwrap_or_default()),
    })
}

/// What was asked for is what is there: the paths were named outside, before they were mounted.
fn verify(spec: &Spec) -> Result<(), String> {
    for node in &spec.writable {
        let same = Node::at(&node.path).is_ok_and(|now| now == *node);
        if !same {
            return Err(format!("{} is not the folder that it was at start", node.path.display()));
        }
    }
    for path in &spec.sealed {
        if !is_sealed(path) {
            return Err(format!("{} could be changed", path.display()));
        }
    }
    Ok(())
}

fn is_sealed(path: &Path) -> bool {
    let link = std::fs::symlink_metadata(path).map_or(true, |found| found.file_type().is_symlink());
    let read_only = rustix::fs::statvfs(path).is_ok_and(|found| found.f_flag.contains(StatVfsMountFlags::RDONLY));
    !link && read_only
}

fn restrict(spec: &Spec) -> Result<(), String> {
    let said = |fault: rustix::io::Errno| fault.to_string();
    rustix::thread::set_no_new_privs(true).map_err(said)?;
    // Nobody in the sandbox may look into this process, or reach through it.
    rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable).map_err(said)?;
    match &spec.landlock {
        Some(lists) => {
            let none = rustix::thread::CapabilitySet::empty();
            let none = rustix::thread::CapabilitySets { effective: none, permitted: none, inheritable: none };
            landlock::restrict(lists)?;
            rustix::thread::set_capabilities(None, none).map_err(said)?;
        }
        None => {
            let limit = Rlimit { current: Some(PROCESSES), maximum: Some(PROCESSES) };
            // A lower limit that holds already is as good.
            let _ = rustix::process::setrlimit(Resource::Nproc, limit);
        }
    }
    for filter in seccomp::filters(spec.sockets)? {
        seccompiler::apply_filter(&filter).map_err(|fault| fault.to_string())?;
    }
    Ok(())
}

/// Waits in a thread for the line to close.
fn end_when_told(mut line: UnixStream, alone: bool) -> std::io::Result<()> {
    let watch = move || {
        let _ = line.read(&mut [0]);
        signal_all(alone, Signal::TERM);
        std::thread::sleep(GRACE);
        end_for_good(alone);
    };
    std::thread::Builder::new().spawn(watch).map(drop)
}

/// Ends all that runs in the sandbox and waits until it is gone.
fn end_for_good(alone: bool) {
    for _ in 0..LOOKS {
        if !signal_all(alone, Signal::KILL) {
            return;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Signals all that runs in the sandbox: every process in its namespace but the first and this one, in one
/// step, or all that descend from this one. Whether there was any.
fn signal_all(alone: bool, signal: Signal) -> bool {
    if alone {
        return descriptors::signal_everybody(signal.as_raw());
    }
    let own = rustix::process::getpid();
    let found = processes();
    let mut family = vec![own];
    let mut next = 0;
    while let Some(parent) = family.get(next).copied() {
        family.extend(found.iter().filter(|(_, above)| *above == parent.as_raw_pid()).map(|(id, _)| *id));
        next += 1;
    }
    for id in family.iter().skip(1) {
        let _ = rustix::process::kill_process(*id, signal);
    }
    family.len() > 1
}

/// Every process that can be seen, with its parent.
fn processes() -> Vec<(Pid, i32)> {
    let parent = |id: &str| -> Option<i32> {
        let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
        // The name in parentheses may hold anything.
        let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
        if fields.next()? == "Z" {
            return None;
        }
        fields.next()?.parse().ok()
    };
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    names.filter_map(|name| Some((Pid::from_raw(name.parse().ok()?)?, parent(&name)?))).collect()
}

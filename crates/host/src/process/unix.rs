//! Owns one run from start to end on Unix. Must not know how a tree of processes is found.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use tokio::net::unix::pipe::Receiver;
use tokio::process::Child;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::environment::ADDED;
use super::inside::{Held, Inside};
use super::output::{Bounded, Decoder};
use super::session;
use super::tree::Tree;
use super::{Command, End, Finished, SpawnError};
use crate::sandbox::Entered;

/// How long a tree that was told to end may take before it is killed.
const GRACE: Duration = Duration::from_secs(1);
/// How much is read at once.
const CHUNK: usize = 64 * 1024;

/// Runs a child to its end. `on_output` sees the output as it comes, unabridged, and must not wait.
///
/// On timeout and when `cancel` fires the whole tree is told to end (SIGTERM), and killed if it has
/// not after a second. Dropping the future kills it at once.
pub async fn run(
    command: Command,
    cancel: &CancellationToken,
    on_output: impl FnMut(&str) + Send,
) -> Result<Finished, SpawnError> {
    let system = |source| SpawnError::System { program: command.program.clone(), source };
    if cancel.is_cancelled() {
        return Ok(Finished { end: End::Cancelled, output: String::new(), dropped: 0 });
    }
    let entered = match &command.sandbox {
        Some(sandbox) => Some(sandbox.enter(&command).map_err(SpawnError::Sandbox)?),
        None => None,
    };
    let (child, pipe, held) = spawn(&command, entered).map_err(|source| why_not(&command, source))?;
    let kept = Bounded::new(command.output_limit);
    let sink = Sink { decoder: Decoder::default(), kept, on_output };
    let tree = Tree::of(&child);
    let mut running = Running { tree, child, pipe, open: true, sink, inside: held.control };
    let limit = async {
        match command.timeout {
            Some(limit) => tokio::time::sleep(limit).await,
            None => std::future::pending().await,
        }
    };
    let forced = tokio::select! {
        status = running.exit() => Err(status.map_err(system)?),
        () = cancel.cancelled() => Ok(End::Cancelled),
        () = limit => Ok(End::TimedOut),
    };
    let ended = forced.is_err();
    let end = match forced {
        Ok(end) => {
            running.end_tree().await;
            end
        }
        Err(status) => status_end(status),
    };
    running.tree.release();
    running.drain().map_err(system)?;
    let (output, dropped) = running.sink.finish();
    match running.inside {
        // A sandbox hides from us what the command itself came to; the helper tells.
        Some(inside) if ended => Ok(Finished { end: inside.end(end, &command, &output)?, output, dropped }),
        Some(_) | None => Ok(Finished { end, output, dropped }),
    }
}

fn spawn(command: &Command, entered: Option<Entered>) -> io::Result<(Child, Receiver, Held)> {
    let (reader, writer) = io::pipe()?;
    // Only our end is non-blocking: the two ends are different open files.
    let pipe = Receiver::from_owned_fd(OwnedFd::from(reader))?;
    let (program, args, env, inherited, held) = match entered {
        None => (&command.program, &command.args, Vec::new(), Vec::new(), Held::default()),
        Some(Entered { ref program, ref args, env, inherited, control, stubs }) => {
            (program, args, env, inherited, Held { control: control.map(Inside::new), _stubs: stubs })
        }
    };
    // The builder holds the writing end; it must be gone before the first read.
    let mut child = tokio::process::Command::new(program);
    child
        .args(args)
        .current_dir(&command.cwd)
        .env_clear()
        .envs(command.env.iter().map(|(name, value)| (name, value)))
        .envs(ADDED)
        .envs(env)
        .stdin(Stdio::null())
        .stdout(Stdio::from(OwnedFd::from(writer.try_clone()?)))
        .stderr(Stdio::from(OwnedFd::from(writer)));
    let child = session::lead(&mut child, &inherited).spawn()?;
    Ok((child, pipe, held))
}

/// The system says only "not found"; this says what was not.
fn why_not(command: &Command, source: io::Error) -> SpawnError {
    match source.kind() {
        _ if !command.cwd.is_dir() => SpawnError::NoFolder(command.cwd.clone()),
        io::ErrorKind::NotFound => SpawnError::NoProgram(command.program.clone()),
        _ => SpawnError::System { program: command.program.clone(), source },
    }
}

fn status_end(status: ExitStatus) -> End {
    match (status.code(), status.signal()) {
        (Some(code), _) => End::Code(code),
        (None, signal) => End::Signal(signal.unwrap_or_default()),
    }
}

/// A started child. Dropping it kills the tree (the field order matters: the tree goes first);
/// tokio then reaps the child.
struct Running<F> {
    tree: Tree,
    child: Child,
    pipe: Receiver,
    /// Whether anybody still holds the other end of the pipe.
    open: bool,
    sink: Sink<F>,
    /// The line to the helper of a sandbox.
    inside: Option<Inside>,
}

impl<F: FnMut(&str)> Running<F> {
    /// Takes output until the child exits.
    async fn exit(&mut self) -> io::Result<ExitStatus> {
        loop {
            tokio::select! {
                status = self.child.wait() => return status,
                ready = self.pipe.readable(), if self.open => {
                    ready?;
                    self.open = self.sink.take(&self.pipe)?;
                }
            }
        }
    }

    /// Tells the tree to end, waits until it has, or kills it.
    async fn end_tree(&mut self) {
        // Inside, the helper ends what ignores the request, and then itself.
        let patience = if self.inside.is_some() { 2 * GRACE } else { GRACE };
        match &self.inside {
            // The way into a sandbox is not to be ended before what runs there has had its say.
            Some(inside) => inside.tell_to_end(),
            None => self.tree.terminate(),
        }
        // All of it is gone when nobody holds the pipe. Faults do not matter: what follows is
        // certain.
        let gone = async {
            self.exit().await?;
            while self.open {
                self.pipe.readable().await?;
                self.open = self.sink.take(&self.pipe)?;
            }
            io::Result::Ok(())
        };
        let _ = timeout(patience, gone).await;
        self.tree.kill();
        // A process that hangs in the kernel cannot be waited for; it is reaped when it comes back.
        let _ = timeout(GRACE, self.child.wait()).await;
    }

    /// Takes what is in the pipe now and no more: somebody may go on writing forever.
    fn drain(&mut self) -> io::Result<()> {
        let mut left = usize::try_from(rustix::io::ioctl_fionread(&self.pipe)?).unwrap_or(CHUNK);
        let mut buffer = vec![0; left.min(CHUNK)];
        while left > 0 {
            let room = left.min(buffer.len());
            let taken = rustix::io::read(&self.pipe, buffer.get_mut(..room).unwrap_or_default())?;
            if taken == 0 {
                break;
            }
            self.sink.push(buffer.get(..taken).unwrap_or_default());
            left -= taken;
        }
        Ok(())
    }
}

/// Where output goes: to whoever watches, and into what is kept.
struct Sink<F> {
    decoder: Decoder,
    kept: Bounded,
    on_output: F,
}

impl<F: FnMut(&str)> Sink<F> {
    /// Reads once. False when the pipe is closed.
    fn take(&mut self, pipe: &Receiver) -> io::Result<bool> {
        let mut buffer = [0; CHUNK];
        match pipe.try_read(&mut buffer) {
            Ok(0) => Ok(false),
            Ok(taken) => {
                self.push(buffer.get(..taken).unwrap_or_default());
                Ok(true)
            }
            Err(fault) if fault.kind() == io::ErrorKind::WouldBlock => Ok(true),
            Err(fault) => Err(fault),
        }
    }

    fn push(&mut self, bytes: &[u8]) {
        let text = self.decoder.push(bytes);
        self.text(&text);
    }

    fn text(&mut self, text: &str) {
        if !text.is_empty() {
            self.kept.push(text);
            (self.on_output)(text);
        }
    }

    fn finish(mut self) -> (String, u64) {
        let unfinished = self.decoder.finish();
        self.text(unfinished);
        self.kept.finish()
    }
}

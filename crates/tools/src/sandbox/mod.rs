//! Owns which sandbox the commands of a session run in, and what that means for whether they are asked
//! about. Must not know how a sandbox works.

pub mod settings;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use host::process::{Command, End, inherited, run};
pub use host::sandbox::{Grant, Layer, Network, Plan, Profile, Sandbox, Unavailable};
use tokio_util::sync::CancellationToken;

use crate::rules::List;

/// A sandbox, and how strictly commands are kept in it.
#[derive(Debug)]
pub struct Confinement {
    /// Where commands run.
    pub sandbox: Arc<Sandbox>,
    /// Whether what runs inside needs no permission.
    pub auto_allow: bool,
    /// Patterns of commands that run outside, as in rules.
    pub excluded: Vec<String>,
    /// Whether a person may let a command run outside.
    pub may_leave: bool,
}

/// The confinement of a session, shared by all its agents; it may change while they run.
#[derive(Debug, Clone, Default)]
pub struct Jail(Arc<Mutex<Option<Arc<Confinement>>>>);

impl Jail {
    /// The one that holds now; none where there is no sandbox.
    pub fn now(&self) -> Option<Arc<Confinement>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Puts another in its place, for commands that begin from now on.
    pub fn set(&self, confinement: Option<Confinement>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = confinement.map(Arc::new);
    }

    /// Profile and layer, or `off`.
    pub fn level(&self) -> String {
        self.now().map_or_else(|| Profile::Off.to_string(), |confinement| confinement.sandbox.level())
    }

    /// In what it falls short, for people.
    pub fn weakness(&self) -> Option<String> {
        let weakness = self.now()?.sandbox.layer().weakness()?;
        Some(format!("the sandbox is weaker than it could be: {weakness}"))
    }
}

/// A path as settings write it, absolute and with links followed.
pub fn located(text: &str, cwd: &Path, home: Option<&Path>) -> PathBuf {
    host::paths::resolve(&host::paths::absolute(Path::new(text), cwd, home))
}

/// Where the credentials of a person are, as far as that is known: what nobody in a sandbox reads.
pub fn credentials(home: Option<&Path>) -> Vec<PathBuf> {
    let place = |entry: &str| match entry.strip_prefix("//") {
        Some(rest) => Some(Path::new("/").join(rest)),
        None => Some(home?.join(entry.strip_prefix("~/").unwrap_or(entry))),
    };
    let mut places: Vec<PathBuf> = List::Credentials.entries().into_iter().filter_map(place).collect();
    places.sort();
    places.dedup();
    places
}

/// The helper inside a sandbox, which this program is when its first argument is [`HELPER`].
#[cfg(target_os = "linux")]
pub use host::sandbox::helper::run as help;

/// There is no helper on other systems.
#[cfg(not(target_os = "linux"))]
pub fn help(_arguments: impl Iterator<Item = OsString>) -> u8 {
    125
}

pub use host::sandbox::HELPER;

/// One command for a person: what it is, where it runs, and for how long at most.
#[derive(Debug)]
pub struct Single {
    /// Program and arguments.
    pub words: Vec<OsString>,
    /// The working folder.
    pub cwd: PathBuf,
    /// Its environment, which is given less what looks like a secret.
    pub env: Vec<(OsString, OsString)>,
    /// When it is ended.
    pub timeout: Option<Duration>,
}

/// Runs one command, in a sandbox or in none, and gives its exit code as a shell would.
pub async fn run_single(
    single: Single,
    sandbox: Option<Arc<Sandbox>>,
    cancel: &CancellationToken,
    on_output: impl FnMut(&str) + Send,
) -> Result<i32, String> {
    let mut words = single.words.into_iter();
    let command = Command {
        program: words.next().ok_or("there is no command")?,
        args: words.collect(),
        cwd: single.cwd,
        env: inherited(single.env, &[]),
        timeout: single.timeout,
        output_limit: 0,
        sandbox,
        grant: Grant::Nothing,
    };
    let finished = run(command, cancel, on_output).await.map_err(|fault| fault.to_string())?;
    Ok(match finished.end {
        End::Code(code) => code,
        End::Signal(number) => 128 + number,
        End::TimedOut => 124,
        End::Cancelled => 130,
    })
}

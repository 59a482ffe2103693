//! Owns what a child process may touch: the plan of a sandbox, the layer of the system that enforces it,
//! and the test at start that it does. Must not know what is run or why.
//!
//! A sandbox is prepared once and used for every child of a session. Each child runs under a helper,
//! which is this program itself: it checks from inside that what the plan says is so, gives up what the
//! plan does not grant, starts the command, and reports how it ended.

#[cfg(target_os = "linux")]
mod bubblewrap;
mod enter;
#[cfg(target_os = "linux")]
pub mod helper;
#[cfg(target_os = "linux")]
mod landlock;
mod plan;
mod private;
mod protect;
#[cfg(target_os = "linux")]
mod relay;
mod seatbelt;
#[cfg(target_os = "linux")]
mod seccomp;
mod spec;
mod stubs;

use std::fmt;
use std::path::PathBuf;

pub(crate) use enter::Entered;
pub use plan::{Grant, Layer, Network, Plan, Profile};
pub(crate) use stubs::Stubs;

use private::Private;
use spec::Node;

/// The first argument that makes this program the helper.
pub const HELPER: &str = "sandbox-helper";

/// Why a sandbox is not to be had, and what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the sandbox cannot be used: {reason}. {remedy}")]
pub struct Unavailable {
    /// What failed.
    pub reason: String,
    /// What helps.
    pub remedy: String,
}

/// A sandbox that was seen to work.
pub struct Sandbox {
    plan: Plan,
    layer: Layer,
    /// Where bubblewrap is.
    program: PathBuf,
    /// The running program itself, whatever becomes of its file.
    #[cfg(target_os = "linux")]
    helper: std::fs::File,
    private: Private,
    /// The writable folders as they were at start.
    writable: Vec<Node>,
}

impl fmt::Debug for Sandbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.level())
    }
}

impl Sandbox {
    /// Profile and layer, such as `workspace-write (bubblewrap)`.
    pub fn level(&self) -> String {
        format!("{} ({})", self.plan.profile, self.layer)
    }

    /// What enforces it.
    pub fn layer(&self) -> Layer {
        self.layer
    }

    /// What was asked for.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }
}

#[cfg(target_os = "linux")]
mod prepare {
    //! Owns finding a layer that works.

    use super::*;

    impl Sandbox {
        /// Makes the private folder, clears away what a crash left, and tries the layers in order: the
        /// first in which a command runs to its end is used. `plan.layer` names one.
        pub fn prepare(plan: Plan) -> Result<Self, Unavailable> {
            let fault = |reason: String| Unavailable { reason, remedy: "Correct that, or use `--sandbox off`".into() };
            plan.check().map_err(fault)?;
            let layers = match plan.layer {
                Some(layer) => vec![layer],
                None => vec![Layer::Bubblewrap, Layer::Landlock],
            };
            let mut faults = Vec::new();
            let mut remedy = String::new();
            for layer in layers {
                match Self::on(plan.clone(), layer) {
                    Ok(sandbox) => return Ok(sandbox),
                    Err(why) => {
                        faults.push(format!("{layer}: {}", why.reason));
                        if remedy.is_empty() {
                            remedy = why.remedy;
                        }
                    }
                }
            }
            Err(Unavailable { reason: faults.join("; "), remedy })
        }

        fn on(plan: Plan, layer: Layer) -> Result<Self, Unavailable> {
            let other = |reason: String| Unavailable { reason, remedy: "Correct that, or use `--sandbox off`".into() };
            let program = match layer {
                Layer::Bubblewrap => bubblewrap::find()?,
                Layer::Landlock => {
                    landlock::supports(&plan)?;
                    PathBuf::new()
                }
                Layer::Seatbelt => return Err(other("it exists on macOS only".into())),
            };
            let helper = std::fs::File::open(&plan.helper)
                .map_err(|fault| other(format!("cannot open {}: {fault}", plan.helper.display())))?;
            let private = Private::new(&plan.temp).map_err(|fault| other(format!("no private folder: {fault}")))?;
            let writable = plan.nodes().map_err(other)?;
            let folders: Vec<PathBuf> = writable.iter().map(|node| node.path.clone()).collect();
            for grant in [Grant::Nothing, Grant::Commit] {
                let fixed = protect::Protection::of(&plan, &folders, grant).map_err(other)?.fixed;
                stubs::sweep(fixed.into_iter().map(|(path, _)| path).collect());
            }
            let sandbox = std::sync::Arc::new(Self { plan, layer, program, helper, private, writable });
            sandbox.clone().try_out().map_err(|reason| match layer {
                Layer::Bubblewrap => bubblewrap::remedy(reason),
                Layer::Landlock | Layer::Seatbelt => other(reason),
            })?;
            std::sync::Arc::into_inner(sandbox).ok_or_else(|| other("it is still in use".into()))
        }

        /// Runs a command that does nothing. In a thread of its own, since whoever prepares a sandbox may
        /// be inside a runtime.
        fn try_out(self: std::sync::Arc<Self>) -> Result<(), String> {
            let trial = std::thread::spawn(move || {
                let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
                let runtime = runtime.map_err(|fault| fault.to_string())?;
                let command = crate::process::Command {
                    program: "/bin/sh".into(),
                    args: vec!["-c".into(), ":".into()],
                    cwd: "/".into(),
                    env: Vec::new(),
                    timeout: Some(std::time::Duration::from_secs(10)),
                    output_limit: 1_000,
                    sandbox: Some(self),
                    grant: Grant::Nothing,
                };
                let never = tokio_util::sync::CancellationToken::new();
                let run = runtime.block_on(crate::process::run(command, &never, |_| {}));
                match run {
                    Ok(run) if run.end == crate::process::End::Code(0) => Ok(()),
                    Ok(run) => Err(format!("a command that does nothing ended with {:?}: {}", run.end, run.output)),
                    Err(fault) => Err(fault.to_string()),
                }
            });
            trial.join().unwrap_or_else(|_| Err("the trial failed".into()))
        }
    }
}

#[cfg(target_os = "macos")]
mod prepare {
    //! Owns the start of a sandbox on macOS. Untested on hardware.

    use super::*;

    impl Sandbox {
        /// Uses Seatbelt, which is part of the system.
        pub fn prepare(plan: Plan) -> Result<Self, Unavailable> {
            let fault = |reason: String| Unavailable { reason, remedy: "Correct that, or use `--sandbox off`".into() };
            plan.check().map_err(fault)?;
            let program = PathBuf::from(seatbelt::PROGRAM);
            if !program.exists() {
                return Err(fault(format!("{} is missing", seatbelt::PROGRAM)));
            }
            let private = Private::new(&plan.temp).map_err(|why| fault(format!("no private folder: {why}")))?;
            let writable = plan.nodes().map_err(fault)?;
            Ok(Self { plan, layer: Layer::Seatbelt, program, private, writable })
        }
    }
}

#[cfg(not(any(target_os = "linux", target_os = "macos")))]
mod prepare {
    //! Owns the answer of systems without a sandbox.

    use super::*;

    impl Sandbox {
        /// There is none.
        pub fn prepare(_plan: Plan) -> Result<Self, Unavailable> {
            Err(Unavailable {
                reason: "this system has none that is known here".into(),
                remedy: "Use `--sandbox off`".into(),
            })
        }
    }
}

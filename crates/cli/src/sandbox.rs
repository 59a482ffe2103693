//! Owns `rsagent sandbox`: one command in the sandbox, its output and its exit code as they come. Must not
//! know how a sandbox works.

use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context;
use harness::sandbox::{Request, Single, confine, run_single};
use harness::workspace::{Choices, Workspace};
use harness::{Environment, SessionError};
use tokio_util::sync::CancellationToken;

use crate::args::SandboxArgs;
use crate::exit::Exit;
use crate::signals::Signals;

/// Runs it to its end.
pub fn run(args: &SandboxArgs, environment: &Environment) -> anyhow::Result<Exit> {
    let cwd = std::env::current_dir().context("the working folder is gone; go to one that exists")?;
    let workspace = Workspace::look(environment, &cwd, &Choices::default()).map_err(SessionError::from)?;
    let mut settings = workspace.settings.settings.sandbox;
    settings.network.allowed_domains.extend(args.allow_host.iter().cloned());
    let folder = |path: &PathBuf| path.canonicalize().with_context(|| format!("cannot use {}", path.display()));
    let roots = [&cwd].into_iter().chain(&args.add_dir).map(folder).collect::<anyhow::Result<Vec<_>>>()?;
    let helper = std::env::current_exe().ok();
    let request =
        Request { profile: args.profile, layer: args.layer, environment, cwd: &cwd, roots, helper: helper.as_deref() };
    let confinement = confine(&request, &settings).map_err(SessionError::from)?;
    let single = Single {
        words: args.command.clone(),
        cwd,
        env: environment.variables(),
        timeout: args.timeout.map(Duration::from_millis),
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let mut signals = Signals::new()?;
        let cancel = CancellationToken::new();
        let mut written = Ok(());
        let show = |text: &str| {
            let mut out = std::io::stdout().lock();
            if written.is_ok() {
                written = out.write_all(text.as_bytes()).and_then(|()| out.flush());
            }
        };
        let running = run_single(single, confinement.map(|confinement| confinement.sandbox), &cancel, show);
        tokio::pin!(running);
        let code = loop {
            tokio::select! {
                code = &mut running => break code.map_err(anyhow::Error::msg)?,
                signal = signals.next() => {
                    if cancel.is_cancelled() {
                        return Ok(signal.exit());
                    }
                    cancel.cancel();
                }
            }
        };
        Ok(Exit::Of(u8::try_from(code).unwrap_or(1)))
    })
}

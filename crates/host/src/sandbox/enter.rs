//! Owns the way of one command into a sandbox: what stands before it on its command line, what it inherits,
//! and what must be there while it runs. Must not know how a process is started.

use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;

use super::plan::{Layer, Network};
use super::stubs::Stubs;
use super::{Sandbox, seatbelt};
use crate::process::Command;

/// A command as it is started inside.
pub(crate) struct Entered {
    pub(crate) program: OsString,
    pub(crate) args: Vec<OsString>,
    /// Variables in place of, or beside, those of the command.
    pub(crate) env: Vec<(OsString, OsString)>,
    /// What stays open in the child, under the same numbers.
    pub(crate) inherited: Vec<OwnedFd>,
    /// Our end of the line to the helper, where there is one.
    pub(crate) control: Option<UnixStream>,
    /// Held until the command is over.
    pub(crate) stubs: Stubs,
}

impl Sandbox {
    /// Makes everything ready for a command.
    pub(crate) fn enter(&self, command: &Command) -> Result<Entered, String> {
        match self.layer {
            #[cfg(target_os = "linux")]
            Layer::Bubblewrap | Layer::Landlock => self.enter_linux(command),
            #[cfg(not(target_os = "linux"))]
            Layer::Bubblewrap | Layer::Landlock => Err("this layer exists on Linux only".into()),
            Layer::Seatbelt => {
                let profile = seatbelt::profile(&self.plan, &self.private.temp())?;
                let mut args: Vec<OsString> = vec!["-p".into(), profile.into(), "--".into(), command.program.clone()];
                args.extend(command.args.iter().cloned());
                Ok(Entered {
                    program: self.program.clone().into(),
                    args,
                    env: self.variables(),
                    inherited: Vec::new(),
                    control: None,
                    stubs: Stubs::default(),
                })
            }
        }
    }

    /// What commands are told of the sandbox.
    fn variables(&self) -> Vec<(OsString, OsString)> {
        let mut variables: Vec<(OsString, OsString)> = vec![("TMPDIR".into(), self.private.temp().into())];
        if matches!(self.plan.network, Network::Hosts(_)) {
            for name in ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"] {
                variables.push((name.into(), super::spec::PROXY_URL.into()));
            }
            for name in ["NO_PROXY", "no_proxy"] {
                variables.push((name.into(), "".into()));
            }
        }
        variables
    }
}

#[cfg(target_os = "linux")]
mod linux {
    //! Owns what the two layers of Linux need.

    use std::collections::BTreeSet;
    use std::os::fd::AsRawFd;
    use std::path::{Path, PathBuf};

    use super::*;
    use crate::sandbox::bubblewrap::{self, Mount};
    use crate::sandbox::plan::Grant;
    use crate::sandbox::protect::{Kind, Protection};
    use crate::sandbox::spec::{Node, Sockets, Spec};
    use crate::sandbox::stubs::is_stub;
    use crate::sandbox::{HELPER, landlock};

    impl Sandbox {
        pub(super) fn enter_linux(&self, command: &Command) -> Result<Entered, String> {
            self.check_writable()?;
            let writable: Vec<PathBuf> = self.writable.iter().map(|node| node.path.clone()).collect();
            // Landlock cannot open a folder except parts of it to which anything may be added.
            let grant = match self.layer {
                Layer::Bubblewrap => command.grant,
                Layer::Landlock | Layer::Seatbelt => Grant::Nothing,
            };
            let Protection { fixed, open } = Protection::of(&self.plan, &writable, grant)?;
            let mut stubs = Stubs::hold(fixed.iter().map(|(path, _)| path.as_path()));
            let mut mounts: Vec<Mount> = writable.iter().cloned().chain(open).map(Mount::Write).collect();
            mounts.push(Mount::Write(self.private.temp()));
            let mut sealed = Vec::new();
            for (path, kind) in &fixed {
                if self.layer == Layer::Bubblewrap {
                    mounts.push(self.seal(&mut stubs, path, *kind)?);
                    sealed.push(path.clone());
                } else {
                    refuse_link(path)?;
                }
            }
            let hidden = self.hidden();
            mounts.extend(hidden.iter().map(|path| match path.is_dir() {
                true => Mount::Hide(path.clone()),
                false => Mount::Cover(self.private.closed(), path.clone()),
            }));
            mounts.extend(self.plan.allow_read.iter().filter(|path| path.exists()).cloned().map(Mount::Seal));
            let by_name = matches!(self.plan.network, Network::Hosts(_));
            if by_name {
                mounts.push(Mount::Seal(self.private.proxy()));
            }

            let open = self.plan.network == Network::Open;
            let (ours, theirs) = UnixStream::pair().map_err(|fault| fault.to_string())?;
            let helper = OwnedFd::from(self.helper.try_clone().map_err(|fault| fault.to_string())?);
            let spec = Spec {
                control: theirs.as_raw_fd(),
                writable: self.writable.clone(),
                sealed,
                sockets: Sockets {
                    // In a network of its own there is nobody but the command itself.
                    internet: open || self.layer == Layer::Bubblewrap,
                    unix: self.plan.unix_sockets,
                },
                landlock: match self.layer {
                    Layer::Landlock => {
                        let fixed = fixed.iter().map(|(path, _)| path.clone()).collect();
                        Some(landlock::lists(&writable, &self.private.temp(), &fixed, &hidden)?)
                    }
                    Layer::Bubblewrap | Layer::Seatbelt => None,
                },
                proxy: by_name.then(|| self.private.proxy()),
            };
            let own = PathBuf::from(format!("/proc/self/fd/{}", helper.as_raw_fd()));
            let spec = serde_json::to_string(&spec).map_err(|fault| fault.to_string())?;
            let (program, mut args) = match self.layer {
                Layer::Bubblewrap => {
                    let mut args = bubblewrap::arguments(mounts, open, &command.cwd);
                    args.push(own.into());
                    (self.program.clone(), args)
                }
                Layer::Landlock | Layer::Seatbelt => (own, Vec::new()),
            };
            args.extend([HELPER.into(), spec.into(), command.program.clone()]);
            args.extend(command.args.iter().cloned());
            Ok(Entered {
                program: program.into(),
                args,
                env: self.variables(),
                inherited: vec![helper, theirs.into()],
                control: Some(ours),
                stubs,
            })
        }

        /// The folders are the ones that were there at start; a command may have put others in their place.
        fn check_writable(&self) -> Result<(), String> {
            for node in &self.writable {
                let path = node.path.display();
                match Node::at(&node.path) {
                    Ok(now) if now == *node && crate::paths::resolve(&node.path) == node.path => {}
                    Ok(_) => return Err(format!("{path} is not the folder that it was at start")),
                    Err(fault) => return Err(format!("cannot use {path}: {fault}")),
                }
            }
            Ok(())
        }

        fn seal(&self, stubs: &mut Stubs, path: &Path, kind: Kind) -> Result<Mount, String> {
            refuse_link(path)?;
            let there = std::fs::symlink_metadata(path).is_ok();
            if there && !is_stub(path) {
                return Ok(Mount::Seal(path.to_owned()));
            }
            stubs
                .make(path, kind)
                .map_err(|fault| format!("cannot keep {} from being made: {fault}", path.display()))?;
            let place = path.to_owned();
            Ok(match kind {
                Kind::Folder => Mount::Seal(place),
                Kind::File => Mount::Cover(self.private.empty(), place),
                Kind::Pointer => Mount::Cover(self.private.dot(), place),
            })
        }

        /// What may not be read and is there, by its real name.
        fn hidden(&self) -> BTreeSet<PathBuf> {
            self.plan.deny_read.iter().filter_map(|path| path.canonicalize().ok()).collect()
        }
    }

    /// What is laid over a link lands on its target, and the link itself could be replaced.
    fn refuse_link(path: &Path) -> Result<(), String> {
        match std::fs::symlink_metadata(path).is_ok_and(|found| found.file_type().is_symlink()) {
            true => Err(format!(
                "{} is a symbolic link, and the sandbox could not protect it. Replace it by what it points to",
                path.display()
            )),
            false => Ok(()),
        }
    }
}

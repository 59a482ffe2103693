//! Owns what a sandbox is asked for. Must not know how it is enforced.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use super::spec::Node;

/// How much a command may change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Profile {
    /// There is no sandbox.
    #[default]
    Off,
    /// Nothing but temporary files.
    ReadOnly,
    /// Also the folders of the workspace.
    WorkspaceWrite,
}

impl Profile {
    /// All of them, as people write them.
    pub const NAMES: [&str; 3] = ["off", "read-only", "workspace-write"];
}

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [off, read_only, workspace_write] = Self::NAMES;
        f.write_str(match self {
            Self::Off => off,
            Self::ReadOnly => read_only,
            Self::WorkspaceWrite => workspace_write,
        })
    }
}

impl FromStr for Profile {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let all = [Self::Off, Self::ReadOnly, Self::WorkspaceWrite];
        let known = all.into_iter().find(|profile| profile.to_string() == text);
        known.ok_or_else(|| format!("unknown sandbox profile `{text}`; use {}", Self::NAMES.join(", ")))
    }
}

/// What enforces a sandbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layer {
    /// Namespaces and mounts of bubblewrap, with a seccomp filter.
    Bubblewrap,
    /// Landlock with a seccomp filter: weaker, where there are no user namespaces.
    Landlock,
    /// Seatbelt of macOS.
    Seatbelt,
}

impl Layer {
    /// In what it falls short of the others, and what helps.
    pub fn weakness(self) -> Option<&'static str> {
        match self {
            Self::Bubblewrap => None,
            Self::Landlock => Some(
                "with Landlock nothing new can be made directly in the workspace's folder, no commit can be made, \
                 other processes can be seen, and modes and times of files outside can be changed; \
                 install bubblewrap and allow user namespaces",
            ),
            Self::Seatbelt => Some("it was never tried on this system"),
        }
    }
}

impl fmt::Display for Layer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Bubblewrap => "bubblewrap",
            Self::Landlock => "landlock",
            Self::Seatbelt => "seatbelt",
        })
    }
}

impl FromStr for Layer {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let all = [Self::Bubblewrap, Self::Landlock, Self::Seatbelt];
        let known = all.into_iter().find(|layer| layer.to_string() == text);
        known.ok_or_else(|| format!("unknown layer `{text}`; use bubblewrap, landlock or seatbelt"))
    }
}

/// What a command may reach over the network.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Network {
    /// Nothing.
    #[default]
    Off,
    /// Hosts of these names, `*.` before one for all below it, through our own proxy.
    Hosts(Vec<String>),
    /// Everything that the machine can.
    Open,
}

/// What one command may do beyond the plan, because a person or a rule let exactly that happen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Grant {
    /// Nothing.
    #[default]
    Nothing,
    /// It records history: the repository is writable, save what would run or configure something.
    Commit,
    /// It also changes the files of the working tree, protected ones included.
    Checkout,
}

/// A sandbox to be. Paths are absolute and resolved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// How much may be changed; never [`Profile::Off`].
    pub profile: Profile,
    /// What may be reached.
    pub network: Network,
    /// The folders of the workspace, in which protected names stay as they are.
    pub roots: Vec<PathBuf>,
    /// The home folder.
    pub home: Option<PathBuf>,
    /// Where the private folder is made.
    pub temp: PathBuf,
    /// What may be written besides.
    pub write: Vec<PathBuf>,
    /// What may not be written all the same.
    pub deny_write: Vec<PathBuf>,
    /// What may not be read.
    pub deny_read: Vec<PathBuf>,
    /// What may be read of that after all.
    pub allow_read: Vec<PathBuf>,
    /// Whether commands may use Unix sockets, and through them whatever listens there.
    pub unix_sockets: bool,
    /// This program, which is its own helper.
    pub helper: PathBuf,
    /// The only layer that will do.
    pub layer: Option<Layer>,
}

impl Plan {
    /// Whether it makes sense at all.
    pub(super) fn check(&self) -> Result<(), String> {
        if self.profile == Profile::Off {
            return Err("the profile `off` is no sandbox".into());
        }
        let paths = self.roots.iter().chain(&self.write).chain(&self.deny_write).chain(&self.deny_read);
        for path in paths.chain([&self.temp]) {
            if !path.is_absolute() || path.to_str().is_none() {
                return Err(format!("{} is no absolute path in UTF-8", path.display()));
            }
        }
        let around = |inner: &Path| self.writable().find(|path| inner.starts_with(path));
        if around(Path::new("/")).is_some() {
            return Err("the workspace is the root of the whole system. Start in the folder of a project".into());
        }
        match self.home.as_deref().and_then(around) {
            // What stands there is run at every login.
            Some(path) => Err(format!(
                "{} is or holds the home folder, and would be writable. Start in the folder of a project",
                path.display()
            )),
            None => Ok(()),
        }
    }

    /// What is writable, apart from temporary files.
    pub(super) fn writable(&self) -> impl Iterator<Item = &Path> {
        let paths = match self.profile {
            Profile::WorkspaceWrite => [self.roots.as_slice(), self.write.as_slice()],
            Profile::Off | Profile::ReadOnly => [[].as_slice(), [].as_slice()],
        };
        paths.into_iter().flatten().map(PathBuf::as_path)
    }

    /// The same as they are on disk. A root must be there; of the others those that are not are left out.
    pub(super) fn nodes(&self) -> Result<Vec<Node>, String> {
        let mut nodes: Vec<Node> = Vec::new();
        for path in self.writable() {
            match Node::at(path) {
                Ok(node) if nodes.contains(&node) => {}
                Ok(node) => nodes.push(node),
                Err(fault) if self.roots.iter().any(|root| root == path) => {
                    return Err(format!("cannot use {}: {fault}", path.display()));
                }
                Err(_) => {}
            }
        }
        Ok(nodes)
    }
}

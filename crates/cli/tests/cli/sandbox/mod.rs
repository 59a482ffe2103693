//! The sandbox as it keeps the real binary's commands in: what gets out of none, and what it leaves alone.

mod escapes;
mod files;
mod probe;
mod processes;
mod session;
mod sockets;

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::support::{Place, Ran};

/// What a command runs in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layer {
    Bubblewrap,
    Landlock,
    /// No sandbox: what a test calls an escape must work here, or the test shows nothing.
    Off,
}

impl Layer {
    fn flags(self) -> Vec<&'static str> {
        match self {
            Self::Bubblewrap => {
                let installed = Path::new("/usr/bin/bwrap").exists();
                assert!(
                    installed,
                    "bubblewrap is missing, and the sandbox cannot be tested: apt-get install bubblewrap"
                );
                vec!["--layer", "bubblewrap"]
            }
            Self::Landlock => vec!["--layer", "landlock"],
            Self::Off => vec!["--sandbox", "off"],
        }
    }
}

/// A workspace with a repository and an outside, none of it below the system's folder for temporary files,
/// which a sandbox replaces.
pub struct Yard {
    pub place: Place,
    pub layer: Layer,
}

impl Yard {
    pub fn new(layer: Layer) -> Self {
        let place = Place::below(Path::new("/var/tmp"))
            .with(".git/HEAD", "ref: refs/heads/main\n")
            .with(".git/config", "[core]\n")
            .with(".git/hooks/sample", "")
            .with(".git/objects/x", "");
        let yard = Self { place, layer };
        std::fs::create_dir(yard.outside()).unwrap();
        std::fs::write(yard.outside().join("old"), "old\n").unwrap();
        yard
    }

    pub fn outside(&self) -> PathBuf {
        self.place.work().parent().unwrap().join("outside")
    }

    pub fn command(&self, flags: &[&str], words: &[&str]) -> Command {
        let mut all = vec!["sandbox"];
        all.extend(self.layer.flags());
        all.extend(flags);
        all.push("--");
        all.extend(words);
        let mut command = self.place.command(&all);
        command.env("OUT", self.outside());
        command
    }

    /// Runs a script.
    pub fn sh(&self, script: &str) -> Ran {
        self.sh_with(&[], script)
    }

    pub fn sh_with(&self, flags: &[&str], script: &str) -> Ran {
        Ran::of(self.command(flags, &["/bin/sh", "-c", script]).output().unwrap())
    }

    /// Has this test binary try something inside; see `probe`.
    pub fn probe(&self, what: &str) -> Ran {
        Ran::of(self.probing(what).output().unwrap())
    }

    pub fn probing(&self, what: &str) -> Command {
        // Where it is may be hidden inside.
        let own = self.place.work().join("tests");
        let built = std::env::current_exe().unwrap();
        std::fs::hard_link(&built, &own).or_else(|_| std::fs::copy(&built, &own).map(drop)).unwrap();
        let test = "tests::sandbox::probe::probe";
        let words = [own.to_str().unwrap(), test, "--exact", "--ignored", "--nocapture"];
        let mut command = self.command(&[], &words);
        command.env("RSAGENT_PROBE", what);
        command
    }

    /// Every file below the workspace and the outside, with its content.
    pub fn snapshot(&self) -> Vec<(PathBuf, String)> {
        let mut found = Vec::new();
        let mut folders = vec![self.place.work(), self.outside(), self.place.home()];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
                let (path, kind) = (entry.path(), entry.file_type().unwrap());
                if kind.is_dir() {
                    folders.push(path.clone());
                }
                let mode = if kind.is_symlink() { 0 } else { path.metadata().unwrap().permissions().mode() };
                let content = if kind.is_file() { std::fs::read(&path).unwrap() } else { Vec::new() };
                found.push((path, format!("{mode:o} {}", String::from_utf8_lossy(&content))));
            }
        }
        found.sort();
        found
    }
}

/// What a probe came to: whether it got through, and what it said.
pub fn got_through(ran: &Ran) -> bool {
    let word = ran.stdout.lines().find_map(|line| line.split_once("probe: ").map(|(_, word)| word));
    match word {
        Some(word) if word.starts_with("through") => true,
        Some(word) if word.starts_with("refused") => false,
        _ => panic!("the probe did not say what happened: {ran:?}"),
    }
}

/// Makes a test of a function for each layer.
macro_rules! on_both_layers {
    ($($name:ident),+ $(,)?) => {
        mod bubblewrap {
            use super::super::Layer;
            $(#[test] fn $name() { super::$name(Layer::Bubblewrap) })+
        }
        mod landlock {
            use super::super::Layer;
            $(#[test] fn $name() { super::$name(Layer::Landlock) })+
        }
    };
}
use on_both_layers;

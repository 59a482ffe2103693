//! Owns running the binary: in a workspace and a home of its own, with nothing of the machine's
//! environment but PATH.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

/// A workspace and a home, both fresh.
pub struct Place {
    folder: tempfile::TempDir,
    environment: Vec<(String, String)>,
}

impl Place {
    pub fn new() -> Self {
        Self::of(tempfile::tempdir().unwrap())
    }

    /// The same in this folder.
    pub fn below(folder: &Path) -> Self {
        Self::of(tempfile::tempdir_in(folder).unwrap())
    }

    fn of(folder: tempfile::TempDir) -> Self {
        fs::create_dir(folder.path().join("work")).unwrap();
        fs::create_dir(folder.path().join("home")).unwrap();
        Self { folder, environment: Vec::new() }
    }

    /// The same with a file in the workspace.
    pub fn with(self, path: &str, text: &str) -> Self {
        self.write(path, text);
        self
    }

    /// The same with a variable.
    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.environment.push((name.to_owned(), value.to_owned()));
        self
    }

    /// The same with a settings file.
    pub fn settings(self, text: &str) -> Self {
        let folder = self.home().join(".rsagent");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("settings.json"), text).unwrap();
        self
    }

    pub fn work(&self) -> PathBuf {
        self.folder.path().join("work").canonicalize().unwrap()
    }

    pub fn home(&self) -> PathBuf {
        self.folder.path().join("home")
    }

    pub fn write(&self, path: &str, text: &str) {
        let path = self.work().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub fn read(&self, path: &str) -> String {
        fs::read_to_string(self.work().join(path)).unwrap()
    }

    pub fn has(&self, path: &str) -> bool {
        self.work().join(path).exists()
    }

    /// Every variable that the binary sees.
    pub fn variables(&self) -> Vec<(String, String)> {
        let mut all = vec![
            ("PATH".to_owned(), std::env::var("PATH").unwrap()),
            ("HOME".to_owned(), self.home().display().to_string()),
        ];
        all.extend(self.environment.iter().cloned());
        all
    }

    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(binary());
        command
            .args(arguments)
            .current_dir(self.work())
            .env_clear()
            .envs(self.variables())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    pub fn run(&self, arguments: &[&str]) -> Ran {
        Ran::of(self.command(arguments).output().unwrap())
    }

    pub fn run_with_stdin(&self, arguments: &[&str], stdin: &str) -> Ran {
        let mut child = self.command(arguments).stdin(Stdio::piped()).spawn().unwrap();
        let mut pipe = child.stdin.take().unwrap();
        let text = stdin.to_owned();
        // In a thread: the binary may write before it has read everything.
        let writer = std::thread::spawn(move || {
            let _ = pipe.write_all(text.as_bytes());
        });
        let ran = Ran::of(child.wait_with_output().unwrap());
        writer.join().unwrap();
        ran
    }

    /// The events of one headless prompt.
    pub fn events(&self, arguments: &[&str], prompt: &str) -> Events {
        let mut all = vec!["-p", prompt, "--output-format", "events"];
        all.extend(arguments);
        let ran = self.run(&all);
        let events = ran
            .stdout
            .lines()
            .map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("not an event: {line}")))
            .collect();
        Events { events, code: ran.code }
    }
}

pub fn binary() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_rsagent"))
}

/// What a run left behind.
#[derive(Debug)]
pub struct Ran {
    pub stdout: String,
    pub stderr: String,
    pub code: Option<i32>,
}

impl Ran {
    pub fn of(output: Output) -> Self {
        Self {
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
            code: output.status.code(),
        }
    }
}

/// The events of a run, and how it ended.
pub struct Events {
    pub events: Vec<Value>,
    pub code: Option<i32>,
}

impl Events {
    /// All events of one type.
    pub fn of<'a>(&'a self, kind: &'a str) -> impl Iterator<Item = &'a Value> {
        self.events.iter().filter(move |event| event["type"] == kind)
    }

    /// The whole run as an outline, one line an event.
    pub fn outline(&self) -> Vec<String> {
        crate::tests::outline::of(&self.events)
    }
}

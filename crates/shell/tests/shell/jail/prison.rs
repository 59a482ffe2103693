//! A throw-away jail: bubblewrap with a root of its own, no network, no rights, and a fixture that is looked at before
//! and after. Knows nothing of verdicts.

use std::collections::BTreeSet;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

use super::Text;

const BUBBLEWRAP: &str = "bubblewrap is missing or cannot start; install it with `apt-get install bubblewrap` \
    (`cargo xtask test` does so as root)";

/// Programs that no text which only reads starts. Each leaves a trace instead of doing its work.
const CANARIES: [&str; 46] = [
    "evil",
    "gpg",
    "ssh-keygen",
    "rm",
    "rmdir",
    "mv",
    "cp",
    "ln",
    "link",
    "unlink",
    "touch",
    "tee",
    "mkdir",
    "chmod",
    "chown",
    "chgrp",
    "truncate",
    "dd",
    "install",
    "mktemp",
    "mkfifo",
    "mknod",
    "shred",
    "nc",
    "telnet",
    "scp",
    "rsync",
    "ftp",
    "dig",
    "nslookup",
    "ping",
    "nano",
    "ed",
    "ex",
    "vi",
    "patch",
    "split",
    "csplit",
    "zip",
    "killall",
    "pkill",
    "reboot",
    "crontab",
    "at",
    "tclsh",
    "lua",
];

/// What the product adds to a command's environment, as far as it matters here.
const ENVIRONMENT: [(&str, &str); 20] = [
    ("PATH", "/canary:/usr/local/bin:/usr/bin:/bin"),
    ("HOME", "/home/me"),
    ("USER", "me"),
    ("LANG", "C.UTF-8"),
    ("PAGER", "cat"),
    ("GIT_PAGER", "cat"),
    ("MANPAGER", "cat"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_EDITOR", "true"),
    ("GIT_SEQUENCE_EDITOR", "true"),
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("GIT_CONFIG_COUNT", "4"),
    ("GIT_CONFIG_KEY_0", "core.fsmonitor"),
    ("GIT_CONFIG_VALUE_0", "false"),
    ("GIT_CONFIG_KEY_1", "core.hooksPath"),
    ("GIT_CONFIG_VALUE_1", "/dev/null"),
    ("GIT_CONFIG_KEY_2", "safe.bareRepository"),
    ("GIT_CONFIG_VALUE_2", "explicit"),
    // Else `git diff` writes what it learnt of files into the index, locks or no locks.
    ("GIT_CONFIG_KEY_3", "diff.autoRefreshIndex"),
    ("GIT_CONFIG_VALUE_3", "false"),
];

/// Names that turn into options where a glob finds them.
const ODD_NAMES: [&str; 14] = [
    "-o",
    "-oOUT",
    "-i",
    "-w",
    "-delete",
    "-fprint",
    "--output=OUT",
    "--compress-program=evil",
    "--pre=evil",
    "-exec",
    "x[$(evil)]",
    "a=b",
    "w OUT",
    "{}",
];

/// The fixture and what else all jails of a run share.
pub struct Prison {
    folder: TempDir,
}

impl Prison {
    pub fn new() -> Self {
        let folder = TempDir::new().unwrap();
        let prison = Self { folder };
        prison.build();
        prison
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn build(&self) {
        let fixture = self.path("fixture");
        for (place, odd) in [("work", false), ("work/odd", true), ("home/me", false)] {
            let folder = fixture.join(place);
            fs::create_dir_all(folder.join("src/deep")).unwrap();
            fs::create_dir_all(folder.join("docs")).unwrap();
            for (name, content) in FILES {
                fs::write(folder.join(name), content).unwrap();
            }
            std::os::unix::fs::symlink("a.txt", folder.join("link")).unwrap();
            for name in ODD_NAMES.iter().filter(|_| odd) {
                fs::write(folder.join(name), "w OUT\n").unwrap();
            }
        }
        let script = include_str!("fixture.sh");
        let done = Command::new("bash").args(["-c", script]).current_dir(fixture.join("work")).status().unwrap();
        assert!(done.success(), "git cannot make the fixture");
        fs::write(self.path("canaries"), CANARIES.join("\n") + "\n").unwrap();
        fs::write(self.path("resolv.conf"), "nameserver 127.0.0.1\n").unwrap();
        fs::write(self.path("driver"), include_str!("driver.sh")).unwrap();
        let open = Command::new("chmod").args(["-R", "a+rX"]).arg(self.folder.path()).status().unwrap();
        assert!(open.success());
    }

    /// Runs texts one after another in one jail and tells what became different; nothing if nothing did.
    pub fn run(&self, texts: &[&Text]) -> Vec<String> {
        let mut batch = Vec::new();
        for text in texts {
            for field in text.values.iter().copied().chain([text.folder, text.text.as_str()]) {
                assert!(!field.contains('\0'));
                batch.extend_from_slice(field.as_bytes());
                batch.push(0);
            }
        }
        let file = tempfile::NamedTempFile::new_in(self.folder.path()).unwrap();
        fs::write(file.path(), batch).unwrap();
        let readable = std::os::unix::fs::PermissionsExt::from_mode(0o644);
        fs::set_permissions(file.path(), readable).unwrap();
        let told = self.jail(file.path());
        changes(&told)
    }

    fn jail(&self, batch: &Path) -> String {
        let mut command = as_nobody("bwrap");
        command.args(["--unshare-all", "--die-with-parent", "--new-session", "--cap-drop", "ALL", "--clearenv"]);
        for (name, value) in ENVIRONMENT {
            command.args(["--setenv", name, value]);
        }
        command.args(["--tmpfs", "/", "--ro-bind", "/usr", "/usr", "--ro-bind", "/etc", "/etc"]);
        for name in ["bin", "sbin", "lib", "lib64"] {
            let target = Path::new("/").join(name);
            match fs::read_link(&target) {
                Ok(link) => command.arg("--symlink").arg(link).arg(&target),
                Err(_) => command.arg("--ro-bind-try").arg(&target).arg(&target),
            };
        }
        command.args(["--dev", "/dev", "--proc", "/proc"]);
        // Who asks for a name has to send something.
        if fs::symlink_metadata("/etc/resolv.conf").is_ok_and(|file| file.is_file()) {
            command.arg("--ro-bind").arg(self.path("resolv.conf")).arg("/etc/resolv.conf");
        }
        for (name, path) in [
            ("fixture", self.path("fixture")),
            ("canaries", self.path("canaries")),
            ("driver", self.path("driver")),
            ("batch", batch.to_path_buf()),
        ] {
            command.arg("--ro-bind").arg(path).arg(format!("/jail/{name}"));
        }
        command.args(["--chdir", "/", "/bin/bash", "/jail/driver"]);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect(BUBBLEWRAP);
        let mut told = Vec::new();
        child.stdout.take().unwrap().read_to_end(&mut told).unwrap();
        let mut complaint = String::new();
        child.stderr.take().unwrap().read_to_string(&mut complaint).unwrap();
        child.wait().unwrap();
        let told = String::from_utf8_lossy(&told).into_owned();
        assert!(told.contains("BEFORE\n") && told.contains("TEXTS\n"), "{BUBBLEWRAP}: {complaint}");
        told
    }
}

/// Root gives up its rights first, since limits on processes do not hold for it.
fn as_nobody(program: &str) -> Command {
    let root = fs::metadata("/proc/self").is_ok_and(|own| std::os::unix::fs::MetadataExt::uid(&own) == 0);
    if !root {
        return Command::new(program);
    }
    let mut command = Command::new("setpriv");
    command.args(["--reuid", "65534", "--regid", "65534", "--clear-groups", "--", program]);
    command
}

/// Lines that are there only before (`-`) or only after (`+`).
fn changes(told: &str) -> Vec<String> {
    let between = |head: &str, tail: &str| -> BTreeSet<&str> {
        let rest = told.split_once(head).map_or("", |(_, rest)| rest);
        rest.split_once(tail).map_or("", |(part, _)| part).lines().collect()
    };
    let before = between("BEFORE\n", "TEXTS\n");
    if !told.ends_with("END\n") {
        return vec!["the jail ended before its texts did".into()];
    }
    let after = between("AFTER\n", "END\n");
    let gone = before.difference(&after).map(|line| format!("- {line}"));
    gone.chain(after.difference(&before).map(|line| format!("+ {line}"))).collect()
}

const FILES: [(&str, &str); 14] = [
    ("a.txt", "one two\nw OUT\n3\n\nfive\n"),
    ("b.txt", "b 1\na 2\nw OUT\n"),
    ("my notes.txt", "notes\n"),
    ("data.json", "{\"a\": [1, 2], \"b\": \"$(evil)\"}\n"),
    ("data.csv", "a,b\n1,2\n"),
    ("list", "-delete\n-o\nOUT\n"),
    ("list0", "a.txt\0-oOUT\0"),
    ("x.awk", "BEGIN { system(\"evil\") }\n"),
    ("x.sed", "w OUT\n"),
    ("x.sh", "evil\n"),
    ("Cargo.toml", "[package]\nname = \"x\"\n"),
    ("src/main.rs", "fn main() {\n    // TODO\n}\n"),
    ("src/deep/lib.rs", "pub fn f() {}\n"),
    ("docs/x.md", "# x\n"),
];

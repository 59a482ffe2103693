//! Ways out that go by processes: what outlives a command, what is inherited, what fills the machine, and how
//! an end comes through.

use std::fs::{File, OpenOptions};
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::CommandExt;
use std::process::Command;

use super::super::support::{Ran, binary};
use super::{Layer, Yard, got_through, on_both_layers};

/// A pipe in the workspace that tells whether anybody still holds its other end.
struct Life(File);

impl Life {
    fn new(yard: &Yard) -> Self {
        let path = yard.place.work().join("life");
        assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
        yard.place.write("id", "");
        Self(OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path).unwrap())
    }

    /// Whether whoever held it has ended. It must have held it.
    fn is_over(&mut self) -> bool {
        let mut said = Vec::new();
        let end = self.0.read_to_end(&mut said);
        assert!(said.starts_with(b"held"), "nobody held it");
        end.is_ok()
    }
}

/// Starts one that leaves its session, its group and its parent, and holds the pipe.
const STRAY: &str = "(setsid sh -c 'exec 9>life; echo held $$ >&9; echo $$ > id; while :; do sleep 0.05; done' &) ; \
                     while ! [ -s id ]; do sleep 0.01; done";

fn end(yard: &Yard) {
    let id = yard.place.read("id");
    let _ = Command::new("kill").args(["-9", id.trim()]).status();
}

fn a_stray_is_ended_with_its_command(layer: Layer) {
    for (then, flags, code) in [("exit 3", [].as_slice(), 3), ("sleep 300", &["--timeout", "1500"], 124)] {
        let stays = |layer| {
            let yard = Yard::new(layer);
            let mut life = Life::new(&yard);
            let ran = yard.sh_with(flags, &format!("{STRAY}; {then}"));
            assert_eq!(ran.code, Some(code), "{ran:?}");
            let over = life.is_over();
            if layer == Layer::Off {
                end(&yard);
            }
            !over
        };
        assert!(!stays(layer), "{layer:?}: {then}");
        assert!(stays(Layer::Off), "without a sandbox nothing outlives its command: {then}");
    }
}

fn a_last_word_may_be_said(layer: Layer) {
    let yard = Yard::new(layer);
    let script = "trap 'echo bye; exit 0' TERM; while :; do sleep 0.05; done";
    let ran = yard.sh_with(&["--timeout", "500"], script);
    assert_eq!(ran.code, Some(124));
    assert!(ran.stdout.ends_with("bye\n"), "{ran:?}");
}

fn one_that_ignores_its_end_is_killed(layer: Layer) {
    let yard = Yard::new(layer);
    let mut life = Life::new(&yard);
    let script = "trap '' TERM; exec 9>life; echo held >&9; while :; do sleep 0.05; done";
    let ran = yard.sh_with(&["--timeout", "500"], script);
    assert_eq!(ran.code, Some(124), "{ran:?}");
    assert!(life.is_over());
}

fn an_end_comes_through(layer: Layer) {
    let yard = Yard::new(layer);
    for (script, code, output) in [
        ("echo out; echo err >&2; exit 7", 7, "out\nerr\n"),
        ("kill -9 $$", 137, ""),
        ("kill -SEGV $$", 139, ""),
        ("exit 137", 137, ""),
        ("kill 0; sleep 300", 143, ""),
        ("cat; echo after", 0, "after\n"),
    ] {
        let ran = yard.sh(script);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(code), output), "{script}: {ran:?}");
    }
    let ran = Ran::of(yard.command(&[], &["no-such-program"]).output().unwrap());
    assert_eq!(ran.code, Some(1));
    assert_eq!(ran.stderr, "rsagent: there is no program `no-such-program`; check its name and PATH\n");
}

/// `rsagent` itself is started with a file that is open and not meant for commands.
fn nothing_is_inherited(layer: Layer) {
    let yard = Yard::new(layer);
    let inside = yard.command(&[], &["/bin/sh", "-c", "ls /proc/$$/fd | tr '\\n' ' '; echo x >&9"]);
    let words: Vec<_> = inside.get_args().map(|word| word.to_str().unwrap()).collect();
    let with_file = |program: &str, words: &[&str]| {
        let mut shell = Command::new("/bin/sh");
        shell.current_dir(yard.place.work()).args([
            "-c",
            "exec 9>\"$0\"; exec \"$@\"",
            yard.outside().join("new").to_str().unwrap(),
            program,
        ]);
        Ran::of(shell.args(words).env_clear().envs(yard.place.variables()).output().unwrap())
    };
    let ran = with_file(binary().to_str().unwrap(), &words);
    assert!(ran.stdout.starts_with("0 1 2 "), "{ran:?}");
    assert!(!ran.stdout.starts_with("0 1 2 9"), "{ran:?}");
    assert_eq!(std::fs::read_to_string(yard.outside().join("new")).unwrap(), "");
    // Without anything in between it would be.
    with_file("/bin/sh", &["-c", "echo x >&9"]);
    assert_eq!(std::fs::read_to_string(yard.outside().join("new")).unwrap(), "x\n");
}

on_both_layers!(
    a_stray_is_ended_with_its_command,
    a_last_word_may_be_said,
    one_that_ignores_its_end_is_killed,
    an_end_comes_through,
    nothing_is_inherited,
);

/// Files in memory are bounded; those on disk are where the person's are.
#[test]
fn memory_is_not_filled_with_files() {
    for folder in ["/tmp", "/dev/shm"] {
        let through = |layer| got_through(&Yard::new(layer).probe(&format!("allocate {folder}/rsagent-big")));
        assert!(!through(Layer::Bubblewrap), "{folder}");
        assert!(!through(Layer::Landlock), "{folder}");
        let outside = through(Layer::Off);
        std::fs::remove_file(format!("{folder}/rsagent-big")).unwrap();
        assert!(outside, "{folder} is smaller than 2 GiB even without a sandbox");
    }
}

/// Threads are processes to the system. It does not count those of root, so root runs this as nobody.
#[test]
fn the_number_of_processes_is_bounded() {
    let most = |layer| {
        let yard = Yard::new(layer);
        let mut probe = yard.probing("threads 4500");
        if rustix::process::getuid().is_root() {
            let owned =
                [yard.place.work(), yard.place.home(), yard.outside(), yard.place.work().parent().unwrap().into()];
            let mut chown = Command::new("chown");
            assert!(chown.arg("-R").arg("65534:65534").args(owned).status().unwrap().success());
            probe.uid(65_534).gid(65_534);
        }
        let ran = Ran::of(probe.output().unwrap());
        assert!(got_through(&ran), "{ran:?}");
        ran.stdout.rsplit_once("through ").unwrap().1.split_whitespace().next().unwrap().parse::<u32>().unwrap()
    };
    let inside = most(Layer::Bubblewrap);
    assert!(inside > 3_900 && inside < 4_100, "{inside}");
    assert_eq!(most(Layer::Off), 4_500);
}

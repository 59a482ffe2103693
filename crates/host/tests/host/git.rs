//! The look at git's configuration, against repositories that git made, and against git itself.

use std::path::{Path, PathBuf};
use std::process::Command;

use host::git::Probe;
use proptest::prelude::*;
use tempfile::TempDir;

/// Runs git as nobody in particular and gives back what it says.
fn git(folder: &Path, args: &[&str]) -> String {
    let mut command = Command::new("git");
    let names = ["user.name=n", "user.email=e@example.com", "protocol.file.allow=always", "init.defaultBranch=main"];
    command.args(names.iter().flat_map(|name| ["-c", name])).args(args).current_dir(folder);
    command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_SYSTEM", "/dev/null");
    let output = command.output().unwrap();
    assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

struct Repository {
    _folder: TempDir,
    top: PathBuf,
    work: PathBuf,
}

impl Repository {
    /// A repository with one commit, in a folder beside which others have room.
    fn new() -> Self {
        let folder = TempDir::new().unwrap();
        let top = folder.path().canonicalize().unwrap();
        let work = top.join("work");
        commit(&work);
        Self { _folder: folder, top, work }
    }

    fn add(&self, path: &str, text: &str) {
        let path = self.work.join(path);
        let before = std::fs::read_to_string(&path).unwrap_or_default();
        std::fs::write(path, before + text).unwrap();
    }
}

fn commit(work: &Path) {
    std::fs::create_dir_all(work).unwrap();
    git(work, &["init", "-q"]);
    std::fs::write(work.join("a.txt"), "a\n").unwrap();
    git(work, &["add", "-A"]);
    git(work, &["commit", "-q", "-m", "one"]);
}

fn objection(folder: &Path) -> Option<String> {
    Probe::default().objection(folder)
}

fn why(text: &str) -> Option<String> {
    Some(text.to_owned())
}

#[test]
fn what_git_and_people_write_is_clean() {
    let repository = Repository::new();
    let work = &repository.work;
    assert_eq!(objection(&repository.top), None);
    assert_eq!(objection(work), None);
    git(work, &["remote", "add", "origin", "git@example.com:a/b.git"]);
    git(work, &["config", "branch.main.vscode-merge-base", "origin/main"]);
    git(work, &["config", "core.hooksPath", ".husky/_"]);
    git(work, &["config", "user.email", "a@example.com"]);
    git(work, &["config", "commit.gpgSign", "true"]);
    git(work, &["config", "gitflow.prefix.feature", "feature/"]);
    git(work, &["config", "other.thing", "some text"]);
    std::fs::create_dir(work.join("src")).unwrap();
    for folder in [work, &work.join("src"), &repository.top] {
        assert_eq!(objection(folder), None);
    }
}

#[test]
fn settings_that_name_programs_are_found() {
    let repository = Repository::new();
    let work = &repository.work;
    let clean = std::fs::read_to_string(work.join(".git/config")).unwrap();
    for (text, reason) in [
        ("[diff]\nexternal = ./x", "sets diff.external"),
        ("[DIFF]\n\tExternal=on", "sets diff.external"),
        ("[diff \"d\"] command = x", "sets diff.d.command"),
        ("[diff.d]\ntextconv = x", "sets diff.d.textconv"),
        ("[filter \"f\"]\nclean = x", "sets filter.f.clean"),
        ("[filter \"f\"]\nsmudge = \\\n x", "sets filter.f.smudge"),
        ("[filter \"f\"]\nprocess = x", "sets filter.f.process"),
        ("[core]\nfsmonitor = .git/x", "sets core.fsmonitor"),
        ("[core]\npager = x", "sets core.pager"),
        ("[core]\nsshCommand = x", "sets core.sshcommand"),
        ("[core]\nalternateRefsCommand = x", "sets core.alternaterefscommand"),
        ("[core]\nnewThing = x", "sets core.newthing"),
        ("[core]\nworktree = ../..", "sets core.worktree to another folder"),
        ("[pager]\nlog = x", "sets pager.log"),
        ("[alias]\nst = status", "sets alias.st"),
        ("[gpg]\nprogram = x", "sets gpg.program"),
        ("[gpg \"ssh\"]\nprogram = x", "sets gpg.ssh.program"),
        ("[gpg \"ssh\"]\ndefaultKeyCommand = x", "sets gpg.ssh.defaultkeycommand"),
        ("[credential \"https://x\"]\nhelper = x", "sets credential.https://x.helper"),
        ("[include]\npath = x", "sets include.path"),
        ("[includeIf \"gitdir:~/\"]\npath = x", "sets includeif.gitdir:~/.path"),
        ("[interactive]\ndiffFilter = x", "sets interactive.difffilter"),
        ("[remote \"o\"]\nuploadpack = x", "sets remote.o.uploadpack"),
        ("[remote \"o\"]\nvcs = x", "sets remote.o.vcs"),
        ("[uploadpack]\npackObjectsHook = x", "sets uploadpack.packobjectshook"),
        ("[submodule \"s\"]\nupdate = !x", "sets submodule.s.update"),
        ("[merge \"m\"]\ndriver = x", "sets merge.m.driver"),
        ("[hook \"h\"]\ncommand = x", "sets hook.h.command"),
        ("[lfs \"customtransfer.x\"]\npath = x", "sets lfs.customtransfer.x.path"),
        ("[lfs \"extension.x\"]\nclean = x", "sets lfs.extension.x.clean"),
        ("[unheard]\nof = !x", "sets unheard.of"),
        ("[log]\nshowSignature", "sets log.showsignature"),
        ("[pretty]\nx = %h %+G?", "sets pretty.x"),
        ("[extensions]\nunheard = true", "sets extensions.unheard"),
        ("[extensions]\npartialClone = o", "sets extensions.partialclone, so that a read may fetch from elsewhere"),
        ("[remote \"o\"]\npromisor = true", "sets remote.o.promisor, so that a read may fetch from elsewhere"),
        ("[a]\nb = \"c", "cannot be read for certain (line 7)"),
    ] {
        std::fs::write(work.join(".git/config"), format!("{clean}{text}\n")).unwrap();
        assert_eq!(objection(work), Some(format!(".git/config {reason}")), "{text}");
    }
    // An empty value takes back, and a switch names nothing.
    for text in ["[diff]\nexternal =", "[core]\nfsmonitor = true", "[pager]\nlog = false", "[core]\nnewThing = 12k"] {
        std::fs::write(work.join(".git/config"), format!("{clean}{text}\n")).unwrap();
        assert_eq!(objection(work), None, "{text}");
    }
}

#[test]
fn work_trees_share_a_configuration_and_have_one_of_their_own() {
    let repository = Repository::new();
    git(&repository.work, &["worktree", "add", "-q", "../side"]);
    let side = repository.top.join("side");
    assert_eq!(objection(&side), None);
    let own = repository.work.join(".git/worktrees/side/config.worktree");
    std::fs::write(&own, "[diff]\nexternal = x\n").unwrap();
    assert_eq!(objection(&side), Some(format!("{} sets diff.external", own.display())));
    assert_eq!(objection(&repository.work), None);
    std::fs::remove_file(own).unwrap();
    repository.add(".git/config", "[diff]\nexternal = x\n");
    let shared = side.parent().unwrap().join("work/.git/worktrees/side/../../config");
    assert_eq!(objection(&side), Some(format!("{} sets diff.external", shared.display())));
}

#[test]
fn submodules_are_looked_at_however_they_are_kept() {
    for version in ["2", "3", "4"] {
        let repository = Repository::new();
        let work = &repository.work;
        commit(&repository.top.join("other"));
        git(work, &["submodule", "--quiet", "add", "../other", "deep/sub"]);
        commit(&work.join("own"));
        git(work, &["-c", "advice.addEmbeddedRepo=false", "add", "own"]);
        git(work, &["update-index", "--index-version", version]);
        if version == "3" {
            git(work, &["update-index", "--skip-worktree", "a.txt"]);
        }
        assert_eq!(objection(work), None, "version {version}");
        repository.add("own/.git/config", "[filter \"x\"]\nclean = x\n");
        assert_eq!(objection(work), why("own/.git/config sets filter.x.clean"), "version {version}");
        git(&work.join("own"), &["config", "--unset", "filter.x.clean"]);
        assert_eq!(objection(work), None, "version {version}");
        repository.add(".git/modules/deep/sub/config", "[filter \"x\"]\nclean = x\n");
        let reason = "deep/sub/../../.git/modules/deep/sub/config sets filter.x.clean";
        assert_eq!(objection(work), why(reason), "version {version}");
    }
}

#[test]
fn a_submodule_is_found_among_names_of_other_hashes() {
    let folder = TempDir::new().unwrap();
    let work = folder.path().canonicalize().unwrap();
    git(&work, &["init", "-q", "--object-format=sha256"]);
    for name in ["a", "bb", "ccc", "dddd", "eeeee", "ffffff", "ggggggg", "hhhhhhhh"] {
        std::fs::write(work.join(name), name).unwrap();
    }
    git(&work, &["init", "-q", "--object-format=sha256", "sub"]);
    git(&work.join("sub"), &["commit", "-q", "--allow-empty", "-m", "one"]);
    git(&work, &["-c", "advice.addEmbeddedRepo=false", "add", "-A"]);
    assert_eq!(objection(&work), None);
    std::fs::write(work.join("sub/.git/config"), "[core]\neditor = x\n").unwrap();
    assert_eq!(objection(&work), why("sub/.git/config sets core.editor"));
}

#[test]
fn what_is_odd_is_not_clean() {
    let bare = "may be a repository without a work tree";
    let repository = Repository::new();
    let work = &repository.work;
    git(&repository.top, &["init", "-q", "--bare", "bare"]);
    let top = repository.top.join("bare");
    assert_eq!(objection(&top), Some(format!("{} {bare}", top.display())));
    assert_eq!(objection(&top.join("objects")), Some(format!("{} {bare}", top.display())));
    // The inside of a repository is one as well.
    let inside = work.join(".git");
    assert_eq!(objection(&inside.join("refs")), Some(format!("{} {bare}", inside.display())));
    // One that is committed.
    let nested = work.join("nested");
    std::fs::create_dir_all(nested.join("objects")).unwrap();
    std::fs::write(nested.join("HEAD"), "ref: refs/heads/main\n").unwrap();
    assert_eq!(objection(&nested), Some(format!("{} {bare}", nested.display())));
    assert_eq!(objection(work), None);

    git(work, &["update-index", "--split-index"]);
    assert_eq!(objection(work), why(".git/index cannot be read for certain"));
    git(work, &["update-index", "--no-split-index"]);
    assert_eq!(objection(work), None);
    for (path, text, reason) in [
        (".git/index", "DIRC", ".git/index cannot be read for certain"),
        (".git/HEAD", "ref: elsewhere", ".git/HEAD cannot be read for certain"),
        (".git/commondir", "../nowhere", ".git/../nowhere/objects cannot be read for certain"),
    ] {
        let before = std::fs::read(work.join(path)).ok();
        std::fs::write(work.join(path), text).unwrap();
        assert_eq!(objection(work), why(reason));
        match before {
            Some(before) => std::fs::write(work.join(path), before).unwrap(),
            None => std::fs::remove_file(work.join(path)).unwrap(),
        }
    }
    for (text, reason) in [
        ("gitdir: nowhere", "sub/nowhere/HEAD cannot be read for certain"),
        ("gitdir:nowhere", "sub/.git cannot be read for certain"),
        ("gitdir: a\nb", "sub/.git cannot be read for certain"),
        ("", "sub/.git cannot be read for certain"),
    ] {
        let sub = work.join("sub");
        std::fs::create_dir_all(&sub).unwrap();
        std::fs::write(sub.join(".git"), text).unwrap();
        let shown = reason.replacen("sub/", "", 1);
        assert_eq!(objection(&sub), Some(shown), "{text:?}");
    }
    // A pipe is not waited for.
    std::fs::remove_file(work.join(".git/config")).unwrap();
    assert!(Command::new("mkfifo").arg(work.join(".git/config")).status().unwrap().success());
    assert_eq!(objection(work), why(".git/config cannot be read for certain"));
    std::os::unix::fs::symlink("nowhere", repository.top.join(".git")).unwrap();
    assert_eq!(objection(&repository.top), why(".git cannot be read for certain"));
}

#[test]
fn a_folder_of_that_name_alone_is_no_repository() {
    let repository = Repository::new();
    let inner = repository.work.join("inner");
    std::fs::create_dir_all(inner.join(".git")).unwrap();
    assert_eq!(objection(&inner), None);
    repository.add(".git/config", "[diff]\nexternal = x\n");
    let config = repository.work.join(".git/config");
    assert_eq!(objection(&inner), Some(format!("{} sets diff.external", config.display())));
}

/// Each change is seen by the same probe, however soon it comes and whatever the file's times say.
#[test]
fn an_answer_is_kept_only_as_long_as_it_is_true() {
    let repository = Repository::new();
    let (work, config) = (&repository.work, repository.work.join(".git/config"));
    let probe = Probe::default();
    let clean = std::fs::read_to_string(&config).unwrap();
    let old = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000);
    for round in 0..100 {
        for (text, reason) in [("ext", None), ("external", why(".git/config sets diff.external"))] {
            std::fs::write(&config, format!("{clean}[diff]\n#{:>8}\n{text:>8} = 1\n", round % 10)).unwrap();
            std::fs::File::options().write(true).open(&config).unwrap().set_modified(old).unwrap();
            assert_eq!(probe.objection(work), reason, "round {round}");
        }
    }
    std::fs::write(&config, clean).unwrap();
    commit(&work.join("inner"));
    assert_eq!(probe.objection(&work.join("inner")), None);
    std::fs::remove_dir_all(work.join("inner/.git")).unwrap();
    repository.add(".git/config", "[diff]\nexternal = x\n");
    let reason = Some(format!("{} sets diff.external", config.display()));
    assert_eq!(probe.objection(&work.join("inner")), reason);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    /// Where our reader finds no fault and nothing that names a program, git has no such setting either.
    #[test]
    fn git_reads_no_setting_that_we_do_not(pieces in proptest::collection::vec(piece(), 1..14)) {
        let repository = shared();
        let config = repository.work.join(".git/config");
        let text = pieces.concat();
        std::fs::write(&config, format!("[core]\nrepositoryformatversion = 0\nbare = false\n{text}")).unwrap();
        if objection(&repository.work).is_none() {
            let listed = git(&repository.top, &["config", "--no-includes", "-z", "--list", "-f", config.to_str().unwrap()]);
            for setting in listed.split('\0') {
                let (key, value) = setting.split_once('\n').unwrap_or((setting, "true"));
                prop_assert!(key != "diff.external" || value.is_empty(), "{text:?} sets {setting:?}");
            }
        }
    }
}

fn shared() -> &'static Repository {
    static SHARED: std::sync::LazyLock<Repository> = std::sync::LazyLock::new(Repository::new);
    &SHARED
}

/// Bits that configurations are made of, whole lines among them so that some can be read.
fn piece() -> impl Strategy<Value = String> {
    let bits = [
        "[diff]",
        "[diff]\n",
        "[diff \"",
        "\"]",
        "[DIFF]\n",
        "[user]\n",
        "[user]",
        "external",
        "external = x\n",
        "name = ",
        "name",
        "=",
        " ",
        "\t",
        "\n",
        "\r\n",
        "\r",
        "\\",
        "\\\n",
        "\\\"",
        "\"",
        "#",
        ";",
        "x",
        "\u{feff}",
        "é",
        "]",
        "[",
        "name = \"x\\\n",
        "name = x \\\n",
        "a",
        "\0",
        "[user]name=\"",
        "\"external=x\n",
    ];
    prop::sample::select(bits.to_vec()).prop_map(str::to_owned)
}

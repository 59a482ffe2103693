//! Owns how bubblewrap is found and what it is told. Must not know what is protected or why.

use std::ffi::OsString;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::Unavailable;

/// Where systems put it. It is never looked for anywhere else: a `PATH` may lead through folders that a
/// command can write to.
const PLACES: [&str; 3] = ["/usr/bin/bwrap", "/usr/local/bin/bwrap", "/run/current-system/sw/bin/bwrap"];
/// Bytes of memory that temporary files outside the private folder may take.
const SCRATCH: &str = "1073741824";

/// One change of what a command sees of the file system.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Mount {
    /// May be written.
    Write(PathBuf),
    /// May be read only.
    Seal(PathBuf),
    /// Shows this file at that place.
    Cover(PathBuf, PathBuf),
    /// A folder that nobody may look into.
    Hide(PathBuf),
}

impl Mount {
    fn place(&self) -> &Path {
        match self {
            Self::Write(path) | Self::Seal(path) | Self::Cover(_, path) | Self::Hide(path) => path,
        }
    }
}

/// The program, where it belongs to the system.
pub(super) fn find() -> Result<PathBuf, Unavailable> {
    let found = PLACES.iter().map(PathBuf::from).find(|path| path.exists()).ok_or_else(|| Unavailable {
        reason: "bwrap is not installed".into(),
        remedy: "Install it: apt-get install bubblewrap (or dnf, pacman, zypper)".into(),
    })?;
    let of_system = |path: &Path| std::fs::metadata(path).is_ok_and(|file| file.uid() == 0 && file.mode() & 0o022 == 0);
    match of_system(&found) {
        true => Ok(found),
        false => Err(Unavailable {
            reason: format!("{} could be changed by others than root", found.display()),
            remedy: "Install bubblewrap from the system's packages".into(),
        }),
    }
}

/// What helps where it does not start.
pub(super) fn remedy(reason: String) -> Unavailable {
    let namespaces = ["uid map", "namespace", "Operation not permitted", "Permission denied", "loopback"];
    let remedy = match namespaces.iter().any(|sign| reason.contains(sign)) {
        true => {
            "Allow user namespaces (sysctl kernel.unprivileged_userns_clone=1, or \
             kernel.apparmor_restrict_unprivileged_userns=0 on Ubuntu; a container needs them from its host), \
             or use `--sandbox off`"
        }
        false => "Correct that, or use `--sandbox off`",
    };
    Unavailable { reason, remedy: remedy.into() }
}

/// What comes before the command: everything read-only, nothing of other processes, no network unless
/// `share_network`, private folders for temporary files, then `mounts` from the outside in.
pub(super) fn arguments(mut mounts: Vec<Mount>, share_network: bool, cwd: &Path) -> Vec<OsString> {
    let mut arguments: Vec<OsString> = Vec::new();
    let mut add = |words: &[&str]| arguments.extend(words.iter().map(OsString::from));
    add(&["--unshare-all", "--unshare-user", "--disable-userns", "--cap-drop", "ALL"]);
    add(&["--die-with-parent", "--new-session"]);
    if share_network {
        add(&["--share-net"]);
    }
    add(&["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"]);
    add(&["--size", SCRATCH, "--tmpfs", "/dev/shm", "--remount-ro", "/dev"]);
    add(&["--size", SCRATCH, "--perms", "1777", "--tmpfs", "/tmp"]);
    // Stable: of two at one place the later one in the list lies on top.
    mounts.sort_by_key(|mount| mount.place().components().count());
    let mut hidden = Vec::new();
    for mount in &mounts {
        let words: Vec<&std::ffi::OsStr> = match mount {
            Mount::Write(path) => vec!["--bind".as_ref(), path.as_ref(), path.as_ref()],
            Mount::Seal(path) => vec!["--ro-bind".as_ref(), path.as_ref(), path.as_ref()],
            Mount::Cover(from, to) => vec!["--ro-bind".as_ref(), from.as_ref(), to.as_ref()],
            Mount::Hide(path) => {
                hidden.push(path);
                // What is let through below it must be reached.
                let passed = mounts.iter().any(|other| other.place() != *path && other.place().starts_with(path));
                let mode = if passed { "0555" } else { "0000" };
                vec!["--perms".as_ref(), mode.as_ref(), "--tmpfs".as_ref(), path.as_ref()]
            }
        };
        arguments.extend(words.into_iter().map(OsString::from));
    }
    for path in hidden {
        arguments.extend(["--remount-ro".into(), path.into()]);
    }
    arguments.extend(["--chdir".into(), cwd.into(), "--".into()]);
    arguments
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mounts_come_from_the_outside_in() {
        let mounts = vec![
            Mount::Write("/w".into()),
            Mount::Write("/home/me/x/y".into()),
            Mount::Seal("/w/.git".into()),
            Mount::Cover("/p/empty".into(), "/w/.envrc".into()),
            Mount::Hide("/home/me".into()),
            Mount::Hide("/root/.ssh".into()),
        ];
        let shown: Vec<String> =
            arguments(mounts, false, Path::new("/w")).iter().map(|word| word.to_string_lossy().into_owned()).collect();
        assert_eq!(
            shown.join(" "),
            "--unshare-all --unshare-user --disable-userns --cap-drop ALL --die-with-parent --new-session \
             --ro-bind / / --dev /dev --proc /proc --size 1073741824 --tmpfs /dev/shm --remount-ro /dev \
             --size 1073741824 --perms 1777 --tmpfs /tmp --bind /w /w --ro-bind /w/.git /w/.git \
             --ro-bind /p/empty /w/.envrc --perms 0555 --tmpfs /home/me --perms 0000 --tmpfs /root/.ssh \
             --bind /home/me/x/y /home/me/x/y --remount-ro /home/me --remount-ro /root/.ssh --chdir /w --"
        );
    }

    #[test]
    fn a_refusal_of_the_kernel_has_a_remedy() {
        let asked = remedy("bwrap: setting up uid map: Permission denied".into());
        assert!(asked.remedy.starts_with("Allow user namespaces"), "{}", asked.remedy);
        assert_eq!(remedy("it burns".into()).remedy, "Correct that, or use `--sandbox off`");
    }
}

//! Owns the fallback without user namespaces: what Landlock grants, path by path. It can only add, so
//! what is to stay as it is inside a folder means granting everything else in that folder one by one, and
//! nothing new can then be made at its top. Must not know which system calls are refused beside it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access, AccessFs, AccessNet, CompatLevel, Compatible, PathBeneath, PathFd, Ruleset, RulesetAttr,
    RulesetCreatedAttr, RulesetStatus, Scope,
};

use super::Unavailable;
use super::plan::{Network, Plan};
use super::spec::Lists;

/// Devices that every program expects.
const DEVICES: [&str; 6] = ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"];
/// More entries than this in folders that are granted one by one are too many.
const MOST: usize = 20_000;

/// Whether the layer can do what is asked.
pub(super) fn supports(plan: &Plan) -> Result<(), Unavailable> {
    let fault = |reason: &str, remedy: &str| Err(Unavailable { reason: reason.into(), remedy: remedy.into() });
    if matches!(plan.network, Network::Hosts(_)) {
        return fault("it cannot let single hosts through", "Install bubblewrap, or allow no hosts");
    }
    Ok(())
}

/// The lists for what may be written, what stays as it is, and what may not be read.
pub(super) fn lists(
    writable: &[PathBuf],
    temp: &Path,
    fixed: &BTreeSet<PathBuf>,
    hidden: &BTreeSet<PathBuf>,
) -> Result<Lists, String> {
    let mut lists = Lists::default();
    except(Path::new("/"), hidden, &mut lists.read)?;
    for folder in writable {
        except(folder, fixed, &mut lists.write)?;
    }
    lists.write.extend(DEVICES.iter().map(PathBuf::from).chain([temp.to_owned()]));
    Ok(lists)
}

/// All of a folder except these paths, in as few pieces as possible.
fn except(folder: &Path, holes: &BTreeSet<PathBuf>, out: &mut Vec<PathBuf>) -> Result<(), String> {
    if holes.iter().any(|hole| folder.starts_with(hole)) {
        return Ok(());
    }
    if !holes.iter().any(|hole| hole.starts_with(folder)) {
        out.push(folder.to_owned());
        return Ok(());
    }
    let entries = std::fs::read_dir(folder).map_err(|fault| format!("cannot list {}: {fault}", folder.display()))?;
    for entry in entries {
        let entry = entry.map_err(|fault| format!("cannot list {}: {fault}", folder.display()))?;
        if out.len() > MOST {
            return Err(format!("{} holds too many entries to grant them one by one", folder.display()));
        }
        // A rule for a link would be one for what it points to.
        if !entry.file_type().is_ok_and(|kind| kind.is_symlink()) {
            except(&entry.path(), holes, out)?;
        }
    }
    Ok(())
}

/// Restricts this thread and what it starts from now on.
pub(super) fn restrict(lists: &Lists) -> Result<(), String> {
    let fault = |fault: landlock::RulesetError| fault.to_string();
    // What a program can do without is refused where the kernel knows of it; this much it must know.
    let least = AccessFs::from_all(ABI::V3);
    let all = AccessFs::from_all(ABI::V9);
    let ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(least)
        .map_err(fault)?
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(all)
        .and_then(|set| set.handle_access(AccessNet::from_all(ABI::V4)))
        .and_then(|set| set.scope(Scope::from_all(ABI::V6)))
        .map_err(fault)?;
    let mut created = ruleset.create().map_err(fault)?;
    let read = AccessFs::from_read(ABI::V9);
    // No devices, whoever runs this; sockets have no use where none can be made.
    let write = AccessFs::from_write(ABI::V5) & !(AccessFs::MakeChar | AccessFs::MakeBlock | AccessFs::MakeSock);
    // Folders may be listed everywhere: on the way to what is granted in them.
    let granted = [(vec![PathBuf::from("/")], AccessFs::ReadDir.into()), (lists.read.clone(), read)];
    for (paths, access) in granted.into_iter().chain([(lists.write.clone(), read | write)]) {
        for path in paths {
            // What went away meanwhile needs no rule.
            let Ok(descriptor) = PathFd::new(&path) else { continue };
            let access = if path.is_dir() { access } else { access & AccessFs::from_file(ABI::V9) };
            created = created.add_rule(PathBeneath::new(descriptor, access)).map_err(fault)?;
        }
    }
    let status = created.restrict_self().map_err(fault)?;
    match status.ruleset {
        RulesetStatus::NotEnforced => Err("the kernel does not enforce Landlock".into()),
        RulesetStatus::FullyEnforced | RulesetStatus::PartiallyEnforced => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_but_the_holes_is_granted() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        for path in [".git/hooks", "src/deep", "web/.git"] {
            std::fs::create_dir_all(root.join(path)).unwrap();
        }
        std::fs::write(root.join("a.txt"), "").unwrap();
        std::os::unix::fs::symlink("/etc", root.join("link")).unwrap();
        let holes = BTreeSet::from([root.join(".git"), root.join(".envrc"), root.join("web/.git")]);
        let mut out = Vec::new();
        except(root, &holes, &mut out).unwrap();
        out.sort();
        assert_eq!(out, [root.join("a.txt"), root.join("src")]);
        let mut whole = Vec::new();
        except(root, &BTreeSet::new(), &mut whole).unwrap();
        assert_eq!(whole, [root.to_owned()]);
    }
}

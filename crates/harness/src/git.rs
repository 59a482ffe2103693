//! Owns what can be told of a repository by reading its files. Never runs git: in a folder that
//! nobody trusts yet, git would run programs that the folder names.

use std::fs;
use std::path::{Path, PathBuf};

/// The branch that is checked out at or above `folder`, or the start of a detached commit's id.
pub fn branch(folder: &Path) -> Option<String> {
    let head = fs::read_to_string(git_folder(folder)?.join("HEAD")).ok()?;
    let head = head.trim();
    match head.strip_prefix("ref: refs/heads/") {
        Some(branch) => Some(branch.to_owned()),
        None => head.get(..12).map(|id| format!("detached at {id}")),
    }
}

/// The root of the repository that `folder` is in; of a worktree the main checkout, where the user's
/// own settings of the project are. A worktree counts only where its repository knows it: anybody can
/// write a file that names somebody else's.
pub fn root(folder: &Path) -> Option<PathBuf> {
    let entry = folder.ancestors().map(|up| up.join(".git")).find(|entry| entry.exists())?;
    let own = entry.parent()?.to_path_buf();
    if entry.is_dir() {
        return Some(own);
    }
    let main = || {
        let worktree = git_folder(folder)?.canonicalize().ok()?;
        let back = fs::read_to_string(worktree.join("gitdir")).ok()?;
        let known = Path::new(back.trim()).canonicalize().ok()? == entry.canonicalize().ok()?;
        let common = fs::read_to_string(worktree.join("commondir")).ok()?;
        let common = worktree.join(common.trim()).canonicalize().ok()?;
        let named = common.file_name()? == ".git" && worktree.starts_with(&common);
        (known && named).then(|| common.parent().map(Path::to_path_buf)).flatten()
    };
    Some(main().unwrap_or(own))
}

/// The `.git` folder that belongs to `folder`; a worktree or submodule names it in a file.
fn git_folder(folder: &Path) -> Option<PathBuf> {
    let entry = folder.ancestors().map(|up| up.join(".git")).find(|entry| entry.exists())?;
    if entry.is_dir() {
        return Some(entry);
    }
    let text = fs::read_to_string(&entry).ok()?;
    let named = Path::new(text.trim().strip_prefix("gitdir:")?.trim()).to_path_buf();
    Some(entry.parent()?.join(named))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn branch_of_a_repository_a_worktree_and_a_detached_head() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        assert_eq!(branch(root), None);
        fs::create_dir_all(root.join(".git/worktrees/w")).unwrap();
        fs::create_dir_all(root.join("deep/down")).unwrap();
        fs::create_dir_all(root.join("w")).unwrap();
        fs::write(root.join(".git/HEAD"), "ref: refs/heads/feat/x\n").unwrap();
        fs::write(root.join("w/.git"), "gitdir: ../.git/worktrees/w\n").unwrap();
        fs::write(root.join(".git/worktrees/w/HEAD"), "0123456789abcdef0123\n").unwrap();
        assert_eq!(branch(&root.join("deep/down")), Some("feat/x".into()));
        assert_eq!(branch(&root.join("w")), Some("detached at 0123456789ab".into()));
        fs::write(root.join(".git/HEAD"), "ré").unwrap();
        assert_eq!(branch(root), None);
    }

    #[test]
    fn root_of_a_repository_and_of_a_worktree_that_it_knows() {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path().canonicalize().unwrap();
        let (main, tree, copy) = (top.join("main"), top.join("tree"), top.join("copy"));
        let inner = main.join(".git/worktrees/tree");
        for folder in [&inner, &main.join("deep"), &tree.join("deep"), &copy] {
            fs::create_dir_all(folder).unwrap();
        }
        let named = format!("gitdir: {}\n", inner.display());
        fs::write(tree.join(".git"), &named).unwrap();
        fs::write(copy.join(".git"), &named).unwrap();
        fs::write(inner.join("commondir"), "../..\n").unwrap();
        fs::write(inner.join("gitdir"), format!("{}\n", tree.join(".git").display())).unwrap();
        assert_eq!(root(&main.join("deep")), Some(main.clone()));
        assert_eq!(root(&tree.join("deep")), Some(main));
        // Somebody else's folder that only says that it is a worktree of ours.
        assert_eq!(root(&copy), Some(copy.clone()));
        assert_eq!(root(&top), None);
    }
}

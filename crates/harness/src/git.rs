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
}

//! Owns the system prompt: a static block that all sessions share, then what is true of this one.
//! Assembled once and frozen; there is no clock in it, so that the vendor's cache keeps it.

use std::path::Path;

use kernel::SystemBlock;

/// Who the agent is and how it uses tools. The same bytes for everyone.
const STATIC: &str = include_str!("prompt/system.md");
/// The same in a few lines.
const MINIMAL: &str = include_str!("prompt/minimal.md");

/// What is true of one session.
#[derive(Debug, Clone, Copy)]
pub struct Facts<'a> {
    /// Whether the static block is to be short.
    pub minimal: bool,
    /// The working folder.
    pub cwd: &'a Path,
    /// Further folders of the workspace.
    pub added: &'a [std::path::PathBuf],
    /// The branch that is checked out, where there is one.
    pub branch: Option<&'a str>,
    /// The operating system.
    pub platform: &'a str,
    /// Memory files: where each stands and what it says.
    pub memory: &'a [(std::path::PathBuf, String)],
    /// Text of `--append-system-prompt`.
    pub appended: Option<&'a str>,
}

/// The system prompt: the static block up to the cache boundary, then the dynamic one.
pub fn assemble(facts: Facts<'_>) -> Vec<SystemBlock> {
    let mut lines = vec!["# Environment".to_owned()];
    lines.push(format!("Working folder: {}", facts.cwd.display()));
    for folder in facts.added {
        lines.push(format!("Also in the workspace: {}", folder.display()));
    }
    lines.push(format!("Platform: {}", facts.platform));
    if let Some(branch) = facts.branch {
        lines.push(format!("Git branch at the start of the session: {branch}"));
    }
    for (path, text) in facts.memory {
        lines.push(format!("\n# Memory from {}\n{text}", path.display()));
    }
    if let Some(text) = facts.appended.filter(|text| !text.trim().is_empty()) {
        lines.push(format!("\n{text}"));
    }
    vec![
        SystemBlock { text: if facts.minimal { MINIMAL } else { STATIC }.trim().to_owned(), cache: true },
        SystemBlock { text: lines.join("\n"), cache: false },
    ]
}

/// The prompt as `--show-system` prints it.
pub fn show(blocks: &[SystemBlock]) -> String {
    let mut out = String::new();
    for block in blocks {
        out.push_str(&block.text);
        out.push('\n');
        if block.cache {
            out.push_str("\n---------- cache boundary ----------\n\n");
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    #[test]
    fn the_dynamic_block_says_what_is_true_of_the_session() {
        let blocks = assemble(Facts {
            minimal: false,
            cwd: Path::new("/w"),
            added: &[PathBuf::from("/x")],
            branch: Some("main"),
            platform: "linux",
            memory: &[(PathBuf::from("/w/AGENT.md"), "use tabs".into())],
            appended: Some("be brief"),
        });
        assert_eq!(blocks.len(), 2);
        assert!(blocks[0].cache && !blocks[1].cache);
        assert_eq!(
            blocks[1].text,
            "# Environment\nWorking folder: /w\nAlso in the workspace: /x\nPlatform: linux\n\
             Git branch at the start of the session: main\n\n\
             # Memory from /w/AGENT.md\nuse tabs\n\nbe brief"
        );
        let shown = show(&blocks);
        let (before, after) = shown.split_once("---------- cache boundary ----------").unwrap();
        assert_eq!(before.trim(), blocks[0].text);
        assert_eq!(after.trim(), blocks[1].text);
    }
}

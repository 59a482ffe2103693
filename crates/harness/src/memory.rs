//! Owns memory files: what people wrote down for every session. Must not know the system prompt.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Names of memory files, in the order in which they are read.
pub const NAMES: [&str; 3] = ["AGENT.md", "AGENTS.md", "CLAUDE.md"];

/// The longest part of a memory file that is used, in bytes: it is sent with every request.
const LIMIT: u64 = 64 * 1024;

/// The text of one memory file, not blank.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Memory {
    /// Where it stands.
    pub path: PathBuf,
    /// What it says, cut at 64 KiB.
    pub text: String,
}

/// The memory files of the user's settings folder, then those of the workspace. A file that cannot
/// be read is reported in the second list.
pub fn load(settings_folder: Option<&Path>, workspace: &Path) -> (Vec<Memory>, Vec<String>) {
    let mut found: Vec<Memory> = Vec::new();
    let mut faults = Vec::new();
    for folder in settings_folder.into_iter().chain([workspace]) {
        for path in NAMES.map(|name| folder.join(name)) {
            match read(&path) {
                // One file under two names, by link or by copy, is said once.
                Ok(Some(text)) if !found.iter().any(|memory| memory.text == text) => {
                    found.push(Memory { path, text });
                }
                Ok(_) => {}
                Err(fault) => {
                    faults.push(format!("cannot read memory file {}: {fault}", path.display()));
                }
            }
        }
    }
    (found, faults)
}

fn read(path: &Path) -> std::io::Result<Option<String>> {
    // A FIFO or a device in the workspace must not hang the start.
    match std::fs::metadata(path) {
        Ok(metadata) if metadata.is_file() => {}
        Ok(_) => return Ok(None),
        Err(fault) if fault.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(fault) => return Err(fault),
    }
    let mut bytes = Vec::new();
    let length = File::open(path)?.take(LIMIT + 1).read_to_end(&mut bytes)?;
    let cut = length as u64 > LIMIT;
    bytes.truncate(LIMIT as usize);
    let text = String::from_utf8_lossy(&bytes);
    let text = text.trim_start_matches('\u{feff}').trim();
    Ok((!text.is_empty()).then(|| match cut {
        true => format!("{text}\n[cut at {LIMIT} bytes]"),
        false => text.to_owned(),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn home_comes_before_workspace_and_blank_or_equal_files_are_skipped() {
        let folder = tempfile::tempdir().unwrap();
        let (home, work) = (folder.path().join("home"), folder.path().join("work"));
        fs::create_dir_all(&home).unwrap();
        fs::create_dir_all(work.join("AGENTS.md")).unwrap();
        fs::write(home.join("CLAUDE.md"), "\u{feff}be brief\n").unwrap();
        fs::write(work.join("AGENT.md"), " use tabs ").unwrap();
        fs::write(work.join("CLAUDE.md"), "use tabs").unwrap();
        fs::write(home.join("AGENT.md"), "\n \n").unwrap();
        let expected = vec![
            Memory { path: home.join("CLAUDE.md"), text: "be brief".into() },
            Memory { path: work.join("AGENT.md"), text: "use tabs".into() },
        ];
        assert_eq!(load(Some(&home), &work), (expected, Vec::new()));
    }

    #[test]
    fn a_long_file_is_cut_and_says_so() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("AGENT.md"), "x".repeat(70_000)).unwrap();
        let (found, _) = load(None, folder.path());
        assert_eq!(found[0].text, format!("{}\n[cut at 65536 bytes]", "x".repeat(65_536)));
    }
}

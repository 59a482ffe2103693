//! Owns what the pattern of a file rule means: gitignore semantics below an anchor. Must not know
//! whether a rule denies or allows, only how generous it must be.

use std::path::{Path, PathBuf};

use host::paths::{Case, Located, below, fold};
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use kernel::Place;

use super::region::{Part, Region, meet};

/// How a pattern is read where it could be read in two ways.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reading {
    /// For deny and ask rules: letter case does not matter, and a name without a folder is meant
    /// everywhere.
    Generous,
    /// For allow rules: letter case matters, and a name without a folder is meant below the working
    /// folder.
    Strict,
}

/// A pattern that has its place on this machine.
pub struct FilePattern {
    reading: Reading,
    /// What it is relative to, under both of the folder's names.
    anchors: Vec<PathBuf>,
    /// The gitignore line below the anchor.
    line: String,
    matcher: Gitignore,
}

impl FilePattern {
    /// Reads a pattern: `//` stands for the file system, `~/` for the home folder, `/` for the
    /// workspace root (generously, for the file system as well), `./` or nothing for the working
    /// folder. A slash inside anchors it; without one it is meant at any depth. The error is for
    /// people.
    pub fn new(text: &str, place: &Place, reading: Reading) -> Result<Self, String> {
        let (anchor, line) = anchored(text, place, reading)?;
        let line = match reading {
            Reading::Generous => line.to_lowercase(),
            Reading::Strict => line,
        };
        let matcher = GitignoreBuilder::new("")
            .add_line(None, &line)
            .and_then(|builder| builder.build())
            .map_err(|fault| fault.to_string())?;
        let mut anchors: Vec<PathBuf> = Located::new(anchor).forms().map(Path::to_path_buf).collect();
        // Who denies `/etc/shadow` means that file, whatever one slash stands for.
        if reading == Reading::Generous && text.starts_with('/') && !anchors.contains(&PathBuf::from("/")) {
            anchors.push("/".into());
        }
        Ok(Self { reading, anchors, line, matcher })
    }

    /// Whether an absolute path is meant: it matches, or a folder does that it is in.
    pub fn matches(&self, path: &Path) -> bool {
        let case = match self.reading {
            Reading::Generous => Case::Folded,
            Reading::Strict => Case::Exact,
        };
        self.anchors.iter().filter_map(|anchor| below(path, anchor, case)).any(|rest| {
            let rest = match self.reading {
                Reading::Generous => PathBuf::from(fold(rest.as_os_str())),
                Reading::Strict => rest.to_path_buf(),
            };
            // A pattern that ends in a slash means folders only. Whether something is a folder is
            // not worth asking the disk: generously it is, strictly it is not.
            let folder = self.reading == Reading::Generous;
            if rest.as_os_str().is_empty() {
                return self.line == EVERYTHING;
            }
            self.matcher.matched_path_or_any_parents(&rest, folder).is_ignore()
        })
    }

    /// Whether something in a region may be meant.
    pub fn may_match_in(&self, region: &Region) -> bool {
        self.anchors.iter().any(|anchor| {
            let mut parts = Part::literals(anchor);
            parts.extend(self.parts());
            // A folder covers what is in it.
            parts.push(Part::AnyDepth);
            meet(&parts, region.parts())
        })
    }

    /// The parts of the line, less what anchors it.
    fn parts(&self) -> Vec<Part> {
        let inner = self.line.trim_matches('/');
        let at_any_depth = !self.line.trim_end_matches('/').contains('/');
        let start = at_any_depth.then_some(Part::AnyDepth);
        let parts = inner.split('/').filter(|part| !part.is_empty()).map(|part| match part {
            "**" => Part::AnyDepth,
            glob => Part::glob(glob),
        });
        let mut parts: Vec<Part> = start.into_iter().chain(parts).collect();
        // `folder/**` means what is in the folder, not the folder.
        if inner.ends_with("/**") {
            parts.push(Part::glob("*"));
        }
        parts
    }

    /// The words between its slashes, in lower case.
    pub fn names(&self) -> impl Iterator<Item = String> {
        self.line.split('/').map(str::to_lowercase)
    }
}

const EVERYTHING: &str = "/**";

fn anchored(text: &str, place: &Place, reading: Reading) -> Result<(PathBuf, String), String> {
    let home = || place.home.clone().ok_or_else(|| "the home folder is not known".to_owned());
    let root = place.roots.first().unwrap_or(&place.cwd);
    let (anchor, rest) = match text {
        "~" => (home()?, ""),
        "." => (place.cwd.clone(), ""),
        _ => {
            if let Some(rest) = text.strip_prefix("//") {
                (PathBuf::from("/"), rest)
            } else if let Some(rest) = text.strip_prefix("~/") {
                (home()?, rest)
            } else if let Some(rest) = text.strip_prefix('/') {
                (root.clone(), rest)
            } else if let Some(rest) = text.strip_prefix("./") {
                (place.cwd.clone(), rest)
            } else {
                return Ok(floating(text, place, reading));
            }
        }
    };
    let rest = rest.trim_start_matches('/');
    let line = if rest.is_empty() { EVERYTHING.to_owned() } else { format!("/{rest}") };
    Ok((anchor, line))
}

/// A pattern without an anchor of its own.
fn floating(text: &str, place: &Place, reading: Reading) -> (PathBuf, String) {
    let any_depth = text.starts_with("**/") || !text.trim_end_matches('/').contains('/');
    let anchor = match reading {
        Reading::Generous if any_depth => PathBuf::from("/"),
        Reading::Generous | Reading::Strict => place.cwd.clone(),
    };
    // Where gitignore has comments and exceptions, a rule has names.
    let escape = if text.starts_with(['#', '!']) { "\\" } else { "" };
    (anchor, format!("{escape}{text}"))
}

/// A pattern that means exactly this path: anchored at the workspace root where it is below it.
pub fn exact(path: &Path, place: &Place) -> String {
    let in_root = place.roots.first().and_then(|root| below(path, root, Case::Exact));
    let rest = in_root.filter(|rest| !rest.as_os_str().is_empty()).unwrap_or(path);
    // A path from the file system's root brings the second slash itself.
    let mut text = "/".to_owned();
    for character in rest.to_string_lossy().chars() {
        if matches!(character, '*' | '?' | '[' | ']' | '{' | '}' | '\\') {
            text.push('\\');
        }
        text.push(character);
    }
    text
}

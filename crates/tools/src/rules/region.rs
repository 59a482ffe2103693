//! Owns whether two patterns can mean the same file. Errs on one side only: it may find a meeting
//! where there is none, never the other way round.

use std::ffi::OsStr;
use std::path::{Component, Path};

use host::paths::fold;

/// How many entries of folders are looked at for one glob.
const MAX_ENTRIES: usize = 5_000;

/// Some files: those that a glob names, or everything beneath a folder.
pub struct Region(Vec<Part>);

impl Region {
    /// What a Bash glob below a folder names; with `tree`, what is beneath the folders among it, too.
    pub fn of_glob(folder: &Path, pattern: &str, tree: bool) -> Self {
        let names = pattern.split('/').filter(|name| !name.is_empty());
        let globs: Vec<Part> = names.map(Part::glob).collect();
        let mut room = MAX_ENTRIES;
        let tree = tree && finds_folder(folder, &globs, &mut room);
        let mut parts = Part::literals(folder);
        parts.extend(globs);
        Self::new(parts, tree)
    }

    /// A folder and everything beneath it.
    pub fn of_tree(folder: &Path) -> Self {
        Self::new(Part::literals(folder), true)
    }

    fn new(mut parts: Vec<Part>, tree: bool) -> Self {
        if tree {
            parts.push(Part::AnyDepth);
        }
        Self(parts)
    }

    pub(super) fn parts(&self) -> &[Part] {
        &self.0
    }
}

/// Whether a glob names a folder that is there now. Without it `grep -r x *.md` would have to count
/// as a search of whatever a folder named `x.md` might hold. True where there is too much to look at.
fn finds_folder(folder: &Path, globs: &[Part], room: &mut usize) -> bool {
    let Some((glob, rest)) = globs.split_first() else { return folder.is_dir() };
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    for entry in entries {
        if *room == 0 {
            return true;
        }
        *room -= 1;
        let name = Part::literal(&entry.file_name());
        let fits = meet(std::slice::from_ref(glob), &[name]);
        if fits && finds_folder(&entry.path(), rest, room) {
            return true;
        }
    }
    false
}

/// What stands between two slashes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Part {
    /// `**`: any number of folders.
    AnyDepth,
    /// One name.
    Name(Vec<Sign>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sign {
    One(char),
    AnyOne,
    Any,
}

impl Part {
    /// The names in a path, as they are.
    pub(super) fn literals(path: &Path) -> Vec<Self> {
        let names = path.components().filter_map(|component| match component {
            Component::Normal(name) => Some(name),
            Component::RootDir | Component::Prefix(_) | Component::CurDir | Component::ParentDir => None,
        });
        names.map(Self::literal).collect()
    }

    pub(super) fn literal(name: &OsStr) -> Self {
        Self::Name(fold(name).chars().map(Sign::One).collect())
    }

    /// A glob; classes, alternatives and escapes stand for any text.
    pub(super) fn glob(text: &str) -> Self {
        let text = text.to_lowercase();
        let mut signs = Vec::new();
        let mut rest = text.chars();
        while let Some(character) = rest.next() {
            match character {
                '*' => signs.push(Sign::Any),
                '?' => signs.push(Sign::AnyOne),
                '\\' => {
                    rest.next();
                    signs.push(Sign::Any);
                }
                '[' | '{' => {
                    let close = if character == '[' { ']' } else { '}' };
                    if let Some((_, after)) = rest.as_str().split_once(close) {
                        rest = after.chars();
                    }
                    signs.push(Sign::Any);
                }
                _ => signs.push(Sign::One(character)),
            }
        }
        Self::Name(signs)
    }
}

/// Whether some path is meant by both.
pub(super) fn meet(left: &[Part], right: &[Part]) -> bool {
    let wild = |part: &Part| *part == Part::AnyDepth;
    cross(left, right, wild, |one, other| match (one, other) {
        (Part::Name(one), Part::Name(other)) => cross(
            one,
            other,
            |sign| *sign == Sign::Any,
            |a, b| match (a, b) {
                (Sign::One(a), Sign::One(b)) => a == b,
                (Sign::AnyOne | Sign::Any, _) | (_, Sign::AnyOne | Sign::Any) => true,
            },
        ),
        (Part::AnyDepth, _) | (_, Part::AnyDepth) => true,
    })
}

/// Whether two sequences with wildcards have a common instance. `wild` items stand for any number
/// of others; `same` compares two that are not.
fn cross<T>(left: &[T], right: &[T], wild: impl Fn(&T) -> bool, same: impl Fn(&T, &T) -> bool) -> bool {
    // reach[j]: what was taken of `left` so far and the first j of `right` have a common instance.
    let mut reach = vec![false; right.len() + 1];
    for taken in 0..=left.len() {
        let last = taken.checked_sub(1).and_then(|index| left.get(index));
        let before = std::mem::replace(&mut reach, vec![false; right.len() + 1]);
        for end in 0..=right.len() {
            let other = end.checked_sub(1).and_then(|index| right.get(index));
            let at = |flags: &[bool], index: usize| flags.get(index).copied().unwrap_or(false);
            let found = match (last, other) {
                (None, None) => true,
                (Some(one), None) => wild(one) && at(&before, end),
                (None, Some(other)) => wild(other) && at(&reach, end - 1),
                (Some(one), Some(other)) => {
                    let skip_left = wild(one) && (at(&before, end) || at(&reach, end - 1));
                    let skip_right = wild(other) && (at(&reach, end - 1) || at(&before, end));
                    let both = !wild(one) && !wild(other) && same(one, other);
                    skip_left || skip_right || both && at(&before, end - 1)
                }
            };
            if let Some(flag) = reach.get_mut(end) {
                *flag = found;
            }
        }
    }
    reach.last().copied().unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(text: &str) -> Vec<Part> {
        let part = |part| if part == "**" { Part::AnyDepth } else { Part::glob(part) };
        text.split('/').map(part).collect()
    }

    #[test]
    fn patterns_meet_where_a_path_fits_both() {
        for (left, right, expected) in [
            ("a/b", "a/b", true),
            ("a/b", "a/c", false),
            ("a", "a/b", false),
            ("a/**", "a", true),
            ("a/**", "a/b/c", true),
            ("**/x", "a/b/*", true),
            ("**/x", "a/b/*.md", false),
            ("**/*.env", "docs/open/*.md", false),
            ("**/*.env", "docs/**", true),
            ("s*/key", "secrets/**", true),
            ("*/key", "secrets/**", true),
            ("docs/**", "secrets/**", false),
            ("*a*", "b*", true),
            ("a?c", "abc", true),
            ("a?c", "abbc", false),
            ("a[bc]d", "abd", true),
            ("A", "a", true),
            ("**", "**", true),
            ("a*b", "*ab", true),
            ("a*b", "c*", false),
        ] {
            let (one, other) = (parts(left), parts(right));
            assert_eq!(meet(&one, &other), expected, "{left} and {right}");
            assert_eq!(meet(&other, &one), expected, "{right} and {left}");
        }
    }
}

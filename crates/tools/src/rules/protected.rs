//! Owns which paths are protected from writing and which hold credentials: `protected.json`, where
//! `~/x` is below the home folder, `//x` below the file system's root, and `x` anywhere, in which `*` stands for any one name. Must
//! not know about rules.

use std::path::{Path, PathBuf};

use host::paths::{Case, Located, below, fold};
use kernel::Place;
use serde::Deserialize;

use super::region::{Part, Region, meet};

/// A list of paths.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum List {
    /// What can run programs or change what may run: nobody should write it unasked.
    Writing,
    /// What lets somebody in elsewhere: nobody should read it unasked.
    Credentials,
}

impl List {
    /// All of it, as it is written.
    pub fn entries(self) -> Vec<&'static str> {
        #[derive(Deserialize)]
        struct Lists<'a> {
            #[serde(borrow)]
            write: Vec<&'a str>,
            #[serde(borrow)]
            credentials: Vec<&'a str>,
        }
        let lists: Result<Lists<'static>, _> = serde_json::from_str(include_str!("protected.json"));
        match (self, lists) {
            (Self::Writing, Ok(lists)) => lists.write,
            (Self::Credentials, Ok(lists)) => lists.credentials,
            // A list that cannot be read protects everything.
            (Self::Writing | Self::Credentials, Err(_)) => vec!["//"],
        }
    }

    /// The entry that an absolute path falls under, letter case aside.
    pub fn entry(self, path: &Path, place: &Place) -> Option<&'static str> {
        self.entries().into_iter().find(|entry| match anchored(entry, place) {
            Some(folders) => folders.iter().any(|folder| below(path, folder, Case::Folded).is_some()),
            None => holds(path, entry),
        })
    }

    /// The entries that a region may reach, with their places: those that have one and are there.
    /// Entries that are meant anywhere would be reached by every search through every folder; of
    /// these only the repository at the workspace's root counts.
    pub fn entries_in(self, region: &Region, place: &Place) -> Vec<(&'static str, PathBuf)> {
        let mut found = Vec::new();
        for entry in self.entries() {
            let folders = match (self, anchored(entry, place)) {
                (_, Some(folders)) => folders,
                (Self::Writing, None) if entry == ".git" => place.roots.iter().map(|root| root.join(entry)).collect(),
                (Self::Writing | Self::Credentials, None) => continue,
            };
            found.extend(folders.into_iter().filter(|folder| reaches(region, folder)).map(|folder| (entry, folder)));
        }
        found
    }
}

/// Whether something that is there may be in a region.
fn reaches(region: &Region, folder: &Path) -> bool {
    let mut parts = Part::literals(folder);
    parts.push(Part::AnyDepth);
    meet(&parts, region.parts()) && folder.exists()
}

/// The last name of an entry: a rule that has it means it.
pub fn name_of(entry: &str) -> &str {
    entry.rsplit('/').next().unwrap_or(entry)
}

/// Where an entry is, under both names of its folder; `None` for one that is meant anywhere.
fn anchored(entry: &str, place: &Place) -> Option<Vec<PathBuf>> {
    if let Some(rest) = entry.strip_prefix("//") {
        return Some(vec![Path::new("/").join(rest)]);
    }
    let rest = entry.strip_prefix("~/")?;
    let Some(home) = place.home.clone().map(Located::new) else { return Some(Vec::new()) };
    Some(home.forms().map(|home| home.join(rest)).collect())
}

/// Whether the names of an entry follow one another somewhere in a path; `*` is any name.
fn holds(path: &Path, entry: &str) -> bool {
    let names: Vec<String> = path.components().map(|name| fold(name.as_os_str())).collect();
    let wanted: Vec<&str> = entry.split('/').collect();
    let equal = |(name, wanted): (&String, &&str)| *wanted == "*" || name == wanted;
    names.windows(wanted.len()).any(|window| window.iter().zip(&wanted).all(equal))
}

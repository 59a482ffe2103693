//! Owns what permission rules say of files: which bear on a path that is read or written, whether
//! all of it is covered, and what is protected whatever they say. Must not know modes or decisions.
//!
//! A path counts under both of its names, as given and with links followed: a deny rule needs
//! either, an allow rule both. A rule for `Edit` or `Write` speaks for every tool that changes
//! files, and rules for `Read`, `Edit` and `Write` for what a command visibly does to files as well.

pub mod grammar;
mod pattern;
mod protected;
mod region;

use std::path::Path;

use host::paths::{Case, Located, absolute, below};
use kernel::{Effect, Judgement, Place, Rule, Rules};
use shell::Access;

use crate::typed::FilePath;
use pattern::{FilePattern, exact};

pub use pattern::Reading;
pub use protected::{List, name_of};
pub use region::Region;

/// Where a path leads, seen from the working folder.
pub fn locate(path: &FilePath, place: &Place) -> Located {
    let path = Path::new(path.as_str());
    Located::new(absolute(path, &place.cwd, place.home.as_deref()))
}

/// The rules of one list that speak of reading or of writing files.
pub struct FileRules<'a> {
    /// Each with its pattern; `None` where it means every file.
    placed: Vec<(&'a Rule, Option<FilePattern>)>,
    /// Why a rule could not be placed. It may match anything, then.
    pub unreadable: Option<String>,
}

impl<'a> FileRules<'a> {
    /// Gives the rules their places.
    pub fn new(list: &'a [Rule], access: Access, place: &Place, reading: Reading) -> Self {
        let mut placed = Vec::new();
        let mut unreadable = None;
        for rule in list.iter().filter(|rule| speaks_of(rule, access)) {
            match rule.pattern.as_deref().map(|text| FilePattern::new(text, place, reading)) {
                None => placed.push((rule, None)),
                Some(Ok(pattern)) => placed.push((rule, Some(pattern))),
                Some(Err(fault)) => unreadable = Some(format!("rule {rule} is unclear: {fault}")),
            }
        }
        Self { placed, unreadable }
    }

    /// The first rule that means a path under either name.
    pub fn hit(&self, path: &Located) -> Option<&'a Rule> {
        self.means(|pattern| path.forms().any(|form| pattern.matches(form)))
    }

    /// The first rule that may mean something in a region.
    pub fn may_hit(&self, region: &Region) -> Option<&'a Rule> {
        self.means(|pattern| pattern.may_match_in(region))
    }

    /// Any of them.
    pub fn first(&self) -> Option<&'a Rule> {
        self.placed.first().map(|(rule, _)| *rule)
    }

    fn means(&self, matches: impl Fn(&FilePattern) -> bool) -> Option<&'a Rule> {
        let hit = |pattern: &Option<FilePattern>| pattern.as_ref().is_none_or(&matches);
        self.placed.iter().find(|(_, pattern)| hit(pattern)).map(|(rule, _)| *rule)
    }

    /// Whether both names of a path are covered.
    pub fn cover(&self, path: &Located) -> bool {
        path.forms().all(|form| {
            self.placed.iter().any(|(_, pattern)| pattern.as_ref().is_none_or(|pattern| pattern.matches(form)))
        })
    }

    /// Whether a rule with a pattern means this name of a path. With an entry of [`List`], the
    /// pattern must have its name in it, too: `Edit(**)` does not speak of `.git`.
    pub fn name(&self, form: &Path, entry: Option<&str>) -> bool {
        self.placed.iter().filter_map(|(_, pattern)| pattern.as_ref()).any(|pattern| {
            let named = entry.is_none_or(|entry| {
                let wanted = name_of(entry);
                pattern.names().any(|name| name == wanted)
            });
            named && pattern.matches(form)
        })
    }
}

fn speaks_of(rule: &Rule, access: Access) -> bool {
    match access {
        Access::Read => rule.tool == "Read",
        Access::Write => matches!(rule.tool.as_str(), "Edit" | "Write"),
    }
}

/// The list that guards an access.
pub fn list_for(access: Access) -> List {
    match access {
        Access::Read => List::Credentials,
        Access::Write => List::Writing,
    }
}

/// Whether something is inside the workspace.
pub fn in_workspace(path: &Path, place: &Place) -> bool {
    place.roots.iter().any(|root| below(path, root, Case::Exact).is_some())
}

/// The judgement of a tool that reads or writes one file and does nothing else.
pub fn judge_file(access: Access, path: &FilePath, rules: &Rules, place: &Place) -> Judgement {
    let path = locate(path, place);
    let denying = FileRules::new(&rules.deny, access, place, Reading::Generous);
    let asking = FileRules::new(&rules.ask, access, place, Reading::Generous);
    let allowing = FileRules::new(&rules.allow, access, place, Reading::Strict);
    let inside = path.forms().all(|form| in_workspace(form, place));
    let entry = path.forms().find_map(|form| list_for(access).entry(form, place));
    let shown = path.given.display();
    let (effect, reason) = match access {
        Access::Read => (Effect::ReadOnly, format!("it reads {shown}")),
        Access::Write if !inside => (Effect::Other, format!("it writes {shown}, which is outside the workspace")),
        Access::Write if entry.is_some() => (Effect::Other, format!("it writes {shown}")),
        Access::Write => (Effect::EditsWorkspace, format!("it writes {shown}")),
    };
    Judgement {
        deny: denying.hit(&path).cloned(),
        uncertain: denying.unreadable.or(asking.unreadable.clone()),
        ask: asking.hit(&path).cloned(),
        guarded: guarded(access, &path, &allowing, place).map(|form| form.display().to_string()),
        covered: allowing.cover(&path),
        effect,
        reason,
        suggestions: grammar::offered(suggestions(access, &path, &allowing, place)),
    }
}

/// The name of a path that is guarded although no rule names it. Outside the workspace a rule for
/// a whole tool is not enough for writing.
fn guarded<'a>(access: Access, path: &'a Located, allowing: &FileRules<'_>, place: &Place) -> Option<&'a Path> {
    path.forms().find(|form| {
        let listed = list_for(access).entry(form, place).is_some_and(|entry| !allowing.name(form, Some(entry)));
        let outside =
            access == Access::Write && !in_workspace(form, place) && allowing.cover(path) && !allowing.name(form, None);
        listed || outside
    })
}

/// A rule for each name of the path that is not covered and named yet.
fn suggestions(access: Access, path: &Located, allowing: &FileRules<'_>, place: &Place) -> Vec<String> {
    path.forms()
        .filter(|form| !allowing.name(form, list_for(access).entry(form, place)))
        .map(|form| rule_for(access, form, place))
        .collect()
}

/// The rule that means exactly this name of a path.
pub fn rule_for(access: Access, form: &Path, place: &Place) -> String {
    let tool = match access {
        Access::Read => "Read",
        Access::Write => "Write",
    };
    format!("{tool}({})", exact(form, place))
}

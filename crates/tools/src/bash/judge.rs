//! Owns what rules say of a command line: the analysis of `shell` on one side, a judgement on the
//! other. Must not know how Bash is read.

use std::path::{Path, PathBuf};

use host::git::Probe;
use host::paths::{Located, resolve};
use kernel::{Effect, Judgement, Origin, Place, Rule, Rules};
use shell::matching::{Pattern, all_covered, covers, denies, may_match, suggestions};
use shell::{Access, Analysis, FileAccess, Target, Verdict, analyse};

use crate::rules::{FileRules, List, Reading, Region, list_for, name_of, rule_for};

/// Whether a command line certainly only reads, wherever it runs.
pub fn only_reads(command: &str) -> bool {
    let nowhere = shell::Place { cwd: "/".into(), home: None, clean: false };
    analyse(command, &nowhere).verdict == Verdict::ReadOnly
}

/// Whether a command line certainly only reads in this place.
pub fn only_reads_in(command: &str, place: &Place, git: &Probe) -> bool {
    analysis(command, place, git).verdict == Verdict::ReadOnly
}

fn seen(command: &str, place: &Place, clean: bool) -> Analysis {
    analyse(command, &shell::Place { cwd: place.cwd.clone(), home: place.home.clone(), clean })
}

/// Why git may not obey the configuration in the working folder. Only looked for where git is spoken of.
fn objection(command: &str, place: &Place, git: &Probe) -> Option<String> {
    match command.contains("git") {
        false => Some("nobody looked".into()),
        true if !place.trusted => Some("the folder is not trusted".into()),
        true => git.objection(&place.cwd),
    }
}

/// What a command line would do in a place.
pub(super) fn analysis(command: &str, place: &Place, git: &Probe) -> Analysis {
    seen(command, place, objection(command, place, git).is_none())
}

/// What bears on a command line.
pub fn judge(command: &str, rules: &Rules, place: &Place, git: &Probe) -> Judgement {
    let objection = objection(command, place, git);
    let analysis = seen(command, place, objection.is_none());
    let found = Found::new(&analysis, place);
    let allowing = patterns(&rules.allow).map(|(_, pattern)| pattern).collect::<Vec<_>>();
    let (effect, reason) = match &analysis.verdict {
        Verdict::ReadOnly => (Effect::ReadOnly, "it only reads".to_owned()),
        Verdict::NotReadOnly { reason } => {
            let shown = uncovered(&analysis, &allowing).unwrap_or_else(|| reason.clone());
            // Where a clean configuration would make another verdict, this one says what is wrong with it.
            let why = objection.filter(|_| seen(command, place, true).verdict != analysis.verdict);
            let shown = why.map_or(shown.clone(), |why| shown.replacen(reason, &format!("{reason} ({why})"), 1));
            (Effect::Other, shown)
        }
    };
    let of_users: Vec<Rule> = rules.deny.iter().filter(|rule| by_user(rule)).cloned().collect();
    let ask = found.hit(&rules.ask).cloned();
    let guarded = found.guarded(rules, &allowing);
    let mut suggestions = suggestions(&allowing, &analysis);
    // Where no rule can cover the commands, rules for their guarded files would be no help.
    if effect == Effect::ReadOnly || !suggestions.is_empty() || all_covered(&allowing, &analysis) {
        suggestions.extend(guarded.iter().map(|(_, rule)| rule.clone()));
    }
    Judgement {
        deny: found.hit(&rules.deny).cloned(),
        uncertain: found.may_hit(&of_users).map(|(_, reason)| reason),
        ask: ask.or_else(|| found.may_hit(&rules.ask).and_then(|(rule, _)| rule.cloned())),
        guarded: guarded.first().map(|(path, _)| path.display().to_string()),
        covered: all_covered(&allowing, &analysis),
        effect,
        reason,
        suggestions: crate::rules::grammar::offered(suggestions),
    }
}

/// Whether an allow rule speaks for each part of a command line, also for what only reads.
pub fn covered_by_rules(command: &str, rules: &Rules, place: &Place) -> bool {
    let here = shell::Place { cwd: place.cwd.clone(), home: place.home.clone(), clean: false };
    let analysis = analyse(command, &here);
    let allowing: Vec<Pattern> = patterns(&rules.allow).map(|(_, pattern)| pattern).collect();
    let mut parts = analysis.commands.iter().filter(|command| !command.guess);
    analysis.opaque.is_none() && parts.all(|part| allowing.iter().any(|pattern| covers(pattern, part)))
}

/// Why the parts that no rule covers do not only read; of many, the first few.
fn uncovered(analysis: &Analysis, allowing: &[Pattern]) -> Option<String> {
    const SHOWN: usize = 3;
    let mut reasons: Vec<&str> = Vec::new();
    for command in analysis.commands.iter().filter(|command| !command.guess) {
        if let Verdict::NotReadOnly { reason } = &command.verdict
            && !allowing.iter().any(|pattern| covers(pattern, command))
            && !reasons.contains(&reason.as_str())
        {
            reasons.push(reason);
        }
    }
    let more = reasons.len().saturating_sub(SHOWN);
    let shown = reasons.into_iter().take(SHOWN).collect::<Vec<_>>().join("; ");
    match (shown.is_empty(), more) {
        (true, _) => None,
        (false, 0) => Some(shown),
        (false, more) => Some(format!("{shown}; and {more} more")),
    }
}

fn by_user(rule: &Rule) -> bool {
    match rule.origin {
        Origin::BuiltIn => false,
        Origin::Managed | Origin::User | Origin::Project | Origin::Local | Origin::Flag | Origin::Session => true,
    }
}

/// The rules for Bash that have a pattern; those without are the kernel's.
pub(super) fn patterns(list: &[Rule]) -> impl Iterator<Item = (&Rule, Pattern)> {
    list.iter()
        .filter(|rule| rule.tool == "Bash")
        .filter_map(|rule| Some((rule, Pattern::new(rule.pattern.as_deref()?))))
}

/// What a command line does, with its files found on this machine.
struct Found<'a> {
    analysis: &'a Analysis,
    place: &'a Place,
    files: Vec<Touched>,
}

/// Files that are read or written.
struct Touched {
    access: Access,
    what: Touch,
}

enum Touch {
    /// One file, or a folder as such.
    One(Located),
    /// A folder with everything in it, or what a glob in it names.
    Many {
        folder: Located,
        /// Under each name of the folder.
        regions: Vec<Region>,
    },
    /// Only the run can tell, and why.
    Unknown(String),
}

impl Touched {
    fn new(file: &FileAccess) -> Self {
        let what = match &file.target {
            Target::Path(path) => {
                let folder = Located::new(path.clone());
                if file.tree {
                    let regions = folder.forms().map(Region::of_tree).collect();
                    Touch::Many { folder, regions }
                } else {
                    Touch::One(folder)
                }
            }
            Target::Glob { directory, pattern } => {
                let names = pattern.strip_prefix(&*directory.to_string_lossy()).unwrap_or(pattern);
                let folder = Located { resolved: resolve(directory), given: directory.clone() };
                let region = |form| Region::of_glob(form, names, file.tree);
                let regions = folder.forms().map(region).collect();
                Touch::Many { folder, regions }
            }
            Target::Unknown { reason } => Touch::Unknown(reason.clone()),
        };
        Self { access: file.access, what }
    }
}

impl<'a> Found<'a> {
    fn new(analysis: &'a Analysis, place: &'a Place) -> Self {
        Self { analysis, place, files: analysis.files.iter().map(Touched::new).collect() }
    }

    fn of(&self, access: Access) -> impl Iterator<Item = &Touch> {
        self.files.iter().filter(move |file| file.access == access).map(|file| &file.what)
    }

    /// The first rule that certainly means something here.
    fn hit<'r>(&self, list: &'r [Rule]) -> Option<&'r Rule> {
        let command = patterns(list).find(|(_, pattern)| denies(pattern, self.analysis));
        command.map(|(rule, _)| rule).or_else(|| {
            [Access::Read, Access::Write].into_iter().find_map(|access| {
                let rules = FileRules::new(list, access, self.place, Reading::Generous);
                self.of(access).find_map(|touch| match touch {
                    Touch::One(path) | Touch::Many { folder: path, .. } => rules.hit(path),
                    Touch::Unknown(_) => None,
                })
            })
        })
    }

    /// The first rule that may mean something here, where there is one, and why that is not known.
    fn may_hit<'r>(&self, list: &'r [Rule]) -> Option<(Option<&'r Rule>, String)> {
        let command = patterns(list).find_map(|(rule, pattern)| Some((rule, may_match(&pattern, self.analysis)?)));
        if let Some((rule, reason)) = command {
            return Some((Some(rule), reason));
        }
        [Access::Read, Access::Write].into_iter().find_map(|access| {
            let rules = FileRules::new(list, access, self.place, Reading::Generous);
            if let Some(reason) = &rules.unreadable {
                return Some((None, reason.clone()));
            }
            self.of(access).find_map(|touch| match touch {
                Touch::One(_) => None,
                Touch::Many { folder, regions, .. } => {
                    let rule = regions.iter().find_map(|region| rules.may_hit(region))?;
                    let shown = folder.given.display();
                    Some((Some(rule), format!("{rule} speaks of files that may be in {shown}")))
                }
                Touch::Unknown(reason) => Some((Some(rules.first()?), reason.clone())),
            })
        })
    }

    /// Every protected or credential path that is visibly touched and that no rule names, with the
    /// file rule that would.
    fn guarded(&self, rules: &Rules, allowing: &[Pattern]) -> Vec<(PathBuf, String)> {
        let mut guarded = Vec::new();
        for access in [Access::Read, Access::Write] {
            let list = list_for(access);
            let files = FileRules::new(&rules.allow, access, self.place, Reading::Strict);
            let named = |path: &Path, entry: &str| {
                // A rule for the command that has the entry in it was made for this.
                let by_command = |rule: &Pattern| rule.text().to_lowercase().contains(name_of(entry));
                allowing.iter().any(by_command) || files.name(path, Some(entry))
            };
            let touched = self.of(access).flat_map(|touch| self.protected(list, touch));
            for (_, path) in touched.filter(|(entry, path)| !named(path, entry)) {
                let rule = rule_for(access, &path, self.place);
                if !guarded.contains(&(path.clone(), rule.clone())) {
                    guarded.push((path, rule));
                }
            }
        }
        guarded
    }

    /// The entries of a list that are touched, each with the path in question.
    fn protected(&self, list: List, touch: &Touch) -> Vec<(&'static str, PathBuf)> {
        let own = |path: &Located| -> Vec<(&'static str, PathBuf)> {
            let forms = path.forms();
            forms.filter_map(|form| Some((list.entry(form, self.place)?, form.into()))).collect()
        };
        match touch {
            Touch::One(path) => own(path),
            Touch::Many { folder, regions } => {
                let mut found = own(folder);
                let reached = regions.iter().flat_map(|region| list.entries_in(region, self.place));
                found.extend(reached);
                found
            }
            Touch::Unknown(_) => Vec::new(),
        }
    }
}

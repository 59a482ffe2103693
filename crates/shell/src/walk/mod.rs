//! The walk over a parsed text: finds every command it can run and carries the working folder along. Knows the grammar's
//! tree; what a command does is decided in `call` and below.

mod call;
mod carriers;
mod effects;
mod input;
mod judge;
mod runs;
mod shells;

use std::collections::HashSet;

use crate::analysis::{Access, Cause, FileAccess, Place, SimpleCommand, Target, Unknown, Verdict, What, Word};
use crate::paths::Folders;
use crate::programs::builtins::extended_test_objection;
use crate::programs::find;
use crate::programs::table::table;
use crate::syntax::{
    self, AndOr, Command, Compound, Expansion, ExpansionKind, Join, Piece, Pipeline, Redirect, Script, Simple,
};
use crate::word::resolve;

use effects::Overall;
use input::Input;

/// Text inside text (`eval`, `sh -c`) is read up to this size in total.
const NESTED_TEXT: usize = 256 * 1024;

/// Programs that pass file names on as they came.
const FILTERS: [&str; 7] = ["grep", "egrep", "fgrep", "head", "tail", "sort", "uniq"];

/// Collects what a text can do; entries are only added, in the order of the text.
pub struct Walker<'p> {
    pub place: &'p Place,
    pub commands: Vec<SimpleCommand>,
    pub files: Vec<FileAccess>,
    pub unknown: Vec<Unknown>,
    /// Names that mean something else than a program from some point on.
    shadowed: HashSet<String>,
    /// How many commands are around the present one, texts inside texts included.
    depth: usize,
    nested_text: usize,
    /// How many commands run one another on one command line.
    calls: usize,
    reads_crudely: bool,
    /// Every place where a command may begin is being tried.
    guesses: bool,
    /// The standard input around the present command.
    input: Input,
    /// What `exec` may have put in its place.
    replaced: Input,
    /// Variables of the loops around, whose values are names of files.
    paths_in_loops: Vec<String>,
    /// What only the whole text can tell of redirections.
    overall: Overall,
}

/// Where a command stands.
#[derive(Clone)]
struct Scene {
    folders: Folders,
    /// Its standard input is the output of another command.
    piped: bool,
    /// Where the file names that it reads were searched.
    searched: Option<Vec<Target>>,
}

/// The working folder after success and after failure.
struct Ends {
    success: Folders,
    failure: Folders,
}

impl Ends {
    fn both(folders: Folders) -> Self {
        Self { success: folders.clone(), failure: folders }
    }
}

/// What expanding words does besides giving text.
#[derive(Default)]
struct Expanded {
    hazard: Option<&'static str>,
    /// A command or process substitution is among them.
    substitutes: bool,
}

impl<'p> Walker<'p> {
    pub fn new(place: &'p Place) -> Self {
        Self {
            place,
            commands: Vec::new(),
            files: Vec::new(),
            unknown: Vec::new(),
            shadowed: HashSet::new(),
            depth: 0,
            nested_text: NESTED_TEXT,
            calls: 0,
            reads_crudely: false,
            guesses: false,
            input: Input::default(),
            replaced: Input::default(),
            paths_in_loops: Vec::new(),
            overall: Overall::default(),
        }
    }

    /// Walks a whole text.
    pub fn run(&mut self, script: &Script) {
        self.script(script, Folders::one(self.place.cwd.clone()));
        self.mark_shadowed();
        self.settle_redirections();
    }

    fn mark_shadowed(&mut self) {
        for command in &mut self.commands {
            let Some(name) = command.words.first().and_then(Word::text) else {
                continue;
            };
            if self.shadowed.contains(name) {
                let reason = format!("`{name}` is given another meaning in this text");
                command.uncoverable = Some(reason.clone());
                command.verdict = Verdict::NotReadOnly { reason };
            }
        }
    }

    fn script(&mut self, script: &Script, mut folders: Folders) -> Folders {
        for item in &script.0 {
            folders = self.and_or(item, folders);
        }
        folders
    }

    fn and_or(&mut self, list: &AndOr, start: Folders) -> Folders {
        let mut ends = self.pipeline(&list.first, &start);
        for (join, pipeline) in &list.rest {
            ends = match join {
                Join::And => {
                    let next = self.pipeline(pipeline, &ends.success);
                    Ends { success: next.success, failure: ends.failure.or(&next.failure) }
                }
                Join::Or => {
                    let next = self.pipeline(pipeline, &ends.failure);
                    Ends { success: ends.success.or(&next.success), failure: next.failure }
                }
            };
        }
        if list.background { start } else { ends.success.or(&ends.failure) }
    }

    fn pipeline(&mut self, pipeline: &Pipeline, start: &Folders) -> Ends {
        let mut scene = Scene { folders: start.clone(), piped: false, searched: None };
        if let [command] = pipeline.commands.as_slice() {
            let ends = self.command(command, &scene);
            return if pipeline.negated { Ends { success: ends.failure, failure: ends.success } } else { ends };
        }
        for command in &pipeline.commands {
            // Each part of a pipe is a process of its own.
            if scene.piped {
                self.reading(Input::unknown(), |walker| walker.command(command, &scene));
            } else {
                self.command(command, &scene);
            }
            scene.searched = self.passes_on(command, &scene);
            scene.piped = true;
        }
        Ends::both(start.clone())
    }

    /// Where the file names on the output of `command` come from, if that is certain.
    fn passes_on(&self, command: &Command, scene: &Scene) -> Option<Vec<Target>> {
        let Command::Simple(simple) = command else {
            return None;
        };
        let words: Vec<Word> = simple.words.iter().map(resolve).collect();
        let (name, arguments) = words.split_first()?;
        match name.text()? {
            "find" if !scene.piped => {
                let roots = find::read(arguments).roots;
                let roots = if roots.is_empty() { vec![Word::known(".")] } else { roots };
                Some(roots.iter().flat_map(|root| scene.folders.targets(root, self.place)).collect())
            }
            name if FILTERS.contains(&name) => scene.searched.clone(),
            _ => None,
        }
    }

    fn command(&mut self, command: &Command, scene: &Scene) -> Ends {
        self.depth += 1;
        let ends = match command {
            Command::Simple(simple) => self.simple(simple, scene),
            Command::Compound(compound, redirects) => {
                self.compound_redirects(redirects, scene);
                let folders = match self.redirected_input(redirects) {
                    Some(input) => self.reading(input, |walker| walker.compound(compound, scene)),
                    None => self.compound(compound, scene),
                };
                Ends::both(folders)
            }
            Command::Function { name, body } => {
                self.shadowed.insert(name.clone());
                self.note(format!("it defines the function `{name}`"));
                // Called from anywhere.
                let anywhere = Scene { folders: Folders::unknown(), piped: true, searched: None };
                self.reading(Input::unknown(), |walker| walker.command(body, &anywhere));
                Ends::both(scene.folders.clone())
            }
        };
        self.depth -= 1;
        ends
    }

    fn compound(&mut self, compound: &Compound, scene: &Scene) -> Folders {
        let start = scene.folders.clone();
        match compound {
            Compound::Group(body) => self.script(body, start),
            Compound::Subshell(body) => {
                self.script(body, start.clone());
                start
            }
            Compound::If(arms, otherwise) => {
                let mut tested = start;
                let mut end: Option<Folders> = None;
                for (condition, body) in arms {
                    tested = self.script(condition, tested);
                    let branch = self.script(body, tested.clone());
                    end = Some(end.map_or(branch.clone(), |end| end.or(&branch)));
                }
                let last = match otherwise {
                    Some(body) => self.script(body, tested),
                    None => tested,
                };
                end.map_or(last.clone(), |end| end.or(&last))
            }
            Compound::Loop(condition, body) => {
                let tested = self.script(condition, start.clone());
                let end = self.script(body, tested);
                self.after_loop(start, end)
            }
            Compound::Each { variable, words, body } => {
                let expanded = self.expand(words.iter(), &start);
                self.note_hazard(expanded.hazard);
                if !table().is_idle_variable(variable) {
                    self.note(format!("a loop sets `{variable}`"));
                }
                let around = self.paths_in_loops.clone();
                self.paths_in_loops.retain(|bound| bound != variable);
                if effects::only_names_files(words) {
                    self.paths_in_loops.push(variable.clone());
                } else {
                    self.overall.sets(variable);
                }
                let end = self.script(body, start.clone());
                self.paths_in_loops = around;
                self.after_loop(start, end)
            }
            Compound::Case { subject, arms } => {
                let patterns = arms.iter().flat_map(|(patterns, _)| patterns);
                let expanded = self.expand(std::iter::once(subject).chain(patterns), &start);
                self.note_hazard(expanded.hazard);
                let mut end = start.clone();
                for (_, body) in arms {
                    // An arm may run after another one.
                    let arm = self.script(body, end.clone());
                    end = end.or(&arm);
                }
                end
            }
            Compound::Arithmetic(expression) => {
                self.entry(Verdict::ReadOnly, None);
                self.expression(expression, &start);
                start
            }
            Compound::Counted(header, body) => {
                self.expression(header, &start);
                let end = self.script(body, start.clone());
                self.after_loop(start, end)
            }
            Compound::Test(words) => {
                self.entry(Verdict::ReadOnly, None);
                let expanded = self.expand(words.iter(), &start);
                self.note_hazard(expanded.hazard);
                let words: Vec<Word> = words.iter().map(resolve).collect();
                if let Some(objection) = extended_test_objection(&words) {
                    self.note(objection);
                }
                start
            }
            Compound::Coprocess(body) => {
                self.note("it starts a coprocess".into());
                let scene = Scene { piped: true, ..scene.clone() };
                self.reading(Input::unknown(), |walker| walker.command(body, &scene));
                start
            }
        }
    }

    /// A body that changes the folder runs in another one the next time round.
    fn after_loop(&mut self, start: Folders, end: Folders) -> Folders {
        if start == end {
            return start;
        }
        let reason = "a loop changes its working folder".to_owned();
        for access in [Access::Read, Access::Write] {
            let target = Target::Unknown { reason: reason.clone() };
            self.files.push(FileAccess { access, target, tree: true });
        }
        self.note(reason);
        Folders::unknown()
    }

    fn expression(&mut self, expression: &Expansion, folders: &Folders) {
        for script in &expression.scripts {
            self.script(script, folders.clone());
        }
        self.note_hazard(expression.hazard);
    }

    fn note_hazard(&mut self, hazard: Option<&'static str>) {
        if let Some(hazard) = hazard {
            self.note(hazard.into());
        }
    }

    /// Records something that is no command of its own and does more than read.
    fn note(&mut self, reason: String) {
        self.entry(Verdict::NotReadOnly { reason: reason.clone() }, Some(reason));
    }

    /// Records an entry without words.
    fn entry(&mut self, verdict: Verdict, uncoverable: Option<String>) {
        self.commands.push(SimpleCommand {
            words: Vec::new(),
            assignments: Vec::new(),
            redirections: Vec::new(),
            wrappers: Vec::new(),
            verdict,
            uncoverable,
            guess: false,
        });
    }

    /// Walks all that expanding these words runs.
    fn expand<'w>(&mut self, words: impl Iterator<Item = &'w syntax::Word>, folders: &Folders) -> Expanded {
        let mut expanded = Expanded::default();
        for word in words {
            for piece in &word.pieces {
                let Piece::Expansion(expansion) = piece else {
                    continue;
                };
                // `>( )` reads what is written to it.
                let fed = expansion.kind == ExpansionKind::Process && expansion.written.starts_with('>');
                let input = if fed { Input::unknown() } else { self.input.clone() };
                self.reading(input, |walker| {
                    for script in &expansion.scripts {
                        walker.script(script, folders.clone());
                    }
                });
                expanded.hazard = expanded.hazard.or(expansion.hazard);
                expanded.substitutes |= match expansion.kind {
                    ExpansionKind::Command | ExpansionKind::Process => true,
                    ExpansionKind::Parameter | ExpansionKind::Number => !expansion.scripts.is_empty(),
                };
            }
        }
        expanded
    }

    /// Notes that only the run can tell something.
    fn admit(&mut self, what: What, reason: String) {
        self.unknown.push(Unknown { what, reason });
    }
}

/// Whether any part of a word is put in by `xargs` or `find`.
fn is_filled(word: &Word) -> bool {
    word.causes().any(|cause| cause == Cause::Filled)
}

/// All words of a simple command in which something may be expanded.
fn words_of(simple: &Simple) -> impl Iterator<Item = &syntax::Word> {
    let values = simple.assignments.iter().flat_map(|assignment| &assignment.values);
    values.chain(&simple.words).chain(simple.redirects.iter().filter_map(target_word))
}

fn target_word(redirect: &Redirect) -> Option<&syntax::Word> {
    match &redirect.target {
        syntax::Target::Word(word) => Some(word),
        syntax::Target::Body(body) => body.get(),
    }
}

//! Simple commands: from words in the tree to a recorded command, with its wrappers taken off.

use crate::analysis::{Part, Redirection, SimpleCommand, Verdict, What, Word, Wrapper};
use crate::paths::Folders;
use crate::programs::table::{Wrapping, table};
use crate::programs::{options, split};
use crate::syntax::Simple;
use crate::word::resolve;

use super::input::Input;
use super::{Ends, Scene, Walker, words_of};

/// Wrappers inside wrappers beyond this are not taken off.
const MAX_WRAPPERS: usize = 16;

/// Nor are commands that run commands (`xargs xargs …`) followed further than this.
const MAX_CALLS: usize = 16;

const TOO_MANY: &str = "too many commands run one another";

/// A command about to be judged.
pub struct Call {
    pub words: Vec<Word>,
    pub assignments: Vec<String>,
    pub redirections: Vec<Redirection>,
    pub wrappers: Vec<Wrapper>,
    pub scene: Scene,
    pub input: Input,
    /// It runs in this shell: `cd` has an effect.
    pub in_shell: bool,
    /// Why it may do more than read; the first cause.
    pub objection: Option<String>,
    pub uncoverable: Option<String>,
}

impl Call {
    /// A command that another one runs as a process of its own.
    pub fn inner(words: Vec<Word>, scene: &Scene, uncoverable: &str) -> Self {
        Self {
            words,
            assignments: Vec::new(),
            redirections: Vec::new(),
            wrappers: Vec::new(),
            scene: scene.clone(),
            input: Input::default(),
            in_shell: false,
            objection: None,
            uncoverable: Some(uncoverable.into()),
        }
    }

    pub fn object(&mut self, reason: impl Into<String>) {
        if self.objection.is_none() {
            self.objection = Some(reason.into());
        }
    }

    pub fn refuse_rules(&mut self, reason: impl Into<String>) {
        if self.uncoverable.is_none() {
            self.uncoverable = Some(reason.into());
        }
    }
}

impl Walker<'_> {
    pub(super) fn simple(&mut self, simple: &Simple, scene: &Scene) -> Ends {
        let expanded = self.expand(words_of(simple), &scene.folders);
        let redirected = self.redirections(&simple.redirects, scene);
        for assignment in &simple.assignments {
            self.overall.sets(&assignment.name);
        }
        let mut call = Call {
            words: simple.words.iter().map(resolve).collect(),
            assignments: simple.assignments.iter().map(|set| set.name.clone()).collect(),
            redirections: redirected.list,
            wrappers: Vec::new(),
            scene: scene.clone(),
            input: self.redirected_input(&simple.redirects).unwrap_or_else(|| self.inherited()),
            in_shell: true,
            objection: redirected.objection,
            uncoverable: None,
        };
        for assignment in &simple.assignments {
            let value = assignment.values.first().map(resolve).unwrap_or_default();
            judge_locale(&mut call, &assignment.name, value.text());
        }
        if redirected.writes {
            call.refuse_rules("it redirects into a file");
        }
        if let Some(hazard) = expanded.hazard {
            call.object(hazard);
            call.refuse_rules(hazard);
        }
        if expanded.substitutes {
            call.refuse_rules("it holds a substitution");
        }
        if simple.assignments.iter().any(|assignment| assignment.indexed) {
            call.object("it evaluates the index of an array, which can run commands");
            call.refuse_rules("it assigns to an array");
        }
        self.call(call)
    }

    /// Takes off the wrappers of a command, judges and records it.
    pub(super) fn call(&mut self, call: Call) -> Ends {
        self.calls += 1;
        let ends = self.bounded_call(call);
        self.calls -= 1;
        ends
    }

    fn bounded_call(&mut self, mut call: Call) -> Ends {
        while let Some(wrapping) = wrapping(&call) {
            let too_many = call.wrappers.len() >= MAX_WRAPPERS;
            if too_many || self.calls > MAX_CALLS {
                return self.give_up(call);
            }
            if !self.unwrap(&mut call, wrapping) {
                break;
            }
        }
        if self.calls > MAX_CALLS {
            return self.give_up(call);
        }
        if matches!(call.words.as_slice(), [only] if only.text() == Some("exec")) {
            self.replace_input(&call.input);
        }
        let name = call.words.first().and_then(Word::text).map(str::to_owned);
        let ends = match (&name, call.words.is_empty()) {
            (Some(name), _) => self.judge(&mut call, name),
            (None, true) => {
                judge_assignments(&mut call);
                Ends::both(call.scene.folders.clone())
            }
            (None, false) => {
                let shown = call.words.first().map(Word::shown).unwrap_or_default();
                let reason = format!("the command `{shown}` is only known when it runs");
                self.admit(What::Command, reason.clone());
                call.object(reason.clone());
                call.refuse_rules(reason);
                // Whatever it is, it may change the working folder.
                Ends::both(Folders::unknown())
            }
        };
        self.record(call);
        ends
    }

    fn give_up(&mut self, mut call: Call) -> Ends {
        self.admit(What::Command, TOO_MANY.into());
        call.object(TOO_MANY);
        call.refuse_rules(TOO_MANY);
        self.record(call);
        Ends::both(Folders::unknown())
    }

    fn record(&mut self, call: Call) {
        self.commands.push(SimpleCommand {
            words: call.words,
            assignments: call.assignments,
            redirections: call.redirections,
            wrappers: call.wrappers,
            verdict: match call.objection {
                Some(reason) => Verdict::NotReadOnly { reason },
                None => Verdict::ReadOnly,
            },
            uncoverable: call.uncoverable,
            guess: false,
        });
    }

    /// Takes off one wrapper; false if there is no command behind it.
    fn unwrap(&mut self, call: &mut Call, wrapping: &Wrapping) -> bool {
        let shown = call.words.first().map(Word::shown).unwrap_or_default();
        let name = basename(&shown).to_owned();
        let mut arguments = call.words.get(1..).unwrap_or_default().to_vec();
        let mut reading = options::read(&name, &arguments, &wrapping.options);
        for round in 0.. {
            let Some(split) = split::options(&arguments, &reading, &wrapping.splits) else {
                break;
            };
            call.object(format!("`{name}` takes a command apart by itself"));
            let doubt = split.doubt.or_else(|| (round == MAX_WRAPPERS).then(|| TOO_MANY.into()));
            if let Some(doubt) = doubt {
                self.admit(What::Command, doubt);
                self.guess(&split.arguments, call);
                break;
            }
            arguments = split.arguments;
            reading = options::read(&name, &arguments, &wrapping.options);
        }
        let described = reading.options.iter().any(|given| wrapping.describes.contains(given.name.as_str()));
        if described && reading.trouble.is_none() {
            return false;
        }
        if reading.trouble.is_some() {
            self.guess(&arguments, call);
        }
        let Some(mut start) = reading.first_operand else {
            call.object(format!("`{name}` is not on the read-only list"));
            if wrapping.input {
                self.standard_input(call, &name);
            }
            return false;
        };
        if let Some(trouble) = reading.trouble {
            call.object(trouble.clone());
            call.refuse_rules(trouble);
        }
        let first = start;
        if wrapping.assignments {
            while let Some(word) = arguments.get(start).filter(|word| sets_variable(word) || word.text() == Some("-")) {
                if let Some((name, _)) = word.prefix().split_once('=') {
                    judge_locale(call, name, word.text().and_then(|text| Some(text.split_once('=')?.1)));
                    call.assignments.push(name.to_owned());
                }
                start += 1;
            }
        }
        start += wrapping.skip;
        if let Some(word) = arguments.iter().take(start).skip(first).find(|word| word.may_be_many()) {
            let reason = format!("`{}` before the command of `{name}` may be several words", word.shown());
            self.admit(What::Command, reason.clone());
            call.object(reason.clone());
            call.refuse_rules(reason);
        }
        let Some(rest) = arguments.get(start..).filter(|rest| !rest.is_empty()) else {
            call.object(format!("`{name}` is not on the read-only list"));
            return false;
        };
        if shown.contains('/') && table().name(&shown).is_none() {
            call.object(format!("`{shown}` need not be the program `{name}`"));
            call.refuse_rules(format!("`{shown}` need not be the program `{name}`"));
        }
        if !wrapping.plain {
            call.object(format!("`{name}` is not on the read-only list"));
        }
        if wrapping.elevates {
            call.refuse_rules(format!("it runs under `{name}`"));
        }
        call.in_shell &= wrapping.shell;
        call.wrappers.push(Wrapper { name, words: std::mem::take(&mut call.words) });
        call.words = rest.to_vec();
        true
    }
}

/// The row of the wrapper that a command begins with; a describing use is not one.
fn wrapping(call: &Call) -> Option<&'static Wrapping> {
    let name = call.words.first()?.text()?;
    table().wrappers.get(basename(name))
}

/// A shell variable that is set for good must be one that no program looks at.
fn judge_assignments(call: &mut Call) {
    let bad = call.assignments.iter().find(|name| !table().is_idle_variable(name)).cloned();
    if let Some(name) = bad {
        call.object(format!("it sets the variable `{name}`"));
    }
    if !call.assignments.is_empty() {
        call.refuse_rules("it sets variables");
    }
}

/// A locale with a slash in it is a folder, in which programs find texts that they trust.
fn judge_locale(call: &mut Call, name: &str, value: Option<&str>) {
    let locale = name.starts_with("LANG") || name.starts_with("LC_");
    if locale && value.is_none_or(|value| value.contains('/')) {
        let reason = format!("it sets `{name}` to what may be a folder");
        call.object(reason.clone());
        call.refuse_rules(reason);
    }
}

/// The last part of a path.
pub fn basename(name: &str) -> &str {
    name.rsplit('/').next().unwrap_or(name)
}

/// Whether `env` and its like take a word for `name=value`, whatever the name.
pub fn sets_variable(word: &Word) -> bool {
    word.parts.iter().any(|part| matches!(part, Part::Text(text) if text.contains('=')))
}

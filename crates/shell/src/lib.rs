//! What would this Bash command line do? A pure function of text: it runs nothing and looks at no disk, environment or
//! process. Owns the reading of Bash, the table of programs and the matching of rules; must not know who asks, what is
//! decided, or how anything is started.
//!
//! Nothing here is a boundary: text shows what is written, not what a program makes of it. What cannot be told from the
//! text is never called read-only, and is listed as unknown.

mod analysis;
pub mod matching;
mod paths;
mod programs;
mod syntax;
mod text;
mod walk;
mod word;

pub use analysis::{
    Access, Analysis, Cause, FileAccess, Part, Place, Redirection, SimpleCommand, Target, Unknown, Verdict, What, Word,
    Wrapper,
};

use walk::Walker;

/// Tells what a text would do if Bash ran it in `place`.
#[must_use]
pub fn analyse(text: &str, place: &Place) -> Analysis {
    // Bash cannot be given a NUL; the rest of the text is what may run.
    let visible = text.replace('\0', "");
    let mut walker = Walker::new(place);
    let parsed = if text.len() > text::MAX_LENGTH {
        Err(format!("it is longer than {} bytes", text::MAX_LENGTH))
    } else {
        syntax::parse(&visible).map_err(|trouble| format!("it cannot be read as Bash: {}", trouble.0))
    };
    let hidden = text::deceptive(text)
        .map(|character| format!("it holds a character that cannot be seen, U+{:04X}", u32::from(character)));
    let opaque = match parsed {
        Ok(script) => {
            walker.run(&script);
            hidden
        }
        Err(reason) => {
            walker.crude(&visible);
            walker.unknown.push(Unknown { what: What::Script, reason: reason.clone() });
            Some(hidden.unwrap_or(reason))
        }
    };
    let verdict = verdict(&walker, opaque.as_ref());
    Analysis { commands: walker.commands, files: walker.files, unknown: walker.unknown, opaque, verdict }
}

fn verdict(walker: &Walker<'_>, opaque: Option<&String>) -> Verdict {
    if let Some(reason) = opaque {
        return Verdict::NotReadOnly { reason: reason.clone() };
    }
    let mut commands = walker.commands.iter().filter(|command| !command.guess).peekable();
    if commands.peek().is_none() {
        return Verdict::NotReadOnly { reason: "there is no command in it".into() };
    }
    commands
        .find(|command| !command.verdict.is_read_only())
        .map_or(Verdict::ReadOnly, |command| command.verdict.clone())
}

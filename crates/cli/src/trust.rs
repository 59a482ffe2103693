//! Owns the question whether a folder is trusted, asked once at the start of a talk. Must not know what
//! trust changes.

use std::io::{self, BufRead, Write};
use std::path::Path;

use harness::{Choices, Environment, SessionError, Workspace, trust};

use crate::sanitize::sanitize;
use crate::texts::{Texts, fill};

/// Asks where the answer would change something. Gives whether this run was told to trust.
pub fn ask(environment: &Environment, cwd: &Path, choices: &Choices) -> anyhow::Result<bool> {
    // A folder that is gone is the session's to report.
    let Ok(cwd) = cwd.canonicalize() else { return Ok(choices.trust) };
    let workspace = Workspace::look(environment, &cwd, choices).map_err(SessionError::from)?;
    if !workspace.wants_trust {
        return Ok(choices.trust);
    }
    let texts = Texts::of(environment)?;
    let question = fill(&texts.trust_question, &[("folder", &workspace.to_trust.display())]);
    let mut line = String::new();
    loop {
        write!(io::stdout(), "{} ", sanitize(&question))?;
        io::stdout().flush()?;
        line.clear();
        let length = io::stdin().lock().read_line(&mut line)?;
        match line.trim().to_lowercase().as_str() {
            "y" | "yes" | "是" | "好" => break,
            "n" | "no" | "否" | "不" => return Ok(false),
            // The input has ended: nobody has said yes.
            "" if length == 0 => return Ok(false),
            _ => {}
        }
    }
    if let Err(fault) = trust::save(environment, &workspace.to_trust) {
        let told = fill(&texts.trust_unsaved, &[("fault", &fault)]);
        writeln!(io::stdout(), "{}", sanitize(&told))?;
    }
    Ok(true)
}

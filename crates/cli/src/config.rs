//! Owns `rsagent config`: what is set, the schema of settings, and keys that are kept. Must not know how
//! layers come together.

use std::io::{self, IsTerminal, Read, Write};

use anyhow::Context;
use harness::keys::{Keys, keep};
use harness::settings::{Shown, schema};
use harness::{Choices, Environment, Workspace, keyed_providers};
use serde_json::{Value, json};

use crate::exit::Exit;
use crate::sanitize::sanitize;
use crate::subcommands::Config;
use crate::terminal;
use crate::texts::{Texts, fill};

/// The most that is read of a key, in bytes.
const LIMIT: u64 = 64 * 1024;

/// Does what was asked.
pub fn run(command: &Config, environment: &Environment) -> anyhow::Result<Exit> {
    let texts = Texts::of(environment)?;
    match command {
        Config::Schema => {
            writeln!(io::stdout(), "{}", serde_json::to_string_pretty(&schema())?)?;
            Ok(Exit::Success)
        }
        Config::Show { json, settings, setting_sources, trust } => {
            let choices = Choices { settings: settings.clone(), sources: *setting_sources, trust: *trust };
            let cwd = std::env::current_dir().context("the working folder is gone; go to one that exists")?;
            let cwd = cwd.canonicalize()?;
            let workspace = Workspace::look(environment, &cwd, &choices)?;
            let text = match json {
                true => format!("{}\n", serde_json::to_string_pretty(&as_object(&workspace, &cwd))?),
                false => as_text(&workspace, &cwd, &texts),
            };
            io::stdout().write_all(text.as_bytes())?;
            Ok(Exit::Success)
        }
        Config::SetKey { provider, remove } => set_key(environment, &texts, provider, *remove),
    }
}

fn as_object(workspace: &Workspace, cwd: &std::path::Path) -> Value {
    let files = workspace.settings.files();
    let files: Vec<Value> = files.map(|(origin, path)| json!({"origin": origin.to_string(), "path": path})).collect();
    let ignored: Vec<Value> = (workspace.settings.ignored.iter())
        .map(|(path, ignored)| json!({"key": ignored.key, "path": path, "reason": ignored.why.to_string()}))
        .collect();
    json!({
        "folder": cwd,
        "trusted": workspace.trusted,
        "files": files,
        "values": workspace.settings.show(),
        "ignored": ignored,
        "notices": workspace.notices,
    })
}

fn as_text(workspace: &Workspace, cwd: &std::path::Path, texts: &Texts) -> String {
    let trusted = if workspace.trusted { &texts.yes } else { &texts.no };
    let mut lines = vec![fill(&texts.config_folder, &[("folder", &cwd.display()), ("trusted", trusted)])];
    let files: Vec<String> = (workspace.settings.files())
        .map(|(origin, path)| format!("  {}  {}", texts.reason(&origin.to_string()), path.display()))
        .collect();
    lines.push(if files.is_empty() { texts.config_none.clone() } else { texts.config_files.clone() });
    lines.extend(files);
    let values = workspace.settings.show();
    if !values.is_empty() {
        lines.push(texts.config_values.clone());
    }
    lines.extend(values.iter().map(|shown| {
        let Shown { key, value, origin, path } = shown;
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        format!("  {key} = {value}  ({}, {})", texts.reason(&origin.to_string()), path.display())
    }));
    if !workspace.settings.ignored.is_empty() {
        lines.push(texts.config_ignored.clone());
    }
    lines.extend(workspace.settings.ignored.iter().map(|(path, ignored)| {
        format!("  {}  ({}, {})", ignored.key, texts.reason(&ignored.why.to_string()), path.display())
    }));
    lines.extend(workspace.notices.iter().map(|notice| texts.reason(notice)));
    // A name in a project's file may hold anything.
    lines.iter().map(|line| format!("{}\n", sanitize(line))).collect()
}

fn set_key(environment: &Environment, texts: &Texts, provider: &str, remove: bool) -> anyhow::Result<Exit> {
    let known = keyed_providers(environment)?;
    let is_known = known.iter().any(|name| name == provider);
    // A key that was kept for a provider that is gone can still be forgotten.
    let gone = || remove && Keys::read(environment).is_ok_and(|keys| keys.get(provider).is_some());
    if !is_known && !gone() {
        let known = known.join(", ");
        let told = fill(&texts.key_unknown, &[("provider", &provider), ("known", &known)]);
        writeln!(io::stderr(), "rsagent: {}", sanitize(&told))?;
        return Ok(Exit::Usage);
    }
    let key = match remove {
        true => None,
        false => {
            let prompt = fill(&texts.key_prompt, &[("provider", &provider)]);
            let Some(key) = read_key(&prompt)? else {
                writeln!(io::stderr(), "{}", texts.key_cancelled)?;
                return Ok(Exit::Failure);
            };
            Some(key)
        }
    };
    let (path, before) = keep(environment, provider, key.as_deref())?;
    let told = match (remove, before) {
        (false, _) => &texts.key_kept,
        (true, true) => &texts.key_removed,
        (true, false) => &texts.key_none,
    };
    let told = fill(told, &[("provider", &provider), ("path", &path.display())]);
    writeln!(io::stdout(), "{}", sanitize(&told))?;
    Ok(Exit::Success)
}

/// A line of the terminal that is not shown, or all of standard input. `None` where it was called off.
fn read_key(prompt: &str) -> anyhow::Result<Option<String>> {
    if io::stdin().is_terminal() {
        let key = terminal::read_hidden(&sanitize(prompt))?;
        writeln!(io::stderr())?;
        return Ok(key);
    }
    let mut bytes = Vec::new();
    io::stdin().take(LIMIT).read_to_end(&mut bytes).context("cannot read standard input")?;
    Ok(Some(String::from_utf8_lossy(&bytes).trim().to_owned()))
}

//! Owns what documents and code must say alike. A list in a document stands between two comments,
//! `<!-- list: NAME -->` and `<!-- end -->`; its items are the first `code` words of its rows.

use std::fs;
use std::path::Path;

use crate::sources::{names_in_section, read};
use crate::tidy::IMPORTS;

/// Compares every list in the documents with the code.
pub fn check(root: &Path, faults: &mut Vec<String>) -> Result<(), String> {
    let architecture = read(root, "ARCHITECTURE.md")?;
    let english = read(root, "README.md")?;
    let chinese = read(root, "README.zh-CN.md")?;
    let crates = folder_names(&root.join("crates"))?;
    let dependencies = dependencies(root)?;
    let events = variants(&read(root, "crates/kernel/src/event.rs")?, "pub enum AgentEvent {");
    let tools = quoted_after(&read_all(&root.join("crates/tools/src"))?, "const NAME: &'static str = ");
    let commands = command_names(&read(root, "crates/cli/src/repl/commands.rs")?);
    let modules = kernel_modules(&read(root, "crates/kernel/src/lib.rs")?);

    compare("ARCHITECTURE.md", &architecture, "crates", &crates, faults);
    compare("ARCHITECTURE.md", &architecture, "dependencies", &dependencies, faults);
    compare("ARCHITECTURE.md", &architecture, "events", &events, faults);
    compare("ARCHITECTURE.md", &architecture, "kernel modules", &modules, faults);
    for (name, text) in [("README.md", &english), ("README.zh-CN.md", &chinese)] {
        compare(name, text, "tools", &tools, faults);
        compare(name, text, "commands", &commands, faults);
    }
    imports(&architecture, faults);
    same_shape(&english, &chinese, faults);
    Ok(())
}

fn compare(document: &str, text: &str, list: &str, code: &[String], faults: &mut Vec<String>) {
    let Some(mut written) = items(text, list) else {
        faults.push(format!("{document} has no list `{list}`"));
        return;
    };
    let mut code = code.to_vec();
    written.sort();
    code.sort();
    for missing in code.iter().filter(|item| !written.contains(item)) {
        faults.push(format!("{document}: the list `{list}` lacks `{missing}`"));
    }
    for stale in written.iter().filter(|item| !code.contains(item)) {
        faults.push(format!("{document}: the list `{list}` has `{stale}`, the code has not"));
    }
}

/// The first `code` words of each row of a list; several before the first `|` or `–` all count.
fn items(text: &str, list: &str) -> Option<Vec<String>> {
    let start = format!("<!-- list: {list} -->");
    let (_, rest) = text.split_once(&start)?;
    let (body, _) = rest.split_once("<!-- end -->")?;
    let mut found = Vec::new();
    for row in body.lines() {
        let head = row.trim_start_matches(['|', '-', ' ']);
        let head = head.split(['|', ':', '：']).next().unwrap_or(head);
        let words = head.split('`').skip(1).step_by(2);
        found.extend(words.map(|word| word.split(' ').next().unwrap_or(word).to_owned()));
    }
    Some(found)
}

/// The column "may import" of the table of crates says what the table in `tidy` says.
fn imports(architecture: &str, faults: &mut Vec<String>) {
    for (name, allowed) in IMPORTS {
        let head = format!("| `{name}` | ");
        let row = architecture.lines().find(|line| line.starts_with(&head)).unwrap_or("");
        let column = row.split('|').nth(3).unwrap_or("");
        let written: Vec<&str> = column.split('`').skip(1).step_by(2).collect();
        if written != allowed {
            faults.push(format!("ARCHITECTURE.md: `{name}` may import {allowed:?}, the table says {written:?}"));
        }
    }
}

/// Both languages have the same headings by level and the same code blocks.
fn same_shape(english: &str, chinese: &str, faults: &mut Vec<String>) {
    let headings = |text: &str| -> Vec<usize> {
        outside_code(text)
            .filter(|line| line.starts_with('#'))
            .map(|line| line.bytes().take_while(|byte| *byte == b'#').count())
            .collect()
    };
    if headings(english) != headings(chinese) {
        faults.push("README.md and README.zh-CN.md have different headings".to_owned());
    }
    let blocks = |text: &str| text.matches("```").count();
    if blocks(english) != blocks(chinese) {
        faults.push("README.md and README.zh-CN.md have different code blocks".to_owned());
    }
}

fn outside_code(text: &str) -> impl Iterator<Item = &str> {
    let mut inside = false;
    text.lines().filter(move |line| {
        if line.starts_with("```") {
            inside = !inside;
        }
        !inside
    })
}

/// Names of the variants of an enum, in the snake case of their serialised form.
fn variants(text: &str, head: &str) -> Vec<String> {
    let body = text.split_once(head).map_or("", |(_, body)| body);
    body.lines()
        .take_while(|line| *line != "}")
        .filter(|line| line.starts_with("    ") && !line.starts_with("     "))
        .map(str::trim)
        .filter(|line| line.starts_with(|c: char| c.is_ascii_uppercase()))
        .filter_map(|line| line.split([' ', '(', ',']).next())
        .map(snake_case)
        .collect()
}

fn snake_case(name: &str) -> String {
    let mut out = String::new();
    for c in name.chars() {
        if c.is_ascii_uppercase() && !out.is_empty() {
            out.push('_');
        }
        out.push(c.to_ascii_lowercase());
    }
    out
}

fn quoted_after(text: &str, head: &str) -> Vec<String> {
    text.split(head).skip(1).filter_map(|rest| rest.split('"').nth(1)).map(str::to_owned).collect()
}

/// The words in `("/name"` and `"/name" |` of the table of commands.
fn command_names(text: &str) -> Vec<String> {
    let mut names: Vec<String> =
        text.split('"').filter(|word| is_command(word) && *word != "/quit").map(str::to_owned).collect();
    names.sort();
    names.dedup();
    names
}

fn is_command(word: &str) -> bool {
    word.strip_prefix('/').is_some_and(|name| !name.is_empty() && name.chars().all(|c| c.is_ascii_lowercase()))
}

fn kernel_modules(text: &str) -> Vec<String> {
    text.lines()
        .filter_map(|line| line.trim_start_matches("pub ").strip_prefix("mod "))
        .filter_map(|rest| rest.strip_suffix(';'))
        .map(str::to_owned)
        .collect()
}

/// Every outside dependency of the workspace.
fn dependencies(root: &Path) -> Result<Vec<String>, String> {
    let manifest = read(root, "Cargo.toml")?;
    let outside: String =
        manifest.lines().filter(|line| !line.contains("{ path = ")).fold(String::new(), |all, line| all + line + "\n");
    Ok(names_in_section(&outside, "[workspace.dependencies]"))
}

fn folder_names(folder: &Path) -> Result<Vec<String>, String> {
    let entries = fs::read_dir(folder).map_err(|fault| fault.to_string())?;
    Ok(entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect())
}

fn read_all(folder: &Path) -> Result<String, String> {
    let mut all = String::new();
    for path in crate::sources::rust_files(folder) {
        all.push_str(&fs::read_to_string(path).map_err(|fault| fault.to_string())?);
    }
    Ok(all)
}

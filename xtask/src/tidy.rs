//! Owns the rules that keep the picture in ARCHITECTURE.md true: import directions, caps, a heading
//! on every module, one spawn function, lists in documents that match the code.

use std::fs;
use std::path::Path;

use crate::documents;
use crate::sources::{lines_of_code, names_in_section, read, rust_files};

/// Which crates of the project a crate may import.
pub const IMPORTS: [(&str, &[&str]); 8] = [
    ("channel", &[]),
    ("kernel", &["channel"]),
    ("models", &["kernel"]),
    ("shell", &[]),
    ("host", &[]),
    ("tools", &["kernel", "host", "shell"]),
    ("harness", &["kernel", "models", "host", "tools"]),
    ("cli", &["kernel", "harness"]),
];
/// Lines of code in the whole kernel, and lines in one of its files.
const KERNEL_CODE: usize = 2_000;
const KERNEL_FILE: usize = 400;
/// Lines in any other source file.
const FILE: usize = 500;
/// The modules of `harness` that tie the others together.
const TIES: [&str; 6] = ["lib.rs", "session.rs", "features.rs", "connect.rs", "defaults.rs", "workspace.rs"];

/// Checks everything and reports every fault.
pub fn check(root: &Path) -> Result<(), String> {
    println!("==> tidy");
    let mut faults = Vec::new();
    imports(root, &mut faults)?;
    features_apart(root, &mut faults)?;
    files(root, &mut faults)?;
    documents::check(root, &mut faults)?;
    match faults.is_empty() {
        true => Ok(()),
        false => Err(format!("tidy found {} faults:\n  {}", faults.len(), faults.join("\n  "))),
    }
}

fn imports(root: &Path, faults: &mut Vec<String>) -> Result<(), String> {
    let names: Vec<&str> = IMPORTS.iter().map(|(name, _)| *name).collect();
    for (name, allowed) in IMPORTS {
        let manifest = read(root, &format!("crates/{name}/Cargo.toml"))?;
        for used in names_in_section(&manifest, "[dependencies]") {
            if names.contains(&used.as_str()) && !allowed.contains(&used.as_str()) {
                faults.push(format!("crates/{name} must not import {used}"));
            }
        }
    }
    let folders = fs::read_dir(root.join("crates")).map_err(|fault| fault.to_string())?;
    for folder in folders.flatten() {
        let name = folder.file_name().to_string_lossy().into_owned();
        if !names.contains(&name.as_str()) {
            faults.push(format!("crates/{name} has no row in the import table of xtask"));
        }
    }
    Ok(())
}

/// A feature of `harness` imports no other feature.
fn features_apart(root: &Path, faults: &mut Vec<String>) -> Result<(), String> {
    let folder = root.join("crates/harness/src");
    for path in rust_files(&folder) {
        let name = path.strip_prefix(&folder).unwrap_or(&path).display().to_string();
        // What was given by the surroundings is data, not a feature.
        let others = |line: &str| line.contains("crate::") && !line.contains("crate::environment");
        let text = fs::read_to_string(&path).map_err(|fault| fault.to_string())?;
        if !TIES.contains(&name.as_str()) && text.lines().any(others) {
            faults.push(format!("crates/harness/src/{name} imports another feature"));
        }
    }
    Ok(())
}

fn files(root: &Path, faults: &mut Vec<String>) -> Result<(), String> {
    let mut kernel = 0;
    for (name, _) in IMPORTS {
        for path in rust_files(&root.join("crates").join(name).join("src")) {
            let shown = path.strip_prefix(root).unwrap_or(&path).display().to_string();
            let text = fs::read_to_string(&path).map_err(|fault| fault.to_string())?;
            let cap = if name == "kernel" { KERNEL_FILE } else { FILE };
            let lines = text.lines().count();
            if lines > cap {
                faults.push(format!("{shown} has {lines} lines; the cap is {cap}"));
            }
            if !text.starts_with("//!") {
                faults.push(format!("{shown} does not open with what it owns (//! …)"));
            }
            let spawns = text.contains("Command::new(") && name != "host";
            if spawns {
                faults.push(format!("{shown} starts a process; only host::process may"));
            }
            if name == "kernel" {
                kernel += lines_of_code(&text);
            }
        }
    }
    println!("    kernel: {kernel} lines of code of {KERNEL_CODE}");
    if kernel > KERNEL_CODE {
        faults.push(format!(
            "the kernel has {kernel} lines of code; the cap is {KERNEL_CODE}: move what is not the loop elsewhere"
        ));
    }
    Ok(())
}

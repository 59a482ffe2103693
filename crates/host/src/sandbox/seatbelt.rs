//! Owns the profile for Seatbelt, the sandbox of macOS, as a text. Made and compared on every system, but
//! not yet tested on hardware. Must not know how it is started.

use std::fmt::Write;
use std::path::Path;

use super::plan::{Grant, Network, Plan};
use super::protect::Protection;

/// Part of the system, at this place only.
#[cfg(target_os = "macos")]
pub(super) const PROGRAM: &str = "/usr/bin/sandbox-exec";

/// The profile for a plan. `temp` is the private folder for temporary files.
pub(super) fn profile(plan: &Plan, temp: &Path) -> Result<String, String> {
    let writable: Vec<_> = plan.writable().map(Path::to_owned).collect();
    let fixed = Protection::of(plan, &writable, Grant::Nothing)?.fixed;
    let mut text = String::from(
        "(version 1)\n(deny default)\n(allow process-fork)\n(allow process-exec)\n(allow signal (target same-sandbox))\n\
         (allow process-info* (target same-sandbox))\n(allow sysctl-read)\n(allow file-read*)\n\
         (allow file-ioctl (literal \"/dev/null\"))\n\
         (allow file-write-data (literal \"/dev/null\") (literal \"/dev/zero\"))\n\
         (allow mach-lookup (global-name \"com.apple.system.opendirectoryd.libinfo\")\n  \
         (global-name \"com.apple.system.notification_center\") (global-name \"com.apple.logd\"))\n",
    );
    for path in writable.iter().map(|path| path.as_path()).chain([temp]) {
        line(&mut text, &format!("(allow file-write* (subpath {}))", quoted(path)?));
    }
    // Names are compared without regard to case, as the file system of a Mac does.
    for (path, _) in &fixed {
        line(&mut text, &format!("(deny file-write* (regex #\"^{}(/|$)\"))", folded(path)?));
    }
    for path in &plan.deny_read {
        line(&mut text, &format!("(deny file-read* (subpath {}))", quoted(path)?));
    }
    for path in &plan.allow_read {
        line(&mut text, &format!("(allow file-read* (subpath {}))", quoted(path)?));
    }
    match &plan.network {
        Network::Off => {}
        Network::Hosts(_) => return Err("single hosts cannot be let through on this system yet".into()),
        Network::Open => line(&mut text, "(allow network-outbound (remote ip))\n(allow network-inbound (local ip))"),
    }
    Ok(text)
}

fn line(text: &mut String, line: &str) {
    // Writing to a text cannot fail.
    let _ = writeln!(text, "{line}");
}

fn quoted(path: &Path) -> Result<String, String> {
    let text = text(path)?;
    Ok(format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"")))
}

/// A pattern for the path in any mix of letter cases.
fn folded(path: &Path) -> Result<String, String> {
    let mut pattern = String::new();
    for c in text(path)?.chars() {
        match c {
            c if c.is_ascii_alphabetic() => {
                pattern.extend(['[', c.to_ascii_lowercase(), c.to_ascii_uppercase(), ']']);
            }
            c if c.is_ascii_alphanumeric() || c == '/' || c == '_' || c == '-' => pattern.push(c),
            '"' => return Err(format!("{} holds a quotation mark", path.display())),
            c => pattern.extend(['[', c, ']']),
        }
    }
    Ok(pattern)
}

fn text(path: &Path) -> Result<&str, String> {
    let text = path.to_str().filter(|text| !text.contains(['\n', '\0', '^', '\\']));
    text.ok_or_else(|| format!("{} cannot be written into a profile", path.display()))
}

//! Owns that bubblewrap is there before tests need it: they put what they run into a jail.

use std::process::{Command, Stdio};

/// Installs bubblewrap where it is missing and that can be done; only Linux has it.
pub fn require() -> Result<(), String> {
    if !cfg!(target_os = "linux") || works("bwrap", &["--version"]) {
        return Ok(());
    }
    println!("==> apt-get install -y bubblewrap");
    let installed = works("apt-get", &["install", "-y", "bubblewrap"])
        || (works("apt-get", &["update"]) && works("apt-get", &["install", "-y", "bubblewrap"]));
    match installed && works("bwrap", &["--version"]) {
        true => Ok(()),
        false => Err("bubblewrap is missing and could not be installed; as root, run `apt-get install bubblewrap`, \
            or the command of your distribution"
            .to_owned()),
    }
}

fn works(program: &str, arguments: &[&str]) -> bool {
    let (output, faults) = (Stdio::null(), Stdio::inherit());
    let done = Command::new(program).args(arguments).stdin(Stdio::null()).stdout(output).stderr(faults).status();
    done.is_ok_and(|status| status.success())
}

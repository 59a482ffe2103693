//! Owns what is asked of the terminal itself: its width, and its settings put back at the end.

/// Columns of the terminal on standard output; 80 where there is none.
pub fn width() -> usize {
    #[cfg(unix)]
    if let Ok(size) = rustix::termios::tcgetwinsize(rustix::stdio::stdout())
        && size.ws_col > 0
    {
        return usize::from(size.ws_col);
    }
    80
}

/// The terminal's settings as they were; put back when this is dropped, so that a line editor that
/// is stopped by a signal leaves no raw mode behind.
pub struct Restore {
    #[cfg(unix)]
    settings: Option<rustix::termios::Termios>,
}

impl Restore {
    /// Remembers the settings now.
    pub fn new() -> Self {
        Self {
            #[cfg(unix)]
            settings: rustix::termios::tcgetattr(rustix::stdio::stdin()).ok(),
        }
    }
}

impl Drop for Restore {
    fn drop(&mut self) {
        #[cfg(unix)]
        if let Some(settings) = &self.settings {
            let when = rustix::termios::OptionalActions::Now;
            let _ = rustix::termios::tcsetattr(rustix::stdio::stdin(), when, settings);
        }
    }
}

/// Asks for a line and reads it without showing it. `None` where Ctrl-C or Ctrl-D called it off: while keys are read one
/// by one these are keys, so that no signal leaves the terminal without an echo.
#[cfg(unix)]
pub fn read_hidden(prompt: &str) -> std::io::Result<Option<String>> {
    use std::io::{Read, Write};

    use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};
    let stdin = rustix::stdio::stdin();
    let _restore = Restore::new();
    let mut settings = tcgetattr(stdin)?;
    settings.local_modes -= LocalModes::ECHO | LocalModes::ICANON | LocalModes::ISIG;
    // What was typed before this was shown already, and was not meant for it.
    tcsetattr(stdin, OptionalActions::Flush, &settings)?;
    write!(std::io::stderr(), "{prompt}")?;
    let mut bytes = Vec::new();
    for byte in std::io::stdin().lock().bytes() {
        match byte? {
            b'\r' | b'\n' => return Ok(Some(String::from_utf8_lossy(&bytes).into_owned())),
            3 | 4 => return Ok(None),
            8 | 127 => {
                bytes.pop();
            }
            byte => bytes.push(byte),
        }
    }
    Ok(None)
}

/// Reads a line; this system has no way to hide it that we know of.
#[cfg(not(unix))]
pub fn read_hidden(prompt: &str) -> std::io::Result<Option<String>> {
    std::io::Write::write_all(&mut std::io::stderr(), prompt.as_bytes())?;
    let mut line = String::new();
    let length = std::io::stdin().read_line(&mut line)?;
    Ok((length > 0).then_some(line))
}

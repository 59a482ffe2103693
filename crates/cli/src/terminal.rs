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

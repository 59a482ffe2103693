//! Owns a pseudo-terminal with the binary in it, and the screen that a person would see.

use std::io::{Read, Write};
use std::num::NonZero;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};

use super::support::{Place, binary};

const ROWS: u16 = 40;
const COLUMNS: u16 = 80;
/// A guard against hanging, not a measure.
const PATIENCE: Duration = Duration::from_secs(30);

/// A terminal of 80 × 40 with the binary running in it.
pub struct Screen {
    parser: vt100::Parser,
    output: Receiver<Vec<u8>>,
    input: Box<dyn Write + Send>,
    child: Box<dyn Child + Send + Sync>,
    // Held open: the terminal goes away with it.
    _master: Box<dyn MasterPty + Send>,
}

impl Screen {
    pub fn start(place: &Place, arguments: &[&str]) -> Self {
        let size = PtySize { rows: ROWS, cols: COLUMNS, pixel_width: 0, pixel_height: 0 };
        let pair = native_pty_system().openpty(size).unwrap();
        let mut command = CommandBuilder::new(binary());
        command.args(arguments);
        command.cwd(place.work());
        command.env_clear();
        command.env("TERM", "xterm-256color");
        for (name, value) in place.variables() {
            command.env(name, value);
        }
        let child = pair.slave.spawn_command(command).unwrap();
        drop(pair.slave);
        let mut reader = pair.master.try_clone_reader().unwrap();
        let input = pair.master.take_writer().unwrap();
        let (sender, output) = channel();
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(length @ 1..) = reader.read(&mut buffer) {
                if sender.send(buffer[..length].to_vec()).is_err() {
                    return;
                }
            }
        });
        let parser = vt100::Parser::new(nonzero(ROWS), nonzero(COLUMNS), 1000);
        Self { parser, output, input, child, _master: pair.master }
    }

    pub fn type_text(&mut self, text: &str) {
        self.input.write_all(text.as_bytes()).unwrap();
        self.input.flush().unwrap();
    }

    /// Types a line and the Enter key.
    pub fn enter(&mut self, line: &str) {
        self.type_text(&format!("{line}\r"));
    }

    /// Reads output until the screen satisfies the condition.
    pub fn wait(&mut self, what: &str, condition: impl Fn(&str) -> bool) -> String {
        let until = Instant::now() + PATIENCE;
        loop {
            let contents = self.parser.screen().contents();
            if condition(&contents) {
                return contents;
            }
            let left = until.saturating_duration_since(Instant::now());
            match self.output.recv_timeout(left) {
                Ok(bytes) => self.parser.process(&bytes),
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                    panic!("never saw {what}; the screen is:\n{contents}")
                }
            }
        }
    }

    /// Waits for a text.
    pub fn wait_for(&mut self, text: &str) -> String {
        self.wait(text, |contents| contents.contains(text))
    }

    /// Waits until the last line is an empty prompt, which is when the editor reads.
    pub fn wait_for_prompt(&mut self) -> String {
        self.wait_for_line(">")
    }

    /// Waits until this is the last line.
    pub fn wait_for_line(&mut self, line: &str) -> String {
        self.wait(line, |contents| {
            contents.trim_end_matches('\n').lines().last().is_some_and(|last| last.trim_end() == line)
        })
    }

    /// Column and row of the cursor.
    pub fn cursor(&self) -> (u16, u16) {
        let (row, column) = self.parser.screen().cursor_position();
        (column, row)
    }

    /// Waits for the end and gives the exit code.
    pub fn exit_code(mut self) -> u32 {
        let until = Instant::now() + PATIENCE;
        while let Ok(bytes) = self.output.recv_timeout(until.saturating_duration_since(Instant::now())) {
            self.parser.process(&bytes);
        }
        self.child.wait().unwrap().exit_code()
    }

    pub fn process_id(&self) -> u32 {
        self.child.process_id().unwrap()
    }
}

fn nonzero(size: u16) -> NonZero<u16> {
    NonZero::new(size).unwrap()
}

impl Drop for Screen {
    fn drop(&mut self) {
        let _ = self.child.kill();
    }
}

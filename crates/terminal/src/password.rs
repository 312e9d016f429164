//! Reads passwords from the terminal.

use std::io::{self, BufRead, IsTerminal, Write};

use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

/// The maximum length of a password that is read, in bytes.
pub const PASSWORD_BYTES_MAX: u64 = 4096;

/// Reads one line of standard input. On a terminal, `prompt` is shown and the input is not.
///
/// # Errors
/// Standard input cannot be read, or the line is longer than [`PASSWORD_BYTES_MAX`].
pub fn read_password(prompt: &str) -> io::Result<String> {
    let stdin = io::stdin();
    if !stdin.is_terminal() {
        return read_line();
    }
    let mut stderr = io::stderr();
    write!(stderr, "{prompt}")?;
    stderr.flush()?;
    let hidden = HiddenInput::start()?;
    let password = read_line();
    drop(hidden);
    writeln!(stderr)?;
    password
}

fn read_line() -> io::Result<String> {
    let mut line = String::new();
    let stdin = io::stdin().lock();
    io::Read::take(stdin, PASSWORD_BYTES_MAX + 2).read_line(&mut line)?;
    let password = line.trim_end_matches(['\n', '\r']);
    match password.len() as u64 > PASSWORD_BYTES_MAX {
        true => Err(io::Error::other(format!(
            "a password has at most {PASSWORD_BYTES_MAX} bytes (PASSWORD_BYTES_MAX)"
        ))),
        false => Ok(password.to_owned()),
    }
}

/// While it exists, the terminal does not show what is typed.
struct HiddenInput {
    previous: Termios,
}

impl HiddenInput {
    fn start() -> io::Result<Self> {
        let previous = tcgetattr(io::stdin())?;
        let mut hidden = previous.clone();
        hidden.local_modes.remove(LocalModes::ECHO);
        tcsetattr(io::stdin(), OptionalActions::Flush, &hidden)?;
        Ok(Self { previous })
    }
}

impl Drop for HiddenInput {
    fn drop(&mut self) {
        // The terminal is gone otherwise.
        let _ = tcsetattr(io::stdin(), OptionalActions::Flush, &self.previous);
    }
}

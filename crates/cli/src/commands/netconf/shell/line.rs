//! A line as a command.

use clap::{Parser, Subcommand};
use espalier_terminal::{Failure, Result};

use super::words::split;
use crate::commands::netconf::context::OutputForm;
use crate::commands::netconf::operation::Operation;

/// A line.
#[derive(Parser, Debug)]
#[command(
    name = "shell",
    bin_name = "",
    no_binary_name = true,
    about = "Operations of the session; COMMAND --help describes one",
    help_template = "{about}\n\n{subcommands}"
)]
pub struct Line {
    #[command(flatten)]
    pub form: OutputForm,

    #[command(subcommand)]
    pub command: Command,
}

/// What a line does.
#[derive(Subcommand, Debug)]
pub enum Command {
    #[command(flatten)]
    Operation(Box<Operation>),
    /// End the session and the shell; so does ctrl-d
    #[command(visible_alias = "quit")]
    Exit,
}

/// What a line is.
#[derive(Debug)]
pub enum Parsed {
    /// With the delimiter of a here-document.
    Command(Command, OutputForm, Option<String>),
    /// The text of a help.
    Help(String),
    /// No words.
    Nothing,
}

/// Parses a line.
///
/// # Errors
/// It is no command.
pub fn parse(line: &str) -> Result<Parsed> {
    let mut words = split(line).map_err(|error| Failure::usage(error.to_string()))?;
    if words.is_empty() {
        return Ok(Parsed::Nothing);
    }
    let delimiter = take_delimiter(&mut words);
    match Line::try_parse_from(words) {
        Ok(line) => Ok(Parsed::Command(line.command, line.form, delimiter)),
        Err(error) if error.use_stderr() => {
            let text = error.render().to_string();
            let message = text.strip_prefix("error: ").unwrap_or(&text);
            Err(Failure::usage(message.trim_end()))
        }
        Err(error) => Ok(Parsed::Help(error.render().to_string())),
    }
}

/// Takes `<<END` from the end of a line with `-`.
fn take_delimiter(words: &mut Vec<String>) -> Option<String> {
    let last = words.last()?.strip_prefix("<<")?.to_owned();
    let is_one = !last.is_empty() && words.iter().any(|word| word == "-");
    is_one.then(|| words.pop())?;
    Some(last)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn lines_are_the_operations_of_the_command_line() {
        Line::command().debug_assert();
        for line in [
            "get-config --source candidate --json",
            "exit",
            "quit",
            "lock",
            "rpc 'a b.xml'",
            "edit-config - <<END",
        ] {
            assert!(matches!(parse(line), Ok(Parsed::Command(..))), "{line}");
        }
        for line in ["", "# comment"] {
            assert!(matches!(parse(line), Ok(Parsed::Nothing)), "{line}");
        }
        for line in ["nothing", "get-config --nothing", "get '"] {
            assert_eq!(parse(line).expect_err(line).exit_status(), 2);
        }
        for line in ["help", "get --help", "help get"] {
            assert!(matches!(parse(line), Ok(Parsed::Help(_))), "{line}");
        }
    }
}

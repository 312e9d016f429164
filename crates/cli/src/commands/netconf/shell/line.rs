//! A line as a command.

use clap::{CommandFactory, Parser, Subcommand};
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
    Command(Command, OutputForm),
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
    let words = split(line).map_err(|error| Failure::usage(error.to_string()))?;
    if words.is_empty() {
        return Ok(Parsed::Nothing);
    }
    match Line::try_parse_from(words) {
        Ok(line) => Ok(Parsed::Command(line.command, line.form)),
        Err(error) if error.use_stderr() => {
            let text = error.render().to_string();
            let message = text.strip_prefix("error: ").unwrap_or(&text);
            Err(Failure::usage(message.trim_end()))
        }
        Err(error) => Ok(Parsed::Help(error.render().to_string())),
    }
}

/// The names of commands, and the long options of one.
pub fn completions(line_begin: &str) -> Vec<(String, String)> {
    let command = Line::command();
    let about = |about: Option<&clap::builder::StyledStr>| {
        about.map(ToString::to_string).unwrap_or_default()
    };
    let mut words = line_begin.split_whitespace();
    let first = words.next().unwrap_or_default();
    if !line_begin.trim_start().contains(char::is_whitespace) {
        let commands = command.get_subcommands();
        let mut found: Vec<_> = commands
            .map(|one| (one.get_name().to_owned(), about(one.get_about())))
            .chain([("help".to_owned(), "Describe the operations".to_owned())])
            .filter(|(name, _)| name.starts_with(first))
            .collect();
        found.sort();
        return found;
    }
    let last = line_begin
        .rsplit(char::is_whitespace)
        .next()
        .unwrap_or_default();
    let Some(command) = command.find_subcommand(first) else {
        return Vec::new();
    };
    let options = command.get_arguments().filter_map(|argument| {
        let name = format!("--{}", argument.get_long()?);
        name.starts_with(last)
            .then(|| (name, about(argument.get_help())))
    });
    options.collect()
}

#[cfg(test)]
mod tests {
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

    #[test]
    fn names_and_options_are_completed() {
        let names = |line| -> Vec<_> {
            completions(line)
                .into_iter()
                .map(|(name, _)| name)
                .collect()
        };
        assert_eq!(names("ed"), ["edit-config", "edit-data"]);
        assert!(names("").contains(&"help".to_owned()));
        assert_eq!(names("commit --persist"), ["--persist", "--persist-id"]);
        assert!(names("nothing --").is_empty());
    }
}

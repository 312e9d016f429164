//! The command: lines from a terminal or a script.

use std::io::{self, BufRead, IsTerminal, Write, stderr};

use clap::Args;
use espalier_terminal::output::{self, Form, escaped};
use espalier_terminal::{Failure, Result};

use super::editor::{Editor, Typed};
use super::line::{Command, Parsed, parse};
use crate::commands::netconf::context::Context;

/// The longest line of a script, in bytes.
const LINE_BYTES_MAX: u64 = 16 << 20;

/// Run operations in one session: typed, with completion and history, or from a script on standard input
#[derive(Args, Debug)]
#[command(after_help = "\
Lines are the operations of `espalier netconf`, with their options; `help` lists them. Words are quoted as in a shell. In a \
script, # begins a comment, and the first failure ends it, with the exit status of that operation.

Examples:
  espalier netconf maria@router.example shell
  printf '%s\\n' 'lock candidate' 'edit-config a.xml --target candidate' commit |
    espalier netconf maria@router.example shell")]
pub struct Shell {
    /// Run these lines, in place of standard input. May be repeated
    #[arg(short, long = "command", value_name = "LINE")]
    commands: Vec<String>,
}

/// Whether the shell goes on.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Flow {
    Continue,
    End,
}

impl Shell {
    /// Runs lines until their end.
    pub fn run(&self, context: &mut Context) -> Result<()> {
        if !self.commands.is_empty() {
            let mut lines = self.commands.iter();
            return script(context, &mut || Ok(lines.next().cloned()));
        }
        match io::stdin().is_terminal() && !context.form.json {
            true => interactive(context),
            false => script(context, &mut next_line),
        }
    }
}

/// The next line of standard input.
fn next_line() -> Result<Option<String>> {
    let mut line = String::new();
    let read = io::Read::take(io::stdin().lock(), LINE_BYTES_MAX).read_line(&mut line)?;
    if read as u64 == LINE_BYTES_MAX {
        let message = format!("a line has at most {LINE_BYTES_MAX} bytes (LINE_BYTES_MAX)");
        return Err(Failure::usage(message));
    }
    Ok((read > 0).then_some(line))
}

/// Runs lines; the first failure ends them.
fn script(context: &mut Context, next: &mut dyn FnMut() -> Result<Option<String>>) -> Result<()> {
    let mut number = 0_u64;
    while let Some(line) = next()? {
        number += 1;
        match run_line(context, &line) {
            Ok(Flow::Continue) => {}
            Ok(Flow::End) => return Ok(()),
            Err(failure) if failure.is_silent() => return Err(failure),
            Err(failure) => return Err(failure.in_file(format!("line {number}"))),
        }
    }
    Ok(())
}

/// Runs the lines that a person types; failures are printed.
fn interactive(context: &mut Context) -> Result<()> {
    let mut editor = Editor::new(escaped(&context.target.to_string()).into_owned());
    loop {
        let line = match editor.next()? {
            Typed::Line(line) => line,
            Typed::Discarded => continue,
            Typed::End => return Ok(()),
        };
        match run_line(context, &line) {
            Ok(Flow::Continue) => {}
            Ok(Flow::End) => return Ok(()),
            // The reader of the output is gone, not the person.
            Err(failure) if failure.is_silent() => {}
            Err(failure) => {
                // A failed write to standard error cannot be reported.
                let _ = writeln!(stderr(), "{failure}");
            }
        }
        if context.session.is_ended() {
            return Err(Failure::data("the server closed the session"));
        }
    }
}

fn run_line(context: &mut Context, line: &str) -> Result<Flow> {
    match parse(line)? {
        Parsed::Nothing => Ok(Flow::Continue),
        Parsed::Help(text) => {
            write!(output::stdout(Form::Text), "{text}")?;
            Ok(Flow::Continue)
        }
        Parsed::Command(Command::Exit, _) => Ok(Flow::End),
        Parsed::Command(Command::Operation(operation), form) => {
            operation.check()?;
            let of_session = context.form.clone();
            context.form = form.over(&of_session);
            let done = operation.run(context);
            context.form = of_session;
            done?;
            Ok(Flow::Continue)
        }
    }
}

//! The command: lines from a terminal or a script.

use std::cell::Cell;
use std::io::{self, BufRead, IsTerminal, Write, stderr};

use clap::Args;
use espalier_terminal::output::{self, Form, escaped};
use espalier_terminal::{Failure, Result};

use super::editor::{Editor, Typed};
use super::line::{Command, Parsed, parse};
use crate::commands::netconf::context::Context;
use crate::commands::netconf::payload::DOCUMENT_BYTES_MAX;
use crate::commands::netconf::server_modules::list;
use crate::commands::netconf::subscribe::print_arrived;

/// The longest line of a script, in bytes.
const LINE_BYTES_MAX: u64 = 16 << 20;

/// Run operations in one session: typed, with completion and history, or from a script on standard input
#[derive(Args, Debug)]
#[command(after_help = "\
Lines are the operations of `espalier netconf`, with their options; `help` lists them. Words are quoted as in a shell. In a \
script, # begins a comment, and the first failure ends it, with the exit status of that operation. A document can stand in \
the script: `edit-config - <<END` takes the lines up to a line END; without <<END, - takes the rest of the script. Notifications \
that have arrived are printed after each line.

Examples:
  espalier netconf maria@router.example shell
  printf '%s\\n' 'lock candidate' 'edit-config a.xml --target candidate' commit |
    espalier netconf maria@router.example shell")]
pub struct Shell {
    /// Run these lines, in place of standard input. May be repeated
    #[arg(short, long = "command", value_name = "LINE")]
    commands: Vec<String>,
}

/// Where lines come from; `None` at their end.
type NextLine<'a> = dyn FnMut() -> Result<Option<String>> + 'a;

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
fn script(context: &mut Context, next: &mut NextLine<'_>) -> Result<()> {
    let number = Cell::new(0_u64);
    let mut next = || {
        let line = next()?;
        number.set(number.get() + u64::from(line.is_some()));
        Ok(line)
    };
    while let Some(line) = next()? {
        let begin = number.get();
        match run_line(context, &line, &mut next) {
            Ok(Flow::Continue) => {}
            Ok(Flow::End) => return Ok(()),
            Err(failure) if failure.is_silent() => return Err(failure),
            Err(failure) => return Err(failure.within(format!("line {begin}"))),
        }
    }
    Ok(())
}

/// Runs the lines that a person types; failures are printed.
fn interactive(context: &mut Context) -> Result<()> {
    let prompt = escaped(&context.target.to_string()).into_owned();
    // Completion of names is a help only.
    let modules = list(context).unwrap_or_default();
    let modules = modules.into_iter().map(|module| module.name);
    let mut editor = Editor::new(prompt, modules.collect());
    loop {
        let line = match editor.next()? {
            Typed::Line(line) => line,
            Typed::Discarded => continue,
            Typed::End => return Ok(()),
        };
        let ran = run_line(context, &line, &mut || match editor.next()? {
            Typed::Line(line) => Ok(Some(line)),
            Typed::Discarded | Typed::End => Ok(None),
        });
        match ran {
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

/// Runs a line. The lines of its here-document are the next ones.
fn run_line(context: &mut Context, line: &str, next: &mut NextLine<'_>) -> Result<Flow> {
    match parse(line)? {
        Parsed::Nothing => print_arrived(context)?,
        Parsed::Help(text) => write!(output::stdout(Form::Text), "{text}")?,
        Parsed::Command(Command::Exit, ..) => return Ok(Flow::End),
        Parsed::Command(Command::Operation(operation), form, delimiter) => {
            let document = delimiter.map(|delimiter| here_document(&delimiter, next));
            context.here_document.set(document.transpose()?);
            let of_session = context.form.clone();
            context.form = form.over(&of_session);
            let done = operation.check().and_then(|()| operation.run(context));
            context.form = of_session;
            if context.here_document.take().is_some() && done.is_ok() {
                let message = "the operation does not read the document: its file is not -";
                return Err(Failure::usage(message));
            }
            // After a failure too.
            print_arrived(context)?;
            done?;
        }
    }
    Ok(Flow::Continue)
}

/// The lines up to one that is the delimiter.
fn here_document(delimiter: &str, next: &mut NextLine<'_>) -> Result<String> {
    let mut text = String::new();
    loop {
        let Some(line) = next()? else {
            let message = format!("the document has no end: there is no line “{delimiter}”");
            return Err(Failure::usage(message));
        };
        let line = line.trim_end_matches(['\n', '\r']);
        if line == delimiter {
            return Ok(text);
        }
        if (text.len() + line.len()) as u64 > DOCUMENT_BYTES_MAX {
            return Err(Failure::data(format!(
                "a document has at most {DOCUMENT_BYTES_MAX} bytes (DOCUMENT_BYTES_MAX)"
            )));
        }
        text.push_str(line);
        text.push('\n');
    }
}

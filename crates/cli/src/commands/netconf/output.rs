//! Prints replies.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use espalier_protocols::netconf::{Element, NotXml};
use espalier_protocols::netconf_client::operations::indented;
use espalier_protocols::netconf_client::{ClientError, Reply};
use espalier_terminal::output::{self, Form};
use espalier_terminal::output_file::{self, Existing, OutputFile};
use espalier_terminal::{Failure, Result};
use serde_json::{Value as Json, json};

use super::as_json;
use super::context::{Context, DataForm};

/// Where data are written.
#[derive(Args, Clone, Debug, Default)]
pub struct OutputFileOptions {
    /// Write to this file, of any size, as the server sends it
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,

    /// Replace the file if it exists
    #[arg(long, requires = "out")]
    force: bool,
}

impl OutputFileOptions {
    /// Checks that the file may be written.
    ///
    /// # Errors
    /// It exists, or is a folder.
    pub fn check(&self) -> Result<()> {
        match &self.out {
            Some(file) => check_file(file, Existing::of(self.force)),
            None => Ok(()),
        }
    }

    /// The file, if there is one.
    pub fn file(&self) -> Option<&PathBuf> {
        self.out.as_ref()
    }
}

/// Checks that a file may be written, in a folder that exists.
///
/// # Errors
/// It exists, or is a folder, or its folder does not exist.
pub fn check_file(file: &Path, existing: Existing) -> Result<()> {
    output_file::check(file, existing, None)?;
    match file.parent() {
        Some(folder) if folder != Path::new("") && !folder.is_dir() => {
            let message = format!("there is no folder {}", folder.display());
            Err(Failure::usage(message).in_file(file.display()))
        }
        _ => Ok(()),
    }
}

/// Sends an operation whose reply is `ok`, or the output of an operation.
///
/// # Errors
/// Those of the session and of the reply.
pub fn do_operation(context: &Context, operation: &str) -> Result<()> {
    print_reply(context, &context.request(operation)?)
}

/// Prints a reply: nothing for `ok`.
///
/// # Errors
/// It is not well-formed.
pub fn print_reply(context: &Context, reply: &Reply) -> Result<()> {
    let elements = reply.elements().map_err(malformed)?;
    if elements.iter().all(|element| element.name == "ok") {
        return output::print_result(context.form.json, &json!({"ok": true}), "");
    }
    let texts = elements
        .iter()
        .map(|element| indented(&element.standalone()));
    let texts = texts.collect::<std::result::Result<Vec<_>, NotXml>>();
    print_xml(
        context,
        &texts.map_err(|error| malformed(error.into()))?.join("\n"),
    )
}

/// Prints the reply to an operation of any module, in the form of data: nothing for `ok`.
///
/// # Errors
/// As [`print_reply`], and those of the modules with `--output json`.
pub fn print_output(context: &Context, operation: &Element<'_>, reply: &Reply) -> Result<()> {
    let elements = reply.elements().map_err(malformed)?;
    let is_ok = elements.iter().all(|element| element.name == "ok");
    match context.form.output.unwrap_or_default() {
        DataForm::Json if !is_ok => {
            let text = as_json::output(context, operation, reply)?;
            Ok(output::stdout(Form::Json).write_all(&text)?)
        }
        _ => print_reply(context, reply),
    }
}

/// Sends an operation whose reply has data, and prints or writes them.
///
/// # Errors
/// Those of the session, of the reply and of writing.
pub fn print_data(context: &Context, operation: &str, file: &OutputFileOptions) -> Result<()> {
    file.check()?;
    match (context.form.output.unwrap_or_default(), file.file()) {
        (DataForm::Xml, Some(path)) => {
            let stream = context.begin(operation)?;
            let mut out = OutputFile::create(path)?;
            let written = context.wait(stream.copy_element(out.writer()))?;
            out.finish()?;
            let value = json!({"file": path.display().to_string(), "bytes": written});
            output::print_result(context.form.json, &value, "")
        }
        (DataForm::Xml, None) => {
            let reply = context.request(operation)?;
            let data = reply.data().map_err(malformed)?;
            let text = indented(&data.standalone()).map_err(|error| malformed(error.into()))?;
            print_xml(context, &text)
        }
        (DataForm::Json, path) => {
            let reply = context.request(operation)?;
            let text = as_json::data(context, &reply.data().map_err(malformed)?)?;
            match path {
                None => Ok(output::stdout(Form::Json).write_all(&text)?),
                Some(path) => {
                    let mut out = OutputFile::create(path)?;
                    out.writer().write_all(&text)?;
                    out.finish()
                }
            }
        }
    }
}

/// Prints an XML document, or with `--json` an object with it.
///
/// # Errors
/// Standard output cannot be written.
pub fn print_xml(context: &Context, text: &str) -> Result<()> {
    match context.form.json {
        true => print_line(&json!({"xml": text})),
        false => {
            let mut out = output::stdout(Form::Xml);
            out.write_all(text.as_bytes())?;
            out.write_all(b"\n")?;
            Ok(out.flush()?)
        }
    }
}

/// Prints a JSON value in a line.
///
/// # Errors
/// Standard output cannot be written.
pub fn print_line(value: &Json) -> Result<()> {
    let mut out = output::stdout(Form::Json);
    writeln!(out, "{value}")?;
    Ok(out.flush()?)
}

/// The failure of a message that is not as it has to be.
pub fn malformed(error: ClientError) -> Failure {
    Failure::data(error.to_string())
}

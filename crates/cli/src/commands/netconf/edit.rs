//! `edit-config`, `edit-data`, `copy-config`, `delete-config`.

use clap::{Args, ValueEnum};
use espalier_protocols::netconf_client::operations::{self, EditOptions, Place};
use espalier_terminal::{Failure, Result};

use super::context::Context;
use super::output::do_operation;
use super::payload::{datastore, place, read_config, read_payload};

/// What happens to nodes without an operation (RFC 6241 §7.2).
#[derive(Clone, Copy, Debug, ValueEnum)]
enum DefaultOperation {
    Merge,
    Replace,
    None,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum TestOption {
    TestThenSet,
    Set,
    TestOnly,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum ErrorOption {
    #[value(name = "stop-on-error")]
    Stop,
    #[value(name = "continue-on-error")]
    Continue,
    #[value(name = "rollback-on-error")]
    Rollback,
}

fn name(choice: Option<impl ValueEnum>) -> Option<String> {
    let value = choice.and_then(|choice| choice.to_possible_value());
    value.map(|value| value.get_name().to_owned())
}

/// Change configuration (RFC 6241 §7.2)
#[derive(Args, Debug)]
#[command(after_help = "\
The file has elements of data, in <config> or not; or JSON (RFC 7951), which is converted with the modules of the \
server. An element has its operation in an attribute of the namespace \
urn:ietf:params:xml:ns:netconf:base:1.0, as in <a xmlns:nc=\"...\" nc:operation=\"delete\"/>.

Examples:
  espalier netconf maria@router.example edit-config change.xml
  espalier netconf maria@router.example edit-config - --target candidate < change.xml
  espalier netconf maria@router.example edit-config all.xml --default-operation replace")]
pub struct EditConfig {
    /// The file; - for standard input; or file:///NAME, a file of the server
    file: String,

    /// The datastore
    #[arg(long, value_name = "DATASTORE", default_value = "running")]
    target: String,

    /// What happens to nodes without an operation [default: merge]
    #[arg(long, value_name = "OPERATION")]
    default_operation: Option<DefaultOperation>,

    /// Whether the result is validated
    #[arg(long, value_name = "OPTION")]
    test_option: Option<TestOption>,

    /// What happens after an error
    #[arg(long, value_name = "OPTION")]
    error_option: Option<ErrorOption>,
}

impl EditConfig {
    /// Does the operation.
    pub fn run(&self, context: &Context) -> Result<()> {
        let options = EditOptions {
            default_operation: name(self.default_operation),
            test_option: name(self.test_option),
            error_option: name(self.error_option),
        };
        datastore(&self.target)?;
        let payload = read_payload(context, &self.file)?;
        do_operation(
            context,
            &operations::edit_config(&self.target, &options, &payload),
        )
    }
}

/// Change a datastore of NMDA (RFC 8526 §3.1.2)
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  espalier netconf maria@router.example edit-data change.xml --datastore startup")]
pub struct EditData {
    /// The file; - for standard input; or file:///NAME, a file of the server
    file: String,

    /// The datastore
    #[arg(long, value_name = "DATASTORE", default_value = "running")]
    datastore: String,

    /// What happens to nodes without an operation [default: merge]
    #[arg(long, value_name = "OPERATION")]
    default_operation: Option<DefaultOperation>,
}

impl EditData {
    /// Does the operation.
    pub fn run(&self, context: &Context) -> Result<()> {
        let payload = read_payload(context, &self.file)?;
        let operation = name(self.default_operation);
        let operation = operations::edit_data(&self.datastore, operation.as_deref(), &payload);
        do_operation(context, &operation)
    }
}

/// Replace a whole configuration (RFC 6241 §7.3)
#[derive(Args, Debug)]
#[command(
    override_usage = "copy-config [OPTIONS] <SOURCE> <TARGET>\n       copy-config [OPTIONS] --file <FILE> <TARGET>"
)]
#[command(after_help = "\
A URL is file:///NAME for a file of the server, below its folder for URLs (`espalier serve --netconf-url-dir`), or one of \
another scheme that its capability `url` has (RFC 6241 §8.8).

Examples:
  espalier netconf maria@router.example copy-config running startup
  espalier netconf maria@router.example copy-config running file:///backup.xml
  espalier netconf maria@router.example copy-config --file backup.xml running")]
pub struct CopyConfig {
    /// The datastore that is copied, or a URL of the server; with --file, there is none
    #[arg(value_name = "SOURCE")]
    first: String,

    /// The datastore that is replaced, or a URL of the server
    #[arg(value_name = "TARGET", required_unless_present = "file")]
    second: Option<String>,

    /// A local file that is the source; - for standard input
    #[arg(long, value_name = "FILE")]
    file: Option<String>,
}

impl CopyConfig {
    /// Checks the arguments.
    pub fn check(&self) -> Result<()> {
        match (&self.file, &self.second) {
            (Some(_), Some(_)) => {
                let message = "with --file, the file is the source, and the target is the only other argument";
                Err(Failure::usage(message)
                    .hint("write it as in: copy-config --file backup.xml running"))
            }
            _ => Ok(()),
        }
    }

    /// Does the operation.
    pub fn run(&self, context: &Context) -> Result<()> {
        let target = place(self.second.as_ref().unwrap_or(&self.first))?;
        let source = match &self.file {
            Some(file) => Place::Config(read_config(context, file)?),
            None => place(&self.first)?,
        };
        do_operation(context, &operations::copy_config(&target, &source))
    }
}

/// Delete a configuration (RFC 6241 §7.4)
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  espalier netconf maria@router.example delete-config startup")]
pub struct DeleteConfig {
    /// The datastore, or file:///NAME, a file of the server
    target: String,
}

impl DeleteConfig {
    /// Does the operation.
    pub fn run(&self, context: &Context) -> Result<()> {
        do_operation(context, &operations::delete_config(&place(&self.target)?))
    }
}

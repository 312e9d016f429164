//! What an operation writes.

use std::io::{self, Write};
use std::sync::Arc;

use espalier_service::notifications::Subscription;
use espalier_store::{Error, Reported};
use espalier_yang::data::{DataTree, PrintError, PrintOptions, xml};
use espalier_yang::{DataError, Errors, Schema};

use crate::netconf::message::NotXml;

/// The result of an operation.
pub(super) enum Output {
    /// Nothing: the reply is `ok`.
    Ok,
    /// Nodes of a schema.
    Nodes(Arc<Schema>, DataTree),
    /// The content of the reply was written.
    Written,
    /// Nothing; notifications follow the reply.
    Subscribed(Box<Subscription>),
    /// Nodes of a schema; notifications follow the reply.
    Established(Arc<Schema>, DataTree, Box<Subscription>),
}

/// Why an operation has no result.
pub(super) enum Failure {
    /// Its errors.
    Errors(Errors),
    /// The reply cannot be written: the session ends.
    Connection(io::Error),
}

pub(super) type Result<T> = std::result::Result<T, Failure>;

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Errors(Reported::from(error).errors)
    }
}

impl From<Errors> for Failure {
    fn from(errors: Errors) -> Self {
        Self::Errors(errors)
    }
}

impl From<DataError> for Failure {
    fn from(error: DataError) -> Self {
        Self::Errors(error.into())
    }
}

impl From<NotXml> for Failure {
    fn from(error: NotXml) -> Self {
        use espalier_yang::{ErrorTag, ErrorType};
        let error = DataError::new(ErrorTag::MalformedMessage, error.to_string());
        error.of_type(ErrorType::Rpc).into()
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Connection(error)
    }
}

impl From<PrintError> for Failure {
    fn from(error: PrintError) -> Self {
        match error {
            PrintError::Write(error) => Self::Connection(error),
            error => Self::Connection(io::Error::other(error.to_string())),
        }
    }
}

/// Writes nodes of a schema.
pub(super) fn write_nodes(out: impl Write, schema: &Schema, tree: &DataTree) -> Result<()> {
    let mut printer = xml::Printer::new(schema, out, PrintOptions::default());
    let emitted = tree.emit(&mut printer);
    // An error of the printer comes first.
    printer.finish()?;
    emitted.map_err(|_| io::Error::other("nodes were not printed to their end").into())
}

//! Documents as arguments.

use std::io::Read;

use espalier_protocols::netconf_client::operations::{Payload, elements_of};
use espalier_terminal::document;
use espalier_terminal::{Failure, Result};

/// The maximum size of a document that is sent, in bytes.
pub const DOCUMENT_BYTES_MAX: u64 = 256 << 20;

/// The wrappers of configuration that are taken off.
const WRAPPERS: [&str; 2] = ["config", "data"];

/// Reads a file of limited size; `-` is standard input.
///
/// # Errors
/// It cannot be read, is too large, or no UTF-8.
pub fn read_text(file: &str) -> Result<String> {
    let (input, _) = document::open(file)?;
    let in_file = |failure: Failure| failure.in_file(document::display_name(file));
    let mut text = String::new();
    let read = input.take(DOCUMENT_BYTES_MAX + 1).read_to_string(&mut text);
    read.map_err(|error| in_file(Failure::data(format!("the file cannot be read: {error}"))))?;
    match text.len() as u64 > DOCUMENT_BYTES_MAX {
        true => Err(in_file(Failure::data(format!(
            "a document has at most {DOCUMENT_BYTES_MAX} bytes (DOCUMENT_BYTES_MAX)"
        )))),
        false => Ok(text),
    }
}

/// The elements of configuration in a file.
///
/// # Errors
/// As [`read_text`], and if it is no XML.
pub fn read_config(file: &str) -> Result<String> {
    let elements = elements_of(&read_text(file)?, &WRAPPERS);
    elements.map_err(|error| Failure::data(error.to_string()).in_file(document::display_name(file)))
}

/// What an edit has: a URL of the server, or the elements in a file.
///
/// # Errors
/// As [`read_config`].
pub fn read_payload(place: &str) -> Result<Payload> {
    match place.contains("://") {
        true => Ok(Payload::Url(place.to_owned())),
        false => Ok(Payload::Config(read_config(place)?)),
    }
}

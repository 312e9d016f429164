//! Documents as arguments.

use std::io::Read;

use espalier_protocols::netconf_client::operations::{Payload, Place, elements_of};
use espalier_terminal::document;
use espalier_terminal::{Failure, Result};
use espalier_yang::{DataError, ErrorTag, Errors};

use super::as_json;
use super::context::Context;

/// The maximum size of a document that is sent, in bytes.
pub const DOCUMENT_BYTES_MAX: u64 = 256 << 20;

/// The wrappers of configuration that are taken off.
pub const WRAPPERS: [&str; 2] = ["config", "data"];

/// The hint for a file that is no datastore.
const URL_HINT: &str = "a file of the server is file:///NAME, below its folder for URLs (RFC 6241 §8.8); a local file is the \
     FILE of edit-config, or of --file";

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

/// A document of an operation; `-` is its here-document in the shell, else standard input.
///
/// # Errors
/// As [`read_text`].
pub fn read_document(context: &Context, file: &str) -> Result<String> {
    match file {
        document::STANDARD => match context.here_document.take() {
            Some(text) => Ok(text),
            None => read_text(file),
        },
        file => read_text(file),
    }
}

/// The elements of a text from a file, without a wrapper. The file is that of messages.
///
/// # Errors
/// The text is empty, or not well-formed.
pub fn elements(text: &str, file: &str, wrappers: &[&str]) -> Result<String> {
    let in_file = |failure: Failure| failure.in_file(document::display_name(file));
    if text.trim_start_matches('\u{feff}').trim().is_empty() {
        return Err(in_file(Failure::data("the document is empty")));
    }
    if is_json(text) {
        return Err(in_file(
            Failure::data("the document is JSON, not XML").hint("write it as XML"),
        ));
    }
    let elements = elements_of(text, wrappers);
    elements.map_err(|error| {
        let mut errors = Errors::new();
        errors.push(DataError::new(ErrorTag::MalformedMessage, error.reason).on_line(error.line));
        in_file(Failure::invalid("the document is not well-formed", &errors))
    })
}

/// Whether a document is JSON, by its first letter.
pub fn is_json(text: &str) -> bool {
    text.trim_start_matches('\u{feff}')
        .trim_start()
        .starts_with(['{', '['])
}

/// The elements of configuration in a file. JSON (RFC 7951) is converted with the modules of the server.
///
/// # Errors
/// As [`elements`]; JSON does not conform to the modules.
pub fn read_config(context: &Context, file: &str) -> Result<String> {
    let text = read_document(context, file)?;
    match is_json(&text) {
        true => as_json::elements(context, &text)
            .map_err(|failure| failure.in_file(document::display_name(file))),
        false => elements(&text, file, &WRAPPERS),
    }
}

/// What an edit has: a URL of the server, or the elements in a file.
///
/// # Errors
/// As [`read_config`].
pub fn read_payload(context: &Context, place: &str) -> Result<Payload> {
    match place.contains("://") {
        true => Ok(Payload::Url(place.to_owned())),
        false => {
            let config = read_config(context, place);
            let config = config.map_err(|failure| match place.starts_with("file:") {
                true => failure.hint(URL_HINT),
                false => failure,
            });
            Ok(Payload::Config(config?))
        }
    }
}

/// A datastore, or a file of the server.
///
/// # Errors
/// The text is neither.
pub fn place(text: &str) -> Result<Place> {
    if text.contains("://") {
        return Ok(Place::Url(text.to_owned()));
    }
    datastore(text)?;
    Ok(Place::Datastore(text.to_owned()))
}

/// Checks the name of a datastore.
///
/// # Errors
/// It is none; files are something else.
pub fn datastore(text: &str) -> Result<()> {
    let is_of_name = |letter: char| letter.is_alphanumeric() || matches!(letter, '-' | '_');
    if !text.is_empty() && text.chars().all(is_of_name) {
        return Ok(());
    }
    Err(Failure::usage(format!("“{text}” is no datastore")).hint(URL_HINT))
}

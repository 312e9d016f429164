//! Documents and the rows that hold them.

use std::fmt;

use espalier_keyspace::packed::{put_number, take_number};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::limits::{DOCUMENT_BYTES_MAX, DOCUMENT_DEPTH_MAX};
use crate::{Error, ErrorKind, Result};

/// A type that collections may have: whatever serde can write and read again.
pub trait Document: Serialize + DeserializeOwned + Send + Sync + 'static {}

impl<T: Serialize + DeserializeOwned + Send + Sync + 'static> Document for T {}

/// Names the state of a document, or of a page of them: the same for the same content, another for
/// another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Tag([u8; 16]);

impl Tag {
    /// The name of what these bytes say.
    pub fn of(row: &[u8]) -> Self {
        let mut tag = [0; 16];
        tag.copy_from_slice(&blake3::hash(row).as_bytes()[..16]);
        Self(tag)
    }
}

impl fmt::Display for Tag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// The format of a row of a document: a byte, the schema version as a varint, JSON.
const FORMAT: u8 = 0x01;

/// A row, taken apart.
pub(crate) struct Row<'a> {
    pub(crate) schema_version: u32,
    pub(crate) json: &'a [u8],
}

/// The row of a document.
pub(crate) fn encode<T: Document>(document: &T, schema_version: u32) -> Result<Vec<u8>> {
    let mut row = Vec::with_capacity(128);
    row.push(FORMAT);
    put_number(&mut row, schema_version.into());
    let head = row.len();
    serde_json::to_writer(&mut row, document).map_err(|error| {
        let message = format!("the document cannot be written as JSON: {error}");
        Error::new(ErrorKind::Document, message)
    })?;
    if row.len() > DOCUMENT_BYTES_MAX {
        return Err(Error::limit(format!(
            "a document of {} bytes is over the limit of {DOCUMENT_BYTES_MAX}",
            row.len()
        )));
    }
    if is_too_deep(&row[head..]) {
        return Err(Error::limit(format!(
            "a document has arrays and objects within one another over the limit of {DOCUMENT_DEPTH_MAX}"
        )));
    }
    Ok(row)
}

/// Whether JSON has too many arrays and objects within one another.
fn is_too_deep(json: &[u8]) -> bool {
    let opens = |byte: &&u8| matches!(byte, b'{' | b'[');
    // Nearly all documents have fewer altogether.
    if json.iter().filter(opens).count() <= DOCUMENT_DEPTH_MAX {
        return false;
    }
    let (mut depth, mut is_string) = (0_usize, false);
    let mut bytes = json.iter();
    while let Some(byte) = bytes.next() {
        match (byte, is_string) {
            (b'"', _) => is_string = !is_string,
            (b'\\', true) => drop(bytes.next()),
            (b'{' | b'[', false) => depth += 1,
            (b'}' | b']', false) => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > DOCUMENT_DEPTH_MAX {
            return true;
        }
    }
    false
}

/// Takes a row apart.
pub(crate) fn row(bytes: &[u8]) -> Result<Row<'_>> {
    let (&format, mut rest) = bytes
        .split_first()
        .ok_or_else(|| Error::corrupt("a document has no bytes"))?;
    if format != FORMAT {
        let message = format!("a document has the unknown format {format}");
        return Err(Error::corrupt(message));
    }
    let schema_version = take_schema_version(&mut rest)?;
    Ok(Row {
        schema_version,
        json: rest,
    })
}

/// The document of a row of this schema version.
pub(crate) fn decode<T: Document>(key: u64, bytes: &[u8], schema_version: u32) -> Result<T> {
    let row = row(bytes).map_err(|error| error.at(format_args!("document {key}")))?;
    if row.schema_version != schema_version {
        return Err(Error::definition(format!(
            "document {key} is of schema version {}, and this program knows version {schema_version}",
            row.schema_version
        )));
    }
    serde_json::from_slice(row.json).map_err(|error| {
        let message = format!("document {key} cannot be read as this type: {error}");
        Error::new(ErrorKind::Document, message)
    })
}

fn take_schema_version(row: &mut &[u8]) -> Result<u32> {
    let number = take_number(row);
    let number = number.ok_or_else(|| Error::corrupt("a document ends within its head"))?;
    u32::try_from(number)
        .map_err(|_| Error::corrupt("the schema version of a document is too large"))
}

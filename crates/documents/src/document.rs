//! Documents and their stored rows.

use std::fmt;

use espalier_keyspace::compact_encoding::{put_number, take_number};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::limits::{DOCUMENT_BYTES_MAX, DOCUMENT_DEPTH_MAX};
use crate::{Error, ErrorKind, Result};

/// A type of documents: any type that serde can serialize and deserialize.
pub trait Document: Serialize + DeserializeOwned + Send + Sync + 'static {}

impl<T: Serialize + DeserializeOwned + Send + Sync + 'static> Document for T {}

/// The entity tag of a document, or of a page of documents: equal for equal content, different for different
/// content.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct EntityTag([u8; 16]);

impl EntityTag {
    /// The tag of some bytes.
    pub fn of(row: &[u8]) -> Self {
        let mut tag = [0; 16];
        tag.copy_from_slice(&blake3::hash(row).as_bytes()[..16]);
        Self(tag)
    }
}

impl fmt::Display for EntityTag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// The format of a row of a document: a byte, the schema version as a varint, JSON.
const FORMAT: u8 = 0x01;

/// A parsed row.
pub(crate) struct Row<'a> {
    pub(crate) schema_version: u32,
    pub(crate) json: &'a [u8],
}

// JSON, so that every program and every person can read it: docs/decisions/0043.
/// Encodes a document as a row.
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
            "a document of {} bytes exceeds the limit of {DOCUMENT_BYTES_MAX}",
            row.len()
        )));
    }
    if is_too_deep(&row[head..]) {
        return Err(Error::limit(format!(
            "a document exceeds the nesting limit of {DOCUMENT_DEPTH_MAX} arrays and objects"
        )));
    }
    Ok(row)
}

/// Whether the arrays and objects of a JSON text are nested too deep.
fn is_too_deep(json: &[u8]) -> bool {
    let opens = |byte: &&u8| matches!(byte, b'{' | b'[');
    // Nearly all documents have fewer brackets in total.
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

/// Parses a row.
pub(crate) fn row(bytes: &[u8]) -> Result<Row<'_>> {
    let (&format, mut rest) = bytes
        .split_first()
        .ok_or_else(|| Error::corrupt("the row of a document is empty"))?;
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

/// Decodes the document of a row with this schema version.
pub(crate) fn decode<T: Document>(key: u64, bytes: &[u8], schema_version: u32) -> Result<T> {
    let row = row(bytes).map_err(|error| error.at(format_args!("document {key}")))?;
    if row.schema_version != schema_version {
        return Err(Error::definition(format!(
            "document {key} has schema version {}, but this program supports version {schema_version}",
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
    let number = number.ok_or_else(|| Error::corrupt("the header of a document is truncated"))?;
    u32::try_from(number)
        .map_err(|_| Error::corrupt("the schema version of a document is too large"))
}

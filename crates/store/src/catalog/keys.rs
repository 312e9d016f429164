//! The keys of the catalog.

use espalier_keyspace::tuple::{self, Element};

use crate::error::Result;
use crate::subspace::Subspace;

fn row(kind: u8) -> Vec<u8> {
    let mut key = Subspace::Catalog.key();
    key.push(kind);
    key
}

/// Every dataspace.
pub(super) fn dataspaces() -> Vec<u8> {
    row(1)
}

/// One dataspace.
pub(super) fn dataspace(name: &str) -> Vec<u8> {
    named(dataspaces(), name)
}

/// Every schema set of a dataspace.
pub(super) fn schema_sets(dataspace: u64) -> Vec<u8> {
    numbered(row(2), dataspace)
}

/// One schema set.
pub(super) fn schema_set(dataspace: u64, name: &str) -> Vec<u8> {
    named(schema_sets(dataspace), name)
}

/// Every schema set of every dataspace.
pub(super) fn all_schema_sets() -> Vec<u8> {
    row(2)
}

/// The text of a module.
pub(super) fn module(hash: &[u8]) -> Vec<u8> {
    let mut key = row(3);
    key.extend_from_slice(hash);
    key
}

/// Every anchor of a dataspace.
pub(super) fn anchors(dataspace: u64) -> Vec<u8> {
    numbered(row(4), dataspace)
}

/// One anchor.
pub(super) fn anchor(dataspace: u64, name: &str) -> Vec<u8> {
    named(anchors(dataspace), name)
}

/// The dataspace and the name in the key of an anchor.
pub(super) fn anchor_parts(key: &[u8]) -> Result<Option<(u64, &str)>> {
    let Some(mut rest) = key.strip_prefix(row(4).as_slice()) else {
        return Ok(None);
    };
    let Element::Integer(dataspace) = tuple::take(&mut rest)? else {
        return Ok(None);
    };
    let name = std::str::from_utf8(rest).ok();
    Ok(u64::try_from(dataspace).ok().zip(name))
}

/// Every use of a schema set by an anchor.
pub(super) fn uses(dataspace: u64, schema_set: u64) -> Vec<u8> {
    numbered(numbered(row(5), dataspace), schema_set)
}

/// The use of a schema set by one anchor.
pub(super) fn use_by(dataspace: u64, schema_set: u64, anchor: u64) -> Vec<u8> {
    numbered(uses(dataspace, schema_set), anchor)
}

/// The row that counts the replacements of a schema set's modules, with their digest.
pub(super) fn upgrades(schema_set: u64) -> Vec<u8> {
    numbered(row(6), schema_set)
}

fn named(mut key: Vec<u8>, name: &str) -> Vec<u8> {
    // Names are at most 255 bytes. They are stored in full, so that a key scan can list them.
    key.extend_from_slice(name.as_bytes());
    key
}

fn numbered(mut key: Vec<u8>, number: u64) -> Vec<u8> {
    tuple::put_unsigned(&mut key, number);
    key
}

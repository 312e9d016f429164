//! Reads the log: the headers and records of commits.

use espalier_keyspace::tuple::{self, Element};
use espalier_keyspace::{Direction, KeyRange, Snapshot};

use crate::clock::Timestamp;
use crate::error::{Error, Result};
use crate::fragment::take_varint;
use crate::keys::TreeId;
use crate::subspace::Subspace;
use crate::tree::log::RecordKind;

/// The metadata of a commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub time: Timestamp,
    pub author: String,
    pub comment: String,
}

/// The inverse of a record.
pub(super) enum Undo<'a> {
    /// A key: its subspace, the rest after the tree's prefix, and the old value.
    Key(u8, &'a [u8], Option<&'a [u8]>),
    /// Everything was empty before.
    All,
}

/// The prefix of the log keys of a version.
pub(super) fn version_key(tree: TreeId, version: u64) -> Vec<u8> {
    let mut key = tree.prefix(Subspace::Log);
    tuple::put_unsigned(&mut key, version);
    key
}

/// The version of a log key.
pub(super) fn version_of(tree: TreeId, key: &[u8]) -> Result<u64> {
    let mut rest = &key[tree.prefix(Subspace::Log).len()..];
    match tuple::take(&mut rest)? {
        Element::Integer(version) => u64::try_from(version).ok(),
        _ => None,
    }
    .ok_or_else(|| Error::corrupt("a key of the log has no version"))
}

/// The header of a version; none if it is not kept.
pub(super) fn header(
    snapshot: &dyn Snapshot,
    tree: TreeId,
    version: u64,
) -> Result<Option<Header>> {
    let stored = snapshot.get(&version_key(tree, version))?;
    stored.map(|stored| take_header(&mut &*stored)).transpose()
}

fn take_header(bytes: &mut &[u8]) -> Result<Header> {
    let time = Timestamp(take_varint(bytes)?);
    let mut text = || -> Result<String> {
        let text = take_bytes(bytes)?.to_vec();
        String::from_utf8(text).map_err(|_| Error::corrupt("a text in the log is not UTF-8"))
    };
    Ok(Header {
        time,
        author: text()?,
        comment: text()?,
    })
}

/// Undoes a version from its log: calls `undo` for each record, the last first.
pub(super) fn undo(log: &[u8], undo: &mut dyn FnMut(Undo<'_>)) -> Result<()> {
    let mut rest = log;
    take_header(&mut rest)?;
    let mut records = Vec::new();
    while !rest.is_empty() {
        records.push(rest);
        take_record(&mut rest)?;
    }
    for mut record in records.into_iter().rev() {
        undo(take_record(&mut record)?);
    }
    Ok(())
}

/// The log of a version: its chunks, joined.
pub(super) fn log_of(snapshot: &dyn Snapshot, tree: TreeId, version: u64) -> Result<Vec<u8>> {
    let range = KeyRange::prefix(&version_key(tree, version));
    let mut cursor = snapshot.scan(&range, Direction::Forward)?;
    let mut text = Vec::new();
    while let Some((_, chunk)) = cursor.next()? {
        text.extend_from_slice(chunk);
    }
    Ok(text)
}

fn take_record<'a>(rest: &mut &'a [u8]) -> Result<Undo<'a>> {
    let kind = RecordKind::of(take_byte(rest)?)?;
    if kind == RecordKind::Loaded {
        return Ok(Undo::All);
    }
    let subspace = take_byte(rest)?;
    let key = take_bytes(rest)?;
    let old = match kind {
        RecordKind::Created => None,
        _ => Some(take_bytes(rest)?),
    };
    Ok(Undo::Key(subspace, key, old))
}

fn take_byte(rest: &mut &[u8]) -> Result<u8> {
    rest.split_off_first().copied().ok_or_else(truncated)
}

fn take_bytes<'a>(rest: &mut &'a [u8]) -> Result<&'a [u8]> {
    let length = usize::try_from(take_varint(rest)?).map_err(|_| truncated())?;
    rest.split_off(..length).ok_or_else(truncated)
}

fn truncated() -> Error {
    Error::corrupt("the log of a commit ends within a record")
}

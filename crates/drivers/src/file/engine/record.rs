//! The payloads of frames: a part of a commit, or the record of a document.

use espalier_keyspace::KeyRange;
use espalier_keyspace::compact_encoding::{put_bytes, take_bytes};

/// A part of a commit; more follow.
pub(super) const PART: u8 = 1;

/// The last part of a commit.
pub(super) const END: u8 = 2;

/// The record of a document.
pub(super) const DOCUMENT: u8 = 3;

const PUT: u8 = 1;
const DELETE: u8 = 2;
const DELETE_RANGE: u8 = 3;

/// Bytes of a digest.
pub(super) const DIGEST_BYTES: usize = 32;

/// A digest of a document's text.
pub(super) type Digest = [u8; DIGEST_BYTES];

/// One change in a part of a commit.
pub(super) enum RecordedChange<'a> {
    Put(&'a [u8], &'a [u8]),
    Delete(&'a [u8]),
    DeleteRange(KeyRange),
}

/// The record of a document.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct DocumentRecord {
    /// The stamp when it was written.
    pub(super) stamp: Vec<u8>,
    /// The digest of the file's text is one of these. Empty if the document has no file.
    pub(super) digests: Vec<Digest>,
}

pub(super) fn put_put(payload: &mut Vec<u8>, key: &[u8], value: &[u8]) {
    payload.push(PUT);
    put_bytes(payload, key);
    put_bytes(payload, value);
}

pub(super) fn put_delete(payload: &mut Vec<u8>, key: &[u8]) {
    payload.push(DELETE);
    put_bytes(payload, key);
}

pub(super) fn put_delete_range(payload: &mut Vec<u8>, range: &KeyRange) {
    payload.push(DELETE_RANGE);
    put_bytes(payload, &range.start);
    payload.push(u8::from(range.end.is_some()));
    put_bytes(payload, range.end.as_deref().unwrap_or_default());
}

/// Encodes the record of a document.
pub(super) fn document(name: &str, record: &DocumentRecord) -> Vec<u8> {
    let mut payload = vec![DOCUMENT];
    put_bytes(&mut payload, name.as_bytes());
    put_bytes(&mut payload, &record.stamp);
    for digest in &record.digests {
        payload.extend_from_slice(digest);
    }
    payload
}

/// Decodes a payload of [`document`], without its first byte.
pub(super) fn take_document(mut rest: &[u8]) -> Option<(String, DocumentRecord)> {
    let name = std::str::from_utf8(take_bytes(&mut rest)?).ok()?.to_owned();
    let stamp = take_bytes(&mut rest)?.to_vec();
    let (digests, left) = rest.as_chunks::<DIGEST_BYTES>();
    let digests = digests.to_vec();
    left.is_empty()
        .then_some((name, DocumentRecord { stamp, digests }))
}

/// Takes the next change off a part of a commit.
pub(super) fn take_change<'a>(rest: &mut &'a [u8]) -> Option<RecordedChange<'a>> {
    let (&kind, after) = rest.split_first()?;
    *rest = after;
    match kind {
        PUT => Some(RecordedChange::Put(take_bytes(rest)?, take_bytes(rest)?)),
        DELETE => Some(RecordedChange::Delete(take_bytes(rest)?)),
        DELETE_RANGE => {
            let start = take_bytes(rest)?.to_vec();
            let (&ends, after) = rest.split_first()?;
            *rest = after;
            let end = take_bytes(rest)?;
            let end = (ends == 1).then(|| end.to_vec());
            Some(RecordedChange::DeleteRange(KeyRange { start, end }))
        }
        _ => None,
    }
}

//! Fields of documents: versions, compressed bytes, and changes.

use std::cell::RefCell;
use std::io;

use espalier_keyspace::KeyRange;
use espalier_keyspace::compact_encoding::{put_bytes, put_number, take_bytes, take_number};
use mongodb::bson::{Binary, Bson, Document, spec::BinarySubtype};
use zstd::bulk::{Compressor, Decompressor};
use zstd::zstd_safe::{compress_bound, get_frame_content_size};

use crate::recent_commits::{ChangeRef, Changes};

/// Tag of uncompressed bytes.
const PLAIN: u8 = 0;

/// Tag of compressed bytes: a frame of Zstandard (RFC 8878) with content size and checksum.
const COMPRESSED: u8 = 1;

/// Compression level: higher ones take longer, and save little.
const LEVEL: i32 = 1;

/// Fewer bytes are not compressed.
const COMPRESSED_MIN: usize = 256;

/// Maximum uncompressed bytes of one field: 16 MiB, the limit of a MongoDB document.
const BYTES_MAX: usize = 16 << 20;

/// A version as MongoDB's integer type; all versions fit.
pub(super) fn signed(version: u64) -> i64 {
    i64::try_from(version).unwrap_or(i64::MAX)
}

/// The version in a field.
pub(super) fn version_in(document: &Document, field: &str) -> Option<u64> {
    document.get_i64(field).ok()?.try_into().ok()
}

thread_local! {
    static COMPRESSOR: RefCell<io::Result<Compressor<'static>>> = RefCell::new(compressor());
    static DECOMPRESSOR: RefCell<io::Result<Decompressor<'static>>> =
        RefCell::new(Decompressor::new());
}

fn compressor() -> io::Result<Compressor<'static>> {
    let mut compressor = Compressor::new(LEVEL)?;
    compressor.include_checksum(true)?;
    Ok(compressor)
}

/// A field of bytes, compressed if that saves space.
pub(super) fn bytes_field(bytes: &[u8]) -> Bson {
    let subtype = BinarySubtype::Generic;
    let bytes = compressed(bytes).unwrap_or_else(|| [&[PLAIN], bytes].concat());
    Bson::Binary(Binary { subtype, bytes })
}

fn compressed(bytes: &[u8]) -> Option<Vec<u8>> {
    if bytes.len() < COMPRESSED_MIN {
        return None;
    }
    let mut out = vec![0; 1 + compress_bound(bytes.len())];
    out[0] = COMPRESSED;
    let count = COMPRESSOR.with_borrow_mut(|compressor| {
        let compressor = compressor.as_mut().ok()?;
        compressor.compress_to_buffer(bytes, &mut out[1..]).ok()
    });
    out.truncate(1 + count?);
    (out.len() <= bytes.len()).then_some(out)
}

/// The bytes of such a field; `None` if it is not valid.
pub(super) fn bytes_in(document: &Document, field: &str) -> Option<Vec<u8>> {
    let (kind, bytes) = document.get_binary_generic(field).ok()?.split_first()?;
    match *kind {
        PLAIN => Some(bytes.to_vec()),
        COMPRESSED => {
            let length = usize::try_from(get_frame_content_size(bytes).ok()??).ok()?;
            let length = Some(length).filter(|length| *length <= BYTES_MAX)?;
            DECOMPRESSOR.with_borrow_mut(|decompressor| {
                let decompressor = decompressor.as_mut().ok()?;
                decompressor.decompress(bytes, length).ok()
            })
        }
        _ => None,
    }
}

const PUT: u8 = 1;
const DELETE: u8 = 2;
const DELETE_RANGE: u8 = 3;
const DELETE_REST: u8 = 4;

/// Changes as a field. Each key is stored as the length of the prefix that it shares with the key before, and
/// the rest: keys of one commit are mostly similar.
pub(super) fn changes_field(changes: &Changes) -> Bson {
    let mut packed = Vec::with_capacity(changes.bytes().len());
    let mut before: &[u8] = &[];
    for change in changes.iter() {
        let (tag, key) = match change {
            ChangeRef::Put(key, _) => (PUT, key),
            ChangeRef::Delete(key) => (DELETE, key),
            ChangeRef::DeleteRange(start, Some(_)) => (DELETE_RANGE, start),
            ChangeRef::DeleteRange(start, None) => (DELETE_REST, start),
        };
        packed.push(tag);
        let shared = before.iter().zip(key).take_while(|(one, two)| one == two);
        let shared = shared.count();
        put_number(&mut packed, shared as u64);
        put_bytes(&mut packed, &key[shared..]);
        match change {
            ChangeRef::Put(_, value) => put_bytes(&mut packed, value),
            ChangeRef::DeleteRange(_, Some(end)) => put_bytes(&mut packed, end),
            ChangeRef::Delete(_) | ChangeRef::DeleteRange(_, None) => {}
        }
        before = key;
    }
    bytes_field(&packed)
}

/// The changes in such a field; `None` if it is not valid.
pub(super) fn changes_in(document: &Document, field: &str) -> Option<Changes> {
    let packed = bytes_in(document, field)?;
    let mut rest = packed.as_slice();
    let mut changes = Changes::new();
    let mut key = Vec::new();
    while let Some((tag, after)) = rest.split_first() {
        rest = after;
        let shared = usize::try_from(take_number(&mut rest)?).ok()?;
        key.truncate(Some(shared).filter(|shared| *shared <= key.len())?);
        key.extend_from_slice(take_bytes(&mut rest)?);
        match *tag {
            PUT => changes.put(&key, take_bytes(&mut rest)?),
            DELETE => changes.delete(&key),
            DELETE_RANGE => changes.delete_range(&KeyRange::new(&*key, take_bytes(&mut rest)?)),
            DELETE_REST => changes.delete_range(&KeyRange {
                start: key.clone(),
                end: None,
            }),
            _ => return None,
        }
    }
    Some(changes)
}

#[cfg(test)]
mod tests {
    use mongodb::bson::doc;

    use super::*;

    #[test]
    fn bytes_round_trip() {
        for bytes in [vec![], vec![1], vec![7; 255], vec![7; 100_000]] {
            let document = doc! { "b": bytes_field(&bytes) };
            assert_eq!(bytes_in(&document, "b"), Some(bytes));
        }
        let many = vec![7; 100_000];
        let Bson::Binary(mut field) = bytes_field(&many) else {
            panic!("no bytes");
        };
        assert!(field.bytes.len() < 1000);
        let decoded = |field: &Binary| bytes_in(&doc! { "b": field.clone() }, "b");
        for at in 1..field.bytes.len() {
            let mut other = field.clone();
            other.bytes[at] ^= 1;
            assert_eq!(decoded(&other), None, "byte {at}");
        }
        let too_many = zstd::bulk::compress(&vec![7; BYTES_MAX + 1], LEVEL).expect("compressed");
        let too_many = [&[COMPRESSED], too_many.as_slice()].concat();
        let mut other = field.clone();
        other.bytes = too_many;
        assert_eq!(decoded(&other), None);
        for length in [20, 1] {
            field.bytes.truncate(length);
            assert_eq!(decoded(&field), None);
        }
        field.bytes[0] = 9;
        assert_eq!(decoded(&field), None);
        field.bytes.clear();
        assert_eq!(decoded(&field), None);
    }

    #[test]
    fn changes_round_trip() {
        let mut changes = Changes::new();
        changes.put(b"list/1", b"value");
        changes.put(b"list/17", b"");
        changes.delete(b"li");
        changes.delete_range(&KeyRange::new("lisp", "list"));
        changes.put(b"a", &[0; 1000]);
        changes.delete_range(&KeyRange::all());
        let document = doc! { "changes": changes_field(&changes) };
        let found = changes_in(&document, "changes").expect("changes");
        assert_eq!(found.bytes(), changes.bytes());
        for bytes in [&[9, 0, 0][..], &[PUT, 3, 0, 0], &[DELETE, 0, 9]] {
            let document = doc! { "changes": bytes_field(bytes) };
            assert!(changes_in(&document, "changes").is_none(), "{bytes:?}");
        }
        let nothing = doc! { "changes": changes_field(&Changes::new()) };
        let nothing = changes_in(&nothing, "changes").expect("changes");
        assert!(nothing.bytes().is_empty());
    }
}

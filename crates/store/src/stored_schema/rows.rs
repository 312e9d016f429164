//! The rows of a stored compilation: a header, then the content in chunks.

use espalier_keyspace::{Batch, Direction, KeyRange, Snapshot, tuple};

use super::content::Content;
use super::fingerprint::{DIGEST_BYTES, digest_of};
use crate::error::Result;
use crate::fragment::{put_varint, take_varint};
use crate::subspace::Subspace;

/// The version of header and content. Other versions are ignored, and the set is compiled again.
const FORMAT_VERSION: u64 = 1;

/// Bytes of the content in one row: a size that every engine supports.
const ROW_BYTES_MAX: usize = 64 << 10;

/// How much memory is reserved for a content before its rows are read; a content may be longer.
const CONTENT_BYTES_RESERVED: u64 = 64 << 20;

/// The first row: varint format version; 16 bytes, the fingerprint of the inputs; varint length of the
/// content; 16 bytes, the digest of the content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Header {
    fingerprint: [u8; DIGEST_BYTES],
    length: u64,
    digest: [u8; DIGEST_BYTES],
}

impl Header {
    fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        put_varint(&mut bytes, FORMAT_VERSION);
        bytes.extend(self.fingerprint);
        put_varint(&mut bytes, self.length);
        bytes.extend(self.digest);
        bytes
    }

    fn decode(mut bytes: &[u8]) -> Option<Self> {
        let version = take_varint(&mut bytes).ok()?;
        let fingerprint = *bytes.split_off(..DIGEST_BYTES)?.first_chunk()?;
        let length = take_varint(&mut bytes).ok()?;
        let digest = *bytes.first_chunk()?;
        let is_complete = version == FORMAT_VERSION && bytes.len() == DIGEST_BYTES;
        is_complete.then_some(Self {
            fingerprint,
            length,
            digest,
        })
    }
}

/// All rows of a schema set.
pub(crate) fn rows_of(schema_set: u64) -> KeyRange {
    KeyRange::prefix(&prefix(schema_set))
}

/// The stored compilation of a schema set in a snapshot, if its fingerprint matches and it is complete.
///
/// # Errors
/// Those of the engine. A compilation that does not match is not an error.
pub(crate) fn read(
    snapshot: &dyn Snapshot,
    schema_set: u64,
    fingerprint: [u8; DIGEST_BYTES],
) -> Result<Option<Content>> {
    let key = row(schema_set, 0);
    let header = snapshot.get(&key)?;
    let header = header.and_then(|header| Header::decode(&header));
    let Some(header) = header.filter(|header| header.fingerprint == fingerprint) else {
        return Ok(None);
    };
    let mut range = rows_of(schema_set);
    // All keys after the header: a row with an unexpected number makes the content invalid.
    range.start = [key.as_slice(), &[0]].concat();
    let mut cursor = snapshot.scan(&range, Direction::Forward)?;
    let mut content = Vec::with_capacity(header.length.min(CONTENT_BYTES_RESERVED) as usize);
    while let Some((_, chunk)) = cursor.next()? {
        content.extend_from_slice(chunk);
        if content.len() as u64 > header.length {
            return Ok(None);
        }
    }
    let is_complete = content.len() as u64 == header.length && digest_of(&content) == header.digest;
    Ok(is_complete.then_some(content).and_then(Content::new))
}

/// Replaces the stored compilation of a schema set in a batch.
pub(crate) fn write(
    batch: &mut Batch,
    schema_set: u64,
    fingerprint: [u8; DIGEST_BYTES],
    content: &[u8],
) {
    let header = Header {
        fingerprint,
        length: content.len() as u64,
        digest: digest_of(content),
    };
    batch.delete_range(rows_of(schema_set));
    batch.put(row(schema_set, 0), header.encode());
    for (number, chunk) in (1..).zip(content.chunks(ROW_BYTES_MAX)) {
        batch.put(row(schema_set, number), chunk);
    }
}

fn prefix(schema_set: u64) -> Vec<u8> {
    let mut key = Subspace::Compiled.key();
    tuple::put_unsigned(&mut key, schema_set);
    key
}

fn row(schema_set: u64, number: u64) -> Vec<u8> {
    let mut key = prefix(schema_set);
    tuple::put_unsigned(&mut key, number);
    key
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_has_the_documented_encoding() {
        let header = Header {
            fingerprint: [7; DIGEST_BYTES],
            length: 300,
            digest: [9; DIGEST_BYTES],
        };
        let mut expected = vec![1];
        expected.extend([7; 16]);
        expected.extend([0xac, 0x02]);
        expected.extend([9; 16]);
        assert_eq!(header.encode(), expected);
        assert_eq!(Header::decode(&expected), Some(header));
        for cut in 0..expected.len() {
            assert_eq!(Header::decode(&expected[..cut]), None, "{cut}");
        }
        expected[0] = 2;
        assert_eq!(Header::decode(&expected), None);
    }

    #[test]
    fn rows_have_the_documented_keys() {
        assert_eq!(row(5, 0), [0x04, 0x15, 5, 0x14]);
        assert_eq!(row(5, 300), [0x04, 0x15, 5, 0x16, 1, 44]);
    }
}

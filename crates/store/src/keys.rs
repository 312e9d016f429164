//! The conversion between instance paths and key bytes.
//!
//! A tree key is the subspace, the anchor's id, the datastore's id, then for each step the node's
//! *local id* (its number among its siblings in the node dictionary) and, for a list entry or
//! leaf-list entry, its key values or its position. Containers without presence and without leaves
//! have no key of their own. Because every part is self-delimiting, a subtree is the contiguous
//! range of keys that begin with its root's key.
//!
//! A local id takes one byte below [`ONE_BYTE_IDS`], else three; its first byte is never `ff`.

use espalier_keyspace::tuple;
use espalier_yang::Value;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::subspace::Subspace;

/// Local ids below this take one byte in a key.
const ONE_BYTE_IDS: u32 = 0xe0;

/// Local ids are below this.
pub(crate) const LOCAL_IDS_MAX: u32 = 1 << 20;

/// The number of a node among its siblings, stable for the life of the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub(crate) struct LocalId(pub u32);

/// A datastore of an anchor: the prefix of its keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct TreeId {
    pub anchor: u64,
    pub datastore: u8,
}

impl TreeId {
    /// The key prefix of this tree in a subspace.
    pub fn prefix(self, subspace: Subspace) -> Vec<u8> {
        let mut key = anchor_prefix(subspace, self.anchor);
        key.push(self.datastore);
        key
    }
}

/// The key prefix of all datastores of an anchor in a subspace.
pub(crate) fn anchor_prefix(subspace: Subspace, anchor: u64) -> Vec<u8> {
    let mut key = subspace.key();
    tuple::put_unsigned(&mut key, anchor);
    key
}

/// Appends a local id.
pub(crate) fn put_local_id(key: &mut Vec<u8>, id: LocalId) {
    if id.0 < ONE_BYTE_IDS {
        key.push(id.0 as u8);
    } else {
        key.extend_from_slice(&[
            ONE_BYTE_IDS as u8 | (id.0 >> 16) as u8,
            (id.0 >> 8) as u8,
            id.0 as u8,
        ]);
    }
}

/// Removes a local id from the front of a key.
pub(crate) fn take_local_id(key: &mut &[u8]) -> Result<LocalId> {
    let (&first, rest) = key.split_first().ok_or_else(truncated)?;
    if u32::from(first) < ONE_BYTE_IDS {
        *key = rest;
        return Ok(LocalId(first.into()));
    }
    let bytes = rest.get(..2).ok_or_else(truncated)?;
    *key = &rest[2..];
    let high = u32::from(first) & 0x0f;
    Ok(LocalId(
        high << 16 | u32::from(bytes[0]) << 8 | u32::from(bytes[1]),
    ))
}

/// Appends the value of a key leaf or leaf-list entry.
pub(crate) fn put_key_value(key: &mut Vec<u8>, value: &Value) {
    match value {
        Value::Int32(value) => tuple::put_signed(key, (*value).into()),
        Value::Int64(value) => tuple::put_signed(key, *value),
        // In a union, 5.0 and 50 are different values, and so are a string and binary data.
        Value::Decimal64(value, digits) => tuple::put_decimal(key, *value, *digits),
        Value::Uint32(value) => tuple::put_unsigned(key, (*value).into()),
        Value::Uint64(value) => tuple::put_unsigned(key, *value),
        Value::Boolean(value) => tuple::put_boolean(key, *value),
        Value::Empty => tuple::put_empty(key),
        Value::String(text) | Value::Identity(text) | Value::InstanceIdentifier(text) => {
            tuple::put_bytes(key, text.as_bytes());
        }
        Value::Binary(bytes) => tuple::put_binary(key, bytes),
    }
}

/// Skips `count` key values.
pub(crate) fn skip_key_values(key: &mut &[u8], count: usize) -> Result<()> {
    for _ in 0..count {
        tuple::skip(key)?;
    }
    Ok(())
}

fn truncated() -> Error {
    Error::corrupt("a key ends within a step")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn local_ids_keep_their_order_and_never_begin_with_ff() {
        let ids = [
            0,
            1,
            ONE_BYTE_IDS - 1,
            ONE_BYTE_IDS,
            0xffff,
            0x10000,
            LOCAL_IDS_MAX - 1,
        ];
        let encoded: Vec<Vec<u8>> = ids
            .iter()
            .map(|&id| {
                let mut key = Vec::new();
                put_local_id(&mut key, LocalId(id));
                assert_eq!(take_local_id(&mut key.as_slice()).unwrap(), LocalId(id));
                key
            })
            .collect();
        assert!(encoded.is_sorted() && encoded.iter().all(|key| key[0] != 0xff));
    }
}

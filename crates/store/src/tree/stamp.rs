//! Stamps: the last commit that changed a resource or its content (RFC 8040 §3.5.1, §3.5.2).
//!
//! A commit writes a stamp for every container and list entry that it touches and for their ancestors. A
//! resource without a stamp was last written when its nearest stamped ancestor was last written as a whole.
//! A bulk load therefore writes one stamp, and a one-leaf change writes one stamp per ancestor of the leaf.

use espalier_keyspace::Snapshot;

use crate::clock::Timestamp;
use crate::error::Result;
use crate::fragment::{put_varint, take_varint};
use crate::subspace::Subspace;
use crate::tree::locate::in_subspace;

/// The version and time of the last change of a resource.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stamp {
    /// The version of the datastore.
    pub version: u64,
    /// The time of that commit.
    pub time: Timestamp,
}

// Resources without a record inherit; new nodes in new nodes need one too: docs/decisions/0010.
/// The stored stamp of a resource.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct StampRecord {
    /// The last change of the resource or of its content.
    pub any: Stamp,
    /// The last change of the resource as a whole.
    pub whole: Stamp,
}

impl StampRecord {
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(24);
        for stamp in [self.any, self.whole] {
            put_varint(&mut bytes, stamp.version);
            put_varint(&mut bytes, stamp.time.0);
        }
        bytes
    }

    pub fn decode(mut bytes: &[u8]) -> Result<Self> {
        let mut stamp = || -> Result<Stamp> {
            let version = take_varint(&mut bytes)?;
            Ok(Stamp {
                version,
                time: Timestamp(take_varint(&mut bytes)?),
            })
        };
        Ok(Self {
            any: stamp()?,
            whole: stamp()?,
        })
    }
}

/// The key of the stamp of the resource with a key in the tree.
pub(crate) fn stamp_key(tree_key: &[u8]) -> Vec<u8> {
    in_subspace(tree_key, Subspace::Stamp)
}

/// The stored stamp of the resource with a key in the tree.
pub(crate) fn record(snapshot: &dyn Snapshot, tree_key: &[u8]) -> Result<Option<StampRecord>> {
    snapshot
        .get(&stamp_key(tree_key))?
        .map(|value| StampRecord::decode(&value))
        .transpose()
}

/// The stamp of the resource whose key is `key`, up to the last of `boundaries`.
pub(crate) fn find(snapshot: &dyn Snapshot, key: &[u8], boundaries: &[usize]) -> Result<Stamp> {
    Ok(find_record(snapshot, key, boundaries)?.any)
}

/// The stamp record of that resource, derived from those of its ancestors if it has none.
pub(crate) fn find_record(
    snapshot: &dyn Snapshot,
    key: &[u8],
    boundaries: &[usize],
) -> Result<StampRecord> {
    for (index, &length) in boundaries.iter().rev().enumerate() {
        if let Some(record) = record(snapshot, &key[..length])? {
            let any = if index == 0 { record.any } else { record.whole };
            return Ok(StampRecord { any, ..record });
        }
    }
    Ok(StampRecord::default())
}

//! Size limits of the key space. Every driver supports at least these.

// LMDB accepts 1,982 bytes with pages of 4 KiB, an index of PostgreSQL 2,704: docs/decisions/0003.
/// Maximum bytes of a key. Longer keys are rejected with [`crate::ErrorKind::KeyTooLong`]; the store stays
/// below the limit by hashing long components (see [`crate::tuple`]).
///
/// Engines whose tree nodes are pages determine it: LMDB accepts 1,982 bytes with pages of 4 KiB, an index
/// of PostgreSQL 2,704. Longer keys would need several rows per key in these engines, at an unexpected
/// cost.
pub const KEY_BYTES_MAX: usize = 1024;

/// Returns whether a key is legal: neither empty nor longer than [`KEY_BYTES_MAX`].
pub fn is_key(key: &[u8]) -> bool {
    !key.is_empty() && key.len() <= KEY_BYTES_MAX
}

/// Maximum bytes of a value: 4 MiB.
pub const VALUE_BYTES_MAX: usize = 4 << 20;

/// Maximum bytes of keys and values in one [`crate::Batch`]: 1 GiB. Larger changes use
/// [`crate::Driver::write`], which does not hold them in memory.
pub const BATCH_BYTES_MAX: usize = 1 << 30;

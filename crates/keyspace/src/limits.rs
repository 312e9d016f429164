//! The named limits of the key space. Every driver supports at least these.

/// Bytes in one key. What does not fit is refused with [`crate::ErrorKind::KeyTooLong`]; the
/// store keeps its keys below by hashing long components (see [`crate::tuple`]).
///
/// Engines whose tree nodes are pages set it: LMDB takes 1,982 bytes with pages of 4 KiB, an
/// index of PostgreSQL 2,704. A longer key would need rows that hold several keys, in these engines,
/// with costs that nobody expects of a key.
pub const KEY_BYTES_MAX: usize = 1024;

/// Whether there can be anything at a key: it is neither empty nor longer than [`KEY_BYTES_MAX`].
pub fn is_key(key: &[u8]) -> bool {
    !key.is_empty() && key.len() <= KEY_BYTES_MAX
}

/// Bytes in one value: 4 MiB.
pub const VALUE_BYTES_MAX: usize = 4 << 20;

/// Bytes of keys and values in one [`crate::Batch`]: 1 GiB. Larger changes go through
/// [`crate::Driver::write`], which does not hold them in memory.
pub const BATCH_BYTES_MAX: usize = 1 << 30;

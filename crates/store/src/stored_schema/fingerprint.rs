//! The fingerprint of the inputs of a stored compilation.

use espalier_keyspace::Precondition;
use espalier_yang::schema::stored::CODE_DIGEST;

use crate::catalog::Record;

/// Bytes of a digest.
pub(super) const DIGEST_BYTES: usize = 16;

/// The source code of this crate that a stored compilation depends on, in addition to the crate `yang`. It is
/// part of the fingerprint, so that a change of this code invalidates stored compilations of older programs.
const CODE: [&str; 8] = [
    include_str!("content.rs"),
    include_str!("subtree_flags.rs"),
    include_str!("../node_numbers.rs"),
    include_str!("../node_dictionary.rs"),
    include_str!("../tree/validate/index.rs"),
    include_str!("../fragment.rs"),
    include_str!("../keys.rs"),
    include_str!("../catalog/schema_set.rs"),
];

// Digests in place of version numbers, which somebody has to raise: docs/decisions/0016.
/// A digest of all inputs of the compilation of a schema set: its record (with the hashes of its modules, and
/// its features), its node numbers, and the code.
pub(crate) fn fingerprint(
    record: &Record,
    modules_precondition: &Precondition,
) -> [u8; DIGEST_BYTES] {
    let record = serde_json::to_vec(record).unwrap_or_default();
    let modules = modules_precondition.value.as_deref().unwrap_or_default();
    let mut hasher = blake3::Hasher::new();
    let code = CODE.iter().map(|text| text.as_bytes());
    let parts = [CODE_DIGEST.as_bytes(), &record, modules].into_iter();
    for part in parts.chain(code) {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part);
    }
    digest(&hasher)
}

/// A digest of bytes.
pub(super) fn digest_of(bytes: &[u8]) -> [u8; DIGEST_BYTES] {
    let mut hasher = blake3::Hasher::new();
    hasher.update(bytes);
    digest(&hasher)
}

fn digest(hasher: &blake3::Hasher) -> [u8; DIGEST_BYTES] {
    let mut digest = [0; DIGEST_BYTES];
    digest.copy_from_slice(&hasher.finalize().as_bytes()[..DIGEST_BYTES]);
    digest
}

//! The catalog row of an anchor.

use super::Validation;

/// The catalog row of an anchor. Every commit to its data requires that the row is unchanged.
#[derive(Clone, Debug)]
pub(crate) struct AnchorRow {
    pub id: u64,
    pub name: String,
    pub key: Vec<u8>,
    pub value: Vec<u8>,
    pub validation: Validation,
}

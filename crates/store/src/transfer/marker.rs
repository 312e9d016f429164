//! The row of a target that says that a transfer has not ended.

use espalier_keyspace::Snapshot;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::subspace::Subspace;

/// What a transfer says of itself in its target, until it has ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Marker {
    /// What the rows come from: a URL without its password, or a backup file's digest.
    pub from: String,
    /// The version of the source.
    pub version: u64,
    /// The last row that is there, in hex; rows come in the order of their keys.
    after: String,
    /// Whether there may be rows after it, from a transfer of another version.
    is_over_older: bool,
}

impl Marker {
    pub(super) fn new(from: &str, version: u64) -> Self {
        Self {
            from: from.to_owned(),
            version,
            after: String::new(),
            is_over_older: false,
        }
    }

    /// The same transfer begun again, over rows that are there already and may be others.
    pub(super) fn again(&mut self, version: u64) {
        self.version = version;
        self.after.clear();
        self.is_over_older = true;
    }

    pub(super) fn is_over_older(&self) -> bool {
        self.is_over_older
    }

    /// The last row that is there; empty for none.
    pub(super) fn after(&self) -> Result<Vec<u8>> {
        let digits = self.after.as_bytes();
        let byte = |pair: &[u8]| {
            let text = std::str::from_utf8(pair).ok()?;
            u8::from_str_radix(text, 16).ok()
        };
        let bytes: Option<Vec<_>> = digits.chunks(2).map(byte).collect();
        bytes.ok_or_else(|| Error::corrupt("the row of an unfinished transfer cannot be read"))
    }

    pub(super) fn set_after(&mut self, key: &[u8]) {
        self.after = key.iter().map(|byte| format!("{byte:02x}")).collect();
    }

    /// The key of the row.
    pub(super) fn key() -> Vec<u8> {
        let mut key = Subspace::Meta.key();
        key.extend_from_slice(b"transfer");
        key
    }

    pub(super) fn value(&self) -> Vec<u8> {
        serde_json::to_vec(self).unwrap_or_default()
    }

    /// The transfer into this key space that has not ended.
    pub fn read(snapshot: &dyn Snapshot) -> Result<Option<Self>> {
        let Some(value) = snapshot.get(&Self::key())? else {
            return Ok(None);
        };
        let marker = serde_json::from_slice(&value).map_err(|error| {
            Error::corrupt(format!("the row of an unfinished transfer: {error}"))
        })?;
        Ok(Some(marker))
    }
}

//! The marker row in the target of an unfinished transfer.

use espalier_keyspace::Snapshot;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::subspace::Subspace;

/// The state of an unfinished transfer, stored in its target.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Marker {
    /// The source: a URL without its password, or the digest of a backup file.
    pub from: String,
    /// The version of the source.
    pub version: u64,
    /// The key of the last row that was written, in hex; rows are written in key order.
    after: String,
    /// Whether rows of another version may follow it.
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

    /// Restarts the same transfer over existing rows, which may differ.
    pub(super) fn restart(&mut self, version: u64) {
        self.version = version;
        self.after.clear();
        self.is_over_older = true;
    }

    pub(super) fn is_over_older(&self) -> bool {
        self.is_over_older
    }

    /// The key of the last row that was written; empty for none.
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

    /// The key of the marker row.
    pub(crate) fn key() -> Vec<u8> {
        let mut key = Subspace::Meta.key();
        key.extend_from_slice(b"transfer");
        key
    }

    pub(super) fn value(&self) -> Vec<u8> {
        serde_json::to_vec(self).unwrap_or_default()
    }

    /// The marker of an unfinished transfer into this key space.
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

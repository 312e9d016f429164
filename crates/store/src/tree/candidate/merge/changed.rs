//! What running changed since the base.

use std::collections::BTreeMap;

use espalier_keyspace::{Direction, Snapshot};

use super::Basis;
use crate::error::Result;
use crate::tree::change::logged_ranges;

/// What a key held and holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Pair {
    pub base: Option<Vec<u8>>,
    pub running: Option<Vec<u8>>,
}

/// The keys that hold something else now, in key order.
#[derive(Clone, Debug, Default)]
pub(super) struct Changed {
    pub keys: BTreeMap<Vec<u8>, Pair>,
}

impl Changed {
    /// The keys that differ between the base and running.
    pub fn between(basis: &Basis<'_>) -> Result<Self> {
        let mut changed = Self::default();
        let running = basis.running.snapshot;
        let back = basis.base.changes;
        for (key, base) in back.written() {
            let base = base.map(<[u8]>::to_vec);
            changed.add(running, key, base)?;
        }
        // Everything that is there now came after the base.
        for range in logged_ranges(basis.running.tree) {
            if !back.is_cleared(&range.start) {
                continue;
            }
            let mut cursor = running.scan(&range, Direction::Forward)?;
            while let Some((key, value)) = cursor.next()? {
                if !back.has_written(key) {
                    let pair = Pair {
                        base: None,
                        running: Some(value.to_vec()),
                    };
                    changed.keys.insert(key.to_vec(), pair);
                }
            }
        }
        Ok(changed)
    }

    fn add(&mut self, running: &dyn Snapshot, key: &[u8], base: Option<Vec<u8>>) -> Result<()> {
        let now = running.get(key)?.map(std::borrow::Cow::into_owned);
        if now != base {
            let pair = Pair { base, running: now };
            self.keys.insert(key.to_vec(), pair);
        }
        Ok(())
    }

    /// The changed keys that begin with a prefix.
    pub fn below(&self, prefix: &[u8]) -> Vec<Vec<u8>> {
        self.keys
            .range(prefix.to_vec()..)
            .take_while(|(key, _)| key.starts_with(prefix))
            .map(|(key, _)| key.clone())
            .collect()
    }
}

//! Brings a cache to a snapshot by comparing rows.

use std::ops::ControlFlow;

use espalier_keyspace::{Direction, Snapshot};

use super::document_state::row_hash;
use super::memory_indexes::Resident;
use super::policy_cache::decode_state;
use crate::Result;
use crate::bound_definition::Shape;
use crate::document::Document;
use crate::layout::counter;
use crate::row_reader::{Reader, View};

impl<T: Document> Resident<T> {
    /// Applies the content of a snapshot; only rows that differ are decoded. Each time, at most `at_once` changes are
    /// applied, which readers see together.
    pub(super) fn reload(
        &self,
        shape: &Shape<T>,
        snapshot: &dyn Snapshot,
        at_once: usize,
    ) -> Result<()> {
        let sequence = counter(snapshot.get(&shape.keys.sequence())?.as_deref())?;
        let version = snapshot.version();
        let mut updates = Vec::new();
        let mut from = 0;
        let range = shape.keys.documents(0, None);
        View(snapshot).scan(&range, Direction::Forward, &mut |row, stored| {
            if let Some(key) = shape.keys.document_key(row) {
                for removed in self.between(from, key) {
                    updates.push(decode_state(shape, version, removed, None)?);
                }
                if self.hash_of(key) != Some(row_hash(stored)) {
                    updates.push(decode_state(shape, version, key, Some(stored))?);
                }
                from = key.saturating_add(1);
                if updates.len() >= at_once {
                    self.apply_all(shape, std::mem::take(&mut updates), None)?;
                }
            }
            Ok(ControlFlow::Continue(()))
        })?;
        for removed in self.between(from, u64::MAX) {
            updates.push(decode_state(shape, version, removed, None)?);
        }
        self.apply_all(shape, updates, Some(sequence))
    }

    /// The keys of the cached documents in a range.
    fn between(&self, from: u64, before: u64) -> Vec<u64> {
        self.state.read().keys(from, before).collect()
    }
}

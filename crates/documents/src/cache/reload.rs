//! Bringing what is kept to a snapshot, by comparing rows.

use std::ops::ControlFlow;

use espalier_keyspace::{Direction, Snapshot};

use super::fact::row_hash;
use super::resident::Resident;
use super::store::fact;
use crate::Result;
use crate::document::Document;
use crate::layout::counter;
use crate::reader::{Reader, View, read_rows};
use crate::shape::Shape;

/// Documents that are compared under one lock.
const CHUNK: usize = 1024;

impl<T: Document> Resident<T> {
    /// Takes over everything that a snapshot shows; only rows that differ are decoded.
    pub(super) fn reload(&self, shape: &Shape<T>, snapshot: &dyn Snapshot) -> Result<()> {
        let sequence = counter(snapshot.get(&shape.keys.sequence())?.as_deref())?;
        let mut facts = Vec::new();
        let mut chunk: Vec<(u64, u64)> = Vec::new();
        let mut from = 0;
        loop {
            chunk.clear();
            let range = shape.keys.documents(from, None);
            View(snapshot).scan(&range, Direction::Forward, &mut |row, held| {
                if let Some(key) = shape.keys.document_key(row) {
                    chunk.push((key, row_hash(held)));
                }
                Ok(if chunk.len() == CHUNK {
                    ControlFlow::Break(())
                } else {
                    ControlFlow::Continue(())
                })
            })?;
            let is_last = chunk.len() < CHUNK;
            let before = match chunk.last() {
                Some((key, _)) if !is_last => key + 1,
                _ => u64::MAX,
            };
            let differing = self.differing(&chunk, from, before);
            let found = read_rows(snapshot, &shape.keys, &differing)?;
            for (key, row) in differing.into_iter().zip(found) {
                facts.push(fact(shape, snapshot.version(), key, row.as_deref())?);
            }
            if is_last {
                break;
            }
            from = before;
        }
        self.learn(shape, facts, Some(sequence))
    }

    /// The keys of documents that are not as the rows say.
    fn differing(&self, rows: &[(u64, u64)], from: u64, before: u64) -> Vec<u64> {
        let held = self.held.read();
        let mut known = held.known(from, before).peekable();
        let mut differing = Vec::new();
        for &(key, hash) in rows {
            while let Some((gone, _)) = known.next_if(|(known, _)| *known < key) {
                differing.push(gone);
            }
            match known.next_if(|(known, _)| *known == key) {
                Some((_, known)) if known.hash == hash => {}
                _ => differing.push(key),
            }
        }
        differing.extend(known.map(|(gone, _)| gone));
        differing
    }
}

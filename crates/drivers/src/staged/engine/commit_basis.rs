//! The state that a commit is planned on: the cells that it depends on, read at one revision.

use std::collections::HashMap;
use std::sync::Arc;

use espalier_keyspace::{
    Batch, Error, ErrorKind, KeyRange, OperationRef, Precondition, Result, Version,
};

use super::batch_in_progress::Gate;
use super::cell_store::{Cell, CellStore, Read, ReadResult};
use super::layout::{Layout, LongValues, StoredValue};
use super::session::Session;
use super::write_plan::{RangeContent, WritePlan};
use crate::staged::config::CHUNK_BYTES;
use crate::staged::driver::Shared;
use crate::staged::snapshot::{StagedSnapshot, deleted_error};

/// The state that a commit is planned on.
pub(in crate::staged) struct CommitBasis<C> {
    snapshot: StagedSnapshot<C>,
    pub(in crate::staged) version: Version,
    long_values: LongValues,
    pub(in crate::staged) gate: Option<Gate>,
    /// The revision of the session's cell.
    session: u64,
    /// The values of the keys that the batch depends on, and the revisions of their cells.
    values: HashMap<Vec<u8>, (Option<Vec<u8>>, u64)>,
}

impl<C: CellStore> CommitBasis<C> {
    /// The value of a key that the batch depends on, and the revision of its cell (0: no cell).
    pub(super) fn value_and_revision(&self, key: &[u8]) -> (Option<&[u8]>, u64) {
        let values = self.values.get(key);
        values.map_or((None, 0), |(value, modified)| (value.as_deref(), *modified))
    }

    /// Whether the range contains a key for which `is_deleted` is false.
    pub(super) fn range_content(
        &self,
        range: &KeyRange,
        is_deleted: &dyn Fn(&[u8]) -> bool,
    ) -> Result<RangeContent> {
        self.snapshot.range_content(range, is_deleted)
    }

    /// Whether no other process has changed the session.
    pub(in crate::staged) fn is_session_unchanged(&self, session: &Session) -> bool {
        self.session == session.modified
    }

    /// The revision of the reads.
    pub(in crate::staged) fn revision(&self) -> u64 {
        self.snapshot.revision()
    }

    /// Plans a batch; with a version, only if it is that of this state.
    fn plan(&self, batch: &Batch, unchanged_since: Option<Version>) -> Result<WritePlan> {
        for condition in batch.preconditions() {
            if self.value_and_revision(&condition.key).0 != condition.value.as_deref() {
                return Err(Error::conflict(&condition.key));
            }
        }
        if unchanged_since.is_some_and(|version| version != self.version) {
            let message = "another process committed during this write";
            return Err(Error::new(ErrorKind::Conflict, message));
        }
        WritePlan::of(batch, &self.snapshot.shared.layout, self, self.long_values)
    }
}

/// The reads of a batch.
struct BatchReads<'b> {
    batch: &'b Batch,
    /// Gate, head, the long value marker, and the session; then the keys.
    reads: Vec<Read>,
    keys: Vec<&'b [u8]>,
}

impl<'b> BatchReads<'b> {
    fn new(layout: &Layout, batch: &'b Batch, session: &Session) -> Self {
        let mut reads = vec![
            Read::One(layout.gate()),
            Read::One(layout.head()),
            Read::One(layout.long_values()),
        ];
        // A session that was never used has no cell.
        if session.modified > 0 {
            reads.push(Read::One(layout.session(&session.name)));
        }
        let keys = keys_read_by(batch);
        reads.extend(keys.iter().map(|key| Read::One(layout.data(key))));
        Self { batch, reads, keys }
    }
}

impl<C: CellStore> Shared<C> {
    /// Reads everything that a batch depends on, at the newest revision, and plans the batch.
    pub(in crate::staged) fn read_and_plan(
        self: &Arc<Self>,
        batch: &Batch,
        unchanged_since: Option<Version>,
        session: &Session,
    ) -> Result<(CommitBasis<C>, Result<WritePlan>)> {
        let reads_of_batch = BatchReads::new(&self.layout, batch, session);
        let read = |first: &[Read]| self.cells.read(first, None).map(Some);
        let state = self
            .state(&reads_of_batch, &read)?
            .ok_or_else(deleted_error)?;
        let plan = state.plan(batch, unchanged_since);
        Ok((state, plan))
    }

    /// Reads at a possibly older revision, if that is cheaper, and plans the batch. The transaction tests
    /// the state again, so an older one suffices for a commit that succeeds. A failure counts only at the
    /// newest revision; then `None` is returned.
    pub(in crate::staged) fn read_stale_and_plan(
        self: &Arc<Self>,
        batch: &Batch,
        unchanged_since: Option<Version>,
        session: &Session,
    ) -> Option<(CommitBasis<C>, Result<WritePlan>)> {
        let reads_of_batch = BatchReads::new(&self.layout, batch, session);
        let read = |first: &[Read]| self.cells.read_possibly_stale(first);
        let state = self.state(&reads_of_batch, &read).ok()??;
        let plan = state.plan(batch, unchanged_since).ok()?;
        let is_usable =
            state.gate.is_none() && state.is_session_unchanged(session) && plan.has_effect();
        is_usable.then_some((state, Ok(plan)))
    }

    /// Reads the cells of a batch; the first request determines the revision.
    fn state(
        self: &Arc<Self>,
        reads_of_batch: &BatchReads<'_>,
        read: &dyn Fn(&[Read]) -> Result<Option<ReadResult>>,
    ) -> Result<Option<CommitBasis<C>>> {
        let mut parts = reads_of_batch.reads.chunks(self.cells.bounds().operations);
        let Some(mut found) = read(parts.next().unwrap_or_default())? else {
            return Ok(None);
        };
        for part in parts {
            let more = self.cells.read(part, Some(found.revision))?;
            found.cells.extend(more.cells);
        }
        let fixed = reads_of_batch.reads.len() - reads_of_batch.keys.len();
        let data = found.cells.split_off(fixed);
        let mut fixed_cells = found.cells.into_iter().map(|mut cells| cells.pop());
        let mut next = || fixed_cells.next().flatten();
        let (gate, head, long, session) = (next(), next(), next(), next());
        let version = Version(head.ok_or_else(deleted_error)?.modified);
        let snapshot = StagedSnapshot::at(self, version, found.revision);
        let mut values = HashMap::new();
        for (key, mut cells) in reads_of_batch.keys.iter().zip(data) {
            if let Some(cell) = cells.pop() {
                let modified = cell.modified;
                let value = value_for_plan(&snapshot, cell, reads_of_batch.batch, key)?;
                values.insert(key.to_vec(), (Some(value), modified));
            }
        }
        Ok(Some(CommitBasis {
            snapshot,
            version,
            long_values: long.map_or(LongValues::None, |_| LongValues::Some),
            gate: gate.map(|cell| Gate::decode(&cell.value)).transpose()?,
            session: session.map_or(0, |cell| cell.modified),
            values,
        }))
    }
}

/// The keys whose cells a batch depends on, without duplicates.
fn keys_read_by(batch: &Batch) -> Vec<&[u8]> {
    let conditions = batch.preconditions().iter();
    let mut keys: Vec<&[u8]> = conditions.map(|condition| &condition.key[..]).collect();
    keys.extend(batch.operations().filter_map(|operation| match operation {
        OperationRef::Delete(key) | OperationRef::Add(key, _) => Some(key),
        OperationRef::Put(..) | OperationRef::DeleteRange(_) => None,
    }));
    keys.sort_unstable();
    keys.dedup();
    keys
}

/// The value of a cell. A long one is read only if a precondition requires a long value.
fn value_for_plan<C: CellStore>(
    snapshot: &StagedSnapshot<C>,
    cell: Cell,
    batch: &Batch,
    key: &[u8],
) -> Result<Vec<u8>> {
    if let StoredValue::Chunks(_) = Layout::decode_value(&cell)? {
        let wants = |condition: &Precondition| {
            let length = condition.value.as_ref().map_or(0, Vec::len);
            condition.key == key && length >= CHUNK_BYTES
        };
        if !batch.preconditions().iter().any(wants) {
            // Differs from every short precondition, and is not a counter.
            return Ok(vec![0; CHUNK_BYTES]);
        }
    }
    snapshot.value(cell)
}

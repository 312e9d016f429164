//! What a commit is worked out on: what it asks for, read at one revision.

use std::collections::HashMap;
use std::sync::Arc;

use espalier_keyspace::{
    Batch, Error, ErrorKind, KeyRange, OperationRef, Precondition, Result, Version,
};

use super::cells::{Cell, Cells, Found, Read};
use super::gate::Gate;
use super::lane::Lane;
use super::layout::{Held, Layout, LongValues};
use super::plan::{AnyKey, Base, Plan};
use crate::staged::config::CHUNK_BYTES;
use crate::staged::driver::Shared;
use crate::staged::snapshot::{StagedSnapshot, gone};

/// What a commit is worked out on.
pub(in crate::staged) struct State<C> {
    snapshot: StagedSnapshot<C>,
    pub(in crate::staged) version: Version,
    long_values: LongValues,
    pub(in crate::staged) gate: Option<Gate>,
    /// The revision of the lane's cell.
    lane: u64,
    /// The data cells that the batch asks for.
    held: HashMap<Vec<u8>, (Option<Vec<u8>>, u64)>,
}

impl<C: Cells> Base for State<C> {
    fn held(&self, key: &[u8]) -> (Option<&[u8]>, u64) {
        let held = self.held.get(key);
        held.map_or((None, 0), |(value, modified)| (value.as_deref(), *modified))
    }

    fn any(&self, range: &KeyRange, is_gone: &dyn Fn(&[u8]) -> bool) -> Result<AnyKey> {
        self.snapshot.any(range, is_gone)
    }
}

impl<C: Cells> State<C> {
    /// Whether nobody else has touched a lane.
    pub(in crate::staged) fn is_free(&self, lane: &Lane) -> bool {
        self.lane == lane.modified
    }

    /// What it was read at.
    pub(in crate::staged) fn revision(&self) -> u64 {
        self.snapshot.revision()
    }

    /// What a batch comes to; where a version is given, only if it is this one.
    fn plan(&self, batch: &Batch, unchanged_since: Option<Version>) -> Result<Plan> {
        for condition in batch.preconditions() {
            if self.held(&condition.key).0 != condition.value.as_deref() {
                return Err(Error::conflict(&condition.key));
            }
        }
        if unchanged_since.is_some_and(|version| version != self.version) {
            let message = "another process committed while this write was under way";
            return Err(Error::new(ErrorKind::Conflict, message));
        }
        Plan::of(batch, &self.snapshot.shared.layout, self, self.long_values)
    }
}

/// What a batch asks for.
struct Asked<'b> {
    batch: &'b Batch,
    /// Gate, head, whether there are long values, and the lane; then the keys.
    reads: Vec<Read>,
    keys: Vec<&'b [u8]>,
}

impl<'b> Asked<'b> {
    fn new(layout: &Layout, batch: &'b Batch, lane: &Lane) -> Self {
        let mut reads = vec![
            Read::One(layout.gate()),
            Read::One(layout.head()),
            Read::One(layout.long_values()),
        ];
        // A lane that was never written has no cell.
        if lane.modified > 0 {
            reads.push(Read::One(layout.lane(&lane.name)));
        }
        let keys = asked_for(batch);
        reads.extend(keys.iter().map(|key| Read::One(layout.data(key))));
        Self { batch, reads, keys }
    }
}

impl<C: Cells> Shared<C> {
    /// Reads everything that a batch asks for, at the newest revision, and works the batch out.
    pub(in crate::staged) fn look(
        self: &Arc<Self>,
        batch: &Batch,
        unchanged_since: Option<Version>,
        lane: &Lane,
    ) -> Result<(State<C>, Result<Plan>)> {
        let asked = Asked::new(&self.layout, batch, lane);
        let read = |first: &[Read]| self.cells.read(first, None).map(Some);
        let state = self.state(&asked, &read)?.ok_or_else(gone)?;
        let plan = state.plan(batch, unchanged_since);
        Ok((state, plan))
    }

    /// The same at a revision that may be a little older, where that is cheaper. What speaks for a
    /// commit is tested again by the transaction that makes it, so that will do; what speaks against it
    /// counts only at the newest, and `None` is returned.
    pub(in crate::staged) fn look_lately(
        self: &Arc<Self>,
        batch: &Batch,
        unchanged_since: Option<Version>,
        lane: &Lane,
    ) -> Option<(State<C>, Result<Plan>)> {
        let asked = Asked::new(&self.layout, batch, lane);
        let read = |first: &[Read]| self.cells.read_lately(first);
        let state = self.state(&asked, &read).ok()??;
        let plan = state.plan(batch, unchanged_since).ok()?;
        let is_as_wanted = state.gate.is_none() && state.is_free(lane) && plan.has_effect();
        is_as_wanted.then_some((state, Ok(plan)))
    }

    /// Reads what is asked for, the first part of it in a way that sets the revision.
    fn state(
        self: &Arc<Self>,
        asked: &Asked<'_>,
        read: &dyn Fn(&[Read]) -> Result<Option<Found>>,
    ) -> Result<Option<State<C>>> {
        let mut parts = asked.reads.chunks(self.cells.bounds().operations);
        let Some(mut found) = read(parts.next().unwrap_or_default())? else {
            return Ok(None);
        };
        for part in parts {
            let more = self.cells.read(part, Some(found.revision))?;
            found.cells.extend(more.cells);
        }
        let fixed = asked.reads.len() - asked.keys.len();
        let data = found.cells.split_off(fixed);
        let mut own = found.cells.into_iter().map(|mut cells| cells.pop());
        let mut next = || own.next().flatten();
        let (gate, head, long, lane) = (next(), next(), next(), next());
        let version = Version(head.ok_or_else(gone)?.modified);
        let snapshot = StagedSnapshot::at(self, version, found.revision);
        let mut held = HashMap::new();
        for (key, mut cells) in asked.keys.iter().zip(data) {
            if let Some(cell) = cells.pop() {
                let modified = cell.modified;
                let value = known_value(&snapshot, cell, asked.batch, key)?;
                held.insert(key.to_vec(), (Some(value), modified));
            }
        }
        Ok(Some(State {
            snapshot,
            version,
            long_values: long.map_or(LongValues::None, |_| LongValues::Some),
            gate: gate.map(|cell| Gate::decode(&cell.value)).transpose()?,
            lane: lane.map_or(0, |cell| cell.modified),
            held,
        }))
    }
}

/// The keys whose cells a batch depends on, each once.
fn asked_for(batch: &Batch) -> Vec<&[u8]> {
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

/// The value of a cell. A long one is read only where a precondition wants one as long.
fn known_value<C: Cells>(
    snapshot: &StagedSnapshot<C>,
    cell: Cell,
    batch: &Batch,
    key: &[u8],
) -> Result<Vec<u8>> {
    if let Held::Chunks(_) = Layout::held(&cell)? {
        let wants = |condition: &Precondition| {
            let length = condition.value.as_ref().map_or(0, Vec::len);
            condition.key == key && length >= CHUNK_BYTES
        };
        if !batch.preconditions().iter().any(wants) {
            // Neither what a short precondition wants nor a counter.
            return Ok(vec![0; CHUNK_BYTES]);
        }
    }
    snapshot.value(cell)
}

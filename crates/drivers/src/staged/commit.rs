//! How batches are applied: looked up, worked out, and written in one transaction or by stages.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use espalier_keyspace::{Batch, Error, ErrorKind, Result, Version};
use rand::{Rng, RngCore};

use super::driver::Shared;
use super::engine::{
    Cells, Failure, Gate, Guard, ID_BYTES, Lane, Plan, Write, done, encode_changes, encode_writes,
    gated, now_ms, says_done, says_gated, void, writes_of,
};

/// How much longer a commit may try for each of its operations.
const OPERATION_PATIENCE: Duration = Duration::from_micros(200);

/// The longest wait, in milliseconds, before a commit is tried again that others got in the way of.
const BACKOFF_MS_MAX: u64 = 32;

/// Tests of a transaction that are not the batch's own: gate, lane, record.
const OWN_GUARDS: usize = 4;

/// What became of a commit whose answer was lost.
enum Outcome {
    /// It happened, by this revision.
    Done(u64),
    /// Its gate was made, so it happens.
    Gated,
    /// It did not happen, and never will.
    Void,
}

/// A commit that happened.
struct Applied {
    revision: u64,
    /// The version before it, where it was seen that nobody could come between.
    before: Option<Version>,
}

impl From<u64> for Applied {
    fn from(revision: u64) -> Self {
        let before = None;
        Self { revision, before }
    }
}

impl<C: Cells> Shared<C> {
    /// Applies a batch; where a version is given, only if it is still the newest. Returns the version
    /// it makes and, where that is sure, the one before it.
    pub(super) fn commit(
        self: &Arc<Self>,
        batch: &Batch,
        unchanged_since: Option<Version>,
    ) -> Result<(Version, Option<Version>)> {
        let count = u32::try_from(batch.operations().len()).unwrap_or(u32::MAX);
        let patience = self.cells.patience() + OPERATION_PATIENCE * count;
        let deadline = Instant::now() + patience;
        let mut lane = self.lanes.take();
        let mut turn = None;
        let mut wait_ms = 1;
        let mut older = self.look_lately(batch, unchanged_since, &lane);
        loop {
            let (state, plan) = match older.take() {
                Some(looked) => looked,
                None => self.look(batch, unchanged_since, &lane)?,
            };
            if let Some(gate) = state.gate {
                self.finish(gate, &[])?;
                continue;
            }
            if !state.is_free(&lane) {
                // It was swept up while this process was halted for a day.
                lane = Lane::new();
            }
            let plan = plan?;
            if !plan.has_effect() {
                self.lanes.give_back(lane);
                return Ok((state.version, None));
            }
            lane.sequence += 1;
            let strict = unchanged_since.map(|_| state.version);
            if let Some(applied) = self.attempt(&plan, &mut lane, state.version, strict)? {
                self.lanes.give_back(lane);
                // Nobody else did anything at all since it was looked.
                let is_next = applied.revision == state.revision() + 1;
                let before = is_next.then_some(state.version).or(applied.before);
                return Ok((Version(applied.revision), before));
            }
            if Instant::now() >= deadline {
                let message = "others keep changing what this commit is about; try again";
                return Err(Error::new(ErrorKind::Unavailable, message));
            }
            // Those of this process go one by one from here on.
            if turn.is_none() {
                turn = Some(self.contended.lock());
            }
            thread::sleep(Duration::from_millis(rand::rng().random_range(0..=wait_ms)));
            wait_ms = (wait_ms * 2).min(BACKOFF_MS_MAX);
        }
    }

    /// Tries to write what the plan says. `None` when something that it depends on has changed, and
    /// nothing was written.
    fn attempt(
        &self,
        plan: &Plan,
        lane: &mut Lane,
        version: Version,
        strict: Option<Version>,
    ) -> Result<Option<Applied>> {
        let bounds = self.cells.bounds();
        let head = Guard::Modified(self.layout.head(), version.0);
        let many = plan.guards.len() + OWN_GUARDS > bounds.operations;
        let mut guards = match many {
            true => vec![head.clone()],
            false => plan.guards.clone(),
        };
        if strict.is_some() && !many {
            guards.push(head);
        }
        guards.push(Guard::Absent(self.layout.gate()));
        let told = encode_changes(plan.told());
        let direct = plan.direct(bounds).filter(|_| !many);
        guards.push(self.lane_guard(lane));
        let Some(mut writes) = direct else {
            return self.stage(plan, guards, told, lane);
        };
        writes.push(Write::Put(self.layout.head(), told));
        writes.push(Write::Put(
            self.layout.lane(&lane.name),
            done(lane.sequence),
        ));
        let revision = self.direct(&guards, &writes, lane)?;
        Ok(revision.map(Applied::from))
    }

    fn lane_guard(&self, lane: &Lane) -> Guard {
        let cell = self.layout.lane(&lane.name);
        match lane.modified {
            0 => Guard::Absent(cell),
            modified => Guard::Modified(cell, modified),
        }
    }

    fn direct(&self, guards: &[Guard], writes: &[Write], lane: &mut Lane) -> Result<Option<u64>> {
        match self.cells.transact(guards, writes) {
            Ok(Some(revision)) => {
                lane.modified = revision;
                Ok(Some(revision))
            }
            Ok(None) => Ok(None),
            Err(Failure::Refused(error)) => Err(error),
            Err(Failure::Lost(error)) => match self.resolve(lane, &error)? {
                Outcome::Done(revision) => Ok(Some(revision)),
                // It has no gate: the lane is as it was left.
                Outcome::Gated | Outcome::Void => Ok(None),
            },
        }
    }

    /// Finds out whether the newest commit of a lane happened, and sees to it that it never will
    /// when it did not.
    fn resolve(&self, lane: &mut Lane, lost: &Error) -> Result<Outcome> {
        let name = self.layout.lane(&lane.name);
        let unknown = |error: Error| unknown(lost, Some(error));
        let deadline = Instant::now() + self.cells.patience();
        loop {
            let cell = self.read_one(name.clone()).map_err(unknown)?;
            lane.modified = cell.as_ref().map_or(0, |cell| cell.modified);
            if let Some(cell) = cell {
                if says_done(&cell.value, lane.sequence) {
                    return Ok(Outcome::Done(lane.modified));
                }
                if says_gated(&cell.value, lane.sequence) {
                    return Ok(Outcome::Gated);
                }
            }
            let fence = [Write::Put(name.clone(), void(lane.sequence))];
            match self.cells.transact(&[self.lane_guard(lane)], &fence) {
                Ok(Some(revision)) => {
                    lane.modified = revision;
                    return Ok(Outcome::Void);
                }
                Err(Failure::Refused(error) | Failure::Lost(error))
                    if Instant::now() >= deadline =>
                {
                    return Err(unknown(error));
                }
                _ => {}
            }
        }
    }

    /// Writes the records, makes the gate and finishes what it says.
    fn stage(
        &self,
        plan: &Plan,
        mut guards: Vec<Guard>,
        told: Vec<u8>,
        lane: &mut Lane,
    ) -> Result<Option<Applied>> {
        let bounds = self.cells.bounds();
        let records = plan.records(&self.layout, bounds);
        let mut bytes: Vec<_> = records.iter().map(|record| encode_writes(record)).collect();
        let gate = Gate {
            id: new_id(),
            lane: lane.name,
            sequence: lane.sequence,
            next: 0,
            count: u32::try_from(bytes.len()).unwrap_or(u32::MAX),
        };
        bytes.push(told);
        self.put_records(&gate.id, &bytes)?;
        let last = self.layout.record(&gate.id, gate.count);
        guards.push(Guard::Present(last));
        // The gate and the lane together: what makes the one cannot come after what was written to
        // the other so that it never would.
        let make = [
            Write::Put(self.layout.gate(), gate.encode()),
            Write::Put(self.layout.lane(&lane.name), gated(lane.sequence)),
        ];
        let mut before = None;
        match self.cells.transact(&guards, &make) {
            Ok(Some(revision)) => {
                lane.modified = revision;
                before = self.head_before(revision);
            }
            Ok(None) => {
                self.drop_records(&gate.id);
                return Ok(None);
            }
            Err(Failure::Refused(error)) => {
                self.drop_records(&gate.id);
                return Err(error);
            }
            Err(Failure::Lost(error)) => match self.resolve(lane, &error)? {
                Outcome::Done(revision) => return Ok(Some(revision.into())),
                Outcome::Gated => {}
                Outcome::Void => {
                    self.drop_records(&gate.id);
                    return Ok(None);
                }
            },
        }
        let lost = Error::new(ErrorKind::Unavailable, "another process finished it");
        let revision = match self.finish(gate, &bytes) {
            Ok(Some(revision)) => revision,
            Ok(None) => self.finished_by_another(lane, &lost)?,
            Err(error) => self.finished_by_another(lane, &error)?,
        };
        lane.modified = revision;
        Ok(Some(Applied { revision, before }))
    }

    /// The newest version when a gate was made, since when nobody else commits. `None` where it is not
    /// known: it is of use, and not needed.
    fn head_before(&self, gate_revision: u64) -> Option<Version> {
        let cell = self.read_one(self.layout.head()).ok()?;
        let revision = cell.map_or(0, |cell| cell.modified);
        (revision < gate_revision).then_some(Version(revision))
    }

    /// The gate was made, so the commit happens; whether it is finished already, the lane tells.
    fn finished_by_another(&self, lane: &Lane, lost: &Error) -> Result<u64> {
        let cell = self.read_one(self.layout.lane(&lane.name));
        match cell {
            Ok(Some(cell)) if says_done(&cell.value, lane.sequence) => Ok(cell.modified),
            _ => {
                let message = format!(
                    "the connection broke while a large commit was applied ({lost}); the next \
                     process that commits, or opens the engine, finishes it"
                );
                Err(Error::new(ErrorKind::OutcomeUnknown, message))
            }
        }
    }

    fn put_records(&self, id: &[u8; ID_BYTES], records: &[Vec<u8>]) -> Result<()> {
        let bounds = self.cells.bounds();
        let (mut writes, mut bytes) = (Vec::new(), 0);
        for (number, record) in (0..).zip(records) {
            if bytes + record.len() > bounds.bytes && !writes.is_empty() {
                self.put_again(&writes)?;
                writes.clear();
                bytes = 0;
            }
            bytes += record.len();
            writes.push(Write::Put(self.layout.record(id, number), record.clone()));
            if writes.len() == bounds.operations {
                bytes = bounds.bytes;
            }
        }
        self.put_again(&writes)
    }

    /// Writes what may be written twice.
    fn put_again(&self, writes: &[Write]) -> Result<()> {
        let deadline = Instant::now() + self.cells.patience();
        loop {
            match self.cells.transact(&[], writes) {
                Ok(_) => return Ok(()),
                Err(Failure::Lost(_)) if Instant::now() < deadline => {}
                Err(Failure::Lost(error) | Failure::Refused(error)) => return Err(error),
            }
        }
    }

    fn drop_records(&self, id: &[u8; ID_BYTES]) {
        let range = self.layout.stage(id);
        if let Err(error) = self.try_to(&[], &[Write::DeleteRange(range)]) {
            tracing::warn!(%error, "records of a staged batch are left behind");
        }
    }

    /// Applies what is left of the batch that the gate names, together with whoever else does so.
    /// `records` are its records where this process made them. `None` when another finished it.
    pub(super) fn finish(&self, mut gate: Gate, records: &[Vec<u8>]) -> Result<Option<u64>> {
        let name = self.layout.gate();
        let deadline = Instant::now() + self.cells.patience();
        loop {
            let last = gate.next == gate.count;
            let cell = self.layout.record(&gate.id, gate.next);
            let record = match records.get(gate.next as usize) {
                Some(record) => Some(record.clone()),
                None => self.read_one(cell.clone())?.map(|cell| cell.value),
            };
            if let Some(record) = record {
                let guard = Guard::Holds(name.clone(), gate.encode());
                let mut writes = vec![Write::Delete(cell)];
                if last {
                    writes.push(Write::Delete(name.clone()));
                    writes.push(Write::Put(self.layout.head(), record));
                    let lane = self.layout.lane(&gate.lane);
                    writes.push(Write::Put(lane, done(gate.sequence)));
                } else {
                    writes.extend(writes_of(&record)?);
                    writes.push(Write::Put(name.clone(), gate.advanced().encode()));
                }
                match self.cells.transact(&[guard], &writes) {
                    Ok(Some(revision)) if last => return Ok(Some(revision)),
                    Ok(Some(_)) => {
                        gate = gate.advanced();
                        continue;
                    }
                    Ok(None) => {}
                    Err(Failure::Lost(_)) if Instant::now() < deadline => {}
                    Err(Failure::Lost(error) | Failure::Refused(error)) => return Err(error),
                }
            }
            match self.gate()? {
                Some((now, _)) if now.id == gate.id && now.next > gate.next => gate = now,
                Some((now, _)) if now.id == gate.id && Instant::now() < deadline => gate = now,
                Some((now, _)) if now.id == gate.id => {
                    let message = "a record of a staged batch is missing";
                    return Err(Error::new(ErrorKind::Corrupt, message));
                }
                _ => return Ok(None),
            }
        }
    }
}

/// The outcome of a commit is unknown: its answer was lost, and nobody can be asked.
fn unknown(lost: &Error, error: Option<Error>) -> Error {
    let message = format!(
        "the connection broke while a commit was under way ({lost}), and the engine cannot be \
         asked whether it happened; read before trying again"
    );
    let unknown = Error::new(ErrorKind::OutcomeUnknown, message);
    match error {
        Some(error) => unknown.with_source(error),
        None => unknown,
    }
}

/// The time, so that it is known how old it is, and chance.
fn new_id() -> [u8; ID_BYTES] {
    let mut id = [0; ID_BYTES];
    rand::rng().fill_bytes(&mut id);
    id[..8].copy_from_slice(&now_ms().to_be_bytes());
    id
}

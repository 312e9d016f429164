//! Applies batches: reads what they depend on, plans the writes, and commits in one transaction or in
//! stages.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use espalier_keyspace::{Batch, Error, ErrorKind, Result, Version};
use rand::{Rng, RngCore};

use super::driver::Shared;
use super::engine::{
    CellStore, Failure, Gate, Guard, ID_BYTES, Session, Write, WritePlan, encode_cancelled,
    encode_changes, encode_done, encode_gated, encode_writes, is_done, is_gated, now_ms, writes_of,
};

/// Additional retry time of a commit per operation.
const TIMEOUT_PER_OPERATION: Duration = Duration::from_micros(200);

/// The maximum wait, in milliseconds, before a commit is retried after a conflict with another one.
const BACKOFF_MS_MAX: u64 = 32;

/// Guards of a transaction besides those of the batch: gate, session, record.
const COMMIT_GUARDS: usize = 4;

/// The outcome of a commit whose response was lost.
enum Outcome {
    /// It was applied, by this revision.
    Done(u64),
    /// Its gate was created, so it will be applied.
    Gated,
    /// It was not applied, and cannot be applied later.
    Cancelled,
}

/// An applied commit.
struct Applied {
    revision: u64,
    /// The previous version, if no other commit can have come between.
    before: Option<Version>,
}

impl From<u64> for Applied {
    fn from(revision: u64) -> Self {
        let before = None;
        Self { revision, before }
    }
}

impl<C: CellStore> Shared<C> {
    /// Applies a batch; with a version, only if that is still the newest. Returns the new version and, if
    /// it is certain, the previous one.
    pub(super) fn commit(
        self: &Arc<Self>,
        batch: &Batch,
        unchanged_since: Option<Version>,
    ) -> Result<(Version, Option<Version>)> {
        let count = u32::try_from(batch.operations().len()).unwrap_or(u32::MAX);
        let retry_timeout = self.cells.retry_timeout() + TIMEOUT_PER_OPERATION * count;
        let deadline = Instant::now() + retry_timeout;
        let mut session = self.sessions.take();
        let mut contention = None;
        let mut wait_ms = 1;
        let mut stale = self.read_stale_and_plan(batch, unchanged_since, &session);
        loop {
            let (state, plan) = match stale.take() {
                Some(planned) => planned,
                None => self.read_and_plan(batch, unchanged_since, &session)?,
            };
            if let Some(gate) = state.gate {
                self.finish(gate, &[])?;
                continue;
            }
            if !state.is_session_unchanged(&session) {
                // The session was removed as stale while this process was suspended for a day.
                session = Session::new();
            }
            let plan = plan?;
            if !plan.has_effect() {
                self.sessions.give_back(session);
                return Ok((state.version, None));
            }
            session.sequence += 1;
            let strict = unchanged_since.map(|_| state.version);
            if let Some(applied) = self.attempt(&plan, &mut session, state.version, strict)? {
                self.sessions.give_back(session);
                // There was no other transaction since the read.
                let is_next = applied.revision == state.revision() + 1;
                let before = is_next.then_some(state.version).or(applied.before);
                return Ok((Version(applied.revision), before));
            }
            if Instant::now() >= deadline {
                let message = "the commit keeps conflicting with other writers; try again";
                return Err(Error::new(ErrorKind::Unavailable, message));
            }
            // From here on, contending commits of this process run one at a time.
            if contention.is_none() {
                contention = Some(self.contention_lock.lock());
            }
            thread::sleep(Duration::from_millis(rand::rng().random_range(0..=wait_ms)));
            wait_ms = (wait_ms * 2).min(BACKOFF_MS_MAX);
        }
    }

    /// Tries to write the plan. `None` if something that it depends on has changed; then nothing was
    /// written.
    fn attempt(
        &self,
        plan: &WritePlan,
        session: &mut Session,
        version: Version,
        strict: Option<Version>,
    ) -> Result<Option<Applied>> {
        let bounds = self.cells.bounds();
        let head = Guard::Modified(self.layout.head(), version.0);
        let exceeds_bounds = plan.guards.len() + COMMIT_GUARDS > bounds.operations;
        let mut guards = match exceeds_bounds {
            true => vec![head.clone()],
            false => plan.guards.clone(),
        };
        if strict.is_some() && !exceeds_bounds {
            guards.push(head);
        }
        guards.push(Guard::Absent(self.layout.gate()));
        let changes = encode_changes(plan.changes());
        let direct = plan.direct(bounds).filter(|_| !exceeds_bounds);
        guards.push(self.session_guard(session));
        let Some(mut writes) = direct else {
            return self.stage(plan, guards, changes, session);
        };
        writes.push(Write::Put(self.layout.head(), changes));
        writes.push(Write::Put(
            self.layout.session(&session.name),
            encode_done(session.sequence),
        ));
        let revision = self.direct(&guards, &writes, session)?;
        Ok(revision.map(Applied::from))
    }

    fn session_guard(&self, session: &Session) -> Guard {
        let cell = self.layout.session(&session.name);
        match session.modified {
            0 => Guard::Absent(cell),
            modified => Guard::Modified(cell, modified),
        }
    }

    fn direct(
        &self,
        guards: &[Guard],
        writes: &[Write],
        session: &mut Session,
    ) -> Result<Option<u64>> {
        match self.cells.transact(guards, writes) {
            Ok(Some(revision)) => {
                session.modified = revision;
                Ok(Some(revision))
            }
            Ok(None) => Ok(None),
            Err(Failure::NotApplied(error)) => Err(error),
            Err(Failure::OutcomeUnknown(error)) => match self.resolve(session, &error)? {
                Outcome::Done(revision) => Ok(Some(revision)),
                // It has no gate: the session is unchanged.
                Outcome::Gated | Outcome::Cancelled => Ok(None),
            },
        }
    }

    /// Finds out whether the last commit of a session was applied; if not, makes sure that it cannot be
    /// applied later.
    fn resolve(&self, session: &mut Session, lost: &Error) -> Result<Outcome> {
        let name = self.layout.session(&session.name);
        let unknown = |error: Error| unknown(lost, Some(error));
        let deadline = Instant::now() + self.cells.retry_timeout();
        loop {
            let cell = self.read_one(name.clone()).map_err(unknown)?;
            session.modified = cell.as_ref().map_or(0, |cell| cell.modified);
            if let Some(cell) = cell {
                if is_done(&cell.value, session.sequence) {
                    return Ok(Outcome::Done(session.modified));
                }
                if is_gated(&cell.value, session.sequence) {
                    return Ok(Outcome::Gated);
                }
            }
            let fence = [Write::Put(name.clone(), encode_cancelled(session.sequence))];
            match self.cells.transact(&[self.session_guard(session)], &fence) {
                Ok(Some(revision)) => {
                    session.modified = revision;
                    return Ok(Outcome::Cancelled);
                }
                Err(Failure::NotApplied(error) | Failure::OutcomeUnknown(error))
                    if Instant::now() >= deadline =>
                {
                    return Err(unknown(error));
                }
                _ => {}
            }
        }
    }

    /// Writes the records, creates the gate and applies the records.
    fn stage(
        &self,
        plan: &WritePlan,
        mut guards: Vec<Guard>,
        changes: Vec<u8>,
        session: &mut Session,
    ) -> Result<Option<Applied>> {
        let bounds = self.cells.bounds();
        let records = plan.records(&self.layout, bounds);
        let mut bytes: Vec<_> = records.iter().map(|record| encode_writes(record)).collect();
        let gate = Gate {
            id: new_id(),
            session: session.name,
            sequence: session.sequence,
            next: 0,
            count: u32::try_from(bytes.len()).unwrap_or(u32::MAX),
        };
        bytes.push(changes);
        self.put_records(&gate.id, &bytes)?;
        let last = self.layout.record(&gate.id, gate.count);
        guards.push(Guard::Present(last));
        // Gate and session are written together, so that the gate cannot be created after the session was
        // marked as cancelled.
        let make = [
            Write::Put(self.layout.gate(), gate.encode()),
            Write::Put(
                self.layout.session(&session.name),
                encode_gated(session.sequence),
            ),
        ];
        let mut before = None;
        match self.cells.transact(&guards, &make) {
            Ok(Some(revision)) => {
                session.modified = revision;
                before = self.version_before(revision);
            }
            Ok(None) => {
                self.drop_records(&gate.id);
                return Ok(None);
            }
            Err(Failure::NotApplied(error)) => {
                self.drop_records(&gate.id);
                return Err(error);
            }
            Err(Failure::OutcomeUnknown(error)) => match self.resolve(session, &error)? {
                Outcome::Done(revision) => return Ok(Some(revision.into())),
                Outcome::Gated => {}
                Outcome::Cancelled => {
                    self.drop_records(&gate.id);
                    return Ok(None);
                }
            },
        }
        let lost = Error::new(ErrorKind::Unavailable, "another process finished it");
        let revision = match self.finish(gate, &bytes) {
            Ok(Some(revision)) => revision,
            Ok(None) => self.finished_by_another(session, &lost)?,
            Err(error) => self.finished_by_another(session, &error)?,
        };
        session.modified = revision;
        Ok(Some(Applied { revision, before }))
    }

    /// The newest version when the gate was created; no other process commits after that. `None` if it
    /// cannot be read, as it is optional.
    fn version_before(&self, gate_revision: u64) -> Option<Version> {
        let cell = self.read_one(self.layout.head()).ok()?;
        let revision = cell.map_or(0, |cell| cell.modified);
        (revision < gate_revision).then_some(Version(revision))
    }

    /// The gate was created, so the commit will be applied; the session shows whether it already is.
    fn finished_by_another(&self, session: &Session, lost: &Error) -> Result<u64> {
        let cell = self.read_one(self.layout.session(&session.name));
        match cell {
            Ok(Some(cell)) if is_done(&cell.value, session.sequence) => Ok(cell.modified),
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
                self.put_idempotent(&writes)?;
                writes.clear();
                bytes = 0;
            }
            bytes += record.len();
            writes.push(Write::Put(self.layout.record(id, number), record.clone()));
            if writes.len() == bounds.operations {
                bytes = bounds.bytes;
            }
        }
        self.put_idempotent(&writes)
    }

    /// Writes with retries; the writes must be idempotent.
    fn put_idempotent(&self, writes: &[Write]) -> Result<()> {
        let deadline = Instant::now() + self.cells.retry_timeout();
        loop {
            match self.cells.transact(&[], writes) {
                Ok(_) => return Ok(()),
                Err(Failure::OutcomeUnknown(_)) if Instant::now() < deadline => {}
                Err(Failure::OutcomeUnknown(error) | Failure::NotApplied(error)) => {
                    return Err(error);
                }
            }
        }
    }

    fn drop_records(&self, id: &[u8; ID_BYTES]) {
        let range = self.layout.stage(id);
        if let Err(error) = self.transact_once(&[], &[Write::DeleteRange(range)]) {
            tracing::warn!(%error, "records of a staged batch are left behind");
        }
    }

    /// Applies the remaining records of the batch that the gate names, concurrently with other processes.
    /// `records` are its records, if this process created them. `None` if another process finished it.
    pub(super) fn finish(&self, mut gate: Gate, records: &[Vec<u8>]) -> Result<Option<u64>> {
        let name = self.layout.gate();
        let deadline = Instant::now() + self.cells.retry_timeout();
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
                    let session = self.layout.session(&gate.session);
                    writes.push(Write::Put(session, encode_done(gate.sequence)));
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
                    Err(Failure::OutcomeUnknown(_)) if Instant::now() < deadline => {}
                    Err(Failure::OutcomeUnknown(error) | Failure::NotApplied(error)) => {
                        return Err(error);
                    }
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

/// The error of a commit whose outcome cannot be determined.
fn unknown(lost: &Error, error: Option<Error>) -> Error {
    let message = format!(
        "the connection broke during a commit ({lost}), and the engine cannot be reached to find out \
         whether the commit was applied; read before trying again"
    );
    let unknown = Error::new(ErrorKind::OutcomeUnknown, message);
    match error {
        Some(error) => unknown.with_source(error),
        None => unknown,
    }
}

/// A random ID that starts with its creation time.
fn new_id() -> [u8; ID_BYTES] {
    let mut id = [0; ID_BYTES];
    rand::rng().fill_bytes(&mut id);
    id[..8].copy_from_slice(&now_ms().to_be_bytes());
    id
}

//! The driver over a cell store.

use std::sync::Arc;
use std::time::Instant;

use espalier_keyspace::{
    Batch, Capability, Committed, Direction, Driver, DriverExtension, Error, ErrorKind, Finding,
    KeyRange, Precondition, Prefetch, Purpose, Result, Snapshot, Step, Usage, Version, Watch,
    WriteBody,
};
use parking_lot::{Mutex, RwLock};

use super::config::{FORMAT, STALE};
use super::engine::{
    CellStore, Failure, Gate, Guard, ID_BYTES, Layout, Read, SessionPool, Write, age_ms,
    encode_changes, now_ms,
};
use super::snapshot::StagedSnapshot;
use super::watch::StagedWatch;
use crate::buffered;

/// Maximum number of leftovers that are examined when a key space is opened.
const STALE_CHECKED_MAX: usize = 256;

/// A key space over a cell store.
pub(crate) struct StagedDriver<C> {
    pub(super) shared: Arc<Shared<C>>,
}

/// State shared by the driver, snapshots and watches.
pub(crate) struct Shared<C> {
    pub(super) cells: C,
    pub(super) layout: Layout,
    pub(super) sessions: SessionPool,
    /// Locked by a commit of this process that had a conflict.
    pub(super) contention_lock: Mutex<()>,
    /// Write-locked by a streamed write, read-locked by a commit.
    pub(super) write_lock: RwLock<()>,
}

impl<C: CellStore> StagedDriver<C> {
    /// Opens the key space with a prefix, creates it if it does not exist, finishes a staged commit, and
    /// removes stale data of dead processes.
    pub(crate) fn open(cells: C, prefix: &[u8]) -> Result<Self> {
        let shared = Arc::new(Shared {
            cells,
            layout: Layout::new(prefix),
            sessions: SessionPool::default(),
            contention_lock: Mutex::new(()),
            write_lock: RwLock::new(()),
        });
        shared.create()?;
        if let Some((gate, _)) = shared.gate()? {
            shared.finish(gate, &[])?;
        }
        if let Err(error) = shared.remove_stale() {
            tracing::warn!(%error, "stale data of other processes cannot be removed");
        }
        Ok(Self { shared })
    }
}

impl<C: CellStore> Shared<C> {
    fn create(&self) -> Result<()> {
        let deadline = Instant::now() + self.cells.retry_timeout();
        loop {
            let format = self.read_one(self.layout.format())?;
            match format.map(|cell| cell.value) {
                Some(found) if found == FORMAT => return Ok(()),
                Some(found) => {
                    let message = format!(
                        "the key space has format {}; this program supports {}; use a newer program",
                        found.escape_ascii(),
                        FORMAT.escape_ascii()
                    );
                    return Err(Error::new(ErrorKind::WrongVersion, message));
                }
                None => {}
            }
            let guards = [Guard::Absent(self.layout.format())];
            let writes = [
                Write::Put(self.layout.format(), FORMAT.to_vec()),
                Write::Put(self.layout.head(), encode_changes(None)),
            ];
            match self.cells.transact(&guards, &writes) {
                Err(Failure::NotApplied(error)) => return Err(error),
                Err(Failure::OutcomeUnknown(error)) if Instant::now() >= deadline => {
                    return Err(error);
                }
                _ => {}
            }
        }
    }

    /// Reads the newest state of one cell.
    pub(super) fn read_one(&self, cell: Vec<u8>) -> Result<Option<super::engine::Cell>> {
        let mut found = self.cells.read(&[Read::One(cell)], None)?;
        Ok(found.cells.pop().and_then(|mut cells| cells.pop()))
    }

    /// Reads the gate and the revision that created it.
    pub(super) fn gate(&self) -> Result<Option<(Gate, u64)>> {
        let cell = self.read_one(self.layout.gate())?;
        cell.map(|cell| Ok((Gate::decode(&cell.value)?, cell.created)))
            .transpose()
    }

    fn remove_stale(&self) -> Result<()> {
        let stale_ms = u64::try_from(STALE.as_millis()).unwrap_or(u64::MAX);
        let reads = |range: KeyRange| Read::Some {
            range,
            direction: Direction::Forward,
            limit: STALE_CHECKED_MAX,
        };
        let mut found = self.cells.read(&[reads(self.layout.sessions())], None)?;
        for session in found.cells.pop().unwrap_or_default() {
            if age_ms(&session.value) > stale_ms {
                let guard = Guard::Modified(session.key.clone(), session.modified);
                self.transact_once(&[guard], &[Write::Delete(session.key)])?;
            }
        }
        let mut rest = self.layout.stages();
        for _ in 0..STALE_CHECKED_MAX {
            let first = Read::Some {
                range: rest.clone(),
                direction: Direction::Forward,
                limit: 1,
            };
            let mut found = self.cells.read(&[first], None)?;
            let Some(record) = found.cells.pop().and_then(|mut cells| cells.pop()) else {
                break;
            };
            let Some(id) = self.layout.key(&record.key).first_chunk::<ID_BYTES>() else {
                break;
            };
            let stage = self.layout.stage(id);
            // An ID starts with its creation time. Without a gate nothing applies the records; a process
            // that still tries to create their gate fails because they are missing.
            let made = id.first_chunk().map_or(0, |ms| u64::from_be_bytes(*ms));
            if now_ms().saturating_sub(made) > stale_ms {
                let guard = Guard::Absent(self.layout.gate());
                self.transact_once(&[guard], &[Write::DeleteRange(stage.clone())])?;
            }
            rest.start = stage.end.unwrap_or_default();
        }
        Ok(())
    }

    /// Runs a transaction whose outcome does not matter.
    pub(super) fn transact_once(&self, guards: &[Guard], writes: &[Write]) -> Result<()> {
        match self.cells.transact(guards, writes) {
            Ok(_) => Ok(()),
            Err(Failure::NotApplied(error) | Failure::OutcomeUnknown(error)) => Err(error),
        }
    }
}

impl<C: CellStore> Driver for StagedDriver<C> {
    fn name(&self) -> &'static str {
        self.shared.cells.name()
    }

    fn capability(&self) -> Capability {
        Capability {
            durable: true,
            shared: true,
            native_add: false,
            remote: true,
            watch: self.shared.cells.watch_kind(),
            operations_max: Some(self.shared.cells.bounds().operations),
        }
    }

    fn snapshot(&self) -> Result<Box<dyn Snapshot + Send>> {
        Ok(Box::new(StagedSnapshot::newest(&self.shared)?))
    }

    fn commit(&self, batch: Batch) -> Result<Committed> {
        batch.check_limits()?;
        let _commit = self.shared.write_lock.read();
        let (version, from) = self.shared.commit(&batch, None)?;
        let step = from.map(|from| Step { from, batch });
        Ok(Committed { version, step })
    }

    fn write(&self, preconditions: &[Precondition], fill: WriteBody<'_>) -> Result<Version> {
        let _write = self.shared.write_lock.write();
        let engine = buffered::Engine {
            snapshot: &|| Ok(Box::new(StagedSnapshot::newest(&self.shared)?)),
            commit: &|batch, unchanged_since| Ok(self.shared.commit(batch, unchanged_since)?.0),
        };
        buffered::write(&engine, preconditions, fill)
    }

    fn watch(&self, range: KeyRange, after: Version) -> Result<Box<dyn Watch>> {
        let watch = StagedWatch::new(&self.shared, range, after)?;
        Ok(Box::new(watch))
    }

    fn usage(&self) -> Result<Usage> {
        StagedSnapshot::newest(&self.shared)?.usage()
    }

    fn check(&self) -> Result<Vec<Finding>> {
        StagedSnapshot::newest(&self.shared)?.check()
    }

    fn flush(&self) -> Result<()> {
        // Everything acknowledged by the engine is durable.
        Ok(())
    }

    fn extension(&self) -> Option<&dyn DriverExtension> {
        Some(self)
    }
}

impl<C: CellStore> DriverExtension for StagedDriver<C> {
    fn snapshot_for(
        &self,
        _purpose: Purpose,
        expect: Prefetch<'_>,
    ) -> Result<Box<dyn Snapshot + Send>> {
        let snapshot = StagedSnapshot::newest_expecting(&self.shared, expect)?;
        Ok(Box::new(snapshot))
    }
}

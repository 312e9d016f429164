//! The driver over an engine of cells.

use std::sync::Arc;
use std::time::Instant;

use espalier_keyspace::{
    Batch, Capability, Committed, Direction, Driver, Error, ErrorKind, Expect, Fill, Finding,
    KeyRange, Precondition, Result, Snapshot, Step, Usage, Version, Watch,
};
use parking_lot::{Mutex, RwLock};

use super::config::{FORMAT, STALE};
use super::engine::{
    Cells, Failure, Gate, Guard, ID_BYTES, Lanes, Layout, Read, Write, age_ms, encode_changes,
    now_ms,
};
use super::snapshot::StagedSnapshot;
use super::watch::StagedWatch;
use crate::buffered;

/// Leftovers that are looked at when a key space is opened.
const SWEEP_MAX: usize = 256;

/// A key space over an engine of cells.
pub(crate) struct Staged<C> {
    pub(super) shared: Arc<Shared<C>>,
}

/// What snapshots and watches share with the driver.
pub(crate) struct Shared<C> {
    pub(super) cells: C,
    pub(super) layout: Layout,
    pub(super) lanes: Lanes,
    /// Held by a commit of this process that another one got in the way of.
    pub(super) contended: Mutex<()>,
    /// Held for writing by a streamed write, for reading by a commit.
    pub(super) writing: RwLock<()>,
}

impl<C: Cells> Staged<C> {
    /// Opens the key space of a prefix, makes it where there is none, finishes what a gate says and
    /// sweeps up what processes left that are long gone.
    pub(crate) fn open(cells: C, prefix: &[u8]) -> Result<Self> {
        let shared = Arc::new(Shared {
            cells,
            layout: Layout::new(prefix),
            lanes: Lanes::default(),
            contended: Mutex::new(()),
            writing: RwLock::new(()),
        });
        shared.create()?;
        if let Some((gate, _)) = shared.gate()? {
            shared.finish(gate, &[])?;
        }
        if let Err(error) = shared.sweep() {
            tracing::warn!(%error, "what other processes left behind is not swept up");
        }
        Ok(Self { shared })
    }
}

impl<C: Cells> Shared<C> {
    fn create(&self) -> Result<()> {
        let deadline = Instant::now() + self.cells.patience();
        loop {
            let format = self.read_one(self.layout.format())?;
            match format.map(|cell| cell.value) {
                Some(found) if found == FORMAT => return Ok(()),
                Some(found) => {
                    let message = format!(
                        "the key space has format {}; this program reads {}; use a newer one",
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
                Err(Failure::Refused(error)) => return Err(error),
                Err(Failure::Lost(error)) if Instant::now() >= deadline => return Err(error),
                _ => {}
            }
        }
    }

    /// The newest state of one cell.
    pub(super) fn read_one(&self, cell: Vec<u8>) -> Result<Option<super::engine::Cell>> {
        let mut found = self.cells.read(&[Read::One(cell)], None)?;
        Ok(found.cells.pop().and_then(|mut cells| cells.pop()))
    }

    /// The gate, and the revision that made it.
    pub(super) fn gate(&self) -> Result<Option<(Gate, u64)>> {
        let cell = self.read_one(self.layout.gate())?;
        cell.map(|cell| Ok((Gate::decode(&cell.value)?, cell.created)))
            .transpose()
    }

    fn sweep(&self) -> Result<()> {
        let stale_ms = u64::try_from(STALE.as_millis()).unwrap_or(u64::MAX);
        let reads = |range: KeyRange| Read::Some {
            range,
            direction: Direction::Forward,
            limit: SWEEP_MAX,
        };
        let mut found = self.cells.read(&[reads(self.layout.lanes())], None)?;
        for lane in found.cells.pop().unwrap_or_default() {
            if age_ms(&lane.value) > stale_ms {
                let guard = Guard::Modified(lane.key.clone(), lane.modified);
                self.try_to(&[guard], &[Write::Delete(lane.key)])?;
            }
        }
        let mut rest = self.layout.stages();
        for _ in 0..SWEEP_MAX {
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
            // A name begins with the time it was made at. Nobody applies it while there is no gate,
            // and whoever still means to will see that it is gone.
            let made = id.first_chunk().map_or(0, |ms| u64::from_be_bytes(*ms));
            if now_ms().saturating_sub(made) > stale_ms {
                let guard = Guard::Absent(self.layout.gate());
                self.try_to(&[guard], &[Write::DeleteRange(stage.clone())])?;
            }
            rest.start = stage.end.unwrap_or_default();
        }
        Ok(())
    }

    /// A transaction whose outcome does not matter.
    pub(super) fn try_to(&self, guards: &[Guard], writes: &[Write]) -> Result<()> {
        match self.cells.transact(guards, writes) {
            Ok(_) => Ok(()),
            Err(Failure::Refused(error) | Failure::Lost(error)) => Err(error),
        }
    }
}

impl<C: Cells> Driver for Staged<C> {
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
        self.snapshot_expecting(&|_| {})
    }

    fn snapshot_expecting(&self, expect: Expect<'_>) -> Result<Box<dyn Snapshot + Send>> {
        let snapshot = StagedSnapshot::newest_expecting(&self.shared, expect)?;
        Ok(Box::new(snapshot))
    }

    fn commit_step(&self, batch: Batch) -> Result<Committed> {
        batch.check_limits()?;
        let _commit = self.shared.writing.read();
        let (version, from) = self.shared.commit(&batch, None)?;
        let step = from.map(|from| Step { from, batch });
        Ok(Committed { version, step })
    }

    fn write(&self, preconditions: &[Precondition], fill: Fill<'_>) -> Result<Version> {
        let _write = self.shared.writing.write();
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
        // What the engine acknowledges is durable.
        Ok(())
    }
}

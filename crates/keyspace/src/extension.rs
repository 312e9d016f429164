//! The optional methods of a driver, and what callers get from a driver without them.

use std::sync::Arc;

use crate::{CacheStatus, Driver, ImportDocument, Lens, Prefetch, Result, Snapshot, Version};

/// The purpose of a snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Answering a request. The snapshot shows the newest committed state.
    Read,
    /// Computing a change whose commit has preconditions on what was read. The driver may return a cached
    /// state without contacting the engine, if that saves a round trip and the state is probably the
    /// newest: a stale state makes the commit fail with a conflict. A caller that decides to commit nothing
    /// checks with [`DriverExtension::is_current`].
    Update,
}

// Why these are not methods of `Driver`: docs/decisions/0065.
/// Methods that a driver can do without. Each has a default, so a driver overrides only those that it
/// needs, and returns itself from [`Driver::extension`].
pub trait DriverExtension: Driver {
    /// Like [`Driver::snapshot`], with a list of the expected reads. An engine behind a network prefetches
    /// them in the same round trip, if it can; other engines do not call `expect`. `expect` is called at
    /// most once. The list is a hint: other keys can be read, and listed keys need not be read.
    fn snapshot_for(
        &self,
        _purpose: Purpose,
        _expect: Prefetch<'_>,
    ) -> Result<Box<dyn Snapshot + Send>> {
        self.snapshot()
    }

    /// Returns whether a snapshot of version `seen` included all commits made by any process before this
    /// call. If not, later snapshots do. Snapshots include them anyway, unless the driver returns a cached
    /// state (because of a policy, or for [`Purpose::Update`]). On such a driver, a caller that decided to
    /// reject a change, or that there is nothing to change, calls this and decides again on `false`. A
    /// change that is committed does not need the call, as its preconditions detect a stale state; so it
    /// costs no second round trip.
    fn is_current(&self, _seen: Version) -> Result<bool> {
        Ok(true)
    }

    /// Makes every later [`Driver::snapshot`] include all commits made by any process before this call. For
    /// decisions that no precondition protects.
    fn catch_up(&self) -> Result<()> {
        Ok(())
    }

    /// Returns which part of the engine is cached in memory, and how current the cache is. Cheap, except
    /// for [`crate::Policy::Ram`], where it is linear in the keys.
    fn cache_status(&self) -> CacheStatus {
        CacheStatus::default()
    }

    /// Returns how many marks of deleted keys scans have passed since the driver was opened: what was deleted before, and
    /// is not gone yet. An engine without such marks returns 0.
    fn tombstones_passed(&self) -> u64 {
        0
    }

    /// Writes all pending data to disk, including data derived from the rows. Called when no commit is
    /// expected for a while, as at the end of a serving process. The driver remains usable.
    fn flush_all(&self) -> Result<()> {
        self.flush()
    }

    /// Gives the driver a lens; drivers that store human-readable data keep it. Called once after opening,
    /// before anything else is committed. If readable documents were edited while the engine was closed,
    /// `take` is called for each of them; it may commit. Its first error ends the call. Drivers that store
    /// no readable data ignore the lens.
    fn set_lens(&self, _lens: Arc<dyn Lens>, _take: ImportDocument<'_>) -> Result<()> {
        Ok(())
    }
}

/// The optional methods, for callers: without the extension, each does what its default does.
impl dyn Driver + '_ {
    /// [`DriverExtension::snapshot_for`] reading.
    pub fn snapshot_with_prefetch(&self, expect: Prefetch<'_>) -> Result<Box<dyn Snapshot + Send>> {
        self.snapshot_for(Purpose::Read, expect)
    }

    /// [`DriverExtension::snapshot_for`] an update.
    pub fn snapshot_for_update(&self, expect: Prefetch<'_>) -> Result<Box<dyn Snapshot + Send>> {
        self.snapshot_for(Purpose::Update, expect)
    }

    /// [`DriverExtension::snapshot_for`].
    pub fn snapshot_for(
        &self,
        purpose: Purpose,
        expect: Prefetch<'_>,
    ) -> Result<Box<dyn Snapshot + Send>> {
        match self.extension() {
            Some(extension) => extension.snapshot_for(purpose, expect),
            None => self.snapshot(),
        }
    }

    /// [`DriverExtension::is_current`].
    pub fn is_current(&self, seen: Version) -> Result<bool> {
        self.extension()
            .map_or(Ok(true), |extension| extension.is_current(seen))
    }

    /// [`DriverExtension::catch_up`].
    pub fn catch_up(&self) -> Result<()> {
        self.extension()
            .map_or(Ok(()), |extension| extension.catch_up())
    }

    /// [`DriverExtension::cache_status`].
    pub fn cache_status(&self) -> CacheStatus {
        let status = self.extension().map(|extension| extension.cache_status());
        status.unwrap_or_default()
    }

    /// [`DriverExtension::tombstones_passed`].
    pub fn tombstones_passed(&self) -> u64 {
        self.extension()
            .map_or(0, |extension| extension.tombstones_passed())
    }

    /// [`DriverExtension::flush_all`].
    pub fn flush_all(&self) -> Result<()> {
        match self.extension() {
            Some(extension) => extension.flush_all(),
            None => self.flush(),
        }
    }

    /// [`DriverExtension::set_lens`].
    pub fn set_lens(&self, lens: Arc<dyn Lens>, take: ImportDocument<'_>) -> Result<()> {
        self.extension()
            .map_or(Ok(()), |extension| extension.set_lens(lens, take))
    }
}

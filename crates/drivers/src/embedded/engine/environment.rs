//! The LMDB environment, its transactions, and its map. The journal is merged into it.

use std::fs::OpenOptions;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use espalier_keyspace::{Error, Result};
use heed::types::Bytes;
use heed::{Database, Env, EnvInfo, RoTxn, RwTxn, WithoutTls};

use super::error::{commit_error, engine_error, is_map_full, is_map_outgrown, map_full_error};
use super::remap_lock::{Busy, Gate};
use crate::files::{Access, path_error};

/// Bytes of address space reserved by default: 1 TiB, or less if the system refuses.
pub const MAP_BYTES: usize = 1 << 40;

/// Bytes of address space reserved beyond the end of the file: 16 GiB. A streamed write cannot be retried
/// with a larger map, as its fill function is called only once.
pub const HEADROOM_BYTES: usize = 16 << 30;

/// The smallest map: 1 MiB.
pub const MAP_BYTES_MIN: usize = 1 << 20;

/// Map sizes are multiples of this, as they must be multiples of any page size: 64 KiB.
pub(in crate::embedded) const MAP_BYTES_STEP: usize = 1 << 16;

/// Maximum number of snapshots of all processes.
pub const READERS_MAX: u32 = 4096;

/// How long growing a full map waits for the snapshots of this process.
pub const GROW_TIMEOUT: Duration = Duration::from_secs(10);

/// LMDB's data file.
pub(in crate::embedded) const DATA_FILE: &str = "data.mdb";

/// All keys: the unnamed database of the environment.
pub(in crate::embedded) type Keys = Database<'static, Bytes, Bytes>;

/// LMDB in an open directory.
pub(in crate::embedded) struct Lmdb {
    /// The directory, with links resolved.
    pub(in crate::embedded) dir: PathBuf,
    pub(in crate::embedded) env: Env<WithoutTls>,
    pub(in crate::embedded) keys: Keys,
    /// Entered by transactions, closed while the map is resized.
    pub(in crate::embedded) gate: Gate,
    pub(in crate::embedded) access: Access,
}

/// Why a map is not larger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::embedded) enum Shortage {
    /// This process holds snapshots; its map can only be replaced while it holds none.
    Snapshots,
    /// The system does not give this process more address space.
    AddressSpace,
}

/// A guard: the gate is entered.
pub(in crate::embedded) struct GateGuard {
    base: Arc<Lmdb>,
}

impl GateGuard {
    fn enter(base: &Arc<Lmdb>) -> Self {
        base.gate.enter();
        Self {
            base: Arc::clone(base),
        }
    }

    pub(in crate::embedded) fn base(&self) -> &Lmdb {
        &self.base
    }
}

impl Drop for GateGuard {
    fn drop(&mut self) {
        self.base.gate.leave();
    }
}

/// How long growing a map that is not full waits for snapshots, before a write.
const RESERVE_TIMEOUT: Duration = Duration::from_millis(20);

/// How often beginning a transaction is tried: the map may be outgrown, or the reader table full of slots
/// of dead processes.
const BEGIN_ATTEMPTS: usize = 3;

impl Lmdb {
    /// The path of the data file.
    pub(in crate::embedded) fn data_path(&self) -> PathBuf {
        self.dir.join(DATA_FILE)
    }

    /// Converts an LMDB error.
    pub(in crate::embedded) fn error(&self, error: heed::Error) -> Error {
        engine_error(&self.dir, error)
    }

    /// The ID of the newest transaction visible to readers.
    pub(in crate::embedded) fn newest(self: &Arc<Self>) -> Result<u64> {
        let (_gate_guard, txn) = self.begin_read()?;
        Ok(txn.id() as u64)
    }

    /// The ID of the newest transaction, after an unfinished one of a dead process is resolved.
    pub(in crate::embedded) fn newest_resolved(self: &Arc<Self>) -> Result<u64> {
        let (_gate_guard, txn) = self.begin_write()?;
        let number = txn.id() as u64 - 1;
        txn.abort();
        Ok(number)
    }

    /// LMDB's information on its file. Reads the map, so the map must not be replaced meanwhile.
    fn info(&self) -> EnvInfo {
        self.gate.enter();
        let info = self.env.info();
        self.gate.leave();
        info
    }

    /// Whether there may be a newer transaction. (LMDB's file information is ahead of readers while another
    /// process flushes a commit.)
    pub(in crate::embedded) fn may_have_newer(&self, transaction: u64) -> bool {
        self.info().last_txn_id as u64 > transaction
    }

    /// Begins a read transaction. The last element of the result must be dropped first, as it is when both
    /// are bound in one pattern.
    pub(in crate::embedded) fn begin_read(
        self: &Arc<Self>,
    ) -> Result<(GateGuard, RoTxn<'static, WithoutTls>)> {
        self.begin(Self::read_txn)
    }

    /// Begins a read transaction whose ID matches the state that it shows.
    ///
    /// LMDB first reads the ID of the newest transaction, then the roots from that one of its two meta
    /// pages that belongs to the ID. If the thread is suspended in between and two transactions are
    /// committed, it reads the roots of the second under its own ID: a consistent state whose pages are not
    /// reused, but of another version. So it begins again if a second transaction has been committed since.
    /// (A single one writes the other meta page, and is visible there before it is on disk: that needs no
    /// retry.)
    fn read_txn(&self) -> heed::Result<RoTxn<'static, WithoutTls>> {
        loop {
            let txn = self.env.clone().static_read_txn()?;
            if self.env.info().last_txn_id <= txn.id() + 1 {
                return Ok(txn);
            }
        }
    }

    /// Begins a write transaction, after those of other processes. The last element of the result must be
    /// dropped first.
    pub(in crate::embedded) fn begin_write(self: &Arc<Self>) -> Result<(GateGuard, RwTxn<'_>)> {
        self.begin(|base| base.env.write_txn())
    }

    /// Enters the gate and begins a transaction, after removing what prevents it.
    fn begin<'s, T>(
        self: &'s Arc<Self>,
        begin: impl Fn(&'s Self) -> heed::Result<T>,
    ) -> Result<(GateGuard, T)> {
        for _ in 1..BEGIN_ATTEMPTS {
            let gate_guard = GateGuard::enter(self);
            match begin(self) {
                Ok(txn) => return Ok((gate_guard, txn)),
                Err(error) => {
                    drop(gate_guard);
                    self.recover(error)?;
                }
            }
        }
        let gate_guard = GateGuard::enter(self);
        let txn = begin(self).map_err(|error| self.error(error))?;
        Ok((gate_guard, txn))
    }

    /// Removes the cause of an error at the beginning of a transaction, if possible.
    fn recover(&self, error: heed::Error) -> Result<()> {
        match &error {
            error if is_map_outgrown(error) => self.adopt_map_size(),
            heed::Error::Mdb(heed::MdbError::ReadersFull) => self
                .env
                .clear_stale_readers()
                .map(drop)
                .map_err(|error| self.error(error)),
            _ => Err(self.error(error)),
        }
    }

    /// Adopts the size that another process has given to the file.
    fn adopt_map_size(&self) -> Result<()> {
        let used = self.used_bytes();
        let target = used.saturating_add(HEADROOM_BYTES);
        self.resize_to_at_least(GROW_TIMEOUT, used, target)
    }

    /// Doubles the map, or grows it as far as the system allows. The caller holds no transaction.
    pub(in crate::embedded) fn grow_map(&self) -> Result<()> {
        let map_bytes = self.info().map_size;
        let target = map_bytes.saturating_mul(2);
        self.resize_to_at_least(GROW_TIMEOUT, map_bytes + MAP_BYTES_STEP, target)
    }

    /// Makes sure that `bytes` more fit into the map, or as much as the system allows. Returns why it is
    /// less.
    pub(in crate::embedded) fn reserve(&self, bytes: usize) -> Option<Shortage> {
        let target = self.used_bytes().saturating_add(bytes);
        if self.info().map_size >= target {
            return None;
        }
        match self.resize(RESERVE_TIMEOUT, target) {
            Ok(reserved) if reserved >= target => None,
            Err(Resize::Busy) => Some(Shortage::Snapshots),
            Ok(_) | Err(Resize::Failed(_)) => Some(Shortage::AddressSpace),
        }
    }

    /// Bytes of the file up to the last used page.
    fn used_bytes(&self) -> usize {
        self.gate.enter();
        let bytes = self.used_bytes_in_gate();
        self.gate.leave();
        bytes
    }

    /// The same for callers inside the gate.
    fn used_bytes_in_gate(&self) -> usize {
        let page_bytes = self.env.unnamed_database_stat().page_size as usize;
        (self.env.info().last_page_number + 1) * page_bytes
    }

    fn resize_to_at_least(&self, timeout: Duration, least: usize, target: usize) -> Result<()> {
        match self.resize(timeout, target) {
            Ok(reserved) if reserved >= least => Ok(()),
            Ok(reserved) => Err(map_full_error(reserved, Some(Shortage::AddressSpace))),
            Err(Resize::Busy) => Err(map_full_error(
                self.info().map_size,
                Some(Shortage::Snapshots),
            )),
            Err(Resize::Failed(error)) => Err(self.error(error)),
        }
    }

    /// Grows the map to `target`, or as far as the system allows; returns its size. The map never shrinks.
    fn resize(&self, timeout: Duration, target: usize) -> std::result::Result<usize, Resize> {
        self.gate.exclusive(timeout, || {
            let map_bytes = self.env.info().map_size;
            let Some(bytes) = largest_possible_map(map_bytes, target) else {
                return Ok(map_bytes);
            };
            // SAFETY: no thread of this process is in a transaction, as the gate is held exclusively.
            unsafe { self.env.resize(bytes) }.map_err(Resize::Failed)?;
            Ok(bytes)
        })?
    }

    /// The error of a write, some of whose pages may be in the file; `shortage` is why the map was not
    /// grown.
    pub(in crate::embedded) fn write_error(
        &self,
        error: heed::Error,
        shortage: Option<Shortage>,
    ) -> Error {
        match is_map_full(&error) {
            true => map_full_error(self.info().map_size, shortage).with_source(error),
            false => commit_error(&self.dir, error),
        }
    }

    /// Releases the disk space of pages beyond the newest state, written by a write that failed or was
    /// killed. The caller holds no transaction; waits for a write of another process.
    pub(in crate::embedded) fn release_unused_space(self: &Arc<Self>) {
        if let Err(error) = self.try_release_unused_space() {
            let dir = self.dir.display();
            tracing::warn!(%dir, %error, "the disk space of a failed write cannot be released");
        }
    }

    fn try_release_unused_space(self: &Arc<Self>) -> Result<()> {
        if !self.has_unused_tail()? {
            return Ok(());
        }
        // As the only writer, so that no other process is writing such pages. Readers do not use them.
        let (_gate_guard, txn) = self.begin_write()?;
        let used = self.used_bytes_in_gate() as u64;
        if self.file_bytes()? > used {
            let path = self.data_path();
            let file = OpenOptions::new().write(true).open(&path);
            let truncated = file.and_then(|file| file.set_len(used));
            truncated.map_err(path_error(&path, "truncated"))?;
        }
        txn.abort();
        Ok(())
    }

    /// Whether the file extends beyond the last page of the newest state.
    pub(in crate::embedded) fn has_unused_tail(&self) -> Result<bool> {
        Ok(self.file_bytes()? > self.used_bytes() as u64)
    }

    fn file_bytes(&self) -> Result<u64> {
        self.env.real_disk_size().map_err(|error| self.error(error))
    }
}

/// Why a map was not grown.
enum Resize {
    /// This process holds snapshots.
    Busy,
    Failed(heed::Error),
}

impl From<Busy> for Resize {
    fn from(Busy: Busy) -> Self {
        Self::Busy
    }
}

/// The minimum growth of a map: 1 MiB.
const GROWTH_BYTES_MIN: usize = 1 << 20;

/// Address space left free when a map grows: 256 MiB. A write keeps up to 128 MiB of changed pages in
/// memory, and LMDB loses its map if another thread allocates the space first.
const SPARE_BYTES: usize = 256 << 20;

/// The size up to `target` to which a map of `map_bytes` can grow; `None` if it cannot.
fn largest_possible_map(map_bytes: usize, target: usize) -> Option<usize> {
    let mut growth = target.checked_sub(map_bytes)?;
    loop {
        let bytes = (map_bytes + growth).next_multiple_of(MAP_BYTES_STEP);
        // LMDB unmaps its old map first.
        if growth > 0 && is_address_space_free(bytes - map_bytes + SPARE_BYTES) {
            return Some(bytes);
        }
        if growth <= GROWTH_BYTES_MIN {
            return None;
        }
        growth = (growth / 2).max(GROWTH_BYTES_MIN);
    }
}

/// Whether this much address space is available. LMDB unmaps its old map before it maps the new one, and
/// has none if that fails; so it is tested first.
fn is_address_space_free(bytes: usize) -> bool {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    // SAFETY: creates and removes a new mapping that nothing else uses.
    unsafe {
        let tried = libc::mmap(
            std::ptr::null_mut(),
            bytes.max(1),
            libc::PROT_NONE,
            flags,
            -1,
            0,
        );
        tried != libc::MAP_FAILED && libc::munmap(tried, bytes.max(1)) == 0
    }
}

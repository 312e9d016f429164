//! The LMDB environment, its transactions, and its map: what the journal is merged into.

use std::fs::OpenOptions;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use espalier_keyspace::{Error, Result};
use heed::types::Bytes;
use heed::{Database, Env, EnvInfo, RoTxn, RwTxn, WithoutTls};

use super::error::{commit_error, engine_error, is_map_full, is_map_outgrown, map_full};
use super::gate::{Busy, Gate};
use crate::files::{Access, io_error};

/// Bytes of address space that are reserved: 1 TiB. Less where the system refuses.
pub const MAP_BYTES: usize = 1 << 40;

/// Bytes of address space that are reserved beyond the end of the file: 16 GiB. A write cannot be tried again
/// with a larger map, as what fills it is asked once.
pub const HEADROOM_BYTES: usize = 16 << 30;

/// The smallest map: 1 MiB.
pub const MAP_BYTES_MIN: usize = 1 << 20;

/// Map sizes are multiples of this, as they have to be multiples of any page size: 64 KiB.
pub(in crate::embedded) const MAP_BYTES_STEP: usize = 1 << 16;

/// Snapshots that all processes together may hold at once.
pub const READERS_MAX: u32 = 4096;

/// How long a map that is full waits for the snapshots of this process to be dropped.
pub const GROW_PATIENCE: Duration = Duration::from_secs(10);

/// The name of the file that holds everything, as LMDB gives it.
pub(in crate::embedded) const DATA_FILE: &str = "data.mdb";

/// All keys: the unnamed database of the environment.
pub(in crate::embedded) type Keys = Database<'static, Bytes, Bytes>;

/// LMDB in an open directory.
pub(in crate::embedded) struct Base {
    /// The directory, without links in its path.
    pub(in crate::embedded) dir: PathBuf,
    pub(in crate::embedded) env: Env<WithoutTls>,
    pub(in crate::embedded) keys: Keys,
    /// Transactions are inside; remapping is alone.
    pub(in crate::embedded) gate: Gate,
    pub(in crate::embedded) access: Access,
}

/// Why a map is not larger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::embedded) enum Shortage {
    /// This process holds snapshots, and its map can only be replaced while it holds none.
    Snapshots,
    /// The system gives this process no more address space.
    AddressSpace,
}

/// Being inside the gate.
pub(in crate::embedded) struct Inside {
    base: Arc<Base>,
}

impl Inside {
    fn enter(base: &Arc<Base>) -> Self {
        base.gate.enter();
        Self {
            base: Arc::clone(base),
        }
    }

    pub(in crate::embedded) fn base(&self) -> &Base {
        &self.base
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        self.base.gate.leave();
    }
}

/// How long a map that is not full yet waits for the same, before a write.
const RESERVE_PATIENCE: Duration = Duration::from_millis(20);

/// How often a transaction is tried: it may find the map outgrown, or the reader table full of
/// slots that dead processes left.
const BEGIN_ATTEMPTS: usize = 3;

impl Base {
    /// The file that holds everything.
    pub(in crate::embedded) fn data_path(&self) -> PathBuf {
        self.dir.join(DATA_FILE)
    }

    /// The error of a call.
    pub(in crate::embedded) fn error(&self, error: heed::Error) -> Error {
        engine_error(&self.dir, error)
    }

    /// The number of the newest transaction that readers see.
    pub(in crate::embedded) fn newest(self: &Arc<Self>) -> Result<u64> {
        let (_inside, txn) = self.begin_read()?;
        Ok(txn.id() as u64)
    }

    /// The number of the newest transaction, when any that its process did not live to end has ended.
    pub(in crate::embedded) fn newest_ended(self: &Arc<Self>) -> Result<u64> {
        let (_inside, txn) = self.begin_write()?;
        let number = txn.id() as u64 - 1;
        txn.abort();
        Ok(number)
    }

    /// What LMDB says of its file. It looks into the map, which must not be given up meanwhile.
    fn info(&self) -> EnvInfo {
        self.gate.enter();
        let info = self.env.info();
        self.gate.leave();
        info
    }

    /// Whether there may be a transaction after this one. (What LMDB says of its file is newer than what
    /// readers see while another process flushes the end of a commit.)
    pub(in crate::embedded) fn seems_beyond(&self, transaction: u64) -> bool {
        self.info().last_txn_id as u64 > transaction
    }

    /// Begins to read. What is returned last has to be dropped first, as it is when both are bound at once.
    pub(in crate::embedded) fn begin_read(
        self: &Arc<Self>,
    ) -> Result<(Inside, RoTxn<'static, WithoutTls>)> {
        for _ in 1..BEGIN_ATTEMPTS {
            let inside = Inside::enter(self);
            match self.read_txn() {
                Ok(txn) => return Ok((inside, txn)),
                Err(error) => {
                    drop(inside);
                    self.recover(error)?;
                }
            }
        }
        let inside = Inside::enter(self);
        let txn = self.read_txn().map_err(|error| self.error(error))?;
        Ok((inside, txn))
    }

    /// Begins a read transaction whose number is that of what it shows.
    ///
    /// LMDB takes the number of the newest transaction first, then the roots from the one of its two
    /// meta pages that belongs to the number. A thread that is held up between the two while two
    /// transactions are committed finds the roots of the second there, under its own number: whole,
    /// and nothing in it is used again before its number is let go, but another version than it says.
    /// So it begins again where a second transaction has been committed since. (One alone writes the
    /// other meta page, and shows there before it is on the disk: nobody waits for that.)
    fn read_txn(&self) -> heed::Result<RoTxn<'static, WithoutTls>> {
        loop {
            let txn = self.env.clone().static_read_txn()?;
            if self.env.info().last_txn_id <= txn.id() + 1 {
                return Ok(txn);
            }
        }
    }

    /// Begins to write, when the writer of any other process is done. What is returned last has to be dropped
    /// first.
    pub(in crate::embedded) fn begin_write(self: &Arc<Self>) -> Result<(Inside, RwTxn<'_>)> {
        for _ in 1..BEGIN_ATTEMPTS {
            let inside = Inside::enter(self);
            match self.env.write_txn() {
                Ok(txn) => return Ok((inside, txn)),
                Err(error) => {
                    drop(inside);
                    self.recover(error)?;
                }
            }
        }
        let inside = Inside::enter(self);
        let txn = self.env.write_txn().map_err(|error| self.error(error))?;
        Ok((inside, txn))
    }

    /// Removes the cause of an error of a beginning transaction, where there is a way.
    fn recover(&self, error: heed::Error) -> Result<()> {
        match &error {
            error if is_map_outgrown(error) => self.follow_map(),
            heed::Error::Mdb(heed::MdbError::ReadersFull) => self
                .env
                .clear_stale_readers()
                .map(drop)
                .map_err(|error| self.error(error)),
            _ => Err(self.error(error)),
        }
    }

    /// Takes over the size that another process has given to the file.
    fn follow_map(&self) -> Result<()> {
        let used = self.used_bytes();
        let wanted = used.saturating_add(HEADROOM_BYTES);
        self.resize_to_at_least(GROW_PATIENCE, used, wanted)
    }

    /// Doubles the map, or makes it larger by as much as the system allows. The caller holds no transaction.
    pub(in crate::embedded) fn grow_map(&self) -> Result<()> {
        let map_bytes = self.info().map_size;
        let wanted = map_bytes.saturating_mul(2);
        self.resize_to_at_least(GROW_PATIENCE, map_bytes + MAP_BYTES_STEP, wanted)
    }

    /// Sees to it that `bytes` more fit into the map, or as much as the system allows; why it is less.
    pub(in crate::embedded) fn reserve(&self, bytes: usize) -> Option<Shortage> {
        let wanted = self.used_bytes().saturating_add(bytes);
        if self.info().map_size >= wanted {
            return None;
        }
        match self.resize(RESERVE_PATIENCE, wanted) {
            Ok(reserved) if reserved >= wanted => None,
            Err(Resize::Busy) => Some(Shortage::Snapshots),
            Ok(_) | Err(Resize::Failed(_)) => Some(Shortage::AddressSpace),
        }
    }

    /// Bytes of the file up to the last page that is in use.
    fn used_bytes(&self) -> usize {
        self.gate.enter();
        let bytes = self.used_bytes_inside();
        self.gate.leave();
        bytes
    }

    /// The same for who is inside the gate.
    fn used_bytes_inside(&self) -> usize {
        let page_bytes = self.env.unnamed_database_stat().page_size as usize;
        (self.env.info().last_page_number + 1) * page_bytes
    }

    fn resize_to_at_least(&self, patience: Duration, least: usize, wanted: usize) -> Result<()> {
        match self.resize(patience, wanted) {
            Ok(reserved) if reserved >= least => Ok(()),
            Ok(reserved) => Err(map_full(reserved, Some(Shortage::AddressSpace))),
            Err(Resize::Busy) => Err(map_full(self.info().map_size, Some(Shortage::Snapshots))),
            Err(Resize::Failed(error)) => Err(self.error(error)),
        }
    }

    /// Makes the map as large as `wanted`, or as the system allows; its bytes then. It never becomes smaller.
    fn resize(&self, patience: Duration, wanted: usize) -> std::result::Result<usize, Resize> {
        self.gate.alone(patience, || {
            let map_bytes = self.env.info().map_size;
            let Some(bytes) = largest_free(map_bytes, wanted) else {
                return Ok(map_bytes);
            };
            // SAFETY: nobody of this process is in a transaction, as the gate is held alone.
            unsafe { self.env.resize(bytes) }.map_err(Resize::Failed)?;
            Ok(bytes)
        })?
    }

    /// The error of a write, some of whose pages may be in the file; `shortage` is why the map has not been
    /// made larger for it.
    pub(in crate::embedded) fn write_error(
        &self,
        error: heed::Error,
        shortage: Option<Shortage>,
    ) -> Error {
        match is_map_full(&error) {
            true => map_full(self.info().map_size, shortage).with_source(error),
            false => commit_error(&self.dir, error),
        }
    }

    /// Gives back the disk space of pages that a write has put behind the end of the newest state and that do
    /// not count, as it failed or its process was killed. The caller holds no transaction; where another
    /// process is just writing, this waits for it.
    pub(in crate::embedded) fn give_back(self: &Arc<Self>) {
        if let Err(error) = self.try_give_back() {
            let dir = self.dir.display();
            tracing::warn!(%dir, %error, "the disk space of a write that failed is not given back");
        }
    }

    fn try_give_back(self: &Arc<Self>) -> Result<()> {
        if !self.has_more_than_counts()? {
            return Ok(());
        }
        // As the only writer: nobody is writing such pages now. Readers have none of them.
        let (_inside, txn) = self.begin_write()?;
        let used = self.used_bytes_inside() as u64;
        if self.file_bytes()? > used {
            let path = self.data_path();
            let file = OpenOptions::new().write(true).open(&path);
            let cut = file.and_then(|file| file.set_len(used));
            cut.map_err(|error| io_error(format!("{} cannot be cut", path.display()), error))?;
        }
        txn.abort();
        Ok(())
    }

    /// Whether the file goes on after the last page of the newest state.
    pub(in crate::embedded) fn has_more_than_counts(&self) -> Result<bool> {
        Ok(self.file_bytes()? > self.used_bytes() as u64)
    }

    fn file_bytes(&self) -> Result<u64> {
        self.env.real_disk_size().map_err(|error| self.error(error))
    }
}

/// Why a map was not made larger.
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

/// The least by which a map grows: 1 MiB.
const GROWTH_BYTES_MIN: usize = 1 << 20;

/// Address space that is left when a map grows: 256 MiB. A write keeps up to 128 MiB of changed pages in memory, and
/// LMDB has no map at all where another thread is faster to take what it needs.
const SPARE_BYTES: usize = 256 << 20;

/// The size up to `wanted` that a map of `map_bytes` can be given; none where it cannot grow.
fn largest_free(map_bytes: usize, wanted: usize) -> Option<usize> {
    let mut growth = wanted.checked_sub(map_bytes)?;
    loop {
        let bytes = (map_bytes + growth).next_multiple_of(MAP_BYTES_STEP);
        // LMDB gives its old map up first.
        if growth > 0 && is_free(bytes - map_bytes + SPARE_BYTES) {
            return Some(bytes);
        }
        if growth <= GROWTH_BYTES_MIN {
            return None;
        }
        growth = (growth / 2).max(GROWTH_BYTES_MIN);
    }
}

/// Whether so much address space can be had. LMDB gives up its old map before it asks for the new one, and has
/// none when that fails; so it is tried first.
fn is_free(bytes: usize) -> bool {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    // SAFETY: a new mapping, which nobody knows of, is made and given back.
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

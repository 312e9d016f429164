//! The LMDB environment, its transactions, and its map: what the journal is merged into.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use espalier_keyspace::{Error, ErrorKind, Result};
use heed::types::Bytes;
use heed::{Database, Env, EnvInfo, RoTxn, RwTxn, WithoutTls};

use super::error::{engine_error, is_map_outgrown};
use super::gate::Gate;

/// Bytes of address space that are reserved: 1 TiB. Less where the system refuses.
pub const MAP_BYTES: usize = 1 << 40;

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

    /// Takes over the map size that another process has set.
    fn follow_map(&self) -> Result<()> {
        self.remap(GROW_PATIENCE, |_| 0)
    }

    /// Doubles the map. The caller holds no transaction.
    pub(in crate::embedded) fn grow_map(&self) -> Result<()> {
        self.remap(GROW_PATIENCE, |map_bytes| map_bytes.saturating_mul(2))
    }

    /// Sees to it that `bytes` more fit into the map, as far as the system allows.
    pub(in crate::embedded) fn reserve(&self, bytes: usize) -> Result<()> {
        self.gate.enter();
        let info = self.env.info();
        let page_bytes = self.env.unnamed_database_stat().page_size as usize;
        self.gate.leave();
        let used = (info.last_page_number + 1) * page_bytes;
        let wanted = used.saturating_add(bytes).next_multiple_of(MAP_BYTES_STEP);
        if info.map_size >= wanted {
            return Ok(());
        }
        self.remap(RESERVE_PATIENCE, |_| wanted)
    }

    fn remap(&self, patience: Duration, size: impl FnOnce(usize) -> usize) -> Result<()> {
        let remapped = self.gate.alone(patience, || {
            let bytes = size(self.env.info().map_size);
            if !is_free(bytes) {
                return Err(Error::new(
                    ErrorKind::Full,
                    "the map is full, and there is no address space for a larger one",
                ));
            }
            // SAFETY: nobody of this process is in a transaction, as the gate is held alone.
            unsafe { self.env.resize(bytes) }.map_err(|error| self.error(error))
        });
        remapped.unwrap_or_else(|super::gate::Busy| {
            Err(Error::new(
                ErrorKind::Full,
                "the map is full, and a snapshot that is held for long keeps it from growing",
            ))
        })
    }
}

/// Whether so much address space can be had at once. LMDB gives up its old map before it asks for
/// the new one, and has none when that fails; so it is tried first, beside the old one.
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

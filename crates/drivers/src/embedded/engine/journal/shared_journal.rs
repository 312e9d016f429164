//! The journal of a directory, shared by the threads of a process.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use espalier_keyspace::{Error, ErrorKind, Finding, KeyRange, Result, Version};
use parking_lot::{Mutex, MutexGuard};

use super::changed_rows::ChangedRows;
use super::foreign_commits::ForeignCommits;
use super::head::{COMMIT_LOCK_TIMEOUT, Head, HeadLock, Position};
use super::segment::{HEADER_BYTES, Header, Segment};
use super::view::{ATTEMPTS, Frozen, Layers, View};
use super::{files, frame, recover};
use crate::embedded::Durability;
use crate::embedded::engine::Lmdb;
use crate::files::{Access, io_error, read_only_error};

/// Maximum bytes of keys and values of a commit that goes to the journal: 1 MiB.
pub(in crate::embedded) const FRAME_BYTES_MAX: usize = 1 << 20;

/// Maximum number of keys that a commit publishes in place, while readers wait.
const IN_PLACE_MAX: usize = 256;

// LMDB writes a page for each changed row, a journal one frame: docs/decisions/0029.
/// The journal of a directory.
pub(in crate::embedded) struct Journal {
    pub(super) base: Arc<Lmdb>,
    head: Head,
    /// The size after which a segment is completed.
    segment_bytes: u64,
    commit_lock: Mutex<()>,
    pub(super) view: Mutex<View>,
}

/// The exclusive right to commit, among all processes.
pub(in crate::embedded) struct CommitLock<'j> {
    _lock: HeadLock<'j>,
    _commit_lock: MutexGuard<'j, ()>,
}

/// A random salt.
pub(super) fn salt(generation: u64) -> u64 {
    let mut hasher = RandomState::new().build_hasher();
    hasher.write_u64(generation);
    hasher.finish()
}

impl Journal {
    /// Opens the journal of a directory, and creates it if it does not exist.
    pub(in crate::embedded) fn open(base: &Arc<Lmdb>, segment_bytes: u64) -> Result<Self> {
        let (head, mut view) = match base.access {
            Access::Write => open_head(base)?,
            Access::Read => read_head(base)?,
        };
        view.foreign = ForeignCommits::gap(view.version);
        Ok(Self {
            base: Arc::clone(base),
            head,
            segment_bytes,
            commit_lock: Mutex::new(()),
            view: Mutex::new(view),
        })
    }

    /// Waits for the turn to commit. The view then includes the commits of other processes.
    pub(in crate::embedded) fn commit_lock(&self) -> Result<CommitLock<'_>> {
        self.commit_lock_within(COMMIT_LOCK_TIMEOUT)
    }

    /// Takes the turn if no other process has it.
    pub(in crate::embedded) fn try_commit_lock(&self) -> Result<CommitLock<'_>> {
        self.commit_lock_within(Duration::ZERO)
    }

    /// Waits for the turn, with a time limit.
    pub(super) fn commit_lock_within(&self, timeout: Duration) -> Result<CommitLock<'_>> {
        let commit_lock = self.commit_lock.lock();
        let lock = lock(&self.head, &self.base.dir, timeout)?;
        self.check_not_replaced()?;
        let commit_lock = CommitLock {
            _lock: lock,
            _commit_lock: commit_lock,
        };
        let (known_base, version) = {
            let mut view = self.view.lock();
            view.follow(&self.head, &self.base)?;
            (view.base(), view.version)
        };
        // A process that committed to LMDB directly may have been killed before it updated the journal.
        if self.base.may_have_newer(known_base) {
            let merged = self.base.newest_resolved()?;
            if merged > known_base {
                self.begin_after_merge(&commit_lock, merged, Version(version.0 + 1))?;
            }
        }
        Ok(commit_lock)
    }

    /// Fails if the directory was removed or replaced: commits would be lost, and the files at its path
    /// belong to another store.
    pub(in crate::embedded) fn check_not_replaced(&self) -> Result<()> {
        self.head.check_not_replaced()
    }

    /// The newest state: the journal, and the version of LMDB that it follows.
    pub(in crate::embedded) fn view(&self) -> Result<View> {
        let mut view = self.view.lock();
        view.follow(&self.head, &self.base)?;
        Ok(view.clone())
    }

    /// Begins to read LMDB with `begin`, which also returns the transaction ID. Returns the layers over it,
    /// and the version of the combined state.
    pub(in crate::embedded) fn read<T>(
        &self,
        begin: impl Fn() -> Result<(u64, T)>,
    ) -> Result<(T, Layers, Version)> {
        loop {
            let reader_view = {
                let mut view = self.view.lock();
                view.follow(&self.head, &self.base)?;
                view.reader_view()
            };
            let (transaction, begun) = begin()?;
            let version = reader_view.version;
            if transaction <= reader_view.base {
                if transaction == reader_view.base && reader_view.has_frozen() {
                    self.drop_merged(transaction);
                }
                return Ok((begun, reader_view.layers_for(transaction), version));
            }
            // A commit went to LMDB directly; its process has not updated the journal yet.
            if self.head.position() == reader_view.position {
                return Ok((begun, Layers::default(), Version(version.0 + 1)));
            }
        }
    }

    /// Drops rows that this LMDB transaction contains.
    pub(super) fn drop_merged(&self, transaction: u64) {
        let mut view = self.view.lock();
        let is_merged = |frozen: &mut Frozen| frozen.segment.header.base < transaction;
        view.frozen.take_if(is_merged);
    }

    /// Appends the changes of a commit with the given durability, and returns the new end of the journal.
    /// Not visible until [`Self::publish`].
    pub(in crate::embedded) fn append(
        &self,
        _commit_lock: &CommitLock<'_>,
        changed: &ChangedRows,
        durability: Durability,
    ) -> std::result::Result<u64, Fault> {
        let (segment, offset, before) = {
            let view = self.view.lock();
            let before = view.frozen.as_ref();
            let before = before.map(|frozen| (Arc::clone(&frozen.segment), frozen.end));
            (Arc::clone(&view.segment), view.end, before)
        };
        let frame = frame::encode(changed, segment.frame_position(offset), segment.synced());
        let end = offset + frame.len() as u64;
        segment.write(&frame, offset).map_err(Fault::NotAppended)?;
        if durability == Durability::Durable {
            if let Some((before, end)) = before {
                before.sync(end).map_err(Fault::Unknown)?;
            }
            segment.sync(end).map_err(Fault::Unknown)?;
        }
        Ok(end)
    }

    /// Makes the appended changes up to `end` visible, and returns the new version.
    pub(in crate::embedded) fn publish(
        &self,
        _commit_lock: &CommitLock<'_>,
        changed: &ChangedRows,
        end: u64,
    ) -> Version {
        let copied = (changed.len() > IN_PLACE_MAX).then(|| {
            let mut rows = self.view.lock().rows.clone();
            rows.apply(changed);
            rows
        });
        let mut view = self.view.lock();
        match copied {
            Some(rows) => view.rows = rows,
            None => view.rows.apply(changed),
        }
        view.end = end;
        view.version.0 += 1;
        self.head.set(view.position());
        view.version
    }

    /// The newest version, and the rows of the newest segment.
    pub(in crate::embedded) fn newest_rows(&self) -> (Version, ChangedRows) {
        let view = self.view.lock();
        (view.version, view.rows.clone())
    }

    /// Makes one removed range of a range of keys that a reader of this segment found to be empty, after it passed many
    /// deleted keys. The next reader then passes it with one seek.
    pub(in crate::embedded) fn join_removed(&self, generation: u64, range: &KeyRange) {
        let mut view = self.view.lock();
        // All later changes are in the rows of the segment.
        if view.segment.header.generation == generation {
            view.rows.join(range);
        }
    }

    /// Takes the commits of other processes that were read since the last call.
    pub(in crate::embedded) fn take_foreign_commits(&self) -> ForeignCommits {
        std::mem::take(&mut self.view.lock().foreign)
    }

    /// Whether the newest segment has reached its maximum size.
    pub(in crate::embedded) fn is_full(&self) -> bool {
        self.view.lock().end >= self.segment_bytes
    }

    /// Bytes of the frames of the newest segment.
    pub(super) fn frame_bytes(&self) -> u64 {
        self.view.lock().end - HEADER_BYTES
    }

    /// The end position of the journal.
    pub(super) fn position(&self) -> Position {
        self.head.position()
    }

    /// Completes the newest segment, so that it can be merged. The previous one is merged.
    pub(super) fn begin_next(&self, _commit_lock: &CommitLock<'_>) -> Result<()> {
        let header = {
            let view = self.view.lock();
            let before = &view.segment.header;
            Header {
                generation: before.generation + 1,
                base: before.base + 1,
                version: view.version,
                previous_end: view.end,
                salt: salt(before.generation),
            }
        };
        let next = self.create(header)?;
        let mut view = self.view.lock();
        view.continue_with(next);
        self.head.set(view.position());
        Ok(())
    }

    /// Restarts the journal after an LMDB transaction that includes everything in it, and more.
    pub(in crate::embedded) fn begin_after_merge(
        &self,
        _commit_lock: &CommitLock<'_>,
        transaction: u64,
        version: Version,
    ) -> Result<()> {
        let before = self.view.lock().segment.header;
        let header = Header {
            generation: before.generation + 1,
            base: transaction,
            version,
            previous_end: 0,
            salt: salt(before.generation),
        };
        let mut next = View::at(self.create(header)?);
        next.foreign = ForeignCommits::gap(version);
        {
            let mut view = self.view.lock();
            *view = next;
            self.head.set(view.position());
        }
        self.remove_before(header.generation);
        Ok(())
    }

    /// Creates the file of a segment.
    fn create(&self, header: Header) -> Result<Segment> {
        self.check_not_replaced()?;
        Segment::create(&self.base.dir, header)
    }

    /// Removes the files of merged segments.
    pub(super) fn remove_before(&self, generation: u64) {
        if self.check_not_replaced().is_err() {
            return;
        }
        let dir = &self.base.dir;
        let old = files::generations(dir).unwrap_or_default();
        for old in old.into_iter().filter(|old| *old < generation) {
            // Another process may have removed it.
            let _ = std::fs::remove_file(files::segment(dir, old));
        }
    }

    /// Makes everything in the journal durable.
    pub(in crate::embedded) fn sync(&self) -> Result<()> {
        let view = self.view()?;
        if let Some(frozen) = &view.frozen {
            frozen.segment.sync(frozen.end)?;
        }
        view.segment.sync(view.end)
    }

    /// Bytes on disk.
    pub(in crate::embedded) fn bytes(&self) -> Result<u64> {
        let view = self.view()?;
        Ok(view.end + view.frozen.map_or(0, |frozen| frozen.end))
    }

    /// Reads from disk everything that is in memory; returns one finding for each fault.
    pub(in crate::embedded) fn check(&self) -> Result<Vec<Finding>> {
        let view = self.view()?;
        let frozen = view.frozen.iter();
        let frozen = frozen.map(|frozen| (&frozen.segment, frozen.end));
        let segments = frozen.chain([(&view.segment, view.end)]);
        let mut findings = Vec::new();
        for (segment, end) in segments {
            if let Err(error) = segment.read(HEADER_BYTES, end, &mut |_| Some(())) {
                findings.push(Finding {
                    place: segment.path.display().to_string(),
                    problem: error.to_string(),
                });
            }
        }
        Ok(findings)
    }
}

/// Why a commit was not appended.
pub(in crate::embedded) enum Fault {
    /// It has no effect.
    NotAppended(Error),
    /// It may be present after a crash of the machine.
    Unknown(Error),
}

fn open_head(base: &Arc<Lmdb>) -> Result<(Head, View)> {
    let head = Head::open(&base.dir)?;
    let view = match load_at_head(&head, base)? {
        Some(view) => view,
        None => load_locked(&head, base)?,
    };
    Ok((head, view))
}

/// The same for a read-only directory: the position is determined from the segments.
fn read_head(base: &Arc<Lmdb>) -> Result<(Head, View)> {
    let head = Head::without_file(&base.dir)?;
    let view = recover::recover(base)?;
    head.set(view.position());
    Ok((head, view))
}

/// The view at the position in the head file, without waiting for a commit in progress; `None` if the head
/// has no position, or its segments are missing.
fn load_at_head(head: &Head, base: &Arc<Lmdb>) -> Result<Option<View>> {
    let failed = |error| io_error(named(&base.dir, "cannot be read"), error);
    for _ in 0..ATTEMPTS {
        let Some(position) = head.read_position().map_err(failed)? else {
            break;
        };
        let view = View::load(position, base)?;
        // A concurrent commit may have removed older segments.
        if view.is_some() || head.position() == position {
            return Ok(view);
        }
    }
    Ok(None)
}

/// The same under the lock, also after a restart of the machine.
fn load_locked(head: &Head, base: &Arc<Lmdb>) -> Result<View> {
    let failed = |error| io_error(named(&base.dir, "cannot be read or written"), error);
    let _lock = lock(head, &base.dir, COMMIT_LOCK_TIMEOUT)?;
    if let Some(position) = head.read_position().map_err(failed)? {
        return View::load(position, base)?.ok_or_else(|| missing(&base.dir));
    }
    let view = recover::recover(base)?;
    head.initialize(view.position()).map_err(failed)?;
    Ok(view)
}

fn lock<'h>(head: &'h Head, dir: &Path, timeout: Duration) -> Result<HeadLock<'h>> {
    head.lock(timeout).map_err(|error| match error.kind() {
        io::ErrorKind::WouldBlock => {
            let message = format!(
                "another process has been writing to {} for more than {} s; nothing was committed: find \
                 that process (`fuser {}`)",
                dir.display(),
                timeout.as_secs(),
                dir.join(files::HEAD).display(),
            );
            Error::new(ErrorKind::Locked, message)
        }
        io::ErrorKind::ReadOnlyFilesystem => read_only_error(head.dir()),
        _ => io_error(named(dir, "cannot be locked"), error),
    })
}

fn missing(dir: &Path) -> Error {
    let message = format!(
        "a segment of the journal in {} is missing; restore a backup into another directory",
        dir.display()
    );
    Error::new(ErrorKind::Corrupt, message)
}

fn named(dir: &Path, act: &str) -> String {
    format!("{} {act}", dir.join(files::HEAD).display())
}

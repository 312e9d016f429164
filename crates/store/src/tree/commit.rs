//! The one way to change a datastore.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use espalier_keyspace::{Batch, Direction, ErrorKind, KeyRange, Precondition, Snapshot};
use espalier_yang::Schema;

use super::edit::{Applying, Edit, Touch};
use super::log::CommitLog;
use super::stamp::{self, Stamp, StampRecord, stamp_key};
use super::view::View;
use crate::catalog::AnchorRow;
use crate::clock::Timestamp;
use crate::error::{Error, Result};
use crate::keys::TreeId;
use crate::overlay::Overlay;
use crate::store::{Compiled, Store};
use crate::subspace::Subspace;

/// How often a commit is tried again when another process changed the datastore meanwhile.
const COMMIT_TRIES_MAX: usize = 64;

/// A condition on the state that a commit is based on: any error refuses the commit.
pub type Guard<'a> = &'a dyn Fn(&View) -> Result<()>;

/// Who commits, why, and under which condition.
#[derive(Clone, Copy, Default)]
pub struct CommitOptions<'a> {
    /// Kept in the log.
    pub author: &'a str,
    /// Kept in the log.
    pub comment: &'a str,
    /// Called on the very state that the commit is based on, before the edits are applied; more
    /// than once when another process interferes.
    pub guard: Option<Guard<'a>>,
}

/// What a commit did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Commit {
    /// The version of the datastore, new where something changed.
    pub version: u64,
    /// When that version was made.
    pub time: Timestamp,
    /// Whether anything changed. What changes nothing is not written and makes no version.
    pub is_changed: bool,
}

/// One datastore of one anchor. Cheap to clone, shared between threads.
#[derive(Clone)]
pub struct Tree {
    inner: Arc<Inner>,
}

struct Inner {
    store: Store,
    id: TreeId,
    anchor: AnchorRow,
    compiled: Arc<Compiled>,
}

impl Tree {
    pub(crate) fn new(
        store: Store,
        id: TreeId,
        anchor: AnchorRow,
        compiled: Arc<Compiled>,
    ) -> Self {
        Self {
            inner: Arc::new(Inner {
                store,
                id,
                anchor,
                compiled,
            }),
        }
    }

    /// The schema of the data.
    pub fn schema(&self) -> &Arc<Schema> {
        &self.inner.compiled.schema
    }

    /// The store that this is in.
    pub fn store(&self) -> &Store {
        &self.inner.store
    }

    pub(super) fn id(&self) -> TreeId {
        self.inner.id
    }

    pub(super) fn compiled(&self) -> &Arc<Compiled> {
        &self.inner.compiled
    }

    pub(super) fn anchor(&self) -> &AnchorRow {
        &self.inner.anchor
    }

    /// The datastore as it is now.
    pub fn view(&self) -> Result<View> {
        let snapshot = self.store().driver().snapshot()?;
        Ok(View::new(snapshot, Arc::clone(self.compiled()), self.id()))
    }

    /// Applies edits in order, as one atomic commit.
    ///
    /// # Errors
    /// [`Error::Data`] with every error of the edits, whatever the guard returns, or what the engine
    /// says. Nothing is changed then.
    pub fn commit(&self, edits: &[Edit], options: CommitOptions<'_>) -> Result<Commit> {
        let _one_at_a_time = self.store().lock(self.id());
        let mut tries = 0;
        loop {
            tries += 1;
            match self.attempt(edits, options) {
                Err(Error::Engine(error)) if error.kind() == ErrorKind::Conflict => {
                    self.check_anchor(&error)?;
                    if tries == COMMIT_TRIES_MAX {
                        return Err(error.into());
                    }
                }
                result => return result,
            }
        }
    }

    fn attempt(&self, edits: &[Edit], options: CommitOptions<'_>) -> Result<Commit> {
        let view = self.view()?;
        if let Some(guard) = options.guard {
            guard(&view)?;
        }
        let mut overlay = Overlay::new(view.into_snapshot());
        let mut applying = Applying::new(&mut overlay, self.compiled(), self.id());
        for edit in edits {
            applying.edit(edit)?;
        }
        let Applying {
            errors, touched, ..
        } = applying;
        errors.into_result()?;
        // The constraints of RFC 7950 §8 are to be validated here, on the overlay.
        let Basis {
            last,
            next: stamp,
            conditions,
        } = self.basis(overlay.base())?;
        let mut log = CommitLog::new(
            self.id(),
            stamp.version,
            stamp.time,
            options.author,
            options.comment,
        );
        let mut batch = Batch::new();
        if !differences(&overlay, &self.changed_ranges(), &mut batch, Some(&mut log))? {
            return Ok(Commit {
                version: last.version,
                time: last.time,
                is_changed: false,
            });
        }
        write_stamps(&mut overlay, touched, stamp)?;
        let stamps = KeyRange::prefix(&self.id().prefix(Subspace::Stamp));
        differences(&overlay, &[stamps], &mut batch, None)?;
        log.finish(&mut batch)?;
        for Precondition { key, value } in conditions {
            batch.require(key, value);
        }
        drop(overlay);
        self.store().driver().commit(batch)?;
        Ok(Commit {
            version: stamp.version,
            time: stamp.time,
            is_changed: true,
        })
    }

    /// The key of the datastore itself.
    pub(super) fn tree_key(&self) -> Vec<u8> {
        self.id().prefix(Subspace::Tree)
    }

    /// What a commit on a snapshot is based on. Time does not run backwards in a log.
    pub(super) fn basis(&self, snapshot: &dyn Snapshot) -> Result<Basis> {
        let root = stamp_key(&self.tree_key());
        let stored = snapshot.get(&root)?.map(Cow::into_owned);
        let record = stored
            .as_deref()
            .map_or(Ok(StampRecord::default()), StampRecord::decode)?;
        let last = record.any;
        let AnchorRow { key, value, .. } = self.anchor().clone();
        Ok(Basis {
            last,
            next: Stamp {
                version: last.version + 1,
                time: self.store().now().max(last.time),
            },
            conditions: [
                Precondition {
                    key: root,
                    value: stored,
                },
                Precondition {
                    key,
                    value: Some(value),
                },
            ],
        })
    }

    /// What the log is about.
    fn changed_ranges(&self) -> [KeyRange; 2] {
        [Subspace::Tree, Subspace::Order]
            .map(|subspace| KeyRange::prefix(&self.id().prefix(subspace)))
    }

    /// Tells a conflict on the data from an anchor that was deleted meanwhile.
    pub(super) fn check_anchor(&self, conflict: &espalier_keyspace::Error) -> Result<()> {
        if conflict.key() == Some(&self.anchor().key) {
            return Err(Error::Unknown {
                kind: "anchor",
                name: self.anchor().name.clone(),
            });
        }
        Ok(())
    }
}

/// What a commit is based on.
pub(super) struct Basis {
    /// The newest commit.
    pub last: Stamp,
    /// The stamp of the commit that is being made.
    pub next: Stamp,
    /// The datastore did not move, and its anchor still stands.
    pub conditions: [Precondition; 2],
}

/// Puts what an overlay changes within `ranges` into a batch and a log; whether there is any.
fn differences(
    overlay: &Overlay,
    ranges: &[KeyRange],
    batch: &mut Batch,
    mut log: Option<&mut CommitLog>,
) -> Result<bool> {
    let mut is_changed = false;
    let is_within = |key: &[u8]| ranges.iter().any(|range| range.contains(key));
    for cleared in overlay
        .cleared()
        .filter(|cleared| is_within(&cleared.start))
    {
        let is_rewritten = overlay.writes_in(&cleared);
        let mut is_empty = true;
        let mut cursor = overlay.base().scan(&cleared, Direction::Forward)?;
        while let Some((key, old)) = cursor.next()? {
            if is_rewritten && overlay.has_written(key) {
                continue;
            }
            is_empty = false;
            if let Some(log) = &mut log {
                log.record(key, Some(old), None, batch)?;
            }
            if is_rewritten {
                batch.delete(key);
            }
        }
        if !is_rewritten && !is_empty {
            batch.delete_range(cleared.clone());
        }
        is_changed |= !is_empty;
    }
    for (key, new) in overlay.written().filter(|(key, _)| is_within(key)) {
        let old = overlay.base().get(key)?;
        if old.as_deref() == new {
            continue;
        }
        is_changed = true;
        if let Some(log) = &mut log {
            log.record(key, old.as_deref(), new, batch)?;
        }
        match new {
            Some(new) => batch.put(key, new),
            None => batch.delete(key),
        }
    }
    Ok(is_changed)
}

/// Stamps the touched resources. Those around a touched one are touched too, and come before it.
fn write_stamps(
    overlay: &mut Overlay,
    touched: BTreeMap<Vec<u8>, Touch>,
    stamp: Stamp,
) -> Result<()> {
    let mut around: Vec<(Vec<u8>, Stamp)> = Vec::new();
    for (key, touch) in touched {
        while around
            .last()
            .is_some_and(|(outer, _)| !key.starts_with(outer))
        {
            around.pop();
        }
        let inherited = around.last().map(|(_, whole)| *whole).unwrap_or_default();
        let whole = match touch {
            Touch::Whole => stamp,
            Touch::Within => stamp::record(overlay, &key)?.map_or(inherited, |record| record.whole),
        };
        overlay.put(stamp_key(&key), StampRecord { any: stamp, whole }.encode());
        around.push((key, whole));
    }
    Ok(())
}

//! Undoes commits.

use std::sync::Arc;

use espalier_keyspace::{KeyRange, Snapshot};

use super::commits::KeptVersions;
use super::read_log::{Undo, header, log_of, undo};
use crate::error::Result;
use crate::keys::TreeId;
use crate::overlay::{Changes, Overlay};
use crate::subspace::Subspace;
use crate::tree::change::logged_ranges;
use crate::tree::stamp::{Stamp, StampRecord, stamp_key};

/// The version to go back to.
#[derive(Clone, Copy, Debug)]
pub(super) enum RewindTarget {
    /// A version; the stamps are unchanged.
    Version(u64),
    /// From the snapshot's version to an earlier one.
    Between(u64, u64),
    /// A version, with its stamp on every resource.
    Stamped(u64),
}

/// An earlier state, over a snapshot.
///
/// # Errors
/// [`crate::Error::NoVersion`], [`crate::Error::Pruned`].
pub(super) fn rewind(
    snapshot: Box<dyn Snapshot + Send>,
    tree: TreeId,
    target: RewindTarget,
) -> Result<Overlay> {
    let kept = KeptVersions::read(&*snapshot, tree)?;
    let (from, to) = match target {
        RewindTarget::Version(to) | RewindTarget::Stamped(to) => (kept.newest, to),
        RewindTarget::Between(from, to) => (from, to),
    };
    kept.check(to)?;
    let changes = changes_between(&*snapshot, tree, from, to)?;
    let mut overlay = Overlay::with(snapshot, Arc::new(changes));
    if matches!(target, RewindTarget::Stamped(_)) {
        stamp_all(&mut overlay, tree, to)?;
    }
    Ok(overlay)
}

/// The changes from a snapshot back to an earlier version; none if that is not kept.
pub(in crate::tree) fn changes_back_to(
    snapshot: &dyn Snapshot,
    tree: TreeId,
    version: u64,
) -> Result<Option<Changes>> {
    let kept = KeptVersions::read(snapshot, tree)?;
    match kept.check(version) {
        Ok(()) => changes_between(snapshot, tree, kept.newest, version).map(Some),
        Err(_) => Ok(None),
    }
}

/// The changes from a version that a snapshot has to an earlier one.
pub(super) fn changes_between(
    snapshot: &dyn Snapshot,
    tree: TreeId,
    from: u64,
    to: u64,
) -> Result<Changes> {
    let mut changes = Changes::default();
    for version in (to + 1..=from).rev() {
        let log = log_of(snapshot, tree, version)?;
        apply_undo(&mut changes, tree, &log)?;
    }
    Ok(changes)
}

fn apply_undo(changes: &mut Changes, tree: TreeId, log: &[u8]) -> Result<()> {
    let prefix = tree.prefix(Subspace::Tree);
    undo(log, &mut |record| match record {
        Undo::All => {
            for range in logged_ranges(tree) {
                changes.delete_range(&range);
            }
        }
        Undo::Key(subspace, rest, old) => {
            let mut key = [&prefix, rest].concat();
            key[0] = subspace;
            match old {
                Some(old) => changes.put(key, old.to_vec()),
                None => changes.delete(key),
            }
        }
    })
}

/// Stamps an earlier state with its version. Hides indexes and counts, which belong to the newest state.
fn stamp_all(overlay: &mut Overlay, tree: TreeId, version: u64) -> Result<()> {
    for subspace in [Subspace::Stamp, Subspace::Index, Subspace::Count] {
        overlay.delete_range(&KeyRange::prefix(&tree.prefix(subspace)));
    }
    let Some(header) = header(overlay.base(), tree, version)? else {
        return Ok(());
    };
    let stamp = Stamp {
        version,
        time: header.time,
    };
    let record = StampRecord {
        any: stamp,
        whole: stamp,
    };
    overlay.put(stamp_key(&tree.prefix(Subspace::Tree)), record.encode());
    Ok(())
}

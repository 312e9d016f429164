//! Taking commits back.

use espalier_keyspace::{KeyRange, Snapshot};

use super::commits::Kept;
use super::read_log::{Undo, header, log_of, undo};
use crate::error::Result;
use crate::keys::TreeId;
use crate::overlay::Overlay;
use crate::subspace::Subspace;
use crate::tree::change::logged_ranges;
use crate::tree::stamp::{Stamp, StampRecord, stamp_key};

/// How far to go back.
#[derive(Clone, Copy, Debug)]
pub(super) enum Target {
    /// To a version; the stamps are left as they are.
    Kept(u64),
    /// From a version that is the snapshot's, to an earlier one.
    Further(u64, u64),
    /// To a version, with its stamp on everything.
    Seen(u64),
}

/// An earlier state, over a snapshot.
///
/// # Errors
/// [`crate::Error::NoVersion`], [`crate::Error::Pruned`].
pub(super) fn rewind(
    snapshot: Box<dyn Snapshot + Send>,
    tree: TreeId,
    target: Target,
) -> Result<Overlay> {
    let kept = Kept::read(&*snapshot, tree)?;
    let (from, to) = match target {
        Target::Kept(to) | Target::Seen(to) => (kept.newest, to),
        Target::Further(from, to) => (from, to),
    };
    kept.check(to)?;
    let mut overlay = Overlay::new(snapshot);
    for version in (to + 1..=from).rev() {
        take_back(&mut overlay, tree, version)?;
    }
    if matches!(target, Target::Seen(_)) {
        stamp_all(&mut overlay, tree, to)?;
    }
    Ok(overlay)
}

fn take_back(overlay: &mut Overlay, tree: TreeId, version: u64) -> Result<()> {
    let prefix = tree.prefix(Subspace::Tree);
    let log = log_of(overlay.base(), tree, version)?;
    undo(&log, &mut |record| match record {
        Undo::All => clear(overlay, tree),
        Undo::Key(subspace, rest, old) => {
            let mut key = [&prefix, rest].concat();
            key[0] = subspace;
            match old {
                Some(old) => overlay.put(key, old.to_vec()),
                None => overlay.delete(key),
            }
        }
    })
}

fn clear(overlay: &mut Overlay, tree: TreeId) {
    for range in logged_ranges(tree) {
        overlay.delete_range(&range);
    }
}

/// Everything of an earlier state has the stamp of its version.
fn stamp_all(overlay: &mut Overlay, tree: TreeId, version: u64) -> Result<()> {
    overlay.delete_range(&KeyRange::prefix(&tree.prefix(Subspace::Stamp)));
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

//! Copies one datastore to another (RFC 6241 §7.3), and deletes one (§7.4).
//!
//! A copy is a commit of the differences: it reads both datastores and writes only what differs. A copy to
//! a candidate becomes changes of the candidate; running copied to a candidate discards its changes.

use espalier_keyspace::{Batch, Direction, KeyRange, Snapshot};
use espalier_yang::ErrorTag;

use super::change::logged_ranges;
use super::commit_options::{Commit, CommitOptions};
use super::datastore::Datastore;
use super::proposal::Proposal;
use super::tree::Tree;
use crate::error::{Error, Result};
use crate::keys::TreeId;
use crate::overlay::Overlay;

impl Tree {
    /// Replaces this datastore with another one of the same anchor. Running to a candidate discards its
    /// changes; a candidate to running commits them.
    ///
    /// # Errors
    /// `operation-not-supported` if the target cannot be written or the source cannot be copied,
    /// `invalid-value` if the source belongs to another anchor or is this datastore, and those of
    /// [`Tree::commit`].
    pub fn copy_from(&self, source: &Self, options: CommitOptions<'_>) -> Result<Commit> {
        self.check_copy(source)?;
        if self.datastore().is_candidate() {
            return self.copy_to_candidate(source, options);
        }
        if source.datastore().is_candidate() && self.datastore() == Datastore::Running {
            return source.commit_candidate(options);
        }
        // The commit does not require that the source is unchanged.
        self.store().driver().catch_up()?;
        self.propose_and_commit(options, &mut |view| {
            let mut overlay = Overlay::new(view.into_snapshot());
            let from = source.view()?.into_snapshot();
            put_differences(&*from, source.id(), &mut overlay, self.id())?;
            let touched = self.touched_by(&mut overlay)?;
            Ok(Proposal {
                overlay,
                touched,
                extra: Batch::new(),
            })
        })
    }

    fn copy_to_candidate(&self, source: &Self, options: CommitOptions<'_>) -> Result<Commit> {
        match source.datastore() {
            Datastore::Running | Datastore::Intended => {
                let is_changed = self.has_changes()?;
                self.discard(options)?;
                let stamp = self.view()?.stamp(&espalier_yang::InstancePath::root())?;
                Ok(Commit {
                    version: stamp.version,
                    time: stamp.time,
                    is_changed,
                })
            }
            _ => self.replace_candidate(source, options),
        }
    }

    /// Deletes everything in the startup datastore (RFC 6241 §7.4).
    ///
    /// # Errors
    /// `operation-not-supported` for other datastores.
    pub fn delete_datastore(&self, options: CommitOptions<'_>) -> Result<Commit> {
        if self.datastore() != Datastore::Startup {
            let message = format!(
                "{} cannot be deleted; only startup can",
                self.datastore().name()
            );
            return Err(Error::data(ErrorTag::OperationNotSupported, message));
        }
        let everything = super::edit::Edit::delete(espalier_yang::InstancePath::root());
        self.commit(&[everything], options)
    }

    fn check_copy(&self, source: &Self) -> Result<()> {
        let unsupported = |message: String| Error::data(ErrorTag::OperationNotSupported, message);
        if self.anchor().id != source.anchor().id {
            let message = "the datastores belong to different anchors";
            return Err(Error::data(ErrorTag::InvalidValue, message));
        }
        let is_same = self.datastore() == source.datastore() && self.session() == source.session();
        if is_same {
            // RFC 6241 §7.3: "invalid-value" if source and target are the same.
            let message = "source and target are the same datastore";
            return Err(Error::data(ErrorTag::InvalidValue, message));
        }
        match (self.datastore(), source.datastore()) {
            (Datastore::Intended | Datastore::Operational, _) => {
                let name = self.datastore().name();
                Err(unsupported(format!(
                    "{name} cannot be the target of a copy"
                )))
            }
            (_, Datastore::Operational) => Err(unsupported(
                "operational cannot be copied: it is not configuration".to_owned(),
            )),
            _ => Ok(()),
        }
    }
}

/// Puts the differences to a source into an overlay of the target.
pub(super) fn put_differences(
    from: &dyn Snapshot,
    source: TreeId,
    target: &mut Overlay,
    into: TreeId,
) -> Result<()> {
    let mut changes = Vec::new();
    for (theirs, ours) in logged_ranges(source).iter().zip(&logged_ranges(into)) {
        compare(from, theirs, target, ours, &mut changes)?;
    }
    for (key, value) in changes {
        match value {
            Some(value) => target.put(key, value),
            None => target.delete(key),
        }
    }
    Ok(())
}

type Change = (Vec<u8>, Option<Vec<u8>>);

fn compare(
    from: &dyn Snapshot,
    theirs: &KeyRange,
    into: &dyn Snapshot,
    ours: &KeyRange,
    changes: &mut Vec<Change>,
) -> Result<()> {
    let mut source = from.scan(theirs, Direction::Forward)?;
    let mut target = into.scan(ours, Direction::Forward)?;
    let own = |key: &[u8]| [&ours.start, &key[theirs.start.len()..]].concat();
    let mut new = source
        .next()?
        .map(|(key, value)| (own(key), value.to_vec()));
    let mut old = target.next()?;
    loop {
        match (&new, &old) {
            (None, None) => return Ok(()),
            (Some((key, value)), Some((held, before))) if key == held => {
                if value != before {
                    changes.push((key.clone(), Some(value.clone())));
                }
                new = source
                    .next()?
                    .map(|(key, value)| (own(key), value.to_vec()));
                old = target.next()?;
            }
            (Some((key, value)), held) if held.is_none_or(|(held, _)| key.as_slice() < held) => {
                changes.push((key.clone(), Some(value.clone())));
                new = source
                    .next()?
                    .map(|(key, value)| (own(key), value.to_vec()));
            }
            (_, Some((held, _))) => {
                changes.push((held.to_vec(), None));
                old = target.next()?;
            }
            (Some(_), None) => return Ok(()),
        }
    }
}

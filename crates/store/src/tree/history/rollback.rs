//! Rolls back to an earlier version by a new commit.

use espalier_keyspace::{Batch, KeyRange};
use espalier_yang::ErrorTag;

use super::rewind::{RewindTarget, rewind};
use crate::error::{Error, Result};
use crate::overlay::Overlay;
use crate::subspace::Subspace;
use crate::tree::changes::{Comparison, Delta, Deltas, NewerState, keys_in};
use crate::tree::commit_options::{Commit, CommitOptions};
use crate::tree::edit::{TouchExtent, TouchedResources};
use crate::tree::locate::{TreeState, in_subspace};
use crate::tree::proposal::Proposal;
use crate::tree::tree::Tree;
use crate::tree::upgrade::convert_strictly;

impl Tree {
    /// Commits the state of an earlier version. It is validated like any other commit, and creates no
    /// version if nothing changes. A version with other modules is read with those and converted.
    ///
    /// # Errors
    /// [`crate::Error::NoVersion`], [`crate::Error::Pruned`], and those of [`Tree::commit`];
    /// [`Error::Data`] with every place of the version that does not conform to the current modules.
    pub fn rollback(&self, version: u64, options: CommitOptions<'_>) -> Result<Commit> {
        if self.datastore().is_candidate() {
            let message = "a candidate has no history: roll back running";
            return Err(Error::data(ErrorTag::OperationNotSupported, message));
        }
        self.propose_and_commit(options, &mut |view| {
            let snapshot = view.into_snapshot();
            let then = self.compiled_at(&*snapshot, version)?;
            let mut overlay = rewind(snapshot, self.id(), RewindTarget::Version(version))?;
            if !std::sync::Arc::ptr_eq(&then, self.compiled()) {
                let state = TreeState::new(&overlay, &then, self.id());
                let converted = convert_strictly(state, self.compiled())?;
                overlay.apply(&converted);
            }
            let touched = self.touched_by(&mut overlay)?;
            Ok(Proposal {
                overlay,
                touched,
                extra: Batch::new(),
            })
        })
    }

    /// The resources that an overlay changes: as a whole if they are created. Deletes the stamps of those
    /// that are deleted.
    pub(in crate::tree) fn touched_by(&self, overlay: &mut Overlay) -> Result<TouchedResources> {
        let mut collector = TouchCollector::default();
        let root = self.tree_key();
        let comparison = Comparison::new(self.compiled(), self.id(), overlay, NewerState::Upper);
        let mut deltas = comparison.keys_in(&KeyRange::prefix(&root))?;
        let mut delta = Delta::default();
        while deltas.next(&mut delta)? {
            collector.key(comparison, &delta)?;
        }
        drop(deltas);
        let TouchCollector {
            mut touched,
            deleted_resources,
            ..
        } = collector;
        if !touched.is_empty() && !touched.contains_key(&root) {
            touched.insert(root, TouchExtent::Within);
        }
        for key in deleted_resources {
            overlay.delete_range(&KeyRange::prefix(&in_subspace(&key, Subspace::Stamp)));
        }
        Ok(touched)
    }
}

#[derive(Default)]
struct TouchCollector {
    touched: TouchedResources,
    /// Resources whose stamps are deleted, with those of all descendants.
    deleted_resources: Vec<Vec<u8>>,
    /// The last resource that is deleted with its content.
    deleted: Option<Vec<u8>>,
}

impl TouchCollector {
    fn key(&mut self, comparison: Comparison<'_>, delta: &Delta) -> Result<()> {
        let key = delta.rest.as_slice();
        let is_within = |deleted: &Vec<u8>| key.starts_with(deleted);
        if self.deleted.as_ref().is_some_and(is_within) {
            return Ok(());
        }
        let root = comparison.tree.prefix(Subspace::Tree);
        self.touch(&root, TouchExtent::Within);
        let Some(trail) = comparison.after().trail(key)? else {
            return Ok(());
        };
        let schema = &comparison.compiled.schema;
        for point in &trail {
            let node = schema.node(point.node);
            let is_own = point.end == key.len();
            let touch = match (&delta.old, &delta.new) {
                _ if node.is_leaf_list() => continue,
                _ if !is_own || node.is_np_container() => TouchExtent::Within,
                (None, _) => TouchExtent::Whole,
                (Some(_), None) => {
                    self.deleted_resources.push(key.to_vec());
                    self.deleted = Some(key.to_vec());
                    continue;
                }
                (Some(old), Some(new)) if keys_in(node, old)? == keys_in(node, new)? => {
                    TouchExtent::Within
                }
                (Some(_), Some(_)) => {
                    self.deleted_resources.push(key.to_vec());
                    TouchExtent::Whole
                }
            };
            self.touch(&key[..point.end], touch);
        }
        Ok(())
    }

    fn touch(&mut self, key: &[u8], touch: TouchExtent) {
        if self.touched.get(key).is_none_or(|old| *old < touch) {
            self.touched.insert(key.to_vec(), touch);
        }
    }
}

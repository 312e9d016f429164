//! Validates a proposed state against its base.

use std::collections::BTreeMap;

use espalier_keyspace::{Direction, KeyRange, Snapshot};
use espalier_yang::data::Operation;
use espalier_yang::validate::{
    Incremental, Removal, StatePair, ValidationCost, WorkerShare, validate_measured,
};
use espalier_yang::xpath::evaluate::Limits;
use espalier_yang::{Instances, Keys};

use super::changes::report_changes;
use super::index::Updates;
use super::instances::{Indexes, NodeRef, StoreInstances};
use crate::compiled_schema_set::Compiled;
use crate::error::Result;
use crate::keys::TreeId;
use crate::overlay::Overlay;
use crate::subspace::Subspace;
use crate::tree::change::{KeyChange, each_change};
use crate::tree::edit::EditApplier;
use crate::tree::locate::TreeState;
use crate::tree::proposal::Proposal;

/// The keys changed by a removal, with their old values. A map, because nodes removed together may share a key (two
/// leaves of one container) or be inside one another, and sums and counts must change once.
type Removed = BTreeMap<Vec<u8>, Vec<u8>>;

/// Updates the indexes and counts of a proposed state, and validates it. Nodes whose `when` became false
/// are removed from it (RFC 7950 §8.2).
///
/// # Errors
/// [`crate::Error::Data`] with every violation.
pub(in crate::tree) fn validate(
    compiled: &Compiled,
    tree: TreeId,
    proposal: &mut Proposal,
) -> Result<ValidationCost> {
    if compiled.plan().is_empty() && compiled.index_definition().is_empty() {
        return Ok(ValidationCost::default());
    }
    let mut validation = Validation {
        compiled,
        tree,
        incremental: Incremental::new(),
    };
    update_indexes(compiled, tree, &mut proposal.overlay)?;
    let mut removed: Option<Removed> = None;
    loop {
        let removals = validation.round(&proposal.overlay, removed.take())?;
        if removals.is_empty() {
            break;
        }
        removed = Some(validation.remove(proposal, removals)?);
    }
    validation.finish(&proposal.overlay)
}

struct Validation<'a> {
    compiled: &'a Compiled,
    tree: TreeId,
    incremental: Incremental<NodeRef>,
}

impl Validation<'_> {
    fn state<'s>(&'s self, snapshot: &'s dyn Snapshot) -> TreeState<'s> {
        TreeState::new(snapshot, self.compiled, self.tree)
    }

    /// Reports the changes (all of them in the first round), and evaluates `when`s until one removes
    /// something.
    fn round(
        &mut self,
        overlay: &Overlay,
        removed: Option<Removed>,
    ) -> Result<Vec<Removal<NodeRef>>> {
        let (compiled, tree) = (self.compiled, self.tree);
        let state = |snapshot| TreeState::new(snapshot, compiled, tree);
        let new = StoreInstances::new(state(overlay), Indexes::Current);
        let old = StoreInstances::new(state(overlay.base()), Indexes::Current);
        let mut states = StatePair::new(compiled.plan(), &old, &new, Limits::default());
        let incremental = &mut self.incremental;
        let new_state = state(overlay);
        let mut take = |change: KeyChange<'_>| {
            let Some(trail) = new_state.trail(change.key)? else {
                return Ok(());
            };
            report_changes(&new_state, &new, &change, &trail, &mut |change| {
                incremental.changed(&states, &change)
            })
        };
        match removed {
            None => each_change(overlay, &[data_range(tree)], &mut take)?,
            Some(removed) => {
                for (key, old) in &removed {
                    let new = overlay.get(key)?;
                    let (old, new) = (Some(old.as_slice()), new.as_deref());
                    take(KeyChange { key, old, new })?;
                }
            }
        }
        let mut removals = Vec::new();
        while removals.is_empty() && self.incremental.has_whens() {
            removals = self.incremental.evaluate_whens(&mut states)?;
        }
        Ok(removals)
    }

    /// Removes nodes from a proposal; returns their keys.
    fn remove(&self, proposal: &mut Proposal, removals: Vec<Removal<NodeRef>>) -> Result<Removed> {
        let mut paths = Vec::new();
        let mut removed = Removed::new();
        let mut updates = Updates::default();
        {
            let overlay = &proposal.overlay;
            let data = StoreInstances::new(self.state(overlay), Indexes::Current);
            for removal in removals {
                let (place, path) = match removal {
                    Removal::Inner(place) => {
                        let path = data.path(&place)?;
                        (place, path)
                    }
                    Removal::Leaf(place, leaf) => {
                        let path = data.path(&place)?.child(leaf, Keys::None);
                        (place, path)
                    }
                    Removal::Value(place, node, value) => {
                        let path = data.path(&place)?.child(node, Keys::Values(vec![value]));
                        (place, path)
                    }
                };
                collect(overlay, &KeyRange::prefix(place.key()), &mut removed)?;
                paths.push(path);
            }
            let state = self.state(overlay);
            for key in removed.keys() {
                if let Some(trail) = state.trail(key)? {
                    updates.record_old_uniques(Some(&state), &state, key, &trail)?;
                }
            }
        }
        let mut applier = EditApplier::new(&mut proposal.overlay, self.compiled, self.tree);
        applier.touched = std::mem::take(&mut proposal.touched);
        for path in &paths {
            applier.delete_path(path, Operation::Remove)?;
        }
        proposal.touched = std::mem::take(&mut applier.touched);
        let mut gone = Removed::new();
        {
            let state = self.state(&proposal.overlay);
            for (key, old) in removed {
                let new = proposal.overlay.get(&key)?;
                if new.as_deref() == Some(old.as_slice()) {
                    continue;
                }
                let change = KeyChange {
                    key: &key,
                    old: Some(&old),
                    new: new.as_deref(),
                };
                if let Some(trail) = state.trail(&key)? {
                    updates.record(&state, &change, &trail)?;
                }
                gone.insert(key, old);
            }
        }
        put_updates(self.compiled, self.tree, &mut proposal.overlay, updates)?;
        Ok(gone)
    }

    fn finish(self, overlay: &Overlay) -> Result<ValidationCost> {
        let (compiled, tree) = (self.compiled, self.tree);
        let state = |snapshot| TreeState::new(snapshot, compiled, tree);
        let new = StoreInstances::new(state(overlay), Indexes::Current);
        let old = StoreInstances::new(state(overlay.base()), Indexes::Current);
        let mut states = StatePair::new(compiled.plan(), &old, &new, Limits::default());
        let (mut errors, mut effort) = self.incremental.finish(&mut states)?;
        // Nothing was validated before: the whole state changed, and an empty tree may be invalid.
        if errors.is_empty() && !state(overlay.base()).any(&data_range(tree))? {
            let (plan, limits) = (compiled.plan(), Limits::default());
            let (found, more) =
                validate_measured(plan, &new, &new.root(), limits, WorkerShare::ALL)?;
            errors = found;
            effort += more;
        }
        errors.into_result()?;
        Ok(effort)
    }
}

fn data_range(tree: TreeId) -> KeyRange {
    KeyRange::prefix(&tree.prefix(Subspace::Tree))
}

fn collect(overlay: &Overlay, range: &KeyRange, pairs: &mut Removed) -> Result<()> {
    let mut cursor = overlay.scan(range, Direction::Forward)?;
    while let Some((key, value)) = cursor.next()? {
        pairs.insert(key.to_vec(), value.to_vec());
    }
    Ok(())
}

/// Updates the indexes and counts of an overlay for all its changes.
fn update_indexes(compiled: &Compiled, tree: TreeId, overlay: &mut Overlay) -> Result<()> {
    if compiled.index_definition().is_empty() {
        return Ok(());
    }
    let mut updates = Updates::default();
    {
        let state = |snapshot| TreeState::new(snapshot, compiled, tree);
        let (old, new) = (state(overlay.base()), state(&*overlay));
        each_change(overlay, &[data_range(tree)], &mut |change| {
            let Some(trail) = new.trail(change.key)? else {
                return Ok(());
            };
            updates.record_old_uniques(Some(&old), &new, change.key, &trail)?;
            updates.record(&new, &change, &trail)
        })?;
    }
    put_updates(compiled, tree, overlay, updates)
}

fn put_updates(
    compiled: &Compiled,
    tree: TreeId,
    overlay: &mut Overlay,
    updates: Updates,
) -> Result<()> {
    let mut writes = Vec::with_capacity(updates.len());
    {
        let new = TreeState::new(&*overlay, compiled, tree);
        updates.finish(&new, &mut |key, value| {
            writes.push((key, value));
            Ok(())
        })?;
    }
    for (key, value) in writes {
        match value {
            Some(value) => overlay.put(key, value),
            None => overlay.delete(key),
        }
    }
    Ok(())
}

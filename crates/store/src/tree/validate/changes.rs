//! Converts changed keys to changes for validation.

use espalier_yang::schema::Node;
use espalier_yang::validate::Change;
use espalier_yang::{NodeKind, Value};

use super::instances::{NodeRef, StoreInstances};
use crate::error::Result;
use crate::fragment::{Fragment, Packed, take_entry_value};
use crate::tree::change::KeyChange;
use crate::tree::key_nodes::KeyNodes;
use crate::tree::locate::TreeState;

/// Reports the changes of a tree key, as far as a rule may read them.
pub(super) fn report_changes(
    state: &TreeState<'_>,
    data: &StoreInstances<'_>,
    change: &KeyChange<'_>,
    trail: &KeyNodes,
    report: &mut dyn FnMut(Change<NodeRef>) -> Result<()>,
) -> Result<()> {
    let plan = state.compiled.plan();
    let node = trail.last().map(|point| state.schema().node(point.node));
    if let Some(node) = node.filter(|node| node.is_leaf_list()) {
        let (node, holder) = (
            node.id,
            data.node_ref_of(change.key, &trail[..trail.len() - 1]),
        );
        if let Some(value) = change.old {
            let (holder, value) = (holder.clone(), take_entry_value(value)?);
            report(Change::ValueDeleted {
                holder,
                node,
                value,
            })?;
        }
        if let Some(value) = change.new {
            let value = take_entry_value(value)?;
            report(Change::ValueCreated {
                holder,
                node,
                value,
            })?;
        }
        return Ok(());
    }
    if !plan.is_watched(node.map(|node| node.id)) {
        return Ok(());
    }
    let place = data.node_ref_of(change.key, trail);
    let exists_by_key =
        node.is_some_and(|node| !matches!(node.kind, NodeKind::Container { presence: false }));
    match (change.old, change.new) {
        (None, Some(_)) if exists_by_key => report(Change::Created(place.clone()))?,
        (Some(_), None) if exists_by_key => report(Change::Deleted(place.clone()))?,
        (Some(old), Some(new))
            if node.map_or(Ok(false), |node| is_replaced_entry(node, old, new))? =>
        {
            report(Change::Deleted(place.clone()))?;
            report(Change::Created(place.clone()))?;
        }
        _ => {}
    }
    leaves(state, change, &place, report)
}

/// Whether another entry took the position of a deleted one.
fn is_replaced_entry(node: &Node, old: &[u8], new: &[u8]) -> Result<bool> {
    let keys = node.keys().len();
    if !node.is_positional() || keys == 0 {
        return Ok(false);
    }
    let (old, new) = (Fragment::decode(old, keys)?, Fragment::decode(new, keys)?);
    Ok(old
        .leaves
        .iter()
        .take(keys)
        .ne(new.leaves.iter().take(keys)))
}

/// Reports the differing leaves of a fragment.
fn leaves(
    state: &TreeState<'_>,
    change: &KeyChange<'_>,
    place: &NodeRef,
    report: &mut dyn FnMut(Change<NodeRef>) -> Result<()>,
) -> Result<()> {
    let decode = |value: Option<&[u8]>| match value {
        Some(value) => Fragment::decode(value, 0),
        None => Ok(Fragment::default()),
    };
    let (old, new) = (decode(change.old)?, decode(change.new)?);
    let deleted = old
        .leaves
        .iter()
        .filter(|(id, _)| new.get(*id).is_none())
        .map(|(id, packed)| (id, Some(packed), None));
    let changed = new
        .leaves
        .iter()
        .map(|(id, packed)| (id, old.get(*id), Some(packed)))
        .filter(|(_, old, new)| old != new);
    for (id, old, new) in deleted.chain(changed) {
        let Some(node) = state.layout().child(place.node(), *id) else {
            continue;
        };
        report(Change::Leaf {
            holder: place.clone(),
            node,
            old: old.map(value_of),
            new: new.map(value_of),
        })?;
    }
    Ok(())
}

fn value_of(packed: &Packed) -> Value {
    match packed {
        Packed::Value(value) => value.clone(),
        Packed::Any(_) => Value::Empty,
    }
}

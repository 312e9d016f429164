//! Checks whether a change concerns the paths of a subscription.
//!
//! The check works on keys, before a diff is made: a node with its descendants is one range of keys, so it
//! costs one search, independently of the size of the change. For a list without keys on the path, the
//! changed keys of that list are searched.

use espalier_keyspace::KeyRange;
use espalier_yang::{InstancePath, Keys, NodeKind, Schema, Step};

use crate::error::Result;
use crate::fragment::{Fragment, Packed};
use crate::tree::changes::{Comparison, Delta, Deltas};
use crate::tree::locate::{Location, LocationKind, TreeState};

/// Whether something at or below a path may differ. May also be true for a list ordered by user that was
/// only renumbered.
pub(super) fn may_touch(comparison: Comparison<'_>, path: &InstancePath) -> Result<bool> {
    let schema = &comparison.compiled.schema;
    let is_whole = |step: &Step| {
        let node = schema.node(step.node);
        step.keys == Keys::None && (node.is_list() || node.is_leaf_list())
    };
    let end = path.steps.iter().position(is_whole);
    let end = end.map_or(path.steps.len(), |at| at + 1);
    let (exact, rest) = path.steps.split_at(end);
    let before = place(comparison.before(), exact)?;
    let after = place(comparison.after(), exact)?;
    let places = [before.as_ref(), after.as_ref()];
    if places
        .iter()
        .flatten()
        .any(|place| place.kind == LocationKind::Leaf)
    {
        let old = leaf(comparison.before(), before.as_ref())?;
        return Ok(old != leaf(comparison.after(), after.as_ref())?);
    }
    let mut searched: Option<&Location> = None;
    for place in places.into_iter().flatten() {
        if searched.is_some_and(|searched| searched.key == place.key) {
            continue;
        }
        searched = Some(place);
        if any_key(comparison, place, path, rest)? {
            return Ok(true);
        }
    }
    Ok(false)
}

fn place(state: TreeState<'_>, steps: &[Step]) -> Result<Option<Location>> {
    let mut place = state.root();
    for step in steps {
        match state.step(place, step)? {
            Some(next) => place = next,
            None => return Ok(None),
        }
    }
    Ok(Some(place))
}

fn leaf(state: TreeState<'_>, place: Option<&Location>) -> Result<Option<Packed>> {
    let Some((place, node)) = place.and_then(|place| Some((place, place.node?))) else {
        return Ok(None);
    };
    let Some(stored) = state.snapshot.get(&place.key)? else {
        return Ok(None);
    };
    let id = state.layout().id(node);
    Ok(Fragment::decode(&stored, 0)?.get(id).cloned())
}

/// Whether a differing key at or below a place is on the rest of the path.
fn any_key(
    comparison: Comparison<'_>,
    place: &Location,
    path: &InstancePath,
    rest: &[Step],
) -> Result<bool> {
    let mut deltas = comparison.keys_in(&KeyRange::prefix(&place.key))?;
    let mut delta = Delta::default();
    while deltas.next(&mut delta)? {
        if rest.is_empty() || is_along(comparison, &delta.rest, path)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether a key is at or below a path's node, or that of the fragment with the path's leaf.
fn is_along(comparison: Comparison<'_>, key: &[u8], path: &InstancePath) -> Result<bool> {
    let Some(trail) = comparison.after().trail(key)? else {
        return Ok(false);
    };
    let nodes = inner_steps(&comparison.compiled.schema, path);
    let is_long_enough = trail.len() >= nodes.len();
    let mut steps = trail.iter().zip(nodes);
    Ok(is_long_enough && steps.all(|(point, step)| point.node == step.node))
}

/// The steps of a path that are part of keys: a leaf at the end is not.
fn inner_steps<'p>(schema: &Schema, path: &'p InstancePath) -> &'p [Step] {
    let is_leaf = |step: &Step| {
        let kind = &schema.node(step.node).kind;
        matches!(
            kind,
            NodeKind::Leaf(_) | NodeKind::AnyData | NodeKind::AnyXml
        )
    };
    match path.steps.split_last() {
        Some((last, parents)) if is_leaf(last) => parents,
        _ => &path.steps,
    }
}

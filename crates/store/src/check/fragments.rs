//! The check of every key and value of a tree.

use espalier_keyspace::{Direction, KeyRange};
use espalier_yang::schema::Node;
use espalier_yang::{NodeId, NodeKind};

use super::DatastoreFindings;
use crate::error::Result;
use crate::fragment::{Fragment, Packed, take_entry_value};
use crate::keys::{put_key_value, take_local_id};
use crate::subspace::Subspace;
use crate::tree::{TreeState, View, order_key, skip_entry};

/// The progress is reported after this many keys.
const PROGRESS_EVERY: u64 = 4096;

/// A container or list entry that contains the current key.
struct Ancestor {
    node: NodeId,
    key: Vec<u8>,
}

/// Checks every key of a datastore.
pub(super) fn check(
    view: &View,
    findings: &mut DatastoreFindings<'_>,
    progress: &mut dyn FnMut(u64),
) -> Result<()> {
    let state = view.state();
    let prefix = state.tree.prefix(Subspace::Tree);
    let range = KeyRange::prefix(&prefix);
    let mut cursor = state.snapshot.scan(&range, Direction::Forward)?;
    let mut ancestors: Vec<Ancestor> = Vec::new();
    let mut keys = 0;
    while let Some((key, value)) = cursor.next()? {
        keys += 1;
        if keys % PROGRESS_EVERY == 0 {
            progress(PROGRESS_EVERY);
        }
        while ancestors
            .last()
            .is_some_and(|ancestor| !key.starts_with(&ancestor.key))
        {
            ancestors.pop();
        }
        if let Err(error) = check_key(&state, key, value, prefix.len(), &mut ancestors, findings) {
            findings.push(key, error.to_string());
        }
    }
    progress(keys % PROGRESS_EVERY);
    Ok(())
}

fn check_key(
    state: &TreeState<'_>,
    key: &[u8],
    value: &[u8],
    prefix: usize,
    ancestors: &mut Vec<Ancestor>,
    findings: &mut DatastoreFindings<'_>,
) -> Result<()> {
    let mut parent = ancestors.last().map(|ancestor| ancestor.node);
    let mut at = ancestors
        .last()
        .map_or(prefix, |ancestor| ancestor.key.len());
    while at < key.len() {
        let mut rest = &key[at..];
        let id = take_local_id(&mut rest)?;
        let Some(child) = state.layout().child(parent, id) else {
            // An upgrade removed the node from the model; its data stays in the store and is not visible.
            return Ok(());
        };
        let node = state.schema().node(child);
        let list = key.len() - rest.len();
        skip_entry(node, &mut rest)?;
        at = key.len() - rest.len();
        if node.is_leaf_list() {
            return check_entry(node, key, list, value, state, findings);
        }
        if at < key.len() && !node.is_np_container() {
            findings.push(
                key,
                format!("its parent {} does not exist", state.schema().path(child)),
            );
        }
        ancestors.push(Ancestor {
            node: child,
            key: key[..at].to_vec(),
        });
        parent = Some(child);
        if at == key.len() {
            return check_fragment(node, key, list, value, state, findings);
        }
    }
    check_leaves(parent, &Fragment::decode(value, 0)?, key, state, findings);
    Ok(())
}

fn check_fragment(
    node: &Node,
    key: &[u8],
    list: usize,
    value: &[u8],
    state: &TreeState<'_>,
    findings: &mut DatastoreFindings<'_>,
) -> Result<()> {
    let fragment = Fragment::decode(value, node.keys().len())?;
    if fragment.leaves.is_empty() && node.is_np_container() {
        findings.push(
            key,
            "a container without presence and without leaves has a key",
        );
    }
    let keys: Vec<_> = fragment.leaves[..fragment.keys]
        .iter()
        .filter_map(|(_, packed)| match packed {
            Packed::Value(value) => Some(value.clone()),
            Packed::Any(_) => None,
        })
        .collect();
    check_place(node, key, list, &keys, state, findings)?;
    check_leaves(Some(node.id), &fragment, key, state, findings);
    Ok(())
}

/// Checks that an entry is stored at the place that its key leaves require.
fn check_place(
    node: &Node,
    key: &[u8],
    list: usize,
    keys: &[espalier_yang::Value],
    state: &TreeState<'_>,
    findings: &mut DatastoreFindings<'_>,
) -> Result<()> {
    if !node.is_positional() {
        let mut expected = key[..list].to_vec();
        keys.iter()
            .for_each(|value| put_key_value(&mut expected, value));
        if (node.is_list() || node.is_leaf_list()) && expected != key {
            findings.push(key, "the key leaves of an entry do not match its place");
        }
    } else if node.is_config && !keys.is_empty() {
        let position = state.snapshot.get(&order_key(&key[..list], keys))?;
        if position.as_deref() != Some(&key[list..]) {
            findings.push(key, "the order index has another position for this entry");
        }
    }
    Ok(())
}

fn check_entry(
    node: &Node,
    key: &[u8],
    list: usize,
    value: &[u8],
    state: &TreeState<'_>,
    findings: &mut DatastoreFindings<'_>,
) -> Result<()> {
    let value = take_entry_value(value)?;
    check_place(
        node,
        key,
        list,
        std::slice::from_ref(&value),
        state,
        findings,
    )
}

fn check_leaves(
    parent: Option<NodeId>,
    fragment: &Fragment,
    key: &[u8],
    state: &TreeState<'_>,
    findings: &mut DatastoreFindings<'_>,
) {
    for (id, _) in &fragment.leaves {
        let Some(leaf) = state.layout().child(parent, *id) else {
            continue;
        };
        let node = state.schema().node(leaf);
        if !matches!(
            node.kind,
            NodeKind::Leaf(_) | NodeKind::AnyData | NodeKind::AnyXml
        ) {
            findings.push(
                key,
                format!("{} is stored among the leaves", state.schema().path(leaf)),
            );
        }
    }
    if !fragment.leaves[fragment.keys..].is_sorted_by_key(|(id, _)| *id) {
        findings.push(key, "the leaves are not in order");
    }
}

//! The check of the order index: every row points to an entry.

use espalier_keyspace::{Direction, KeyRange};

use super::DatastoreFindings;
use crate::error::Result;
use crate::keys::take_local_id;
use crate::subspace::Subspace;
use crate::tree::{TreeState, View, in_subspace, is_order_index, skip_entry};

/// Checks the order index of a datastore.
pub(super) fn check(view: &View, findings: &mut DatastoreFindings<'_>) -> Result<()> {
    each_fault(&view.state(), &mut |key, problem| {
        findings.push(key, problem)
    })
}

/// The rows of the order index that point to no entry.
pub(crate) fn stale_order_rows(state: &TreeState<'_>) -> Result<Vec<Vec<u8>>> {
    let mut rows = Vec::new();
    each_fault(state, &mut |key, _| rows.push(key.to_vec()))?;
    Ok(rows)
}

fn each_fault(state: &TreeState<'_>, fault: &mut dyn FnMut(&[u8], String)) -> Result<()> {
    let prefix = state.tree.prefix(Subspace::Order);
    let range = KeyRange::prefix(&prefix);
    let mut cursor = state.snapshot.scan(&range, Direction::Forward)?;
    while let Some((key, position)) = cursor.next()? {
        match entry_of(state, key, prefix.len(), position) {
            Err(error) => fault(key, error.to_string()),
            Ok(None) => fault(
                key,
                "the models do not have the list of this row".to_owned(),
            ),
            Ok(Some(entry)) if state.snapshot.get(&entry)?.is_none() => {
                let problem = "the order index points to an entry that does not exist";
                fault(key, problem.to_owned());
            }
            Ok(_) => {}
        }
    }
    Ok(())
}

/// The tree key of the entry that a row of the index points to; `None` if the model no longer has the list.
fn entry_of(
    state: &TreeState<'_>,
    key: &[u8],
    prefix: usize,
    position: &[u8],
) -> Result<Option<Vec<u8>>> {
    let mut parent = None;
    let mut at = prefix;
    loop {
        let mut rest = &key[at..];
        let id = take_local_id(&mut rest)?;
        let Some(child) = state.layout().child(parent, id) else {
            return Ok(None);
        };
        let list = key.len() - rest.len();
        let node = state.schema().node(child);
        if node.is_positional() && is_order_index(&key[..list], key) {
            let mut entry = in_subspace(&key[..list], Subspace::Tree);
            entry.extend_from_slice(position);
            return Ok(Some(entry));
        }
        skip_entry(node, &mut rest)?;
        at = key.len() - rest.len();
        parent = Some(child);
    }
}

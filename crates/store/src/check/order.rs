//! The order index: every row points to an entry.

use espalier_keyspace::{Direction, KeyRange};

use super::Found;
use crate::error::Result;
use crate::keys::take_local_id;
use crate::subspace::Subspace;
use crate::tree::{State, View, in_subspace, is_order_index, skip_entry};

/// Examines the order index of a datastore.
pub(super) fn check(view: &View, found: &mut Found<'_>) -> Result<()> {
    let state = view.state();
    let prefix = state.tree.prefix(Subspace::Order);
    let range = KeyRange::prefix(&prefix);
    let mut cursor = state.snapshot.scan(&range, Direction::Forward)?;
    while let Some((key, position)) = cursor.next()? {
        match entry_of(&state, key, prefix.len(), position) {
            Err(error) => found.push(key, error.to_string()),
            Ok(Some(entry)) if state.snapshot.get(&entry)?.is_none() => {
                found.push(
                    key,
                    "the order index points to an entry that does not exist",
                );
            }
            Ok(_) => {}
        }
    }
    Ok(())
}

/// The tree key of the entry that a row of the index is about; none where the model has lost it.
fn entry_of(
    state: &State<'_>,
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

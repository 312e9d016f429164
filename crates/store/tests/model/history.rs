//! The log of each commit restores the state before it.

use std::collections::BTreeMap;

use espalier_keyspace::{Direction, KeyRange, Snapshot, tuple};
use espalier_store::{Subspace, Tree};

/// The keys of a tree (the subspace, and what follows the tree's prefix) and their values.
pub type State = BTreeMap<(u8, Vec<u8>), Vec<u8>>;

/// The datastore byte of running.
const RUNNING: u8 = 1;

fn prefix(tree: &Tree, subspace: Subspace) -> Vec<u8> {
    let mut prefix = subspace.key();
    let anchor = tree.store().anchor("d", "a").unwrap();
    tuple::put_unsigned(&mut prefix, anchor.id);
    prefix.push(RUNNING);
    prefix
}

fn scan(snapshot: &dyn Snapshot, prefix: &[u8]) -> Vec<(Vec<u8>, Vec<u8>)> {
    let range = KeyRange::prefix(prefix);
    let mut cursor = snapshot.scan(&range, Direction::Forward).unwrap();
    let mut pairs = Vec::new();
    while let Some((key, value)) = cursor.next().unwrap() {
        pairs.push((key[prefix.len()..].to_vec(), value.to_vec()));
    }
    pairs
}

/// The stored rows of a tree, without stamps and log.
pub fn state(tree: &Tree) -> State {
    let snapshot = tree.store().driver().snapshot().unwrap();
    let mut state = State::new();
    for subspace in [Subspace::Tree, Subspace::Order] {
        for (key, value) in scan(&*snapshot, &prefix(tree, subspace)) {
            state.insert((subspace as u8, key), value);
        }
    }
    state
}

/// Undoes a commit by its log.
pub fn undo(tree: &Tree, version: u64, state: &mut State) {
    let mut prefix = prefix(tree, Subspace::Log);
    tuple::put_unsigned(&mut prefix, version);
    let snapshot = tree.store().driver().snapshot().unwrap();
    let chunks = scan(&*snapshot, &prefix);
    assert!(!chunks.is_empty(), "version {version} is in the log");
    let log: Vec<u8> = chunks.into_iter().flat_map(|(_, chunk)| chunk).collect();
    let mut rest = log.as_slice();
    let (_time, _author, _comment) = (varint(&mut rest), bytes(&mut rest), bytes(&mut rest));
    let mut records = Vec::new();
    while let Some(kind) = rest.split_off_first() {
        records.push(record(*kind, &mut rest));
    }
    for record in records.into_iter().rev() {
        match record {
            None => state.clear(),
            Some((key, Some(old))) => drop(state.insert(key, old)),
            Some((key, None)) => drop(state.remove(&key)),
        }
    }
}

/// A key and its old value; `None` if the whole tree was empty.
#[allow(clippy::type_complexity)]
fn record(kind: u8, rest: &mut &[u8]) -> Option<((u8, Vec<u8>), Option<Vec<u8>>)> {
    if kind == 4 {
        return None;
    }
    let subspace = *rest.split_off_first().unwrap();
    let key = (subspace, bytes(rest));
    Some((key, (kind != 1).then(|| bytes(rest))))
}

fn varint(rest: &mut &[u8]) -> u64 {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let byte = *rest.split_off_first().unwrap();
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            break;
        }
    }
    value
}

fn bytes(rest: &mut &[u8]) -> Vec<u8> {
    let length = varint(rest) as usize;
    rest.split_off(..length).unwrap().to_vec()
}

//! The origins of pushed data. A record is stored only if the origin differs from that of the parent
//! resource.
//!
//! | key after the tree's prefix | value |
//! |---|---|
//! | as the key of the resource | its origin and that of its content; then a local id and an origin for each leaf with another origin |
//!
//! Without any record the origin is [`Origin::Unknown`], so a push without an origin writes no records.

use std::borrow::Cow;
use std::collections::BTreeMap;

use espalier_keyspace::{Batch, Direction, KeyRange, Snapshot, Writer};
use espalier_yang::data::Origin;
use espalier_yang::schema::Node;

use crate::compiled_schema_set::Compiled;
use crate::error::{Error, Result};
use crate::fragment::{Fragment, Reader, put_varint, take_varint};
use crate::keys::{LocalId, TreeId};
use crate::overlay::{Changes, Overlay};
use crate::subspace::Subspace;
use crate::tree::key_nodes::KeyNode;
use crate::tree::locate::{TreeState, in_subspace};

/// The origin of a resource and of its leaves.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct OriginRecord {
    origin: Origin,
    /// The leaves with another origin, by local id.
    leaves: Vec<(LocalId, Origin)>,
}

impl OriginRecord {
    fn of(origin: Origin) -> Self {
        let leaves = Vec::new();
        Self { origin, leaves }
    }

    /// The origin of the resource, and those of leaves that differ.
    pub fn into_parts(self) -> (Origin, Vec<(LocalId, Origin)>) {
        (self.origin, self.leaves)
    }

    fn encode(&self) -> Vec<u8> {
        let mut bytes = vec![code(self.origin)];
        for (id, origin) in &self.leaves {
            put_varint(&mut bytes, id.0.into());
            bytes.push(code(*origin));
        }
        bytes
    }

    pub fn decode(mut bytes: &[u8]) -> Result<Self> {
        let origin = take_code(&mut bytes)?;
        let mut leaves = Vec::new();
        while !bytes.is_empty() {
            let id = u32::try_from(take_varint(&mut bytes)?).map_err(|_| damaged())?;
            leaves.push((LocalId(id), take_code(&mut bytes)?));
        }
        Ok(Self { origin, leaves })
    }

    fn set(&mut self, id: LocalId, origin: Origin) {
        self.leaves.retain(|(other, _)| *other != id);
        if origin != self.origin {
            let at = self.leaves.partition_point(|(other, _)| *other < id);
            self.leaves.insert(at, (id, origin));
        }
    }
}

/// The number of an origin in records; never reused.
fn code(origin: Origin) -> u8 {
    match origin {
        Origin::Unknown => 0,
        Origin::Intended => 1,
        Origin::Dynamic => 2,
        Origin::System => 3,
        Origin::Learned => 4,
        Origin::Default => 5,
    }
}

fn take_code(bytes: &mut &[u8]) -> Result<Origin> {
    let (&first, rest) = bytes.split_first().ok_or_else(damaged)?;
    *bytes = rest;
    let mut all = Origin::ALL.into_iter();
    all.find(|origin| code(*origin) == first)
        .ok_or_else(damaged)
}

fn damaged() -> Error {
    Error::corrupt("a record of origins is damaged")
}

/// The origins at a key of the data.
pub(super) fn find(state: &TreeState<'_>, key: &[u8]) -> Result<OriginRecord> {
    if let Some(record) = stored(state, key)? {
        return Ok(record);
    }
    parent_origin(state, key).map(OriginRecord::of)
}

fn stored(state: &TreeState<'_>, key: &[u8]) -> Result<Option<OriginRecord>> {
    let value = state.snapshot.get(&in_subspace(key, Subspace::Origin))?;
    value.map(|value| OriginRecord::decode(&value)).transpose()
}

/// The origin of the parent of a key.
fn parent_origin(state: &TreeState<'_>, key: &[u8]) -> Result<Origin> {
    let trail = state.trail(key)?.unwrap_or_default();
    let root = state.tree.prefix(Subspace::Tree).len();
    let ends = trail.iter().rev().skip(1).map(|point| point.end);
    for end in ends.chain((!trail.is_empty()).then_some(root)) {
        if let Some(record) = stored(state, &key[..end])? {
            return Ok(record.origin);
        }
    }
    Ok(Origin::default())
}

/// Records one origin for everything in a tree that was written as a whole.
pub(in crate::tree) fn record_of_all(
    writer: &mut dyn Writer,
    tree: TreeId,
    origin: Origin,
) -> Result<()> {
    let root = tree.prefix(Subspace::Origin);
    writer.delete_range(&KeyRange::prefix(&root))?;
    if origin != Origin::default() {
        writer.put(&root, &OriginRecord::of(origin).encode())?;
    }
    Ok(())
}

/// Moves the records of resources whose keys change, and deletes those of deleted resources. `moved` maps
/// old to new keys of entries.
pub(in crate::tree) fn move_origins(
    state: &TreeState<'_>,
    changes: &Changes,
    moved: &BTreeMap<Vec<u8>, Vec<u8>>,
    batch: &mut Batch,
) -> Result<()> {
    let range = KeyRange::prefix(&state.tree.prefix(Subspace::Origin));
    let mut cursor = state.snapshot.scan(&range, Direction::Forward)?;
    let mut puts = Vec::new();
    while let Some((key, record)) = cursor.next()? {
        let data = in_subspace(key, Subspace::Tree);
        let trail = state.trail(&data)?.unwrap_or_default();
        let mut entries = trail.iter().rev();
        let entry = entries.find_map(|point| Some((point.end, moved.get(&data[..point.end])?)));
        if let Some((end, entry)) = entry {
            let now = [entry, &data[end..]].concat();
            batch.delete(key.to_vec());
            puts.push((in_subspace(&now, Subspace::Origin), record.to_vec()));
        } else if changes.is_cleared(&data) {
            batch.delete(key.to_vec());
        }
    }
    for (key, record) in puts {
        batch.put(key, record);
    }
    Ok(())
}

/// Records the origin of everything that an overlay changes.
pub(in crate::tree) fn record(
    overlay: &mut Overlay,
    compiled: &Compiled,
    tree: TreeId,
    origin: Origin,
) -> Result<()> {
    let records = KeyRange::prefix(&tree.prefix(Subspace::Origin));
    let has_records = {
        let mut cursor = overlay.base().scan(&records, Direction::Forward)?;
        cursor.next()?.is_some()
    };
    if !has_records && origin == Origin::default() {
        return Ok(());
    }
    let (dropped, keys) = changed(overlay, tree)?;
    for range in dropped {
        overlay.delete_range(&range);
    }
    let mut recorder = Recorder {
        compiled,
        tree,
        origin,
        last: None,
    };
    for key in keys {
        recorder.key(overlay, &key)?;
    }
    Ok(())
}

/// The ranges of records whose data is deleted, and the data keys with new values.
#[allow(clippy::type_complexity)]
fn changed(overlay: &Overlay, tree: TreeId) -> Result<(Vec<KeyRange>, Vec<Vec<u8>>)> {
    let data = KeyRange::prefix(&tree.prefix(Subspace::Tree));
    let cleared = overlay
        .cleared()
        .filter(|range| data.contains(&range.start));
    let mut dropped: Vec<KeyRange> = cleared
        .map(|range| KeyRange {
            start: in_subspace(&range.start, Subspace::Origin),
            end: range.end.map(|end| in_subspace(&end, Subspace::Origin)),
        })
        .collect();
    let mut keys = Vec::new();
    for (key, new) in overlay.written().filter(|(key, _)| data.contains(key)) {
        let is_cleared = overlay.is_cleared(key);
        match new {
            Some(new) if is_cleared || overlay.base().get(key)?.as_deref() != Some(new) => {
                keys.push(key.to_vec());
            }
            None if !is_cleared => {
                let start = in_subspace(key, Subspace::Origin);
                let end = [start.as_slice(), &[0]].concat();
                dropped.push(KeyRange::new(start, end));
            }
            _ => {}
        }
    }
    Ok((dropped, keys))
}

struct Recorder<'a> {
    compiled: &'a Compiled,
    tree: TreeId,
    origin: Origin,
    /// The parent resource of the last key, and its origin.
    last: Option<(Vec<u8>, Origin)>,
}

impl Recorder<'_> {
    /// Records the origin of changed data at one key.
    fn key(&mut self, overlay: &mut Overlay, key: &[u8]) -> Result<()> {
        let state = TreeState::new(&*overlay, self.compiled, self.tree);
        let Some(trail) = state.trail(key)? else {
            return Ok(());
        };
        let inherited = self.parent_origin(&state, key, &trail)?;
        let own = stored(&state, key)?;
        let node = trail.last().map(|point| point.node);
        let node = node.map(|node| self.compiled.schema.node(node));
        let old = match overlay.is_cleared(key) {
            false => overlay.base().get(key)?.map(Cow::into_owned),
            true => None,
        };
        let exists_by_itself = node.is_some_and(|node| !node.is_np_container());
        let record = match (old, exists_by_itself) {
            (None, true) => OriginRecord::of(self.origin),
            (Some(_), true) if node.is_some_and(Node::is_leaf_list) => return Ok(()),
            (old, _) => {
                let new = Snapshot::get(overlay, key)?.unwrap_or_default();
                let mut record = own.clone().unwrap_or_else(|| inherited.clone());
                self.leaves(&mut record, &old.unwrap_or_default(), &new)?;
                record
            }
        };
        let at = in_subspace(key, Subspace::Origin);
        if record != inherited {
            overlay.put(at, record.encode());
        } else if own.is_some() {
            overlay.delete(at);
        }
        Ok(())
    }

    /// The origin of a resource without a record.
    fn parent_origin(
        &mut self,
        state: &TreeState<'_>,
        key: &[u8],
        trail: &[KeyNode],
    ) -> Result<OriginRecord> {
        let end = match trail {
            [.., parent, _] => parent.end,
            _ => 0,
        };
        let origin = match &self.last {
            Some((last, origin)) if end > 0 && *last == key[..end] => *origin,
            _ => parent_origin(state, key)?,
        };
        self.last = Some((key[..end].to_vec(), origin));
        Ok(OriginRecord::of(origin))
    }

    /// Records the leaves that differ between two values of a fragment.
    fn leaves(&self, record: &mut OriginRecord, old: &[u8], new: &[u8]) -> Result<()> {
        let old = Fragment::decode(old, 0)?;
        let mut present = Vec::new();
        for leaf in Reader::new(new) {
            let (id, packed) = leaf?;
            present.push(id);
            if old.get(id) != Some(&packed) {
                record.set(id, self.origin);
            }
        }
        record.leaves.retain(|(id, _)| present.contains(id));
        Ok(())
    }
}

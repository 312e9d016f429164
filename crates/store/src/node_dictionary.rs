//! The node dictionary: the number of each schema node among its siblings.
//!
//! One row for each node that has children: the key is its schema path, the value the qualified names of the
//! children with their numbers. Rows only grow: a number is never reassigned, so keys keep their meaning
//! across restarts and model upgrades, and schema sets share the numbers of common nodes.

use espalier_keyspace::{Batch, Snapshot, tuple};
use espalier_yang::{NodeId, Schema};

use crate::error::{Error, Result};
use crate::fragment::{put_varint, take_varint};
use crate::keys::{LOCAL_IDS_MAX, LocalId};
use crate::node_numbers::{Layout, is_data};
use crate::subspace::Subspace;

/// Numbers every data node of `schema`. Nodes without a number in the dictionary get a new one; the returned
/// batch adds those to the dictionary (it is empty if there are none).
pub(crate) fn number(schema: &Schema, snapshot: &dyn Snapshot) -> Result<(Layout, Batch)> {
    let mut numbering = Numbering {
        schema,
        snapshot,
        ids: Layout::unknown_ids(schema.nodes().len()),
        batch: Batch::new(),
    };
    numbering.siblings("", schema.roots())?;
    Ok((Layout::new(schema, numbering.ids), numbering.batch))
}

// Numbers are local to the parent: one byte for each step of a path, docs/decisions/0004.
struct Numbering<'a> {
    schema: &'a Schema,
    snapshot: &'a dyn Snapshot,
    ids: Vec<LocalId>,
    batch: Batch,
}

impl Numbering<'_> {
    fn siblings(&mut self, path: &str, nodes: &[NodeId]) -> Result<()> {
        let nodes: Vec<NodeId> = nodes
            .iter()
            .copied()
            .filter(|&node| is_data(self.schema, node))
            .collect();
        if nodes.is_empty() {
            return Ok(());
        }
        let names: Vec<String> = nodes.iter().map(|&node| self.name(node)).collect();
        let ids = self.row(path, &names)?;
        for ((&node, name), id) in nodes.iter().zip(&names).zip(ids) {
            self.ids[node.0 as usize] = id;
            let children = &self.schema.node(node).children;
            self.siblings(&format!("{path}/{name}"), children)?;
        }
        Ok(())
    }

    fn name(&self, node: NodeId) -> String {
        let node = self.schema.node(node);
        format!("{}:{}", self.schema.module(node.module).name, node.name)
    }

    /// The numbers of `names` in the row of `path`; new names are added to the row.
    fn row(&mut self, path: &str, names: &[String]) -> Result<Vec<LocalId>> {
        let mut key = Subspace::Dictionary.key();
        tuple::put_bytes(&mut key, path.as_bytes());
        let stored = self.snapshot.get(&key)?.map(std::borrow::Cow::into_owned);
        let mut row = stored
            .as_deref()
            .map_or_else(|| Ok(Row::default()), Row::decode)?;
        let stored_len = row.entries.len();
        let ids = names
            .iter()
            .map(|name| row.number(name))
            .collect::<Result<Vec<_>>>()?;
        if row.entries.len() > stored_len {
            self.batch.require(key.clone(), stored);
            self.batch.put(key, row.encode());
        }
        Ok(ids)
    }
}

/// The children of one node: name and number.
#[derive(Default)]
struct Row {
    entries: Vec<(String, LocalId)>,
}

impl Row {
    fn number(&mut self, name: &str) -> Result<LocalId> {
        if let Some((_, id)) = self.entries.iter().find(|(other, _)| other == name) {
            return Ok(*id);
        }
        let next = self.entries.iter().map(|(_, id)| id.0).max().unwrap_or(0) + 1;
        if next >= LOCAL_IDS_MAX {
            return Err(Error::corrupt(format!(
                "the node dictionary is full: there is no number for the node {name}"
            )));
        }
        self.entries.push((name.to_owned(), LocalId(next)));
        Ok(LocalId(next))
    }

    fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for (name, id) in &self.entries {
            put_varint(&mut bytes, id.0.into());
            put_varint(&mut bytes, name.len() as u64);
            bytes.extend_from_slice(name.as_bytes());
        }
        bytes
    }

    fn decode(mut bytes: &[u8]) -> Result<Self> {
        let mut entries = Vec::new();
        while !bytes.is_empty() {
            let id = u32::try_from(take_varint(&mut bytes)?).unwrap_or(LOCAL_IDS_MAX);
            let length = take_varint(&mut bytes)? as usize;
            let name = bytes
                .split_off(..length)
                .and_then(|name| std::str::from_utf8(name).ok());
            let name =
                name.ok_or_else(|| Error::corrupt("a row of the node dictionary is truncated"))?;
            entries.push((name.to_owned(), LocalId(id)));
        }
        Ok(Self { entries })
    }
}

/// The qualified name of a local id below a schema path (the names of its nodes, each with its module);
/// `None` if the dictionary never assigned it.
pub(crate) fn name_of(snapshot: &dyn Snapshot, path: &str, id: LocalId) -> Result<Option<String>> {
    let mut key = Subspace::Dictionary.key();
    tuple::put_bytes(&mut key, path.as_bytes());
    let Some(stored) = snapshot.get(&key)? else {
        return Ok(None);
    };
    let row = Row::decode(&stored)?;
    let mut entries = row.entries.into_iter();
    Ok(entries
        .find(|(_, other)| *other == id)
        .map(|(name, _)| name))
}

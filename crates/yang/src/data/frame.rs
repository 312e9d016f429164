//! One open node of a document that is being read.

use std::fmt::Write as _;

use smallvec::SmallVec;

use super::assemble::ChildName;
use super::entry_set::EntrySet;
use super::sink::Mark;
use crate::path::{InstancePath, Keys, push_quoted};
use crate::schema::{CaseChoice, ModuleId, NodeId, Schema};
use crate::value::Value;

/// One open node. Frames are reused, so that opening a node allocates nothing.
#[derive(Debug, Default)]
pub(super) struct Frame {
    /// The node; none for the document itself.
    pub(super) node: Option<NodeId>,
    /// The position of its start.
    pub(super) mark: Mark,
    /// The value of each key, as far as read.
    pub(super) keys: SmallVec<[Option<Value>; 1]>,
    /// Whether a key had an invalid value (already reported).
    pub(super) has_wrong_key: bool,
    /// Whether its annotations delete it.
    pub(super) is_deleted: bool,
    /// The position in a list without keys, from 1.
    pub(super) position: u64,
    /// The single-instance children read so far, ascending.
    singles: SmallVec<[NodeId; 8]>,
    /// The entries of each list and leaf-list in this node.
    lists: Vec<(NodeId, EntrySet)>,
    /// The case of each choice that has data, with the node that selected it.
    cases: Vec<(CaseChoice, NodeId)>,
    /// The children of this entry and of the preceding entry of the list, by name, in order: most entries have
    /// the same children as their predecessor.
    names: Vec<(CachedName, NodeId)>,
    /// The index of the next name, if this entry equals its predecessor in structure.
    next_name: usize,
}

/// The name of a child as the document writes it: empty namespace in JSON.
#[derive(Debug)]
struct CachedName {
    namespace: Box<str>,
    name: Box<str>,
}

impl CachedName {
    fn is(&self, name: ChildName<'_>) -> bool {
        match name {
            ChildName::Json(name) => *self.name == *name,
            ChildName::Xml(namespace, name) => *self.name == *name && *self.namespace == *namespace,
        }
    }
}

impl From<ChildName<'_>> for CachedName {
    fn from(name: ChildName<'_>) -> Self {
        let (namespace, name) = match name {
            ChildName::Json(name) => ("", name),
            ChildName::Xml(namespace, name) => (namespace, name),
        };
        Self {
            namespace: namespace.into(),
            name: name.into(),
        }
    }
}

/// The maximum number of names that a frame caches.
const NAMES_MAX: usize = 64;

impl Frame {
    /// Reuses the frame for another node.
    pub(super) fn reset(&mut self, schema: &Schema, node: Option<NodeId>, mark: Mark) {
        if self.node != node {
            self.names.clear();
        }
        self.next_name = 0;
        self.node = node;
        self.mark = mark;
        self.has_wrong_key = false;
        self.is_deleted = false;
        self.position = 0;
        self.singles.clear();
        self.lists.clear();
        self.cases.clear();
        self.keys.clear();
        if let Some(node) = node {
            self.keys.resize(schema.node(node).keys().len(), None);
        }
    }

    /// The child with a name, if it is next according to the preceding entry.
    pub(super) fn expected(&mut self, name: ChildName<'_>) -> Option<NodeId> {
        // In XML, the same list member occurs many times in a row.
        let from = self.next_name.saturating_sub(1);
        let to = self.names.len().min(self.next_name + 2);
        let found = (from..to).find(|&index| self.names[index].0.is(name))?;
        self.next_name = found + 1;
        Some(self.names[found].1)
    }

    /// Caches the child of a name for [`Self::expected`].
    pub(super) fn cache_name(&mut self, name: ChildName<'_>, node: NodeId) {
        if self.names.len() == NAMES_MAX {
            self.names.clear();
            self.next_name = 0;
        }
        let index = self.next_name.min(self.names.len());
        self.names.insert(index, (name.into(), node));
        self.next_name = index + 1;
    }

    /// Records a single-instance child; returns false if it was recorded before.
    pub(super) fn record_single(&mut self, node: NodeId) -> bool {
        if self.singles.last().is_none_or(|&last| last < node) {
            self.singles.push(node);
            return true;
        }
        match self.singles.binary_search(&node) {
            Ok(_) => false,
            Err(index) => {
                self.singles.insert(index, node);
                true
            }
        }
    }

    /// Returns whether a single-instance child was recorded.
    pub(super) fn has_single(&self, node: NodeId) -> bool {
        self.singles.binary_search(&node).is_ok()
    }

    /// Records the cases of a child; returns the first one that contradicts an earlier child, and that child.
    pub(super) fn record_cases(
        &mut self,
        cases: &[CaseChoice],
        node: NodeId,
    ) -> Option<(u32, NodeId)> {
        for case in cases {
            match self
                .cases
                .iter()
                .find(|(recorded, _)| recorded.choice == case.choice)
            {
                None => self.cases.push((case.clone(), node)),
                Some((recorded, _)) if recorded.case == case.case => {}
                Some((_, other)) => return Some((case.choice, *other)),
            }
        }
        None
    }

    /// The entries of a list or leaf-list in this node.
    pub(super) fn entries_of(&mut self, node: NodeId) -> &mut EntrySet {
        let index = match self
            .lists
            .iter()
            .rposition(|(recorded, _)| *recorded == node)
        {
            Some(index) => index,
            None => {
                self.lists.push((node, EntrySet::default()));
                self.lists.len() - 1
            }
        };
        &mut self.lists[index].1
    }

    /// The number of entry hashes in this frame.
    pub(super) fn hash_count(&self) -> usize {
        self.lists.iter().map(|(_, entries)| entries.len()).sum()
    }
}

/// Writes instance identifiers in the JSON form of RFC 7951 §6.11, with the keys read so far.
pub(super) struct PathWriter<'a> {
    schema: &'a Schema,
    module: Option<ModuleId>,
    text: String,
}

impl<'a> PathWriter<'a> {
    pub(super) fn new(schema: &'a Schema, base: &InstancePath) -> Self {
        let mut writer = Self {
            schema,
            module: None,
            text: String::new(),
        };
        for step in &base.steps {
            writer.node(step.node);
            match &step.keys {
                Keys::None => {}
                Keys::Position(position) => writer.position(*position),
                Keys::Values(values) if schema.node(step.node).is_leaf_list() => {
                    values.iter().for_each(|value| writer.predicate(".", value));
                }
                Keys::Values(values) => {
                    let keys = schema.node(step.node).keys();
                    for (key, value) in keys.iter().zip(values) {
                        writer.predicate(&schema.node(*key).name, value);
                    }
                }
            }
        }
        writer
    }

    pub(super) fn frame(&mut self, frame: &Frame) {
        let Some(node) = frame.node else { return };
        self.node(node);
        let schema = self.schema;
        for (key, value) in schema.node(node).keys().iter().zip(&frame.keys) {
            if let Some(value) = value {
                self.predicate(&schema.node(*key).name, value);
            }
        }
        if frame.position > 0 {
            self.position(frame.position);
        }
    }

    pub(super) fn node(&mut self, id: NodeId) {
        let node = self.schema.node(id);
        self.text.push('/');
        if self.module != Some(node.module) {
            self.text.push_str(&self.schema.module(node.module).name);
            self.text.push(':');
            self.module = Some(node.module);
        }
        self.text.push_str(&node.name);
    }

    pub(super) fn predicate(&mut self, name: &str, value: &Value) {
        let _ = write!(self.text, "[{name}=");
        push_quoted(&value.to_string(), &mut self.text);
        self.text.push(']');
    }

    fn position(&mut self, position: u64) {
        let _ = write!(self.text, "[{position}]");
    }

    pub(super) fn finish(self) -> String {
        self.text
    }
}

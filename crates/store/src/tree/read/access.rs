//! What the access rules of a reader show.
//!
//! A denied node is sent, with the keys of its entry, only if a rule permits something below it. See
//! [`crate::access`].

use espalier_yang::schema::Node;
use espalier_yang::{InstancePath, NodeId, Value};

use super::super::selection::{Content, Selection};
use super::first_event::FirstEvent;
use super::frame::{NewFrame, ReadResult, ResourceReader, Stored};
use super::node_access::NodeAccess;
use super::resource::{read, sends_content};
use crate::access::{AccessOperation, AccessTable, ActiveConditions, Decision, EntryKeys, Uniform};
use crate::fragment::{Fragment, Packed, take_entry_value};

/// The access rules of a read.
pub(super) struct ReadAccess<'a> {
    table: &'a AccessTable,
    /// The conditions that hold for the innermost frame.
    active: ActiveConditions,
    /// The number of nodes that enclose the target.
    outer_depth: usize,
    /// What is shown of the parent of the target.
    outer: NodeAccess,
}

impl<'a> ReadAccess<'a> {
    /// The rules for a read of a target, given the decision on its parent, `outer_depth` levels below the datastore.
    pub fn new(table: &'a AccessTable, parent: Decision, outer_depth: usize) -> Self {
        let outer = match parent.is_allowed {
            true => NodeAccess::Allowed,
            false => NodeAccess::Denied,
        };
        Self {
            table,
            active: parent.active,
            outer_depth,
            outer,
        }
    }
}

impl ResourceReader<'_> {
    /// The access rules of the read.
    pub fn access_table(&self) -> Option<&AccessTable> {
        self.access.as_ref().map(|access| access.table)
    }

    /// What is shown of the innermost frame.
    pub fn parent_access(&self) -> NodeAccess {
        match (self.frames.last(), &self.access) {
            (Some(frame), _) => frame.access,
            (None, Some(access)) => access.outer,
            (None, None) => NodeAccess::All,
        }
    }

    /// Whether the parent of the target is denied.
    pub fn is_outer_denied(&self) -> bool {
        let outer = self.access.as_ref().map(|access| access.outer);
        outer == Some(NodeAccess::Denied)
    }

    /// Whether nothing is shown of any instance of a child of the innermost frame.
    pub fn is_child_denied(&self, child: NodeId) -> bool {
        let parent = self.parent_access();
        match &self.access {
            Some(access) if parent != NodeAccess::All => {
                let is_parent_allowed = parent == NodeAccess::Allowed;
                access.table.read_below(child, is_parent_allowed) == Uniform::Denied
            }
            _ => false,
        }
    }

    /// What is shown of a container or list entry below the innermost frame; `None` if nothing is. `key` is that of
    /// the node, and `list` the length of the key of its whole list.
    pub fn access_of(
        &mut self,
        node: &Node,
        key: &[u8],
        list: usize,
    ) -> ReadResult<Option<NodeAccess>> {
        let parent = self.parent_access();
        let depth = self.frames.len();
        let state = self.state;
        let Some(access) = &mut self.access else {
            return Ok(Some(NodeAccess::All));
        };
        if parent == NodeAccess::All {
            return Ok(Some(NodeAccess::All));
        }
        let depth = access.outer_depth + depth;
        // The key of an entry in a stored order has its position in place of its values.
        let values = match node.as_list() {
            Some(list) if node.is_positional() && access.table.has_conditions_at(node.id) => {
                let row = state.snapshot.get(key)?.unwrap_or_default();
                Some(Fragment::decode(&row, list.keys.len())?.key_values()?)
            }
            _ => None,
        };
        let keys = match &values {
            Some(values) => EntryKeys::Values(values),
            None => EntryKeys::Encoded(&key[list..]),
        };
        let ReadAccess { table, active, .. } = access;
        table.enter(active, depth, node.id, &keys);
        Ok(access.of_instance(node.id, parent))
    }

    /// Whether anything is shown of an entry of the target list or leaf-list, whose key begins with the `list` bytes of
    /// the whole list. `row` is a row of it. Pages count only such entries.
    pub fn shows_entry(
        &mut self,
        (node, list): (NodeId, usize),
        entry: &[u8],
        row: &[u8],
    ) -> ReadResult<bool> {
        let state = self.state;
        if self.access.is_none() {
            return Ok(true);
        }
        self.leave_frames(entry)?;
        let node = state.schema().node(node);
        if node.is_leaf_list() {
            return Ok(self.shows_value(node.id, Some(&take_entry_value(row)?)));
        }
        match self.access_of(node, entry, list)? {
            None => Ok(false),
            Some(NodeAccess::All | NodeAccess::Allowed) => Ok(true),
            Some(NodeAccess::Denied) => {
                let trail = state.trail(entry)?.unwrap_or_default();
                let path = state.path_of(entry, &trail)?;
                self.shows_anything_at(&path)
            }
        }
    }

    /// Whether a filter selects the innermost frame, an entry that is not sent yet, by one of its keys. The keys of an entry
    /// are shown if anything of it is.
    pub fn selects_entry_by_key(&mut self, key: NodeId, packed: &Packed) -> ReadResult<bool> {
        let Some(frame) = self.frames.last().filter(|frame| !frame.is_open) else {
            return Ok(false);
        };
        let is_denied = frame.access == NodeAccess::Denied;
        let is_named = match packed {
            Packed::Value(value) => self.names_leaf(key, Some(value)),
            Packed::Any(_) => false,
        };
        let is_selected = is_named && self.is_content(key);
        if !is_selected || !self.leaf_passes_origin(key, packed)? {
            return Ok(false);
        }
        if !is_denied || self.shows_leaf(key, packed) {
            return Ok(true);
        }
        self.sends_content(&self.key, &self.unrestricted_selection())
    }

    /// Whether a filter selects a node that is denied and something below it is shown: then the node itself is, although
    /// what is shown below it may not be selected.
    pub fn shows_denied(&self, new: &NewFrame<'_>) -> ReadResult<bool> {
        let is_cut = self.selection.depth.is_some()
            || self.selection.content != Content::All
            || self.filters_origins();
        // A container without presence is not decided on by itself: what is shown in it was looked at before.
        if self.state.schema().node(new.node).is_np_container() {
            return Ok(self.filter.is_some());
        }
        match self.filter.is_some() && new.stored == Stored::Yes && is_cut {
            true => self.sends_content(new.key, &self.unrestricted_selection()),
            false => Ok(false),
        }
    }

    /// Everything, in the same mode of defaults.
    fn unrestricted_selection(&self) -> Selection {
        Selection {
            with_defaults: self.selection.with_defaults,
            ..Selection::default()
        }
    }

    /// Whether a container without presence has content that is selected at any depth, and shown.
    pub fn has_shown_content(&self, container: &NewFrame<'_>) -> ReadResult<bool> {
        let selection = Selection {
            depth: None,
            ..self.selection.clone()
        };
        match container.stored {
            Stored::Yes => self.sends_content(container.key, &selection),
            Stored::No => self.sends_content(&self.absent_key(container.node)?, &selection),
        }
    }

    fn sends_content(&self, key: &[u8], selection: &Selection) -> ReadResult<bool> {
        let trail = self.state.trail(key)?.unwrap_or_default();
        let path = self.state.path_of(key, &trail)?;
        let table = self.access_table();
        Ok(sends_content(
            (self.state, self.sources),
            &path,
            selection,
            table,
        )?)
    }

    /// Whether anything is shown at a path or below.
    pub fn shows_anything_at(&self, path: &InstancePath) -> ReadResult<bool> {
        let (all, mut first) = (Selection::default(), FirstEvent::default());
        let table = self.access_table();
        read(self.state, self.sources, path, &all, table, &mut first)?;
        Ok(first.is_found)
    }

    /// What is shown of a container that is not stored; `None` if nothing is.
    pub fn access_of_absent(&mut self, container: NodeId) -> Option<NodeAccess> {
        let parent = self.parent_access();
        let depth = self.frames.len();
        match &mut self.access {
            Some(access) if parent != NodeAccess::All => {
                access.active.leave(access.outer_depth + depth);
                access.of_instance(container, parent)
            }
            _ => Some(NodeAccess::All),
        }
    }

    /// Whether a leaf, or an entry of a leaf-list, of the innermost frame is shown.
    pub fn shows_leaf(&mut self, node: NodeId, packed: &Packed) -> bool {
        let value = match packed {
            Packed::Value(value) => Some(value),
            Packed::Any(_) => None,
        };
        self.shows_value(node, value)
    }

    /// As [`Self::shows_leaf`], for a value.
    pub fn shows_value(&mut self, node: NodeId, value: Option<&Value>) -> bool {
        let parent = (self.parent_access(), self.frames.len());
        self.shows_value_in(parent, node, value)
    }

    /// As [`Self::shows_value`], for a leaf below a node of which this is shown; `depth` is the level of the leaf among
    /// the frames.
    pub fn shows_value_in(
        &mut self,
        (parent, depth): (NodeAccess, usize),
        node: NodeId,
        value: Option<&Value>,
    ) -> bool {
        let Some(access) = self.access.as_mut().filter(|_| parent != NodeAccess::All) else {
            return true;
        };
        let ReadAccess {
            table,
            active,
            outer_depth,
            ..
        } = access;
        let depth = *outer_depth + depth;
        let value = value.filter(|_| table.has_conditions_at(node));
        let values = value.map_or(&[][..], std::slice::from_ref);
        table.enter(active, depth, node, &EntryKeys::Values(values));
        let is_parent_allowed = parent == NodeAccess::Allowed;
        table.allows_node(AccessOperation::Read, node, active, is_parent_allowed)
    }
}

impl ReadAccess<'_> {
    /// What is shown of the instance for which the active conditions hold.
    fn of_instance(&self, node: NodeId, parent: NodeAccess) -> Option<NodeAccess> {
        let is_parent_allowed = parent == NodeAccess::Allowed;
        let (table, active) = (self.table, &self.active);
        match table.below_instance(node, active, is_parent_allowed) {
            Uniform::Allowed => return Some(NodeAccess::All),
            Uniform::Denied => return None,
            Uniform::Mixed => {}
        }
        match table.allows_node(AccessOperation::Read, node, active, is_parent_allowed) {
            true => Some(NodeAccess::Allowed),
            false => Some(NodeAccess::Denied),
        }
    }
}

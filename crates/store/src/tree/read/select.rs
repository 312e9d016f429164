//! The selected part of the tree: depth, content, fields, trimmed defaults.

use espalier_yang::path::Selection as Fields;
use espalier_yang::schema::Node;
use espalier_yang::{NodeId, Value};

use super::super::selection::{Content, WithDefaults};
use super::frame::{Frame, ResourceReader};
use super::frame_filter::Matched;
use crate::fragment::Packed;

impl ResourceReader<'_> {
    /// Whether to enter a container, list entry or leaf-list below the innermost frame.
    pub fn descends(&self, node: &Node) -> bool {
        (self.is_within_depth() || self.is_beyond_unsent() || self.names(node.id))
            && match self.selection.content {
                Content::All => true,
                Content::Config => node.is_config,
                Content::NonConfig => self.state.compiled.contains_state(node.id),
            }
            && self.field_selection(node.id) != Fields::Not
    }

    /// Whether a leaf of the innermost frame is selected.
    pub fn selects_leaf(&self, node: NodeId, packed: &Packed) -> bool {
        let value = match packed {
            Packed::Value(value) => Some(value),
            Packed::Any(_) => None,
        };
        let is_inherited = self.is_whole() && self.is_within_depth();
        match self.filter {
            None => self.is_within_depth() && self.selects_at_any_depth(node),
            // The entries of a leaf-list were compared with the filter before.
            Some(_) => {
                let is_entry = self.state.schema().node(node).is_leaf_list();
                (is_inherited || is_entry || self.names_leaf(node, value)) && self.is_content(node)
            }
        }
    }

    /// Whether some value of a leaf or leaf-list of the innermost frame is selected.
    pub fn selects_some(&self, node: NodeId) -> bool {
        match self.filter {
            None => self.is_within_depth() && self.selects_at_any_depth(node),
            Some(_) => {
                let is_inherited = self.is_whole() && self.is_within_depth();
                (is_inherited || self.names(node)) && self.is_content(node)
            }
        }
    }

    /// As [`Self::selects_leaf`], whatever the depth.
    pub fn selects_at_any_depth(&self, node: NodeId) -> bool {
        self.field_selection(node) != Fields::Not && self.is_content(node)
    }

    /// Whether a leaf is of the selected content.
    pub fn is_content(&self, node: NodeId) -> bool {
        let is_config = self.state.schema().node(node).is_config;
        match self.selection.content {
            Content::All => true,
            Content::Config => is_config,
            Content::NonConfig => !is_config,
        }
    }

    /// The level of a node that is entered below the innermost frame, and whether everything below it is selected.
    pub fn level_of(&self, node: NodeId, matched: &Matched) -> (u32, bool) {
        if self.filter.is_none() {
            return (self.depth_below(), self.is_fully_selected(node));
        }
        match (matched.is_selected, self.inherits_selection()) {
            (true, _) => (1, true),
            (false, true) => (self.depth_below(), true),
            (false, false) => (1, false),
        }
    }

    /// Whether everything below the next entered node is selected.
    pub fn is_fully_selected(&self, node: NodeId) -> bool {
        self.field_selection(node) == Fields::Whole
    }

    /// Whether a leaf is omitted because it has its default value.
    pub fn is_trimmed(&self, node: NodeId, packed: &Packed) -> bool {
        self.selection.with_defaults == WithDefaults::Trim
            && matches!(packed, Packed::Value(value) if self.is_default(node, value))
    }

    fn is_default(&self, node: NodeId, value: &Value) -> bool {
        let node = self.state.schema().node(node);
        !node.is_leaf_list()
            && node
                .as_value()
                .is_some_and(|node| !node.is_key && node.defaults.first() == Some(value))
    }

    pub fn is_within_depth(&self) -> bool {
        self.is_level_within_depth(self.depth_below())
    }

    /// Whether the children of the innermost frame are beyond the depth, and one of them that is state would show that
    /// the nodes within the depth, which are not sent yet, have state.
    pub fn is_beyond_unsent(&self) -> bool {
        let is_unsent = |frame: &Frame| self.is_level_within_depth(frame.depth) && !frame.is_open;
        self.selection.content == Content::NonConfig
            && !self.is_within_depth()
            && self.frames.iter().any(is_unsent)
    }

    /// Whether a level is within the depth.
    pub fn is_level_within_depth(&self, level: u32) -> bool {
        self.selection.depth.is_none_or(|depth| level <= depth)
    }

    /// The level of the children of the innermost frame. Nodes selected by `fields` or a filter, and the nodes on the
    /// path to them, have level 1 (RFC 8040 §4.8.2, RFC 8526 §3.1.1).
    pub fn depth_below(&self) -> u32 {
        let is_whole = self.selection.fields.is_none() && self.filter.is_none();
        match self.frames.last() {
            Some(frame) if is_whole || frame.is_fully_selected => frame.depth + 1,
            None if is_whole => self.outer_depth + 1,
            _ => 1,
        }
    }

    fn field_selection(&self, node: NodeId) -> Fields {
        if self.filter.is_some() {
            return match self.is_whole() {
                true => Fields::Whole,
                false if self.names(node) => Fields::Partial,
                false => Fields::Not,
            };
        }
        match (&self.selection.fields, self.frames.last()) {
            (None, _) => Fields::Whole,
            // The target itself is always sent; `fields` selects among its descendants.
            (Some(_), None) if self.outer_depth == 0 => Fields::Partial,
            (Some(_), Some(frame)) if frame.is_fully_selected => Fields::Whole,
            (Some(fields), _) => fields.selection(self.state.schema(), node),
        }
    }
}

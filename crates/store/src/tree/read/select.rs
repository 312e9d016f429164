//! The selected part of the tree: depth, content, fields, trimmed defaults.

use espalier_yang::path::Selection as Fields;
use espalier_yang::schema::Node;
use espalier_yang::{NodeId, Value};

use super::super::selection::{Content, WithDefaults};
use super::frame::ResourceReader;
use crate::fragment::Packed;

impl ResourceReader<'_> {
    /// Whether to enter a container, list entry or leaf-list below the innermost frame.
    pub fn descends(&self, node: &Node) -> bool {
        self.is_within_depth()
            && match self.selection.content {
                Content::All => true,
                Content::Config => node.is_config,
                Content::NonConfig => self.state.compiled.contains_state(node.id),
            }
            && self.field_selection(node.id) != Fields::Not
    }

    /// Whether a leaf of the innermost frame is selected.
    pub fn selects_leaf(&self, node: NodeId) -> bool {
        self.is_within_depth()
            && match self.selection.content {
                Content::All => true,
                Content::Config => self.state.schema().node(node).is_config,
                Content::NonConfig => !self.state.schema().node(node).is_config,
            }
            && self.field_selection(node) != Fields::Not
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
        let below = self.depth_below();
        self.selection.depth.is_none_or(|depth| below <= depth)
    }

    /// The level of the children of the innermost frame. Nodes selected by `fields`, and the nodes on the
    /// path to them, have level 1 (RFC 8040 §4.8.2).
    pub fn depth_below(&self) -> u32 {
        match self.frames.last() {
            Some(frame) if self.selection.fields.is_none() || frame.is_fully_selected => {
                frame.depth + 1
            }
            None if self.selection.fields.is_none() => self.outer_depth + 1,
            _ => 1,
        }
    }

    fn field_selection(&self, node: NodeId) -> Fields {
        match (&self.selection.fields, self.frames.last()) {
            (None, _) => Fields::Whole,
            // The target itself is always sent; `fields` selects among its descendants.
            (Some(_), None) if self.outer_depth == 0 => Fields::Partial,
            (Some(_), Some(frame)) if frame.is_fully_selected => Fields::Whole,
            (Some(fields), _) => fields.selection(self.state.schema(), node),
        }
    }
}

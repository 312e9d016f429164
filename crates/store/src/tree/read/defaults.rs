//! Reporting the defaults of what was not set (RFC 6243 §3.1, §3.4).
//!
//! A default is in use where its leaf could have been set (RFC 7950 §7.6.1): not in a case while
//! another of the choice holds something, and only in the default case while none does. Nodes with
//! a `when` are not reported.

use espalier_yang::data::Annotation;
use espalier_yang::schema::{CaseChoice, Node};
use espalier_yang::{Mark, NodeId, NodeKind, Schema};

use super::super::selection::WithDefaults;
use super::frame::{Flow, Reading};

/// Whether the default of a node is in use beside the siblings that are there.
pub(super) fn is_in_use(schema: &Schema, node: &Node, siblings: &[NodeId]) -> bool {
    let is_active = |mine: &CaseChoice| {
        let theirs = siblings
            .iter()
            .flat_map(|&other| &schema.node(other).cases)
            .find(|theirs| theirs.choice == mine.choice);
        let case = match theirs {
            Some(theirs) => Some(theirs.case),
            None => schema.choices()[mine.choice as usize].default_case,
        };
        case == Some(mine.case)
    };
    node.whens.is_empty() && node.cases.iter().all(is_active)
}

impl Reading<'_> {
    /// Reports what the innermost frame (or the datastore) does not hold.
    pub fn absent_defaults(&mut self) -> Flow<()> {
        let (children, seen) = match self.frames.last_mut() {
            Some(frame) => {
                let seen = std::mem::take(&mut frame.seen);
                (
                    self.state.schema().node(frame.node).children.as_slice(),
                    seen,
                )
            }
            None => return Ok(()),
        };
        let schema = self.state.schema();
        for &child in children {
            let node = schema.node(child);
            if !seen.contains(&child) && self.is_implied(node, &seen) {
                self.absent(node)?;
            }
        }
        Ok(())
    }

    /// Reports what the top level of the datastore does not hold.
    pub fn absent_roots(&mut self) -> Flow<()> {
        let schema = self.state.schema();
        let seen = std::mem::take(&mut self.outer_seen);
        for &root in schema.roots() {
            if !seen.contains(&root) && self.is_implied(schema.node(root), &seen) {
                self.absent(schema.node(root))?;
            }
        }
        Ok(())
    }

    /// Sends the defaults of a leaf or leaf-list.
    pub fn send_defaults(&mut self, id: NodeId) -> Flow<()> {
        let Some(value) = self.state.schema().node(id).as_value() else {
            return Ok(());
        };
        for default in &value.defaults {
            if self.selection.with_defaults == WithDefaults::ReportAllTagged {
                self.sink.annotate(vec![Annotation::Default])?;
            }
            self.tell_default_origin(id)?;
            self.sink.leaf(id, default.clone(), Mark::default())?;
        }
        Ok(())
    }

    fn is_implied(&self, node: &Node, seen: &[NodeId]) -> bool {
        is_in_use(self.state.schema(), node, seen)
    }

    fn absent(&mut self, node: &Node) -> Flow<()> {
        match &node.kind {
            NodeKind::Leaf(value) | NodeKind::LeafList(value)
                if !value.defaults.is_empty() && self.selects_leaf(node.id) =>
            {
                self.open_frames()?;
                self.send_defaults(node.id)
            }
            NodeKind::Container { presence: false }
                if self.has_defaults(node) && self.descends(node) =>
            {
                let key = self.key.clone();
                self.push(node.id, &key, key.len())?;
                self.pop()
            }
            _ => Ok(()),
        }
    }

    /// Whether something in a container has a default that is in use while it is empty.
    fn has_defaults(&self, node: &Node) -> bool {
        node.children
            .iter()
            .map(|&child| self.state.schema().node(child))
            .any(|child| {
                self.is_implied(child, &[])
                    && match &child.kind {
                        NodeKind::Leaf(value) | NodeKind::LeafList(value) => {
                            !value.defaults.is_empty()
                        }
                        NodeKind::Container { presence: false } => self.has_defaults(child),
                        _ => false,
                    }
            })
    }
}

//! Reports default values of unset leaves (RFC 6243 §3.1, §3.4).
//!
//! A default is in use if its leaf could be set (RFC 7950 §7.6.1): not in a case while another case of the
//! choice has data, only in the default case if none has, and not if its `when` is false.

use espalier_yang::data::{Annotation, Origin};
use espalier_yang::schema::{CaseChoice, Node};
use espalier_yang::xpath::evaluate::{Evaluator, Limits};
use espalier_yang::{InstancePath, Instances, Mark, NodeId, NodeKind, Schema, Value};

use super::super::selection::WithDefaults;
use super::super::validate::{Indexes, NodeRef, StoreInstances, are_indexes_current};
use super::frame::{NewFrame, ReadResult, ResourceReader, Stored};
use super::frame_filter::Child;
use super::node_access::NodeAccess;
use crate::error::Result;

/// Whether the case of a node is in use, given the siblings that exist.
fn is_case_in_use(schema: &Schema, node: &Node, siblings: &[NodeId]) -> bool {
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
    node.cases.iter().all(is_active)
}

impl ResourceReader<'_> {
    /// Reports the defaults of missing children of the innermost frame.
    pub fn report_absent_defaults(&mut self) -> ReadResult<()> {
        let (children, children_found) = match self.frames.last_mut() {
            Some(frame) => {
                let children_found = std::mem::take(&mut frame.children_found);
                (
                    self.state.schema().node(frame.node).children.as_slice(),
                    children_found,
                )
            }
            None => return Ok(()),
        };
        let schema = self.state.schema();
        for &child in children {
            let node = schema.node(child);
            if !children_found.contains(&child)
                && self.may_report(node)
                && self.is_implied(node, &children_found)?
            {
                self.report_absent(node)?;
            }
        }
        Ok(())
    }

    /// Reports the defaults of missing top-level nodes of the datastore.
    pub fn report_absent_roots(&mut self) -> ReadResult<()> {
        let schema = self.state.schema();
        let children_found = std::mem::take(&mut self.outer_children);
        for &root in schema.roots() {
            if !children_found.contains(&root)
                && self.may_report(schema.node(root))
                && self.is_implied(schema.node(root), &children_found)?
            {
                self.report_absent(schema.node(root))?;
            }
        }
        Ok(())
    }

    /// Sends the defaults of a leaf or leaf-list.
    pub fn send_defaults(&mut self, id: NodeId) -> ReadResult<()> {
        let Some(value) = self.state.schema().node(id).as_value() else {
            return Ok(());
        };
        let node = self.state.schema().node(id);
        for default in &value.defaults {
            if self.selects_default(node, default)
                && self.passes_origin(node, Origin::Default)
                && self.shows_value(id, Some(default))
            {
                self.open_frames()?;
                self.send_default(id, default)?;
            }
        }
        Ok(())
    }

    /// Sends one default of a leaf or leaf-list.
    pub fn send_default(&mut self, id: NodeId, default: &Value) -> ReadResult<()> {
        if self.selection.with_defaults == WithDefaults::ReportAllTagged {
            self.sink.annotate(vec![Annotation::Default])?;
        }
        self.annotate_default_origin(id)?;
        self.has_sent = true;
        Ok(self.sink.leaf(id, default.clone(), Mark::default())?)
    }

    /// Whether a node that is not stored is in use at the current place.
    fn is_implied(&self, node: &Node, children_found: &[NodeId]) -> ReadResult<bool> {
        // A filter skips siblings of what it selects, so these are looked up.
        if self.filter.is_some() && !node.cases.is_empty() {
            return self.with_instances(|evaluator| match self.current_node(evaluator.data())? {
                Some(place) => evaluator.is_in_use(&place, node.id),
                None => Ok(false),
            });
        }
        if !is_case_in_use(self.state.schema(), node, children_found) {
            return Ok(false);
        }
        match node.whens.is_empty() {
            true => Ok(true),
            false => {
                self.with_instances(|evaluator| match self.current_node(evaluator.data())? {
                    Some(place) => evaluator.is_in_use(&place, node.id),
                    None => Ok(false),
                })
            }
        }
    }

    /// The place of the innermost frame. Frames that are not stored have the key of the enclosing one.
    fn current_node(&self, data: &StoreInstances<'_>) -> Result<Option<NodeRef>> {
        let key = self.current_key();
        let Some(mut place) = data.node_ref_at(key)? else {
            return Ok(None);
        };
        let within = self.frames.iter().filter(|frame| frame.length == key.len());
        for frame in within {
            if data.node(&place) != Some(frame.node) {
                place = data.container(&place, frame.node);
            }
        }
        Ok(Some(place))
    }

    /// The key of the innermost frame; the last key read may be below it.
    fn current_key(&self) -> &[u8] {
        let length = self.frames.last().map(|frame| frame.length);
        &self.key[..length.unwrap_or(self.outer_length).min(self.key.len())]
    }

    /// Evaluates a predicate at a path; false if the path has no place.
    pub fn evaluate_at(
        &self,
        path: &InstancePath,
        evaluation: impl FnOnce(&Evaluator<'_, StoreInstances<'_>>, &NodeRef) -> Result<bool>,
    ) -> ReadResult<bool> {
        let Some(located) = self.state.locate(path)? else {
            return Ok(false);
        };
        self.with_instances(
            |evaluator| match evaluator.data().node_ref_at(&located.key)? {
                Some(place) => evaluation(evaluator, &place),
                None => Ok(false),
            },
        )
    }

    /// Runs an evaluation on the current state.
    pub fn with_instances<R>(
        &self,
        evaluation: impl FnOnce(&Evaluator<'_, StoreInstances<'_>>) -> Result<R>,
    ) -> ReadResult<R> {
        let state = self.state;
        let indexes = match self.sources.is_none()
            && are_indexes_current(state.compiled, state.tree, state.snapshot)?
        {
            true => Indexes::Current,
            false => Indexes::Missing,
        };
        let data = StoreInstances::new(state, indexes);
        Ok(evaluation(&Evaluator::new(&data, Limits::default()))?)
    }

    fn report_absent(&mut self, node: &Node) -> ReadResult<()> {
        match &node.kind {
            NodeKind::Leaf(value) | NodeKind::LeafList(value)
                if !value.defaults.is_empty() && self.selects_some(node.id) =>
            {
                self.send_defaults(node.id)
            }
            NodeKind::Container { presence: false }
                if self.may_have_defaults(node) && self.descends(node) =>
            {
                match self.access_of_absent(node.id) {
                    Some(access) => self.report_absent_container(node, access),
                    None => Ok(()),
                }
            }
            _ => Ok(()),
        }
    }

    /// Reports what is in use in a container that is not stored: it is sent with the first of that.
    fn report_absent_container(&mut self, node: &Node, access: NodeAccess) -> ReadResult<()> {
        let place = match self.filter {
            None => Vec::new(),
            Some(_) => self.absent_key(node.id)?,
        };
        let Some(matched) = self.match_absent(&Child {
            node,
            key: &place,
            list: place.len(),
            row: None,
            access,
        })?
        else {
            return Ok(());
        };
        let key = self.current_key().to_vec();
        let was_lazy = std::mem::replace(&mut self.is_lazy, true);
        let pushed = self.push(NewFrame {
            node: node.id,
            key: &key,
            stored: Stored::No,
            access,
            matched,
        });
        self.is_lazy = was_lazy;
        pushed?;
        self.pop()
    }

    /// The key that a container of the innermost frame would have.
    pub fn absent_key(&self, container: NodeId) -> ReadResult<Vec<u8>> {
        self.with_instances(|evaluator| {
            let data = evaluator.data();
            let parent = self.current_node(data)?;
            Ok(parent.map_or_else(Vec::new, |parent| {
                data.container(&parent, container).key().to_vec()
            }))
        })
    }

    /// Whether the defaults of a child of the innermost frame, or of containers in it, may be selected.
    fn may_report(&self, node: &Node) -> bool {
        match node.kind {
            NodeKind::Container { presence: false } => self.descends(node),
            _ => self.selects_some(node.id),
        }
    }

    /// Whether an empty container contains defaults that are in use if its `when` is true.
    fn may_have_defaults(&self, node: &Node) -> bool {
        let schema = self.state.schema();
        node.children
            .iter()
            .map(|&child| schema.node(child))
            .any(|child| {
                is_case_in_use(schema, child, &[])
                    && match &child.kind {
                        NodeKind::Leaf(value) | NodeKind::LeafList(value) => {
                            !value.defaults.is_empty()
                        }
                        NodeKind::Container { presence: false } => self.may_have_defaults(child),
                        _ => false,
                    }
            })
    }
}

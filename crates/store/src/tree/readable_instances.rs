//! The data of a datastore that a reader with access rules may see, as an interface for XPath.
//!
//! So the result of an expression does not depend on what the reader cannot read, except for defaults, which are reported
//! as they are in use. No index is used: the entries that one
//! finds may be hidden.

use std::cmp::Ordering;
use std::ops::ControlFlow;

use espalier_yang::instances::Visit;
use espalier_yang::xpath::evaluate::{Evaluator, Limits};
use espalier_yang::{Indexed, InstancePath, Instances, Keys, NodeId, Schema, Value};

use super::locate::TreeState;
use super::read::{Sources, sends_content};
use super::selection::{Selection, WithDefaults};
use super::validate::{NodeRef, StoreInstances};
use crate::access::{AccessOperation, AccessTable, Uniform};
use crate::error::{Error, Result};

/// The readable part of one state of a datastore.
pub(super) struct ReadableInstances<'d, 'a> {
    data: &'d StoreInstances<'a>,
    state: TreeState<'a>,
    sources: Option<&'a dyn Sources>,
    access: &'a AccessTable,
    /// Whether defaults show the entry that contains them.
    with_defaults: WithDefaults,
}

impl<'d, 'a> ReadableInstances<'d, 'a> {
    pub fn new(
        data: &'d StoreInstances<'a>,
        (state, sources): (TreeState<'a>, Option<&'a dyn Sources>),
        (access, with_defaults): (&'a AccessTable, WithDefaults),
    ) -> Self {
        Self {
            data,
            state,
            sources,
            access,
            with_defaults,
        }
    }

    /// Whether the reader sees a container or entry, or anything below it.
    fn shows(&self, inner: &NodeRef) -> Result<bool> {
        let Some(node) = inner.node() else {
            return Ok(true);
        };
        let path = self.data.path(inner)?;
        match self.access.reads_at(&path) {
            Uniform::Allowed => return Ok(true),
            Uniform::Denied => return Ok(false),
            Uniform::Mixed => {}
        }
        let is_container = self.schema().node(node).is_np_container();
        if !is_container && self.access.allows(AccessOperation::Read, &path) {
            return Ok(true);
        }
        let all = Selection {
            with_defaults: self.with_defaults,
            ..Selection::default()
        };
        sends_content((self.state, self.sources), &path, &all, Some(self.access))
    }

    fn allows(&self, parent: &NodeRef, node: NodeId, keys: Keys) -> Result<bool> {
        let value = self.schema().node(node).as_value();
        // The keys of an entry are shown with anything of it.
        if value.is_some_and(|value| value.is_key) {
            return Ok(true);
        }
        let path: InstancePath = self.data.path(parent)?.child(node, keys);
        Ok(self.access.allows(AccessOperation::Read, &path))
    }
}

impl Instances for ReadableInstances<'_, '_> {
    type Inner = NodeRef;
    type Error = Error;

    fn schema(&self) -> &Schema {
        self.state.schema()
    }

    fn root(&self) -> NodeRef {
        self.data.root()
    }

    fn node(&self, inner: &NodeRef) -> Option<NodeId> {
        inner.node()
    }

    fn parent(&self, inner: &NodeRef) -> Option<NodeRef> {
        self.data.parent(inner)
    }

    fn path(&self, inner: &NodeRef) -> Result<InstancePath> {
        self.data.path(inner)
    }

    fn is_stored(&self, inner: &NodeRef) -> Result<bool> {
        Ok(self.data.is_stored(inner)? && self.shows(inner)?)
    }

    fn container(&self, parent: &NodeRef, node: NodeId) -> NodeRef {
        self.data.container(parent, node)
    }

    fn leaf(&self, parent: &NodeRef, node: NodeId) -> Result<Option<Value>> {
        match self.data.leaf(parent, node)? {
            Some(value) if self.allows(parent, node, Keys::None)? => Ok(Some(value)),
            _ => Ok(None),
        }
    }

    fn entries(
        &self,
        parent: &NodeRef,
        list: NodeId,
        visit: &mut dyn FnMut(NodeRef) -> Visit<Error>,
    ) -> Result<()> {
        self.data
            .entries(parent, list, &mut |entry| match self.shows(&entry)? {
                true => visit(entry),
                false => Ok(ControlFlow::Continue(())),
            })
    }

    fn entry(&self, parent: &NodeRef, list: NodeId, keys: &[Value]) -> Result<Option<NodeRef>> {
        match self.data.entry(parent, list, keys)? {
            Some(entry) if self.shows(&entry)? => Ok(Some(entry)),
            _ => Ok(None),
        }
    }

    fn values(
        &self,
        parent: &NodeRef,
        leaf_list: NodeId,
        visit: &mut dyn FnMut(Value) -> Visit<Error>,
    ) -> Result<()> {
        self.data.values(parent, leaf_list, &mut |value| {
            let keys = Keys::Values(vec![value.clone()]);
            match self.allows(parent, leaf_list, keys)? {
                true => visit(value),
                false => Ok(ControlFlow::Continue(())),
            }
        })
    }

    fn has_value(&self, parent: &NodeRef, leaf_list: NodeId, value: &Value) -> Result<bool> {
        let keys = Keys::Values(vec![value.clone()]);
        Ok(self.data.has_value(parent, leaf_list, value)?
            && self.allows(parent, leaf_list, keys)?)
    }

    fn count(&self, parent: &NodeRef, node: NodeId) -> Result<u64> {
        let mut count = 0;
        match self.schema().node(node).is_list() {
            true => self.entries(parent, node, &mut |_| {
                count += 1;
                Ok(ControlFlow::Continue(()))
            })?,
            false => self.values(parent, node, &mut |_| {
                count += 1;
                Ok(ControlFlow::Continue(()))
            })?,
        }
        Ok(count)
    }

    fn find(
        &self,
        _: &NodeRef,
        _: NodeId,
        _: &Value,
        _: &mut dyn FnMut(NodeRef) -> Visit<Error>,
    ) -> Result<Indexed> {
        Ok(Indexed::No)
    }

    /// As in a read: defaults are those of the datastore.
    fn is_in_use(&self, parent: &NodeRef, node: NodeId) -> Option<Result<bool>> {
        let evaluator = Evaluator::new(self.data, Limits::default());
        Some(evaluator.is_in_use(parent, node))
    }

    fn compare_entries(&self, left: &NodeRef, right: &NodeRef) -> Option<Ordering> {
        self.data.compare_entries(left, right)
    }
}

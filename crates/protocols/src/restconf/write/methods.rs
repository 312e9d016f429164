//! The methods, for a body in memory.

use std::cell::Cell;

use espalier_store::{Edit, View};
use espalier_yang::InstancePath;
use espalier_yang::data::{MetadataMode, Root, Wrapping};
use http::StatusCode;

use super::placement::Placement;
use super::preconditions::Presence;
use super::write_request::{Job, WriteResult};
use crate::restconf::error::{Failure, Result};
use crate::restconf::media::Format;

impl Job {
    /// Creates a child of the resource (RFC 8040 §4.4.1).
    pub(super) fn post(&self, format: Format, body: &[u8]) -> Result<WriteResult> {
        let root = Root::ChildOf(self.path().target());
        let place = self.path().clone();
        let tree = self.parse(format, body, root, place, MetadataMode::Plain)?;
        let [node] = tree.nodes.as_slice() else {
            return Err(Failure::invalid("the body contains more than one resource"));
        };
        let path = self.path().child(node.node, node.instance(self.schema()));
        let edit = Edit::create(self.path().clone(), tree);
        let edit = Placement::place(self.placement.as_ref(), edit, self.schema(), &path)?;
        let commit = self.commit(edit, |view| self.check_existing(view))?;
        WriteResult::new(self, StatusCode::CREATED, &path, &commit)
    }

    /// Creates or replaces the resource (RFC 8040 §4.5).
    pub(super) fn put(&self, format: Format, body: &[u8]) -> Result<WriteResult> {
        let Some((node, parent)) = self.node_and_parent() else {
            return self.put_datastore(format, body);
        };
        let root = Root::Resource(node);
        let tree = self.parse(format, body, root, parent.clone(), MetadataMode::Plain)?;
        self.check_keys(&tree)?;
        let edit = Edit::replace(parent, tree);
        let edit = Placement::place(self.placement.as_ref(), edit, self.schema(), self.path())?;
        let presence = Cell::new(Presence::Absent);
        let check = |view: &View| {
            self.check_parent(view, self.path())?;
            presence.set(Presence::of(view, self.path())?);
            self.check_conditions(view, presence.get())
        };
        let commit = self.commit(edit, check)?;
        WriteResult::new(self, presence.get().put_status(), self.path(), &commit)
    }

    /// Replaces a datastore. An empty one counts as created.
    fn put_datastore(&self, format: Format, body: &[u8]) -> Result<WriteResult> {
        let place = InstancePath::root();
        let tree = self.parse(format, body, Root::Datastore, place, MetadataMode::Plain)?;
        let edit = Edit::replace_all(tree);
        let presence = Cell::new(Presence::Absent);
        let check = |view: &View| {
            presence.set(Presence::of(view, self.path())?);
            self.check_existing(view)
        };
        let commit = self.commit(edit, check)?;
        WriteResult::new(self, presence.get().put_status(), self.path(), &commit)
    }

    /// Merges into the resource (RFC 8040 §4.6.1). Metadata is kept, so a patch may carry the operations of
    /// RFC 6241 §7.2 on nodes below the resource, which RFC 8040 does not mention. A patch that is loaded
    /// as a stream with such operations is rejected, and so is a bare document, as every load.
    pub(super) fn patch(&self, format: Format, body: &[u8]) -> Result<WriteResult> {
        let (root, parent) = match self.node_and_parent() {
            Some((node, parent)) => (Root::Resource(node), parent),
            None => (Root::Datastore, InstancePath::root()),
        };
        let metadata = match self.wrapping {
            Wrapping::Optional => MetadataMode::Plain,
            Wrapping::ResourceOrNodes => MetadataMode::Kept,
        };
        let mut tree = self.parse(format, body, root, parent.clone(), metadata)?;
        self.complete_keys(&mut tree);
        self.check_keys(&tree)?;
        self.check_target_operation(&tree)?;
        let edit = Edit::merge(parent, tree);
        let commit = self.commit(edit, |view| self.check_existing(view))?;
        WriteResult::new(self, StatusCode::NO_CONTENT, self.path(), &commit)
    }

    /// Deletes the resource (RFC 8040 §4.7).
    pub(super) fn delete(&self) -> Result<WriteResult> {
        let check = |view: &View| match view.has_content(self.path())? {
            true => self.check_conditions(view, Presence::Exists),
            false => Err(self.not_found()),
        };
        let commit = self.commit(Edit::delete(self.path().clone()), check)?;
        Ok(WriteResult::deleted(&commit))
    }

    fn node_and_parent(&self) -> Option<(espalier_yang::NodeId, InstancePath)> {
        Some((self.path().target()?, self.path().parent()?))
    }
}

//! The changes of the methods, for a body in memory.

use std::cell::Cell;

use espalier_store::{Commit, Edit, Error, View};
use espalier_yang::data::{MetadataMode, Root, Wrapping};
use espalier_yang::{InstancePath, NodeId};
use http::{Method, StatusCode};

use super::placement::Placement;
use super::preconditions::{CheckFailure, Presence};
use super::write_request::{Job, WriteResult};
use super::yang_patch::PatchNames;
use crate::restconf::error::{Failure, Result};
use crate::restconf::media::Format;

/// What a request changes.
pub(super) struct Change {
    pub(super) edits: Vec<Edit>,
    kind: Kind,
    /// A note for the history, unless the request has one.
    pub(super) comment: Option<String>,
    /// Whether the resource existed before, after the check.
    presence: Cell<Presence>,
    /// Why the check failed.
    pub(super) failure: CheckFailure,
}

enum Kind {
    /// Creates a child.
    Create(InstancePath),
    /// Creates or replaces the resource.
    Put,
    /// Creates or replaces a datastore. An empty one counts as created.
    PutDatastore,
    /// Merges into the resource.
    Merge,
    /// Applies the edits of a YANG Patch.
    Patch(PatchNames),
    Delete,
}

impl Change {
    fn new(edit: Edit, kind: Kind) -> Self {
        Self {
            edits: vec![edit],
            kind,
            comment: None,
            presence: Cell::new(Presence::Absent),
            failure: CheckFailure::default(),
        }
    }

    /// The change of a YANG Patch.
    pub(super) fn of_patch(edits: Vec<Edit>, names: PatchNames, comment: Option<String>) -> Self {
        Self {
            edits,
            kind: Kind::Patch(names),
            comment,
            presence: Cell::new(Presence::Absent),
            failure: CheckFailure::default(),
        }
    }

    /// The failure of the commit.
    pub(super) fn failed(&self, error: Error) -> Failure {
        let is_check = matches!(error, Error::Precondition);
        let failure = self.failure.explain(error);
        match &self.kind {
            Kind::Patch(names) if !is_check => failure.of_patch(names),
            _ => failure,
        }
    }
}

impl Job {
    /// The change of the request's method.
    pub(super) fn change(&self, format: Format, body: &[u8]) -> Result<Change> {
        match self.method {
            Method::POST => self.post(format, body),
            Method::PUT => self.put(format, body),
            Method::DELETE => {
                let edit = Edit::delete(self.path().clone());
                Ok(Change::new(edit, Kind::Delete))
            }
            _ if self.is_yang_patch => self.yang_patch(format, body),
            _ => self.patch(format, body),
        }
    }

    /// Creates a child of the resource (RFC 8040 §4.4.1).
    fn post(&self, format: Format, body: &[u8]) -> Result<Change> {
        let root = Root::ChildOf(self.path().target());
        let place = self.path().clone();
        let tree = self.parse(format, body, root, place, MetadataMode::Plain)?;
        let [node] = tree.nodes.as_slice() else {
            return Err(Failure::invalid("the body contains more than one resource"));
        };
        let path = self.path().child(node.node, node.instance(self.schema()));
        let edit = Edit::create(self.path().clone(), tree);
        let edit = Placement::place(self.placement.as_ref(), edit, self.schema(), &path)?;
        Ok(Change::new(edit, Kind::Create(path)))
    }

    /// Creates or replaces the resource (RFC 8040 §4.5).
    fn put(&self, format: Format, body: &[u8]) -> Result<Change> {
        let Some((node, parent)) = self.node_and_parent() else {
            let place = InstancePath::root();
            let tree = self.parse(format, body, Root::Datastore, place, MetadataMode::Plain)?;
            return Ok(Change::new(Edit::replace_all(tree), Kind::PutDatastore));
        };
        let root = Root::Resource(node);
        let tree = self.parse(format, body, root, parent.clone(), MetadataMode::Plain)?;
        self.check_keys(&tree)?;
        let edit = Edit::replace(parent, tree);
        let edit = Placement::place(self.placement.as_ref(), edit, self.schema(), self.path())?;
        Ok(Change::new(edit, Kind::Put))
    }

    /// Merges into the resource (RFC 8040 §4.6.1). Metadata is kept, so a patch may carry the operations of
    /// RFC 6241 §7.2 on nodes below the resource, which RFC 8040 does not mention. A patch that is loaded
    /// as a stream with such operations is rejected, and so is a bare document, as every load.
    fn patch(&self, format: Format, body: &[u8]) -> Result<Change> {
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
        Ok(Change::new(Edit::merge(parent, tree), Kind::Merge))
    }

    fn node_and_parent(&self) -> Option<(NodeId, InstancePath)> {
        Some((self.path().target()?, self.path().parent()?))
    }

    /// Checks the state that a change is for. The store calls it again if it decides a commit again.
    pub(super) fn check(&self, change: &Change, view: &View) -> Result<()> {
        match change.kind {
            Kind::Create(_) | Kind::Merge | Kind::Patch(_) => self.check_existing(view),
            Kind::Put => {
                self.check_parent(view, self.path())?;
                change.presence.set(Presence::of(view, self.path())?);
                self.check_conditions(view, change.presence.get())
            }
            Kind::PutDatastore => {
                change.presence.set(Presence::of(view, self.path())?);
                self.check_existing(view)
            }
            // RFC 8040 §4.7.
            Kind::Delete => match view.has_content(self.path())? {
                true => self.check_conditions(view, Presence::Exists),
                false => Err(self.not_found()),
            },
        }
    }

    /// The result of a change that is committed.
    pub(super) fn result(&self, change: &Change, commit: &Commit) -> Result<WriteResult> {
        let (status, path) = match &change.kind {
            Kind::Create(path) => (StatusCode::CREATED, path),
            Kind::Put | Kind::PutDatastore => (change.presence.get().put_status(), self.path()),
            Kind::Merge => (StatusCode::NO_CONTENT, self.path()),
            Kind::Patch(names) => {
                let result = WriteResult::new(self, StatusCode::OK, self.path(), commit)?;
                return Ok(result.of_patch(names.clone()));
            }
            Kind::Delete => return Ok(WriteResult::deleted(commit)),
        };
        WriteResult::new(self, status, path, commit)
    }
}

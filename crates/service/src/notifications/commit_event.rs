//! From a commit to events: that of `espalier-notifications`, and `netconf-config-change` (RFC 6470 §2.2).

use std::sync::Arc;

use espalier_store::{ChangeKind, CommitInfo, Error, NodeChange, Result, Tree};
use espalier_yang::data::DataNode;
use espalier_yang::{InstancePath, Schema};

use super::event::{Event, EventSource};
use super::stream::{BASE_MODULE, COMMIT_MODULE};
use crate::access::{UserAccess, may_read};
use crate::server_state::StateNodes;

/// The maximum number of changed nodes that the event of a commit lists: the topmost ones.
pub const EVENT_CHANGES_MAX: usize = 1000;

/// The changed nodes of a commit, and what its events are made of.
pub(super) struct CommitChanges {
    info: CommitInfo,
    /// The instance identifiers of the topmost changed nodes.
    changes: Vec<(String, ChangeKind)>,
    /// Whether these are all.
    is_complete: bool,
    /// The schema of the paths.
    schema: Arc<Schema>,
    kind: EventKind,
}

/// The notification of a commit.
#[derive(Clone, Copy, PartialEq, Eq)]
enum EventKind {
    Commit,
    ConfigChange,
}

/// The events of a commit of a datastore.
pub(super) fn events_of(
    tree: &Tree,
    server_schema: &Arc<Schema>,
    info: &CommitInfo,
) -> Result<Vec<Arc<Event>>> {
    let (changes, is_complete) = changes_of(tree, info.version)?;
    let kinds = [EventKind::Commit, EventKind::ConfigChange];
    let events = kinds.into_iter().filter_map(|kind| {
        let changes = CommitChanges {
            info: info.clone(),
            changes: changes.clone(),
            is_complete,
            schema: Arc::clone(tree.schema()),
            kind,
        };
        let schema = kind.schema(tree.schema(), server_schema);
        changes.event(Arc::clone(schema)).map(Arc::new)
    });
    Ok(events.collect())
}

/// The topmost changed nodes of a version, and whether these are all.
fn changes_of(tree: &Tree, version: u64) -> Result<(Vec<(String, ChangeKind)>, bool)> {
    let mut changes = Vec::new();
    let mut visit = |schema: &Arc<Schema>, change: &NodeChange| {
        if change.is_nested {
            return Ok(());
        }
        if changes.len() == EVENT_CHANGES_MAX {
            return Err(Error::Stopped);
        }
        changes.push((change.path.to_instance_identifier(schema), change.kind));
        Ok(())
    };
    match tree.each_difference(version - 1, version, &mut visit) {
        Ok(()) => Ok((changes, true)),
        // The version before is not kept.
        Err(Error::Stopped | Error::Pruned { .. }) => Ok((changes, false)),
        Err(error) => Err(error),
    }
}

impl EventKind {
    /// The schema of the notification: that of the anchor, if it defines the module.
    fn schema<'s>(self, own: &'s Arc<Schema>, server: &'s Arc<Schema>) -> &'s Arc<Schema> {
        let module = own.module_by_name(self.module());
        let is_own = module.is_some_and(|module| own.module(module).is_implemented);
        match is_own {
            true => own,
            false => server,
        }
    }

    fn module(self) -> &'static str {
        match self {
            Self::Commit => COMMIT_MODULE,
            Self::ConfigChange => BASE_MODULE,
        }
    }
}

impl CommitChanges {
    /// The event; `None` if the schema, of another revision of the module, does not define it.
    fn event(self, schema: Arc<Schema>) -> Option<Event> {
        let content = match self.kind {
            EventKind::Commit => self.commit(&schema),
            EventKind::ConfigChange => self.config_change(&schema),
        };
        let source = EventSource::Commit(self.info.version);
        let time = self.info.time;
        let event = Event::new(source, time, schema, &InstancePath::root(), content?);
        Some(event.with_changes(Arc::new(self)))
    }

    /// The schema of the changed nodes.
    pub fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }

    /// The event with the nodes that a user can read; `None` if there are none. The comment may describe the others, so it
    /// is left out if there are any.
    pub fn visible(&self, event: &Arc<Event>, access: &UserAccess) -> Option<Arc<Event>> {
        let Some(table) = access.table().filter(|table| !table.reads_all()) else {
            return Some(Arc::clone(event));
        };
        let changes = self.changes.iter();
        let visible = changes.filter(|(path, _)| may_read(table, &self.schema, path));
        let visible: Vec<(String, ChangeKind)> = visible.cloned().collect();
        // Nor is a change of modules only shown, as in the history.
        if visible.is_empty() {
            return None;
        }
        if visible.len() == self.changes.len() && self.is_complete {
            return Some(Arc::clone(event));
        }
        let shown = Self {
            info: CommitInfo {
                comment: String::new(),
                ..self.info.clone()
            },
            changes: visible,
            is_complete: false,
            schema: Arc::clone(&self.schema),
            kind: self.kind,
        };
        shown.event(Arc::clone(event.schema())).map(Arc::new)
    }

    fn commit(&self, schema: &Arc<Schema>) -> Option<DataNode> {
        let tree = StateNodes::tree(schema, (COMMIT_MODULE, "commit"), |commit| {
            commit.leaf("version", &self.info.version.to_string());
            for (name, text) in [
                ("author", &self.info.author),
                ("comment", &self.info.comment),
            ] {
                if !text.is_empty() {
                    commit.leaf(name, text);
                }
            }
            commit.leaf_list("path", self.changes.iter().map(|(path, _)| path));
            if !self.is_complete {
                commit.leaf("is-complete", "false");
            }
        });
        tree.nodes.into_iter().next()
    }

    fn config_change(&self, schema: &Arc<Schema>) -> Option<DataNode> {
        // An instance-identifier can only name nodes of its own schema.
        let has_targets = Arc::ptr_eq(schema, &self.schema);
        let tree = StateNodes::tree(schema, (BASE_MODULE, "netconf-config-change"), |event| {
            event.inner("changed-by", |by| match self.info.author.is_empty() {
                true => {
                    by.leaf("server", "");
                }
                false => {
                    by.leaf("username", &self.info.author);
                    by.leaf("session-id", "0");
                }
            });
            event.leaf("datastore", "running");
            if !has_targets || !self.is_complete {
                return;
            }
            for (path, kind) in &self.changes {
                event.inner("edit", |edit| {
                    edit.leaf("target", path);
                    edit.leaf("operation", operation(*kind));
                });
            }
        });
        tree.nodes.into_iter().next()
    }
}

/// The edit operation of a change.
fn operation(kind: ChangeKind) -> &'static str {
    match kind {
        ChangeKind::Created => "create",
        ChangeKind::Deleted => "delete",
        ChangeKind::Modified => "replace",
        ChangeKind::Moved => "merge",
    }
}

//! An event of a stream.

use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use espalier_store::{Result, Timestamp};
use espalier_yang::data::{Content, DataNode, DataTree};
use espalier_yang::{InstancePath, Keys, NodeId, Schema, Step};

use super::commit_event::CommitChanges;
use super::encoding::Encoding;
use super::push::PushUpdate;
use crate::access::UserAccess;

/// Where an event comes from, with its place there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventSource {
    /// The event log, with the sequence number of the record.
    Log(u64),
    /// The history of running, with the version that the commit created.
    Commit(u64),
    /// The server itself; it is not recorded.
    Server,
    /// The subscription of the receiver: it is about the subscription, and no event of a stream.
    Subscription,
}

/// An event. Immutable, and shared by all its receivers: it is encoded at most once in each [`Encoding`].
pub struct Event {
    source: EventSource,
    time: Timestamp,
    schema: Arc<Schema>,
    tree: DataTree,
    /// The path of the notification.
    path: InstancePath,
    notification: NodeId,
    /// For an event of a commit: the changed nodes.
    changes: Option<Arc<CommitChanges>>,
    /// For an update of a subscription to a datastore: its number, and the data, which is of other models than the
    /// notification.
    push: Option<(u32, PushUpdate)>,
    documents: [OnceLock<Bytes>; 2],
    frames: [OnceLock<Bytes>; 2],
}

impl Event {
    /// An event with the content of a notification, which is inside the node at `parent`.
    pub(super) fn new(
        source: EventSource,
        time: Timestamp,
        schema: Arc<Schema>,
        parent: &InstancePath,
        content: DataNode,
    ) -> Self {
        let notification = content.node;
        Self {
            source,
            time,
            tree: DataTree {
                nodes: vec![within(&schema, &parent.steps, content)],
            },
            schema,
            path: parent.child(notification, Keys::None),
            notification,
            changes: None,
            push: None,
            documents: Default::default(),
            frames: Default::default(),
        }
    }

    /// The same event as one of a commit.
    pub(super) fn with_changes(self, changes: Arc<CommitChanges>) -> Self {
        Self {
            changes: Some(changes),
            ..self
        }
    }

    /// The same event as an update of the subscription to a datastore that has this number.
    pub(super) fn with_push(self, id: u32, update: PushUpdate) -> Self {
        Self {
            push: Some((id, update)),
            ..self
        }
    }

    /// The data of an update of a subscription to a datastore, with the number of that.
    pub(super) fn push(&self) -> Option<&(u32, PushUpdate)> {
        self.push.as_ref()
    }

    /// Whether it is an update of a subscription to a datastore (RFC 8641).
    pub fn is_push_update(&self) -> bool {
        self.push.is_some()
    }

    /// Where it comes from.
    pub fn source(&self) -> EventSource {
        self.source
    }

    /// When it occurred.
    pub fn time(&self) -> Timestamp {
        self.time
    }

    /// The schema of its content.
    pub fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }

    /// The notification; one that is inside data, with the nodes around it and their keys. Updates of subscriptions to
    /// datastores have their data in the documents only.
    pub fn tree(&self) -> &DataTree {
        &self.tree
    }

    /// The module that defines the notification.
    pub fn module(&self) -> &str {
        let module = self.schema.node(self.notification).module;
        &self.schema.module(module).name
    }

    /// The name of the notification.
    pub fn name(&self) -> &str {
        &self.schema.node(self.notification).name
    }

    /// Its document in an encoding.
    pub fn document(&self, encoding: Encoding) -> &Bytes {
        self.documents[encoding as usize].get_or_init(|| encoding.encode(self))
    }

    /// Its document in the framing of a front end, made once: all front ends of a process use the same framing.
    pub fn frame(&self, encoding: Encoding, frame: impl FnOnce(&[u8]) -> Vec<u8>) -> &Bytes {
        let place = &self.frames[encoding as usize];
        place.get_or_init(|| frame(self.document(encoding)).into())
    }

    /// The bytes that it takes, about.
    pub(super) fn bytes(&self) -> usize {
        self.document(Encoding::Json).len()
    }

    /// The event as a user may see it (RFC 8341 §3.4.6); `None` if the user may not. `access` returns what the user may do
    /// with data of a schema.
    pub(super) fn visible(
        self: &Arc<Self>,
        access: &dyn Fn(&Arc<Schema>) -> Result<Arc<UserAccess>>,
    ) -> Result<Option<Arc<Self>>> {
        let of_event = access(&self.schema)?;
        let is_readable = match self.path.steps.len() {
            1 => of_event.may_receive(&self.schema, self.notification),
            _ => of_event.may_read(&self.path),
        };
        Ok(match &self.changes {
            _ if !is_readable => None,
            Some(changes) => changes.visible(self, &*access(changes.schema())?),
            None => Some(Arc::clone(self)),
        })
    }
}

/// A node inside the nodes of a path, with their keys.
fn within(schema: &Schema, steps: &[Step], content: DataNode) -> DataNode {
    steps.iter().rev().fold(content, |inner, step| {
        let keys = match &step.keys {
            Keys::Values(values) => values.as_slice(),
            Keys::None | Keys::Position(_) => &[],
        };
        let named = schema.node(step.node).keys().iter().zip(keys);
        let keys = named.map(|(&key, value)| DataNode::new(key, Content::Value(value.clone())));
        let children = keys.chain([inner]).collect();
        DataNode::new(step.node, Content::Inner(children))
    })
}

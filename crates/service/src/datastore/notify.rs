//! Notifications: sending, streams, subscriptions.

use espalier_store::{Datastore, Error, EventLogState, EventSettings, Result, Tree};
use espalier_yang::data::{Content, DataNode, DataTree};
use espalier_yang::{DataError, ErrorTag, ErrorType, Schema};

use super::SessionDatastore;
use super::call::{Call, READ};
use crate::audit::AuditOperation;
use crate::notifications::{
    ConfirmEvent, Notification, Stream, StreamInfo, Subscription, SubscriptionOptions, parse_time,
};

/// The module of the operation that sends notifications.
const NOTIFICATIONS: &str = "espalier-notifications";

/// The operation that sends notifications. Only users with a rule may invoke it.
const SEND: &str = "send-notification";

impl SessionDatastore {
    /// Sends a notification: validates it, and stores it in the event log of the anchor. Returns its sequence number. It
    /// is then delivered to the receivers of all processes; the call does not wait for them.
    ///
    /// # Errors
    /// The errors of the content; `data-missing` if the node that contains the notification does not exist;
    /// `access-denied`, also if the user may not read that node.
    pub fn notify(&self, notification: Notification) -> Result<u64> {
        let mut path = notification.parent.clone();
        if let [node] = notification.content.nodes.as_slice() {
            path = path.child(node.node, espalier_yang::Keys::None);
        }
        let paths = [path];
        self.counted(Call::on(AuditOperation::Notify, &paths), |access| {
            self.require_stored()?;
            self.require_write_scope()?;
            let schema = self.service.server_schema()?;
            let module = schema.module_by_name(NOTIFICATIONS);
            let node = module.and_then(|module| schema.child(None, module, SEND));
            if !access.may_invoke(&schema, NOTIFICATIONS, SEND, node) {
                return Err(self.denied_operation(SEND));
            }
            // As with an action (RFC 8341 §3.1.3): otherwise the result shows whether a hidden node exists.
            let parent = &notification.parent;
            if !parent.is_root() && !access.may_read(parent) {
                return Err(Error::data(ErrorTag::AccessDenied, "access denied: read"));
            }
            self.service.send(&self.running_tree()?, notification)
        })
    }

    /// The operation `send-notification` of `espalier-notifications`: [`Self::notify`], with the children of its `input`,
    /// which are in `schema`. There is no output.
    ///
    /// # Errors
    /// As [`Self::notify`].
    pub fn send_notification(&self, schema: &Schema, input: &[DataNode]) -> Result<DataTree> {
        let (mut parent, mut time, mut content) = (String::new(), None, String::new());
        for node in input {
            let name = &*schema.node(node.node).name;
            match (name, &node.content) {
                ("parent", Content::Value(value)) => parent = value.to_string(),
                ("event-time", Content::Value(value)) => {
                    let text = value.to_string();
                    time = Some(parse_time(&text).ok_or_else(|| {
                        let message = format!("“{text}” is not a time from 1970 to 9999");
                        let error = DataError::new(ErrorTag::InvalidValue, message);
                        error.of_type(ErrorType::Application).on_element(name)
                    })?);
                }
                ("content", Content::Any(json)) => content.clone_from(json),
                _ => {}
            }
        }
        let of = self.schema();
        self.notify(Notification::parse_json(
            of,
            &parent,
            content.as_bytes(),
            time,
        )?)?;
        Ok(DataTree::default())
    }

    /// The event streams of the anchor.
    ///
    /// # Errors
    /// Those of the engine.
    pub fn streams(&self) -> Result<Vec<StreamInfo>> {
        self.counted(READ, |_| Stream::list(&self.running_tree()?))
    }

    /// The stream with a name.
    ///
    /// # Errors
    /// `invalid-value` if there is none; those of the engine.
    pub fn stream(&self, name: &str) -> Result<Stream> {
        let settings = self.running_tree()?.event_settings()?;
        Ok(Stream::parse(name, self.schema(), &settings)?)
    }

    /// Begins a subscription to events of the anchor. Every user may subscribe; which events are delivered depends on the
    /// access rules at the time of the delivery.
    ///
    /// # Errors
    /// `invalid-value` for times that are not possible; those of the engine.
    pub fn subscribe(&self, options: SubscriptionOptions) -> Result<Subscription> {
        self.counted(Call::new(AuditOperation::Subscribe), |_| {
            let tree = self.running_tree()?;
            self.service.subscribe(&self.session, tree, options)
        })
    }

    /// The state of the event log of the anchor.
    ///
    /// # Errors
    /// Those of the engine.
    pub fn event_log(&self) -> Result<EventLogState> {
        self.counted(READ, |_| self.running_tree()?.event_log())
    }

    /// The settings of the event log of the anchor.
    ///
    /// # Errors
    /// Those of the engine.
    pub fn event_settings(&self) -> Result<EventSettings> {
        self.counted(READ, |_| self.running_tree()?.event_settings())
    }

    /// Changes the settings of the event log with a JSON Merge Patch, and returns them.
    ///
    /// # Errors
    /// `invalid-value` for settings that there are not; `access-denied` for a user that any rule restricts.
    pub fn change_event_settings(&self, patch: &serde_json::Value) -> Result<EventSettings> {
        self.counted(Call::new(AuditOperation::NotificationSettings), |_| {
            self.require_write_scope()?;
            self.require_unrestricted("change-event-settings")?;
            let tree = self.running_tree()?;
            let settings = crate::notifications::patched(&tree.event_settings()?, patch)?;
            tree.set_event_settings(&settings)?;
            Ok(settings)
        })
    }

    pub(super) fn running_tree(&self) -> Result<Tree> {
        self.governed().sibling_datastore(Datastore::Running, "")
    }

    /// Whether a phase of a confirmed commit can have a notification.
    pub(super) fn notifies_of_confirmed_commits(&self) -> Result<bool> {
        self.service.notifies_of_server_events(self.governed())
    }

    pub(super) fn notify_confirmed_commit(&self, phase: ConfirmEvent) {
        let session = Some(&*self.session);
        self.service
            .notify_confirmed_commit(self.governed(), session, phase);
    }
}

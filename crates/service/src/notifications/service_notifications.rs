//! What the service has of notifications: the hubs of the anchors, and the notifications of the server itself.

use std::sync::Arc;

use espalier_store::{Datastore, Error, NewEvent, Result, Tree};
use espalier_yang::data::{DataTree, PrintOptions, json};
use espalier_yang::{ErrorTag, Schema};
use parking_lot::Mutex;
use rustc_hash::FxHashMap;

use super::configured::{ConfiguredSubscriptions, Opening};
use super::encoding::Encoding;
use super::established::{
    End, Established, EstablishedSubscriptions, NewEstablished, Request, SubscriptionId, Target,
    Terms,
};
use super::hub::Hub;
use super::new_event::{Notification, event_name};
use super::position::Position;
use super::push::{PushHub, PushSubscription, PushTarget};
use super::session_event::{self, ConfirmEvent};
use super::stream::no_stream;
use super::stream_subscription::{StreamSubscription, SubscriptionOptions};
use super::subscription::Subscription;
use crate::service::Service;
use crate::session::{Session, TerminationReason};

/// When there are more hubs, those without receivers are removed.
const HUBS_MAX: usize = 1000;

/// The notifications of a service.
pub(crate) struct ServiceNotifications {
    /// By the number of the anchor, with running of it.
    hubs: Mutex<FxHashMap<u64, (Tree, Arc<Hub>)>>,
    /// The subscriptions to datastores, by the number of the anchor.
    push_hubs: Mutex<FxHashMap<(u64, Datastore), Arc<PushHub>>>,
    established: Arc<EstablishedSubscriptions>,
    configured: Arc<ConfiguredSubscriptions>,
}

impl ServiceNotifications {
    /// Without receivers.
    pub fn new(
        established: Arc<EstablishedSubscriptions>,
        configured: Arc<ConfiguredSubscriptions>,
    ) -> Self {
        Self {
            hubs: Mutex::default(),
            push_hubs: Mutex::default(),
            established,
            configured,
        }
    }

    /// The subscriptions in the configuration.
    pub fn configured(&self) -> &ConfiguredSubscriptions {
        &self.configured
    }

    /// The subscriptions that were established with the operation.
    pub fn established(&self) -> &EstablishedSubscriptions {
        &self.established
    }

    fn hub(&self, tree: &Tree) -> Arc<Hub> {
        let mut hubs = self.hubs.lock();
        if hubs.len() > HUBS_MAX {
            hubs.retain(|_, (_, hub)| Arc::strong_count(hub) > 1);
        }
        let new = || (tree.clone(), Arc::default());
        let (_, hub) = hubs.entry(tree.anchor_id()).or_insert_with(new);
        Arc::clone(hub)
    }

    /// The hub of the subscriptions to a datastore of an anchor.
    fn push_hub(&self, running: &Tree, datastore: Datastore) -> Result<Arc<PushHub>> {
        let tree = running.sibling_datastore(datastore, "")?;
        let mut hubs = self.push_hubs.lock();
        if hubs.len() > HUBS_MAX {
            hubs.retain(|_, hub| Arc::strong_count(hub) > 1);
        }
        let place = hubs.entry((tree.anchor_id(), datastore));
        let hub = place.or_insert_with(|| Arc::new(PushHub::new(tree)));
        Ok(Arc::clone(hub))
    }

    /// The hub of an anchor, if there is one.
    fn existing(&self, tree: &Tree) -> Option<Arc<Hub>> {
        let hubs = self.hubs.lock();
        let hub = hubs.get(&tree.anchor_id());
        hub.map(|(_, hub)| Arc::clone(hub))
    }

    /// The hubs with receivers.
    fn with_receivers(&self) -> Vec<(Tree, Arc<Hub>)> {
        let hubs: Vec<_> = self.hubs.lock().values().cloned().collect();
        let receiving = hubs.into_iter().filter(|(_, hub)| hub.has_receivers());
        receiving.collect()
    }
}

/// The notification of an event of the server, made for a schema.
type MakeContent<'a> = &'a dyn Fn(&Arc<Schema>) -> DataTree;

impl Service {
    /// Sends a notification of an anchor: validates it, and stores it in its event log. Returns its sequence number.
    pub(crate) fn send(&self, running: &Tree, notification: Notification) -> Result<u64> {
        let event = notification.validated(running)?;
        self.notifications().hub(running).append(running, event)
    }

    /// Begins a subscription to the events of an anchor.
    pub(crate) fn subscribe(
        &self,
        session: &Arc<Session>,
        running: Tree,
        options: SubscriptionOptions,
    ) -> Result<Subscription> {
        let hub = self.notifications().hub(&running);
        let (context, session) = (self.event_context(), Arc::clone(session));
        StreamSubscription::new(context, session, running, hub, options)
            .map(Subscription::of_stream)
    }

    /// Establishes a subscription (RFC 8639 §2.4.2).
    pub(crate) fn establish(
        &self,
        running: &Tree,
        new: impl FnOnce(Position) -> NewEstablished,
    ) -> Result<SubscriptionId> {
        let new = new(Position::newest(running)?);
        new.terms.check(running.store().now())?;
        let established = self.notifications().established.establish(new)?;
        match established.check(&*self.event_context(), running) {
            Ok(_) if established.end().is_none() => Ok(established.id),
            Ok(_) => {
                let terms = established.terms();
                let stream = terms.stream().map(|target| target.stream.name());
                Err(no_stream(stream.unwrap_or_default()).into())
            }
            Err(error) => {
                established.finish(End::Deleted);
                Err(error)
            }
        }
    }

    /// Modifies an established subscription (RFC 8639 §2.4.3): the terms are those of all events after the call, and not of
    /// those before it, when its receiver reads them later.
    pub(crate) fn modify_established(
        &self,
        established: &Established,
        running: &Tree,
        terms: Terms,
    ) -> Result<()> {
        if terms.stream().is_none() {
            return established.modify(terms, Position::default());
        }
        let hub = self.notifications().hub(running);
        established.modify(terms, Position::newest(running)?)?;
        hub.change(&established.receiver, |_| established.selector().0);
        Ok(())
    }

    /// Begins to receive from an established subscription.
    pub(crate) fn open_established(
        &self,
        session: &Arc<Session>,
        running: Tree,
        id: SubscriptionId,
    ) -> Result<Subscription> {
        let all = &self.notifications().established;
        let anchor = running.anchor_id();
        let established = all.get(id, anchor, Some(session), Request::Delete)?;
        if !established.open() {
            let message = format!(
                "the notifications of the subscription {} are received",
                id.0
            );
            return Err(Error::data(ErrorTag::InUse, message));
        }
        let opened = self.receive(running, &established);
        opened.inspect_err(|_| established.finish(End::Deleted))
    }

    /// Opens a configured subscription for the session of a receiver.
    pub(crate) fn open_configured(
        &self,
        session: &Arc<Session>,
        running: Tree,
        opening: &Opening,
        mut terms: Terms,
    ) -> Result<(Arc<Established>, Subscription)> {
        let boot = self.sessions().totals().started;
        let position = opening.begin(&mut terms, &running, boot)?;
        let new = NewEstablished {
            session: Arc::clone(session),
            schema: self.server_schema()?,
            anchor: running.anchor_id(),
            terms,
            encoding: Some(Encoding::Xml),
            position,
        };
        let now = running.store().now();
        let established = Arc::new(Established::new(opening.id, new, now));
        established.open();
        established.check(&*self.event_context(), &running)?;
        if established.end().is_some() {
            let message = "the user of the receiver cannot read the stream";
            return Err(Error::data(ErrorTag::AccessDenied, message));
        }
        let subscription = self.receive(running, &established)?;
        Ok((established, subscription))
    }

    /// Begins to receive.
    fn receive(&self, running: Tree, established: &Arc<Established>) -> Result<Subscription> {
        match established.terms().target {
            Target::Stream(_) => self.open_stream(running, established),
            Target::Datastore(target) => self.open_push(&running, established, target),
        }
    }

    fn open_stream(&self, running: Tree, established: &Arc<Established>) -> Result<Subscription> {
        let hub = self.notifications().hub(&running);
        let (context, established) = (self.event_context(), Arc::clone(established));
        let opened = StreamSubscription::of_established(context, running, hub, established);
        opened.map(Subscription::of_stream)
    }

    fn open_push(
        &self,
        running: &Tree,
        established: &Arc<Established>,
        target: PushTarget,
    ) -> Result<Subscription> {
        let hub = self.notifications().push_hub(running, target.datastore)?;
        let (context, established) = (self.event_context(), Arc::clone(established));
        PushSubscription::new(context, hub, established, target).map(Subscription::of_push)
    }

    /// Notifies receivers that a session began.
    pub(crate) fn notify_session_start(&self, session: &Session) {
        self.notify_all(&|schema| session_event::session_start(schema, session));
    }

    /// Notifies receivers that a session ended.
    pub(crate) fn notify_session_end(&self, session: &Session, reason: TerminationReason) {
        self.notifications()
            .established
            .end_session(session, reason);
        self.notify_all(&|schema| session_event::session_end(schema, session, reason));
    }

    /// Notifies receivers of a phase of a confirmed commit of an anchor.
    pub(crate) fn notify_confirmed_commit(
        &self,
        tree: &Tree,
        session: Option<&Session>,
        phase: ConfirmEvent,
    ) {
        self.notify_one(tree, &|schema| {
            session_event::confirmed_commit(schema, session, phase)
        });
    }

    /// Notifies receivers that the modules of an anchor were replaced. `before` is its schema before.
    pub(crate) fn notify_capability_change(&self, tree: &Tree, before: &Schema, session: &Session) {
        match self.event_context().reopened(tree) {
            Ok(tree) => self.notify_one(&tree, &|schema| {
                session_event::capability_change(schema, session, [before, tree.schema()])
            }),
            Err(error) => tracing::debug!(%error, "the anchor was deleted after an upgrade"),
        }
    }

    /// Notifies the receivers of all anchors, and records the event in the log of the default anchor if its settings
    /// require it.
    fn notify_all(&self, content: MakeContent<'_>) {
        let served = self.configuration().served();
        for (tree, hub) in self.notifications().with_receivers() {
            let served = served.as_ref();
            if !served.is_some_and(|served| served.has_same_anchor(&tree)) {
                self.deliver_unrecorded(&tree, &hub, content);
            }
        }
        if let Some(tree) = served {
            self.notify_one(&tree, content);
        }
    }

    /// Notifies the receivers of an anchor, and records the event in its log if its settings require it.
    fn notify_one(&self, tree: &Tree, content: MakeContent<'_>) {
        let settings = tree.event_settings().unwrap_or_default();
        if settings.record_sessions {
            self.record(tree, &self.notifications().hub(tree), content);
        } else if let Some(hub) = self.notifications().existing(tree) {
            self.deliver_unrecorded(tree, &hub, content);
        }
    }

    fn deliver_unrecorded(&self, tree: &Tree, hub: &Hub, content: MakeContent<'_>) {
        if !hub.has_receivers() {
            return;
        }
        let event = self.server_schema().map(|schema| {
            let content = content(&schema);
            session_event::unrecorded(schema, tree.store().now(), content)
        });
        match event {
            Ok(Some(event)) => hub.deliver(&*self.event_context(), tree, &Arc::new(event)),
            Ok(None) => {}
            Err(error) => tracing::warn!(%error, "a notification of the server was not made"),
        }
    }

    fn record(&self, tree: &Tree, hub: &Hub, content: MakeContent<'_>) {
        let recorded = self.server_schema().and_then(|schema| {
            let content = content(&schema);
            let Some(node) = content.nodes.first() else {
                return Ok(());
            };
            let mut printer = json::Printer::new(&schema, Vec::new(), PrintOptions::default());
            // Writing to memory does not fail.
            let _ = content.emit(&mut printer);
            let event = NewEvent {
                time: None,
                name: event_name(&schema, node.node),
                parent: String::new(),
                content: printer.finish().unwrap_or_default(),
            };
            hub.append(tree, event).map(drop)
        });
        if let Err(error) = recorded {
            tracing::warn!(%error, "a notification of the server was not recorded");
        }
    }

    /// Whether a notification of the server itself would be received or recorded.
    pub(crate) fn notifies_of_server_events(&self, tree: &Tree) -> Result<bool> {
        let hub = self.notifications().existing(tree);
        let has_receivers = hub.is_some_and(|hub| hub.has_receivers());
        Ok(has_receivers || tree.event_settings()?.record_sessions)
    }
}

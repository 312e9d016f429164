//! An established subscription, shared by its receiver, the operations and the state of the server.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use espalier_store::{Result, Timestamp, Tree};
use espalier_yang::{InstancePath, Schema};
use parking_lot::Mutex;

use super::super::context::EventContext;
use super::super::encoding::Encoding;
use super::super::event::Event;
use super::super::filter::EventFilter;
use super::super::filter_in_force::FilterInForce;
use super::super::group::Selector;
use super::super::position::Position;
use super::super::push::{PushUpdate, Renewed};
use super::super::receiver::Receiver;
use super::super::stream::Stream;
use super::super::termination::Termination;
use super::error::{Request, SubscriptionError};
use super::given_filter::GivenFilter;
use super::state_change::StateChange;
use super::terms::{StreamFilter, Target, Terms};
use super::{SUBSCRIBED, named_filter, state_change};
use crate::server_state::StateNodes;
use crate::session::{Session, Transport};

/// A subscription that nobody receives from ends this long after it was established.
pub const ESTABLISHED_OPEN_WAIT: Duration = Duration::from_secs(60);

/// The maximum number of modifications of a subscription that wait until the events before them were read.
pub const MODIFICATIONS_WAITING_MAX: usize = 16;

/// The number of a subscription. Unique in a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SubscriptionId(pub u32);

/// How a front end sends the notifications of a subscription.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Place {
    /// Where they are (RFC 8650 §3.1); empty for nowhere.
    pub uri: String,
    /// Their encoding, if the subscriber did not choose one.
    pub encoding: Encoding,
}

/// How a subscription ends before its stop time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// By its subscriber: there is no notification.
    Deleted,
    /// Otherwise.
    Terminated(Termination),
}

/// The description of a new subscription.
pub(crate) struct NewEstablished {
    pub session: Arc<Session>,
    /// The schema of the operation.
    pub schema: Arc<Schema>,
    /// The number of the anchor.
    pub anchor: u64,
    pub terms: Terms,
    pub encoding: Option<Encoding>,
    /// The first event, without a replay.
    pub position: Position,
}

/// An established subscription.
pub(crate) struct Established {
    pub id: SubscriptionId,
    pub new: NewEstablished,
    pub receiver: Arc<Receiver>,
    established: Timestamp,
    is_opened: AtomicBool,
    sent: AtomicU64,
    is_suspended: AtomicBool,
    /// The position after the messages that were sent; `None` before the first.
    delivered: Mutex<Option<Position>>,
    /// How often a synchronization was requested.
    syncs: AtomicU64,
    changes: Mutex<Changes>,
    /// Increases with each change.
    revision: AtomicU64,
}

struct Changes {
    terms: Terms,
    filter: FilterInForce,
    /// How often the terms were modified.
    modifications: usize,
    place: Place,
    end: Option<End>,
}

impl Established {
    pub fn new(id: SubscriptionId, new: NewEstablished, now: Timestamp) -> Self {
        let terms = new.terms.clone();
        let filter = terms.stream().and_then(|target| target.filter.as_ref());
        let filter = FilterInForce::new(filter.map(|filter| Arc::clone(&filter.parsed)));
        Self {
            id,
            receiver: Arc::default(),
            established: now,
            is_opened: AtomicBool::new(false),
            sent: AtomicU64::new(0),
            is_suspended: AtomicBool::new(false),
            delivered: Mutex::default(),
            syncs: AtomicU64::new(0),
            changes: Mutex::new(Changes {
                terms,
                filter,
                modifications: 0,
                place: Place::default(),
                end: None,
            }),
            revision: AtomicU64::new(0),
            new,
        }
    }

    /// Whether a session is that of the subscriber. Over HTTP a user is the subscriber (RFC 8650 §3).
    pub fn is_of(&self, session: &Session) -> bool {
        let own = &self.new.session;
        let is_http =
            |one: &Session| matches!(one.transport(), Transport::Http | Transport::UnixSocket);
        match is_http(own) && is_http(session) {
            true => own.caller() == session.caller(),
            false => std::ptr::eq(&**own, session),
        }
    }

    /// Whether it has ended, or nobody opened it in time.
    pub fn is_over(&self, now: Timestamp) -> bool {
        let is_forgotten = !self.is_opened.load(Ordering::Acquire)
            && now.since(self.established) >= ESTABLISHED_OPEN_WAIT;
        is_forgotten || self.changes.lock().end.is_some()
    }

    /// Whether somebody receives from it.
    pub fn is_opened(&self) -> bool {
        self.is_opened.load(Ordering::Acquire)
    }

    /// Marks it as opened; returns whether it was not.
    pub fn open(&self) -> bool {
        !self.is_opened.swap(true, Ordering::AcqRel)
    }

    /// Nobody receives from it any more.
    pub fn close(&self) {
        self.finish(End::Deleted);
        self.is_opened.store(false, Ordering::Release);
    }

    /// Whether it is of the configuration.
    pub fn is_configured(&self) -> bool {
        self.new.terms.configured.is_some()
    }

    /// The time of the last event before the replay of a configured subscription.
    pub fn previous_event_time(&self) -> Option<Timestamp> {
        self.new.terms.configured.as_ref()?.previous
    }

    /// Records that the messages before a position were sent.
    pub fn set_delivered(&self, position: Position) {
        *self.delivered.lock() = Some(position);
    }

    /// The position after the messages that were sent.
    pub fn delivered(&self) -> Option<Position> {
        *self.delivered.lock()
    }

    /// Counts changes, for the receiver.
    pub fn revision(&self) -> u64 {
        self.revision.load(Ordering::Acquire)
    }

    /// The terms.
    pub fn terms(&self) -> Terms {
        self.changes.lock().terms.clone()
    }

    /// How it ended.
    pub fn end(&self) -> Option<End> {
        self.changes.lock().end
    }

    /// The encoding of its notifications.
    pub fn encoding(&self) -> Encoding {
        let default = || self.changes.lock().place.encoding;
        self.new.encoding.unwrap_or_else(default)
    }

    /// Sets how a front end sends the notifications.
    pub fn set_place(&self, place: Place) {
        self.changes.lock().place = place;
    }

    /// What decides which events it has, and how often it was modified.
    pub(in crate::notifications) fn selector(&self) -> (Selector, usize) {
        let changes = self.changes.lock();
        let stream = changes.terms.stream();
        let selector = Selector {
            stream: stream
                .map(|target| target.stream.clone())
                .unwrap_or_default(),
            filter: changes.filter.clone(),
            session: Arc::clone(&self.new.session),
        };
        (selector, changes.modifications)
    }

    /// Replaces the terms for the events from a position on.
    ///
    /// # Errors
    /// `insufficient-resources` if [`MODIFICATIONS_WAITING_MAX`] modifications wait for events before them.
    pub(in crate::notifications) fn modify(&self, terms: Terms, from: Position) -> Result<()> {
        {
            let mut changes = self.changes.lock();
            if changes.filter.replaced() >= MODIFICATIONS_WAITING_MAX {
                let message = format!(
                    "{MODIFICATIONS_WAITING_MAX} modifications (MODIFICATIONS_WAITING_MAX) wait until the past events \
                     before them are received"
                );
                return Err(SubscriptionError::Resources(message).of(Request::Modify));
            }
            if let Target::Stream(target) = &terms.target {
                let filter = target.filter.as_ref();
                let filter = filter.map(|filter| Arc::clone(&filter.parsed));
                changes.filter.replace(filter, from);
            }
            changes.modifications += 1;
            changes.terms = terms;
        }
        self.changed();
        Ok(())
    }

    /// The receiver has read all events before a position: filters that only apply to them are not needed any more.
    pub(in crate::notifications) fn forget_filters_before(&self, position: Position) {
        self.changes.lock().filter.forget_before(position);
    }

    /// Ends it, if it has not ended.
    pub fn finish(&self, end: End) {
        self.changes.lock().end.get_or_insert(end);
        self.changed();
    }

    fn changed(&self) {
        self.revision.fetch_add(1, Ordering::AcqRel);
        self.receiver.interrupt();
    }

    /// Reports in the state of the subscription whether it is suspended.
    pub fn set_suspended(&self, is_suspended: bool) {
        self.is_suspended.store(is_suspended, Ordering::Relaxed);
    }

    /// Requests a synchronization.
    pub fn request_sync(&self) {
        self.syncs.fetch_add(1, Ordering::AcqRel);
        self.changed();
    }

    /// Whether no events are sent for some time.
    pub fn is_suspended(&self) -> bool {
        self.receiver.has_lost() || self.is_suspended.load(Ordering::Relaxed)
    }

    /// The number of events that were delivered.
    pub fn sent(&self) -> u64 {
        self.sent.load(Ordering::Relaxed)
    }

    /// How often a synchronization was requested.
    pub fn syncs(&self) -> u64 {
        self.syncs.load(Ordering::Acquire)
    }

    /// How often the terms were modified.
    pub fn modifications(&self) -> usize {
        self.changes.lock().modifications
    }

    /// Counts an event that was delivered.
    pub fn count_sent(&self) {
        self.sent.fetch_add(1, Ordering::Relaxed);
    }

    /// Ends it if the stream or the filter exist no more, or may not be read any more. Returns new terms if the filter in
    /// the configuration was changed.
    pub fn check(&self, context: &dyn EventContext, tree: &Tree) -> Result<Option<Terms>> {
        let mut terms = self.terms();
        let Target::Stream(target) = &mut terms.target else {
            return Ok(None);
        };
        if !self.may_read_stream(context, tree, &target.stream)? {
            self.finish(End::Terminated(Termination::StreamUnavailable));
            return Ok(None);
        }
        let filter = target.filter.as_ref();
        let Some(GivenFilter::Name(name)) = filter.map(|filter| &filter.given) else {
            return Ok(None);
        };
        // The filter of a configured subscription is in the same configuration, and changes with it.
        if self.is_configured() {
            return Ok(None);
        }
        let server = context.server_schema()?;
        let parsed = named_filter(tree, name)?;
        let parsed = parsed.map(|content| EventFilter::of(&content, &[tree.schema(), &server]));
        // A wrong filter is no filter.
        match parsed.and_then(std::result::Result::ok) {
            None => {
                self.finish(End::Terminated(Termination::FilterUnavailable));
                Ok(None)
            }
            Some(parsed) if filter.is_some_and(|filter| *filter.parsed == parsed) => Ok(None),
            Some(parsed) => {
                target.filter = Some(StreamFilter {
                    given: GivenFilter::Name(name.clone()),
                    parsed: Arc::new(parsed),
                });
                Ok(Some(terms))
            }
        }
    }

    /// The terms with the configured filter of a datastore as it is now, if it was changed. If it was deleted, the
    /// subscription ends.
    ///
    /// # Errors
    /// Those of the engine.
    pub fn renewed_push(&self) -> Result<Option<Terms>> {
        let mut terms = self.terms();
        let Target::Datastore(target) = &mut terms.target else {
            return Ok(None);
        };
        match target.source.renewed()? {
            Renewed::Unchanged => return Ok(None),
            Renewed::Changed(source) => target.source = source,
            Renewed::Missing => {
                self.finish(End::Terminated(Termination::FilterUnavailable));
                return Ok(None);
            }
        }
        Ok(Some(terms))
    }

    /// Whether the stream exists, and the user may read it in the list of streams.
    fn may_read_stream(
        &self,
        context: &dyn EventContext,
        tree: &Tree,
        stream: &Stream,
    ) -> Result<bool> {
        let settings = tree.event_settings()?;
        if Stream::parse(stream.name(), tree.schema(), &settings).is_err() {
            return Ok(false);
        }
        let access = context.access_of_caller(self.new.session.caller(), tree, &self.new.schema)?;
        let path = stream_path(&self.new.schema, stream);
        Ok(path.is_none_or(|path| access.may_read(&path)))
    }

    /// A notification about it.
    pub fn state_change(&self, now: Timestamp, change: StateChange) -> Option<Arc<Event>> {
        state_change::event(self, now, change)
    }

    /// An update of its datastore.
    pub fn update(&self, now: Timestamp, update: PushUpdate) -> Option<Arc<Event>> {
        state_change::update(self, now, update)
    }

    /// Adds the terms, with the encoding and the place.
    pub fn add_terms(&self, nodes: &mut StateNodes<'_>) {
        let (terms, uri) = {
            let changes = self.changes.lock();
            (changes.terms.clone(), changes.place.uri.clone())
        };
        terms.add_to(nodes);
        // Its transport has one encoding.
        if let Some(configured) = &terms.configured {
            return configured.add_to(nodes);
        }
        let encoding = self.encoding().name();
        nodes.leaf("encoding", &format!("{SUBSCRIBED}:encode-{encoding}"));
        if !uri.is_empty() {
            nodes.leaf("ietf-restconf-subscribed-notifications:uri", &uri);
        }
    }

    /// Adds it to the list of subscriptions (RFC 8639 §3.3).
    pub fn add_to(&self, list: &mut StateNodes<'_>) {
        list.inner("subscription", |entry| {
            entry.leaf("id", &self.id.0.to_string());
            self.add_terms(entry);
            entry.inner("receivers", |receivers| {
                receivers.inner("receiver", |receiver| {
                    receiver.leaf("name", &self.receiver_name());
                    receiver.leaf("sent-event-records", &self.sent().to_string());
                    let excluded = self.receiver.excluded();
                    receiver.leaf("excluded-event-records", &excluded.to_string());
                    receiver.leaf(
                        "state",
                        match self.is_suspended() {
                            true => "suspended",
                            false => "active",
                        },
                    );
                });
            });
        });
    }

    /// The user and the address.
    fn receiver_name(&self) -> String {
        let session = &self.new.session;
        let (user, peer) = (&session.caller().user, session.peer());
        match (user.is_empty(), peer.is_empty()) {
            (false, false) => format!("{user}@{peer}"),
            (false, true) => user.clone(),
            (true, false) => peer.to_owned(),
            (true, true) => session.transport().name().to_owned(),
        }
    }
}

/// The path of a stream in the list of streams.
pub(super) fn stream_path(schema: &Schema, stream: &Stream) -> Option<InstancePath> {
    let name = stream.name().replace('\'', "''");
    let text = format!("/{SUBSCRIBED}:streams/stream[name='{name}']");
    InstancePath::parse_cli_path(schema, &text).ok()
}

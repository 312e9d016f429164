//! A subscription to an event stream or to a datastore.

use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use espalier_store::Result;

use super::delivery::{Delivery, Polled};
use super::position::Position;
use super::push::PushSubscription;
use super::stream_subscription::StreamSubscription;
use crate::session::Session;

/// A subscription to an event stream or, if it was established with the operation, to a datastore (RFC 8641). Dropping it
/// ends it.
pub struct Subscription(Kind);

enum Kind {
    Stream(Box<StreamSubscription>),
    Push(Box<PushSubscription>),
}

impl Subscription {
    pub(super) fn of_stream(subscription: StreamSubscription) -> Self {
        Self(Kind::Stream(Box::new(subscription)))
    }

    pub(super) fn of_push(subscription: PushSubscription) -> Self {
        Self(Kind::Push(Box::new(subscription)))
    }

    /// The session.
    pub fn session(&self) -> &Arc<Session> {
        match &self.0 {
            Kind::Stream(stream) => stream.session(),
            Kind::Push(push) => push.session(),
        }
    }

    /// The position after the recorded events that were delivered. A datastore has none.
    pub fn position(&self) -> Position {
        match &self.0 {
            Kind::Stream(stream) => stream.position(),
            Kind::Push(_) => Position::default(),
        }
    }

    /// Records that everything that was delivered was sent to the receiver. If its connection is lost, the replay of a
    /// configured subscription continues here.
    pub fn record_sent(&self) {
        match &self.0 {
            Kind::Stream(stream) => stream.record_sent(),
            Kind::Push(push) => push.record_sent(),
        }
    }

    /// Whether the subscription has ended, and everything was delivered.
    pub fn is_ended(&self) -> bool {
        match &self.0 {
            Kind::Stream(stream) => stream.is_ended(),
            Kind::Push(push) => push.is_ended(),
        }
    }

    /// Returns the next delivery, and waits for it up to a timeout; `None` if there is none in that time, or if the
    /// subscription has ended.
    ///
    /// # Errors
    /// Those of the engine. A later call tries again.
    pub fn next(&mut self, timeout: Duration) -> Result<Option<Delivery>> {
        match &mut self.0 {
            Kind::Stream(stream) => stream.next(timeout),
            Kind::Push(push) => push.next(timeout),
        }
    }

    /// The next delivery, for a task. If it is pending, the task is woken by an event; it also has to poll again after
    /// [`Self::wait_max`].
    pub fn poll(&mut self, context: &Context<'_>) -> Poll<Polled> {
        match &mut self.0 {
            Kind::Stream(stream) => stream.poll(context),
            Kind::Push(push) => push.poll(context),
        }
    }

    /// The time after which a waiting subscription looks whether it ends, or an update is due.
    pub fn wait_max(&self) -> Duration {
        match &self.0 {
            Kind::Stream(stream) => stream.wait_max(),
            Kind::Push(push) => push.wait_max(),
        }
    }

    /// Reads past events, or an update. Blocks.
    ///
    /// # Errors
    /// Those of the engine.
    pub fn read(&mut self) -> Result<()> {
        match &mut self.0 {
            Kind::Stream(stream) => stream.read(),
            Kind::Push(push) => push.read(),
        }
    }
}

//! Notifications: event streams (RFC 5277, RFC 8639), their log, and subscriptions with replay.
//!
//! A notification is sent with [`SessionDatastore::notify`](crate::SessionDatastore::notify): it is validated, stored in
//! the event log of the anchor ([`espalier_store::Tree::append_events`]), and then delivered to the receivers of all
//! processes that have the store open. [`SessionDatastore::subscribe`](crate::SessionDatastore::subscribe) begins a
//! [`Subscription`].
//!
//! | file | content |
//! |---|---|
//! | `stream.rs` | the event streams |
//! | `event.rs` | an event, with its encodings |
//! | `encoding.rs` | the encodings of an event |
//! | `new_event.rs` | validates a notification that is to be sent, and makes its record |
//! | `logged_event.rs` | from a record of the log to an event |
//! | `commit_event.rs` | from a commit to events |
//! | `session_event.rs` | the notifications of sessions and confirmed commits (RFC 6470) |
//! | `filter.rs`, `subtree_filter.rs` | filters on the content: XPath, and subtrees (RFC 6241 §6) |
//! | `context.rs` | what the delivery needs of the service |
//! | `group.rs` | the receivers with the same stream, filter and user, which share the decisions |
//! | `filter_in_force.rs` | which filter applies, when it was replaced meanwhile |
//! | `receiver.rs` | the bounded queue of one receiver |
//! | `hub.rs` | the receivers of an anchor; `follow.rs` feeds them |
//! | `replay.rs` | reads past events |
//! | `delivery.rs` | what a subscription delivers |
//! | `stream_subscription.rs` | a subscription to a stream: replay, then live events |
//! | `subscription.rs` | a subscription of either kind |
//! | `policy_nodes.rs` | the terms of a subscription in an operation or in the configuration |
//! | `position.rs` | a position in the events |
//! | `termination.rs` | why a subscription ends |
//! | `established/` | dynamic subscriptions (RFC 8639) |
//! | `configured/` | configured subscriptions (RFC 8639) |
//! | `push/` | subscriptions to datastores (RFC 8641) |
//! | `settings.rs` | changes of settings |
//! | `service_notifications.rs` | what the service has of this |
//!
//! The key decision: a sender only commits to the log. A thread of each process with receivers follows the log and fills
//! their queues, so a sender never waits for a receiver, and receivers in all processes get the same events. Commits are
//! not sent at all: their events are made from the history of the datastore when somebody receives them (decision 0073).

mod commit_event;
mod configured;
mod context;
mod delivery;
mod encoding;
mod established;
mod event;
mod filter;
mod filter_in_force;
mod follow;
mod group;
mod hub;
mod logged_event;
mod new_event;
mod policy_nodes;
mod position;
mod push;
mod receiver;
mod replay;
mod service_notifications;
mod session_event;
mod settings;
mod stream;
mod stream_subscription;
mod subscription;
mod termination;

pub use crate::time_text::{parse_time, time_text};
pub use commit_event::EVENT_CHANGES_MAX;
pub(crate) use configured::{
    ConfiguredFilter, ConfiguredSubscriptions, ConfiguredTarget, DatastoreTarget, Known, Opened,
    Opening, Problem, RECEIVERS, SubscriptionConfig, problem_of, read_configured,
};
pub(crate) use context::EventContext;
pub use delivery::{Delivery, Polled};
pub use encoding::{Encoding, completion};
pub use espalier_yang::data::subtree_filter::{SUBTREE_FILTER_DEPTH_MAX, SubtreeFilter};
pub use established::{
    ESTABLISHED_MAX, ESTABLISHED_OF_SUBSCRIBER_MAX, ESTABLISHED_OPEN_WAIT,
    MODIFICATIONS_WAITING_MAX, SubscriptionId,
};
pub(crate) use established::{
    End, Established, EstablishedSubscriptions, GivenFilter, NewEstablished, Place, Request,
    SUBSCRIBED, StreamFilter, StreamTarget, SubscriptionError, Target, Terms, named_filter,
    named_selection,
};
pub use event::{Event, EventSource};
pub use filter::{EventFilter, FILTER_STEPS_MAX};
pub use new_event::Notification;
pub(crate) use policy_nodes::PolicyNodes;
pub use position::{NotAPosition, Position};
pub(crate) use push::{PUSH, PushContents, PushSource, PushTarget, Renewed, Trigger, is_too_big};
pub use push::{PUSH_PERIOD_MIN, PUSH_UPDATE_NODES_MAX, PUSH_VERSIONS_MAX};
pub use receiver::{RECEIVER_BYTES_MAX, RECEIVER_EVENTS_MAX};
pub(crate) use service_notifications::ServiceNotifications;
pub use session_event::ConfirmEvent;
pub(crate) use settings::patched;
pub use stream::{COMMITS_STREAM, NETCONF_STREAM, Stream, StreamInfo};
pub use stream_subscription::SubscriptionOptions;
pub use subscription::Subscription;
pub use termination::Termination;

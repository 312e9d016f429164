//! Dynamic subscriptions (RFC 8639 §2.4): those that a session establishes with an operation. A receiver of a configured
//! subscription has the same record.
//!
//! | file | content |
//! |---|---|
//! | `terms.rs` | what is subscribed to, and the terms |
//! | `given_filter.rs` | a filter as it is given |
//! | `record.rs` | an established subscription |
//! | `registry.rs` | those of a service, with their limits |
//! | `named_filter.rs` | the filters in the configuration |
//! | `state_change.rs` | the notifications about a subscription |
//! | `error.rs` | the errors of the operations |

mod error;
mod given_filter;
mod named_filter;
mod record;
mod registry;
mod state_change;
mod terms;

pub(crate) use error::{Request, SubscriptionError};
pub(crate) use given_filter::GivenFilter;
pub(crate) use named_filter::{named_filter, named_selection};
pub use record::{ESTABLISHED_OPEN_WAIT, MODIFICATIONS_WAITING_MAX, SubscriptionId};
pub(crate) use record::{End, Established, NewEstablished, Place};
pub(crate) use registry::DYNAMIC_ID_MIN;
pub(crate) use registry::EstablishedSubscriptions;
pub use registry::{ESTABLISHED_MAX, ESTABLISHED_OF_SUBSCRIBER_MAX};
pub(super) use state_change::{StateChange, Suspension};
pub(in crate::notifications) use terms::add_stream;
pub(crate) use terms::{ConfiguredTerms, SUBSCRIBED, StreamFilter, StreamTarget, Target, Terms};

//! What is subscribed to, and the terms of a subscription.

use std::sync::Arc;

use espalier_store::{Result, Timestamp};

use super::super::filter::EventFilter;
use super::super::push::{PushTarget, Trigger};
use super::super::replay::Times;
use super::super::stream::Stream;
use super::given_filter::GivenFilter;
use crate::server_state::StateNodes;
use crate::time_text::time_text;

/// The module of the operations.
pub(crate) const SUBSCRIBED: &str = "ietf-subscribed-notifications";

/// The filter of a subscription.
#[derive(Clone, Debug)]
pub(crate) struct StreamFilter {
    pub given: GivenFilter,
    pub parsed: Arc<EventFilter>,
}

/// An event stream, as a target.
#[derive(Clone, Debug)]
pub(crate) struct StreamTarget {
    pub stream: Stream,
    pub filter: Option<StreamFilter>,
    /// Also past events, from this time on.
    pub start: Option<Timestamp>,
}

/// What is subscribed to.
#[derive(Clone, Debug)]
pub(crate) enum Target {
    Stream(StreamTarget),
    /// RFC 8641.
    Datastore(PushTarget),
}

/// The terms of a subscription. `target` and `stop` can be modified, except for the stream and the start.
#[derive(Clone, Debug)]
pub(crate) struct Terms {
    pub target: Target,
    pub stop: Option<Timestamp>,
    /// If it is a subscription of the configuration.
    pub configured: Option<ConfiguredTerms>,
}

/// The terms that only a subscription of the configuration has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ConfiguredTerms {
    pub transport: String,
    pub purpose: Option<String>,
    /// The time of the last event before the replay.
    pub previous: Option<Timestamp>,
}

impl ConfiguredTerms {
    /// Adds the leafs.
    pub fn add_to(&self, nodes: &mut StateNodes<'_>) {
        nodes.leaf("transport", &self.transport);
        if let Some(purpose) = &self.purpose {
            nodes.leaf("purpose", purpose);
        }
    }
}

impl Terms {
    /// The event stream, if one is subscribed to.
    pub(crate) fn stream(&self) -> Option<&StreamTarget> {
        match &self.target {
            Target::Stream(target) => Some(target),
            Target::Datastore(_) => None,
        }
    }

    /// Whether it is to the changes of a datastore.
    pub(crate) fn is_on_change(&self) -> bool {
        match &self.target {
            Target::Stream(_) => false,
            Target::Datastore(target) => matches!(target.trigger, Trigger::OnChange(_)),
        }
    }

    /// The times of the events.
    pub(in crate::notifications) fn times(&self) -> Times {
        Times {
            start: self.stream().and_then(|target| target.start),
            stop: self.stop,
        }
    }

    /// Rejects times that are not possible.
    ///
    /// # Errors
    /// `invalid-value`.
    pub fn check(&self, now: Timestamp) -> Result<()> {
        self.times().check(now)
    }

    /// Adds the leafs of `subscription-policy`.
    pub fn add_to(&self, nodes: &mut StateNodes<'_>) {
        if let Some(stop) = self.stop {
            nodes.leaf("stop-time", &time_text(stop));
        }
        let target = match &self.target {
            Target::Stream(target) => target,
            Target::Datastore(target) => return target.add_to(nodes),
        };
        let filter = target.filter.as_ref().map(|filter| &filter.given);
        add_stream(nodes, target.stream.name(), filter);
        if let Some(start) = target.start {
            nodes.leaf("replay-start-time", &time_text(start));
        }
    }
}

/// Adds the leafs of a stream and its filter.
pub(in crate::notifications) fn add_stream(
    nodes: &mut StateNodes<'_>,
    stream: &str,
    filter: Option<&GivenFilter>,
) {
    match filter {
        None => {}
        Some(GivenFilter::Name(name)) => {
            nodes.leaf("stream-filter-name", name);
        }
        Some(GivenFilter::XPath(text)) => {
            nodes.leaf("stream-xpath-filter", text);
        }
        Some(GivenFilter::Subtree(content)) => nodes.any("stream-subtree-filter", content),
    }
    nodes.leaf("stream", stream);
}

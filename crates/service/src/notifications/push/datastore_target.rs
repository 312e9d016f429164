//! The terms of a subscription to a datastore (RFC 8641 §3).

use std::sync::Arc;
use std::time::Duration;

use espalier_store::{Datastore, Timestamp};

use super::super::established::GivenFilter;
use super::change_type::ChangeType;
use super::source::PushSource;
use crate::server_state::StateNodes;
use crate::time_text::time_text;

/// The module of subscriptions to datastores.
pub(crate) const PUSH: &str = "ietf-yang-push";

/// The minimum period of periodic updates, in hundredths of a second.
pub const PUSH_PERIOD_MIN: u32 = 100;

/// The maximum number of nodes of a `push-update`.
pub const PUSH_UPDATE_NODES_MAX: usize = 250_000;

/// When there are updates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Trigger {
    /// All selected data is sent regularly. Times are in hundredths of a second.
    Periodic {
        period: u32,
        /// A time from which updates have a distance of a multiple of the period; without it, that of the first update.
        anchor: Option<Timestamp>,
    },
    /// Changes are sent.
    OnChange(OnChange),
}

/// Updates with changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OnChange {
    /// The minimum time between updates, in hundredths of a second.
    pub dampening: u32,
    /// Whether all selected data is sent first.
    pub syncs_on_start: bool,
    /// The kinds of changes that are not sent.
    pub excluded: Vec<ChangeType>,
}

impl OnChange {
    /// The minimum time between updates.
    pub fn dampening(&self) -> Duration {
        hundredths(self.dampening)
    }
}

/// A time in hundredths of a second.
pub(super) fn hundredths(count: u32) -> Duration {
    Duration::from_millis(u64::from(count) * 10)
}

/// A datastore as a target, with the trigger.
#[derive(Clone, Debug)]
pub(crate) struct PushTarget {
    pub datastore: Datastore,
    /// The filter as the subscriber gave it.
    pub filter: Option<GivenFilter>,
    pub source: Arc<dyn PushSource>,
    pub trigger: Trigger,
    /// The version of the datastore when the subscription was established.
    pub established_at: u64,
}

impl PushTarget {
    /// Adds the leafs of the target and the trigger.
    pub fn add_to(&self, nodes: &mut StateNodes<'_>) {
        add_target(nodes, self.datastore, self.filter.as_ref());
        self.trigger.add_to(nodes);
    }
}

/// Adds the leafs of a datastore and its filter.
pub(in crate::notifications) fn add_target(
    nodes: &mut StateNodes<'_>,
    datastore: Datastore,
    filter: Option<&GivenFilter>,
) {
    let name = format!("ietf-datastores:{}", datastore.name());
    nodes.leaf("ietf-yang-push:datastore", &name);
    match filter {
        None => {}
        Some(GivenFilter::Name(name)) => {
            nodes.leaf("ietf-yang-push:selection-filter-ref", name);
        }
        Some(GivenFilter::XPath(text)) => {
            nodes.leaf("ietf-yang-push:datastore-xpath-filter", text);
        }
        Some(GivenFilter::Subtree(content)) => {
            nodes.any("ietf-yang-push:datastore-subtree-filter", content);
        }
    }
}

impl Trigger {
    /// Whether the period is shorter than [`PUSH_PERIOD_MIN`].
    pub fn is_too_frequent(&self) -> bool {
        matches!(self, Self::Periodic { period, .. } if *period < PUSH_PERIOD_MIN)
    }

    /// Adds its leafs.
    pub fn add_to(&self, nodes: &mut StateNodes<'_>) {
        match self {
            Self::Periodic { period, anchor } => {
                nodes.inner("ietf-yang-push:periodic", |periodic| {
                    periodic.leaf("period", &period.to_string());
                    if let Some(anchor) = anchor {
                        periodic.leaf("anchor-time", &time_text(*anchor));
                    }
                });
            }
            Self::OnChange(trigger) => nodes.inner("ietf-yang-push:on-change", |on_change| {
                on_change.leaf("dampening-period", &trigger.dampening.to_string());
                on_change.leaf("sync-on-start", &trigger.syncs_on_start.to_string());
                let excluded = trigger.excluded.iter().map(|kind| kind.name());
                on_change.leaf_list("excluded-change", excluded);
            }),
        }
    }
}

//! The subscriptions in the configuration.

use std::collections::BTreeMap;

use espalier_store::{Datastore, Error, Result, Selection, Timestamp, Tree};
use espalier_yang::data::{DataNode, TreeBuilder};
use espalier_yang::{ErrorTag, InstancePath, Schema};

use super::super::established::{
    ConfiguredTerms, DYNAMIC_ID_MIN, GivenFilter, SUBSCRIBED, SubscriptionId, add_stream,
    named_filter, named_selection,
};
use super::super::policy_nodes::PolicyNodes;
use super::super::push::{Trigger, add_target};
use super::super::termination::Termination;
use crate::server_state::StateNodes;
use crate::time_text::time_text;

/// The module with the receivers.
pub(crate) const RECEIVERS: &str = "espalier-notification-receivers";

/// The maximum number of configured subscriptions. Those with higher numbers are invalid.
const CONFIGURED_MAX: usize = 1000;

/// The maximum number of nodes of the subscriptions in the configuration.
const CONFIGURED_NODES_MAX: usize = 200_000;

/// Why a subscription is invalid (RFC 8639 §2.5.1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Problem {
    pub message: String,
    /// The reason for its receivers.
    pub reason: Termination,
}

impl Problem {
    pub fn new(reason: Termination, message: impl Into<String>) -> Self {
        let message = message.into();
        Self { message, reason }
    }
}

/// A filter in the configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ConfiguredFilter {
    /// As it is given.
    pub given: GivenFilter,
    /// The same, or the filter with that name.
    pub content: GivenFilter,
}

/// What is subscribed to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ConfiguredTarget {
    Stream {
        name: String,
        filter: Option<ConfiguredFilter>,
        /// `configured-replay`.
        replays: bool,
    },
    Datastore(DatastoreTarget),
}

/// A datastore, as a target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DatastoreTarget {
    pub datastore: Datastore,
    pub filter: Option<ConfiguredFilter>,
    pub trigger: Trigger,
}

impl ConfiguredTarget {
    /// Whether it can be modified into another one; otherwise the subscription begins again.
    pub fn is_modifiable_to(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Stream { name, .. }, Self::Stream { name: other, .. }) => name == other,
            (Self::Datastore(one), Self::Datastore(other)) => one.datastore == other.datastore,
            _ => false,
        }
    }
}

/// A subscription in the configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SubscriptionConfig {
    pub target: std::result::Result<ConfiguredTarget, Problem>,
    pub stop: Option<Timestamp>,
    pub transport: String,
    pub purpose: Option<String>,
    /// The clients of the receivers, by their names.
    pub receivers: BTreeMap<String, String>,
}

impl SubscriptionConfig {
    /// The terms that only a configured subscription has.
    pub fn terms(&self, previous: Option<Timestamp>) -> ConfiguredTerms {
        ConfiguredTerms {
            transport: self.transport.clone(),
            purpose: self.purpose.clone(),
            previous,
        }
    }

    /// Whether the terms are the same, without the receivers.
    pub fn has_terms_of(&self, other: &Self) -> bool {
        let terms = |one: &Self| (one.target.clone(), one.stop, one.purpose.clone());
        terms(self) == terms(other)
    }

    /// Adds the leafs.
    pub fn add_to(&self, nodes: &mut StateNodes<'_>) {
        match &self.target {
            Ok(ConfiguredTarget::Stream {
                name,
                filter,
                replays,
            }) => {
                add_stream(nodes, name, filter.as_ref().map(|filter| &filter.given));
                if *replays {
                    nodes.leaf("configured-replay", "");
                }
            }
            Ok(ConfiguredTarget::Datastore(target)) => {
                let filter = target.filter.as_ref().map(|filter| &filter.given);
                add_target(nodes, target.datastore, filter);
                target.trigger.add_to(nodes);
            }
            Err(_) => {}
        }
        if let Some(stop) = self.stop {
            nodes.leaf("stop-time", &time_text(stop));
        }
        self.terms(None).add_to(nodes);
    }
}

/// Reads the subscriptions.
///
/// # Errors
/// Those of the engine; `too-big` beyond [`CONFIGURED_NODES_MAX`] nodes.
pub(crate) fn read_configured(
    configuration: &Tree,
) -> Result<BTreeMap<SubscriptionId, SubscriptionConfig>> {
    let schema = configuration.schema();
    let path = format!("/{SUBSCRIBED}:subscriptions");
    let Ok(path) = InstancePath::parse_cli_path(schema, &path) else {
        return Ok(BTreeMap::new());
    };
    let mut builder = TreeBuilder::with_limit(CONFIGURED_NODES_MAX);
    configuration
        .view()?
        .read(&path, &Selection::default(), &mut builder)?;
    let nodes = builder.finish()?.nodes;
    let entries = nodes.iter().flat_map(DataNode::children);
    let entries = entries.filter_map(|entry| {
        let entry = Entry::new(configuration, entry);
        let id = entry.nodes.text("id")?.parse().ok()?;
        Some(entry.config(id).map(|config| (SubscriptionId(id), config)))
    });
    let mut all = entries.collect::<Result<BTreeMap<_, _>>>()?;
    for config in all.values_mut().skip(CONFIGURED_MAX) {
        let message = format!("there are more than {CONFIGURED_MAX} (CONFIGURED_MAX)");
        config.target = Err(Problem::new(Termination::Killed, message));
    }
    Ok(all)
}

/// An entry of the list of subscriptions.
struct Entry<'a> {
    configuration: &'a Tree,
    nodes: PolicyNodes<'a>,
}

impl<'a> Entry<'a> {
    fn new(configuration: &'a Tree, entry: &'a DataNode) -> Self {
        let schema: &Schema = configuration.schema();
        let nodes = entry.children();
        Self {
            configuration,
            nodes: PolicyNodes { schema, nodes },
        }
    }

    fn config(&self, id: u32) -> Result<SubscriptionConfig> {
        let transport = self.nodes.text("transport").unwrap_or_default();
        let stop = self.nodes.time("stop-time");
        let target = if id >= DYNAMIC_ID_MIN {
            let message = format!("numbers from {DYNAMIC_ID_MIN} on are for dynamic subscriptions");
            Err(Problem::new(Termination::Killed, message))
        } else if transport != format!("{RECEIVERS}:netconf-call-home") {
            let message = format!("the transport “{transport}” is not supported");
            Err(Problem::new(Termination::Killed, message))
        } else if let Err(error) = &stop {
            Err(Problem::new(Termination::Killed, error.message.clone()))
        } else {
            self.target()?
        };
        Ok(SubscriptionConfig {
            target,
            stop: stop.unwrap_or_default(),
            transport,
            purpose: self.nodes.text("purpose"),
            receivers: self.receivers(),
        })
    }

    fn target(&self) -> Result<std::result::Result<ConfiguredTarget, Problem>> {
        if let Some(name) = self.nodes.text("stream") {
            let filter = self.filter(self.nodes.stream_filter(), named_filter)?;
            return Ok(filter.map(|filter| ConfiguredTarget::Stream {
                name,
                filter,
                replays: self.nodes.within("configured-replay").is_some(),
            }));
        }
        let unavailable = |message: &str| Problem::new(Termination::StreamUnavailable, message);
        let datastore = match self.nodes.datastore() {
            Ok(Some(datastore)) => datastore,
            Ok(None) => return Ok(Err(unavailable("there is no target"))),
            Err(identity) => {
                let message = format!("there are no subscriptions to the datastore {identity}");
                return Ok(Err(unavailable(&message)));
            }
        };
        let filter = self.filter(self.nodes.selection_filter(), named_selection)?;
        let trigger = match self.nodes.trigger(None) {
            Ok(Some(trigger)) => trigger,
            Ok(None) => return Ok(Err(unavailable("it is not “periodic” or “on-change”"))),
            Err(error) => return Ok(Err(unavailable(&error.message))),
        };
        Ok(filter.map(|filter| {
            ConfiguredTarget::Datastore(DatastoreTarget {
                datastore,
                filter,
                trigger,
            })
        }))
    }

    /// The filter with its content.
    fn filter(
        &self,
        given: Option<GivenFilter>,
        named: fn(&Tree, &str) -> Result<Option<GivenFilter>>,
    ) -> Result<std::result::Result<Option<ConfiguredFilter>, Problem>> {
        let Some(given) = given else {
            return Ok(Ok(None));
        };
        let content = match &given {
            GivenFilter::Name(name) => named(self.configuration, name)?,
            content => Some(content.clone()),
        };
        let missing = || Problem::new(Termination::FilterUnavailable, "the filter is empty");
        let filter = content.map(|content| ConfiguredFilter { given, content });
        Ok(filter.ok_or_else(missing).map(Some))
    }

    fn receivers(&self) -> BTreeMap<String, String> {
        let receivers = self.nodes.within("receivers");
        let entries = receivers.map_or(&[][..], |receivers| receivers.nodes);
        let receivers = entries.iter().filter_map(|entry| {
            let schema = self.nodes.schema;
            let nodes = entry.children();
            let receiver = PolicyNodes { schema, nodes };
            let client = receiver.text("call-home-client").unwrap_or_default();
            Some((receiver.text("name")?, client))
        });
        receivers.collect()
    }
}

/// The error of a target as a problem; `Err` if it is one of the engine.
pub(crate) fn problem_of(error: Error) -> Result<Problem> {
    match error {
        Error::Data(errors) if !errors.iter().any(|error| error.tag == ErrorTag::InUse) => Ok(
            Problem::new(Termination::FilterUnavailable, errors.to_string()),
        ),
        error => Err(error),
    }
}

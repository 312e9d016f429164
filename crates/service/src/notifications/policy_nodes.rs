//! The terms of a subscription as nodes: in the input of an operation, or in an entry of the configuration.

use espalier_store::{Datastore, Timestamp};
use espalier_yang::data::{Content, DataNode};
use espalier_yang::{DataError, ErrorTag, ErrorType, Schema};

use super::established::GivenFilter;
use super::push::{ChangeType, OnChange, Trigger};
use crate::time_text::parse_time;

/// The nodes of `subscription-policy` (RFC 8639 §4, RFC 8641 §5).
#[derive(Clone, Copy)]
pub(crate) struct PolicyNodes<'a> {
    pub schema: &'a Schema,
    pub nodes: &'a [DataNode],
}

impl<'a> PolicyNodes<'a> {
    /// The name and the content of each node.
    fn named(self) -> impl Iterator<Item = (&'a str, &'a DataNode)> {
        let name = move |node: &'a DataNode| &*self.schema.node(node.node).name;
        self.nodes.iter().map(move |node| (name(node), node))
    }

    fn texts(self, name: &'a str) -> impl Iterator<Item = String> + 'a {
        let leaves = self.named().filter(move |(found, _)| *found == name);
        leaves.filter_map(|(_, leaf)| Some(leaf.value()?.to_string()))
    }

    /// The nodes in a container; `None` if it does not exist.
    pub fn within(self, name: &str) -> Option<Self> {
        let mut named = self.named();
        let (_, node) = named.find(|(found, _)| *found == name)?;
        let schema = self.schema;
        let nodes = node.children();
        Some(Self { schema, nodes })
    }

    /// A leaf as text.
    pub fn text(self, name: &str) -> Option<String> {
        let mut named = self.named();
        let (_, leaf) = named.find(|(found, _)| *found == name)?;
        leaf.value().map(ToString::to_string)
    }

    /// A leaf with a time. Those before 1970 cannot be represented.
    ///
    /// # Errors
    /// `invalid-value`.
    pub fn time(self, name: &str) -> Result<Option<Timestamp>, DataError> {
        let Some(text) = self.text(name) else {
            return Ok(None);
        };
        parse_time(&text).map(Some).ok_or_else(|| {
            let message = format!("“{text}” is not a time from 1970 to 9999");
            let error = DataError::new(ErrorTag::InvalidValue, message);
            error.of_type(ErrorType::Protocol).on_element(name)
        })
    }

    /// The filter of an event stream.
    pub fn stream_filter(self) -> Option<GivenFilter> {
        self.filter([
            "stream-filter-name",
            "stream-xpath-filter",
            "stream-subtree-filter",
        ])
    }

    /// The filter of a datastore.
    pub fn selection_filter(self) -> Option<GivenFilter> {
        self.filter([
            "selection-filter-ref",
            "datastore-xpath-filter",
            "datastore-subtree-filter",
        ])
    }

    fn filter(self, [by_name, xpath, subtree]: [&str; 3]) -> Option<GivenFilter> {
        self.named().find_map(|(name, node)| match &node.content {
            Content::Value(value) if name == by_name => Some(GivenFilter::Name(value.to_string())),
            Content::Value(value) if name == xpath => Some(GivenFilter::XPath(value.to_string())),
            Content::Any(content) if name == subtree => {
                Some(GivenFilter::Subtree(content.to_string()))
            }
            _ => None,
        })
    }

    /// The datastore.
    ///
    /// # Errors
    /// The identity of another one, as it is given.
    pub fn datastore(self) -> Result<Option<Datastore>, String> {
        let Some(identity) = self.text("datastore") else {
            return Ok(None);
        };
        let name = identity.rsplit(':').next().unwrap_or_default();
        Datastore::named(name).map(Some).ok_or(identity)
    }

    /// The trigger. A modification cannot change what is not in `update-policy-modifiable`.
    ///
    /// # Errors
    /// `invalid-value`.
    pub fn trigger(self, before: Option<&Trigger>) -> Result<Option<Trigger>, DataError> {
        if let Some(periodic) = self.within("periodic") {
            return Ok(Some(Trigger::Periodic {
                period: periodic.number("period"),
                anchor: periodic.time("anchor-time")?,
            }));
        }
        let on_change = self.within("on-change");
        Ok(on_change.map(|on_change| on_change.on_change(before)))
    }

    fn number(self, name: &str) -> u32 {
        let number = self.text(name).and_then(|text| text.parse().ok());
        number.unwrap_or_default()
    }

    fn on_change(self, before: Option<&Trigger>) -> Trigger {
        let dampening = self.number("dampening-period");
        Trigger::OnChange(match before {
            Some(Trigger::OnChange(before)) => OnChange {
                dampening,
                ..before.clone()
            },
            _ => OnChange {
                dampening,
                syncs_on_start: self.texts("sync-on-start").all(|text| text == "true"),
                excluded: self
                    .texts("excluded-change")
                    .filter_map(|name| ChangeType::named(&name))
                    .collect(),
            },
        })
    }
}

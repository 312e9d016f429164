//! Filters on the content of events.

use std::fmt;

use espalier_yang::data::subtree_filter::SubtreeFilter;
use espalier_yang::data::{TreeInstances, xml};
use espalier_yang::xpath::Expression;
use espalier_yang::xpath::evaluate::{Evaluator, Item, Limits, Scope};
use espalier_yang::{DataError, ErrorTag, Instances, Schema};

use super::established::GivenFilter;
use super::event::Event;

/// The maximum number of nodes that a filter may visit for one event. An event that needs more is not delivered.
pub const FILTER_STEPS_MAX: u64 = 100_000;

/// A filter: an event that does not match is not delivered.
#[derive(Clone, Debug, PartialEq)]
pub enum EventFilter {
    /// An expression, evaluated at the root of the event: true, or a node-set that is not empty. It selects from the nodes
    /// of the event record only: no defaults, and no empty containers of the models (RFC 8639 §2.2).
    XPath(Expression),
    /// A subtree filter: it selects something.
    Subtree(SubtreeFilter),
}

impl EventFilter {
    /// Parses the content of a filter. Names of modules are those of the schemas: of the anchor, and of the notifications of
    /// the server.
    ///
    /// # Errors
    /// Those of its kind; `invalid-value` for a name.
    pub(crate) fn of(given: &GivenFilter, schemas: &[&Schema]) -> Result<Self, DataError> {
        match given {
            GivenFilter::XPath(text) => Self::parse_xpath(text),
            GivenFilter::Subtree(content) => Self::parse_subtree(schemas, content),
            GivenFilter::Name(name) => {
                let message = format!("there is no usable filter “{name}”");
                Err(DataError::new(ErrorTag::InvalidValue, message))
            }
        }
    }

    /// Parses an XPath filter. Prefixes are names of modules; a name without a prefix is that of any module (RFC 8040
    /// §4.8.4).
    ///
    /// # Errors
    /// `invalid-value`.
    pub fn parse_xpath(text: &str) -> Result<Self, DataError> {
        Self::parse_xpath_with(text, &|prefix| prefix.map(Into::into))
    }

    /// As [`Self::parse_xpath`]; `module` returns the module of a prefix.
    ///
    /// # Errors
    /// `invalid-value`.
    pub fn parse_xpath_with(
        text: &str,
        module: &dyn Fn(Option<&str>) -> Option<Box<str>>,
    ) -> Result<Self, DataError> {
        let parsed = Expression::parse(text, module);
        parsed.map(Self::XPath).map_err(|error| {
            let message = format!("the filter is no XPath expression: {error}");
            DataError::new(ErrorTag::InvalidValue, message)
        })
    }

    /// Parses a subtree filter that is the content of an `anydata`. Names of modules are those of the schemas: of the anchor,
    /// and of the notifications of the server.
    ///
    /// # Errors
    /// As [`SubtreeFilter::parse_xml`] and [`SubtreeFilter::parse_json`].
    pub fn parse_subtree(schemas: &[&Schema], content: &str) -> Result<Self, DataError> {
        let filter = match xml::raw_xml(content) {
            Some(text) => SubtreeFilter::parse_xml(&text),
            None => SubtreeFilter::parse_json(schemas, content),
        };
        filter.map(Self::Subtree)
    }

    /// Parses a subtree filter that is the content of an element in XML.
    ///
    /// # Errors
    /// As [`SubtreeFilter::parse_element`].
    pub fn parse_subtree_element(text: &str) -> Result<Self, DataError> {
        SubtreeFilter::parse_element(text).map(Self::Subtree)
    }

    /// Whether an event matches.
    pub fn matches(&self, event: &Event) -> bool {
        match self {
            Self::Subtree(filter) => filter.matches(event.schema(), event.tree()),
            Self::XPath(expression) => {
                let instances = TreeInstances::new(event.schema(), event.tree());
                let limits = Limits {
                    steps_max: FILTER_STEPS_MAX,
                    ..Limits::default()
                };
                let root = Item::Inner(instances.root());
                let evaluator = Evaluator::new(&instances, limits).within(Scope::Stored);
                evaluator.test(expression, &root).unwrap_or_else(|error| {
                    tracing::debug!(%error, filter = %expression.text, "a filter has no value");
                    false
                })
            }
        }
    }
}

impl fmt::Display for EventFilter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::XPath(expression) => f.write_str(&expression.text),
            Self::Subtree(_) => f.write_str("a subtree filter"),
        }
    }
}

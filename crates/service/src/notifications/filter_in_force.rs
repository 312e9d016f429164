//! Which filter of a subscription applies to an event, when the filter was replaced meanwhile.

use std::sync::Arc;

use super::event::Event;
use super::filter::EventFilter;
use super::position::Position;

/// The filter of a subscription. If it was replaced, the earlier one still applies to the events before the replacement,
/// which the receiver may read later.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct FilterInForce {
    newest: Option<Arc<EventFilter>>,
    /// In the order of their replacements.
    replaced: Vec<ReplacedFilter>,
}

/// A filter that was replaced.
#[derive(Clone, Debug, PartialEq)]
struct ReplacedFilter {
    filter: Option<Arc<EventFilter>>,
    /// The first event to which it does not apply.
    until: Position,
}

impl FilterInForce {
    /// One that was not replaced.
    pub fn new(filter: Option<Arc<EventFilter>>) -> Self {
        Self {
            newest: filter,
            replaced: Vec::new(),
        }
    }

    /// Replaces the filter for the events from a position on.
    pub fn replace(&mut self, filter: Option<Arc<EventFilter>>, from: Position) {
        let filter = std::mem::replace(&mut self.newest, filter);
        self.replaced.push(ReplacedFilter {
            filter,
            until: from,
        });
    }

    /// Whether an event is selected.
    pub fn matches(&self, event: &Event) -> bool {
        let mut replaced = self.replaced.iter();
        let earlier = replaced.find(|one| !one.until.is_before(event));
        let filter = earlier.map_or(&self.newest, |one| &one.filter);
        filter.as_ref().is_none_or(|filter| filter.matches(event))
    }

    /// The number of filters that were replaced and are kept.
    pub fn replaced(&self) -> usize {
        self.replaced.len()
    }

    /// The first event after one of the last replacements, the `number`th from the end; `None` if no event before it can
    /// be read any more.
    pub fn replacement(&self, number: usize) -> Option<Position> {
        let place = self.replaced.len().checked_sub(number)?;
        self.replaced.get(place).map(|one| one.until)
    }

    /// Forgets the filters that apply only to events before a position, which were read.
    pub fn forget_before(&mut self, position: Position) {
        self.replaced.retain(|one| !one.until.is_reached(position));
    }
}

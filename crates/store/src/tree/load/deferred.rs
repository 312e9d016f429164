//! Events that are deferred until the keys of their list entry are complete.

use espalier_yang::{NodeId, Value};

/// Maximum size of deferred events. A list entry with more content before its keys is rejected; put the
/// keys first.
pub(super) const DEFERRED_BYTES_MAX: usize = 64 << 20;

/// Approximate size of a deferred event without its text.
const EVENT_BYTES: usize = 48;

/// A deferred event.
pub(super) enum DeferredEvent {
    Open(NodeId),
    Leaf(NodeId, Value),
    Any(NodeId, Box<str>),
    Close,
}

/// The deferred events of the innermost frame.
#[derive(Default)]
pub(super) struct DeferredEvents {
    pub events: Vec<DeferredEvent>,
    /// The number of open nodes among the deferred events.
    pub depth: usize,
    bytes: usize,
}

impl DeferredEvents {
    /// Defers an event; false if the limit is exceeded.
    pub fn push(&mut self, event: DeferredEvent) -> bool {
        self.bytes += EVENT_BYTES
            + match &event {
                DeferredEvent::Leaf(_, value) => value.as_bytes().map_or(0, <[u8]>::len),
                DeferredEvent::Any(_, json) => json.len(),
                DeferredEvent::Open(_) | DeferredEvent::Close => 0,
            };
        match event {
            DeferredEvent::Open(_) => self.depth += 1,
            DeferredEvent::Close => self.depth -= 1,
            _ => {}
        }
        self.events.push(event);
        self.bytes <= DEFERRED_BYTES_MAX
    }
}

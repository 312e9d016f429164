//! Events that are deferred until the keys of their list entry are complete.

use espalier_yang::{NodeId, Value};

/// Maximum size of deferred events. A list entry with more content before its keys is rejected; put the
/// keys first.
pub(super) const HELD_BYTES_MAX: usize = 64 << 20;

/// Approximate size of a deferred event without its text.
const EVENT_BYTES: usize = 48;

/// A deferred event.
pub(super) enum Held {
    Open(NodeId),
    Leaf(NodeId, Value),
    Any(NodeId, Box<str>),
    Close,
}

/// The deferred events of the innermost frame.
#[derive(Default)]
pub(super) struct Holding {
    pub events: Vec<Held>,
    /// The number of open nodes among the deferred events.
    pub depth: usize,
    bytes: usize,
}

impl Holding {
    /// Defers an event; false if the limit is exceeded.
    pub fn push(&mut self, event: Held) -> bool {
        self.bytes += EVENT_BYTES
            + match &event {
                Held::Leaf(_, value) => value.as_bytes().map_or(0, <[u8]>::len),
                Held::Any(_, json) => json.len(),
                Held::Open(_) | Held::Close => 0,
            };
        match event {
            Held::Open(_) => self.depth += 1,
            Held::Close => self.depth -= 1,
            _ => {}
        }
        self.events.push(event);
        self.bytes <= HELD_BYTES_MAX
    }
}

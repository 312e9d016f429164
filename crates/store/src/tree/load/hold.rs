//! Events held back until the keys of the list entry around them are known.

use espalier_yang::{NodeId, Value};

/// Bytes held back at the most. A list entry with more content before its keys is refused; put the
/// keys first.
pub(super) const HELD_BYTES_MAX: usize = 64 << 20;

/// Roughly what one held event takes beside its text.
const EVENT_BYTES: usize = 48;

/// An event held back.
pub(super) enum Held {
    Open(NodeId),
    Leaf(NodeId, Value),
    Any(NodeId, Box<str>),
    Close,
}

/// The events held back for the innermost frame.
#[derive(Default)]
pub(super) struct Holding {
    pub events: Vec<Held>,
    /// How many held nodes are open.
    pub depth: usize,
    bytes: usize,
}

impl Holding {
    /// Holds an event back; false where that is too much.
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

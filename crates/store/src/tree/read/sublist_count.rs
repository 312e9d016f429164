//! Counts the entries that are sent of a list.

use espalier_yang::NodeId;

/// The number of entries sent of one list of an instance; the entries of a list are contiguous.
#[derive(Default)]
pub(super) struct SublistCount {
    list: Option<NodeId>,
    sent: u64,
}

impl SublistCount {
    /// The number of entries sent of a list.
    pub fn of(&self, list: NodeId) -> u64 {
        match self.list == Some(list) {
            true => self.sent,
            false => 0,
        }
    }

    /// Counts an entry of a list.
    pub fn add(&mut self, list: NodeId) {
        self.sent = self.of(list) + 1;
        self.list = Some(list);
    }
}

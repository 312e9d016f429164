//! The state of a filter during a read.

use espalier_yang::schema::Node;

use super::super::filter::{Plan, PlanId};
use super::node_access::NodeAccess;

/// The plan of a read, and what it selects of the datastore.
pub(super) struct FilterRead<'a> {
    pub plan: &'a Plan,
    pub root: FrameFilter,
    /// Whether the whole datastore is selected.
    pub is_whole: bool,
}

/// The part of a filter below one instance.
#[derive(Default)]
pub(super) struct FrameFilter {
    /// The plan nodes that the instance fulfils.
    pub active: Vec<PlanId>,
    /// The tree keys that they select below it, sorted.
    pub candidates: Vec<(Vec<u8>, PlanId)>,
}

/// A child of the innermost frame.
pub(super) struct Child<'c> {
    pub node: &'c Node,
    /// Its tree key.
    pub key: &'c [u8],
    /// The length of the key of its whole list.
    pub list: usize,
    /// Its stored leaves.
    pub row: Option<&'c [u8]>,
    pub access: NodeAccess,
}

/// What a filter selects of a child.
#[derive(Default)]
pub(super) struct Matched {
    /// Whether the child is selected with everything below it.
    pub is_selected: bool,
    /// The plan nodes that it fulfils.
    pub active: Vec<PlanId>,
}

/// Whether a child is entered.
pub(super) enum Match {
    Enter(Matched),
    /// Nothing of it is selected.
    Skip(Skip),
}

/// Where a scan continues after a key that is not selected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Skip {
    /// After the subtree whose key has this length.
    Subtree(usize),
    /// At the next selected key.
    To(Vec<u8>),
}

impl FrameFilter {
    /// The first selected key after another, which is not selected itself.
    pub fn next(&self, key: &[u8]) -> Option<&Vec<u8>> {
        let next = self
            .candidates
            .partition_point(|(other, _)| other.as_slice() <= key);
        self.candidates.get(next).map(|(key, _)| key)
    }

    /// The plan nodes of one key.
    pub fn at(&self, key: &[u8]) -> impl Iterator<Item = PlanId> + '_ {
        let first = self
            .candidates
            .partition_point(|(other, _)| other.as_slice() < key);
        let same = self.candidates[first..]
            .iter()
            .take_while(move |(other, _)| other.len() == self.candidates[first].0.len())
            .take_while(move |(other, _)| *other == self.candidates[first].0);
        let is_there = self
            .candidates
            .get(first)
            .is_some_and(|(other, _)| other.as_slice() == key);
        same.filter(move |_| is_there).map(|(_, id)| *id)
    }
}

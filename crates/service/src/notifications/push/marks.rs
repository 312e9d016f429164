//! The bounded queue of the versions that concern a subscription.

use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::Mutex;

use super::super::established::Established;
use super::super::termination::Termination;

/// The maximum number of commits that wait for the receiver of an on-change subscription. When there are more, the
/// subscription is suspended, and resumed with all selected data.
pub const PUSH_VERSIONS_MAX: usize = 1024;

/// The versions of a datastore whose changes can concern a subscription, and that its receiver has not read.
pub(in crate::notifications) struct Marks {
    state: Mutex<State>,
    established: Arc<Established>,
}

#[derive(Default)]
struct State {
    versions: VecDeque<u64>,
    /// Whether versions were dropped.
    is_lost: bool,
    ended: Option<Termination>,
}

impl Marks {
    /// Without versions.
    pub fn new(established: Arc<Established>) -> Self {
        Self {
            state: Mutex::default(),
            established,
        }
    }

    /// Adds a version.
    pub fn mark(&self, version: u64) {
        {
            let mut state = self.state.lock();
            if state.is_lost {
                return;
            }
            state.versions.push_back(version);
            if state.versions.len() > PUSH_VERSIONS_MAX {
                self.drop_all(&mut state);
            }
        }
        self.established.receiver.interrupt();
    }

    /// Drops all versions: the receiver needs all selected data.
    pub fn lose(&self) {
        self.drop_all(&mut self.state.lock());
        self.established.receiver.interrupt();
    }

    fn drop_all(&self, state: &mut State) {
        state.versions.clear();
        state.is_lost = true;
        self.established.set_suspended(true);
    }

    /// Ends the subscription.
    pub fn end(&self, reason: Termination) {
        self.state.lock().ended.get_or_insert(reason);
        self.established.receiver.interrupt();
    }

    /// Why the subscription ends, if it does.
    pub fn ended(&self) -> Option<Termination> {
        self.state.lock().ended
    }

    /// Whether there is something to read.
    pub fn has_any(&self) -> bool {
        let state = self.state.lock();
        state.is_lost || !state.versions.is_empty()
    }

    /// Whether versions were dropped since the last call.
    pub fn take_lost(&self) -> bool {
        std::mem::take(&mut self.state.lock().is_lost)
    }

    /// Removes the oldest version.
    pub fn take_first(&self) -> Option<u64> {
        self.state.lock().versions.pop_front()
    }

    /// Removes all versions, and returns the newest.
    pub fn take_all(&self) -> Option<u64> {
        let mut state = self.state.lock();
        let newest = state.versions.pop_back();
        state.versions.clear();
        newest
    }

    /// Removes the versions up to one that was read.
    pub fn forget(&self, read: u64) {
        self.state.lock().versions.retain(|&version| version > read);
    }
}

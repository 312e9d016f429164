//! Commits of this process on their way into the view.

use std::collections::BTreeMap;

use espalier_keyspace::{Step, Version};

use super::keeper::{Keeper, Took};

/// Commits that wait for those before them at most.
const WAITING_MAX: usize = 64;

/// Bytes of one that waits at most; larger ones are told by the engine.
const WAITING_BYTES_MAX: usize = 64 << 10;

/// Commits that came before those that they come after: threads whose commits follow each other bring
/// them in any order.
#[derive(Default)]
pub(super) struct Steps {
    /// By the version that they come after.
    waiting: BTreeMap<Version, (Version, Step)>,
}

impl Steps {
    /// Takes in a commit, and what waited for it; returns whether the view has moved on.
    pub(super) fn take(&mut self, keeper: &impl Keeper, version: Version, step: &Step) -> bool {
        let took = keeper.take_step(version, step);
        let has_room = self.waiting.len() < WAITING_MAX && step.batch.bytes() <= WAITING_BYTES_MAX;
        match took {
            Took::Step => self.go_on(keeper),
            Took::Early if has_room => {
                self.waiting.insert(step.from, (version, step.clone()));
            }
            Took::Early | Took::Nothing => {}
        }
        took == Took::Step
    }

    /// Takes in what waited for the version that the view has now.
    pub(super) fn go_on(&mut self, keeper: &impl Keeper) {
        while let Some(first) = self.waiting.first_entry()
            && *first.key() <= keeper.version()
        {
            let (version, step) = first.remove();
            keeper.take_step(version, &step);
        }
    }
}

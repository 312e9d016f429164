//! Commits of this process that are not in the view yet.

use std::collections::BTreeMap;

use espalier_keyspace::{Step, Version};

use super::policy_driver::{PolicyCache, StepResult};

/// Maximum number of waiting commits.
const WAITING_STEPS_MAX: usize = 64;

/// Maximum bytes of a waiting commit; larger ones come through the engine's watch.
const WAITING_BYTES_MAX: usize = 64 << 10;

/// Commits that arrived before their predecessors: concurrent threads deliver them in any order.
#[derive(Default)]
pub(super) struct PendingSteps {
    /// By the version that they follow.
    waiting: BTreeMap<Version, (Version, Step)>,
}

impl PendingSteps {
    /// Applies a commit and those that waited for it; returns whether the view has changed.
    pub(super) fn apply(
        &mut self,
        cache: &impl PolicyCache,
        version: Version,
        step: &Step,
    ) -> bool {
        let result = cache.apply_step(version, step);
        let has_room =
            self.waiting.len() < WAITING_STEPS_MAX && step.batch.bytes() <= WAITING_BYTES_MAX;
        match result {
            StepResult::Applied => self.apply_waiting(cache),
            StepResult::Early if has_room => {
                self.waiting.insert(step.from, (version, step.clone()));
            }
            StepResult::Early | StepResult::Skipped => {}
        }
        result == StepResult::Applied
    }

    /// Applies the commits that waited for the view's current version.
    pub(super) fn apply_waiting(&mut self, cache: &impl PolicyCache) {
        while let Some(first) = self.waiting.first_entry()
            && *first.key() <= cache.version()
        {
            let (version, step) = first.remove();
            cache.apply_step(version, &step);
        }
    }
}

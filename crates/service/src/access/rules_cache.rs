//! The rules in force: read from the datastore that has them, compiled once for each schema.

use std::sync::Arc;
use std::time::Duration;

use espalier_store::{Result, Stamp, Tree};
use espalier_yang::Schema;
use parking_lot::Mutex;

use super::nacm::NacmConfig;
use super::policy::AccessPolicy;

/// After this time, a change of the rules by another process applies. A change by this process applies at once
/// ([`RulesCache::invalidate_after_change_of`]).
pub const RULES_DELAY_MAX: Duration = Duration::from_secs(1);

/// The maximum number of schemas for which policies are kept.
pub const POLICIES_MAX: usize = 256;

/// The rules of a server: those of one running datastore, for the schemas of all.
pub struct RulesCache {
    /// The datastore with the rules.
    rules: Tree,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The time of the last check, on the monotonic clock of the store; `None` to check again.
    checked: Option<Duration>,
    /// The last change of the rules when they were read.
    stamp: Option<Stamp>,
    /// `None` if the datastore has no rules: everything is permitted.
    config: Option<NacmConfig>,
    policies: Vec<Arc<AccessPolicy>>,
}

impl RulesCache {
    /// The rules of a running datastore.
    pub fn new(rules: Tree) -> Self {
        Self {
            rules,
            state: Mutex::default(),
        }
    }

    /// Called after a change of a datastore: if its anchor has the rules, they are read again at the next request.
    pub fn invalidate_after_change_of(&self, changed: &Tree) {
        if changed.has_same_anchor(&self.rules) {
            self.state.lock().checked = None;
        }
    }

    /// The policy for a schema; `None` if the models of the server have no access control.
    ///
    /// # Errors
    /// Those of reading the rules.
    pub fn policy(&self, schema: &Arc<Schema>) -> Result<Option<Arc<AccessPolicy>>> {
        let now = self.rules.store().clock().monotonic();
        let mut state = self.state.lock();
        let is_recent = |checked: Duration| now.saturating_sub(checked) < RULES_DELAY_MAX;
        if !state.checked.is_some_and(is_recent) {
            state.refresh(&self.rules)?;
            state.checked = Some(now);
        }
        let Some(config) = &state.config else {
            return Ok(None);
        };
        let known = state.policies.iter();
        let known = known
            .rev()
            .find(|policy| Arc::ptr_eq(policy.schema(), schema));
        if let Some(policy) = known {
            return Ok(Some(Arc::clone(policy)));
        }
        let policy = Arc::new(AccessPolicy::new(Arc::clone(schema), config.clone()));
        for problem in policy.problems() {
            tracing::warn!(
                rule_list = problem.rule_list,
                rule = problem.rule,
                cause = %problem.cause,
                "the path of an access rule has no meaning for the models, so the rule matches nothing"
            );
        }
        if state.policies.len() >= POLICIES_MAX {
            state.policies.remove(0);
        }
        state.policies.push(Arc::clone(&policy));
        Ok(Some(policy))
    }
}

impl State {
    /// Reads the rules if they changed.
    fn refresh(&mut self, rules: &Tree) -> Result<()> {
        let view = rules.view()?;
        let Some(path) = NacmConfig::path(view.schema()) else {
            *self = Self::default();
            return Ok(());
        };
        let stamp = view.stamp(&path)?;
        if self.stamp == Some(stamp) && self.config.is_some() {
            return Ok(());
        }
        self.config = NacmConfig::read(&view)?;
        self.stamp = Some(stamp);
        self.policies.clear();
        Ok(())
    }
}

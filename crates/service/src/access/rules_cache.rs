//! The rules in force: read from the datastore that has them, compiled once for each schema.

use std::sync::Arc;
use std::time::Duration;

use espalier_store::{Result, Stamp, Tree};
use espalier_yang::Schema;
use parking_lot::{Mutex, MutexGuard};
use rustc_hash::FxHashMap;

use super::nacm::{MODULE, NacmConfig, RuleScope};
use super::policy::AccessPolicy;
use crate::configuration::ConfigurationTrees;

/// After this time, a change of the rules by another process applies. A change by this process applies at once
/// ([`RulesCache::invalidate_after_change_of`]).
pub const RULES_DELAY_MAX: Duration = Duration::from_secs(1);

/// The maximum number of policies that are kept: one for each schema, and for the anchors to which the same rules apply.
pub const POLICIES_MAX: usize = 256;

/// The maximum number of anchors for which it is kept which rules apply to them.
const ANCHORS_MAX: usize = 100_000;

/// The rules of a server: those of one running datastore, for the schemas of all.
pub struct RulesCache {
    trees: Arc<ConfigurationTrees>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The time of the last check, on the monotonic clock of the store; `None` to check again.
    checked: Option<Duration>,
    /// The datastore with the rules, and their last change when they were read.
    source: Option<(Tree, Stamp)>,
    /// Without a datastore for rules, the defaults of the module: users read everything and change nothing.
    config: Arc<NacmConfig>,
    /// The different scopes of the rules.
    scopes: Vec<RuleScope>,
    /// By the number of an anchor: which of the scopes contain it.
    anchors: FxHashMap<u64, Arc<[bool]>>,
    policies: Vec<ScopedPolicy>,
}

/// A policy for the anchors in the same scopes.
struct ScopedPolicy {
    in_scope: Arc<[bool]>,
    policy: Arc<AccessPolicy>,
}

impl RulesCache {
    /// The rules of one of these datastores.
    pub fn new(trees: Arc<ConfigurationTrees>) -> Self {
        Self {
            trees,
            state: Mutex::default(),
        }
    }

    /// Called after a change of a datastore: if its anchor has the rules, they are read again at the next request.
    pub fn invalidate_after_change_of(&self, changed: &Tree) {
        let mut state = self.state.lock();
        let source = state.source.as_ref();
        if source.is_none_or(|(rules, _)| changed.has_same_anchor(rules)) {
            state.checked = None;
        }
    }

    /// The groups and the rules of all data trees.
    ///
    /// # Errors
    /// Those of reading them.
    pub fn config(&self) -> Result<Arc<NacmConfig>> {
        Ok(Arc::clone(&self.current()?.config))
    }

    /// The policy for the anchor of a datastore and one of its schemas, which may be that of an earlier version.
    ///
    /// # Errors
    /// Those of reading the rules.
    pub fn policy(&self, tree: &Tree, schema: &Arc<Schema>) -> Result<Arc<AccessPolicy>> {
        let mut state = self.current()?;
        let in_scope = state.scopes_of(tree)?;
        let known = state.policies.iter();
        let known = known
            .rev()
            .find(|known| Arc::ptr_eq(known.policy.schema(), schema) && known.in_scope == in_scope);
        if let Some(known) = known {
            return Ok(Arc::clone(&known.policy));
        }
        let scopes = state.scopes.iter().zip(&*in_scope);
        let excluded: Vec<&RuleScope> = scopes
            .filter(|(_, is_in)| !**is_in)
            .map(|(scope, _)| scope)
            .collect();
        let config = state.config.without_rules_for(&excluded);
        let policy = Arc::new(AccessPolicy::new(Arc::clone(schema), config));
        log_problems(&policy);
        if state.policies.len() >= POLICIES_MAX {
            state.policies.remove(0);
        }
        state.policies.push(ScopedPolicy {
            in_scope,
            policy: Arc::clone(&policy),
        });
        Ok(policy)
    }

    /// The rules, read again if they may have changed.
    fn current(&self) -> Result<MutexGuard<'_, State>> {
        let now = self.trees.store().clock().monotonic();
        let mut state = self.state.lock();
        let is_recent = |checked: Duration| now.saturating_sub(checked) < RULES_DELAY_MAX;
        if !state.checked.is_some_and(is_recent) {
            state.refresh(&self.trees)?;
            state.checked = Some(now);
        }
        Ok(state)
    }
}

/// Logs which rules match nothing. A rule whose path is of the models of another anchor is as intended.
fn log_problems(policy: &AccessPolicy) {
    let problems = policy.problems();
    for problem in &problems {
        tracing::debug!(
            rule_list = problem.rule_list,
            rule = problem.rule,
            cause = %problem.cause,
            "an access rule matches nothing"
        );
    }
    let mut wrong = problems
        .iter()
        .filter(|problem| !problem.cause.is_of_other_models);
    if let Some(first) = wrong.next() {
        tracing::warn!(
            rule_list = first.rule_list,
            rule = first.rule,
            cause = %first.cause,
            others = wrong.count(),
            "the path of an access rule has no meaning for the models, so the rule matches nothing"
        );
    }
}

impl State {
    /// Reads the rules if they changed.
    fn refresh(&mut self, trees: &ConfigurationTrees) -> Result<()> {
        let Some(rules) = trees.with_module(MODULE)? else {
            *self = Self::default();
            return Ok(());
        };
        let view = rules.view()?;
        let Some(path) = NacmConfig::path(view.schema()) else {
            *self = Self::default();
            return Ok(());
        };
        let stamp = view.stamp(&path)?;
        let is_known = self
            .source
            .as_ref()
            .is_some_and(|(known, at)| known.has_same_anchor(&rules) && *at == stamp);
        if is_known {
            return Ok(());
        }
        let config = NacmConfig::read(&view)?.unwrap_or_default();
        *self = Self {
            scopes: config.scopes(),
            config: Arc::new(config),
            source: Some((rules, stamp)),
            ..Self::default()
        };
        Ok(())
    }

    /// Which of the scopes contain the anchor of a datastore.
    fn scopes_of(&mut self, tree: &Tree) -> Result<Arc<[bool]>> {
        if self.scopes.is_empty() {
            return Ok(Arc::default());
        }
        if let Some(known) = self.anchors.get(&tree.anchor_id()) {
            return Ok(Arc::clone(known));
        }
        let dataspace = tree.store().dataspace_of(tree)?;
        let scopes = self.scopes.iter();
        let in_scope: Arc<[bool]> = scopes
            .map(|scope| scope.contains(&dataspace, tree.anchor_name()))
            .collect();
        if self.anchors.len() >= ANCHORS_MAX {
            self.anchors.clear();
        }
        self.anchors.insert(tree.anchor_id(), Arc::clone(&in_scope));
        Ok(in_scope)
    }
}

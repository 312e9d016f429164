//! The access of every user under one schema.

use std::collections::BTreeSet;
use std::sync::Arc;

use espalier_store::{AccessRules, AccessTable, DataRule, DenyMark};
use espalier_yang::Schema;
use espalier_yang::schema::Node;
use parking_lot::Mutex;
use rustc_hash::FxHashMap;

use super::nacm::{NacmConfig, Rule, RuleKind, RuleList};
use super::pattern::{PatternError, parse_pattern};
use super::user::{Caller, NamedRule, UserAccess};

/// The maximum number of users whose compiled rules are kept. A table of a large schema takes about 30 bytes for each
/// schema node.
pub const USER_TABLES_MAX: usize = 64;

/// The mark of nodes that need a rule for any access.
pub(super) const DENY_ALL: &str = "ietf-netconf-acm:default-deny-all";

/// The mark of nodes that need a rule for writes.
pub(super) const DENY_WRITE: &str = "ietf-netconf-acm:default-deny-write";

/// Whether a model marks a node with an extension.
pub(super) fn has_mark(node: &Node, mark: &str) -> bool {
    node.extensions.iter().any(|(name, _)| **name == *mark)
}

/// A rule whose path has no meaning for the schema. It matches nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleProblem {
    /// The name of the rule list.
    pub rule_list: String,
    /// The name of the rule.
    pub rule: String,
    /// The cause.
    pub cause: PatternError,
}

/// The users with the same rules, and the name of the user if the rules depend on it.
type UsersKey = (BTreeSet<String>, Option<String>);

/// The rules of all users, for one schema. Replaced when the rules or the schema change.
pub struct AccessPolicy {
    schema: Arc<Schema>,
    config: NacmConfig,
    /// Whether a path has the variable `$USER`.
    depends_on_user: bool,
    users: Mutex<FxHashMap<UsersKey, Arc<UserAccess>>>,
    unrestricted: Arc<UserAccess>,
}

impl AccessPolicy {
    /// The policy of a configuration.
    pub fn new(schema: Arc<Schema>, config: NacmConfig) -> Self {
        let mut rules = config.rule_lists.iter().flat_map(|list| &list.rules);
        let depends_on_user =
            rules.any(|rule| matches!(&rule.kind, RuleKind::Data(path) if path.contains("$USER")));
        Self {
            schema,
            config,
            depends_on_user,
            users: Mutex::default(),
            unrestricted: Arc::new(UserAccess::unrestricted()),
        }
    }

    /// The configuration.
    pub fn config(&self) -> &NacmConfig {
        &self.config
    }

    /// The schema.
    pub fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }

    /// The rules whose paths have no meaning for the schema.
    pub fn problems(&self) -> Vec<RuleProblem> {
        let mut problems = Vec::new();
        for list in &self.config.rule_lists {
            for rule in &list.rules {
                if let RuleKind::Data(path) = &rule.kind
                    && let Err(cause) = parse_pattern(&self.schema, path, "")
                {
                    problems.push(RuleProblem {
                        rule_list: list.name.clone(),
                        rule: rule.name.clone(),
                        cause,
                    });
                }
            }
        }
        problems
    }

    /// The access of a user. Compiled once for users with the same groups.
    pub fn access_of(&self, caller: &Caller) -> Arc<UserAccess> {
        if caller.is_recovery || !self.config.is_enabled {
            return Arc::clone(&self.unrestricted);
        }
        let groups = self.config.groups_of(&caller.user, &caller.groups);
        let user = self.depends_on_user.then(|| caller.user.clone());
        let key = (groups, user);
        if let Some(known) = self.users.lock().get(&key) {
            return Arc::clone(known);
        }
        let access = Arc::new(self.compile(&key.0, &caller.user));
        let mut users = self.users.lock();
        if users.len() >= USER_TABLES_MAX {
            users.clear();
        }
        users.insert(key, Arc::clone(&access));
        access
    }

    fn compile(&self, groups: &BTreeSet<String>, user: &str) -> UserAccess {
        let lists = self.config.lists_for(groups);
        let rules: Vec<(&RuleList, &Rule)> = lists
            .flat_map(|list| list.rules.iter().map(move |rule| (list, rule)))
            .collect();
        let data: Vec<DataRule> = rules
            .iter()
            .filter_map(|(_, rule)| self.data_rule(rule, user))
            .collect();
        let table = AccessTable::compile(
            &self.schema,
            &AccessRules {
                rules: &data,
                defaults: self.config.defaults,
                marks: &mark_of,
            },
        );
        UserAccess {
            rules: rules
                .into_iter()
                .filter_map(|(list, rule)| NamedRule::of(list, rule))
                .collect(),
            defaults: self.config.defaults,
            table: Some(Arc::new(table)),
            groups: groups.clone(),
        }
    }

    /// A rule on data nodes; `None` if it is for others, or matches none of this schema.
    fn data_rule(&self, rule: &Rule, user: &str) -> Option<DataRule> {
        let path = match &rule.kind {
            RuleKind::Any => None,
            RuleKind::Data(path) => Some(parse_pattern(&self.schema, path, user).ok()?),
            RuleKind::Operation(_)
            | RuleKind::Notification(_)
            | RuleKind::Collection(_)
            | RuleKind::Statistics(_)
            | RuleKind::AuditLog => return None,
        };
        let module = match &rule.module {
            None => None,
            Some(name) => Some(self.schema.module_by_name(name)?),
        };
        Some(DataRule {
            module,
            path,
            operations: rule.operations,
            effect: rule.effect,
        })
    }
}

/// The mark of a node.
pub(super) fn mark_of(node: &Node) -> Option<DenyMark> {
    match (has_mark(node, DENY_ALL), has_mark(node, DENY_WRITE)) {
        (true, _) => Some(DenyMark::All),
        (false, true) => Some(DenyMark::Write),
        (false, false) => None,
    }
}

//! Access to what a store has beyond data trees: document collections and statistics.
//!
//! The rules are in the lists of `ietf-netconf-acm`, see `models/espalier-access.yang`. Rules without a type match
//! everything, so they apply here too.

use std::sync::Arc;

use espalier_store::{AccessOperation, RuleEffect};

use super::nacm::{NacmConfig, RuleKind};
use super::restricted::Restricted;
use super::user::Caller;

/// A resource with access rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resource<'a> {
    /// The document collection of this name.
    Collection(&'a str),
    /// The statistics of the metric of this name.
    Statistics(&'a str),
    /// The settings of all statistics: only rules for every metric match.
    StatisticsSettings,
    /// The audit log, with its settings. Denied unless a rule permits it.
    AuditLog,
}

impl std::fmt::Display for Resource<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Collection(name) => write!(f, "the collection {name:?}"),
            Self::Statistics(name) => write!(f, "the metric {name:?}"),
            Self::AuditLog => f.write_str("the audit log"),
            Self::StatisticsSettings => f.write_str("the settings of statistics"),
        }
    }
}

/// What one user may do with collections and statistics.
#[derive(Clone, Debug, Default)]
pub struct ResourceAccess {
    /// `None` if no rule applies.
    restricted: Option<Restricted>,
    is_read_only: bool,
}

impl ResourceAccess {
    /// The access of a user to whom no rules apply.
    pub fn unrestricted() -> Self {
        Self::default()
    }

    /// The access of a user under these rules.
    pub(crate) fn new(config: &Arc<NacmConfig>, caller: &Caller) -> Self {
        Self {
            restricted: Restricted::of(config, caller),
            is_read_only: caller.is_read_only,
        }
    }

    /// Whether the resource can be read.
    pub fn may_read(&self, resource: Resource<'_>) -> bool {
        self.may(resource, AccessOperation::Read)
    }

    /// Whether the resource can be changed in any way: the access operation is `update`.
    pub fn may_change(&self, resource: Resource<'_>) -> bool {
        !self.is_read_only && self.may(resource, AccessOperation::Update)
    }

    fn may(&self, resource: Resource<'_>, operation: AccessOperation) -> bool {
        let Some(Restricted { config, groups }) = &self.restricted else {
            return true;
        };
        let mut rules = config.lists_for(groups).flat_map(|list| &list.rules);
        let decided = rules.find(|rule| {
            rule.module.is_none()
                && rule.operations.contains(operation)
                && is_for(&rule.kind, resource)
        });
        let effect = match (decided, operation) {
            (Some(rule), _) => rule.effect,
            (None, _) if resource == Resource::AuditLog => RuleEffect::Deny,
            (None, AccessOperation::Read) => config.defaults.read,
            (None, _) => config.defaults.write,
        };
        effect == RuleEffect::Permit
    }
}

fn is_for(kind: &RuleKind, resource: Resource<'_>) -> bool {
    match (kind, resource) {
        (RuleKind::Any, _) | (RuleKind::AuditLog, Resource::AuditLog) => true,
        (RuleKind::Collection(pattern), Resource::Collection(name))
        | (RuleKind::Statistics(pattern), Resource::Statistics(name)) => matches(pattern, name),
        (RuleKind::Statistics(pattern), Resource::StatisticsSettings) => pattern == "*",
        _ => false,
    }
}

/// Whether a name matches a `name-pattern` of espalier-access.
pub(super) fn matches(pattern: &str, name: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(prefix) => name.starts_with(prefix),
        None => name == pattern,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_names_and_prefixes() {
        for (pattern, name, expected) in [
            ("orders", "orders", true),
            ("orders", "orders2", false),
            ("orders*", "orders2", true),
            ("*", "", true),
            ("a*b", "a*b", true),
            ("a*b", "aXb", false),
        ] {
            assert_eq!(matches(pattern, name), expected, "{pattern} {name}");
        }
    }
}

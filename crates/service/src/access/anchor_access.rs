//! Which anchors a user can know of.
//!
//! The decision depends on names and rules alone, and not on whether an anchor exists or which models it has: so it is
//! made before the store is read, and its result gives nothing away.

use std::sync::Arc;

use espalier_store::{AccessOperation, RuleEffect};

use super::nacm::{NacmConfig, Rule, RuleKind};
use super::resources::matches;
use super::restricted::Restricted;
use super::user::Caller;
use crate::configuration::SERVER_DATASPACE;

/// The operations on data. A user who may do one of them somewhere in an anchor sees the anchor.
const DATA_OPERATIONS: [AccessOperation; 4] = [
    AccessOperation::Read,
    AccessOperation::Create,
    AccessOperation::Update,
    AccessOperation::Delete,
];

/// The anchors that one user sees: those with data that the rules can permit an operation on.
#[derive(Clone, Debug, Default)]
pub struct AnchorAccess {
    /// `None` if no rule applies.
    restricted: Option<Restricted>,
}

/// What a rule decides on an operation.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Decision {
    /// It permits the operation on some data.
    Permit,
    /// It denies the operation on all data.
    Deny,
    /// It denies the operation on some data, or does not match.
    None,
}

impl AnchorAccess {
    /// The access of a user to whom no rules apply.
    pub fn unrestricted() -> Self {
        Self::default()
    }

    /// The access of a user under these rules.
    pub(crate) fn new(config: &Arc<NacmConfig>, caller: &Caller) -> Self {
        Self {
            restricted: Restricted::of(config, caller),
        }
    }

    /// Whether no rule applies to the user.
    pub fn is_unrestricted(&self) -> bool {
        self.restricted.is_none()
    }

    /// Whether the user sees an anchor of this name, if it exists. The dataspace of the server itself is only for
    /// users to whom no rules apply.
    pub fn sees_anchor(&self, dataspace: &str, anchor: &str) -> bool {
        self.sees(
            dataspace,
            &|rule| match rule.scope.contains(dataspace, anchor) {
                true => effect_on_all(rule),
                false => Decision::None,
            },
        )
    }

    /// Whether the user can see anchors of a dataspace, if it has some.
    pub fn sees_dataspace(&self, dataspace: &str) -> bool {
        self.sees(dataspace, &|rule| {
            let of_scope = rule.scope.dataspace.as_deref();
            let is_in = of_scope.is_none_or(|pattern| matches(pattern, dataspace));
            match (is_in, effect_on_all(rule)) {
                (false, _) => Decision::None,
                // It denies some anchors only.
                (true, Decision::Deny) if rule.scope.anchor.is_some() => Decision::None,
                (true, effect) => effect,
            }
        })
    }

    /// The first name after `name` for which [`Self::sees_dataspace`] can differ, as bytes; `None` if there is none.
    pub fn next_dataspace_boundary(&self, name: &str) -> Option<Vec<u8>> {
        self.next_boundary(name, &|rule| rule.scope.dataspace.as_deref())
    }

    /// The first name after `name` for which [`Self::sees_anchor`] can differ, as bytes; `None` if there is none.
    pub fn next_anchor_boundary(&self, name: &str) -> Option<Vec<u8>> {
        self.next_boundary(name, &|rule| rule.scope.anchor.as_deref())
    }

    fn sees(&self, dataspace: &str, decide: &dyn Fn(&Rule) -> Decision) -> bool {
        let Some(Restricted { config, groups }) = &self.restricted else {
            return true;
        };
        dataspace != SERVER_DATASPACE
            && DATA_OPERATIONS.into_iter().any(|operation| {
                let mut rules = config.lists_for(groups).flat_map(|list| &list.rules);
                let decided = rules.find_map(|rule| {
                    let effect = match rule.operations.contains(operation) {
                        true => decide(rule),
                        false => Decision::None,
                    };
                    (effect != Decision::None).then_some(effect == Decision::Permit)
                });
                decided.unwrap_or(match operation {
                    AccessOperation::Read => config.defaults.read == RuleEffect::Permit,
                    _ => config.defaults.write == RuleEffect::Permit,
                })
            })
    }

    // Patterns match a name or all names with a prefix. Between the ends of these ranges every name has the same
    // result, so a listing skips hidden names by ranges, and not one by one.
    fn next_boundary<'a>(
        &'a self,
        name: &str,
        pattern: &dyn Fn(&'a Rule) -> Option<&'a str>,
    ) -> Option<Vec<u8>> {
        let Restricted { config, .. } = self.restricted.as_ref()?;
        let rules = config.rule_lists.iter().flat_map(|list| &list.rules);
        let patterns = rules.filter_map(pattern).chain([SERVER_DATASPACE]);
        let boundaries = patterns.flat_map(|pattern| {
            let (start, end) = match pattern.strip_suffix('*') {
                Some(prefix) => (prefix, end_of_prefix(prefix)),
                None => (pattern, Some([pattern.as_bytes(), &[0]].concat())),
            };
            [Some(start.as_bytes().to_vec()), end]
        });
        let later = boundaries.flatten().filter(|at| **at > *name.as_bytes());
        later.min()
    }
}

/// The effect of a rule on the data that it can match.
fn effect_on_all(rule: &Rule) -> Decision {
    match (&rule.kind, rule.effect) {
        (RuleKind::Any | RuleKind::Data(_), RuleEffect::Permit) => Decision::Permit,
        (RuleKind::Any, RuleEffect::Deny) if rule.module.is_none() => Decision::Deny,
        _ => Decision::None,
    }
}

/// The first bytes after all names with a prefix; `None` if there are none.
fn end_of_prefix(prefix: &str) -> Option<Vec<u8>> {
    let mut end = prefix.as_bytes().to_vec();
    // No byte of UTF-8 is 0xff, so the last byte can be incremented.
    *end.last_mut()? += 1;
    Some(end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::{RuleList, RuleScope};
    use espalier_store::{AccessDefaults, OperationSet};

    fn rule(scope: (Option<&str>, Option<&str>), kind: RuleKind, effect: RuleEffect) -> Rule {
        Rule {
            name: String::new(),
            module: None,
            kind,
            scope: RuleScope {
                dataspace: scope.0.map(str::to_owned),
                anchor: scope.1.map(str::to_owned),
            },
            operations: OperationSet::ALL,
            effect,
            comment: None,
        }
    }

    fn access(rules: Vec<Rule>, read: RuleEffect) -> AnchorAccess {
        let config = NacmConfig {
            defaults: AccessDefaults {
                read,
                ..NacmConfig::default().defaults
            },
            rule_lists: vec![RuleList {
                name: "list".to_owned(),
                groups: vec!["*".to_owned()],
                rules,
            }],
            ..NacmConfig::default()
        };
        let caller = Caller {
            user: "maria".to_owned(),
            groups: vec!["staff".to_owned()],
            ..Caller::default()
        };
        AnchorAccess::new(&Arc::new(config), &caller)
    }

    #[test]
    fn the_first_rule_on_all_data_decides() {
        use RuleEffect::{Deny, Permit};
        let path = || RuleKind::Data("/a:b".to_owned());
        let table = [
            (vec![], Permit, true),
            (vec![], Deny, false),
            (
                vec![rule((Some("lab"), None), RuleKind::Any, Deny)],
                Permit,
                false,
            ),
            (
                vec![rule((Some("lab"), Some("x*")), RuleKind::Any, Deny)],
                Permit,
                true,
            ),
            (
                vec![rule((Some("la*"), Some("a1")), RuleKind::Any, Permit)],
                Deny,
                true,
            ),
            (
                vec![rule((None, Some("a2")), RuleKind::Any, Permit)],
                Deny,
                false,
            ),
            (vec![rule((None, None), path(), Permit)], Deny, true),
            (vec![rule((None, None), path(), Deny)], Permit, true),
            (
                vec![rule(
                    (None, None),
                    RuleKind::Collection("*".to_owned()),
                    Permit,
                )],
                Deny,
                false,
            ),
        ];
        for (index, (rules, default, expected)) in table.into_iter().enumerate() {
            let access = access(rules, default);
            assert_eq!(access.sees_anchor("lab", "a1"), expected, "row {index}");
        }
    }

    #[test]
    fn the_dataspace_of_the_server_is_hidden_from_restricted_users() {
        let all = rule((None, None), RuleKind::Any, RuleEffect::Permit);
        let access = access(vec![all], RuleEffect::Permit);
        assert!(access.sees_dataspace("lab") && !access.sees_dataspace(SERVER_DATASPACE));
        assert!(!access.sees_anchor(SERVER_DATASPACE, "server"));
        assert!(AnchorAccess::unrestricted().sees_anchor(SERVER_DATASPACE, "server"));
    }

    #[test]
    fn a_dataspace_is_seen_if_one_of_its_anchors_can_be() {
        let one = rule((Some("lab"), Some("a1")), RuleKind::Any, RuleEffect::Permit);
        let access = access(vec![one], RuleEffect::Deny);
        assert!(access.sees_dataspace("lab") && !access.sees_dataspace("other"));
    }

    #[test]
    fn results_are_constant_between_boundaries() {
        let rules = vec![
            rule((None, Some("b")), RuleKind::Any, RuleEffect::Permit),
            rule((None, Some("d*")), RuleKind::Any, RuleEffect::Permit),
        ];
        let access = access(rules, RuleEffect::Deny);
        let names = ["a", "b", "ba", "c", "d", "dz", "e", "espalier", "f"];
        for pair in names.windows(2) {
            let boundary = access.next_anchor_boundary(pair[0]);
            let is_same = access.sees_anchor("lab", pair[0]) == access.sees_anchor("lab", pair[1]);
            let is_between = boundary.is_some_and(|at| at.as_slice() <= pair[1].as_bytes());
            assert!(is_same || is_between, "{pair:?}");
        }
        assert_eq!(access.next_anchor_boundary("f"), None);
        assert_eq!(AnchorAccess::unrestricted().next_anchor_boundary("a"), None);
    }
}

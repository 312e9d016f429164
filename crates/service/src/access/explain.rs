//! Which rule decides on an access, and why.

use espalier_store::{AccessOperation, DenyMark, InstancePattern, RuleEffect};
use espalier_yang::{InstancePath, Keys, Value};

use super::nacm::{Rule, RuleKind, RuleList};
use super::pattern::parse_pattern;
use super::policy::{AccessPolicy, mark_of};
use super::user::{CLOSE_SESSION, Caller, NETCONF};

/// Why an access is permitted or denied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AccessReason {
    /// Access control is disabled.
    Disabled,
    /// The session is exempt.
    Recovery,
    /// A rule.
    Rule {
        /// The name of its list.
        rule_list: String,
        /// Its name.
        rule: String,
    },
    /// A mark of the model on the node or one that encloses it.
    Mark(DenyMark),
    /// No rule matches, and the node that encloses it cannot be read, for this reason.
    Parent(Box<AccessReason>),
    /// `close-session` is always permitted (RFC 8341 §3.4.4).
    CloseSession,
    /// No rule matches: the leaf of this name decides.
    Default(&'static str),
}

/// The decision on an access.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explanation {
    /// Whether it is permitted.
    pub is_permitted: bool,
    /// The reason.
    pub reason: AccessReason,
}

impl AccessPolicy {
    /// Explains the decision on an operation on the node at a path. Evaluates the rules one by one, as RFC 8341 §3.4.5
    /// describes it.
    pub fn explain(
        &self,
        caller: &Caller,
        operation: AccessOperation,
        path: &InstancePath,
    ) -> Explanation {
        let permitted = |reason| Explanation {
            is_permitted: true,
            reason,
        };
        if !self.config().is_enabled {
            return permitted(AccessReason::Disabled);
        }
        if caller.is_recovery {
            return permitted(AccessReason::Recovery);
        }
        let groups = self.config().groups_of(&caller.user, &caller.groups);
        let rules: Vec<(&RuleList, &Rule, Option<InstancePattern>)> = self
            .config()
            .lists_for(&groups)
            .flat_map(|list| list.rules.iter().map(move |rule| (list, rule)))
            .filter_map(|(list, rule)| match &rule.kind {
                RuleKind::Any => Some((list, rule, None)),
                RuleKind::Data(path) => {
                    let pattern = parse_pattern(self.schema(), path, &caller.user).ok()?;
                    Some((list, rule, Some(pattern)))
                }
                RuleKind::Operation(_)
                | RuleKind::Notification(_)
                | RuleKind::Collection(_)
                | RuleKind::Statistics(_)
                | RuleKind::AuditLog => None,
            })
            .collect();
        let mut decided = permitted(AccessReason::Default("read-default"));
        for depth in 1..=path.steps.len() {
            let steps = path.steps[..depth].to_vec();
            let part = InstancePath { steps };
            decided = self.explain_node(&rules, operation, &part, decided);
        }
        decided
    }

    /// Explains the decision on an RPC (RFC 8341 §3.4.4) or an action (§3.4.5), whose entry must be readable too.
    pub fn explain_operation(&self, caller: &Caller, path: &InstancePath) -> Explanation {
        let parent = path.parent().unwrap_or_default();
        if parent.steps.is_empty() {
            return self.explain_rpc(caller, path);
        }
        let parent = self.explain(caller, AccessOperation::Read, &parent);
        match parent.is_permitted {
            true => self.explain(caller, AccessOperation::Exec, path),
            false => Explanation {
                reason: AccessReason::Parent(Box::new(parent.reason)),
                ..parent
            },
        }
    }

    fn explain_rpc(&self, caller: &Caller, path: &InstancePath) -> Explanation {
        let access = self.access_of(caller);
        let schema = self.schema();
        let permitted = |reason| Explanation {
            is_permitted: true,
            reason,
        };
        let Some(target) = path.target() else {
            return permitted(AccessReason::Default("exec-default"));
        };
        let node = schema.node(target);
        let (module, name) = (&schema.module(node.module).name, &node.name);
        let is_permitted = access.may_invoke(schema, module, name, Some(target));
        let reason = match access.operation_rule(module, name) {
            _ if !self.config().is_enabled => AccessReason::Disabled,
            _ if caller.is_recovery => AccessReason::Recovery,
            _ if &**module == NETCONF && &**name == CLOSE_SESSION => AccessReason::CloseSession,
            Some(rule) => {
                let [rule_list, rule] = rule.names.clone();
                AccessReason::Rule { rule_list, rule }
            }
            None if !is_permitted && self.config().defaults.exec == RuleEffect::Permit => {
                AccessReason::Mark(DenyMark::All)
            }
            None => AccessReason::Default("exec-default"),
        };
        Explanation {
            is_permitted,
            reason,
        }
    }

    fn explain_node(
        &self,
        rules: &[(&RuleList, &Rule, Option<InstancePattern>)],
        operation: AccessOperation,
        path: &InstancePath,
        parent: Explanation,
    ) -> Explanation {
        let schema = self.schema();
        let Some(node) = path.target() else {
            return parent;
        };
        let module = &schema.module(schema.node(node).module).name;
        for (list, rule, pattern) in rules {
            let is_match = rule.operations.contains(operation)
                && rule.module.as_ref().is_none_or(|name| **name == **module)
                && pattern
                    .as_ref()
                    .is_none_or(|pattern| leads_to(pattern, path));
            if is_match {
                return Explanation {
                    is_permitted: rule.effect == RuleEffect::Permit,
                    reason: AccessReason::Rule {
                        rule_list: list.name.clone(),
                        rule: rule.name.clone(),
                    },
                };
            }
        }
        self.explain_default(operation, path, parent)
    }

    /// The decision if no rule matches.
    fn explain_default(
        &self,
        operation: AccessOperation,
        path: &InstancePath,
        parent: Explanation,
    ) -> Explanation {
        let denied = |reason| Explanation {
            is_permitted: false,
            reason,
        };
        let marks = path
            .steps
            .iter()
            .map(|step| mark_of(self.schema().node(step.node)));
        let mark = marks.max().flatten();
        let defaults = self.config().defaults;
        let (weakest, effect, leaf) = match operation {
            AccessOperation::Read => (DenyMark::All, defaults.read, "read-default"),
            AccessOperation::Exec => (DenyMark::All, defaults.exec, "exec-default"),
            _ => (DenyMark::Write, defaults.write, "write-default"),
        };
        if let Some(mark) = mark.filter(|mark| *mark >= weakest) {
            return denied(AccessReason::Mark(mark));
        }
        if operation == AccessOperation::Read && !parent.is_permitted {
            return match parent.reason {
                reason @ (AccessReason::Parent(_) | AccessReason::Default(_)) => denied(reason),
                reason => denied(AccessReason::Parent(Box::new(reason))),
            };
        }
        Explanation {
            is_permitted: effect == RuleEffect::Permit,
            reason: AccessReason::Default(leaf),
        }
    }
}

/// Whether a path is at or below the nodes that a pattern names.
fn leads_to(pattern: &InstancePattern, path: &InstancePath) -> bool {
    let mut steps = pattern.steps.iter().zip(&path.steps);
    pattern.steps.len() <= path.steps.len()
        && steps
            .all(|(wanted, step)| wanted.node == step.node && has_keys(&wanted.keys, &step.keys))
}

fn has_keys(wanted: &[Option<Value>], keys: &Keys) -> bool {
    if wanted.iter().all(Option::is_none) {
        return true;
    }
    let Keys::Values(values) = keys else {
        return false;
    };
    let mut both = wanted.iter().zip(values);
    wanted.len() == values.len()
        && both.all(|(wanted, value)| wanted.as_ref().is_none_or(|wanted| wanted == value))
}

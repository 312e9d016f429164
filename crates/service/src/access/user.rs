//! What one user may do.

use std::collections::BTreeSet;
use std::sync::Arc;

use espalier_store::{AccessDefaults, AccessOperation, AccessTable, OperationSet, RuleEffect};
use espalier_yang::{InstancePath, NodeId, Schema};

use super::nacm::{Rule, RuleKind, RuleList};
use super::policy::{DENY_ALL, has_mark};

/// The user of a session, for access control.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Caller {
    /// The user name; empty if nobody is authenticated.
    pub user: String,
    /// The groups that the transport reports.
    pub groups: Vec<String>,
    /// Whether the session is exempt from access control (RFC 8341 §2, "recovery session").
    pub is_recovery: bool,
    /// Whether the session may only read, whatever the user may do: that of a token with this scope.
    pub is_read_only: bool,
}

impl Caller {
    /// Somebody who is not authenticated because nobody is, and to whom no rule applies.
    pub fn exempt() -> Self {
        Self {
            is_recovery: true,
            ..Self::default()
        }
    }
}

/// Operations that are denied if no rule permits them (RFC 8341 §3.4.4 step 11).
const DENIED_OPERATIONS: [&str; 2] = ["kill-session", "delete-config"];

/// The module of the base operations.
pub(super) const NETCONF: &str = "ietf-netconf";
/// The operation that everybody may invoke (RFC 8341 §3.4.4).
pub(super) const CLOSE_SESSION: &str = "close-session";

/// The access of one user under one schema.
pub struct UserAccess {
    /// The rules that match protocol operations and notifications, in order.
    pub(super) rules: Vec<NamedRule>,
    pub(super) defaults: AccessDefaults,
    /// The rules on data; `None` if everything is permitted.
    pub(super) table: Option<Arc<AccessTable>>,
    /// The groups of the user.
    pub(super) groups: BTreeSet<String>,
}

/// A rule on an operation or a notification.
pub(super) struct NamedRule {
    /// The names of its list and its own.
    pub names: [String; 2],
    module: Option<String>,
    kind: RuleKind,
    operations: OperationSet,
    is_permit: bool,
}

impl NamedRule {
    /// `None` if the rule matches neither operations nor notifications.
    pub fn of(list: &RuleList, rule: &Rule) -> Option<Self> {
        match rule.kind {
            RuleKind::Any | RuleKind::Operation(_) | RuleKind::Notification(_) => Some(Self {
                names: [list.name.clone(), rule.name.clone()],
                module: rule.module.clone(),
                kind: rule.kind.clone(),
                operations: rule.operations,
                is_permit: rule.effect == RuleEffect::Permit,
            }),
            RuleKind::Data(_)
            | RuleKind::Collection(_)
            | RuleKind::Statistics(_)
            | RuleKind::AuditLog => None,
        }
    }

    fn matches(&self, kind: Named, module: &str, name: &str) -> bool {
        let of_kind = match (&self.kind, kind) {
            (RuleKind::Any, _) => true,
            (RuleKind::Operation(wanted), Named::Operation)
            | (RuleKind::Notification(wanted), Named::Notification) => {
                wanted.as_ref().is_none_or(|wanted| wanted == name)
            }
            _ => false,
        };
        let is_module = self.module.as_ref().is_none_or(|wanted| wanted == module);
        of_kind && is_module && self.operations.contains(kind.operation())
    }
}

/// What a rule can name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Named {
    Operation,
    Notification,
}

impl Named {
    /// The access operation that is needed.
    fn operation(self) -> AccessOperation {
        match self {
            Self::Operation => AccessOperation::Exec,
            Self::Notification => AccessOperation::Read,
        }
    }
}

impl UserAccess {
    /// The access of a user to whom no rules apply: everything is permitted.
    pub fn unrestricted() -> Self {
        Self {
            rules: Vec::new(),
            defaults: AccessDefaults {
                read: RuleEffect::Permit,
                write: RuleEffect::Permit,
                exec: RuleEffect::Permit,
            },
            table: None,
            groups: BTreeSet::new(),
        }
    }

    /// The rules on data nodes, for reads and commits; `None` if everything is permitted.
    pub fn table(&self) -> Option<&Arc<AccessTable>> {
        self.table.as_ref()
    }

    /// Whether the node at a path can be read.
    pub fn may_read(&self, path: &InstancePath) -> bool {
        let table = self.table.as_ref();
        table.is_none_or(|table| table.allows(AccessOperation::Read, path))
    }

    /// The groups of the user.
    pub fn groups(&self) -> &BTreeSet<String> {
        &self.groups
    }

    /// Whether a protocol operation may be invoked (RFC 8341 §3.4.4). `node` is its schema node, if the schema has it.
    pub fn may_invoke(
        &self,
        schema: &Schema,
        module: &str,
        name: &str,
        node: Option<NodeId>,
    ) -> bool {
        if self.table.is_none() || (module == NETCONF && name == CLOSE_SESSION) {
            return true;
        }
        if let Some(rule) = self.operation_rule(module, name) {
            return rule.is_permit;
        }
        let is_denied = node.is_some_and(|node| has_mark(schema.node(node), DENY_ALL))
            || (module == NETCONF && DENIED_OPERATIONS.contains(&name));
        !is_denied && self.defaults.exec == RuleEffect::Permit
    }

    /// Whether a notification at the top level may be received (RFC 8341 §3.4.6). Those inside data are decided on by
    /// [`Self::table`].
    pub fn may_receive(&self, schema: &Schema, notification: NodeId) -> bool {
        if self.table.is_none() {
            return true;
        }
        let node = schema.node(notification);
        let module = &schema.module(node.module).name;
        match self.rule(Named::Notification, module, &node.name) {
            Some(rule) => rule.is_permit,
            None => !has_mark(node, DENY_ALL) && self.defaults.read == RuleEffect::Permit,
        }
    }

    /// The rule that decides on a protocol operation.
    pub(super) fn operation_rule(&self, module: &str, name: &str) -> Option<&NamedRule> {
        self.rule(Named::Operation, module, name)
    }

    fn rule(&self, kind: Named, module: &str, name: &str) -> Option<&NamedRule> {
        let mut rules = self.rules.iter();
        rules.find(|rule| rule.matches(kind, module, name))
    }
}

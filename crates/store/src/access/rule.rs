//! Access rules.

use espalier_yang::schema::{ModuleId, Node};
use espalier_yang::{NodeId, Value};

/// An access operation on a data node (RFC 8341 §3.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum AccessOperation {
    /// To read it, or to receive it as a notification.
    Read,
    /// To create it.
    Create,
    /// To change its value, or its place in its list.
    Update,
    /// To delete it.
    Delete,
    /// To invoke it, for an action.
    Exec,
}

impl AccessOperation {
    /// All operations; the place of each is its number.
    pub const ALL: [Self; 5] = [
        Self::Read,
        Self::Create,
        Self::Update,
        Self::Delete,
        Self::Exec,
    ];

    /// Its name in `ietf-netconf-acm`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Create => "create",
            Self::Update => "update",
            Self::Delete => "delete",
            Self::Exec => "exec",
        }
    }
}

/// A set of access operations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OperationSet(u8);

impl OperationSet {
    /// Every operation.
    pub const ALL: Self = Self(0b1_1111);

    /// The set with one operation more.
    #[must_use]
    pub fn with(self, operation: AccessOperation) -> Self {
        Self(self.0 | 1 << operation as u8)
    }

    /// Whether an operation is in the set.
    pub fn contains(self, operation: AccessOperation) -> bool {
        self.0 & 1 << operation as u8 != 0
    }
}

/// Whether a rule permits or denies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RuleEffect {
    /// It permits.
    Permit,
    /// It denies.
    Deny,
}

/// A rule. It matches a node if module, path and operation match.
#[derive(Clone, Debug)]
pub struct DataRule {
    /// Nodes of this module only; `None` for any.
    pub module: Option<ModuleId>,
    /// The nodes that it names, and their descendants; `None` for any.
    pub path: Option<InstancePattern>,
    /// The operations.
    pub operations: OperationSet,
    /// Its effect.
    pub effect: RuleEffect,
}

/// A path whose steps may leave keys open.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InstancePattern {
    /// The steps, outermost first.
    pub steps: Vec<PatternStep>,
}

/// A step of a pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PatternStep {
    /// The schema node.
    pub node: NodeId,
    /// For a list, a value for each key, `None` if any matches; for a leaf-list, its value. Empty if any entry matches.
    pub keys: Vec<Option<Value>>,
}

impl PatternStep {
    /// Whether only some entries match.
    pub(super) fn is_conditional(&self) -> bool {
        self.keys.iter().any(Option::is_some)
    }
}

/// What is allowed if no rule matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AccessDefaults {
    /// Reads.
    pub read: RuleEffect,
    /// Creation, update and deletion.
    pub write: RuleEffect,
    /// Actions.
    pub exec: RuleEffect,
}

/// A mark of the model on a node that holds for its descendants too (RFC 8341 §3.2.4). It is stronger than
/// [`AccessDefaults`], and weaker than rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DenyMark {
    /// `default-deny-write`.
    Write,
    /// `default-deny-all`.
    All,
}

/// All that decides on the access of a user.
pub struct AccessRules<'a> {
    /// The rules; the first that matches decides.
    pub rules: &'a [DataRule],
    /// What is allowed if no rule matches.
    pub defaults: AccessDefaults,
    /// The marks of the model.
    pub marks: &'a dyn Fn(&Node) -> Option<DenyMark>,
}

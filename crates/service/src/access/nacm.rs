//! The configuration of `ietf-netconf-acm` (RFC 8341 §3.3).

use std::collections::{BTreeMap, BTreeSet};

use espalier_store::{
    AccessDefaults, AccessOperation, OperationSet, Result, RuleEffect, Selection, View,
    WithDefaults,
};
use espalier_yang::data::{Content, DataNode, TreeBuilder};
use espalier_yang::{InstancePath, Keys, Schema};

use super::resources::matches;

/// The module.
pub const MODULE: &str = "ietf-netconf-acm";

/// A group of users, in rule lists, that matches every group.
const ANY: &str = "*";

/// The rules of all users.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NacmConfig {
    /// `enable-nacm`: if false, everything is permitted.
    pub is_enabled: bool,
    /// What is permitted if no rule matches.
    pub defaults: AccessDefaults,
    /// `enable-external-groups`: whether groups that the transport reports count.
    pub uses_external_groups: bool,
    /// The users of each group.
    pub groups: BTreeMap<String, BTreeSet<String>>,
    /// The rule lists, in order.
    pub rule_lists: Vec<RuleList>,
}

/// A list of rules, for some groups.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleList {
    /// Its name.
    pub name: String,
    /// The groups; `*` matches every group.
    pub groups: Vec<String>,
    /// The rules, in order.
    pub rules: Vec<Rule>,
}

/// A rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// Its name.
    pub name: String,
    /// The module whose definitions it matches; `None` for any.
    pub module: Option<String>,
    /// What it matches.
    pub kind: RuleKind,
    /// Where it applies.
    pub scope: RuleScope,
    /// The access operations.
    pub operations: OperationSet,
    /// Its effect.
    pub effect: RuleEffect,
    /// The administrator's comment.
    pub comment: Option<String>,
}

/// The data trees that a rule applies to, by `name-pattern`s of espalier-access; `None` for all.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct RuleScope {
    /// The dataspace.
    pub dataspace: Option<String>,
    /// The anchor.
    pub anchor: Option<String>,
}

impl RuleScope {
    /// Whether the rule applies to an anchor.
    pub fn contains(&self, dataspace: &str, anchor: &str) -> bool {
        let is_match = |pattern: &Option<String>, name| {
            let pattern = pattern.as_deref();
            pattern.is_none_or(|pattern| matches(pattern, name))
        };
        is_match(&self.dataspace, dataspace) && is_match(&self.anchor, anchor)
    }
}

/// What a rule matches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RuleKind {
    /// Everything.
    Any,
    /// Protocol operations of this name; `None` for any.
    Operation(Option<String>),
    /// Notifications of this name; `None` for any.
    Notification(Option<String>),
    /// The data nodes at a path, with their descendants.
    Data(String),
    /// Document collections, by a `name-pattern` of espalier-access.
    Collection(String),
    /// Statistics, by a `name-pattern` of the names of metrics.
    Statistics(String),
    /// The audit log.
    AuditLog,
}

impl Default for NacmConfig {
    /// The configuration without data (RFC 8341 §3.3, the defaults of the module).
    fn default() -> Self {
        Self {
            is_enabled: true,
            defaults: AccessDefaults {
                read: RuleEffect::Permit,
                write: RuleEffect::Deny,
                exec: RuleEffect::Permit,
            },
            uses_external_groups: true,
            groups: BTreeMap::new(),
            rule_lists: Vec::new(),
        }
    }
}

impl NacmConfig {
    /// The path of the configuration; `None` if the schema does not have the module.
    pub(super) fn path(schema: &Schema) -> Option<InstancePath> {
        let module = schema.module_by_name(MODULE)?;
        let top = schema.child(None, module, "nacm")?;
        Some(InstancePath::root().child(top, Keys::None))
    }

    /// Reads the configuration of a datastore; `None` if its schema does not have the module.
    ///
    /// # Errors
    /// Those of the read.
    pub fn read(view: &View) -> Result<Option<Self>> {
        let schema = view.schema();
        let Some(path) = Self::path(schema) else {
            return Ok(None);
        };
        let selection = Selection {
            with_defaults: WithDefaults::ReportAll,
            ..Selection::default()
        };
        let mut builder = TreeBuilder::new();
        view.read(&path, &selection, &mut builder)?;
        let tree = builder.finish().map_err(espalier_store::Error::from)?;
        let mut config = Self::default();
        if let Some(nacm) = tree.nodes.first() {
            let nacm = Reader { schema, data: nacm };
            config.fill(&nacm);
        }
        Ok(Some(config))
    }

    fn fill(&mut self, nacm: &Reader<'_>) {
        let is_true =
            |name: &str, default: bool| nacm.text(name).map_or(default, |text| text == "true");
        self.is_enabled = is_true("enable-nacm", self.is_enabled);
        self.uses_external_groups = is_true("enable-external-groups", self.uses_external_groups);
        for (name, default) in [
            ("read-default", &mut self.defaults.read),
            ("write-default", &mut self.defaults.write),
            ("exec-default", &mut self.defaults.exec),
        ] {
            if let Some(text) = nacm.text(name) {
                *default = effect(&text);
            }
        }
        for groups in nacm.children("groups") {
            for group in groups.children("group") {
                let users = group.texts("user-name").into_iter().collect();
                self.groups
                    .insert(group.text("name").unwrap_or_default(), users);
            }
        }
        self.rule_lists = nacm
            .children("rule-list")
            .map(|list| list.rule_list())
            .collect();
    }

    /// The different scopes of the rules, without that of rules for all data trees.
    pub(super) fn scopes(&self) -> Vec<RuleScope> {
        let rules = self.rule_lists.iter().flat_map(|list| &list.rules);
        let scopes: BTreeSet<&RuleScope> = rules.map(|rule| &rule.scope).collect();
        let everywhere = RuleScope::default();
        let limited = scopes.into_iter().filter(|scope| **scope != everywhere);
        limited.cloned().collect()
    }

    /// The configuration without the rules of some scopes.
    pub(super) fn without_rules_for(&self, excluded: &[&RuleScope]) -> Self {
        let mut config = self.clone();
        for list in &mut config.rule_lists {
            list.rules.retain(|rule| !excluded.contains(&&rule.scope));
        }
        config
    }

    /// The groups of a user: those configured, and those that the transport reports if they count (RFC 8341 §3.4.4
    /// step 3).
    pub fn groups_of(&self, user: &str, external: &[String]) -> BTreeSet<String> {
        let configured = self
            .groups
            .iter()
            .filter(|(_, users)| users.contains(user))
            .map(|(name, _)| name.clone());
        let external = external
            .iter()
            .filter(|_| self.uses_external_groups)
            .cloned();
        configured.chain(external).collect()
    }

    /// The rule lists for a user of these groups. A user without groups has none, not even those for `*` (RFC 8341
    /// §3.4.4 step 4).
    pub fn lists_for<'c>(
        &'c self,
        groups: &'c BTreeSet<String>,
    ) -> impl Iterator<Item = &'c RuleList> {
        let is_for = |list: &&RuleList| {
            let mut of_list = list.groups.iter();
            of_list.any(|group| group == ANY || groups.contains(group))
        };
        self.rule_lists
            .iter()
            .filter(|_| !groups.is_empty())
            .filter(is_for)
    }
}

/// A node with its schema.
struct Reader<'a> {
    schema: &'a Schema,
    data: &'a DataNode,
}

impl<'a> Reader<'a> {
    fn children(&self, name: &str) -> impl Iterator<Item = Reader<'a>> {
        let (schema, data) = (self.schema, self.data);
        let named = data
            .children()
            .iter()
            .filter(move |child| *schema.node(child.node).name == *name);
        named.map(move |data| Reader { schema, data })
    }

    fn texts(&self, name: &str) -> Vec<String> {
        let values = self
            .children(name)
            .filter_map(|leaf| match &leaf.data.content {
                Content::Value(value) => Some(value.to_string()),
                _ => None,
            });
        values.collect()
    }

    fn text(&self, name: &str) -> Option<String> {
        self.texts(name).into_iter().next()
    }

    fn rule_list(&self) -> RuleList {
        RuleList {
            name: self.text("name").unwrap_or_default(),
            groups: self.texts("group"),
            rules: self.children("rule").map(|rule| rule.rule()).collect(),
        }
    }

    fn rule(&self) -> Rule {
        let named = |name: &str| {
            let text = self.text(name)?;
            Some((text != ANY).then_some(text))
        };
        let kind = None
            .or_else(|| named("rpc-name").map(RuleKind::Operation))
            .or_else(|| named("notification-name").map(RuleKind::Notification))
            .or_else(|| self.text("path").map(RuleKind::Data))
            .or_else(|| self.text("collection").map(RuleKind::Collection))
            .or_else(|| self.text("statistics").map(RuleKind::Statistics))
            .or_else(|| {
                self.children("audit-log")
                    .next()
                    .map(|_| RuleKind::AuditLog)
            })
            .unwrap_or(RuleKind::Any);
        Rule {
            name: self.text("name").unwrap_or_default(),
            module: named("module-name").flatten(),
            kind,
            scope: RuleScope {
                dataspace: self.text("dataspace"),
                anchor: self.text("anchor"),
            },
            operations: operations(self.text("access-operations").as_deref()),
            effect: effect(&self.text("action").unwrap_or_default()),
            comment: self.text("comment"),
        }
    }
}

fn effect(text: &str) -> RuleEffect {
    match text {
        "permit" => RuleEffect::Permit,
        _ => RuleEffect::Deny,
    }
}

fn operations(text: Option<&str>) -> OperationSet {
    let text = text.unwrap_or(ANY);
    if text == ANY {
        return OperationSet::ALL;
    }
    let named = AccessOperation::ALL.into_iter().filter(|operation| {
        text.split_ascii_whitespace()
            .any(|word| word == operation.name())
    });
    named.fold(OperationSet::default(), OperationSet::with)
}

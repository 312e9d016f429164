//! Makes access rules of owners and modes.
//!
//! A mode gives rights to exactly one class of a user: owner, group or others. Rules are evaluated in order and the
//! first match decides, so the lists are in the order of the classes, and a class whose rights are fewer than those of
//! the classes after it has a rule that denies the rest.

use std::collections::{BTreeMap, BTreeSet};

use espalier_yang::Schema;
use espalier_yang::schema::NodeKind;
use serde_json::{Value as Json, json};

use super::listing::ModulePermissions;

/// What the names of the rule lists begin with, and of the groups with the owners.
pub const PREFIX: &str = "sysrepo-";

/// The rights to read and to write of a class, as digits of a mode have them.
const READ: u16 = 4;
const WRITE: u16 = 2;
const RIGHTS: [(u16, &str); 3] = [
    (READ | WRITE, "create read update delete"),
    (READ, "read"),
    (WRITE, "create update delete"),
];

/// The rule lists of permissions, in order, and their groups.
pub struct PermissionRules {
    /// The groups with their users.
    pub groups: BTreeMap<String, Vec<String>>,
    /// The rule lists, as entries of `rule-list`.
    pub rule_lists: Vec<Json>,
    /// Whether a module is hidden from others. The default must then be that nothing is readable: rule lists do not
    /// apply to users without a group (RFC 8341 §3.4.4).
    pub denies_reads: bool,
}

impl PermissionRules {
    /// The rules for these modules. A module that `schema` implements has rules for its top-level nodes, which include
    /// what other modules add to them, as in sysrepo; another one has a rule for its name.
    pub fn new(modules: &[ModulePermissions], schema: Option<&Schema>) -> Self {
        let mut groups = BTreeMap::new();
        let mut rule_lists = Vec::new();
        let rights_of = |module: &ModulePermissions, shift: u16| (module.mode >> shift) & 0o7;
        let owners: BTreeSet<&str> = modules.iter().map(|module| &*module.owner).collect();
        for owner in owners {
            let group = format!("{PREFIX}owner-{owner}");
            let of_owner = modules.iter().filter(|module| module.owner == owner);
            let rules = of_owner.flat_map(|module| {
                let later = rights_of(module, 3) | rights_of(module, 0);
                rules(module, rights_of(module, 6), later, schema)
            });
            rule_lists.extend(rule_list(&group, &group, rules.collect()));
            groups.insert(group, vec![owner.to_owned()]);
        }
        let of_modules: BTreeSet<&str> = modules.iter().map(|module| &*module.group).collect();
        for group in of_modules {
            let of_group = modules.iter().filter(|module| module.group == group);
            let rules = of_group.flat_map(|module| {
                rules(module, rights_of(module, 3), rights_of(module, 0), schema)
            });
            let name = format!("{PREFIX}group-{group}");
            rule_lists.extend(rule_list(&name, group, rules.collect()));
            groups.insert(group.to_owned(), Vec::new());
        }
        let of_others = modules
            .iter()
            .flat_map(|module| rules(module, rights_of(module, 0), 0, schema));
        let name = format!("{PREFIX}others");
        rule_lists.extend(rule_list(&name, "*", of_others.collect()));
        Self {
            groups,
            rule_lists,
            denies_reads: modules.iter().any(|module| module.mode & READ == 0),
        }
    }

    /// The rules as data of ietf-netconf-acm.
    pub fn document(&self) -> Json {
        let groups = self
            .groups
            .iter()
            .map(|(name, users)| match users.is_empty() {
                true => json!({"name": name}),
                false => json!({"name": name, "user-name": users}),
            });
        let groups: Vec<Json> = groups.collect();
        let mut nacm = json!({});
        if self.denies_reads {
            nacm["read-default"] = json!("deny");
        }
        nacm["write-default"] = json!("deny");
        nacm["groups"] = json!({"group": groups});
        nacm["rule-list"] = json!(self.rule_lists);
        json!({"ietf-netconf-acm:nacm": nacm})
    }

    /// The number of rules.
    pub fn count(&self) -> usize {
        let lists = self.rule_lists.iter();
        lists
            .filter_map(|list| list["rule"].as_array())
            .map(Vec::len)
            .sum()
    }
}

/// A rule list; `None` without rules.
fn rule_list(name: &str, group: &str, rules: Vec<Json>) -> Option<Json> {
    let list = json!({"name": name, "group": [group], "rule": rules});
    (!rules.is_empty()).then_some(list)
}

/// The rules of one class for a module: it has `rights`, and the classes whose rules follow have `later`.
fn rules(
    module: &ModulePermissions,
    rights: u16,
    later: u16,
    schema: Option<&Schema>,
) -> Vec<Json> {
    let denied = later & !rights;
    let places = Place::all_of(&module.module, schema);
    let effects = [(rights, "permit"), (denied, "deny")];
    let rules = effects.into_iter().filter_map(|(rights, action)| {
        let names = RIGHTS.iter();
        let operations = names
            .clone()
            .find(|(bits, _)| rights & (READ | WRITE) == *bits)?
            .1;
        Some(
            places
                .iter()
                .map(move |place| place.rule(operations, action)),
        )
    });
    rules.flatten().collect()
}

/// What a rule matches.
enum Place {
    /// The definitions of a module.
    Module(String),
    /// A top-level node with its descendants.
    Node(String),
}

impl Place {
    fn all_of(module: &str, schema: Option<&Schema>) -> Vec<Self> {
        let in_schema = schema.and_then(|schema| {
            let id = schema.module_by_name(module)?;
            schema.module(id).is_implemented.then_some((schema, id))
        });
        let Some((schema, id)) = in_schema else {
            return vec![Self::Module(module.to_owned())];
        };
        let roots = schema.roots().iter().map(|root| schema.node(*root));
        let data = roots.filter(|node| {
            node.module == id && !matches!(node.kind, NodeKind::Rpc | NodeKind::Notification)
        });
        data.map(|node| Self::Node(format!("/{module}:{}", node.name)))
            .collect()
    }

    fn rule(&self, operations: &str, action: &str) -> Json {
        let (leaf, place) = match self {
            Self::Module(module) => ("module-name", module),
            Self::Node(path) => ("path", path),
        };
        json!({
            "name": format!("{action} {place}"),
            leaf: place,
            "access-operations": operations,
            "action": action,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn module(name: &str, owner: &str, group: &str, mode: u16) -> ModulePermissions {
        ModulePermissions {
            module: name.to_owned(),
            owner: owner.to_owned(),
            group: group.to_owned(),
            mode,
            startup_mode: None,
        }
    }

    /// Evaluates the rules as RFC 8341 §3.4.5 does, for a module without a schema.
    fn may(document: &Json, groups: &[&str], module: &str, operation: &str) -> bool {
        let nacm = &document["ietf-netconf-acm:nacm"];
        let lists = nacm["rule-list"].as_array().unwrap().iter();
        let lists = lists.filter(|list| {
            let group = list["group"][0].as_str().unwrap();
            !groups.is_empty() && (group == "*" || groups.contains(&group))
        });
        let rules = lists.flat_map(|list| list["rule"].as_array().unwrap());
        let mut matches = rules.filter(|rule| {
            let operations = rule["access-operations"].as_str().unwrap();
            rule["module-name"] == module && operations.split(' ').any(|word| word == operation)
        });
        let default = match operation {
            "read" => nacm.get("read-default") != Some(&json!("deny")),
            _ => false,
        };
        matches
            .next()
            .map_or(default, |rule| rule["action"] == "permit")
    }

    #[test]
    fn every_mode_gives_each_class_its_rights() {
        for mode in 0..=0o777 {
            let modules = [
                module("a", "ann", "staff", mode),
                module("b", "bob", "b", 0o640),
            ];
            let document = PermissionRules::new(&modules, None).document();
            // An owner that is in the group too has the rights of the owner.
            let classes: [(&[&str], u16); 4] = [
                (&["sysrepo-owner-ann", "staff"], mode >> 6),
                (&["sysrepo-owner-ann"], mode >> 6),
                (&["staff", "sysrepo-owner-bob"], mode >> 3),
                (&["users"], mode),
            ];
            for (groups, rights) in classes {
                for (operation, right) in [("read", READ), ("create", WRITE), ("delete", WRITE)] {
                    assert_eq!(
                        may(&document, groups, "a", operation),
                        rights & right != 0,
                        "{mode:o} {groups:?} {operation}: {document:#}"
                    );
                }
            }
        }
    }

    #[test]
    fn users_without_groups_read_only_if_everybody_may_read_everything() {
        for (mode, may_read) in [(0o644, true), (0o666, true), (0o640, false)] {
            let modules = [module("a", "r", "r", mode), module("b", "r", "r", 0o664)];
            let document = PermissionRules::new(&modules, None).document();
            for name in ["a", "b"] {
                assert_eq!(may(&document, &[], name, "read"), may_read, "{mode:o}");
            }
            assert!(!may(&document, &[], "a", "update"));
        }
    }

    #[test]
    fn lists_without_rules_are_left_out() {
        let document = PermissionRules::new(&[module("a", "ann", "g", 0o600)], None).document();
        assert_eq!(
            document,
            json!({"ietf-netconf-acm:nacm": {
                "read-default": "deny",
                "write-default": "deny",
                "groups": {"group": [{"name": "g"}, {"name": "sysrepo-owner-ann", "user-name": ["ann"]}]},
                "rule-list": [{"name": "sysrepo-owner-ann", "group": ["sysrepo-owner-ann"], "rule": [
                    {"name": "permit a", "module-name": "a", "access-operations": "create read update delete",
                     "action": "permit"}]}],
            }})
        );
    }
}

//! The cost of the constraints of real models is linear in the data: eight times as many entries of a list cause at
//! most eight times as many node visits, plus some for cached results.
//!
//! The models are next to the repository on the machines of the maintainers ([`FOLDERS`]; `ESPALIER_DATA` sets
//! another path). Without them, the test uses its own models. The entries are generated; their validity does not
//! affect the cost.

use std::fs;
use std::path::{Path, PathBuf};

use espalier_yang::data::{Content, DataNode, DataTree, TreeInstances};
use espalier_yang::schema::{ModuleNames, ModuleSource, SchemaSource, Type, TypeKind};
use espalier_yang::validate::{ValidationPlan, WorkerShare, validate_measured};
use espalier_yang::xpath::evaluate::Limits;
use espalier_yang::{Instances, NodeId, NodeKind, Schema, Value};

/// The folders with models, and the maximum number of modules that are implemented alone. `None`: all at once.
const FOLDERS: [(&str, Option<usize>); 2] = [("openconfig", None), ("standard", Some(usize::MAX))];

/// The number of entries in the smaller of two trees.
const ENTRIES: usize = 12;

/// The factor between the two trees.
const FACTOR: usize = 8;

/// The number of filled levels of containers and lists below an entry.
const DEPTH_MAX: usize = 5;

/// Lists with at most this many visits per entry are not compared.
const VISITS_OF_ENTRY: u64 = 60;

fn modules(folder: &str) -> Option<Vec<ModuleSource>> {
    let shared = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    let data = std::env::var_os("ESPALIER_DATA").map_or(shared, PathBuf::from);
    let files = fs::read_dir(data.join(folder)).ok()?;
    let mut paths: Vec<PathBuf> = files.map(|file| file.expect("a file").path()).collect();
    paths.retain(|path| {
        path.extension()
            .is_some_and(|extension| extension == "yang")
    });
    paths.sort();
    let texts = paths
        .iter()
        .map(|path| fs::read_to_string(path).expect("a text"));
    Some(texts.filter_map(ModuleSource::from_text).collect())
}

/// A tree with entries of one list.
struct Filling<'a> {
    schema: &'a Schema,
    list: NodeId,
    entries: usize,
}

impl Filling<'_> {
    fn tree(&self) -> DataTree {
        let above = std::iter::successors(Some(self.list), |&id| self.schema.node(id).parent);
        let mut way: Vec<NodeId> = above.collect();
        way.reverse();
        DataTree {
            nodes: self.nodes(self.schema.roots(), &way, 0, 0),
        }
    }

    /// The nodes in a parent: on the path to the list only the nodes of the path, with their keys.
    fn nodes(
        &self,
        children: &[NodeId],
        way: &[NodeId],
        number: usize,
        depth: usize,
    ) -> Vec<DataNode> {
        let mut nodes = Vec::new();
        for &child in children {
            let node = self.schema.node(child);
            let is_on_way = way.first() == Some(&child);
            let is_key = node.as_value().is_some_and(|value| value.is_key);
            let is_first_case = node.cases.iter().all(|case| case.case == 0);
            if !node.is_config || !(is_on_way || is_key || way.is_empty() && is_first_case) {
                continue;
            }
            let rest = if is_on_way { &way[1..] } else { &[] };
            let is_list = child == self.list;
            let count = if is_list { self.entries } else { 1 };
            for index in 0..count {
                let number = if is_list { index } else { number };
                nodes.extend(self.node(child, rest, number, depth));
            }
        }
        nodes
    }

    fn node(&self, id: NodeId, way: &[NodeId], number: usize, depth: usize) -> Option<DataNode> {
        let node = self.schema.node(id);
        let content = match &node.kind {
            NodeKind::Leaf(value) | NodeKind::LeafList(value) => {
                Content::Value(self.value(id, &value.value_type, number)?)
            }
            NodeKind::Container { .. } | NodeKind::List(_)
                if depth < DEPTH_MAX || !way.is_empty() =>
            {
                let depth = if way.is_empty() { depth + 1 } else { 0 };
                Content::Inner(self.nodes(&node.children, way, number, depth))
            }
            _ => return None,
        };
        Some(DataNode::new(id, content))
    }

    /// A value of a type, different for each number if the type has that many values.
    fn value(&self, leaf: NodeId, of: &Type, number: usize) -> Option<Value> {
        if let TypeKind::LeafRef { target_type, .. } = &of.kind {
            return self.value(leaf, target_type, number);
        }
        let names = ModuleNames {
            leaf_module: self.schema.node(leaf).module,
        };
        let mut texts = vec![
            number.to_string(),
            format!("s{number}"),
            format!("10.0.{}.{}", number / 250, number % 250),
            format!("10.0.{number}.0/24"),
            format!("00:00:00:00:{:02x}:{:02x}", number / 256, number % 256),
            "true".to_owned(),
            "1".to_owned(),
            "2020-01-01T00:00:00Z".to_owned(),
        ];
        if let TypeKind::Enumeration(items) = &of.kind {
            texts.extend(
                items
                    .get(number % items.len().max(1))
                    .map(|item| item.name.to_string()),
            );
        }
        texts
            .iter()
            .find_map(|text| of.parse(self.schema, text, &names).ok())
    }
}

/// The number of nodes visited to validate a tree with this many entries of a list.
fn visits(schema: &Schema, plan: &ValidationPlan, list: NodeId, entries: usize) -> u64 {
    let filling = Filling {
        schema,
        list,
        entries,
    };
    let tree = filling.tree();
    let indexed: Vec<NodeId> = schema
        .nodes()
        .map(|node| node.id)
        .filter(|&id| plan.is_indexed(id))
        .collect();
    let data = TreeInstances::new(schema, &tree).with_indexes(&indexed);
    let measured = validate_measured(
        plan,
        &data,
        &data.root(),
        Limits::default(),
        WorkerShare::ALL,
    );
    let (_, effort) = measured.unwrap_or_else(|error| panic!("{error}"));
    effort.visits
}

/// Returns whether a node or a descendant has constraints that read other nodes.
fn is_constrained(schema: &Schema, id: NodeId) -> bool {
    let node = schema.node(id);
    let refers = |value: &Type| matches!(value.kind, TypeKind::LeafRef { .. } | TypeKind::Union(_));
    !node.musts.is_empty()
        || !node.whens.is_empty()
        || node
            .as_value()
            .is_some_and(|value| refers(&value.value_type))
        || node
            .children
            .iter()
            .any(|&child| is_constrained(schema, child))
}

/// Reports the lists of a schema whose constraints cost more than linear time; returns the number of checked lists.
fn check(schema: &Schema, problems: &mut Vec<String>) -> usize {
    let plan = ValidationPlan::compile(schema);
    let mut lists = 0;
    for node in schema.nodes() {
        if !node.is_list() || !node.is_config || !is_constrained(schema, node.id) {
            continue;
        }
        lists += 1;
        let (small, large) = (
            visits(schema, &plan, node.id, ENTRIES),
            visits(schema, &plan, node.id, ENTRIES * FACTOR),
        );
        let is_large = large > VISITS_OF_ENTRY * (ENTRIES * FACTOR) as u64;
        let is_fast = 2 * large > 3 * FACTOR as u64 * small;
        if is_large && is_fast {
            problems.push(format!("{}: {small} -> {large}", schema.path(node.id)));
        }
    }
    lists
}

#[test]
fn constraints_of_real_models_have_linear_cost() {
    let mut problems = Vec::new();
    for (folder, alone) in FOLDERS {
        let Some(modules) = modules(folder) else {
            println!("skipped: there is no folder {folder}");
            continue;
        };
        let mut lists = 0;
        let Some(alone) = alone else {
            let source = SchemaSource {
                modules,
                ..SchemaSource::default()
            };
            let schema = Schema::compile(&source).unwrap_or_else(|errors| panic!("{errors}"));
            lists += check(&schema, &mut problems);
            assert!(lists > 100, "{lists} lists");
            continue;
        };
        let is_constrained = |module: &&ModuleSource| {
            let text = &module.text;
            !module.is_submodule() && (text.contains("must ") || text.contains("when "))
        };
        let names: Vec<String> = modules
            .iter()
            .filter(is_constrained)
            .map(|module| module.name.clone())
            .take(alone)
            .collect();
        let mut source = SchemaSource {
            modules,
            ..SchemaSource::default()
        };
        for name in names {
            source.implement = vec![name];
            // Some texts are invalid as published.
            if let Ok(schema) = Schema::compile(&source) {
                lists += check(&schema, &mut problems);
            }
        }
        assert!(lists > 50, "{lists} lists");
    }
    problems.sort();
    problems.dedup();
    assert!(problems.is_empty(), "\n{}", problems.join("\n"));
}

#[test]
fn constraints_like_those_of_real_models_have_linear_cost() {
    let text = r#"module w { yang-version 1.1; namespace urn:w; prefix w;
        container interfaces { list interface { key name; leaf name { type string; } leaf type { type string; }
            leaf lower { type leafref { path "../../interface/name"; } }
            leaf mtu { type uint16; must "not(../lower) or . <= /interfaces/interface[name = current()/../lower]/mtu"; }
            leaf vlan { when "../type = 's1' or count(../../interface[type = current()/../type]) > 1"; type uint16; } } }
        container acl { list rule { key "acl seq"; leaf acl { type string; } leaf seq { type uint32; }
            leaf pri { type uint32; } unique pri;
            must "count(../rule[acl = current()/acl]) <= 1000";
            must "not(preceding-sibling::rule[acl = current()/acl]/pri = pri)";
            must "not(../rule[acl = current()/acl and seq != current()/seq and pri = current()/pri])"; } } }"#;
    let source = SchemaSource {
        modules: ModuleSource::from_text(text).into_iter().collect(),
        ..SchemaSource::default()
    };
    let schema = Schema::compile(&source).unwrap_or_else(|errors| panic!("{errors}"));
    let mut problems = Vec::new();
    assert_eq!(check(&schema, &mut problems), 2);
    assert!(problems.is_empty(), "\n{}", problems.join("\n"));
}

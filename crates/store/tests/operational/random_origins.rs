//! Random pushes and withdrawals, each with an origin, compared with a naive model of the origins.

use std::collections::BTreeMap;

use espalier_store::{CommitOptions, Edit, Selection, WithOrigin};
use espalier_testkit::seed;
use espalier_yang::data::{Annotation, Content, DataNode, DataTree, Origin, TreeBuilder};
use espalier_yang::{InstancePath, Keys, NodeKind, Schema};
use rand::Rng;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;

use crate::fixture::Fixture;
use crate::naive::{Generator, any_path, has_no_identity, identity};

/// Rounds of a run.
const ROUNDS: usize = 40;

/// Pushes and withdrawals of a round.
const STEPS: usize = 6;

/// The origin of every configuration node of a tree, by its path. Keys, state and containers
/// without presence have none.
type Origins = BTreeMap<String, Origin>;

/// A tree whose nodes carry their origin.
#[derive(Default)]
struct OriginModel {
    nodes: Vec<DataNode>,
}

fn has_origin(schema: &Schema, node: &DataNode) -> bool {
    let kind = schema.node(node.node);
    let is_key = kind.as_value().is_some_and(|leaf| leaf.is_key);
    kind.is_config && !is_key && !kind.is_np_container()
}

fn is_same(schema: &Schema, one: &DataNode, other: &DataNode) -> bool {
    let is_leaf = matches!(schema.node(one.node).kind, NodeKind::Leaf(_));
    one.node == other.node
        && !has_no_identity(schema, one.node)
        && (is_leaf || identity(schema, one) == identity(schema, other))
}

/// Merges a push into the pushed state.
fn push(schema: &Schema, model: &mut Vec<DataNode>, pushed: &[DataNode], origin: Origin) {
    for node in pushed {
        let existing = model
            .iter_mut()
            .find(|existing| is_same(schema, existing, node));
        match (existing, &node.content) {
            (Some(existing), Content::Inner(children)) => {
                if let Content::Inner(own) = &mut existing.content {
                    push(schema, own, children, origin);
                }
            }
            (Some(existing), content) if existing.content == *content => {}
            (Some(existing), content) => {
                existing.content = content.clone();
                existing.annotations = vec![Annotation::Origin(origin)];
            }
            (None, content) => {
                let annotations = vec![Annotation::Origin(origin)];
                let mut new = DataNode {
                    annotations,
                    ..node.clone()
                };
                if let Content::Inner(children) = content {
                    let mut own = Vec::new();
                    push(schema, &mut own, children, origin);
                    new.content = Content::Inner(own);
                }
                model.push(new);
            }
        }
    }
}

/// Removes the nodes at a path.
fn withdraw(schema: &Schema, model: &mut Vec<DataNode>, path: &InstancePath) {
    let Some((first, rest)) = path.steps.split_first() else {
        return;
    };
    let is_meant = |node: &DataNode| {
        node.node == first.node
            && match &first.keys {
                Keys::Values(values) => identity(schema, node) == *values,
                _ => true,
            }
    };
    if rest.is_empty() {
        model.retain(|node| !is_meant(node));
        return;
    }
    let rest = InstancePath {
        steps: rest.to_vec(),
    };
    for node in model.iter_mut().filter(|node| is_meant(node)) {
        if let Content::Inner(children) = &mut node.content {
            withdraw(schema, children, &rest);
        }
    }
}

/// The origins of two merged models: those of the lower one where its content is in use.
fn origins(schema: &Schema, below: &[DataNode], above: &[DataNode], at: &str, all: &mut Origins) {
    for node in below {
        let same = above.iter().find(|other| is_same(schema, node, other));
        let decisive = match same {
            Some(same) if node.value().is_some() && same.content != node.content => same,
            _ => node,
        };
        let children = same.map_or(&[][..], |same| same.children());
        note(schema, decisive, node.children(), children, at, all);
    }
    for node in above {
        if !below.iter().any(|other| is_same(schema, node, other)) {
            note(schema, node, &[], node.children(), at, all);
        }
    }
}

fn note(
    schema: &Schema,
    node: &DataNode,
    below: &[DataNode],
    above: &[DataNode],
    at: &str,
    all: &mut Origins,
) {
    let Some(at) = place(schema, node, at) else {
        return;
    };
    if let (true, [Annotation::Origin(origin)]) =
        (has_origin(schema, node), node.annotations.as_slice())
    {
        all.insert(at.clone(), *origin);
    }
    origins(schema, below, above, &at, all);
}

/// The path of a node below another; `None` if it has no identity.
fn place(schema: &Schema, node: &DataNode, at: &str) -> Option<String> {
    if has_no_identity(schema, node.node) {
        return None;
    }
    let name = &schema.node(node.node).name;
    Some(match schema.node(node.node).kind {
        NodeKind::Leaf(_) => format!("{at}/{name}"),
        _ => format!("{at}/{name}{:?}", identity(schema, node)),
    })
}

/// The origins in a reading, including inherited ones.
fn collect_origins(
    schema: &Schema,
    nodes: &[DataNode],
    inherited: Option<Origin>,
    at: &str,
    all: &mut Origins,
) {
    for node in nodes {
        let Some(at) = place(schema, node, at) else {
            continue;
        };
        let own = node
            .annotations
            .iter()
            .find_map(|annotation| match annotation {
                Annotation::Origin(origin) => Some(*origin),
                _ => None,
            });
        assert!(own.is_none() || schema.node(node.node).is_config, "{at}");
        assert!(own.is_none() || own != inherited, "{at} repeats an origin");
        let origin = own.or(inherited);
        if has_origin(schema, node) {
            all.insert(at.clone(), origin.expect("an origin"));
        }
        collect_origins(schema, node.children(), origin, &at, all);
    }
}

#[test]
fn pushes_keep_their_origins() {
    seed::run("the origins of pushes", |random| {
        (0..ROUNDS).for_each(|_| run(random));
    });
}

fn run(random: &mut StdRng) {
    let fixture = Fixture::new();
    let schema = fixture.schema();
    let mut running = OriginModel::default();
    if random.random_ratio(3, 4) {
        let tree = Generator { schema, random }.tree(schema.roots());
        push(schema, &mut running.nodes, &tree.nodes, Origin::Intended);
        let edits = [Edit::merge(InstancePath::root(), tree)];
        let options = CommitOptions::default();
        fixture.running.commit(&edits, options).expect("a commit");
    }
    let mut pushed = OriginModel::default();
    for _ in 0..STEPS {
        let origin = *Origin::ALL.choose(random).expect("an origin");
        let options = CommitOptions {
            origin,
            ..CommitOptions::default()
        };
        let edit = if random.random_ratio(1, 3) {
            let path = any_path(schema, random, &pushed.nodes);
            let target = path.target().map(|node| schema.node(node));
            let is_key = |leaf: &espalier_yang::schema::ValueNode| leaf.is_key;
            if target.is_none_or(|node| node.as_value().is_some_and(is_key)) {
                continue;
            }
            withdraw(schema, &mut pushed.nodes, &path);
            Edit::remove(path)
        } else {
            let tree = Generator { schema, random }.tree(schema.roots());
            push(schema, &mut pushed.nodes, &tree.nodes, origin);
            Edit::merge(InstancePath::root(), tree)
        };
        let committed = fixture.operational.commit(&[edit], options);
        committed.expect("a push");
        check(&fixture, &running, &pushed);
    }
    let findings = fixture.running.store().check(&mut |_| {}).expect("a check");
    assert_eq!(findings, []);
}

fn check(fixture: &Fixture, running: &OriginModel, pushed: &OriginModel) {
    let schema = fixture.schema();
    let view = fixture.operational.view().expect("a view");
    let selection = Selection {
        with_origin: WithOrigin::Shown,
        ..Selection::default()
    };
    let mut builder = TreeBuilder::new();
    let read = view.read(&InstancePath::root(), &selection, &mut builder);
    assert!(read.expect("a reading"));
    let tree: DataTree = builder.finish().expect("a tree");
    let (mut found, mut expected) = (Origins::new(), Origins::new());
    collect_origins(schema, &tree.nodes, None, "", &mut found);
    origins(schema, &running.nodes, &pushed.nodes, "", &mut expected);
    assert_eq!(found, expected);
}

//! Random sources, merged by the store and by a naive merge of trees.

use espalier_store::{CommitOptions, Edit, Provider, Selection};
use espalier_testkit::seed;
use espalier_yang::data::{DataNode, DataTree, TreeBuilder};
use espalier_yang::{InstancePath, Keys, NodeId};
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;

use crate::fixture::Fixture;
use crate::naive::{Generator, any_path, at, merge};

/// Rounds of a run.
const ROUNDS: usize = 40;

/// The number of reads of each state.
const READINGS: usize = 12;

/// The operational state at a path.
fn read(fixture: &Fixture, path: &InstancePath) -> Option<DataTree> {
    let view = fixture.operational.view().expect("a view");
    let mut builder = TreeBuilder::new();
    let found = view.read(path, &Selection::default(), &mut builder);
    let warnings = view.take_warnings();
    assert!(warnings.is_empty(), "{warnings:?}");
    let tree = builder.finish().expect("a tree");
    found.expect("a reading").then_some(tree)
}

fn check(fixture: &Fixture, expected: &DataTree, path: &InstancePath) {
    let schema = fixture.schema();
    let found = read(fixture, path);
    let nodes: Vec<DataNode> = match path.is_root() {
        true => expected.nodes.clone(),
        false => at(schema, &expected.nodes, path)
            .into_iter()
            .cloned()
            .collect(),
    };
    let text = path.to_instance_identifier(schema);
    let expected = DataTree { nodes };
    let found = found.unwrap_or_default();
    assert!(
        found.is_equivalent(&expected, schema),
        "{text}: {found:#?} instead of {expected:#?}"
    );
    let is_whole = |step: &espalier_yang::Step| {
        let node = schema.node(step.node);
        step.keys == Keys::None && (node.is_list() || node.is_leaf_list())
    };
    if path.steps.last().is_some_and(is_whole) {
        let view = fixture.operational.view().expect("a view");
        let count = view.count(path).expect("a count");
        assert_eq!(count, expected.nodes.len() as u64, "{text}");
    }
}

#[test]
fn sources_are_merged_like_the_naive_merge() {
    seed::run("the sources of operational", |random| {
        for round in 0..ROUNDS {
            let fixture = Fixture::new();
            run(&fixture, random, round % 4);
        }
    });
}

fn run(fixture: &Fixture, random: &mut StdRng, providers: usize) {
    let schema = fixture.schema();
    let roots = schema.roots();
    let generate = |random: &mut StdRng, roots: &[NodeId]| Generator { schema, random }.tree(roots);
    let running = generate(random, roots);
    let pushed = generate(random, roots);
    let commit = |tree: &espalier_store::Tree, data: &DataTree| {
        let edits = [Edit::merge(InstancePath::root(), data.clone())];
        tree.commit(&edits, CommitOptions::default())
            .expect("a commit");
    };
    commit(&fixture.running, &running);
    commit(&fixture.operational, &pushed);
    let mut expected = DataTree::default();
    merge(schema, &mut expected.nodes, &running.nodes);
    merge(schema, &mut expected.nodes, &pushed.nodes);
    let mut kept = Vec::new();
    for number in 0..providers {
        let root = *roots.choose(random).expect("a root");
        let provided = generate(random, &[root]);
        merge(schema, &mut expected.nodes, &provided.nodes);
        let provider = Provider::new(format!("{number}"), move |_| Ok(provided.clone()));
        let at = InstancePath::root().child(root, Keys::None);
        kept.push(
            fixture
                .operational
                .provide(at, provider)
                .expect("a provider"),
        );
    }
    check(fixture, &expected, &InstancePath::root());
    for _ in 0..READINGS {
        let path = any_path(schema, random, &expected.nodes);
        check(fixture, &expected, &path);
    }
}

//! The stored form is a function of the tree: random edits that lead to a tree leave the same keys and values
//! as a load of that tree.

use espalier_keyspace::{KeyRange, tuple};
use espalier_store::{Datastore, LoadMode, Subspace, Tree};
use espalier_testkit::rows::{Row, rows};
use espalier_testkit::seed;
use espalier_yang::data::DataTree;

use crate::edit::{Change, apply};
use crate::fixture::{SORTED, assert_same, commit, load_tree, memory_tree, read_all, show};
use crate::generate::Generator;

const COMMITS: u64 = 800;

#[test]
fn edits_store_the_same_as_a_load_of_their_result() {
    seed::run("canonical storage", |random| {
        let commits = seed::number_from_environment("ESPALIER_OPERATIONS").unwrap_or(COMMITS);
        let tree = memory_tree(SORTED);
        let schema = tree.schema().clone();
        let mut model = DataTree::default();
        let mut generator = Generator {
            schema: &schema,
            random,
        };
        for number in 0..commits {
            let change = generator.change(&model);
            if matches!(change, Change::ReplaceAll(_) | Change::Delete(_)) && number % 3 != 0 {
                continue;
            }
            let _ = apply(&schema, &mut model, std::slice::from_ref(&change));
            let _ = commit(&tree, &[change.to_edit()]);
            if number % 5 == 0 {
                compare(&tree, &model);
            }
        }
    });
}

fn compare(tree: &Tree, model: &DataTree) {
    let store = tree.store();
    store.create_anchor("d", "fresh", "s").unwrap();
    let fresh = store.tree("d", "fresh", Datastore::Running).unwrap();
    let found = read_all(tree);
    assert_same(tree.schema(), &found, model, "the edits");
    load_tree(&fresh, LoadMode::Create, &found).unwrap();
    for subspace in [Subspace::Tree, Subspace::Order] {
        let (edited, loaded) = (dump(tree, "a", subspace), dump(&fresh, "fresh", subspace));
        assert!(edited == loaded, "{}", show(tree.schema(), model));
    }
    store.delete_anchor("d", "fresh").unwrap();
}

/// The keys of an anchor in a subspace, without their prefix, and the values.
pub fn dump(tree: &Tree, anchor: &str, subspace: Subspace) -> Vec<Row> {
    let store = tree.store();
    let mut prefix = subspace.key();
    tuple::put_unsigned(&mut prefix, store.anchor("d", anchor).unwrap().id);
    let found = rows(&**store.driver(), &KeyRange::prefix(&prefix));
    let without = |(key, value): Row| (key[prefix.len()..].to_vec(), value);
    found.into_iter().map(without).collect()
}

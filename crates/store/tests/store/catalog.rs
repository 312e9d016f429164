//! Dataspaces, schema sets, anchors: rejections, isolation, costs.

use std::time::{Duration, Instant};

use espalier_store::{Datastore, Error, LoadMode, Store, Subspace, UpgradeOptions};

use crate::fixture::{
    MODEL, SORTED, assert_sound, load_json, memory_tree, merge, open_store, source, text,
};

fn store() -> Store {
    let store = open_store(espalier_drivers::open("memory:").unwrap());
    store.create_dataspace("d").unwrap();
    store.create_schema_set("d", "s", &source(SORTED)).unwrap();
    store.create_anchor("d", "a", "s").unwrap();
    store
}

fn is_unknown<T: std::fmt::Debug>(result: Result<T, Error>, kind: &str) {
    match result {
        Err(Error::Unknown { kind: found, .. }) => assert_eq!(found, kind),
        other => panic!("{other:?}"),
    }
}

#[test]
fn missing_names_are_unknown() {
    let store = store();
    is_unknown(store.schema_sets("x"), "dataspace");
    is_unknown(store.anchors("x", None, 1), "dataspace");
    is_unknown(store.create_anchor("x", "a", "s"), "dataspace");
    is_unknown(
        store.create_schema_set("x", "s", &source(SORTED)),
        "dataspace",
    );
    is_unknown(store.create_anchor("d", "b", "x"), "schema set");
    is_unknown(
        store.upgrade_schema_set("d", "x", &source(SORTED), UpgradeOptions::default()),
        "schema set",
    );
    is_unknown(store.delete_schema_set("d", "x"), "schema set");
    is_unknown(store.schema_set("d", "x"), "schema set");
    is_unknown(store.anchor("d", "x"), "anchor");
    is_unknown(store.delete_anchor("d", "x"), "anchor");
    is_unknown(store.delete_dataspace("x"), "dataspace");
    let tree = store.tree("d", "x", Datastore::Running).map(drop);
    is_unknown(tree, "anchor");
}

#[test]
fn existing_names_are_not_created_and_used_ones_not_deleted() {
    let store = store();
    let exists = |result| assert!(matches!(result, Err(Error::Exists { .. })));
    exists(store.create_dataspace("d"));
    exists(store.create_schema_set("d", "s", &source(SORTED)));
    exists(store.create_anchor("d", "a", "s"));
    let in_use = |result| assert!(matches!(result, Err(Error::InUse { .. })));
    in_use(store.delete_dataspace("d"));
    in_use(store.delete_schema_set("d", "s"));
    store.delete_anchor("d", "a").unwrap();
    in_use(store.delete_dataspace("d"));
    store.delete_schema_set("d", "s").unwrap();
    store.delete_dataspace("d").unwrap();
    assert_eq!(store.dataspaces().unwrap(), Vec::<String>::new());
    let left: u64 = store
        .usage()
        .unwrap()
        .iter()
        .filter(|(one, _)| ![Subspace::Meta, Subspace::Dictionary].contains(one))
        .map(|(_, usage)| usage.keys)
        .sum();
    assert_eq!(left, 0);
}

#[test]
fn names_are_checked() {
    let store = store();
    let long = "x".repeat(256);
    for name in ["", "a/b", "a\nb", long.as_str()] {
        for result in [
            store.create_dataspace(name),
            store.create_schema_set("d", name, &source(SORTED)),
            store.create_anchor("d", name, "s"),
        ] {
            assert!(matches!(result, Err(Error::BadName { .. })), "{name:?}");
        }
    }
    for name in ["å\u{1f600}", " ", "..", "a b,c=d'\"", &long[..255]] {
        store.create_dataspace(name).unwrap();
        store
            .create_schema_set(name, name, &source(SORTED))
            .unwrap();
        store.create_anchor(name, name, name).unwrap();
        store
            .tree(name, name, Datastore::Running)
            .map(drop)
            .unwrap();
    }
    assert_eq!(store.dataspaces().unwrap().len(), 6);
}

#[test]
fn a_model_that_does_not_compile_is_rejected_and_not_stored() {
    let store = store();
    let broken = source("module m { namespace urn:m; prefix m; leaf x { type nothing; } }");
    assert!(matches!(
        store.create_schema_set("d", "t", &broken),
        Err(Error::Schema(_))
    ));
    assert!(matches!(
        store.upgrade_schema_set("d", "s", &broken, UpgradeOptions::default()),
        Err(Error::Schema(_))
    ));
    assert_eq!(store.schema_sets("d").unwrap(), ["s"]);
    assert_eq!(store.schema_set("d", "s").unwrap().source, source(SORTED));
}

#[test]
fn anchors_are_isolated() {
    let first = memory_tree(MODEL);
    let store = first.store().clone();
    store.create_dataspace("e").unwrap();
    store.create_schema_set("e", "s", &source(MODEL)).unwrap();
    store.create_anchor("d", "b", "s").unwrap();
    store.create_anchor("e", "a", "s").unwrap();
    let tree = |dataspace, anchor| store.tree(dataspace, anchor, Datastore::Running).unwrap();
    let others = [tree("d", "b"), tree("e", "a")];
    merge(
        &first,
        r#"{"m:top":"1","m:rule":[{"name":"x","match":[{"src":"s","dst":"d"}]}]}"#,
    );
    let kept = text(&first);
    for (number, other) in others.iter().enumerate() {
        assert_eq!(
            (
                text(other).as_str(),
                other.view().unwrap().version().unwrap()
            ),
            ("{}", 0)
        );
        load_json(
            other,
            LoadMode::Replace,
            &format!(r#"{{"m:top":"{number}"}}"#),
        )
        .unwrap();
    }
    store.delete_anchor("d", "b").unwrap();
    assert_eq!(text(&first), kept);
    assert_eq!(text(&others[1]), r#"{"m:top":"1"}"#);
    assert_sound(&store);
}

#[test]
fn deleting_an_anchor_deletes_all_its_data_and_frees_its_name() {
    let tree = memory_tree(MODEL);
    let store = tree.store().clone();
    let usage = || store.usage().unwrap();
    let before = usage();
    store.create_anchor("d", "b", "s").unwrap();
    let other = store.tree("d", "b", Datastore::Running).unwrap();
    load_json(
        &other,
        LoadMode::Merge,
        r#"{"m:rule":[{"name":"x"}],"m:turn":["1"]}"#,
    )
    .unwrap();
    merge(&other, r#"{"m:rule":[{"name":"y"}]}"#);
    store.delete_anchor("d", "b").unwrap();
    let keys = |usage: &[(Subspace, espalier_keyspace::Usage)]| {
        usage.iter().map(|(_, one)| one.keys).collect::<Vec<_>>()
    };
    assert_eq!(keys(&usage()), keys(&before));
    // A tree of the deleted anchor cannot be written to, also after the name is reused.
    let refused = |tree: &espalier_store::Tree| {
        let document = crate::fixture::data(tree.schema(), r#"{"m:top":"x"}"#);
        let edit = espalier_store::Edit::merge(espalier_yang::InstancePath::root(), document);
        is_unknown(crate::fixture::commit(tree, &[edit]), "anchor");
        is_unknown(
            load_json(tree, LoadMode::Merge, r#"{"m:top":"x"}"#),
            "anchor",
        );
    };
    refused(&other);
    store.create_anchor("d", "b", "s").unwrap();
    refused(&other);
    assert_eq!(keys(&usage())[3], keys(&before)[3]);
}

#[test]
fn the_cost_does_not_depend_on_the_number_of_anchors() {
    let directory = tempfile::tempdir().unwrap();
    let url = format!("embedded:{}?durability=relaxed", directory.path().display());
    let anchors: u32 =
        std::env::var("ESPALIER_ANCHORS").map_or(20_000, |text| text.parse().unwrap());
    let few = {
        let store = open_store(espalier_drivers::open(&url).unwrap());
        store.create_dataspace("d").unwrap();
        store.create_schema_set("d", "s", &source(SORTED)).unwrap();
        store.create_anchor("d", "first", "s").unwrap();
        let few = cost(&store, "first");
        let start = Instant::now();
        for number in 0..anchors {
            store
                .create_anchor("d", &format!("n{number}"), "s")
                .unwrap();
        }
        println!("{anchors} anchors made in {:?}", start.elapsed());
        few
    };
    let start = Instant::now();
    let store = open_store(espalier_drivers::open(&url).unwrap());
    println!("opened in {:?}", start.elapsed());
    store.tree("d", "n0", Datastore::Running).map(drop).unwrap();
    let many = cost(&store, &format!("n{}", anchors / 2));
    println!("a tree and a commit: {few:?} with one anchor, {many:?} with {anchors}");
    assert!(many < few * 20 + Duration::from_millis(5));
    let page = store.anchors("d", Some("n5"), 3).unwrap();
    assert_eq!(page.len(), 3);
    assert!(page.iter().all(|anchor| anchor.name.as_str() > "n5"));
}

/// The minimum time of opening a tree and changing it.
fn cost(store: &Store, anchor: &str) -> Duration {
    let one = |number: u32| {
        let start = Instant::now();
        let tree = store.tree("d", anchor, Datastore::Running).unwrap();
        merge(&tree, &format!(r#"{{"m:top":"{number}"}}"#));
        start.elapsed()
    };
    (0..20).map(one).min().unwrap()
}

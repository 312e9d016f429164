//! New versions of models: the data stays, nodes keep their numbers.

use espalier_store::{
    CommitOptions, Datastore, Edit, Error, LoadMode, Subspace, Tree, UnknownData, UpgradeOptions,
};
use espalier_testkit::documents::json_document;
use espalier_testkit::rows::{Row, rows};
use espalier_yang::InstancePath;

use crate::fixture::{assert_sound, load_json, open_store, source, text};

const OLD: &str = "module m { yang-version 1.1; namespace urn:m; prefix m;
  leaf first { type string; } leaf gone { type string; }
  list e { key k; leaf k { type string; } leaf v { type int8; } container in { leaf x { type string; } }
    list o { key n; ordered-by user; leaf n { type string; } } } }";

/// Another order, new nodes at the start and in between, one removed, wider types.
const NEW: &str = "module m { yang-version 1.1; namespace urn:m; prefix m;
  container before { presence p; leaf a { type string; } } leaf added { type string; }
  list e { key k; leaf a0 { type string; } leaf v { type int8 { range '-128..127'; } }
    list o { key n; ordered-by user; leaf extra { type string; } leaf n { type string; } }
    container in { leaf w { type string; } leaf x { type string; } } leaf k { type string; } }
  leaf first { type string; } }";

const DATA: &str =
    r#"{"m:first":"1","m:e":[{"k":"a","v":1,"in":{"x":"y"},"o":[{"n":"2"},{"n":"1"}]},{"k":"b"}]"#;

fn dump(tree: &Tree, subspace: Subspace) -> Vec<Row> {
    rows(&**tree.store().driver(), &subspace.range())
}

#[test]
fn an_upgrade_keeps_the_data_and_the_numbers_of_nodes() {
    let directory = tempfile::tempdir().unwrap();
    let url = format!("embedded:{}?durability=relaxed", directory.path().display());
    let open = || open_store(espalier_drivers::open(&url).unwrap());
    let kept = {
        let store = open();
        store.create_dataspace("d").unwrap();
        store.create_schema_set("d", "s", &source(OLD)).unwrap();
        store.create_anchor("d", "a", "s").unwrap();
        let tree = store.tree("d", "a", Datastore::Running).unwrap();
        load_json(&tree, LoadMode::Merge, &format!(r#"{DATA},"m:gone":"g"}}"#)).unwrap();
        let kept = dump(&tree, Subspace::Tree);
        // Data that would be hidden is rejected, or removed on request.
        let refused = store.upgrade_schema_set("d", "s", &source(NEW), UpgradeOptions::default());
        assert!(matches!(refused, Err(Error::Upgrade { .. })), "{refused:?}");
        assert_eq!(dump(&tree, Subspace::Tree), kept);
        let dropping = UpgradeOptions {
            unknown: UnknownData::Drop,
            ..UpgradeOptions::default()
        };
        let report = store
            .upgrade_schema_set("d", "s", &source(NEW), dropping)
            .unwrap();
        assert_eq!(report.datastores[0].dropped.shown[0].path, "/m:gone");
        let new = store.tree("d", "a", Datastore::Running).unwrap();
        assert!(new.schema().nodes().len() > tree.schema().nodes().len());
        kept
    };
    let store = open();
    let tree = store.tree("d", "a", Datastore::Running).unwrap();
    let shown = text(&tree);
    for part in [
        r#""m:first":"1""#,
        r#""o":[{"n":"2"},{"n":"1"}]"#,
        r#""in":{"x":"y"}"#,
    ] {
        assert!(shown.contains(part), "{shown}");
    }
    assert!(!shown.contains("gone"), "{shown}");
    assert_sound(&store);
    // Removed data is in the history, and is restored under the models that have it.
    store
        .upgrade_schema_set("d", "s", &source(OLD), UpgradeOptions::default())
        .unwrap();
    let tree = store.tree("d", "a", Datastore::Running).unwrap();
    assert!(!text(&tree).contains("gone"));
    tree.rollback(1, CommitOptions::default()).unwrap();
    assert!(text(&tree).contains(r#""m:gone":"g""#));
    assert!(text(&tree).contains(r#""o":[{"n":"2"},{"n":"1"}]"#));
    assert_sound(&store);
    // A load of the same data under the first model has the same positions.
    load_json(
        &tree,
        LoadMode::Replace,
        &format!(r#"{DATA},"m:gone":"g"}}"#),
    )
    .unwrap();
    assert_eq!(dump(&tree, Subspace::Tree), kept);
}

#[test]
fn schema_sets_share_the_numbers_of_common_nodes() {
    let store = open_store(espalier_drivers::open("memory:").unwrap());
    store.create_dataspace("d").unwrap();
    for (set, model) in [("old", OLD), ("new", NEW)] {
        store.create_schema_set("d", set, &source(model)).unwrap();
        store.create_anchor("d", set, set).unwrap();
        let tree = store.tree("d", set, Datastore::Running).unwrap();
        load_json(&tree, LoadMode::Merge, &format!("{DATA}}}")).unwrap();
    }
    let tree = store.tree("d", "old", Datastore::Running).unwrap();
    let pairs = dump(&tree, Subspace::Tree);
    let prefix = |set: &str| {
        let mut key = Subspace::Tree.key();
        espalier_keyspace::tuple::put_unsigned(&mut key, store.anchor("d", set).unwrap().id);
        key
    };
    let of = |set: &str| -> Vec<_> {
        let prefix = prefix(set);
        let own = pairs.iter().filter(|(key, _)| key.starts_with(&prefix));
        own.map(|(key, value)| (key[prefix.len()..].to_vec(), value.clone()))
            .collect()
    };
    assert_eq!(of("old"), of("new"));
    assert!(of("old").len() > 4);
}

#[test]
fn an_upgrade_that_the_data_does_not_fit_is_rejected() {
    let model = |rule: &str| {
        let text = format!(
            "module m {{ yang-version 1.1; namespace urn:m; prefix m;
               list e {{ key k; {rule} leaf k {{ type string; }} leaf v {{ type int8; }} }} }}"
        );
        source(&text)
    };
    let store = open_store(espalier_drivers::open("memory:").unwrap());
    store.create_dataspace("d").unwrap();
    store.create_schema_set("d", "s", &model("")).unwrap();
    for anchor in ["a", "b"] {
        store.create_anchor("d", anchor, "s").unwrap();
    }
    let tree = store.tree("d", "b", Datastore::Running).unwrap();
    load_json(
        &tree,
        LoadMode::Merge,
        r#"{"m:e":[{"k":"x","v":1},{"k":"y","v":1}]}"#,
    )
    .unwrap();
    for rule in ["unique v;", "must 'v > 1';", "max-elements 1;"] {
        let refused = store.upgrade_schema_set("d", "s", &model(rule), UpgradeOptions::default());
        let Err(espalier_store::Error::Upgrade { anchors, errors }) = refused else {
            panic!("{rule} is accepted");
        };
        assert_eq!(anchors, ["b"]);
        assert!(!errors.is_empty(), "{rule}");
    }
    store
        .upgrade_schema_set(
            "d",
            "s",
            &model("must 'v > 0'; unique 'k v';"),
            UpgradeOptions::default(),
        )
        .unwrap();
    let tree = store.tree("d", "b", Datastore::Running).unwrap();
    assert!(load_json(&tree, LoadMode::Merge, r#"{"m:e":[{"k":"z","v":0}]}"#).is_err());
    load_json(&tree, LoadMode::Merge, r#"{"m:e":[{"k":"z","v":1}]}"#).unwrap();
    assert_sound(&store);
    tree.validate().unwrap();
}

fn limited(rule: &str) -> espalier_yang::schema::SchemaSource {
    let head = "module m { yang-version 1.1; namespace urn:m; prefix m;";
    source(&format!("{head} leaf v {{ type int8; {rule} }} }}"))
}

#[test]
fn trees_opened_before_an_upgrade_cannot_commit() {
    let store = open_store(espalier_drivers::open("memory:").unwrap());
    store.create_dataspace("d").unwrap();
    store.create_schema_set("d", "s", &limited("")).unwrap();
    store.create_anchor("d", "a", "s").unwrap();
    let old = store.tree("d", "a", Datastore::Running).unwrap();
    let candidate = store.tree("d", "a", Datastore::Candidate).unwrap();
    load_json(&candidate, LoadMode::Merge, r#"{"m:v":1}"#).unwrap();
    let strict = limited("must '. > 5';");
    store
        .upgrade_schema_set("d", "s", &strict, UpgradeOptions::default())
        .unwrap();
    for tree in [&old, &candidate] {
        let refused = match tree.datastore() {
            Datastore::Running => load_json(tree, LoadMode::Merge, r#"{"m:v":1}"#).map(|_| ()),
            _ => tree
                .commit_candidate(espalier_store::CommitOptions::default())
                .map(|_| ()),
        };
        let refused = refused.unwrap_err().to_string();
        assert!(refused.contains("open the tree again"), "{refused}");
    }
    let new = store.tree("d", "a", Datastore::Running).unwrap();
    load_json(&new, LoadMode::Merge, r#"{"m:v":6}"#).unwrap();
    // Replacing the modules with the same ones is another upgrade; trees opened after it can commit.
    store
        .upgrade_schema_set("d", "s", &limited(""), UpgradeOptions::default())
        .unwrap();
    store
        .upgrade_schema_set("d", "s", &strict, UpgradeOptions::default())
        .unwrap();
    assert!(load_json(&new, LoadMode::Merge, r#"{"m:v":7}"#).is_err());
    let newest = store.tree("d", "a", Datastore::Running).unwrap();
    load_json(&newest, LoadMode::Merge, r#"{"m:v":7}"#).unwrap();
    assert_sound(&store);
}

/// The maximum time that a test waits for its threads to alternate.
const TURNS: std::time::Duration = std::time::Duration::from_secs(60);

#[test]
fn data_that_changes_during_an_upgrade_is_validated_again() {
    let store = open_store(espalier_drivers::open("memory:").unwrap());
    store.create_dataspace("d").unwrap();
    store.create_schema_set("d", "s", &limited("")).unwrap();
    store.create_anchor("d", "a", "s").unwrap();
    let is_over = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for (turn, value) in [9, 1].iter().cycle().enumerate() {
                if is_over.load(std::sync::atomic::Ordering::Relaxed) {
                    return;
                }
                let tree = store.tree("d", "a", Datastore::Running).unwrap();
                let _ = load_json(&tree, LoadMode::Merge, &format!(r#"{{"m:v":{value}}}"#));
                // Sometimes during an upgrade, sometimes between two.
                std::thread::sleep(std::time::Duration::from_micros(turn as u64 % 97 * 20));
            }
        });
        // Until both have happened often: the test does not control how the threads alternate.
        let (mut upgraded, mut refused) = (0, 0);
        let began = std::time::Instant::now();
        while (upgraded < 20 || refused < 20) && began.elapsed() < TURNS {
            match store.upgrade_schema_set(
                "d",
                "s",
                &limited("must '. > 5';"),
                UpgradeOptions::default(),
            ) {
                Ok(_) => {
                    upgraded += 1;
                    let tree = store.tree("d", "a", Datastore::Running).unwrap();
                    tree.validate_whole().unwrap();
                    store
                        .upgrade_schema_set("d", "s", &limited(""), UpgradeOptions::default())
                        .unwrap();
                }
                Err(_) => refused += 1,
            }
            std::thread::yield_now();
        }
        is_over.store(true, std::sync::atomic::Ordering::Relaxed);
        assert!(upgraded > 0, "all {refused} upgrades were refused");
        assert!(refused > 0, "none of {upgraded} upgrades was refused");
    });
    assert_sound(&store);
}

/// For a missing leaf, an index has the schema default. It once kept the old default, and `unique` then
/// accepted two equal entries.
#[test]
fn indexes_have_the_defaults_of_the_new_modules() {
    let model = |default: &str| {
        source(&format!(
            "module m {{ yang-version 1.1; namespace urn:m; prefix m; \
             list e {{ key k; unique v; leaf k {{ type string; }} leaf v {{ type string; default {default}; }} }} }}"
        ))
    };
    let store = open_store(espalier_drivers::open("memory:").unwrap());
    store.create_dataspace("d").unwrap();
    store.create_schema_set("d", "s", &model("one")).unwrap();
    store.create_anchor("d", "a", "s").unwrap();
    let open = || store.tree("d", "a", Datastore::Running).unwrap();
    load_json(
        &open(),
        LoadMode::Merge,
        r#"{"m:e":[{"k":"x"},{"k":"y","v":"z"}]}"#,
    )
    .unwrap();
    let upgrade =
        |default| store.upgrade_schema_set("d", "s", &model(default), UpgradeOptions::default());
    let refused = upgrade("z");
    assert!(matches!(refused, Err(Error::Upgrade { .. })), "{refused:?}");
    upgrade("two").unwrap();
    assert_sound(&store);
    let same = load_json(&open(), LoadMode::Merge, r#"{"m:e":[{"k":"w","v":"two"}]}"#);
    assert!(matches!(same, Err(Error::Data(_))), "{same:?}");
    load_json(&open(), LoadMode::Merge, r#"{"m:e":[{"k":"w","v":"one"}]}"#).unwrap();
    assert_sound(&store);
}

/// Regression: each attempt took longer than the time between two commits, so an upgrade of much data failed.
#[test]
fn frequent_commits_do_not_keep_an_upgrade_from_succeeding() {
    const ENTRIES: usize = 20_000;
    let model = |kind: &str| {
        format!(
            "module m {{ yang-version 1.1; namespace urn:m; prefix m;
            list e {{ key k; leaf k {{ type uint32; }} leaf v {{ type {kind}; }} }} }}"
        )
    };
    let store = open_store(espalier_drivers::open("memory:").unwrap());
    store.create_dataspace("d").unwrap();
    let old = source(&model("uint32"));
    store.create_schema_set("d", "s", &old).unwrap();
    store.create_anchor("d", "a", "s").unwrap();
    let tree = store.tree("d", "a", Datastore::Running).unwrap();
    let entries: Vec<_> = (0..ENTRIES)
        .map(|k| format!(r#"{{"k":{k},"v":0}}"#))
        .collect();
    let document = format!(r#"{{"m:e":[{}]}}"#, entries.join(","));
    load_json(&tree, LoadMode::Merge, &document).unwrap();
    let started = std::sync::Barrier::new(2);
    let commits = std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            for commits in 0_usize.. {
                let (k, v) = (commits % ENTRIES, commits + 1);
                let change = format!(r#"{{"m:e":[{{"k":{k},"v":{v}}}]}}"#);
                let edit = Edit::merge(InstancePath::root(), json_document(tree.schema(), &change));
                if tree.commit(&[edit], CommitOptions::default()).is_err() {
                    return commits;
                }
                if commits == 10 {
                    started.wait();
                }
            }
            unreachable!("the modules were not replaced")
        });
        started.wait();
        let new = source(&model("uint64"));
        let upgraded = store.upgrade_schema_set("d", "s", &new, UpgradeOptions::default());
        upgraded.expect("an upgrade");
        writer.join().expect("a writer")
    });
    let upgraded = store.tree("d", "a", Datastore::Running).unwrap();
    let last = format!(r#"{{"k":{},"v":"{commits}"}}"#, (commits - 1) % ENTRIES);
    assert!(text(&upgraded).contains(&last), "{last}");
    assert_sound(&store);
}

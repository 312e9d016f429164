//! Stored compiled schema sets: they are read instead of compiling the modules, and compiled again if they do
//! not match.

use std::io::Seek;
use std::sync::Arc;
use std::thread;

use espalier_keyspace::{Batch, Driver, KeyRange, ReadOnly};
use espalier_store::{
    Datastore, Edit, ExistingRows, LoadMode, Store, Subspace, Timestamp, Tree, backup, copy,
    restore,
};
use espalier_testkit::rows::{Row, rows};
use espalier_testkit::seed;
use rand::Rng;
use rand::seq::IndexedRandom;

use crate::fixture::{
    assert_sound, commit, load_json, memory_tree, open_store, path, source, text,
};

const DATA: &str = r#"{"m:c7":{"e":[{"k":"a","v":1,"to":"b"},{"k":"b"}]}}"#;

/// A model that is large enough to be stored; `more` is added to each of its lists.
fn model(more: &str) -> String {
    let mut text = String::from("module m { yang-version 1.1; namespace urn:m; prefix m;");
    for top in 0..200 {
        text += &format!(
            "container c{top} {{ list e {{ key k; leaf k {{ type string {{ pattern '[a-z]+'; }} }}
               leaf v {{ type int8; must '. < 10'; }} leaf to {{ type leafref {{ path '../../e/k'; }} }} {more} }} }}"
        );
    }
    text + "}"
}

/// The engines that are durable and need no server.
const ENGINES: [&str; 3] = ["embedded", "file", "sqlite"];

struct Fixture {
    engine: &'static str,
    folder: tempfile::TempDir,
}

impl Fixture {
    fn new(engine: &'static str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        Self { engine, folder }
    }

    fn driver(&self) -> Arc<dyn Driver> {
        let path = self.folder.path().join("store");
        let url = format!("{}:{}?durability=relaxed", self.engine, path.display());
        espalier_drivers::open(&url).unwrap()
    }

    fn store(&self) -> Store {
        open_store(self.driver())
    }

    /// A store with a schema set and data.
    fn filled(engine: &'static str, model: &str) -> Self {
        let fixture = Self::new(engine);
        let store = fixture.store();
        store.create_dataspace("d").unwrap();
        store.create_schema_set("d", "s", &source(model)).unwrap();
        store.create_anchor("d", "a", "s").unwrap();
        load_json(&tree(&store), LoadMode::Merge, DATA).unwrap();
        fixture
    }
}

fn tree(store: &Store) -> Tree {
    store.tree("d", "a", Datastore::Running).unwrap()
}

fn kept(driver: &dyn Driver) -> Vec<Row> {
    rows(driver, &Subspace::Compiled.range())
}

fn delete_kept(driver: &dyn Driver) {
    let mut batch = Batch::new();
    batch.delete_range(Subspace::Compiled.range());
    driver.commit(batch).unwrap();
}

/// Deletes the texts of all modules, so that any compilation fails.
fn delete_texts(driver: &dyn Driver) {
    let mut batch = Batch::new();
    batch.delete_range(KeyRange::prefix(&[Subspace::Catalog as u8, 3]));
    driver.commit(batch).unwrap();
}

#[test]
fn a_store_opens_without_compiling_and_validates_equally() {
    for engine in ENGINES {
        let fixture = Fixture::filled(engine, &model(""));
        delete_texts(&*fixture.driver());
        let store = fixture.store();
        let tree = tree(&store);
        assert_eq!(text(&tree), DATA);
        load_json(&tree, LoadMode::Merge, r#"{"m:c9":{"e":[{"k":"b"}]}}"#).unwrap();
        for (refused, why) in [
            (r#"{"m:c7":{"e":[{"k":"A"}]}}"#, "a pattern"),
            (r#"{"m:c7":{"e":[{"k":"b","v":11}]}}"#, "a must"),
            (r#"{"m:c7":{"e":[{"k":"b","to":"c"}]}}"#, "a leafref"),
        ] {
            assert!(load_json(&tree, LoadMode::Merge, refused).is_err(), "{why}");
        }
        let delete = Edit::delete(path(tree.schema(), "/m:c7/e[k='b']"));
        assert!(commit(&tree, &[delete]).is_err(), "a target of a leafref");
        assert_sound(&store);
    }
}

#[test]
fn unmatched_compilations_are_recompiled_and_stored() {
    seed::run("kept schema sets that are damaged", |random| {
        let engine = *ENGINES.choose(random).unwrap();
        let fixture = Fixture::filled(engine, &model(""));
        let whole = kept(&*fixture.driver());
        assert!(whole.len() > 1, "{} rows", whole.len());
        for _ in 0..30 {
            let driver = fixture.driver();
            let mut batch = Batch::new();
            let (key, value) = &whole[random.random_range(0..whole.len())];
            let mut changed = value.clone();
            let at = random.random_range(0..value.len());
            match random.random_range(0..4) {
                0 => batch.delete(key.clone()),
                1 => batch.put(key.clone(), &value[..at]),
                2 => batch.put([key.as_slice(), &[0]].concat(), &value[at..]),
                _ => {
                    changed[at] ^= 1 << random.random_range(0..8);
                    batch.put(key.clone(), changed);
                }
            }
            driver.commit(batch).unwrap();
            drop(driver);
            let store = fixture.store();
            let tree = tree(&store);
            assert_eq!(text(&tree), DATA);
            assert_eq!(tree.schema().nodes().len(), 200 * 5);
            assert!(kept(&**store.driver()) == whole, "it is not kept as it was");
        }
    });
}

#[test]
fn a_compilation_of_another_schema_set_is_not_used() {
    for engine in ENGINES {
        let fixture = Fixture::filled(engine, &model(""));
        let store = fixture.store();
        let other = model("leaf more { type string; }");
        store.create_schema_set("d", "t", &source(&other)).unwrap();
        store.create_anchor("d", "b", "t").unwrap();
        store.tree("d", "b", Datastore::Running).unwrap();
        // The rows of the first under the keys of the second, and vice versa.
        let all = kept(&**store.driver());
        let prefixes: Vec<u8> = all.iter().map(|(key, _)| key[2]).collect();
        let (first, second) = (prefixes[0], prefixes[prefixes.len() - 1]);
        assert_ne!(first, second);
        let mut batch = Batch::new();
        batch.delete_range(Subspace::Compiled.range());
        for (mut key, value) in all {
            key[2] = if key[2] == first { second } else { first };
            batch.put(key, value);
        }
        store.driver().commit(batch).unwrap();
        drop(store);
        let store = fixture.store();
        assert_eq!(tree(&store).schema().nodes().len(), 200 * 5);
        let other = store.tree("d", "b", Datastore::Running).unwrap();
        assert_eq!(other.schema().nodes().len(), 200 * 6);
    }
}

#[test]
fn an_upgrade_and_a_deletion_replace_the_stored_compilation() {
    for engine in ENGINES {
        let fixture = Fixture::filled(engine, &model(""));
        let store = fixture.store();
        let old = kept(&**store.driver());
        let new = model("leaf more { type string; }");
        store
            .upgrade_schema_set(
                "d",
                "s",
                &source(&new),
                espalier_store::UpgradeOptions::default(),
            )
            .unwrap();
        assert!(kept(&**store.driver()) != old);
        delete_texts(&**store.driver());
        drop(store);
        let store = fixture.store();
        assert_eq!(tree(&store).schema().nodes().len(), 200 * 6);
        store.delete_anchor("d", "a").unwrap();
        store.delete_schema_set("d", "s").unwrap();
        assert!(kept(&**store.driver()).is_empty());
    }
}

#[test]
fn a_read_only_store_opens_and_is_unchanged() {
    for engine in ENGINES {
        let fixture = Fixture::filled(engine, &model(""));
        let driver = fixture.driver();
        delete_kept(&*driver);
        let read_only = Arc::new(ReadOnly::with_reason(Arc::clone(&driver), "for the test"));
        assert_eq!(text(&tree(&open_store(read_only))), DATA);
        assert!(kept(&*driver).is_empty());
        drop(driver);
        assert_eq!(text(&tree(&fixture.store())), DATA);
        assert!(!kept(&*fixture.driver()).is_empty());
    }
}

#[test]
fn copies_and_backups_do_not_include_compilations() {
    for engine in ENGINES {
        let fixture = Fixture::filled(engine, &model(""));
        let whole = kept(&*fixture.driver());
        let copied = Fixture::new(engine);
        let (from, to) = (fixture.driver(), copied.driver());
        copy(&*from, "from", &*to, ExistingRows::Reject, &mut |_, _| {}).unwrap();
        drop(to);
        let restored = Fixture::new(engine);
        let mut file = tempfile::tempfile().unwrap();
        backup(&*from, &mut file, Timestamp(0), &mut |_, _| {}).unwrap();
        file.rewind().unwrap();
        let to = restored.driver();
        restore(file, &*to, ExistingRows::Reject, &mut |_, _| {}).unwrap();
        drop(to);
        for fixture in [copied, restored] {
            assert!(kept(&*fixture.driver()).is_empty());
            assert_eq!(text(&tree(&fixture.store())), DATA);
            assert!(kept(&*fixture.driver()) == whole);
        }
    }
}

#[test]
fn a_compilation_of_a_newer_program_is_replaced() {
    for engine in ENGINES {
        let fixture = Fixture::filled(engine, &model(""));
        let driver = fixture.driver();
        let whole = kept(&*driver);
        let (key, mut header) = whole[0].clone();
        assert_eq!(header[0], 1, "the version of the form");
        header[0] = 2;
        let mut batch = Batch::new();
        batch.put(key, header);
        driver.commit(batch).unwrap();
        drop(driver);
        assert_eq!(text(&tree(&fixture.store())), DATA);
        assert!(kept(&*fixture.driver()) == whole);
    }
}

#[test]
fn concurrent_opens_store_one_compilation() {
    for engine in ENGINES {
        let fixture = Fixture::filled(engine, &model(""));
        let driver = fixture.driver();
        let whole = kept(&*driver);
        delete_kept(&*driver);
        let stores: Vec<Store> = (0..4).map(|_| open_store(Arc::clone(&driver))).collect();
        thread::scope(|scope| {
            for store in &stores {
                scope.spawn(|| assert_eq!(text(&tree(store)), DATA));
            }
        });
        assert!(kept(&*driver) == whole);
    }
}

#[test]
fn small_schemas_and_memory_stores_are_not_stored_compiled() {
    // `Fixture::filled` loads data, so the same nodes exist here.
    let small = "module m { yang-version 1.1; namespace urn:m; prefix m;
        container c7 { list e { key k; leaf k { type string; } leaf v { type int8; } leaf to { type string; } } } }";
    assert!(kept(&*Fixture::filled("embedded", small).driver()).is_empty());
    let memory = memory_tree(&model(""));
    assert!(kept(&**memory.store().driver()).is_empty());
}

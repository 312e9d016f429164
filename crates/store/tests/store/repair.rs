//! Stores whose data does not fit their modules, as left by programs that did not check the data when modules
//! changed.

use std::sync::Arc;

use espalier_keyspace::{Batch, Direction, Driver, KeyRange};
use espalier_store::{
    CommitOptions, Datastore, Edit, Error, LoadMode, Removed, RepairOutput, Result, Store,
    Subspace, UpgradeOptions,
};
use espalier_yang::{InstancePath, NodeId};

use crate::fixture::{assert_sound, load_json, open_store, source, text};

const OLD: &str = "module m { yang-version 1.1; namespace urn:m; prefix m;
  leaf top { type string; } leaf good { type string; }
  list l { key k; leaf k { type string; } leaf v { type string; } container c { leaf x { type string; } } }
  list o { key k; ordered-by user; leaf k { type string; } }
  container gone { leaf g { type string; } } }";

const NEW: &str = "module m { yang-version 1.1; namespace urn:m; prefix m;
  leaf top { type uint8; } leaf good { type string; }
  list l { key k; leaf k { type uint8; } leaf v { type uint8; } container c { leaf x { type string; } } }
  list o { key k; ordered-by user; leaf k { type uint8; } } }";

const DATA: &str = r#"{"m:top":"word","m:good":"g","m:l":[{"k":"a","v":"1","c":{"x":"in"}},{"k":"3","v":"b"},{"k":"4","v":"5"}],
  "m:o":[{"k":"z"},{"k":"9"}],"m:gone":{"g":"hidden"}}"#;

/// What remains of it under the new modules, with keys and values in their form.
const LEFT: &str = r#"{"m:good":"g","m:l":[{"k":3},{"k":4,"v":5}],"m:o":[{"k":9}]}"#;

/// The output of a repair.
#[derive(Default)]
struct Kept {
    rows: Vec<Removed>,
    synced: usize,
}

impl RepairOutput for Kept {
    fn row(&mut self, removed: &Removed) -> Result<()> {
        self.rows.push(removed.clone());
        Ok(())
    }

    fn sync(&mut self) -> Result<()> {
        self.synced = self.rows.len();
        Ok(())
    }
}

/// A full disk.
struct Full;

impl RepairOutput for Full {
    fn row(&mut self, _: &Removed) -> Result<()> {
        Ok(())
    }

    fn sync(&mut self) -> Result<()> {
        Err(Error::Write(std::io::Error::other("no room")))
    }
}

fn made(driver: &Arc<dyn Driver>) -> Store {
    let store = open_store(Arc::clone(driver));
    store.create_dataspace("d").unwrap();
    store.create_schema_set("d", "s", &source(OLD)).unwrap();
    store.create_anchor("d", "a", "s").unwrap();
    store
}

/// Replaces the modules of the schema set `s` without checking the data.
fn put_modules(driver: &Arc<dyn Driver>, store: &Store, modules: &str) -> Store {
    store
        .create_schema_set("d", "left", &source(modules))
        .unwrap();
    let snapshot = driver.snapshot().unwrap();
    let sets = [Subspace::Catalog.key(), vec![2]].concat();
    let mut cursor = snapshot
        .scan(&KeyRange::prefix(&sets), Direction::Forward)
        .unwrap();
    let mut records = Vec::new();
    while let Some((key, value)) = cursor.next().unwrap() {
        let record: serde_json::Value = serde_json::from_slice(value).unwrap();
        records.push((key.to_vec(), record));
    }
    // By name: `left` comes before `s`.
    let [(_, mut left), (key, old)] = <[_; 2]>::try_from(records).unwrap();
    left["id"] = old["id"].clone();
    let mut batch = Batch::new();
    batch.put(key, serde_json::to_vec(&left).unwrap());
    driver.commit(batch).unwrap();
    store.delete_schema_set("d", "left").unwrap();
    open_store(Arc::clone(driver))
}

/// A store with data that does not fit, in running and in startup.
fn misfitting(driver: &Arc<dyn Driver>) -> Store {
    let store = made(driver);
    for datastore in [Datastore::Running, Datastore::Startup] {
        let tree = store.tree("d", "a", datastore).unwrap();
        load_json(&tree, LoadMode::Merge, DATA).unwrap();
    }
    put_modules(driver, &store, NEW)
}

#[test]
fn check_finds_all_misfits_and_repair_removes_them() {
    let driver = espalier_drivers::open("memory:").unwrap();
    let store = misfitting(&driver);
    let found = store.check(&mut |_| {}).unwrap();
    for path in [
        "/m:top",
        "/m:l[k='a']",
        "/m:l[k='3']/v",
        "/m:o[k='z']",
        "/m:gone",
    ] {
        for datastore in ["d/a /", "startup"] {
            let is_it = |place: &str| place.contains(path) && place.contains(datastore);
            assert!(
                found.iter().any(|found| is_it(&found.place)),
                "{path} of {datastore}: {found:#?}"
            );
        }
    }
    // The check changes nothing.
    let looked = store.repair(UpgradeOptions::default(), None).unwrap();
    assert_eq!(looked.len(), 2);
    assert_eq!(store.check(&mut |_| {}).unwrap(), found);
    // Data whose output fails is not removed.
    let refused = store.repair(UpgradeOptions::default(), Some(&mut Full));
    assert!(matches!(refused, Err(Error::Write(_))), "{refused:?}");
    assert_eq!(store.check(&mut |_| {}).unwrap(), found);

    let mut kept = Kept::default();
    let repaired = store
        .repair(UpgradeOptions::default(), Some(&mut kept))
        .unwrap();
    assert_sound(&store);
    for datastore in [Datastore::Running, Datastore::Startup] {
        let tree = store.tree("d", "a", datastore).unwrap();
        assert_eq!(text(&tree), LEFT);
    }
    let rows: u64 = repaired.iter().map(|repair| repair.rows).sum();
    assert_eq!(rows as usize, kept.rows.len());
    assert_eq!(kept.synced, kept.rows.len());
    let values: Vec<String> = kept
        .rows
        .iter()
        .flat_map(|row| &row.values)
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    for lost in [
        "m:top=word",
        "m:v=1",
        "m:k=a",
        "m:x=in",
        "m:v=b",
        "=z",
        "m:g=hidden",
    ] {
        assert!(
            values.iter().any(|value| value.ends_with(lost)),
            "{lost}: {values:?}"
        );
    }
    // The second run has nothing to do.
    assert_eq!(store.repair(UpgradeOptions::default(), None).unwrap(), []);
}

/// A repair of running keeps the changes of candidates.
#[test]
fn a_candidate_keeps_its_changes_over_data_that_are_repaired() {
    let driver = espalier_drivers::open("memory:").unwrap();
    let store = made(&driver);
    let running = store.tree("d", "a", Datastore::Running).unwrap();
    load_json(&running, LoadMode::Merge, DATA).unwrap();
    let candidate = running.sibling_datastore(Datastore::Candidate, "").unwrap();
    load_json(
        &candidate,
        LoadMode::Merge,
        r#"{"m:good":"better","m:l":[{"k":"8","v":"7"},{"k":"7","v":"q"}]}"#,
    )
    .unwrap();
    let store = put_modules(&driver, &store, NEW);
    let mut kept = Kept::default();
    store
        .repair(UpgradeOptions::default(), Some(&mut kept))
        .unwrap();
    assert_sound(&store);
    let candidate = store.tree("d", "a", Datastore::Candidate).unwrap();
    let shown = text(&candidate);
    assert_eq!(
        shown,
        r#"{"m:good":"better","m:l":[{"k":3},{"k":4,"v":5},{"k":7},{"k":8,"v":7}],"m:o":[{"k":9}]}"#
    );
    candidate
        .commit_candidate(CommitOptions::default())
        .unwrap();
    let running = store.tree("d", "a", Datastore::Running).unwrap();
    assert_eq!(text(&running), shown);
}

/// A tree that was opened under other modules neither reads nor writes rows of the new ones.
#[test]
fn a_tree_of_other_modules_cannot_read_or_write() {
    let store = made(&espalier_drivers::open("memory:").unwrap());
    let old = store.tree("d", "a", Datastore::Running).unwrap();
    load_json(&old, LoadMode::Merge, r#"{"m:l":[{"k":"3","v":"1"}]}"#).unwrap();
    store
        .upgrade_schema_set("d", "s", &source(NEW), UpgradeOptions::default())
        .unwrap();
    let is_in_use = |error: Error| {
        let text = error.to_string();
        assert!(text.contains("the modules were replaced"), "{text}");
    };
    for datastore in [
        Datastore::Running,
        Datastore::Candidate,
        Datastore::Operational,
    ] {
        is_in_use(
            old.sibling_datastore(datastore, "")
                .unwrap()
                .view()
                .err()
                .unwrap(),
        );
    }
    is_in_use(old.at(2).err().unwrap());
    is_in_use(old.diff(1, 2).err().unwrap());
    let top = InstancePath::root().child(NodeId(0), espalier_yang::Keys::None);
    let deleted = old.commit(&[Edit::delete(top)], CommitOptions::default());
    is_in_use(deleted.err().unwrap());
    let new = store.tree("d", "a", Datastore::Running).unwrap();
    assert_eq!(text(&new), r#"{"m:l":[{"k":3,"v":1}]}"#);
}

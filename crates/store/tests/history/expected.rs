//! What a commit of one entry reads is told to the engine when the snapshot is taken, so that a server
//! answers all of it in one round trip.

use std::borrow::Cow;
use std::sync::{Arc, Mutex};

use espalier_keyspace::{
    Batch, Capability, Committed, Cursor, Direction, Driver, Expect, Expected, Fill, Finding,
    KeyRange, Precondition, Result, Snapshot, Usage, Version, Watch,
};
use espalier_store::{Datastore, Edit, Selection, Tree};
use espalier_yang::InstancePath;
use espalier_yang::data::TreeBuilder;

use crate::setting::{commit, data, open_tree};

const MODEL: &str = r#"module m { yang-version 1.1; namespace urn:m; prefix m;
  container system { list user { key id; leaf id { type uint32; } leaf age { type uint8; } } }
}"#;

/// What was read of a tree that was not expected.
type Unexpected = Arc<Mutex<Vec<KeyRange>>>;

/// A driver over another one that notes which keys and ranges are read that were not expected.
struct Noting {
    inner: Arc<dyn Driver>,
    unexpected: Unexpected,
}

struct NotingSnapshot {
    inner: Box<dyn Snapshot + Send>,
    expected: Expected,
    unexpected: Unexpected,
}

impl Driver for Noting {
    fn name(&self) -> &'static str {
        self.inner.name()
    }

    fn capability(&self) -> Capability {
        self.inner.capability()
    }

    fn snapshot(&self) -> Result<Box<dyn Snapshot + Send>> {
        self.snapshot_expecting(&|_| {})
    }

    fn snapshot_expecting(&self, expect: Expect<'_>) -> Result<Box<dyn Snapshot + Send>> {
        let mut expected = Expected::new();
        expect(&mut expected);
        Ok(Box::new(NotingSnapshot {
            inner: self.inner.snapshot()?,
            expected,
            unexpected: Arc::clone(&self.unexpected),
        }))
    }

    fn commit_step(&self, batch: Batch) -> Result<Committed> {
        self.inner.commit_step(batch)
    }

    fn write(&self, preconditions: &[Precondition], fill: Fill<'_>) -> Result<Version> {
        self.inner.write(preconditions, fill)
    }

    fn watch(&self, range: KeyRange, after: Version) -> Result<Box<dyn Watch>> {
        self.inner.watch(range, after)
    }

    fn usage(&self) -> Result<Usage> {
        self.inner.usage()
    }

    fn check(&self) -> Result<Vec<Finding>> {
        self.inner.check()
    }

    fn flush(&self) -> Result<()> {
        self.inner.flush()
    }
}

impl Snapshot for NotingSnapshot {
    fn version(&self) -> Version {
        self.inner.version()
    }

    fn get(&self, key: &[u8]) -> Result<Option<Cow<'_, [u8]>>> {
        if !self.expected.keys().iter().any(|expected| expected == key) {
            let mut unexpected = self.unexpected.lock().unwrap();
            unexpected.push(KeyRange::new(key, [key, &[0]].concat()));
        }
        self.inner.get(key)
    }

    fn scan(&self, range: &KeyRange, direction: Direction) -> Result<Box<dyn Cursor + '_>> {
        let mut expected = self.expected.ranges().iter();
        if !expected.any(|(expected, _)| expected == range) {
            self.unexpected.lock().unwrap().push(range.clone());
        }
        self.inner.scan(range, direction)
    }
}

/// A tree in memory, and what is read of it unexpectedly.
fn noted() -> (Tree, Unexpected) {
    let unexpected = Unexpected::default();
    let noting = Noting {
        inner: espalier_drivers::open("memory:").unwrap(),
        unexpected: Arc::clone(&unexpected),
    };
    (open_tree(Arc::new(noting), MODEL), unexpected)
}

fn merge(tree: &Tree, id: u32, age: u32) -> Edit {
    let text = format!(r#"{{"m:system":{{"user":[{{"id":{id},"age":{age}}}]}}}}"#);
    Edit::merge(InstancePath::root(), data(tree.schema(), &text))
}

#[test]
fn a_commit_of_one_entry_reads_what_it_told() {
    let (running, unexpected) = noted();
    let pushed = running.beside(Datastore::Operational, "").unwrap();
    for tree in [&running, &pushed] {
        let all: Vec<_> = (1..100).map(|id| merge(tree, id, 1)).collect();
        assert!(commit(tree, &all).is_ok());
        let path = |text: &str| InstancePath::parse_cli_path(tree.schema(), text).unwrap();
        for (name, edit) in [
            ("a leaf changes", merge(tree, 50, 2)),
            ("an entry comes", merge(tree, 200, 2)),
            (
                "a leaf goes",
                Edit::delete(path("/m:system/user[id='60']/age")),
            ),
            (
                "an entry goes",
                Edit::delete(path("/m:system/user[id='70']")),
            ),
            (
                "nothing goes",
                Edit::remove(path("/m:system/user[id='70']")),
            ),
        ] {
            unexpected.lock().unwrap().clear();
            assert!(commit(tree, &[edit]).is_ok());
            let ranges = std::mem::take(&mut *unexpected.lock().unwrap());
            assert!(
                ranges.is_empty(),
                "{:?}, {name}: {ranges:?}",
                tree.datastore()
            );
        }
    }
}

#[test]
fn a_reading_reads_what_it_told() {
    let (running, unexpected) = noted();
    let all: Vec<_> = (1..100).map(|id| merge(&running, id, 1)).collect();
    assert!(commit(&running, &all).is_ok());
    for text in [
        "/m:system",
        "/m:system/user",
        "/m:system/user[id='60']",
        "/m:system/user[id='60']/age",
        "/m:system/user[id='160']",
    ] {
        let path = InstancePath::parse_cli_path(running.schema(), text).unwrap();
        let selection = Selection::default();
        unexpected.lock().unwrap().clear();
        let view = running.view_to_read(&path, &selection).unwrap();
        let mut builder = TreeBuilder::new();
        let found = view.read(&path, &selection, &mut builder).unwrap();
        assert_eq!(found, !text.contains("160"), "{text}");
        view.stamp(&path).unwrap();
        let ranges = std::mem::take(&mut *unexpected.lock().unwrap());
        assert!(ranges.is_empty(), "{text}: {ranges:?}");
    }
}

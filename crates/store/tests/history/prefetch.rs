//! The reads of a one-entry commit are passed to the engine with the snapshot request, so that a server
//! answers all of them in one round trip.

use std::borrow::Cow;
use std::sync::{Arc, Mutex};

use espalier_keyspace::{
    Cursor, Direction, Driver, DriverExtension, KeyRange, Prefetch, PrefetchList, Purpose, Result,
    Snapshot, Version, forward_driver,
};
use espalier_store::{Datastore, Edit, Selection, Tree};
use espalier_yang::InstancePath;
use espalier_yang::data::TreeBuilder;

use crate::fixture::{commit, data, open_tree};

const MODEL: &str = r#"module m { yang-version 1.1; namespace urn:m; prefix m;
  container system { list user { key id; leaf id { type uint32; } leaf age { type uint8; } } }
}"#;

/// The requests that a server would get.
#[derive(Default)]
struct Requests {
    /// Keys and ranges that were read without being expected.
    unexpected: Vec<KeyRange>,
    /// The size of the expected data in bytes.
    expected_bytes: usize,
}

/// A driver over another one that records requests.
struct RecordingDriver {
    inner: Arc<dyn Driver>,
    requests: Arc<Mutex<Requests>>,
}

struct RecordingSnapshot {
    inner: Box<dyn Snapshot + Send>,
    expected: PrefetchList,
    requests: Arc<Mutex<Requests>>,
}

/// The size of the data that an engine fetches for an expectation.
fn bytes_of(expected: &PrefetchList, snapshot: &dyn Snapshot) -> Result<usize> {
    let keys: Vec<_> = expected.keys().iter().map(Vec::as_slice).collect();
    let values = snapshot.get_many(&keys)?;
    let mut bytes = values.iter().flatten().map(|value| value.len()).sum();
    for (range, keys) in expected.ranges() {
        let mut cursor = snapshot.scan(range, Direction::Forward)?;
        for _ in 0..*keys {
            bytes += cursor.next()?.map_or(0, |(_, value)| value.len());
        }
    }
    Ok(bytes)
}

impl Driver for RecordingDriver {
    forward_driver!(name, capability, commit, write, watch, usage, check, flush => self.inner);

    fn snapshot(&self) -> Result<Box<dyn Snapshot + Send>> {
        self.snapshot_for(Purpose::Read, &|_| {})
    }

    fn extension(&self) -> Option<&dyn DriverExtension> {
        Some(self)
    }
}

impl DriverExtension for RecordingDriver {
    fn snapshot_for(
        &self,
        _purpose: Purpose,
        expect: Prefetch<'_>,
    ) -> Result<Box<dyn Snapshot + Send>> {
        let mut expected = PrefetchList::new();
        expect(&mut expected);
        let inner = self.inner.snapshot()?;
        self.requests.lock().unwrap().expected_bytes += bytes_of(&expected, &*inner)?;
        Ok(Box::new(RecordingSnapshot {
            inner,
            expected,
            requests: Arc::clone(&self.requests),
        }))
    }
}

impl Snapshot for RecordingSnapshot {
    fn version(&self) -> Version {
        self.inner.version()
    }

    fn get(&self, key: &[u8]) -> Result<Option<Cow<'_, [u8]>>> {
        if !self.expected.keys().iter().any(|expected| expected == key) {
            let range = KeyRange::new(key, [key, &[0]].concat());
            self.requests.lock().unwrap().unexpected.push(range);
        }
        self.inner.get(key)
    }

    fn scan(&self, range: &KeyRange, direction: Direction) -> Result<Box<dyn Cursor + '_>> {
        let mut expected = self.expected.ranges().iter();
        if !expected.any(|(expected, _)| expected.includes(range)) {
            self.requests.lock().unwrap().unexpected.push(range.clone());
        }
        self.inner.scan(range, direction)
    }
}

/// A tree in memory, and its record of requests.
fn recorded_tree() -> (Tree, Arc<Mutex<Requests>>) {
    let requests = Arc::<Mutex<Requests>>::default();
    let recording = RecordingDriver {
        inner: espalier_drivers::open("memory:").unwrap(),
        requests: Arc::clone(&requests),
    };
    (open_tree(Arc::new(recording), MODEL), requests)
}

fn take(requests: &Mutex<Requests>) -> Requests {
    std::mem::take(&mut *requests.lock().unwrap())
}

fn merge(tree: &Tree, id: u32, age: u32) -> Edit {
    let text = format!(r#"{{"m:system":{{"user":[{{"id":{id},"age":{age}}}]}}}}"#);
    Edit::merge(InstancePath::root(), data(tree.schema(), &text))
}

#[test]
fn a_commit_of_one_entry_reads_only_prefetched_rows() {
    let (running, requests) = recorded_tree();
    let pushed = running
        .sibling_datastore(Datastore::Operational, "")
        .unwrap();
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
            take(&requests);
            assert!(commit(tree, &[edit]).is_ok());
            let ranges = take(&requests).unexpected;
            assert!(
                ranges.is_empty(),
                "{:?}, {name}: {ranges:?}",
                tree.datastore()
            );
        }
    }
}

#[test]
fn a_read_reads_only_prefetched_rows() {
    let (running, requests) = recorded_tree();
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
        take(&requests);
        let view = running.view_for_read(&path, &selection).unwrap();
        let mut builder = TreeBuilder::new();
        let found = view.read(&path, &selection, &mut builder).unwrap();
        assert_eq!(found, !text.contains("160"), "{text}");
        view.stamp(&path).unwrap();
        let ranges = take(&requests).unexpected;
        assert!(ranges.is_empty(), "{text}: {ranges:?}");
    }
}

/// The first commits are the oldest of the log, of which every later one reads the header.
#[test]
fn a_commit_of_one_entry_does_not_fetch_the_log_of_a_large_one() {
    let (running, requests) = recorded_tree();
    for ids in [0..2000, 2000..4000] {
        let all: Vec<_> = ids.map(|id| merge(&running, id, 1)).collect();
        assert!(commit(&running, &all).is_ok());
    }
    take(&requests);
    assert!(commit(&running, &[merge(&running, 50, 2)]).is_ok());
    let bytes = take(&requests).expected_bytes;
    assert!((1..2000).contains(&bytes), "{bytes} bytes are brought");
}

/// Everything else that is read was prefetched.
#[test]
fn new_entries_in_order_look_up_their_successor_once() {
    let (running, requests) = recorded_tree();
    assert!(commit(&running, &[merge(&running, 1, 1)]).is_ok());
    take(&requests);
    let all: Vec<_> = (2..200).map(|id| merge(&running, id, 1)).collect();
    assert!(commit(&running, &all).is_ok());
    let unexpected = take(&requests).unexpected;
    assert!(unexpected.len() <= 1, "{unexpected:?}");
}

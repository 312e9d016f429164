//! Commits through a view in memory that is behind its engine: nothing is rejected, or treated as done
//! already, because of stale data, and a commit costs no extra requests.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use espalier_drivers::under_policy;
use espalier_keyspace::ErrorKind;
use espalier_keyspace::metered::{Call, Metered};
use espalier_store::{Edit, Error, Tree};
use espalier_testkit::fault::{Fault, Faulty, Lasting, Site};
use espalier_yang::{ErrorTag, InstancePath};

use crate::fixture::{commit, data, first_tag, merge, open_tree, path, text};

const MODEL: &str = r#"module m { yang-version 1.1; namespace urn:m; prefix m;
  leaf v { type uint8; } list e { key k; leaf k { type string; } } }"#;

/// The maximum staleness of the view: longer than any test takes.
const POLICY: &str = "policy=cached&staleness_ms=60000";

/// How long the engine cannot be followed during a commit.
const OUTAGE: Duration = Duration::from_millis(100);

/// One tree of an engine, and another one of a view of it that cannot follow until released.
struct Fixture {
    ahead: Tree,
    behind: Tree,
    faulty: Arc<Faulty>,
}

impl Fixture {
    fn new(before: &str, meanwhile: impl Fn(&Tree)) -> Self {
        let engine = espalier_drivers::open("memory:").unwrap();
        let ahead = open_tree(Arc::clone(&engine), MODEL);
        merge(&ahead, before);
        let faulty = Arc::new(Faulty::new(engine));
        let view = under_policy(Arc::clone(&faulty) as Arc<_>, POLICY).unwrap();
        let behind = open_tree(Arc::clone(&view), MODEL);
        faulty.arm(Fault {
            sites: vec![Site::Watch],
            after: 0,
            lasting: Lasting::ForEver,
            kind: ErrorKind::Unavailable,
        });
        let began = Instant::now();
        while view.cache_status().failure.is_none() {
            assert!(began.elapsed() < Duration::from_secs(60), "it is followed");
            thread::sleep(Duration::from_millis(1));
        }
        meanwhile(&ahead);
        assert_ne!(text(&behind), text(&ahead));
        Self {
            ahead,
            behind,
            faulty,
        }
    }

    /// The result of an edit; following resumes soon after it has started.
    fn edit(&self, edit: Edit) -> Result<espalier_store::Commit, Error> {
        thread::scope(|scope| {
            scope.spawn(|| {
                thread::sleep(OUTAGE);
                self.faulty.disarm();
            });
            commit(&self.behind, &[edit])
        })
    }

    fn tree(&self, document: &str) -> espalier_yang::data::DataTree {
        data(self.behind.schema(), document)
    }
}

#[test]
fn changes_of_others_can_be_reverted() {
    let fixture = Fixture::new(r#"{"m:v":1}"#, |ahead| {
        merge(ahead, r#"{"m:v":2}"#);
    });
    let back = Edit::merge(InstancePath::root(), fixture.tree(r#"{"m:v":1}"#));
    assert!(fixture.edit(back).unwrap().is_changed);
    assert!(text(&fixture.ahead).contains(r#""m:v":1"#));
}

#[test]
fn nodes_deleted_by_others_can_be_created() {
    let fixture = Fixture::new(r#"{"m:e":[{"k":"a"}]}"#, |ahead| {
        let entry = path(ahead.schema(), "/m:e[k='a']");
        commit(ahead, &[Edit::delete(entry)]).unwrap();
    });
    let again = Edit::create(InstancePath::root(), fixture.tree(r#"{"m:e":[{"k":"a"}]}"#));
    assert!(fixture.edit(again).unwrap().is_changed);
    assert!(text(&fixture.ahead).contains(r#""k":"a""#));
}

#[test]
fn nodes_created_by_others_can_be_deleted_and_not_created() {
    let meanwhile = |ahead: &Tree| {
        merge(ahead, r#"{"m:e":[{"k":"a"}]}"#);
    };
    let fixture = Fixture::new(r#"{"m:v":1}"#, meanwhile);
    let entry = path(fixture.behind.schema(), "/m:e[k='a']");
    assert!(fixture.edit(Edit::delete(entry)).unwrap().is_changed);
    assert!(!text(&fixture.ahead).contains(r#""k":"a""#));

    let fixture = Fixture::new(r#"{"m:v":1}"#, meanwhile);
    let again = Edit::create(InstancePath::root(), fixture.tree(r#"{"m:e":[{"k":"a"}]}"#));
    assert_eq!(first_tag(&fixture.edit(again)), Some(ErrorTag::DataExists));
}

#[test]
fn a_commit_sends_no_extra_request_and_an_unchanged_one_sends_one() {
    let metered = Metered::new(espalier_drivers::open("memory:").unwrap());
    let meter = metered.meter();
    let tree = open_tree(under_policy(Arc::new(metered), POLICY).unwrap(), MODEL);
    let snapshots = || meter.readings()[Call::Snapshot as usize].count;
    let before = snapshots();
    for value in 1..=100 {
        assert!(merge(&tree, &format!(r#"{{"m:v":{value}}}"#)).is_changed);
    }
    let requests = snapshots() - before;
    // The view itself sends requests now and then, to determine its staleness.
    assert!(requests < 10, "{requests}");
    for _ in 0..100 {
        assert!(!merge(&tree, r#"{"m:v":100}"#).is_changed);
    }
    let requests = snapshots() - before - requests;
    assert!((100..110).contains(&requests), "{requests}");
}

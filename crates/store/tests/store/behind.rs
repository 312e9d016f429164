//! Commits through a view in memory that is behind its engine: nothing is refused, or taken for done
//! already, because of what is long over, and what is committed costs no asking.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use espalier_drivers::under_policy;
use espalier_keyspace::ErrorKind;
use espalier_keyspace::metered::{Call, Metered};
use espalier_store::{Edit, Error, Tree};
use espalier_testkit::fault::{Fault, Faulty, Lasting, Site};
use espalier_yang::{ErrorTag, InstancePath};

use crate::setting::{commit, data, first_tag, merge, open_tree, path, text};

const MODEL: &str = r#"module m { yang-version 1.1; namespace urn:m; prefix m;
  leaf v { type uint8; } list e { key k; leaf k { type string; } } }"#;

/// A view that is as old as this may be shown: longer than any test takes.
const POLICY: &str = "policy=cached&staleness_ms=60000";

/// How long the engine cannot be followed while something is committed.
const OUTAGE: Duration = Duration::from_millis(100);

/// One tree of an engine, and another one of a view of it that cannot follow until it is told to.
struct Setting {
    ahead: Tree,
    behind: Tree,
    faulty: Arc<Faulty>,
}

impl Setting {
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
        while view.residence().failure.is_none() {
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

    /// What becomes of an edit; the engine can be followed again soon after it has begun.
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
fn what_others_changed_is_changed_back() {
    let setting = Setting::new(r#"{"m:v":1}"#, |ahead| {
        merge(ahead, r#"{"m:v":2}"#);
    });
    let back = Edit::merge(InstancePath::root(), setting.tree(r#"{"m:v":1}"#));
    assert!(setting.edit(back).unwrap().is_changed);
    assert!(text(&setting.ahead).contains(r#""m:v":1"#));
}

#[test]
fn what_others_deleted_can_be_created() {
    let setting = Setting::new(r#"{"m:e":[{"k":"a"}]}"#, |ahead| {
        let entry = path(ahead.schema(), "/m:e[k='a']");
        commit(ahead, &[Edit::delete(entry)]).unwrap();
    });
    let again = Edit::create(InstancePath::root(), setting.tree(r#"{"m:e":[{"k":"a"}]}"#));
    assert!(setting.edit(again).unwrap().is_changed);
    assert!(text(&setting.ahead).contains(r#""k":"a""#));
}

#[test]
fn what_others_created_can_be_deleted_and_not_created() {
    let meanwhile = |ahead: &Tree| {
        merge(ahead, r#"{"m:e":[{"k":"a"}]}"#);
    };
    let setting = Setting::new(r#"{"m:v":1}"#, meanwhile);
    let entry = path(setting.behind.schema(), "/m:e[k='a']");
    assert!(setting.edit(Edit::delete(entry)).unwrap().is_changed);
    assert!(!text(&setting.ahead).contains(r#""k":"a""#));

    let setting = Setting::new(r#"{"m:v":1}"#, meanwhile);
    let again = Edit::create(InstancePath::root(), setting.tree(r#"{"m:e":[{"k":"a"}]}"#));
    assert_eq!(first_tag(&setting.edit(again)), Some(ErrorTag::DataExists));
}

#[test]
fn what_is_committed_asks_nothing_and_what_changes_nothing_asks_once() {
    let metered = Metered::new(espalier_drivers::open("memory:").unwrap());
    let meter = metered.meter();
    let tree = open_tree(under_policy(Arc::new(metered), POLICY).unwrap(), MODEL);
    let snapshots = || meter.readings()[Call::Snapshot as usize].count;
    let before = snapshots();
    for value in 1..=100 {
        assert!(merge(&tree, &format!(r#"{{"m:v":{value}}}"#)).is_changed);
    }
    let asked = snapshots() - before;
    // The view itself asks now and then, to know how old it is.
    assert!(asked < 10, "{asked}");
    for _ in 0..100 {
        assert!(!merge(&tree, r#"{"m:v":100}"#).is_changed);
    }
    let asked = snapshots() - before - asked;
    assert!((100..110).contains(&asked), "{asked}");
}

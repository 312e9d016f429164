//! Subscribers that participate in commits.

use std::sync::{Arc, Mutex};

use espalier_store::{Diff, Edit, LoadMode, Subscriber, Subscription, SubscriptionGuard, Tree};
use espalier_yang::{DataError, ErrorTag, InstancePath};

use crate::fixture::{MODEL, commit, data, first_tag, load_json, memory_tree, merge, path, text};

/// The calls in order, with the diff that each one got.
#[derive(Clone, Default)]
struct Record(Arc<Mutex<Vec<Call>>>);

/// The call, and the changes that it got.
type Call = (String, Vec<String>);

impl Record {
    fn add(&self, call: String, diff: &Diff) {
        let schema = diff.schema();
        let paths = diff.changes().map(|change| {
            format!(
                "{:?} {}",
                change.kind,
                change.path.to_instance_identifier(schema)
            )
        });
        self.0.lock().unwrap().push((call, paths.collect()));
    }

    fn calls(&self) -> Vec<String> {
        let mut calls = self.0.lock().unwrap();
        calls.drain(..).map(|(call, _)| call).collect()
    }
}

type Act = Box<dyn Fn(&Diff) -> Result<(), DataError> + Send + Sync>;

struct Test {
    name: &'static str,
    record: Record,
    edit: Option<Edit>,
    act: Act,
    done: Mutex<Vec<Arc<Diff>>>,
}

impl Subscriber for Test {
    fn may_edit(&self) -> bool {
        self.edit.is_some()
    }

    fn update(&self, diff: &Diff, edits: &mut Vec<Edit>) {
        self.record.add(format!("{} update", self.name), diff);
        edits.extend(self.edit.clone());
    }

    fn change(&self, diff: &Diff) -> Result<(), DataError> {
        self.record.add(format!("{} change", self.name), diff);
        (self.act)(diff)
    }

    fn done(&self, diff: &Arc<Diff>) {
        self.record.add(format!("{} done", self.name), diff);
        self.done.lock().unwrap().push(Arc::clone(diff));
    }

    fn abort(&self, diff: &Diff) {
        self.record.add(format!("{} abort", self.name), diff);
    }
}

fn test(name: &'static str, record: &Record) -> Test {
    Test {
        name,
        record: record.clone(),
        edit: None,
        act: Box::new(|_| Ok(())),
        done: Mutex::default(),
    }
}

fn subscribe(
    tree: &Tree,
    paths: &[&str],
    priority: i32,
    test: Test,
) -> (Arc<Test>, SubscriptionGuard) {
    let test = Arc::new(test);
    let paths = paths.iter().map(|text| path(tree.schema(), text)).collect();
    let subscription = Subscription { paths, priority };
    let subscribed = tree
        .subscribe(subscription, Arc::clone(&test) as _)
        .unwrap();
    (test, subscribed)
}

fn refuse(_: &Diff) -> Result<(), DataError> {
    Err(DataError::new(ErrorTag::AccessDenied, "not like this"))
}

#[test]
fn subscribers_are_called_by_priority_and_share_one_diff() {
    let tree = memory_tree(MODEL);
    let record = Record::default();
    let names = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"];
    let held: Vec<_> = names
        .iter()
        .enumerate()
        .map(|(index, name)| subscribe(&tree, &["/plain"], (index % 2) as i32, test(name, &record)))
        .collect();
    merge(&tree, r#"{"m:plain":{"x":"1","inner":{"z":"2"}}}"#);
    let order = "bdfhjlacegik";
    let call = |kind: &str| -> Vec<String> {
        order.chars().map(|name| format!("{name} {kind}")).collect()
    };
    assert_eq!(record.calls(), [call("change"), call("done")].concat());
    let diffs: Vec<_> = held
        .iter()
        .map(|(one, _)| one.done.lock().unwrap()[0].clone())
        .collect();
    assert!(diffs.iter().all(|diff| Arc::ptr_eq(diff, &diffs[0])));
    assert_eq!(diffs[0].len(), 2);
    // Nothing that they are subscribed to.
    merge(&tree, r#"{"m:top":"x"}"#);
    assert!(record.calls().is_empty());
    drop(held);
    merge(&tree, r#"{"m:plain":{"x":"2"}}"#);
    assert!(record.calls().is_empty());
}

#[test]
fn a_rejection_is_returned_to_the_committer_and_aborts_earlier_subscribers() {
    let tree = memory_tree(MODEL);
    let record = Record::default();
    let _first = subscribe(&tree, &[], 3, test("first", &record));
    let _second = subscribe(&tree, &[], 2, test("second", &record));
    let refusing = Test {
        act: Box::new(refuse),
        ..test("third", &record)
    };
    let third = subscribe(&tree, &["/top"], 1, refusing);
    let _fourth = subscribe(&tree, &[], 0, test("fourth", &record));
    let edit = |text| [Edit::merge(InstancePath::root(), data(tree.schema(), text))];
    let refused = commit(&tree, &edit(r#"{"m:top":"x"}"#));
    assert_eq!(first_tag(&refused), Some(ErrorTag::AccessDenied));
    let expected = [
        "first change",
        "second change",
        "third change",
        "second abort",
        "first abort",
    ];
    assert_eq!(record.calls(), expected);
    assert_eq!(tree.view().unwrap().version().unwrap(), 0);
    assert_eq!(text(&tree), "{}");
    assert!(commit(&tree, &edit(r#"{"m:plain":{"x":"y"}}"#)).is_ok());
    record.calls();
    drop(third);
    assert!(commit(&tree, &edit(r#"{"m:top":"x"}"#)).is_ok());
    // A commit without changes is not reported.
    record.calls();
    assert!(!commit(&tree, &edit(r#"{"m:top":"x"}"#)).unwrap().is_changed);
    assert!(record.calls().is_empty());
}

#[test]
fn edits_that_subscribers_add_are_part_of_the_commit() {
    let tree = memory_tree(MODEL);
    let record = Record::default();
    let edit = |text| Edit::merge(InstancePath::root(), data(tree.schema(), text));
    let adding = Test {
        edit: Some(edit(r#"{"m:plain":{"x":"added"}}"#)),
        ..test("adding", &record)
    };
    let _adding = subscribe(&tree, &["/top"], 5, adding);
    let following = Test {
        edit: Some(edit(r#"{"m:plain":{"inner":{"z":"too"}}}"#)),
        ..test("following", &record)
    };
    let _following = subscribe(&tree, &["/plain/x"], 1, following);
    let _other = subscribe(&tree, &["/plain/inner"], 0, test("other", &record));
    merge(&tree, r#"{"m:top":"t"}"#);
    let expected = r#"{"m:top":"t","m:plain":{"x":"added","inner":{"z":"too"}}}"#;
    assert_eq!(text(&tree), expected);
    let calls = record.0.lock().unwrap().clone();
    let of = |name: &str| &calls.iter().find(|(call, _)| call == name).unwrap().1;
    assert_eq!(of("adding update"), &["Created /m:top"]);
    assert_eq!(
        of("following update"),
        &["Created /m:top", "Created /m:plain/x"]
    );
    assert_eq!(of("adding change").len(), 3);
    assert_eq!(of("other change").len(), 3);
    let version = tree.view().unwrap().version().unwrap();
    assert_eq!(version, 1);
    let stamp = tree
        .view()
        .unwrap()
        .stamp(&path(tree.schema(), "/plain/inner"));
    assert_eq!(stamp.unwrap().version, 1);
}

#[test]
fn invalid_edits_of_subscribers_reject_the_commit() {
    let tree = memory_tree(MODEL);
    let wrong = Test {
        edit: Some(Edit::delete(path(tree.schema(), "/present"))),
        ..test("wrong", &Record::default())
    };
    let _wrong = subscribe(&tree, &[], 0, wrong);
    let edit = Edit::merge(
        InstancePath::root(),
        data(tree.schema(), r#"{"m:top":"t"}"#),
    );
    let refused = commit(&tree, &[edit]);
    assert_eq!(first_tag(&refused), Some(ErrorTag::DataMissing));
}

#[test]
fn a_panic_rejects_the_commit_and_the_store_continues() {
    let tree = memory_tree(MODEL);
    let record = Record::default();
    let panicking = Test {
        act: Box::new(|_| panic!("on purpose")),
        ..test("panicking", &record)
    };
    let panicking = subscribe(&tree, &[], 0, panicking);
    let edit = Edit::merge(
        InstancePath::root(),
        data(tree.schema(), r#"{"m:top":"t"}"#),
    );
    let refused = commit(&tree, std::slice::from_ref(&edit));
    assert_eq!(first_tag(&refused), Some(ErrorTag::OperationFailed));
    drop(panicking);
    assert!(commit(&tree, &[edit]).unwrap().is_changed);
}

#[test]
fn a_subscriber_that_commits_during_a_call_is_rejected_without_deadlock() {
    let tree = memory_tree(MODEL);
    let other = tree.clone();
    let edit = Edit::merge(
        InstancePath::root(),
        data(tree.schema(), r#"{"m:top":"t"}"#),
    );
    let inner = edit.clone();
    let committing = Test {
        act: Box::new(move |_| {
            let result = commit(&other, std::slice::from_ref(&inner));
            assert_eq!(first_tag(&result), Some(ErrorTag::InUse));
            assert_eq!(other.view().unwrap().version().unwrap(), 0);
            Ok(())
        }),
        ..test("committing", &Record::default())
    };
    let _committing = subscribe(&tree, &[], 0, committing);
    assert!(commit(&tree, &[edit]).unwrap().is_changed);
}

#[test]
fn loads_are_delivered_and_may_be_rejected() {
    let tree = memory_tree(MODEL);
    let record = Record::default();
    let refusing = Test {
        act: Box::new(refuse),
        ..test("one", &record)
    };
    let refusing = subscribe(&tree, &["/plain"], 0, refusing);
    let document = r#"{"m:plain":{"x":"1"},"m:named":[{"name":"a","v":"b"}]}"#;
    let refused = load_json(&tree, LoadMode::Create, document);
    assert_eq!(first_tag(&refused), Some(ErrorTag::AccessDenied));
    drop(refusing);
    let _agreeing = subscribe(&tree, &["/named"], 0, test("two", &record));
    record.calls();
    let report = load_json(&tree, LoadMode::Create, document).unwrap();
    assert_eq!((report.fragments, report.values), (2, 3));
    assert_eq!(record.calls(), ["two change", "two done"]);
    let again = load_json(&tree, LoadMode::Create, document);
    assert_eq!(first_tag(&again), Some(ErrorTag::DataExists));
    load_json(&tree, LoadMode::Replace, r#"{"m:top":"only"}"#).unwrap();
    assert_eq!(text(&tree), r#"{"m:top":"only"}"#);
}

//! `test-option` and `error-option` of `<edit-config>` (RFC 6241 §7.2).

use espalier_store::{CommitOptions, Datastore, Edit, Error, ErrorOption, TestOption, Tree};
use espalier_yang::InstancePath;

use crate::fixture::{data, memory_tree, merge, path, text};

const MODEL: &str = r#"module m { yang-version 1.1; namespace urn:m; prefix m;
  list e { key k; leaf k { type string; } leaf v { type uint8; must ". < 100"; } } }"#;

fn create(tree: &Tree, name: &str, value: u8) -> Edit {
    let document = format!(r#"{{"m:e":[{{"k":"{name}","v":{value}}}]}}"#);
    Edit::create(InstancePath::root(), data(tree.schema(), &document))
}

fn outcome(tree: &Tree, edits: &[Edit], test: TestOption, on_error: ErrorOption) -> String {
    match tree.edit_config(edits, test, on_error, CommitOptions::default()) {
        Ok(report) => format!("{} {}", report.commit.is_some(), report.errors.len()),
        Err(Error::Data(errors)) => format!("refused {}", errors.len()),
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn test_only_changes_nothing() {
    let tree = memory_tree(MODEL);
    merge(&tree, r#"{"m:e":[{"k":"a"}]}"#);
    let candidate = tree.sibling_datastore(Datastore::Candidate, "").unwrap();
    for tree in [&tree, &candidate] {
        let before = text(tree);
        let good = [create(tree, "b", 1)];
        let broken = [create(tree, "b", 200)];
        let there = [create(tree, "a", 1)];
        for (edits, expected) in [
            (&good, "false 0"),
            (&broken, "refused 1"),
            (&there, "refused 1"),
        ] {
            let found = outcome(
                tree,
                edits,
                TestOption::TestOnly,
                ErrorOption::RollbackOnError,
            );
            assert_eq!(found, expected);
        }
        assert_eq!(text(tree), before);
    }
}

#[test]
fn a_candidate_is_tested_before_it_is_set_with_test_then_set() {
    let tree = memory_tree(MODEL);
    let candidate = tree.sibling_datastore(Datastore::Candidate, "").unwrap();
    let broken = [create(&candidate, "b", 200)];
    let rollback = ErrorOption::RollbackOnError;
    assert_eq!(
        outcome(&candidate, &broken, TestOption::TestThenSet, rollback),
        "refused 1"
    );
    assert_eq!(text(&candidate), "{}");
    assert_eq!(
        outcome(&candidate, &broken, TestOption::Set, rollback),
        "true 0"
    );
    assert!(candidate.validate().is_err());
}

#[test]
fn impossible_edits_are_handled_according_to_the_error_option() {
    let three = |tree: &Tree| {
        merge(tree, r#"{"m:e":[{"k":"b"}]}"#);
        let missing = Edit::delete(path(tree.schema(), "/m:e[k='x']"));
        [
            create(tree, "a", 1),
            create(tree, "b", 1),
            missing,
            create(tree, "c", 1),
        ]
    };
    let cases = [
        (ErrorOption::RollbackOnError, "refused 2", vec!["b"]),
        (ErrorOption::StopOnError, "true 1", vec!["a", "b"]),
        (ErrorOption::ContinueOnError, "true 2", vec!["a", "b", "c"]),
    ];
    for (on_error, expected, names) in cases {
        let tree = memory_tree(MODEL);
        let edits = three(&tree);
        assert_eq!(outcome(&tree, &edits, TestOption::Set, on_error), expected);
        let after = text(&tree);
        for name in ["a", "b", "c"] {
            let is_there = after.contains(&format!(r#""k":"{name}""#));
            assert_eq!(is_there, names.contains(&name), "{after}");
        }
    }
}

#[test]
fn impossible_edits_change_nothing() {
    let tree = memory_tree(MODEL);
    merge(&tree, r#"{"m:e":[{"k":"a"}]}"#);
    let edits = [create(&tree, "a", 1)];
    let found = outcome(&tree, &edits, TestOption::Set, ErrorOption::ContinueOnError);
    assert_eq!(found, "refused 1");
}

//! The history as a restricted user sees it, against the differences of each commit.

use std::sync::Arc;

use espalier_service::access::UserAccess;
use espalier_store::{CommitInfo, CommitOptions, Edit, Tree};
use espalier_testkit::seed;
use espalier_yang::InstancePath;
use rand::Rng;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;

use crate::fixture::{json_data, policy, put, tree_of, user};

/// The number of histories in a run.
const HISTORIES: u64 = 30;

const MODEL: &str = "module m { yang-version 1.1; namespace urn:m; prefix m;
    container c { leaf x { type string; } container p { presence p; leaf y { type string; } }
        list l { key k; ordered-by user; leaf k { type string; } leaf v { type string; } }
        list s { key k; leaf k { type string; } leaf v { type string; } leaf-list w { type string; } } } }";

const HIDDEN: [&str; 8] = [
    "/m:c/m:x",
    "/m:c/m:p",
    "/m:c/m:p/m:y",
    "/m:c/m:l",
    "/m:c/m:l[m:k='1']",
    "/m:c/m:s[m:k='2']",
    "/m:c/m:s/m:v",
    "/m:c/m:s/m:w",
];

const DOCUMENTS: [&str; 7] = [
    r#"{"m:c":{"x":"N"}}"#,
    r#"{"m:c":{"p":{"y":"N"}}}"#,
    r#"{"m:c":{"l":[{"k":"1","v":"N"}]}}"#,
    r#"{"m:c":{"l":[{"k":"N"}]}}"#,
    r#"{"m:c":{"s":[{"k":"2","v":"N"}]}}"#,
    r#"{"m:c":{"s":[{"k":"N","v":"1"}]}}"#,
    r#"{"m:c":{"s":[{"k":"1","w":["N"]}]}}"#,
];

/// The rules: some nodes are hidden.
fn rules(random: &mut StdRng) -> String {
    let count = random.random_range(1..4);
    let hidden = HIDDEN.choose_multiple(random, count);
    let rules = hidden.enumerate().map(|(number, path)| {
        format!(
            r#"{{"name":"{number}","path":"{path}","access-operations":"read","action":"deny"}}"#
        )
    });
    let rules = rules.collect::<Vec<_>>().join(",");
    format!(
        r#"{{"ietf-netconf-acm:nacm":{{"groups":{{"group":[{{"name":"g","user-name":["maria"]}}]}},
        "rule-list":[{{"name":"r","group":["g"],"rule":[{rules}]}}]}}}}"#
    )
}

/// Commits random edits, some of them with many changes.
fn make_history(tree: &Tree, random: &mut StdRng) {
    for number in 0..random.random_range(1..30) {
        let edits = (0..random.random_range(1..3)).map(|_| match random.random_bool(0.2) {
            true => {
                let path = *["/m:c/l=1", "/m:c/s=2", "/m:c/p", "/m:c"]
                    .choose(random)
                    .unwrap();
                Edit::remove(InstancePath::parse_cli_path(tree.schema(), path).unwrap())
            }
            false => {
                let value = random.random_range(0..4).to_string();
                let document = DOCUMENTS.choose(random).unwrap().replace('N', &value);
                Edit::merge(InstancePath::root(), json_data(tree.schema(), &document))
            }
        });
        let (edits, comment) = (edits.collect::<Vec<_>>(), number.to_string());
        let options = CommitOptions {
            comment: &comment,
            ..CommitOptions::default()
        };
        tree.commit(&edits, options).expect("a commit");
    }
}

/// What the user can know of a commit, by its differences.
fn expected(tree: &Tree, access: &UserAccess, commit: &CommitInfo) -> Option<CommitInfo> {
    let (mut some, mut all) = (false, true);
    let differences = tree.each_difference(commit.version - 1, commit.version, &mut |_, change| {
        let is_readable = access.may_read(&change.path);
        some |= is_readable;
        all &= is_readable;
        Ok(())
    });
    differences.expect("differences");
    let mut shown = commit.clone();
    if !all {
        shown.comment.clear();
    }
    some.then_some(shown)
}

#[test]
fn only_commits_of_readable_nodes_are_visible() {
    let variable = "ESPALIER_HISTORIES";
    let count = seed::number_from_environment(variable).unwrap_or(HISTORIES);
    seed::run_each("histories", count, variable, |random| {
        let tree = tree_of(&[MODEL]);
        let rules = rules(random);
        put(&tree, json_data(tree.schema(), &rules));
        make_history(&tree, random);
        let access = policy(&tree).access_of(&user("maria"));
        let all = tree.history(None, usize::MAX).expect("a history");
        let expected: Vec<_> = all
            .iter()
            .filter_map(|commit| expected(&tree, &access, commit))
            .collect();
        let visible = |from, limit| {
            let is_visible = &mut |_: &Arc<_>, change: &espalier_store::NodeChange| {
                Ok(access.may_read(&change.path))
            };
            tree.visible_history(from, limit, is_visible)
                .expect("a history")
        };
        assert_eq!(visible(None, usize::MAX), expected, "{rules}");
        let from = random.random_range(0..=all[0].version);
        let page = expected.iter().filter(|commit| commit.version <= from);
        let page: Vec<_> = page.take(3).cloned().collect();
        assert_eq!(visible(Some(from), 3), page, "{rules} from {from}");
    });
}

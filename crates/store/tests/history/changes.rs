//! Diffs of single changes, line by line.

use std::fmt::Write;

use espalier_store::{Tree, write_change_json, write_change_text};

use crate::fixture::{commit, data, memory_tree, merge, path};

const MODEL: &str = r#"module m { yang-version 1.1; namespace urn:m; prefix m;
  container top { leaf name { type string; }
    container on { presence "on"; leaf since { type uint64; } }
    list user { key id; leaf id { type string; } leaf age { type uint8; } container in { leaf x { type string; } } }
    leaf-list tag { type string; }
    list rule { key id; ordered-by user; leaf id { type string; } leaf note { type string; } leaf-list port { type uint16; ordered-by user; } } }
}"#;

/// The diff that results from merging a document.
fn difference(tree: &Tree, edit: &str) -> String {
    merge(tree, edit);
    last_difference(tree)
}

fn last_difference(tree: &Tree) -> String {
    let newest = tree.view().unwrap().version().unwrap();
    lines(tree, newest - 1, newest)
}

fn lines(tree: &Tree, a: u64, b: u64) -> String {
    let diff = tree.diff(a, b).unwrap();
    let mut text = String::new();
    for change in diff.changes() {
        let mut line = Vec::new();
        write_change_text(&mut line, diff.schema(), &change);
        writeln!(text, "{}", String::from_utf8(line).unwrap()).unwrap();
        let mut json = Vec::new();
        write_change_json(&mut json, diff.schema(), &change);
        serde_json::from_slice::<serde_json::Value>(&json).unwrap();
    }
    text
}

const START: &str = r#"{"m:top":{"name":"a","user":[{"id":"u1","age":1},{"id":"u2"}],"tag":["t"],
  "rule":[{"id":"1","port":[1,2,3]},{"id":"2"},{"id":"3"},{"id":"4","note":"n"}]}}"#;

fn start() -> Tree {
    let tree = memory_tree(MODEL);
    merge(&tree, START);
    tree
}

#[test]
fn a_created_subtree_is_listed_from_its_root() {
    let tree = memory_tree(MODEL);
    let found = difference(
        &tree,
        r#"{"m:top":{"on":{"since":"5"},"user":[{"id":"u","age":3,"in":{"x":"y"}}],"tag":["t"],"rule":[{"id":"r","port":[7,6]}]}}"#,
    );
    let expected = "\
+ /m:top/on
+ /m:top/on/since = \"5\"
+ /m:top/user[id='u']
+ /m:top/user[id='u']/age = 3
+ /m:top/user[id='u']/in/x = \"y\"
+ /m:top/tag[.='t']
+ /m:top/rule[id='r'] first
+ /m:top/rule[id='r']/port[.='7'] first
+ /m:top/rule[id='r']/port[.='6'] after [.='7']
";
    assert_eq!(found, expected);
    let back = lines(&tree, 1, 0);
    let mut signs = back.lines().map(|line| &line[..2]);
    assert!(signs.all(|sign| sign == "- "), "{back}");
    assert!(lines(&tree, 1, 1).is_empty());
}

#[test]
fn a_leaf_that_changes_is_one_line() {
    let tree = start();
    let found = difference(&tree, r#"{"m:top":{"user":[{"id":"u1","age":2}]}}"#);
    assert_eq!(found, "~ /m:top/user[id='u1']/age: 1 -> 2\n");
    let found = difference(&tree, r#"{"m:top":{"user":[{"id":"u2","age":9}]}}"#);
    assert_eq!(found, "+ /m:top/user[id='u2']/age = 9\n");
    let delete = espalier_store::Edit::delete(path(tree.schema(), "/m:top/user=u1"));
    commit(&tree, &[delete]).unwrap();
    let expected = "- /m:top/user[id='u1']\n- /m:top/user[id='u1']/age = 2\n";
    assert_eq!(last_difference(&tree), expected);
}

fn insert(tree: &Tree, entry: &str) -> String {
    let schema = tree.schema();
    let edit = data(schema, &format!("{{\"m:top\":{{\"rule\":[{entry}]}}}}"));
    let edit = espalier_store::Edit::merge(espalier_yang::InstancePath::root(), edit);
    commit(tree, &[edit]).unwrap();
    last_difference(tree)
}

#[test]
fn a_moved_entry_is_one_line_and_its_changes_follow() {
    let tree = start();
    let found = insert(
        &tree,
        r#"{"@":{"yang:insert":"first"},"id":"4","note":"other"}"#,
    );
    let expected = "\
~ /m:top/rule[id='4'] moved first
~ /m:top/rule[id='4']/note: \"n\" -> \"other\"
";
    assert_eq!(found, expected);
    let found = insert(
        &tree,
        r#"{"@":{"yang:insert":"before","yang:key":"[id='3']"},"id":"new"}"#,
    );
    assert_eq!(found, "+ /m:top/rule[id='new'] after [id='2']\n");
}

#[test]
fn an_entry_put_at_its_old_place_does_not_move() {
    let tree = start();
    let version = tree.view().unwrap().version().unwrap();
    let edit =
        r#"{"m:top":{"rule":[{"@":{"yang:insert":"after","yang:key":"[id='1']"},"id":"2"}]}}"#;
    let edit = data(tree.schema(), edit);
    let edit = espalier_store::Edit::merge(espalier_yang::InstancePath::root(), edit);
    commit(&tree, &[edit]).unwrap();
    let newest = tree.view().unwrap().version().unwrap();
    assert_eq!(lines(&tree, version, newest), "");
}

#[test]
fn renumbering_is_no_move() {
    let tree = start();
    for number in 0..500 {
        let version = tree.view().unwrap().version().unwrap();
        let entry =
            format!(r#"{{"@":{{"yang:insert":"after","yang:key":"[id='1']"}},"id":"x{number}"}}"#);
        let found = insert(&tree, &entry);
        let expected = format!("+ /m:top/rule[id='x{number}'] after [id='1']\n");
        assert_eq!(found, expected, "version {version}");
    }
}

//! Lists ordered by user: renumbered because many entries were inserted in one place, and changed many times
//! in one commit.

use espalier_store::{Edit, LoadMode, Selection, Tree};
use espalier_testkit::seed;
use espalier_yang::InstancePath;
use rand::Rng;
use rand::rngs::StdRng;

use crate::fixture::{MODEL, assert_sound, commit, data, load_json, memory_tree, path, read, text};

/// Insertions in one place; a position has room for about 380 before the list is renumbered.
const INSERTIONS: usize = 900;

fn edit(tree: &Tree, text: &str) -> Edit {
    Edit::merge(InstancePath::root(), data(tree.schema(), text))
}

fn names(tree: &Tree, list: &str) -> Vec<String> {
    let view = tree.view().unwrap();
    let found = read(&view, &path(tree.schema(), list), &Selection::default()).unwrap();
    let name = |entry: &espalier_yang::data::DataNode| {
        let value = entry.value().or_else(|| entry.children()[0].value());
        value.unwrap().to_string()
    };
    found.nodes.iter().map(name).collect()
}

fn expected(first: &str, last: &str) -> Vec<String> {
    let mut all = vec![first.to_owned()];
    all.extend((0..INSERTIONS).rev().map(|number| format!("n{number}")));
    all.push(last.to_owned());
    all
}

#[test]
fn renumbering_keeps_order_content_and_stamps() {
    let tree = memory_tree(MODEL);
    let start = r#"{"m:rule":[
        {"name":"a","match":[{"src":"s","dst":"d","port":[2,1],"option":{"item":[{"n":1}]}},{"src":"s","dst":"c"}]},
        {"name":"b","match":[{"src":"s","dst":"d","port":[2,1]}]}]}"#;
    load_json(&tree, LoadMode::Merge, start).unwrap();
    for number in 0..INSERTIONS {
        let insert = format!(
            r#"{{"m:rule":[{{"name":"n{number}","match":[{{"src":"s","dst":"d","port":[2,1]}}],
                "@":{{"yang:insert":"after","yang:key":"[name='a']"}}}}]}}"#
        );
        // A change of another entry first, in the same commit: its stamp moves with it.
        let change = format!(
            r#"{{"m:rule":[{{"name":"b","match":[{{"src":"s","dst":"d","option":{{"item":[{{"n":2,"t":"{number}"}}]}}}}]}}]}}"#
        );
        let made = commit(&tree, &[edit(&tree, &change), edit(&tree, &insert)]).unwrap();
        let view = tree.view().unwrap();
        let stamp = |at: &str| view.stamp(&path(tree.schema(), at)).unwrap().version;
        assert_eq!(
            stamp("/rule[name='b']/match[src='s'][dst='d']"),
            made.version
        );
        assert_eq!(stamp("/rule[name='a']"), 1);
        if number > 0 {
            let before = format!("/rule[name='n{}']", number - 1);
            assert_eq!(stamp(&before), made.version - 1);
        }
    }
    assert_eq!(names(&tree, "/rule"), expected("a", "b"));
    assert_sound(tree.store());
    let shown = text(&tree);
    assert_eq!(shown.matches(r#""port":[2,1]"#).count(), INSERTIONS + 2);
    // And once more from its output: the same tree.
    let copy = memory_tree(MODEL);
    load_json(&copy, LoadMode::Merge, &shown).unwrap();
    assert_eq!(text(&copy), shown);
}

#[test]
fn a_nested_list_is_renumbered_by_itself() {
    let tree = memory_tree(MODEL);
    let start = r#"{"m:rule":[{"name":"x","match":[{"src":"a","dst":"","port":[1]},{"src":"b","dst":"","port":[2]}]},{"name":"y"}]}"#;
    load_json(&tree, LoadMode::Merge, start).unwrap();
    let all = (0..INSERTIONS).map(|number| {
        edit(
            &tree,
            &format!(
                r#"{{"m:rule":[{{"name":"x","match":[{{"src":"n{number}","dst":"","port":[3,1],
                    "@":{{"yang:insert":"after","yang:key":"[src='a'][dst='']"}}}}]}}]}}"#
            ),
        )
    });
    // All in one commit.
    let all: Vec<Edit> = all.collect();
    commit(&tree, &all).unwrap();
    assert_eq!(names(&tree, "/rule[name='x']/match"), expected("a", "b"));
    assert_eq!(names(&tree, "/rule"), ["x", "y"]);
    assert_eq!(
        names(&tree, "/rule[name='x']/match[src='n7'][dst='']/port"),
        ["3", "1"]
    );
    assert_sound(tree.store());
}

#[test]
fn a_leaf_list_is_renumbered_too() {
    let tree = memory_tree(MODEL);
    load_json(&tree, LoadMode::Merge, r#"{"m:turn":["a","b"]}"#).unwrap();
    for number in 0..INSERTIONS {
        let insert = format!(
            r#"{{"m:turn":["n{number}"],"@m:turn":[{{"yang:insert":"after","yang:value":"a"}}]}}"#
        );
        commit(&tree, &[edit(&tree, &insert)]).unwrap();
    }
    assert_eq!(names(&tree, "/turn"), expected("a", "b"));
    assert_sound(tree.store());
}

/// An edit of a leaf-list ordered by user, and its effect on the values.
fn change(random: &mut StdRng, tree: &Tree, values: &mut Vec<String>) -> Edit {
    let path = |text: &str| path(tree.schema(), text);
    let existing = match values.len() {
        0 => None,
        length => Some(values[random.random_range(0..length)].clone()),
    };
    let insert = |value: &str, how: &str| {
        edit(
            tree,
            &format!(r#"{{"m:turn":["{value}"],"@m:turn":[{{"yang:insert":{how}}}]}}"#),
        )
    };
    let new = format!("v{}", random.random_range(0..12));
    let is_new = !values.contains(&new);
    match (random.random_range(0..12), existing) {
        (0, Some(_)) => {
            values.clear();
            Edit::delete(path("/turn"))
        }
        (1 | 2, Some(_)) => {
            let last = values.pop().unwrap_or_default();
            Edit::delete(path(&format!("/turn[.='{last}']")))
        }
        (3, Some(existing)) => {
            values.retain(|value| *value != existing);
            Edit::delete(path(&format!("/turn[.='{existing}']")))
        }
        (4, _) => {
            values.retain(|value| *value != new);
            values.insert(0, new.clone());
            insert(&new, r#""first""#)
        }
        (5, Some(existing)) if existing != new => {
            values.retain(|value| *value != new);
            let at = values.iter().position(|value| *value == existing);
            values.insert(at.map_or(0, |at| at + 1), new.clone());
            insert(&new, &format!(r#""after","yang:value":"{existing}""#))
        }
        (6, _) => {
            values.retain(|value| *value != new);
            values.push(new.clone());
            insert(&new, r#""last""#)
        }
        _ => {
            if is_new {
                values.push(new.clone());
            }
            edit(tree, &format!(r#"{{"m:turn":["{new}"]}}"#))
        }
    }
}

#[test]
fn many_changes_of_one_list_in_one_commit_leave_it_in_order() {
    seed::run("many changes of one list in one commit", |random| {
        let tree = memory_tree(MODEL);
        let mut values = Vec::new();
        for _ in 0..60 {
            let count = random.random_range(1..20);
            let edits: Vec<Edit> = (0..count)
                .map(|_| change(random, &tree, &mut values))
                .collect();
            commit(&tree, &edits).unwrap();
            let found = match values.is_empty() {
                true => Vec::new(),
                false => names(&tree, "/turn"),
            };
            assert_eq!(found, values);
        }
        assert_sound(tree.store());
    });
}

//! Bugs that were fixed, each with a named test.

use espalier_store::{Content, Edit, LoadMode, Selection, Stamp, Tree, WithDefaults};
use espalier_yang::data::Operation;
use espalier_yang::path::Fields;
use espalier_yang::{ErrorTag, InstancePath};

use crate::fixture::{
    MODEL, assert_sound, commit, data, first_tag, load_json, memory_tree, merge, path, read, show,
    text,
};

fn stamp(tree: &Tree, at: &str) -> Stamp {
    let view = tree.view().unwrap();
    view.stamp(&path(tree.schema(), at)).unwrap()
}

fn delete(tree: &Tree, at: &str) -> espalier_store::Commit {
    commit(tree, &[delete_of(tree, at)]).unwrap()
}

fn delete_of(tree: &Tree, at: &str) -> Edit {
    Edit::delete(path(tree.schema(), at))
}

fn merge_at(tree: &Tree, at: &str, text: &str) -> Edit {
    // The document is of the whole datastore; the part below `at` is used.
    let at = path(tree.schema(), at);
    let mut data = data(tree.schema(), text);
    for _ in &at.steps {
        let inner = data.nodes.remove(0);
        data.nodes = inner.children().to_vec();
    }
    Edit::merge(at, data)
}

fn show_selected(tree: &Tree, at: &str, selection: &Selection) -> String {
    let view = tree.view().unwrap();
    let found = read(&view, &path(tree.schema(), at), selection);
    show(tree.schema(), &found.expect("it is there"))
}

#[test]
fn values_of_different_types_of_a_union_are_different_entries() {
    let tree = memory_tree(MODEL);
    // The scaled number of 5.0 is 50; the bytes of YWJj are abc.
    let all = r#"{"m:tag":["YWJj","abc",50,"5.0"]}"#;
    merge(&tree, all);
    let found = text(&tree);
    for value in ["\"YWJj\"", "\"abc\"", "50,", "\"5.0\""] {
        assert!(found.contains(value), "{found}");
    }
    let view = tree.view().unwrap();
    assert_eq!(view.count(&path(tree.schema(), "/tag")).unwrap(), 4);
    assert_sound(tree.store());
}

#[test]
fn moving_an_entry_creates_a_version() {
    let tree = memory_tree(MODEL);
    merge(&tree, r#"{"m:rule":[{"name":"a"},{"name":"b"}]}"#);
    let moved = merge(
        &tree,
        r#"{"m:rule":[{"name":"b","@":{"yang:insert":"first"}}]}"#,
    );
    assert!(moved.is_changed);
    assert_eq!(stamp(&tree, "/").version, moved.version);
    let next = merge(&tree, r#"{"m:top":"x"}"#);
    assert_eq!(next.version, moved.version + 1);
    assert!(text(&tree).contains(r#"[{"name":"b"},{"name":"a"}]"#));
}

#[test]
fn an_entry_that_is_changed_and_then_moved_is_stamped_at_its_new_place() {
    let tree = memory_tree(MODEL);
    merge(&tree, r#"{"m:rule":[{"name":"a"},{"name":"b"}]}"#);
    let document = |text: &str| Edit::merge(InstancePath::root(), data(tree.schema(), text));
    let edits = [
        document(r#"{"m:rule":[{"name":"b","action":"permit"}]}"#),
        document(r#"{"m:rule":[{"name":"b","@":{"yang:insert":"first"}}]}"#),
    ];
    let made = commit(&tree, &edits).unwrap();
    assert_eq!(stamp(&tree, "/rule[name='b']").version, made.version);
    assert_eq!(stamp(&tree, "/rule[name='a']").version, 1);
}

#[test]
fn an_emptied_container_has_a_new_stamp() {
    let tree = memory_tree(MODEL);
    load_json(&tree, LoadMode::Merge, r#"{"m:plain":{"x":"1"}}"#).unwrap();
    let before = stamp(&tree, "/plain");
    let made = delete(&tree, "/plain");
    assert_ne!(stamp(&tree, "/plain"), before);
    assert_eq!(stamp(&tree, "/plain").version, made.version);
}

#[test]
fn a_container_emptied_by_another_case_has_a_new_stamp() {
    let tree = memory_tree(MODEL);
    load_json(&tree, LoadMode::Merge, r#"{"m:walk":{"pace":1}}"#).unwrap();
    let made = merge(&tree, r#"{"m:line":"x"}"#);
    assert_eq!(stamp(&tree, "/walk").version, made.version);
}

#[test]
fn a_node_changed_by_one_edit_and_deleted_by_another_leaves_no_stamp() {
    let tree = memory_tree(MODEL);
    merge(&tree, r#"{"m:named":[{"name":"a"}]}"#);
    let keys = || {
        let usage = tree.store().usage().unwrap();
        let stamps = usage.iter().find(|(one, _)| one.name() == "stamp");
        stamps.expect("stamps").1.keys
    };
    let before = keys();
    let edits = [
        Edit::merge(
            InstancePath::root(),
            data(tree.schema(), r#"{"m:named":[{"name":"b","in":{"w":1}}]}"#),
        ),
        Edit::delete(path(tree.schema(), "/named[name='b']")),
        Edit::merge(
            InstancePath::root(),
            data(tree.schema(), r#"{"m:top":"x"}"#),
        ),
    ];
    assert!(commit(&tree, &edits).unwrap().is_changed);
    assert_eq!(keys(), before);
}

#[test]
fn a_container_emptied_by_one_edit_is_created_by_the_next() {
    let tree = memory_tree(MODEL);
    let whole = |document: &str| data(tree.schema(), document);
    for (document, what) in [
        (r#"{"m:plain":{"x":"1"}}"#, "/plain/x"),
        (
            r#"{"m:plain":{"colour":["green"]}}"#,
            "/plain/colour[.='green']",
        ),
        (r#"{"m:plain":{"inner":{"y":1}}}"#, "/plain/inner/y"),
        (
            r#"{"m:plain":{"inner":{"deep":[{"k":1}]}}}"#,
            "/plain/inner/deep[k='1']",
        ),
        (r#"{"m:sun":{"hours":1}}"#, "/sun/hours"),
        (r#"{"m:walk":{"stop":["a"]}}"#, "/walk/stop[.='a']"),
    ] {
        let root = InstancePath::root;
        let edits = [
            Edit::merge(root(), whole(document)),
            Edit::merge(root(), whole(document)),
            delete_of(&tree, what),
            Edit::create(root(), whole(document)),
        ];
        commit(&tree, &edits).unwrap_or_else(|error| panic!("{document}: {error}"));
        assert_eq!(text(&tree), document);
        let there = first_tag(&commit(&tree, &edits[3..]));
        assert_eq!(there, Some(ErrorTag::DataExists), "{document}");
        delete(&tree, what);
        assert_sound(tree.store());
    }
}

#[test]
fn an_edit_below_an_empty_container_of_a_case_deletes_the_other_cases() {
    let tree = memory_tree(MODEL);
    merge(&tree, r#"{"m:line":"x","m:seat":{"number":1}}"#);
    let edit = merge_at(&tree, "/walk", r#"{"m:walk":{"pace":3}}"#);
    commit(&tree, &[edit]).unwrap();
    assert_eq!(text(&tree), r#"{"m:walk":{"pace":3}}"#);
}

#[test]
fn a_node_created_below_a_container_of_a_case_deletes_the_other_cases() {
    let tree = memory_tree(MODEL);
    merge(&tree, r#"{"m:line":"x"}"#);
    let document = data(
        tree.schema(),
        r#"{"m:walk":{"pace":3,"@pace":{"ietf-netconf:operation":"merge"}}}"#,
    );
    let edit = Edit::apply(InstancePath::root(), document, Operation::None);
    commit(&tree, &[edit]).unwrap();
    assert_eq!(text(&tree), r#"{"m:walk":{"pace":3}}"#);
}

#[test]
fn an_entry_on_the_path_of_an_edit_does_not_move_and_deletes_nothing() {
    let tree = memory_tree(MODEL);
    merge(
        &tree,
        r#"{"m:rule":[{"name":"a"},{"name":"b"}],"m:line":"x","m:turn":["1","2"]}"#,
    );
    let before = text(&tree);
    let document = data(
        tree.schema(),
        r#"{"m:rule":[{"name":"b","@":{"yang:insert":"first"}}],"m:chair":[1],
            "m:turn":["2"],"@m:turn":[{"yang:insert":"first"}]}"#,
    );
    let edit = Edit::apply(InstancePath::root(), document, Operation::None);
    assert!(!commit(&tree, &[edit]).unwrap().is_changed);
    assert_eq!(text(&tree), before);
}

#[test]
fn deleting_the_key_of_a_missing_entry_is_data_missing() {
    let tree = memory_tree(MODEL);
    let key = path(tree.schema(), "/named[name='a']/name");
    let missing = commit(&tree, &[Edit::delete(key.clone())]);
    assert_eq!(first_tag(&missing), Some(ErrorTag::DataMissing));
    merge(&tree, r#"{"m:named":[{"name":"a"}]}"#);
    let refused = commit(&tree, &[Edit::delete(key)]);
    assert_eq!(first_tag(&refused), Some(ErrorTag::OperationNotSupported));
}

#[test]
fn depth_counts_from_the_nodes_that_fields_select() {
    let tree = memory_tree(MODEL);
    merge(
        &tree,
        r#"{"m:plain":{"inner":{"z":"1","deep":[{"k":1,"v":"x","in":{"u":"3"}}]}}}"#,
    );
    let selection = |depth| Selection {
        depth: Some(depth),
        fields: Some(Fields::parse(tree.schema(), None, "m:plain/inner").unwrap()),
        ..Selection::default()
    };
    assert_eq!(
        show_selected(&tree, "/", &selection(2)),
        r#"{"m:plain":{"inner":{"z":"1","deep":[{}]}}}"#
    );
    assert_eq!(
        show_selected(&tree, "/", &selection(3)),
        r#"{"m:plain":{"inner":{"z":"1","deep":[{"k":1,"v":"x","in":{}}]}}}"#
    );
}

#[test]
fn nodes_whose_state_is_beyond_the_depth_are_shown() {
    let tree = memory_tree(MODEL);
    merge(
        &tree,
        r#"{"m:top":"x","m:device":[
            {"id":"a","counters":{"in":"1"},"port":[{"n":1,"up":true}]},
            {"id":"b","note":"no state","port":[{"n":1,"descr":"no state"}]}]}"#,
    );
    let state = |depth| Selection {
        depth: Some(depth),
        content: Content::NonConfig,
        ..Selection::default()
    };
    for (at, depth, expected) in [
        ("/", 1, r#"{}"#),
        ("/", 2, r#"{"m:device":[{}]}"#),
        (
            "/",
            3,
            r#"{"m:device":[{"id":"a","counters":{},"port":[{}]}]}"#,
        ),
        (
            "/",
            4,
            r#"{"m:device":[{"id":"a","counters":{"in":"1"},"port":[{"n":1,"up":true}]}]}"#,
        ),
        (
            "/device[id='a']",
            2,
            r#"{"m:device":[{"id":"a","counters":{},"port":[{}]}]}"#,
        ),
    ] {
        assert_eq!(
            show_selected(&tree, at, &state(depth)),
            expected,
            "{at} {depth}"
        );
    }
}

#[test]
fn state_presence_containers_are_shown() {
    let tree = memory_tree(MODEL);
    merge(
        &tree,
        r#"{"m:state":{"alive":{},"event":[{}]},"m:present":{},"m:top":"x"}"#,
    );
    let state = Selection {
        content: Content::NonConfig,
        ..Selection::default()
    };
    assert_eq!(
        show_selected(&tree, "/", &state),
        r#"{"m:state":{"event":[{}],"alive":{}}}"#
    );
    let fields = Selection {
        fields: Some(Fields::parse(tree.schema(), None, "m:present").unwrap()),
        ..Selection::default()
    };
    assert_eq!(show_selected(&tree, "/", &fields), r#"{"m:present":{}}"#);
}

#[test]
fn defaults_of_a_choice_are_those_of_the_existing_case() {
    let tree = memory_tree(MODEL);
    let defaults = Selection {
        with_defaults: WithDefaults::ReportAll,
        ..Selection::default()
    };
    let kind = |tree: &Tree| {
        let found = show_selected(tree, "/plain", &defaults);
        (
            found.contains("\"lad\":4"),
            found.contains("\"lb\":\"bee\""),
        )
    };
    assert_eq!(kind(&tree), (true, false), "the default case");
    merge(&tree, r#"{"m:plain":{"llb":[1]}}"#);
    assert_eq!(kind(&tree), (false, true), "the other case");
    let view = tree.view().unwrap();
    let lad = path(tree.schema(), "/plain/lad");
    assert!(read(&view, &lad, &defaults).is_none());
    // A node that `fields` leaves out exists nevertheless.
    let fields = Selection {
        fields: Some(Fields::parse(tree.schema(), None, "m:plain/lad").unwrap()),
        ..defaults.clone()
    };
    assert_eq!(show_selected(&tree, "/", &fields), "{}");
}

#[test]
fn defaults_are_reported_if_their_when_is_true() {
    let tree = memory_tree(
        "module m { yang-version 1.1; namespace urn:m; prefix m;
           leaf x { type string; } leaf top { when \"../x='1'\"; type string; default t; }
           leaf-list many { when ../x; type string; default a; default b; }
           container c { leaf a { type string; }
             leaf b { when \"../a='1'\"; type string; default bee; }
             container in { when \"../b='bee'\"; leaf d { type int8; default 4; }
               container deep { leaf e { when ../../d; type int8; default 5; } } }
             list l { key k; leaf k { type string; }
               leaf v { when \"../k='1' and ../../b\"; type int8; default 6; } } } }",
    );
    let defaults = Selection {
        with_defaults: WithDefaults::ReportAll,
        ..Selection::default()
    };
    let at = |place: &str| {
        let view = tree.view().unwrap();
        let at = path(tree.schema(), place);
        read(&view, &at, &defaults).map(|_| show_selected(&tree, place, &defaults))
    };
    assert_eq!(at("/").unwrap(), "{}");
    assert_eq!([at("/top"), at("/c/in"), at("/c/in/d")], [None, None, None]);
    merge(
        &tree,
        r#"{"m:x":"1","m:c":{"a":"1","l":[{"k":"1"},{"k":"2"}]}}"#,
    );
    assert_eq!(
        at("/").unwrap(),
        r#"{"m:x":"1","m:top":"t","m:many":["a","b"],"m:c":{"a":"1","b":"bee","in":{"d":4,"deep":{"e":5}},"l":[{"k":"1","v":6},{"k":"2"}]}}"#
    );
    assert_eq!(at("/top").unwrap(), r#"{"m:top":"t"}"#);
    assert_eq!(at("/c/in/deep/e").unwrap(), r#"{"m:e":5}"#);
}

#[test]
fn a_creating_load_rejects_every_kind_of_existing_top_node() {
    let tree = memory_tree(MODEL);
    merge(
        &tree,
        r#"{"m:top":"x","m:tag":["a"],"m:turn":["b"],"m:plain":{"x":"1"},"m:named":[{"name":"n"}],"m:present":{}}"#,
    );
    let before = text(&tree);
    for document in [
        r#"{"m:top":"x"}"#,
        r#"{"m:tag":["a"]}"#,
        r#"{"m:turn":["b"]}"#,
        r#"{"m:plain":{"d":"1"}}"#,
        r#"{"m:named":[{"name":"n"}]}"#,
        r#"{"m:present":{}}"#,
    ] {
        let refused = load_json(&tree, LoadMode::Create, document);
        assert_eq!(
            first_tag(&refused),
            Some(ErrorTag::DataExists),
            "{document}"
        );
    }
    load_json(
        &tree,
        LoadMode::Create,
        r#"{"m:named":[{"name":"o"}],"m:turn":["c"]}"#,
    )
    .unwrap();
    assert_ne!(text(&tree), before);
    assert_sound(tree.store());
}

#[test]
fn a_load_that_deletes_the_last_leaf_of_a_container_leaves_no_empty_fragment() {
    let tree = memory_tree(MODEL);
    load_json(
        &tree,
        LoadMode::Merge,
        r#"{"m:plain":{"la":"x"},"m:line":"y"}"#,
    )
    .unwrap();
    let other = r#"{"m:plain":{"cb":{}},"m:walk":{"pace":1}}"#;
    load_json(&tree, LoadMode::Merge, other).unwrap();
    assert_eq!(text(&tree), r#"{"m:walk":{"pace":1},"m:plain":{"cb":{}}}"#);
    assert_sound(tree.store());
}

#[test]
fn a_large_value_can_be_changed_and_deleted() {
    let tree = memory_tree(MODEL);
    let large = "x".repeat((4 << 20) - 100);
    merge(&tree, &format!(r#"{{"m:present":{{"x":"{large}"}}}}"#));
    merge(&tree, r#"{"m:present":{"x":"small"}}"#);
    merge(&tree, &format!(r#"{{"m:present":{{"x":"{large}"}}}}"#));
    delete(&tree, "/present");
    assert_eq!(text(&tree), "{}");
}

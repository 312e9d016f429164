//! Each constraint of RFC 7950: violations, and their errors.

use espalier_store::{Datastore, Error, LoadMode, Tree, Validation};

use crate::fixture::{assert_sound, commit, load_json, memory_tree, merge, path, text};

const MODEL: &str = r#"module m { yang-version 1.1; namespace urn:m; prefix m;
  container limits { leaf max { type uint8; default 3; } }
  list port { key name; unique "slot in/lane"; max-elements 4;
    must "slot or not(in/lane)" { error-message "a lane needs a slot"; error-app-tag lane; }
    leaf name { type string; }
    leaf slot { type uint8; must ". <= /limits/max"; }
    container in { leaf lane { type uint8; default 1; } }
    leaf mode { type string; }
    leaf vlan { when "../mode = 'access'"; type uint16; }
    choice how { leaf fast { type empty; } container slow { presence "s"; leaf by { type uint8; mandatory true; } } }
    leaf-list peer { type leafref { path "/port/name"; } }
    leaf at { type instance-identifier; } }
  container one { presence "p"; leaf must-be { type string; mandatory true; }
    choice pick { mandatory true; leaf a { type string; } leaf b { type string; } }
    list few { key k; min-elements 2; leaf k { type string; } } } }"#;

/// The errors of a merge into a tree: path, tag, app-tag.
fn refused(tree: &Tree, document: &str) -> Vec<String> {
    let before = text(tree);
    let edit = espalier_store::Edit::merge(
        espalier_yang::InstancePath::root(),
        crate::fixture::data(tree.schema(), document),
    );
    let result = crate::fixture::commit(tree, &[edit]);
    let Err(Error::Data(errors)) = result else {
        panic!("not refused: {result:?}");
    };
    assert_eq!(text(tree), before);
    let found = errors.iter().map(|error| {
        let tag = error.tag.as_str();
        format!(
            "{} {tag} {}",
            error.path,
            error.app_tag.as_deref().unwrap_or("-")
        )
    });
    found.collect()
}

fn ports(tree: &Tree) {
    merge(
        tree,
        r#"{"m:port":[{"name":"a","slot":1},{"name":"b","slot":2}]}"#,
    );
}

#[test]
fn all_violations_are_reported_together_with_their_tags() {
    let tree = memory_tree(MODEL);
    ports(&tree);
    let found = refused(
        &tree,
        r#"{"m:port":[{"name":"a","slot":9,"vlan":1},{"name":"c","slot":2},
            {"name":"d","in":{"lane":2},"peer":["a","x"],"at":"/m:port[name='y']"}],"m:one":{}}"#,
    );
    let expected = [
        "/m:one data-missing missing-choice",
        "/m:one/few operation-failed too-few-elements",
        "/m:one/must-be data-missing -",
        "/m:port[name='a']/slot operation-failed must-violation",
        "/m:port[name='a']/vlan unknown-element -",
        "/m:port[name='c'] operation-failed data-not-unique",
        "/m:port[name='d'] operation-failed lane",
        "/m:port[name='d']/at data-missing instance-required",
        "/m:port[name='d']/peer[.='x'] data-missing instance-required",
    ];
    assert_eq!(found, expected);
}

#[test]
fn a_load_is_validated_like_an_edit() {
    let tree = memory_tree(MODEL);
    let document = r#"{"m:port":[{"name":"a","slot":9,"peer":["b"]}]}"#;
    for mode in [LoadMode::Merge, LoadMode::Replace, LoadMode::Create] {
        let Err(Error::Data(errors)) = load_json(&tree, mode, document) else {
            panic!("accepted");
        };
        let paths: Vec<&str> = errors.iter().map(|error| error.path.as_str()).collect();
        assert_eq!(
            paths,
            ["/m:port[name='a']/slot", "/m:port[name='a']/peer[.='b']"]
        );
        assert_eq!(text(&tree), "{}");
    }
    ports(&tree);
    assert!(load_json(&tree, LoadMode::Merge, document).is_err());
    assert!(load_json(&tree, LoadMode::Replace, document).is_err());
    tree.validate_whole().unwrap();
    tree.view().unwrap().validate().unwrap();
}

#[test]
fn the_error_message_of_the_model_is_reported() {
    let tree = memory_tree(MODEL);
    let document = r#"{"m:port":[{"name":"a","in":{"lane":3}}]}"#;
    let Err(Error::Data(errors)) = load_json(&tree, LoadMode::Merge, document) else {
        panic!("accepted");
    };
    assert_eq!(errors.iter().next().unwrap().message, "a lane needs a slot");
}

#[test]
fn nodes_with_a_false_when_are_deleted() {
    let tree = memory_tree(MODEL);
    merge(
        &tree,
        r#"{"m:port":[{"name":"a","slot":1,"mode":"access","vlan":7}]}"#,
    );
    merge(&tree, r#"{"m:port":[{"name":"a","mode":"trunk"}]}"#);
    assert_eq!(
        text(&tree),
        r#"{"m:port":[{"name":"a","slot":1,"mode":"trunk"}]}"#
    );
}

#[test]
fn a_limit_elsewhere_is_a_condition_on_every_entry() {
    let tree = memory_tree(MODEL);
    ports(&tree);
    let found = refused(&tree, r#"{"m:limits":{"max":1}}"#);
    assert_eq!(
        found,
        ["/m:port[name='b']/slot operation-failed must-violation"]
    );
    merge(&tree, r#"{"m:limits":{"max":2}}"#);
    let more = r#"{"m:port":[{"name":"c","slot":0},{"name":"d","slot":0,"in":{"lane":9}},{"name":"e","slot":0,"in":{"lane":8}}]}"#;
    assert_eq!(
        refused(&tree, more),
        ["/m:port operation-failed too-many-elements"]
    );
}

#[test]
fn a_leafref_target_cannot_be_deleted() {
    let tree = memory_tree(MODEL);
    ports(&tree);
    merge(
        &tree,
        r#"{"m:port":[{"name":"a","peer":["b"],"at":"/m:port[name='b']/slot"}]}"#,
    );
    let delete = r#"{"m:port":[{"name":"b","@":{"ietf-netconf:operation":"delete"}}]}"#;
    let expected = [
        "/m:port[name='a']/at data-missing instance-required",
        "/m:port[name='a']/peer[.='b'] data-missing instance-required",
    ];
    assert_eq!(refused(&tree, delete), expected);
    let both = r#"{"m:port":[{"name":"a","@":{"ietf-netconf:operation":"delete"}},
        {"name":"b","@":{"ietf-netconf:operation":"delete"}}]}"#;
    merge(&tree, both);
    assert_eq!(text(&tree), "{}");
}

#[test]
fn a_mandatory_leaf_of_a_case_is_required_with_its_case() {
    let tree = memory_tree(MODEL);
    ports(&tree);
    let found = refused(&tree, r#"{"m:port":[{"name":"a","slow":{}}]}"#);
    assert_eq!(found, ["/m:port[name='a']/slow/by data-missing -"]);
    merge(&tree, r#"{"m:port":[{"name":"a","slow":{"by":1}}]}"#);
    merge(&tree, r#"{"m:port":[{"name":"a","fast":[null]}]}"#);
    assert!(text(&tree).contains("fast") && !text(&tree).contains("slow"));
}

#[test]
fn an_anchor_may_be_validated_for_structure_and_types_only() {
    let tree = memory_tree(MODEL);
    let store = tree.store();
    let broken = r#"{"m:port":[{"name":"a","slot":200,"vlan":1,"peer":["x"]}]}"#;
    store
        .set_validation("d", "a", Validation::Structure)
        .unwrap();
    let Err(Error::Data(errors)) = load_json(&tree, LoadMode::Merge, broken) else {
        panic!("a tree that was open keeps to what it was");
    };
    assert_eq!(errors.iter().next().unwrap().tag.as_str(), "in-use");
    let loose = store.tree("d", "a", Datastore::Running).unwrap();
    load_json(&loose, LoadMode::Merge, broken).unwrap();
    merge(&loose, r#"{"m:port":[{"name":"a","slot":201}]}"#);
    assert!(loose.validate().is_err());
    assert!(store.set_validation("d", "a", Validation::Full).is_err());
    merge(
        &loose,
        r#"{"m:port":[{"name":"a","slot":1,"mode":"access"},{"name":"x","slot":2}]}"#,
    );
    store.set_validation("d", "a", Validation::Full).unwrap();
    let strict = store.tree("d", "a", Datastore::Running).unwrap();
    assert!(load_json(&strict, LoadMode::Merge, broken).is_err());
    merge(
        &strict,
        r#"{"m:port":[{"name":"y","slot":3,"peer":["x"]}]}"#,
    );
    let edit = espalier_store::Edit::remove(path(strict.schema(), "/m:port[name='x']"));
    assert!(commit(&strict, &[edit]).is_err());
    assert_sound(store);
}

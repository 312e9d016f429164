//! Values for leaves that become mandatory.

use espalier_store::{
    CommitOptions, Datastore, Edit, Error, LeafFill, LoadMode, Store, Tree, UpgradeOptions,
};
use espalier_testkit::documents::json_document;
use espalier_yang::InstancePath;

use crate::fixture::{assert_sound, load_json, open_store, source, text};

const OLD: &str = "module m { yang-version 1.1; namespace urn:m; prefix m;
  list l { key k; leaf k { type uint8; } leaf v { type string; }
    list u { key n; ordered-by user; leaf n { type string; } container box { leaf x { type string; } } } }
  container p { presence p; leaf a { type string; } }
  container q { presence q; leaf a { type string; } }
  choice c { case one { leaf one { type string; } } case two { leaf two { type string; } } } }";

const NEW: &str = "module m { yang-version 1.1; namespace urn:m; prefix m;
  list l { key k; leaf k { type uint8; } leaf v { type string; } leaf w { type uint8; mandatory true; }
    list u { key n; ordered-by user; leaf n { type string; }
      container box { leaf x { type string; } leaf y { type string; mandatory true; } }
      container bag { container inner { leaf z { type string; mandatory true; } } } } }
  container p { presence p; leaf a { type string; } leaf b { type string; mandatory true; } }
  container q { presence q; leaf a { type string; } leaf b { type string; mandatory true; } }
  choice c { case one { leaf one { type string; } leaf more { type string; mandatory true; } }
    case two { leaf two { type string; } leaf less { type string; mandatory true; } } }
  container top { leaf t { type string; mandatory true; } } }";

const DATA: &str = r#"{"m:l":[{"k":1,"v":"a","u":[{"n":"z"},{"n":"a","box":{"x":"1"}}]},{"k":2}],
    "m:p":{"a":"1"},"m:one":"1"}"#;

const FILLED: &str = r#"{"m:l":[{"k":1,"v":"a","w":7,"u":[{"n":"z","box":{"y":"yy"},"bag":{"inner":{"z":"zz"}}},{"n":"a","box":{"x":"1","y":"yy"},"bag":{"inner":{"z":"zz"}}}]},{"k":2,"w":7}],"m:p":{"a":"1","b":"bb"},"m:one":"1","m:more":"mm","m:top":{"t":"tt"}}"#;

const FILLS: [(&str, &str); 8] = [
    ("/m:l/w", "7"),
    ("/m:l/u/box/y", "yy"),
    ("/m:l/u/bag/inner/z", "zz"),
    ("/m:p/b", "bb"),
    ("/m:q/b", "bb"),
    ("/m:more", "mm"),
    ("/m:less", "ll"),
    ("/m:top/t", "tt"),
];

fn fills(of: &[(&str, &str)]) -> Vec<LeafFill> {
    let fills = of.iter();
    fills
        .map(|&(path, value)| LeafFill {
            path: path.to_owned(),
            value: value.to_owned(),
        })
        .collect()
}

fn store_with(data: &str) -> (Store, Tree) {
    let store = open_store(espalier_drivers::open("memory:").unwrap());
    store.create_dataspace("d").unwrap();
    store.create_schema_set("d", "s", &source(OLD)).unwrap();
    store.create_anchor("d", "a", "s").unwrap();
    let tree = store.tree("d", "a", Datastore::Running).unwrap();
    load_json(&tree, LoadMode::Merge, data).unwrap();
    (store, tree)
}

#[test]
fn leaves_that_become_mandatory_are_filled_everywhere() {
    let (store, _) = store_with(DATA);
    let set = |fills: &[LeafFill]| {
        let options = UpgradeOptions {
            fills,
            ..UpgradeOptions::default()
        };
        let tried = store.check_upgrade("d", "s", &source(NEW), options, None);
        let done = store.upgrade_schema_set("d", "s", &source(NEW), options);
        assert_eq!(format!("{tried:?}"), format!("{done:?}"));
        done
    };
    for missing in 0..FILLS.len() {
        let mut some = FILLS.to_vec();
        let (path, _) = some.remove(missing);
        // Nothing lacks these two.
        if !["/m:q/b", "/m:less"].contains(&path) {
            let refused = set(&fills(&some));
            assert!(
                matches!(refused, Err(Error::Upgrade { .. })),
                "{path}: {refused:?}"
            );
        }
    }
    let report = set(&fills(&FILLS)).unwrap();
    assert_eq!(report.datastores[0].filled.count, 9);
    let tree = store.tree("d", "a", Datastore::Running).unwrap();
    assert_eq!(text(&tree), FILLED);
    let places: Vec<&str> = report.datastores[0]
        .filled
        .shown
        .iter()
        .map(|place| &*place.path)
        .collect();
    assert!(
        places.contains(&"/m:l[k='1']/u[n='a']/bag/inner/z"),
        "{places:?}"
    );
    assert_sound(&store);
    // The values are part of the version, and can be taken back.
    store
        .upgrade_schema_set(
            "d",
            "s",
            &source(OLD),
            UpgradeOptions {
                unknown: espalier_store::UnknownData::Drop,
                ..UpgradeOptions::default()
            },
        )
        .unwrap();
    let tree = store.tree("d", "a", Datastore::Running).unwrap();
    tree.rollback(1, CommitOptions::default()).unwrap();
    assert_sound(&store);
}

#[test]
fn the_entries_of_a_candidate_are_filled_too() {
    let (store, tree) = store_with(r#"{"m:l":[{"k":1}]}"#);
    let candidate = tree.sibling_datastore(Datastore::Candidate, "").unwrap();
    let added = json_document(tree.schema(), r#"{"m:l":[{"k":2}]}"#);
    candidate
        .commit(
            &[Edit::merge(InstancePath::root(), added)],
            CommitOptions::default(),
        )
        .unwrap();
    let fills = fills(&[("/m:l/w", "7"), ("/m:top/t", "t")]);
    let options = UpgradeOptions {
        fills: &fills,
        ..UpgradeOptions::default()
    };
    store
        .upgrade_schema_set("d", "s", &source(NEW), options)
        .unwrap();
    let candidate = store.tree("d", "a", Datastore::Candidate).unwrap();
    assert_eq!(
        text(&candidate),
        r#"{"m:l":[{"k":1,"w":7},{"k":2,"w":7}],"m:top":{"t":"t"}}"#
    );
    candidate
        .commit_candidate(CommitOptions::default())
        .unwrap();
    let running = store.tree("d", "a", Datastore::Running).unwrap();
    assert_eq!(text(&running), text(&candidate));
    assert_sound(&store);
}

#[test]
fn only_leaves_of_the_configuration_can_be_filled() {
    let (store, tree) = store_with("{}");
    let before = text(&tree);
    for (path, value, part) in [
        ("/m:l/k", "1", "a key"),
        ("/m:l[k='1']/w", "1", "without keys"),
        ("/m:l/w", "x", "/m:l/w"),
        ("/m:l", "1", "only a leaf"),
        ("/m:l/none", "1", "none"),
    ] {
        let fills = fills(&[(path, value)]);
        let options = UpgradeOptions {
            fills: &fills,
            ..UpgradeOptions::default()
        };
        let refused = store.upgrade_schema_set("d", "s", &source(NEW), options);
        let error = refused.expect_err("a wrong value").to_string();
        assert!(error.contains(part), "{path}: {error}");
    }
    assert_eq!(text(&tree), before);
}

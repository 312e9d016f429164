//! Earlier states and rollbacks with indexes for constraints.

use espalier_store::{CommitOptions, Edit};
use espalier_yang::{ErrorTag, InstancePath};

use crate::fixture::{assert_sound, commit, data, first_tag, memory_tree, path};

const MODEL: &str = r#"module m { yang-version 1.1; namespace urn:m; prefix m;
  list target { key id; leaf id { type string; } leaf colour { type string; } unique colour; }
  list user { key id; max-elements 3; leaf id { type string; }
    leaf ref { type leafref { path "/m:target/m:id"; } } }
}"#;

#[test]
fn an_earlier_state_is_validated_by_itself_and_indexes_follow_a_rollback() {
    let tree = memory_tree(MODEL);
    let schema = tree.schema().clone();
    let replace = |text| {
        let edit = Edit::replace_all(data(&schema, text));
        commit(&tree, &[edit]).unwrap_or_else(|error| panic!("{error}"))
    };
    replace(r#"{"m:target":[{"id":"a","colour":"red"}],"m:user":[{"id":"u","ref":"a"}]}"#);
    replace(
        r#"{"m:target":[{"id":"b","colour":"red"}],"m:user":[{"id":"u","ref":"b"},{"id":"v"},{"id":"w"}]}"#,
    );
    tree.at(1).unwrap().validate().unwrap();
    tree.at(0).unwrap().validate().unwrap();
    tree.rollback(1, CommitOptions::default()).unwrap();
    tree.validate_whole().unwrap();
    assert_sound(tree.store());
    let refused = commit(&tree, &[Edit::delete(path(&schema, "/target=a"))]);
    assert_eq!(first_tag(&refused), Some(ErrorTag::DataMissing));
    let merge = |text| Edit::merge(InstancePath::root(), data(&schema, text));
    let twice = merge(r#"{"m:target":[{"id":"c","colour":"red"}]}"#);
    assert!(commit(&tree, &[twice]).is_err());
    let other =
        merge(r#"{"m:target":[{"id":"b","colour":"blue"}],"m:user":[{"id":"v"},{"id":"w"}]}"#);
    assert!(commit(&tree, &[other]).is_ok());
    let many = merge(r#"{"m:user":[{"id":"x"}]}"#);
    assert!(commit(&tree, &[many]).is_err());
}

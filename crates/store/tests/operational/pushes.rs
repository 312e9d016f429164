//! Pushing: commits of their own.

use espalier_store::{CommitOptions, Edit, Error};
use espalier_yang::InstancePath;

use crate::fixture::{Fixture, parse, set};

#[test]
fn a_push_is_a_commit_of_its_own() {
    let fixture = Fixture::new();
    fixture.configure(r#"{"m:top":"t"}"#);
    let tree = parse(fixture.schema(), r#"{"m:plain":{"s":"on"}}"#);
    let edits = [Edit::merge(InstancePath::root(), tree)];
    let commit = fixture.operational.commit(&edits, CommitOptions::default());
    let commit = commit.expect("a push");
    assert!(commit.is_changed);
    assert_eq!(commit.version, 1);
    let again = fixture.operational.commit(&edits, CommitOptions::default());
    assert!(!again.expect("a push").is_changed);
    let version = |tree: &espalier_store::Tree| tree.view().unwrap().version().unwrap();
    assert_eq!(version(&fixture.operational), 1);
    assert_eq!(version(&fixture.running), 1);
}

#[test]
fn a_push_below_a_configured_entry_needs_no_push_of_the_entry() {
    let fixture = Fixture::new();
    fixture.configure(r#"{"m:e":[{"name":"x","v":"1"}],"m:o":[{"k":"a"},{"k":"b"}]}"#);
    let schema = fixture.schema();
    let up = &parse(schema, r#"{"m:e":[{"name":"x","state":{"up":true}}]}"#);
    let state = up.nodes[0].children()[1].clone();
    let edit = set(fixture.path("/m:e[name='x']"), one(state));
    let ordered = &parse(schema, r#"{"m:o":[{"k":"b","in":{"x":"i"}}]}"#);
    let inner = ordered.nodes[0].children()[1].clone();
    let other = set(fixture.path("/m:o[k='b']"), one(inner));
    let pushed = fixture
        .operational
        .commit(&[edit, other], CommitOptions::default());
    pushed.expect("a push");
    fixture.check(
        "/",
        r#"{"m:e":[{"name":"x","v":"1","state":{"up":true}}],"m:o":[{"k":"a"},{"k":"b","in":{"x":"i"}}]}"#,
    );
}

fn one(node: espalier_yang::data::DataNode) -> espalier_yang::data::DataTree {
    espalier_yang::data::DataTree { nodes: vec![node] }
}

#[test]
fn only_pushed_state_can_be_withdrawn() {
    let fixture = Fixture::new();
    fixture.configure(r#"{"m:top":"t"}"#);
    let edits = [Edit::delete(fixture.path("/m:top"))];
    let refused = fixture.operational.commit(&edits, CommitOptions::default());
    assert!(matches!(refused, Err(Error::Data(_))));
    fixture.check("/", r#"{"m:top":"t"}"#);
}

#[test]
fn pushed_state_survives_a_reordering_of_the_configuration() {
    let fixture = Fixture::new();
    fixture.configure(r#"{"m:o":[{"k":"a"},{"k":"b"}]}"#);
    fixture.push(r#"{"m:o":[{"k":"b","w":"2"},{"k":"c"}]}"#);
    fixture.configure(r#"{"m:o":[{"k":"b"},{"k":"a"}]}"#);
    fixture.check("/", r#"{"m:o":[{"k":"b","w":"2"},{"k":"a"},{"k":"c"}]}"#);
    fixture.configure(r#"{"m:o":[{"k":"c","v":"1"},{"k":"a"}]}"#);
    fixture.check(
        "/",
        r#"{"m:o":[{"k":"c","v":"1"},{"k":"a"},{"k":"b","w":"2"}]}"#,
    );
}

#[test]
fn the_store_is_sound_after_pushes() {
    let fixture = Fixture::new();
    fixture.configure(r#"{"m:o":[{"k":"a"},{"k":"b"}]}"#);
    fixture.push(r#"{"m:o":[{"k":"b","w":"2"},{"k":"c"}],"m:event":[{"text":"x"}]}"#);
    let findings = fixture.running.store().check(&mut |_| {}).expect("a check");
    assert_eq!(findings, []);
}

//! Configuration that is not applied.

use espalier_store::{Error, UNAPPLIED_PATHS_MAX};

use crate::fixture::Fixture;

fn fixture() -> Fixture {
    let fixture = Fixture::new();
    fixture.configure(concat!(
        r#"{"m:top":"t","m:plain":{"a":"1","inner":{"x":"1"},"turn":["q","p"]},"#,
        r#""m:e":[{"name":"x","v":"1","w":"2"},{"name":"y"}],"m:o":[{"k":"a"},{"k":"b"},{"k":"c"}]}"#
    ));
    fixture
}

fn mark_unapplied(fixture: &Fixture, path: &str) {
    let path = fixture.path(path);
    fixture.operational.mark_unapplied(&[path]).expect("a path");
}

#[test]
fn withheld_configuration_is_not_shown() {
    let fixture = fixture();
    for path in [
        "/m:top",
        "/m:plain/inner",
        "/m:plain/turn[.='q']",
        "/m:e[name='x']/v",
        "/m:o[k='b']",
    ] {
        mark_unapplied(&fixture, path);
    }
    fixture.check(
        "/",
        concat!(
            r#"{"m:plain":{"a":"1","turn":["p"]},"m:e":[{"name":"x","w":"2"},{"name":"y"}],"#,
            r#""m:o":[{"k":"a"},{"k":"c"}]}"#
        ),
    );
    fixture.check("/m:o[k='b']", "");
    let view = fixture.running.view().expect("a view");
    assert!(view.exists(&fixture.path("/m:top")).expect("an answer"));
    assert_eq!(
        fixture.operational.unapplied_paths().expect("paths").len(),
        5
    );
}

#[test]
fn state_pushed_to_withheld_nodes_is_shown() {
    let fixture = fixture();
    mark_unapplied(&fixture, "/m:o[k='b']");
    mark_unapplied(&fixture, "/m:e");
    fixture.push(r#"{"m:o":[{"k":"b","w":"1"}],"m:e":[{"name":"y","v":"p"}]}"#);
    fixture.check("/m:o", r#"{"m:o":[{"k":"a"},{"k":"c"},{"k":"b","w":"1"}]}"#);
    fixture.check("/m:e", r#"{"m:e":[{"name":"y","v":"p"}]}"#);
}

#[test]
fn configuration_stays_withheld_until_it_is_released() {
    let fixture = fixture();
    mark_unapplied(&fixture, "/m:o[k='b']");
    fixture.configure(r#"{"m:o":[{"k":"b","v":"new"},{"k":"a"}]}"#);
    fixture.check("/", r#"{"m:o":[{"k":"a"}]}"#);
    let path = fixture.path("/m:o[k='b']");
    fixture.operational.mark_applied(&[path]).expect("a path");
    fixture.check("/", r#"{"m:o":[{"k":"b","v":"new"},{"k":"a"}]}"#);
}

#[test]
fn only_operational_withholds_and_only_up_to_the_limit() {
    let fixture = fixture();
    let path = fixture.path("/m:top");
    let refused = fixture.running.mark_unapplied(std::slice::from_ref(&path));
    assert!(matches!(refused, Err(Error::Data(_))));
    let many = vec![path; UNAPPLIED_PATHS_MAX + 1];
    assert!(matches!(
        fixture.operational.mark_unapplied(&many),
        Err(Error::Data(_))
    ));
}

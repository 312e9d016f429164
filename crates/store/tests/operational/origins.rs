//! Origins (RFC 8342 §5.3.4).

use espalier_store::{LoadMode, LoadOptions, Selection, WithDefaults, WithOrigin};
use espalier_yang::data::Origin;

use crate::fixture::{Fixture, parse};

#[test]
fn configuration_is_intended_and_only_other_origins_are_annotated() {
    let fixture = Fixture::new();
    fixture.configure(r#"{"m:top":"t","m:e":[{"name":"x","v":"1"}],"m:plain":{"a":"1"}}"#);
    fixture.check_origins(
        "/",
        concat!(
            r#"{"m:top":"t","@m:top":{"or":"intended"},"m:plain":{"@":{"or":"intended"},"a":"1"},"#,
            r#""m:e":[{"@":{"or":"intended"},"name":"x","v":"1"}]}"#
        ),
    );
    fixture.check_origins(
        "/m:e[name='x']/v",
        r#"{"m:v":"1","@m:v":{"or":"intended"}}"#,
    );
}

#[test]
fn each_source_has_its_origin() {
    let fixture = Fixture::new();
    fixture.configure(r#"{"m:e":[{"name":"x","v":"1","sub":[{"n":1}]}]}"#);
    fixture.push_from(
        r#"{"m:e":[{"name":"x","w":"2","sub":[{"n":2}]},{"name":"y","v":"3"}]}"#,
        Origin::System,
    );
    fixture.push_from(
        r#"{"m:e":[{"name":"y","w":"4","state":{"up":true}}]}"#,
        Origin::Learned,
    );
    fixture.check_origins(
        "/",
        concat!(
            r#"{"m:e":[{"@":{"or":"intended"},"name":"x","v":"1","w":"2","@w":{"or":"system"},"#,
            r#""sub":[{"n":1},{"@":{"or":"system"},"n":2}]},"#,
            r#"{"@":{"or":"system"},"name":"y","v":"3","w":"4","@w":{"or":"learned"},"state":{"up":true}}]}"#
        ),
    );
}

#[test]
fn a_push_without_origin_is_unknown() {
    let fixture = Fixture::new();
    fixture.push(r#"{"m:top":"t","m:is":{"v":"1"}}"#);
    fixture.check_origins(
        "/",
        r#"{"m:top":"t","@m:top":{"or":"unknown"},"m:is":{"@":{"or":"unknown"},"v":"1"}}"#,
    );
    fixture.push_from(r#"{"m:is":{"v":"2"}}"#, Origin::Dynamic);
    fixture.check_origins(
        "/m:is",
        r#"{"m:is":{"@":{"or":"unknown"},"v":"2","@v":{"or":"dynamic"}}}"#,
    );
    fixture.push(r#"{"m:is":{"v":"3"}}"#);
    fixture.check_origins("/m:is", r#"{"m:is":{"@":{"or":"unknown"},"v":"3"}}"#);
}

#[test]
fn a_pushed_value_that_is_also_configured_is_intended() {
    let fixture = Fixture::new();
    fixture.configure(r#"{"m:plain":{"a":"same","inner":{"x":"1"}}}"#);
    fixture.push_from(
        r#"{"m:plain":{"a":"same","inner":{"x":"2","y":"3"}}}"#,
        Origin::Learned,
    );
    fixture.check_origins(
        "/",
        concat!(
            r#"{"m:plain":{"@":{"or":"intended"},"a":"same","#,
            r#""inner":{"x":"2","@x":{"or":"learned"},"y":"3","@y":{"or":"learned"}}}}"#
        ),
    );
}

#[test]
fn origins_are_deleted_with_their_data() {
    let fixture = Fixture::new();
    fixture.push_from(
        r#"{"m:e":[{"name":"x","v":"1"}],"m:o":[{"k":"a"}]}"#,
        Origin::Learned,
    );
    fixture.withdraw("/m:e[name='x']");
    fixture.withdraw("/m:o");
    fixture.push(r#"{"m:e":[{"name":"x"}],"m:o":[{"k":"a"}]}"#);
    fixture.check_origins(
        "/",
        concat!(
            r#"{"m:e":[{"@":{"or":"unknown"},"name":"x"}],"#,
            r#""m:o":[{"@":{"or":"unknown"},"k":"a"}]}"#
        ),
    );
}

#[test]
fn entries_of_leaf_lists_have_origins() {
    let fixture = Fixture::new();
    fixture.configure(r#"{"m:plain":{"colour":["red"],"turn":["q"]}}"#);
    fixture.push_from(
        r#"{"m:plain":{"colour":["blue","red"],"turn":["p"]}}"#,
        Origin::System,
    );
    fixture.check_origins(
        "/m:plain/turn",
        r#"{"m:turn":["q","p"],"@m:turn":[{"or":"intended"},{"or":"system"}]}"#,
    );
    fixture.check_origins(
        "/m:plain/colour",
        r#"{"m:colour":["blue","red"],"@m:colour":[{"or":"system"},{"or":"intended"}]}"#,
    );
}

#[test]
fn defaults_in_use_have_their_origin() {
    let fixture = Fixture::new();
    fixture.configure(r#"{"m:plain":{"a":"1"}}"#);
    let selection = Selection {
        with_origin: WithOrigin::Shown,
        with_defaults: WithDefaults::ReportAll,
        ..Selection::default()
    };
    let found = fixture.read("/m:plain", &selection);
    let expected = concat!(
        r#"{"m:plain":{"@":{"ietf-origin:origin":"ietf-origin:intended"},"a":"1","#,
        r#""b":7,"@b":{"ietf-origin:origin":"ietf-origin:default"}}}"#
    );
    assert_eq!(found, expected);
}

#[test]
fn origins_are_attributes_in_xml() {
    let fixture = Fixture::new();
    fixture.configure(r#"{"m:plain":{"a":"1"}}"#);
    fixture.push_from(r#"{"m:plain":{"inner":{"x":"2"}}}"#, Origin::Learned);
    let selection = Selection {
        with_origin: WithOrigin::Shown,
        ..Selection::default()
    };
    let options = espalier_yang::data::PrintOptions::default();
    let mut printer = espalier_yang::data::xml::Printer::new(fixture.schema(), Vec::new(), options);
    let view = fixture.operational.view().expect("a view");
    let path = fixture.path("/m:plain");
    assert!(
        view.read(&path, &selection, &mut printer)
            .expect("a reading")
    );
    let text = String::from_utf8(printer.finish().expect("a document")).expect("text");
    let namespace = r#"xmlns:or="urn:ietf:params:xml:ns:yang:ietf-origin""#;
    let expected = format!(
        r#"<plain xmlns="urn:m" or:origin="or:intended" {namespace}><a>1</a><inner><x or:origin="or:learned" {namespace}>2</x></inner></plain>"#
    );
    assert_eq!(text, expected);
}

#[test]
fn a_load_has_one_origin() {
    let fixture = Fixture::new();
    let load = |text: &str, origin, mode| {
        let tree = parse(fixture.schema(), text);
        let options = LoadOptions {
            origin,
            mode,
            ..LoadOptions::default()
        };
        let loaded = fixture.operational.load(options, &mut |sink| {
            tree.emit(sink).map_err(|_| espalier_store::Error::Stopped)
        });
        loaded.expect("a load");
    };
    load(
        r#"{"m:top":"t","m:is":{}}"#,
        Origin::Learned,
        LoadMode::Replace,
    );
    load(r#"{"m:e":[{"name":"x"}]}"#, Origin::System, LoadMode::Merge);
    fixture.check_origins(
        "/",
        concat!(
            r#"{"m:top":"t","@m:top":{"or":"learned"},"m:is":{"@":{"or":"learned"}},"#,
            r#""m:e":[{"@":{"or":"system"},"name":"x"}]}"#
        ),
    );
    load(r#"{"m:top":"u"}"#, Origin::Unknown, LoadMode::Replace);
    fixture.check_origins("/", r#"{"m:top":"u","@m:top":{"or":"unknown"}}"#);
}

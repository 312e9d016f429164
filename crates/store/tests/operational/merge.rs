//! The merge of all sources.

use crate::fixture::Fixture;

#[test]
fn configuration_is_operational() {
    let fixture = Fixture::new();
    fixture.configure(r#"{"m:top":"t","m:plain":{"a":"1"},"m:e":[{"name":"x","v":"1"}]}"#);
    fixture.check(
        "/",
        r#"{"m:top":"t","m:plain":{"a":"1"},"m:e":[{"name":"x","v":"1"}]}"#,
    );
    fixture.check("/m:e[name='x']", r#"{"m:e":[{"name":"x","v":"1"}]}"#);
    fixture.check("/m:e[name='y']", "");
}

#[test]
fn leaves_of_one_entry_come_from_both() {
    let fixture = Fixture::new();
    fixture.configure(r#"{"m:e":[{"name":"x","v":"1"}],"m:plain":{"a":"1"}}"#);
    fixture.push(
        r#"{"m:e":[{"name":"x","w":"2","state":{"up":true}},{"name":"y"}],"m:plain":{"s":"on"}}"#,
    );
    fixture.check(
        "/",
        r#"{"m:plain":{"a":"1","s":"on"},"m:e":[{"name":"x","v":"1","w":"2","state":{"up":true}},{"name":"y"}]}"#,
    );
    fixture.check("/m:e[name='x']/v", r#"{"m:v":"1"}"#);
    fixture.check("/m:e[name='x']/w", r#"{"m:w":"2"}"#);
    fixture.check("/m:e[name='x']/state", r#"{"m:state":{"up":true}}"#);
}

#[test]
fn pushed_values_win() {
    let fixture = Fixture::new();
    fixture.configure(r#"{"m:e":[{"name":"x","v":"1"}],"m:top":"configured"}"#);
    fixture.push(r#"{"m:e":[{"name":"x","v":"2"}],"m:top":"pushed"}"#);
    fixture.check("/", r#"{"m:top":"pushed","m:e":[{"name":"x","v":"2"}]}"#);
    fixture.withdraw("/m:e[name='x']/v");
    fixture.check("/m:e", r#"{"m:e":[{"name":"x","v":"1"}]}"#);
    fixture.withdraw("/m:top");
    fixture.check("/m:top", r#"{"m:top":"configured"}"#);
}

#[test]
fn ordered_entries_are_in_the_order_of_the_configuration() {
    let fixture = Fixture::new();
    fixture.configure(r#"{"m:o":[{"k":"c","v":"1"},{"k":"a","sub":[{"n":1}]},{"k":"b"}]}"#);
    fixture.push(r#"{"m:o":[{"k":"z"},{"k":"a","w":"2","sub":[{"n":0},{"n":1,"v":"s"}]},{"k":"y","in":{"x":"i"}},{"k":"c","w":"3"}]}"#);
    fixture.check(
        "/m:o",
        concat!(
            r#"{"m:o":[{"k":"c","v":"1","w":"3"},{"k":"a","w":"2","sub":[{"n":0},{"n":1,"v":"s"}]},{"k":"b"},"#,
            r#"{"k":"z"},{"k":"y","in":{"x":"i"}}]}"#
        ),
    );
    fixture.check(
        "/m:o[k='a']",
        r#"{"m:o":[{"k":"a","w":"2","sub":[{"n":0},{"n":1,"v":"s"}]}]}"#,
    );
    fixture.check("/m:o[k='a']/sub[n='0']", r#"{"m:sub":[{"n":0}]}"#);
    fixture.check("/m:o[k='y']/in", r#"{"m:in":{"x":"i"}}"#);
    fixture.check("/m:o[k='y']/in/x", r#"{"m:x":"i"}"#);
    let view = fixture.operational.view().expect("a view");
    assert_eq!(view.count(&fixture.path("/m:o")).expect("a count"), 5);
    assert!(
        view.exists(&fixture.path("/m:o[k='z']"))
            .expect("an answer")
    );
    assert!(
        !view
            .exists(&fixture.path("/m:o[k='q']"))
            .expect("an answer")
    );
}

#[test]
fn order_within_order() {
    let fixture = Fixture::new();
    fixture.configure(
        r#"{"m:o":[{"k":"a","line":[{"n":2},{"n":1,"v":"c"}]}],"m:plain":{"turn":["q","p"]}}"#,
    );
    fixture.push(r#"{"m:o":[{"k":"b","line":[{"n":9},{"n":8}]},{"k":"a","line":[{"n":1,"v":"p"},{"n":5}]}],"m:plain":{"turn":["r","p"]}}"#);
    fixture.check(
        "/",
        concat!(
            r#"{"m:plain":{"turn":["q","p","r"]},"#,
            r#""m:o":[{"k":"a","line":[{"n":2},{"n":1,"v":"p"},{"n":5}]},{"k":"b","line":[{"n":9},{"n":8}]}]}"#
        ),
    );
    fixture.check("/m:o[k='a']/line[n='1']", r#"{"m:line":[{"n":1,"v":"p"}]}"#);
    fixture.check("/m:o[k='b']/line[n='8']", r#"{"m:line":[{"n":8}]}"#);
}

#[test]
fn entries_without_keys_are_all_kept() {
    let fixture = Fixture::new();
    fixture.configure(r#"{"m:event":[{"text":"one","code":[1,1]}],"m:plain":{"reading":[1,2]}}"#);
    fixture.push(
        r#"{"m:event":[{"text":"one"},{"text":"two","code":[3]}],"m:plain":{"reading":[1]}}"#,
    );
    fixture.check(
        "/",
        concat!(
            r#"{"m:plain":{"reading":[1,2,1]},"#,
            r#""m:event":[{"text":"one","code":[1,1]},{"text":"one"},{"text":"two","code":[3]}]}"#
        ),
    );
}

#[test]
fn presence_comes_from_either() {
    let fixture = Fixture::new();
    fixture.push(r#"{"m:is":{}}"#);
    fixture.check("/", r#"{"m:is":{}}"#);
    fixture.configure(r#"{"m:is":{"v":"1"}}"#);
    fixture.check("/", r#"{"m:is":{"v":"1"}}"#);
    fixture.withdraw("/m:is");
    fixture.check("/", r#"{"m:is":{"v":"1"}}"#);
}

#[test]
fn running_does_not_show_pushed_state() {
    let fixture = Fixture::new();
    fixture.push(r#"{"m:top":"pushed"}"#);
    let view = fixture.running.view().expect("a view");
    assert!(!view.exists(&fixture.path("/m:top")).expect("an answer"));
    assert_eq!(view.version().expect("a version"), 0);
}

//! The merge of all sources.

use crate::setting::Setting;

#[test]
fn configuration_is_operational() {
    let setting = Setting::new();
    setting.configure(r#"{"m:top":"t","m:plain":{"a":"1"},"m:e":[{"name":"x","v":"1"}]}"#);
    setting.check(
        "/",
        r#"{"m:top":"t","m:plain":{"a":"1"},"m:e":[{"name":"x","v":"1"}]}"#,
    );
    setting.check("/m:e[name='x']", r#"{"m:e":[{"name":"x","v":"1"}]}"#);
    setting.check("/m:e[name='y']", "");
}

#[test]
fn leaves_of_one_entry_come_from_both() {
    let setting = Setting::new();
    setting.configure(r#"{"m:e":[{"name":"x","v":"1"}],"m:plain":{"a":"1"}}"#);
    setting.push(
        r#"{"m:e":[{"name":"x","w":"2","state":{"up":true}},{"name":"y"}],"m:plain":{"s":"on"}}"#,
    );
    setting.check(
        "/",
        r#"{"m:plain":{"a":"1","s":"on"},"m:e":[{"name":"x","v":"1","w":"2","state":{"up":true}},{"name":"y"}]}"#,
    );
    setting.check("/m:e[name='x']/v", r#"{"m:v":"1"}"#);
    setting.check("/m:e[name='x']/w", r#"{"m:w":"2"}"#);
    setting.check("/m:e[name='x']/state", r#"{"m:state":{"up":true}}"#);
}

#[test]
fn pushed_values_win() {
    let setting = Setting::new();
    setting.configure(r#"{"m:e":[{"name":"x","v":"1"}],"m:top":"configured"}"#);
    setting.push(r#"{"m:e":[{"name":"x","v":"2"}],"m:top":"pushed"}"#);
    setting.check("/", r#"{"m:top":"pushed","m:e":[{"name":"x","v":"2"}]}"#);
    setting.withdraw("/m:e[name='x']/v");
    setting.check("/m:e", r#"{"m:e":[{"name":"x","v":"1"}]}"#);
    setting.withdraw("/m:top");
    setting.check("/m:top", r#"{"m:top":"configured"}"#);
}

#[test]
fn ordered_entries_are_in_the_order_of_the_configuration() {
    let setting = Setting::new();
    setting.configure(r#"{"m:o":[{"k":"c","v":"1"},{"k":"a","sub":[{"n":1}]},{"k":"b"}]}"#);
    setting.push(r#"{"m:o":[{"k":"z"},{"k":"a","w":"2","sub":[{"n":0},{"n":1,"v":"s"}]},{"k":"y","in":{"x":"i"}},{"k":"c","w":"3"}]}"#);
    setting.check(
        "/m:o",
        concat!(
            r#"{"m:o":[{"k":"c","v":"1","w":"3"},{"k":"a","w":"2","sub":[{"n":0},{"n":1,"v":"s"}]},{"k":"b"},"#,
            r#"{"k":"z"},{"k":"y","in":{"x":"i"}}]}"#
        ),
    );
    setting.check(
        "/m:o[k='a']",
        r#"{"m:o":[{"k":"a","w":"2","sub":[{"n":0},{"n":1,"v":"s"}]}]}"#,
    );
    setting.check("/m:o[k='a']/sub[n='0']", r#"{"m:sub":[{"n":0}]}"#);
    setting.check("/m:o[k='y']/in", r#"{"m:in":{"x":"i"}}"#);
    setting.check("/m:o[k='y']/in/x", r#"{"m:x":"i"}"#);
    let view = setting.operational.view().expect("a view");
    assert_eq!(view.count(&setting.path("/m:o")).expect("a count"), 5);
    assert!(
        view.exists(&setting.path("/m:o[k='z']"))
            .expect("an answer")
    );
    assert!(
        !view
            .exists(&setting.path("/m:o[k='q']"))
            .expect("an answer")
    );
}

#[test]
fn order_within_order() {
    let setting = Setting::new();
    setting.configure(
        r#"{"m:o":[{"k":"a","line":[{"n":2},{"n":1,"v":"c"}]}],"m:plain":{"turn":["q","p"]}}"#,
    );
    setting.push(r#"{"m:o":[{"k":"b","line":[{"n":9},{"n":8}]},{"k":"a","line":[{"n":1,"v":"p"},{"n":5}]}],"m:plain":{"turn":["r","p"]}}"#);
    setting.check(
        "/",
        concat!(
            r#"{"m:plain":{"turn":["q","p","r"]},"#,
            r#""m:o":[{"k":"a","line":[{"n":2},{"n":1,"v":"p"},{"n":5}]},{"k":"b","line":[{"n":9},{"n":8}]}]}"#
        ),
    );
    setting.check("/m:o[k='a']/line[n='1']", r#"{"m:line":[{"n":1,"v":"p"}]}"#);
    setting.check("/m:o[k='b']/line[n='8']", r#"{"m:line":[{"n":8}]}"#);
}

#[test]
fn entries_without_keys_are_all_kept() {
    let setting = Setting::new();
    setting.configure(r#"{"m:event":[{"text":"one","code":[1,1]}],"m:plain":{"reading":[1,2]}}"#);
    setting.push(
        r#"{"m:event":[{"text":"one"},{"text":"two","code":[3]}],"m:plain":{"reading":[1]}}"#,
    );
    setting.check(
        "/",
        concat!(
            r#"{"m:plain":{"reading":[1,2,1]},"#,
            r#""m:event":[{"text":"one","code":[1,1]},{"text":"one"},{"text":"two","code":[3]}]}"#
        ),
    );
}

#[test]
fn presence_comes_from_either() {
    let setting = Setting::new();
    setting.push(r#"{"m:is":{}}"#);
    setting.check("/", r#"{"m:is":{}}"#);
    setting.configure(r#"{"m:is":{"v":"1"}}"#);
    setting.check("/", r#"{"m:is":{"v":"1"}}"#);
    setting.withdraw("/m:is");
    setting.check("/", r#"{"m:is":{"v":"1"}}"#);
}

#[test]
fn running_does_not_show_pushed_state() {
    let setting = Setting::new();
    setting.push(r#"{"m:top":"pushed"}"#);
    let view = setting.running.view().expect("a view");
    assert!(!view.exists(&setting.path("/m:top")).expect("an answer"));
    assert_eq!(view.version().expect("a version"), 0);
}

//! Configuration that is not applied.

use espalier_store::{Error, WITHHELD_MAX};

use crate::setting::Setting;

fn setting() -> Setting {
    let setting = Setting::new();
    setting.configure(concat!(
        r#"{"m:top":"t","m:plain":{"a":"1","inner":{"x":"1"},"turn":["q","p"]},"#,
        r#""m:e":[{"name":"x","v":"1","w":"2"},{"name":"y"}],"m:o":[{"k":"a"},{"k":"b"},{"k":"c"}]}"#
    ));
    setting
}

fn withhold(setting: &Setting, path: &str) {
    let path = setting.path(path);
    setting.operational.withhold(&[path]).expect("a path");
}

#[test]
fn withheld_configuration_is_not_shown() {
    let setting = setting();
    for path in [
        "/m:top",
        "/m:plain/inner",
        "/m:plain/turn[.='q']",
        "/m:e[name='x']/v",
        "/m:o[k='b']",
    ] {
        withhold(&setting, path);
    }
    setting.check(
        "/",
        concat!(
            r#"{"m:plain":{"a":"1","turn":["p"]},"m:e":[{"name":"x","w":"2"},{"name":"y"}],"#,
            r#""m:o":[{"k":"a"},{"k":"c"}]}"#
        ),
    );
    setting.check("/m:o[k='b']", "");
    let view = setting.running.view().expect("a view");
    assert!(view.exists(&setting.path("/m:top")).expect("an answer"));
    assert_eq!(setting.operational.withheld().expect("paths").len(), 5);
}

#[test]
fn state_pushed_to_withheld_nodes_is_shown() {
    let setting = setting();
    withhold(&setting, "/m:o[k='b']");
    withhold(&setting, "/m:e");
    setting.push(r#"{"m:o":[{"k":"b","w":"1"}],"m:e":[{"name":"y","v":"p"}]}"#);
    setting.check("/m:o", r#"{"m:o":[{"k":"a"},{"k":"c"},{"k":"b","w":"1"}]}"#);
    setting.check("/m:e", r#"{"m:e":[{"name":"y","v":"p"}]}"#);
}

#[test]
fn configuration_stays_withheld_until_it_is_released() {
    let setting = setting();
    withhold(&setting, "/m:o[k='b']");
    setting.configure(r#"{"m:o":[{"k":"b","v":"new"},{"k":"a"}]}"#);
    setting.check("/", r#"{"m:o":[{"k":"a"}]}"#);
    let path = setting.path("/m:o[k='b']");
    setting.operational.release(&[path]).expect("a path");
    setting.check("/", r#"{"m:o":[{"k":"b","v":"new"},{"k":"a"}]}"#);
}

#[test]
fn only_operational_withholds_and_only_up_to_the_limit() {
    let setting = setting();
    let path = setting.path("/m:top");
    let refused = setting.running.withhold(std::slice::from_ref(&path));
    assert!(matches!(refused, Err(Error::Data(_))));
    let many = vec![path; WITHHELD_MAX + 1];
    assert!(matches!(
        setting.operational.withhold(&many),
        Err(Error::Data(_))
    ));
}

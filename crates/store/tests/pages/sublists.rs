//! `sublist-limit` (draft-ietf-netconf-list-pagination §3.2).

use espalier_store::{Filter, Selection};
use espalier_yang::InstancePath;
use espalier_yang::data::subtree_filter::SubtreeFilter;
use espalier_yang::data::{PrintOptions, json};

use crate::fixture::{Fixture, merge, request};

const MODEL: &str = r#"module m { yang-version 1.1; namespace urn:m; prefix m;
  container top {
    list user { key name; leaf name { type string; } leaf-list tag { type string; }
      list sub { key n; leaf n { type uint8; } list deep { key d; leaf d { type uint8; } } }
      list few { key n; max-elements 9; leaf n { type uint8; } }
      container state { config false; leaf-list reading { type uint8; } }
      leaf last { type string; } }
  }
}"#;

const SUB: &str = r#"{"n":1,"deep":[{"d":1},{"d":2}]},{"n":2},{"n":3}"#;

fn fixture() -> Fixture {
    let fixture = Fixture::in_memory(MODEL);
    let few = r#""few":[{"n":1},{"n":2},{"n":3}]"#;
    let text = format!(
        r#"{{"m:top":{{"user":[{{"name":"a","tag":["x","y"],"sub":[{SUB}],{few},"last":"z"}},{{"name":"b","sub":[{{"n":9}}]}}]}}}}"#
    );
    merge(&fixture.running, &text);
    fixture
}

fn selection(limit: u64) -> Selection {
    Selection {
        sublist_limit: Some(limit),
        ..Selection::default()
    }
}

fn printed(fixture: &Fixture, read: &dyn Fn(&mut json::Printer<'_, Vec<u8>>)) -> String {
    let mut printer = json::Printer::new(fixture.schema(), Vec::new(), PrintOptions::default());
    read(&mut printer);
    let text = String::from_utf8(printer.finish().unwrap()).unwrap();
    text.replace("ietf-list-pagination:", "lp:")
}

fn text(fixture: &Fixture, path: &str, limit: u64) -> String {
    let path = match path {
        "/" => InstancePath::root(),
        path => fixture.path(path),
    };
    let view = fixture.running.view().unwrap();
    printed(fixture, &|printer| {
        view.read(&path, &selection(limit), printer).unwrap();
    })
}

const CUT: &str = r#""@":{"lp:remaining":"unknown"},"#;

fn user_a() -> String {
    let sub = format!(r#""sub":[{{{CUT}"n":1,"deep":[{{{CUT}"d":1}}]}}]"#);
    let few = r#""few":[{"@":{"lp:remaining":2},"n":1}]"#;
    let tag = r#""tag":["x"],"@tag":[{"lp:remaining":"unknown"}]"#;
    format!(r#""name":"a","last":"z",{tag},{sub},{few}"#)
}

const USER_B: &str = r#"{"name":"b","sub":[{"n":9}]}"#;

#[test]
fn lists_below_the_target_are_cut() {
    let fixture = fixture();
    let a = user_a();
    let entry = format!(r#"{{"m:user":[{{{a}}}]}}"#);
    assert_eq!(text(&fixture, "/m:top/user[name='a']", 1), entry);
    let list = format!(r#"{{"m:user":[{{{a}}},{USER_B}]}}"#);
    assert_eq!(
        text(&fixture, "/m:top/user", 1),
        list,
        "not the list itself"
    );
    let container = format!(r#"{{"m:top":{{"user":[{{{CUT}{a}}}]}}}}"#);
    assert_eq!(text(&fixture, "/m:top", 1), container);
    assert_eq!(text(&fixture, "/", 1), container);
    let all = text(&fixture, "/m:top", 9);
    assert!(!all.contains("lp:") && all.contains(r#"{"n":3}"#), "{all}");
}

#[test]
fn a_page_limits_its_list_and_the_lists_below() {
    let fixture = fixture();
    let path = fixture.path("/m:top/user");
    let view = fixture.running.view().unwrap();
    let backwards = request(fixture.schema(), &path, &[("direction", "backwards")]);
    let found = printed(&fixture, &|printer| {
        view.read_page(&path, &backwards, &selection(1), printer)
            .unwrap();
    });
    assert_eq!(
        found,
        format!(r#"{{"m:user":[{USER_B},{{{}}}]}}"#, user_a())
    );
    let filter = SubtreeFilter::parse_xml("<top xmlns='urn:m'><user/></top>").unwrap();
    let found = printed(&fixture, &|printer| {
        let filter = Filter::Subtree(filter.clone());
        view.read_filtered_page(&filter, &backwards, &selection(1), printer)
            .unwrap();
    });
    let expected = format!(r#"{{"m:top":{{"user":[{USER_B},{{{}}}]}}}}"#, user_a());
    assert_eq!(found, expected);
}

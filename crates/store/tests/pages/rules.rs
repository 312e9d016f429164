//! The rules of the parameters, one case each.

use espalier_store::{
    CommitOptions, Datastore, Edit, PageNames, Remaining, Selection, WithDefaults,
};
use espalier_testkit::documents::json_document;
use espalier_yang::data::{PrintOptions, json};
use espalier_yang::xpath::Expression;
use espalier_yang::{ErrorTag, InstancePath};

use crate::fixture::{Fixture, app_tag, merge, page, parameters, request};

const MODEL: &str = r#"module m { yang-version 1.1; namespace urn:m; prefix m;
  container top {
    list user { key name; leaf name { type string; } leaf age { type uint8; default 7; } leaf boss { type string; }
      list sub { key n; leaf n { type uint8; } leaf v { type string; } } anydata any; }
    list rule { key id; ordered-by user; leaf id { type uint32; } leaf name { type string; } }
    list few { key id; max-elements 100; leaf id { type uint32; } }
    leaf-list colour { type string; default red; default green; default blue; }
    leaf-list tag { type string; }
    list event { config false; leaf text { type string; } }
  }
}"#;

fn fixture() -> Fixture {
    let fixture = Fixture::in_memory(MODEL);
    let text = r#"{"m:top":{"user":[{"name":"a","age":3},{"name":"b"},{"name":"c","age":9,"boss":"a"}],"tag":["x"],
      "rule":[{"id":3},{"id":1},{"id":2}],"few":[{"id":1},{"id":2},{"id":3},{"id":4},{"id":5}]}}"#;
    merge(&fixture.running, text);
    fixture
}

/// The names of the entries of a page of users.
fn users(fixture: &Fixture, pairs: &[(&str, &str)]) -> String {
    let view = fixture.running.view().unwrap();
    let path = fixture.path("/m:top/user");
    let found = page(&view, (&path, "m:user"), pairs).unwrap();
    let names = found
        .entries
        .iter()
        .map(|entry| entry["name"].as_str().unwrap());
    names.collect()
}

/// The tag and app-tag of parameters that are no request.
fn rejected(fixture: &Fixture, path: &str, pairs: &[(&str, &str)]) -> (ErrorTag, String) {
    let request =
        parameters(pairs).request(fixture.schema(), &fixture.path(path), &PageNames::Modules);
    let error = request.expect_err(path);
    (error.tag, error.app_tag.unwrap_or_default().into_owned())
}

#[test]
fn wrong_parameters_are_rejected() {
    let fixture = fixture();
    let user = "/m:top/user";
    for (path, pairs, tag, app_tag) in [
        (
            user,
            &[("offset", "1"), ("cursor", "x")][..],
            ErrorTag::InvalidValue,
            "",
        ),
        (user, &[("locale", "C")], ErrorTag::InvalidValue, ""),
        (
            user,
            &[("locale", "sv_SE"), ("sort-by", "age")],
            ErrorTag::InvalidValue,
            "ietf-list-pagination:locale-unavailable",
        ),
        (user, &[("sort-by", "unknown")], ErrorTag::InvalidValue, ""),
        (user, &[("sort-by", "sub")], ErrorTag::InvalidValue, ""),
        (user, &[("sort-by", "sub/n")], ErrorTag::InvalidValue, ""),
        (user, &[("sort-by", "any")], ErrorTag::InvalidValue, ""),
        (
            user,
            &[("sort-by", "other:age")],
            ErrorTag::InvalidValue,
            "",
        ),
        (user, &[("where", "age >")], ErrorTag::InvalidValue, ""),
        (user, &[("where", "$x")], ErrorTag::InvalidValue, ""),
        (
            "/m:top/tag",
            &[("cursor", "x")],
            ErrorTag::OperationNotSupported,
            "",
        ),
        (
            "/m:top/tag",
            &[("sort-by", "age")],
            ErrorTag::InvalidValue,
            "",
        ),
        ("/m:top", &[("limit", "1")], ErrorTag::InvalidValue, ""),
        (
            "/m:top/user[name='a']",
            &[("limit", "1")],
            ErrorTag::InvalidValue,
            "",
        ),
    ] {
        assert_eq!(
            rejected(&fixture, path, pairs),
            (tag, app_tag.to_owned()),
            "{pairs:?}"
        );
    }
}

#[test]
fn wrong_values_are_rejected() {
    for (name, value) in [
        ("limit", "0"),
        ("limit", "4294967296"),
        ("limit", "+1"),
        ("offset", "-1"),
        ("offset", ""),
        ("direction", "up"),
        ("sublist-limit", "0"),
        ("unknown", "1"),
    ] {
        let set = espalier_store::PageParameters::default().set(name, value);
        assert_eq!(
            set.expect_err(name).tag,
            ErrorTag::InvalidValue,
            "{name}={value}"
        );
    }
}

#[test]
fn values_in_use_are_sorted_and_missing_ones_are_last() {
    let fixture = fixture();
    assert_eq!(users(&fixture, &[("sort-by", "age")]), "abc");
    assert_eq!(users(&fixture, &[("sort-by", "boss")]), "cab");
    assert_eq!(
        users(&fixture, &[("sort-by", "boss"), ("direction", "backwards")]),
        "bac"
    );
    let locales = ["C", "C.UTF-8", "POSIX", "POSIX.UTF-8"];
    for locale in locales {
        assert_eq!(
            users(&fixture, &[("sort-by", "boss"), ("locale", locale)]),
            "cab"
        );
    }
    assert_eq!(users(&fixture, &[("where", "age = 7")]), "b");
}

#[test]
fn cursors_of_other_queries_are_not_found() {
    let fixture = fixture();
    let (user, rule) = (fixture.path("/m:top/user"), fixture.path("/m:top/rule"));
    let view = fixture.running.view().unwrap();
    let first = page(&view, (&user, "m:user"), &[("limit", "1")]).unwrap();
    let next = first.info.next.unwrap();
    let other = |path: &InstancePath, name: &str, pairs: &[(&str, &str)]| {
        let all: Vec<_> = pairs.iter().copied().chain([("cursor", &*next)]).collect();
        app_tag(&page(&view, (path, name), &all).expect_err("no cursor of it"))
    };
    let tag = "ietf-list-pagination:cursor-not-found";
    assert_eq!(other(&rule, "m:rule", &[]), tag);
    assert_eq!(other(&user, "m:user", &[("sort-by", "age")]), tag);
    assert_eq!(other(&user, "m:user", &[("where", "age")]), tag);
    assert_eq!(other(&user, "m:user", &[("direction", "backwards")]), tag);
    for wrong in ["", "x", "AQA", "ä", &next[1..], &next[..next.len() - 4]] {
        let found = page(&view, (&user, "m:user"), &[("cursor", wrong)]);
        assert_eq!(app_tag(&found.expect_err("no cursor")), tag, "{wrong}");
    }
    let operational = fixture.operational.view().unwrap();
    let found = page(&operational, (&user, "m:user"), &[("cursor", &next)]);
    assert_eq!(app_tag(&found.expect_err("of running")), tag);
}

/// A page after an entry that another client moved continues after its new place.
#[test]
fn a_cursor_follows_its_entry() {
    let fixture = fixture();
    let path = fixture.path("/m:top/rule");
    let view = fixture.running.view().unwrap();
    let next = page(&view, (&path, "m:rule"), &[("limit", "1")])
        .unwrap()
        .info
        .next
        .unwrap();
    let top = fixture.path("/m:top");
    let entry = json_document(fixture.schema(), r#"{"m:top":{"rule":[{"id":3}]}}"#);
    let entry = espalier_yang::data::DataTree {
        nodes: entry.nodes[0].children().to_vec(),
    };
    let after = espalier_store::Insert::After(vec![espalier_yang::Value::Uint32(1)]);
    let moved = Edit::merge(top, entry).placed(after);
    fixture
        .running
        .commit(&[moved], CommitOptions::default())
        .unwrap();
    let view = fixture.running.view().unwrap();
    let found = page(&view, (&path, "m:rule"), &[("cursor", &next)]).unwrap();
    assert_eq!(found.entries, [serde_json::json!({"id": 2})]);
}

/// The number of entries of a list with `max-elements` is stored.
#[test]
fn stored_counts_give_the_number_of_remaining_entries() {
    let fixture = fixture();
    let path = fixture.path("/m:top/few");
    let list = (&path, "m:few");
    let view = fixture.running.view().unwrap();
    let first = page(&view, list, &[("limit", "2")]).unwrap().info;
    assert_eq!(first.remaining, Some(Remaining::Known(3)));
    let next = first.next.unwrap();
    let second = page(&view, list, &[("limit", "2"), ("cursor", &next)])
        .unwrap()
        .info;
    assert_eq!(second.remaining, Some(Remaining::Known(1)));
    let back = second.previous.unwrap();
    let again = page(&view, list, &[("limit", "2"), ("cursor", &back)])
        .unwrap()
        .info;
    assert_eq!(again.remaining, Some(Remaining::Known(3)));
    // Another edit: the place of the cursor is not known any more.
    merge(&fixture.running, r#"{"m:top":{"few":[{"id":9}]}}"#);
    let view = fixture.running.view().unwrap();
    let changed = page(&view, list, &[("limit", "2"), ("cursor", &next)])
        .unwrap()
        .info;
    assert_eq!(changed.remaining, Some(Remaining::Unknown));
    let restricted = page(&view, list, &[("limit", "2"), ("where", "id > 1")])
        .unwrap()
        .info;
    assert_eq!(restricted.remaining, Some(Remaining::Unknown));
}

#[test]
fn defaults_of_a_leaf_list_have_pages() {
    let fixture = fixture();
    let path = fixture.path("/m:top/colour");
    let selection = Selection {
        with_defaults: WithDefaults::ReportAll,
        ..Selection::default()
    };
    let view = fixture.running.view().unwrap();
    let text = |pairs: &[(&str, &str)]| {
        let request = request(fixture.schema(), &path, pairs);
        let mut printer = json::Printer::new(fixture.schema(), Vec::new(), PrintOptions::default());
        view.read_page(&path, &request, &selection, &mut printer)
            .unwrap();
        String::from_utf8(printer.finish().unwrap()).unwrap()
    };
    let metadata = r#""@m:colour":[{"ietf-list-pagination:remaining":1}]"#;
    let first = format!(r#"{{"m:colour":["green"],{metadata}}}"#);
    assert_eq!(text(&[("offset", "1"), ("limit", "1")]), first);
    let last = r#"{"m:colour":["blue","green","red"]}"#;
    assert_eq!(text(&[("direction", "backwards")]), last);
    assert_eq!(
        text(&[("where", "starts-with(., 'g')")]),
        r#"{"m:colour":["green"]}"#
    );
}

#[test]
fn lists_without_keys_have_pages() {
    let fixture = fixture();
    let text = r#"{"m:top":{"event":[{"text":"a"},{"text":"b"},{"text":"a"},{"text":"d"}]}}"#;
    merge(&fixture.operational, text);
    let path = fixture.path("/m:top/event");
    let view = fixture.operational.view().unwrap();
    let mut pairs = vec![("limit", "3")];
    let first = page(&view, (&path, "m:event"), &pairs).unwrap();
    let next = first.info.next.unwrap();
    pairs.push(("cursor", &next));
    let second = page(&view, (&path, "m:event"), &pairs).unwrap();
    assert_eq!(second.entries, [serde_json::json!({"text": "d"})]);
    let pairs = [("where", "text = 'a'"), ("direction", "backwards")];
    assert_eq!(
        page(&view, (&path, "m:event"), &pairs)
            .unwrap()
            .entries
            .len(),
        2
    );
}

#[test]
fn a_list_without_entries_is_an_empty_page() {
    let fixture = Fixture::in_memory(MODEL);
    let path = fixture.path("/m:top/user");
    let view = fixture.running.view().unwrap();
    assert!(
        page(&view, (&path, "m:user"), &[("limit", "1")])
            .unwrap()
            .entries
            .is_empty()
    );
    let beyond = page(&view, (&path, "m:user"), &[("offset", "1")]);
    assert!(app_tag(&beyond.unwrap_err()).ends_with("offset-out-of-range"));
    let sub = fixture.path("/m:top/user[name='none']/sub");
    let request = request(fixture.schema(), &sub, &[("limit", "1")]);
    let mut nothing = espalier_yang::data::TreeBuilder::new();
    let found = view.read_page(&sub, &request, &Selection::default(), &mut nothing);
    assert_eq!(found.unwrap(), None);
}

/// Pages of a candidate have its edits.
#[test]
fn candidates_have_pages() {
    let fixture = fixture();
    let store = fixture.running.store();
    let candidate = store.tree("d", "a", Datastore::Candidate).unwrap();
    merge(&candidate, r#"{"m:top":{"few":[{"id":0}]}}"#);
    let path = fixture.path("/m:top/few");
    let view = candidate.view().unwrap();
    let found = page(&view, (&path, "m:few"), &[("limit", "2")]).unwrap();
    assert_eq!(found.entries[0], serde_json::json!({"id": 0}));
    assert_eq!(found.info.remaining, Some(Remaining::Unknown));
}

/// Expressions on a candidate used the counts and indexes of running.
#[test]
fn expressions_on_a_candidate_use_no_counts_of_running() {
    let fixture = fixture();
    let store = fixture.running.store();
    let candidate = store.tree("d", "a", Datastore::Candidate).unwrap();
    merge(&candidate, r#"{"m:top":{"few":[{"id":0}]}}"#);
    let path = fixture.path("/m:top/few");
    let view = candidate.view().unwrap();
    let found = page(&view, (&path, "m:few"), &[("where", "count(../few) = 6")]).unwrap();
    assert_eq!(found.entries.len(), 6);
    let few = Expression::parse("/m:top/few[count(../few) = 6]", &|_| Some("m".into())).unwrap();
    assert_eq!(view.select(&few).unwrap().len(), 6);
}

//! Anchors that are deleted, recreated or changed by another process. The server is not notified: the first request after
//! the change must have the right result.

use espalier_protocols::anchors::AnchorLimits;
use espalier_store::Validation;

use crate::support::{Engine, Server, create, module};

const DATA: &str = "/dataspaces/lab/anchors/one/restconf/data";

/// A server whose anchor is open and has data, and the store of another process.
fn server() -> (Server, espalier_store::Store) {
    let engine = Engine::new();
    let other = engine.open();
    create(
        &other,
        "lab",
        &module("b", "leaf x { type string; }"),
        &["one"],
    );
    let server = Server::new(engine.open(), AnchorLimits::default());
    let made = server.send("PUT", &format!("{DATA}/b:x"), r#"{"b:x":"old"}"#);
    assert_eq!(made.status, 201, "{made:?}");
    (server, other)
}

#[test]
fn a_deleted_anchor_is_not_found() {
    for method in ["GET", "PUT"] {
        let (server, other) = server();
        other.delete_anchor("lab", "one").expect("a deletion");
        let body = if method == "PUT" {
            r#"{"b:x":"new"}"#
        } else {
            ""
        };
        let reply = server.send(method, &format!("{DATA}/b:x"), body);
        assert_eq!(reply.status, 404, "{reply:?}");
        assert!(reply.body.contains("one"), "{reply:?}");
        assert_eq!(server.get(DATA).status, 404);
    }
}

#[test]
fn a_recreated_anchor_has_none_of_the_old_data() {
    let (server, other) = server();
    other.delete_anchor("lab", "one").expect("a deletion");
    other.create_anchor("lab", "one", "set").expect("an anchor");
    let whole = server.get(DATA);
    assert_eq!(
        (whole.status, &*whole.body),
        (200, r#"{"ietf-restconf:data":{}}"#)
    );
    other.delete_anchor("lab", "one").expect("a deletion");
    let changed = module("c", "leaf y { type string; }");
    other
        .create_schema_set("lab", "other", &changed)
        .expect("a set");
    other
        .create_anchor("lab", "one", "other")
        .expect("an anchor");
    let old = server.send("PUT", &format!("{DATA}/b:x"), r#"{"b:x":"new"}"#);
    assert_eq!(
        (old.status, old.header("retry-after")),
        (503, "1"),
        "{old:?}"
    );
    let new = server.send("PUT", &format!("{DATA}/c:y"), r#"{"c:y":"new"}"#);
    assert_eq!(new.status, 201, "{new:?}");
}

#[test]
fn an_anchor_with_other_settings_is_opened_again() {
    let (server, other) = server();
    let set = other.set_validation("lab", "one", Validation::Structure);
    set.expect("a setting");
    let put = || server.send("PUT", &format!("{DATA}/b:x"), r#"{"b:x":"new"}"#);
    let first = put();
    assert!([204, 503].contains(&first.status), "{first:?}");
    assert_eq!(put().status, 204);
}

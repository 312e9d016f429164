//! Where anchors are served, and what their responses name.

use espalier_protocols::anchors::AnchorLimits;

use crate::support::{BASE_URL, Engine, Server, create, module};

/// Three dataspaces with different models, one of them the default.
fn server() -> Server {
    let store = Engine::new().open();
    create(
        &store,
        "default",
        &module("a", "leaf x { type string; }"),
        &["default"],
    );
    create(
        &store,
        "lab",
        &module("b", "list l { key k; leaf k { type string; } }"),
        &["one", "two"],
    );
    create(
        &store,
        "50% ä",
        &module("c", "leaf y { type int8; }"),
        &["x?y#z +é", "."],
    );
    Server::new(store, AnchorLimits::default())
}

#[test]
fn each_anchor_has_its_own_data_and_models() {
    let server = server();
    let one = "/dataspaces/lab/anchors/one/restconf";
    assert_eq!(
        server
            .send("PUT", "/restconf/data/a:x", r#"{"a:x":"d"}"#)
            .status,
        201
    );
    let made = server.send("POST", &format!("{one}/data"), r#"{"b:l":[{"k":"1"}]}"#);
    assert_eq!(made.status, 201, "{made:?}");
    assert_eq!(made.header("location"), format!("{one}/data/b:l=1"));
    let entry = server.get(made.header("location"));
    assert_eq!(entry.body, r#"{"b:l":[{"k":"1"}]}"#);
    let two = server.get("/dataspaces/lab/anchors/two/restconf/data/b:l=1");
    assert_eq!(two.status, 404, "{two:?}");
    assert_eq!(server.get("/restconf/data/b:l=1").status, 404);
    assert_eq!(server.get("/restconf/data/a:x").body, r#"{"a:x":"d"}"#);
    // The default anchor has a path of its own, too.
    let named = server.get("/dataspaces/default/anchors/default/restconf/data/a:x");
    assert_eq!(named.body, r#"{"a:x":"d"}"#);
}

#[test]
fn documents_name_the_root_of_the_anchor() {
    let server = server();
    for root in ["/restconf", "/dataspaces/lab/anchors/one/restconf"] {
        let library = server
            .get(&format!("{root}/data/ietf-yang-library:yang-library"))
            .json();
        let module = &library["ietf-yang-library:yang-library"]["module-set"][0]["module"][0];
        let location = module["location"][0].as_str().expect("a location");
        let location = location
            .strip_prefix(BASE_URL)
            .expect("a URL of the server");
        assert!(
            location.starts_with(&format!("{root}/schema/")),
            "{location}"
        );
        let text = server.get(location);
        assert_eq!(
            (text.status, text.header("content-type")),
            (200, "application/yang")
        );
    }
    let host_meta = server.get("/.well-known/host-meta.json").body;
    assert!(host_meta.contains(r#""href":"/restconf""#), "{host_meta}");
}

#[test]
fn names_are_percent_encoded_in_paths() {
    let server = server();
    let root = "/dataspaces/50%25%20%C3%A4/anchors/x%3Fy%23z%20%2B%C3%A9/restconf";
    let made = server.send("POST", &format!("{root}/data"), r#"{"c:y":7}"#);
    assert_eq!(made.status, 201, "{made:?}");
    assert_eq!(made.header("location"), format!("{root}/data/c:y"));
    assert_eq!(server.get(&format!("{root}/data/c:y")).body, r#"{"c:y":7}"#);
    let list = server.get("/dataspaces/50%25%20%C3%A4/anchors").json();
    assert_eq!(list["anchors"][1]["restconf"], root);
    assert_eq!(list["anchors"][1]["name"], "x?y#z +é");
}

#[test]
fn what_does_not_exist_is_named() {
    let server = server();
    for (path, name) in [
        ("/dataspaces/lab/anchors/three/restconf/data", "three"),
        (
            "/dataspaces/laboratory/anchors/one/restconf/data",
            "laboratory",
        ),
        ("/dataspaces/lab/anchors/a%2Fb/restconf/data", "a/b"),
        (
            "/dataspaces/lab%2Fanchors/anchors/one/restconf/data",
            "lab/anchors",
        ),
        ("/dataspaces/nosuch/anchors", "nosuch"),
    ] {
        let reply = server.get(path);
        assert_eq!(reply.status, 404, "{reply:?}");
        let is_named = reply.body.contains("ietf-restconf:errors") && reply.body.contains(name);
        assert!(is_named, "{reply:?}");
    }
    let not_text = server.get("/dataspaces/lab/anchors/%FF/restconf/data");
    assert_eq!(not_text.status, 400, "{not_text:?}");
    let xml = [("accept", "application/yang-data+xml")];
    let path = ("GET", "/dataspaces/lab/anchors/three/restconf/data");
    let reply = server.request(&espalier_service::access::Caller::exempt(), path, &xml, "");
    assert!(reply.body.starts_with("<errors"), "{reply:?}");
}

#[test]
fn a_store_without_the_default_anchor_serves_the_others() {
    let store = Engine::new().open();
    create(
        &store,
        "lab",
        &module("b", "leaf x { type string; }"),
        &["one"],
    );
    let server = Server::new(store.clone(), AnchorLimits::default());
    let missing = server.get("/restconf/data");
    let is_explained = missing.body.contains("default") && missing.body.contains("a hint");
    assert!(missing.status == 404 && is_explained, "{missing:?}");
    assert_eq!(
        server
            .get("/dataspaces/lab/anchors/one/restconf/data")
            .status,
        200
    );
    create(
        &store,
        "default",
        &module("d", "leaf x { type string; }"),
        &["default"],
    );
    server.anchors.catalog_changed();
    assert_eq!(server.get("/restconf/data").status, 200);
}

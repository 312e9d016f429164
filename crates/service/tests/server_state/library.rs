//! The YANG library.

use espalier_service::access::Caller;
use espalier_service::{AccessControl, Anchor};
use espalier_store::{Datastore, Selection, UpgradeOptions};
use espalier_testkit::oracle::libyang::{Format, Libyang};
use serde_json::json;

use crate::fixture::{
    MODEL, describe, located, read, serving, session, source_of, text_of, tree_of,
};

/// The modules of the state, for libyang.
const STATE: [&str; 6] = [
    "ietf-datastores",
    "ietf-yang-library",
    "ietf-restconf-monitoring",
    "ietf-netconf-monitoring",
    "espalier-server",
    "ietf-netconf-acm",
];

/// libyang validates types, mandatory nodes, keys, leafrefs and identities.
#[test]
fn libyang_accepts_all_state() {
    let (service, tree) = serving(&[MODEL], AccessControl::Off);
    let own = session(&service, Caller::exempt(), "one");
    let of = service.datastore(&own, tree.clone());
    of.lock().expect("a lock");
    let mut all = serde_json::Map::new();
    for path in [
        "/ietf-yang-library:yang-library",
        "/ietf-yang-library:modules-state",
        "/ietf-restconf-monitoring:restconf-state",
        "/ietf-netconf-monitoring:netconf-state",
        "/ietf-netconf-acm:nacm",
    ] {
        let state = read(&service, &tree, path);
        all.extend(state.as_object().expect("data").clone());
    }
    assert_eq!(all.len(), 5);
    let text = serde_json::Value::from(all).to_string();
    let checked = Libyang::new(&source_of(&STATE)).read(Format::Json, &text);
    assert!(checked.is_ok(), "{checked:?}\n{text}");
}

#[test]
fn the_operational_datastore_has_the_modules_of_the_state() {
    let (service, tree) = serving(&[MODEL], AccessControl::Off);
    let library =
        &read(&service, &tree, "/ietf-yang-library:yang-library")["ietf-yang-library:yang-library"];
    let module = &library["module-set"][0]["module"][0];
    assert_eq!(
        *module,
        json!({"name": "m", "revision": "2026-01-01", "namespace": "urn:m",
            "location": ["http://server.example/schema/m@2026-01-01.yang"], "feature": ["f"]})
    );
    assert_eq!(
        library["schema"],
        json!([{"name": "complete", "module-set": ["complete"]},
            {"name": "operational", "module-set": ["complete", "server-state"]}])
    );
    let datastores = library["datastore"].as_array().expect("datastores");
    assert_eq!(datastores.len(), 4);
    for datastore in datastores {
        let is_operational = datastore["name"] == "ietf-datastores:operational";
        let schema = if is_operational {
            "operational"
        } else {
            "complete"
        };
        assert_eq!(datastore["schema"], schema, "{datastore}");
    }
    let state = read(
        &service,
        &tree,
        "/ietf-yang-library:yang-library/module-set[name='server-state']/module[name='ietf-restconf-monitoring']",
    );
    assert_eq!(
        state["ietf-yang-library:module"][0]["location"][0],
        "http://server.example/schema/ietf-restconf-monitoring@2017-01-26.yang"
    );
}

#[test]
fn the_content_id_changes_with_the_modules_only() {
    let (service, tree) = serving(&[MODEL], AccessControl::Off);
    let path = "/ietf-yang-library:yang-library/content-id";
    let before = read(&service, &tree, path);
    let tag = service
        .library_tag(&Anchor::of(&tree).expect("an anchor"))
        .expect("a tag");
    assert_eq!(
        before["ietf-yang-library:content-id"],
        tag.as_ref().expect("a tag").id
    );
    describe(&service, &tree, &source_of(&[MODEL]));
    assert_eq!(
        service
            .library_tag(&Anchor::of(&tree).expect("an anchor"))
            .expect("a tag"),
        tag
    );
    let newer = MODEL.replace(
        "revision 2026-01-01;",
        "revision 2026-02-01; revision 2026-01-01;",
    );
    let source = source_of(&[&newer]);
    let options = UpgradeOptions::default();
    let store = tree.store();
    let upgraded = store.upgrade_schema_set("d", "s", &source, options);
    upgraded.expect("an upgrade");
    let tree = store.tree("d", "a", Datastore::Running).expect("a tree");
    describe(&service, &tree, &source);
    let after = read(&service, &tree, path);
    assert_ne!(before, after);
    let old = read(
        &service,
        &tree,
        "/ietf-yang-library:modules-state/module-set-id",
    );
    assert_eq!(
        old["ietf-yang-library:module-set-id"],
        after["ietf-yang-library:content-id"]
    );
    let revision =
        "/ietf-yang-library:yang-library/module-set[name='complete']/module[name='m']/revision";
    let revision = read(&service, &tree, revision);
    assert_eq!(revision["ietf-yang-library:revision"], "2026-02-01");
}

/// The models of an anchor that have the module keep it: its library is in its own operational datastore.
#[test]
fn models_with_the_library_have_it_in_their_own_datastore() {
    let modules = [MODEL, "ietf-yang-library", "ietf-datastores"];
    let (service, tree) = serving(&modules, AccessControl::Off);
    let path = "/ietf-yang-library:yang-library";
    let (of, place) = located(&service, &tree, Caller::exempt(), path);
    assert_eq!(of.datastore(), Datastore::Operational);
    assert!(std::sync::Arc::ptr_eq(of.schema(), tree.schema()));
    let text = text_of(&of, &place, &Selection::default()).expect("data");
    let library: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let sets = &library["ietf-yang-library:yang-library"]["module-set"];
    let modules = |set: usize| sets[set]["module"].as_array().expect("modules").iter();
    assert!(modules(0).any(|module| module["name"] == "ietf-yang-library"));
    assert!(modules(1).all(|module| module["name"] != "ietf-yang-library"));
    let id = of.library_tag(&place).expect("a tag").expect("a tag").id;
    assert_eq!(library["ietf-yang-library:yang-library"]["content-id"], id);
}

/// A service whose front ends described nothing, as that of a command, has no state.
#[test]
fn an_anchor_that_is_not_described_has_no_state() {
    let tree = tree_of(&[MODEL]);
    let service = espalier_service::Service::without_access_control(tree.clone());
    let service = service.expect("a service");
    let of = service.datastore(&session(&service, Caller::exempt(), ""), tree.clone());
    assert!(of.server_state().expect("no state").is_none());
    let of = of.with_top_node("ietf-yang-library", "yang-library");
    assert!(std::sync::Arc::ptr_eq(
        of.expect("itself").schema(),
        tree.schema()
    ));
}

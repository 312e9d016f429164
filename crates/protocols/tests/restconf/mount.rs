//! Mounted schemas (RFC 8528): a list of devices, each with its own mounted data.

use std::collections::BTreeMap;
use std::sync::Arc;

use espalier_drivers::memory::{Config, Memory};
use espalier_protocols::restconf::RestconfConfig;
use espalier_store::{Datastore, Store, SystemClock, Tree};
use espalier_yang::schema::{ModuleSource, MountSource, MountedSchemas, SchemaSource};
use serde_json::{Value as Json, json};

use crate::support::{HttpResponse, JSON, Server, check_error, check_json};

const FLEET: &str = include_str!("../models/fleet.yang");
const ROUTER: &str = include_str!("../models/router.yang");
const OPTICS: &str = include_str!("../models/optics.yang");

const DEVICES: usize = 1000;

fn modules(texts: &[&str]) -> SchemaSource {
    let modules = texts.iter().map(|text| ModuleSource::from_text(*text));
    SchemaSource {
        modules: modules.map(|module| module.expect("a module")).collect(),
        ..SchemaSource::default()
    }
}

fn fleet() -> (Tree, SchemaSource) {
    let schemas = [
        ("plain".to_owned(), modules(&[ROUTER])),
        ("optical".to_owned(), modules(&[ROUTER, OPTICS])),
    ];
    let source = SchemaSource {
        mounts: vec![MountSource {
            module: "fleet".to_owned(),
            label: "device".to_owned(),
            schemas: MountedSchemas::Inline {
                selector: "model".to_owned(),
                schemas: BTreeMap::from(schemas),
            },
        }],
        ..modules(&[FLEET])
    };
    let driver = Arc::new(Memory::new(Config::default()));
    let store = Store::open(driver, Arc::new(SystemClock)).unwrap();
    store.create_dataspace("test").unwrap();
    store.create_schema_set("test", "fleet", &source).unwrap();
    store.create_anchor("test", "fleet", "fleet").unwrap();
    let tree = store.tree("test", "fleet", Datastore::Running).unwrap();
    (tree, source)
}

/// A server with devices; every second one is optical.
fn server() -> Server {
    let server = Server::of(fleet(), RestconfConfig::default(), None);
    let devices: Vec<Json> = (0..DEVICES)
        .map(|number| {
            let mut root = json!({
                "router:system": {"hostname": format!("host-{number}"), "uplink": "eth0"},
                "router:interface": [{"name": "eth0", "mtu": 1500}, {"name": "eth1"}],
            });
            let mut device = json!({"name": format!("r{number}")});
            if number % 2 == 1 {
                device["model"] = json!("optical");
                root["optics:transponder"] = json!({});
                root["router:interface"][0]["optics:channel"] = json!(number % 100);
            }
            device["root"] = root;
            device
        })
        .collect();
    let document = json!({"fleet:devices": {"device": devices}});
    server.put("/fleet:devices", &document.to_string());
    server
}

fn root(number: usize) -> String {
    format!("/fleet:devices/device=r{number}/root")
}

#[test]
fn mounted_data_are_read_and_edited() {
    let server = server();
    let path = format!("{}/router:interface=eth0", root(501));
    check_json(
        &server.get(&path),
        r#"{"router:interface":[{"name":"eth0","mtu":1500,"optics:channel":1}]}"#,
    );
    let response = server.get_xml(&format!("{}/router:system", root(7)));
    assert!(
        response.body.contains("<hostname>host-7</hostname>"),
        "{response:?}"
    );
    let patch = r#"{"router:interface":[{"name":"eth0","mtu":1400}]}"#;
    assert_eq!(server.json("PATCH", &path, patch).status, 204);
    assert_eq!(
        server.json("DELETE", &format!("{path}/mtu"), "").status,
        204
    );
    check_json(
        &server.get(&format!("{path}?fields=name;mtu")),
        r#"{"router:interface":[{"name":"eth0"}]}"#,
    );
    let post = r#"{"router:interface":[{"name":"eth2"}]}"#;
    assert_eq!(server.json("POST", &root(3), post).status, 201);
    // The others are as they were.
    let all = server.get("/fleet:devices?fields=device(name;root/router:interface/name)");
    let all: Json = serde_json::from_str(&all.body).unwrap();
    let devices = all["fleet:devices"]["device"].as_array().unwrap();
    assert_eq!(devices.len(), DEVICES);
    for device in devices {
        let interfaces = device["root"]["router:interface"].as_array().unwrap();
        let expected = if device["name"] == "r3" { 3 } else { 2 };
        assert_eq!(interfaces.len(), expected, "{device}");
    }
}

#[test]
fn constraints_hold_within_an_instance() {
    let server = server();
    let put = |path: String, body: &str| server.json("PUT", &path, body);
    let uplink = format!("{}/router:system/uplink", root(10));
    let response = put(uplink.clone(), r#"{"router:uplink":"eth9"}"#);
    check_error(&response, 409, "data-missing");
    let other = format!("{}/router:interface=eth9", root(11));
    assert_eq!(
        put(other, r#"{"router:interface":[{"name":"eth9"}]}"#).status,
        201
    );
    check_error(
        &put(uplink, r#"{"router:uplink":"eth9"}"#),
        409,
        "data-missing",
    );
    let mtu = format!("{}/router:interface=eth1/mtu", root(10));
    let response = put(mtu.clone(), r#"{"router:mtu":1501}"#);
    check_error(&response, 412, "operation-failed");
    assert!(
        response.body.contains("more than the limit of this router"),
        "{response:?}"
    );
    let limit = format!("{}/router:limits", root(10));
    assert_eq!(
        put(limit, r#"{"router:limits":{"mtu-max":9000}}"#).status,
        201
    );
    assert_eq!(put(mtu, r#"{"router:mtu":9000}"#).status, 201);
    // The interface is in use by the uplink of its own router only.
    let used = format!("{}/router:interface=eth0", root(10));
    check_error(&server.json("DELETE", &used, ""), 409, "data-missing");
}

#[test]
fn an_instance_has_the_modules_of_its_model() {
    let server = server();
    let channel = |number| format!("{}/router:interface=eth1/optics:channel", root(number));
    let body = r#"{"optics:channel":5}"#;
    assert_eq!(server.json("PUT", &channel(1), body).status, 201);
    let refused = server.json("PUT", &channel(2), body);
    assert!((400..500).contains(&refused.status), "{refused:?}");
    // With another model, the data of the old one's modules are deleted (RFC 7950 §8.2).
    let model = "/fleet:devices/device=r1/model";
    server.put(model, r#"{"fleet:model":"plain"}"#);
    check_json(
        &server.get(&format!("{}/router:interface", root(1))),
        r#"{"router:interface":[{"name":"eth0","mtu":1500},{"name":"eth1"}]}"#,
    );
    assert_eq!(
        server
            .get(&format!("{}/optics:transponder", root(1)))
            .status,
        404
    );
}

fn json_of(response: &HttpResponse) -> Json {
    assert_eq!(response.status, 200, "{response:?}");
    serde_json::from_str(&response.body).expect("JSON")
}

#[test]
fn clients_find_what_is_mounted() {
    let server = server();
    check_json(
        &server.get("/ietf-yang-schema-mount:schema-mounts"),
        r#"{"ietf-yang-schema-mount:schema-mounts":
            {"mount-point":[{"module":"fleet","label":"device","config":true,"inline":{}}]}}"#,
    );
    let names = |number: usize| {
        let path = format!("{}/ietf-yang-library:yang-library", root(number));
        let library = json_of(&server.get(&path));
        let library = &library["ietf-yang-library:yang-library"];
        let modules = library["module-set"][0]["module"]
            .as_array()
            .unwrap()
            .clone();
        let has = |name: &str| modules.iter().any(|module| module["name"] == name);
        assert!(
            has("router") && has("ietf-yang-library") && !has("fleet"),
            "{library}"
        );
        let location = |name: &str| {
            let module = modules.iter().find(|module| module["name"] == name);
            module.unwrap()["location"][0].as_str().unwrap().to_owned()
        };
        let url = location("router");
        let base = format!("http://{}", server.address);
        let text = server.send("GET", url.strip_prefix(&base).unwrap(), &[], "");
        assert_eq!(text.body, ROUTER);
        (has("optics"), library["content-id"].clone())
    };
    let (plain, optical) = (names(2), names(3));
    assert!(!plain.0 && optical.0);
    assert_ne!(plain.1, optical.1);
    assert_eq!(names(4), plain);
    let missing = format!("{}/ietf-yang-library:yang-library", root(DEVICES));
    assert_eq!(server.get(&missing).status, 404);
    // The library of the server itself does not list mounted modules.
    let own = json_of(&server.get("/ietf-yang-library:yang-library/module-set=complete"));
    let own = own["ietf-yang-library:module-set"][0]["module"].to_string();
    assert!(
        own.contains(r#""fleet""#) && !own.contains(r#""router""#),
        "{own}"
    );
}

#[test]
fn operational_has_the_libraries_of_all_instances() {
    let server = server();
    let path = "/restconf/ds/ietf-datastores:operational/fleet:devices?fields=device(name;root/ietf-yang-library:yang-library/content-id)";
    let all = json_of(&server.send("GET", path, &[("accept", JSON)], ""));
    let devices = all["fleet:devices"]["device"].as_array().unwrap();
    assert_eq!(devices.len(), DEVICES);
    let library = "ietf-yang-library:yang-library";
    let has_library = |device: &Json| device["root"][library]["content-id"].is_string();
    assert!(devices.iter().all(has_library), "{}", devices[0]);
}

//! Subscriptions to datastores (RFC 8641) over RESTCONF (RFC 8650).

use serde_json::{Value, json};

use crate::event_client::Client;
use crate::event_streams::served;
use crate::subscriptions::{establish, invoke, listed};
use crate::support::Server;

fn put(server: &Server, name: &str) {
    let path = format!("/restconf/data/m:port={name}");
    let body = json!({"m:port": [{ "name": name }]}).to_string();
    let headers = [("content-type", "application/yang-data+json")];
    let response = server.send("PUT", &path, &headers, &body);
    assert_eq!(response.status, 201, "{}", response.body);
}

fn update(client: &mut Client, name: &str) -> Value {
    let event = client.expect("").data;
    let update = &event["ietf-restconf:notification"][format!("ietf-yang-push:{name}")];
    assert!(update.is_object(), "{event}");
    update.clone()
}

#[test]
fn changes_are_pushed_in_json() {
    let (server, _running) = served();
    put(&server, "a");
    let input = json!({"ietf-yang-push:datastore": "ietf-datastores:running",
        "ietf-yang-push:datastore-subtree-filter": {"m:port": {"name": null}},
        "ietf-yang-push:on-change": {"dampening-period": 0}});
    let (id, path) = establish(&server, &input);
    let mut client = Client::open(server.address, &path, "");
    let contents = json!({"id": id, "datastore-contents": {"m:port": [{"name": "a"}]}});
    assert_eq!(update(&mut client, "push-update"), contents);
    put(&server, "b");
    let edits = json!([{"edit-id": "1", "operation": "create", "target": "/m:port=b",
        "value": {"m:port": [{"name": "b"}]}}]);
    assert_eq!(
        update(&mut client, "push-change-update"),
        json!({"id": id, "datastore-changes": {"yang-patch": {"patch-id": "0", "edit": edits}}})
    );
    let entry = listed(&server, id);
    assert_eq!(entry["ietf-yang-push:datastore"], "ietf-datastores:running");
    let trigger = &entry["ietf-yang-push:on-change"];
    assert_eq!(trigger["sync-on-start"], true, "{entry}");
    let receiver = &entry["receivers"]["receiver"][0];
    assert_eq!(receiver["sent-event-records"], "2");
    let deleted = invoke(&server, "delete-subscription", &json!({"id": id}));
    assert_eq!(deleted.status, 204, "{}", deleted.body);
    assert_eq!(client.next(), None);
}

#[test]
fn updates_are_pushed_in_xml() {
    let (server, _running) = served();
    put(&server, "a");
    let body = "<input xmlns='urn:ietf:params:xml:ns:yang:ietf-subscribed-notifications' \
        xmlns:yp='urn:ietf:params:xml:ns:yang:ietf-yang-push' \
        xmlns:ds='urn:ietf:params:xml:ns:yang:ietf-datastores'><yp:datastore>ds:running</yp:datastore>\
        <yp:datastore-xpath-filter xmlns:p='urn:m'>/p:port</yp:datastore-xpath-filter>\
        <yp:periodic><yp:period>100</yp:period></yp:periodic></input>";
    let path = "/restconf/operations/ietf-subscribed-notifications:establish-subscription";
    let headers = [
        ("content-type", "application/yang-data+xml"),
        ("accept", "application/yang-data+json"),
    ];
    let response = server.send("POST", path, &headers, body);
    assert_eq!(response.status, 200, "{}", response.body);
    let output: Value = serde_json::from_str(&response.body).unwrap();
    let id = &output["ietf-subscribed-notifications:output"]["id"];
    let path = format!("/restconf/subscriptions/{id}");
    let mut client = Client::open(server.address, &path, "");
    for _ in 0..2 {
        let event = client.expect("").data;
        let event = event.as_str().expect("XML");
        let content = "<datastore-contents><port xmlns=\"urn:m\"><name>a</name></port></datastore-contents></push-update>";
        assert!(event.contains(content), "{event}");
    }
}

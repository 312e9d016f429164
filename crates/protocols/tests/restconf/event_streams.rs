//! Event streams over RESTCONF (RFC 8040 §6).

use std::sync::Arc;

use espalier_drivers::memory::{Config, Memory};
use espalier_protocols::restconf::RestconfConfig;
use espalier_service::SessionDatastore;
use espalier_service::notifications::Notification;
use espalier_store::{Datastore, Store, SystemClock, Tree};
use espalier_yang::schema::{ModuleSource, SchemaSource};
use serde_json::{Value, json};

use crate::event_client::Client;
use crate::support::{Server, check_error};

const MODEL: &str = "module m { yang-version 1.1; namespace urn:m; prefix m;
  list port { key name; leaf name { type string; }
    notification flap { leaf up { type boolean; } } }
  notification alarm { leaf number { type uint32; } leaf text { type string; } } }";

/// A server, and the datastore that it serves.
pub fn served() -> (Server, SessionDatastore) {
    served_with(RestconfConfig::default())
}

/// The same with a configuration.
pub fn served_with(config: RestconfConfig) -> (Server, SessionDatastore) {
    let driver = Arc::new(Memory::new(Config::default()));
    let store = Store::open(driver, Arc::new(SystemClock)).unwrap();
    let source = SchemaSource {
        modules: vec![ModuleSource::from_text(MODEL).unwrap()],
        ..SchemaSource::default()
    };
    store.create_dataspace("d").unwrap();
    store.create_schema_set("d", "s", &source).unwrap();
    store.create_anchor("d", "a", "s").unwrap();
    let tree = store.tree("d", "a", Datastore::Running).unwrap();
    let server = Server::of((tree.clone(), source), config, None);
    (server, running(tree))
}

/// Running, as another program with the store sees it.
fn running(tree: Tree) -> SessionDatastore {
    SessionDatastore::of_program(tree).unwrap()
}

pub fn send(running: &SessionDatastore, parent: &str, document: &Value) {
    let document = document.to_string();
    let notification =
        Notification::parse_json(running.schema(), parent, document.as_bytes(), None).unwrap();
    running.notify(notification).unwrap();
}

pub fn alarm(running: &SessionDatastore, number: u64) {
    send(running, "", &json!({"m:alarm": {"number": number}}));
}

/// The number of an alarm that a client receives.
pub fn number(client: &mut Client) -> u64 {
    let event = client.expect("");
    let alarm = &event.data["ietf-restconf:notification"]["m:alarm"];
    alarm["number"]
        .as_u64()
        .unwrap_or_else(|| panic!("{event:?}"))
}

const NETCONF: &str = "/restconf/streams/NETCONF/json";

/// §5 row 58
#[test]
fn the_streams_are_listed_with_their_locations() {
    let (server, running) = served();
    let streams = "/ietf-restconf-monitoring:restconf-state/streams";
    let list = |server: &Server| {
        let response = server.get(streams);
        let body: Value = serde_json::from_str(&response.body).unwrap();
        body["ietf-restconf-monitoring:streams"]["stream"].clone()
    };
    let base = format!("http://{}/restconf/streams", server.address);
    let access = |name: &str| {
        json!([{"encoding": "json", "location": format!("{base}/{name}/json")},
               {"encoding": "xml", "location": format!("{base}/{name}/xml")}])
    };
    let mut listed = list(&server);
    for stream in listed.as_array_mut().unwrap() {
        // It was left out while there were no events, although the models have it as mandatory.
        let created = stream
            .as_object_mut()
            .unwrap()
            .remove("replay-log-creation-time");
        assert!(created.is_some_and(|time| time.is_string()));
    }
    assert_eq!(
        listed,
        json!([
            {"name": "NETCONF", "description": "All events", "replay-support": true,
             "access": access("NETCONF")},
            {"name": "espalier-commits", "description": "Commits of running", "replay-support": true,
             "access": access("espalier-commits")},
        ])
    );
    running
        .change_event_settings(&json!({"module-streams": true}))
        .unwrap();
    alarm(&running, 1);
    let all = list(&server);
    assert_eq!(all[2]["name"], "m");
    assert!(all[0]["replay-log-creation-time"].is_string());
    // A location that was read can be used.
    let location = all[2]["access"][0]["location"].as_str().unwrap().to_owned();
    let path = location
        .strip_prefix(&format!("http://{}", server.address))
        .unwrap();
    let mut client = Client::open(server.address, path, "accept: text/event-stream\r\n");
    alarm(&running, 2);
    assert_eq!(number(&mut client), 2);
}

#[test]
fn events_arrive_in_both_encodings() {
    let (server, running) = served();
    server.put("/m:port=a", r#"{"m:port":[{"name":"a"}]}"#);
    let mut json_client = Client::open(server.address, NETCONF, "");
    let mut xml = Client::open(server.address, "/restconf/streams/NETCONF/xml", "");
    send(
        &running,
        "/m:port[name='a']",
        &json!({"m:flap": {"up": true}}),
    );
    send(&running, "", &json!({"m:alarm": {"text": "two\nlines"}}));
    let event = json_client.expect("").data["ietf-restconf:notification"].take();
    assert_eq!(
        event["m:port"],
        json!([{"name": "a", "flap": {"up": true}}])
    );
    assert!(event["eventTime"].as_str().unwrap().ends_with('Z'));
    let event = json_client.expect("").data["ietf-restconf:notification"].take();
    assert_eq!(event["m:alarm"]["text"], "two\nlines");
    let event = xml.expect("").data;
    let event = event.as_str().unwrap();
    assert!(
        event.contains("<flap><up>true</up></flap></port></notification>"),
        "{event}"
    );
    let event = xml.expect("").data;
    assert!(
        event.as_str().unwrap().contains("<text>two\nlines</text>"),
        "{event}"
    );
}

#[test]
fn past_events_are_replayed_and_filtered() {
    let (server, running) = served();
    for value in 0..2000 {
        alarm(&running, value);
    }
    let path = format!(
        "{NETCONF}?start-time=2020-01-01T00:00:00Z&filter=%2Fm:alarm%5Bnumber%20%3E%201989%5D"
    );
    let mut client = Client::open(server.address, &path, "");
    for expected in 1990..2000 {
        assert_eq!(number(&mut client), expected);
    }
    let complete = client.expect("").data;
    let complete = &complete["ietf-restconf:notification"];
    assert!(
        complete["nc-notifications:replayComplete"].is_object(),
        "{complete}"
    );
    for value in [1, 2000] {
        alarm(&running, value);
    }
    assert_eq!(number(&mut client), 2000);
}

#[test]
fn a_stop_time_ends_the_response() {
    let (server, running) = served();
    alarm(&running, 1);
    let path =
        format!("{NETCONF}?start-time=2020-01-01T00:00:00Z&stop-time=2020-01-02T00:00:00%2B01:00");
    let mut client = Client::open(server.address, &path, "");
    for expected in ["replayComplete", "notificationComplete"] {
        let event = client.expect("").data;
        let event = &event["ietf-restconf:notification"];
        assert!(
            event[format!("nc-notifications:{expected}")].is_object(),
            "{event}"
        );
    }
    assert_eq!(client.next(), None);
}

#[test]
fn wrong_requests_are_rejected() {
    let (server, _running) = served();
    let get = |path: &str, headers: &[(&str, &str)]| server.send("GET", path, headers, "");
    for query in [
        "filter=%5B",
        "start-time=2099-01-01T00:00:00Z",
        "start-time=yesterday",
        "stop-time=2099-01-01T00:00:00Z",
        "start-time=2020-01-02T00:00:00Z&stop-time=2020-01-01T00:00:00Z",
        "start-time=2020-01-02T00:00:00Z&start-time=2020-01-01T00:00:00Z",
        "depth=1",
        "other=1",
    ] {
        check_error(
            &get(&format!("{NETCONF}?{query}"), &[]),
            400,
            "invalid-value",
        );
    }
    for path in [
        "/restconf/streams",
        "/restconf/streams/NETCONF",
        "/restconf/streams/NETCONF/cbor",
        "/restconf/streams/m/json",
        "/restconf/streams/none/json",
    ] {
        check_error(&get(path, &[]), 404, "invalid-value");
    }
    let json = [("accept", "application/yang-data+json")];
    check_error(&get(NETCONF, &json), 406, "invalid-value");
    let post = server.send("POST", NETCONF, &[], "");
    check_error(&post, 405, "operation-not-supported");
    let head = server.send("HEAD", NETCONF, &[], "");
    assert_eq!(
        (head.status, head.header("content-type")),
        (200, "text/event-stream")
    );
    assert_eq!(head.header("cache-control"), "no-cache");
    let options = server.send("OPTIONS", NETCONF, &[], "");
    assert_eq!(options.header("allow"), "GET, HEAD, OPTIONS");
}

#[test]
fn the_number_of_receivers_is_limited_and_they_cost_no_threads() {
    let driver = Arc::new(Memory::new(Config::default()));
    let store = Store::open(driver, Arc::new(SystemClock)).unwrap();
    let (tree, source) = crate::support::garden_in(&store);
    let mut config = RestconfConfig::default();
    config.limits.event_streams_max = 200;
    let server = Server::of((tree.clone(), source), config, None);
    let path = "/restconf/streams/espalier-commits/json";
    let mut clients: Vec<Client> = (0..200)
        .map(|_| Client::open(server.address, path, ""))
        .collect();
    let rejected = server.send("GET", path, &[], "");
    check_error(&rejected, 503, "resource-denied");
    server.put("/garden:garden", r#"{"garden:garden":{"title":"Mine"}}"#);
    for client in &mut clients {
        let event = client.expect("").data;
        let commit = &event["ietf-restconf:notification"]["espalier-notifications:commit"];
        assert_eq!(commit["version"], "1");
        assert_eq!(commit["path"], json!(["/garden:garden/title"]));
    }
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let threads = status
        .lines()
        .find_map(|line| line.strip_prefix("Threads:"))
        .unwrap();
    let threads: usize = threads.trim().parse().unwrap();
    assert!(threads < 150, "{threads}");
    drop(clients);
    let past = format!("{path}?start-time=2020-01-01T00:00:00Z&stop-time=2020-01-02T00:00:00Z");
    for title in 0..500 {
        // A lost client is noticed when something is sent to it.
        let garden = format!(r#"{{"garden:garden":{{"title":"{title}"}}}}"#);
        server.put("/garden:garden", &garden);
        if server.send("GET", &past, &[], "").status == 200 {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    panic!("closed connections still count");
}

//! Dynamic subscriptions over RESTCONF (RFC 8639, RFC 8650).

use serde_json::{Value, json};

use crate::event_client::{Client, Event};
use crate::event_streams::{alarm, number, served};
use crate::support::{HttpResponse, Server, check_error};

pub const STATE: &str = "/ietf-subscribed-notifications:subscriptions";

pub fn invoke(server: &Server, name: &str, input: &Value) -> HttpResponse {
    let path = format!("/restconf/operations/ietf-subscribed-notifications:{name}");
    let body = json!({"ietf-subscribed-notifications:input": input}).to_string();
    let headers = [("content-type", "application/yang-data+json")];
    server.send("POST", &path, &headers, &body)
}

/// The number and the place of a new subscription.
pub fn establish(server: &Server, input: &Value) -> (u64, String) {
    let response = invoke(server, "establish-subscription", input);
    assert_eq!(response.status, 200, "{}", response.body);
    let body: Value = serde_json::from_str(&response.body).unwrap();
    let output = &body["ietf-subscribed-notifications:output"];
    let uri = output["ietf-restconf-subscribed-notifications:uri"].as_str();
    let uri = uri.expect("a uri");
    let base = format!("http://{}", server.address);
    let path = uri.strip_prefix(&base).expect("a URL of the server");
    (output["id"].as_u64().expect("an id"), path.to_owned())
}

/// The entry of a subscription in the state.
pub fn listed(server: &Server, id: u64) -> Value {
    let response = server.get(&format!("{STATE}/subscription={id}"));
    let body: Value = serde_json::from_str(&response.body).unwrap();
    body["ietf-subscribed-notifications:subscription"][0].clone()
}

/// The next notification about the subscription.
pub fn state_change(client: &mut Client, name: &str) -> Value {
    let event = client.expect("").data;
    let event = &event["ietf-restconf:notification"];
    let change = &event[format!("ietf-subscribed-notifications:{name}")];
    assert!(change.is_object(), "{event}");
    change.clone()
}

#[test]
fn a_subscription_delivers_what_follows_its_establishment() {
    let (server, running) = served();
    let (id, path) = establish(
        &server,
        &json!({"stream": "NETCONF", "stream-xpath-filter": "/m:alarm[number > 1]"}),
    );
    // Before the client connects, and after that.
    (1..=2).for_each(|value| alarm(&running, value));
    let mut client = Client::open(server.address, &path, "");
    (1..=3).for_each(|value| alarm(&running, value));
    let numbers: Vec<u64> = (0..3).map(|_| number(&mut client)).collect();
    assert_eq!(numbers, [2, 2, 3]);
    let entry = listed(&server, id);
    assert_eq!(entry["stream"], "NETCONF");
    assert_eq!(entry["stream-xpath-filter"], "/m:alarm[number > 1]");
    assert_eq!(
        entry["encoding"],
        "ietf-subscribed-notifications:encode-json"
    );
    let uri = &entry["ietf-restconf-subscribed-notifications:uri"];
    assert_eq!(*uri, format!("http://{}{path}", server.address));
    let receiver = &entry["receivers"]["receiver"][0];
    assert_eq!(receiver["state"], "active");
    assert_eq!(receiver["sent-event-records"], "3");
    assert_eq!(receiver["excluded-event-records"], "2");
    let second = server.send("GET", &path, &[], "");
    check_error(&second, 409, "in-use");
}

#[test]
fn a_replay_is_completed_and_a_stop_time_ends_it() {
    let (server, running) = served();
    (1..=3).for_each(|value| alarm(&running, value));
    let (id, path) = establish(
        &server,
        &json!({"stream": "NETCONF", "replay-start-time": "2020-01-01T00:00:00Z"}),
    );
    let mut client = Client::open(server.address, &path, "");
    (1..=3).for_each(|expected| assert_eq!(number(&mut client), expected));
    assert_eq!(
        state_change(&mut client, "replay-completed"),
        json!({"id": id})
    );
    let response = invoke(
        &server,
        "establish-subscription",
        &json!({"stream": "NETCONF", "replay-start-time": "2020-01-01T00:00:00Z",
                "stop-time": "2020-01-02T00:00:00Z", "encoding": "encode-xml"}),
    );
    let body: Value = serde_json::from_str(&response.body).unwrap();
    let output = &body["ietf-subscribed-notifications:output"];
    assert!(output["replay-start-time-revision"].is_string(), "{output}");
    let path = format!("/restconf/subscriptions/{}", output["id"]);
    let mut past = Client::open(server.address, &path, "");
    let event = past.expect("").data;
    let event = event.as_str().expect("XML");
    assert!(event.contains("<replay-completed"), "{event}");
    assert_eq!(past.next(), None);
    check_error(&server.send("GET", &path, &[], ""), 404, "invalid-value");
}

#[test]
fn a_modification_applies_to_later_events() {
    let (server, running) = served();
    let (id, path) = establish(&server, &json!({"stream": "NETCONF"}));
    let mut client = Client::open(server.address, &path, "");
    alarm(&running, 1);
    assert_eq!(number(&mut client), 1);
    let subtree = json!({"m:alarm": {"number": 7}});
    let input = json!({"id": id, "stream-subtree-filter": subtree,
                       "stop-time": "2099-01-01T00:00:00Z"});
    let modified = invoke(&server, "modify-subscription", &input);
    assert_eq!(modified.status, 204, "{}", modified.body);
    let change = state_change(&mut client, "subscription-modified");
    assert_eq!(change["id"], id);
    assert_eq!(change["stream"], "NETCONF");
    assert_eq!(change["stream-subtree-filter"], subtree);
    assert!(
        change["stop-time"]
            .as_str()
            .unwrap()
            .starts_with("2099-01-01")
    );
    [2, 7, 8]
        .into_iter()
        .for_each(|value| alarm(&running, value));
    assert_eq!(number(&mut client), 7);
    let deleted = invoke(&server, "delete-subscription", &json!({"id": id}));
    assert_eq!(deleted.status, 204, "{}", deleted.body);
    assert_eq!(client.next(), None);
    assert_eq!(
        server.get(&format!("{STATE}/subscription={id}")).status,
        404
    );
}

#[test]
fn a_killed_subscription_is_terminated_and_a_lost_connection_ends_one() {
    let (server, running) = served();
    let (id, path) = establish(&server, &json!({"stream": "espalier-commits"}));
    let mut client = Client::open(server.address, &path, "");
    let killed = invoke(&server, "kill-subscription", &json!({"id": id}));
    assert_eq!(killed.status, 204, "{}", killed.body);
    let change = state_change(&mut client, "subscription-terminated");
    assert_eq!(
        change,
        json!({"id": id, "reason": "ietf-subscribed-notifications:no-such-subscription"})
    );
    assert_eq!(client.next(), None);
    let (id, path) = establish(&server, &json!({"stream": "NETCONF"}));
    drop(Client::open(server.address, &path, ""));
    for value in 0..500 {
        alarm(&running, value);
        if server.get(&format!("{STATE}/subscription={id}")).status == 404 {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    panic!("the subscription outlives its connection");
}

#[test]
fn errors_have_the_identities_of_the_rfc() {
    let (server, _running) = served();
    let check = |name: &str, input: &Value, status: u16, identity: &str, info: &str| {
        let response = invoke(&server, name, input);
        assert_eq!(response.status, status, "{}", response.body);
        let body: Value = serde_json::from_str(&response.body).unwrap();
        let error = &body["ietf-restconf:errors"]["error"][0];
        let identity = format!("ietf-subscribed-notifications:{identity}");
        assert_eq!(error["error-type"], "application");
        assert_eq!(error["error-app-tag"], *identity, "{error}");
        let info = &error["error-info"][format!("ietf-subscribed-notifications:{info}")];
        assert_eq!(info["reason"], *identity, "{error}");
    };
    let establish_info = "establish-subscription-stream-error-info";
    let establish = |filter: &Value| {
        let mut input = json!({"stream": "NETCONF"});
        input
            .as_object_mut()
            .unwrap()
            .extend(filter.as_object().unwrap().clone());
        check(
            "establish-subscription",
            &input,
            400,
            "filter-unsupported",
            establish_info,
        );
    };
    establish(&json!({"stream-subtree-filter": {"none:alarm": {}}}));
    let delete_info = "delete-subscription-error-info";
    for name in ["delete-subscription", "kill-subscription"] {
        check(
            name,
            &json!({"id": 7}),
            404,
            "no-such-subscription",
            delete_info,
        );
    }
    let modify = json!({"id": 7, "stream-xpath-filter": "/m:alarm"});
    let modify_info = "modify-subscription-stream-error-info";
    check(
        "modify-subscription",
        &modify,
        404,
        "no-such-subscription",
        modify_info,
    );
    for input in [
        json!({"stream": "none"}),
        json!({"stream": "NETCONF", "replay-start-time": "2099-01-01T00:00:00Z"}),
        json!({"stream": "NETCONF", "stop-time": "2020-01-01T00:00:00Z"}),
    ] {
        let response = invoke(&server, "establish-subscription", &input);
        check_error(&response, 400, "invalid-value");
    }
    for _ in 0..100 {
        crate::subscriptions::establish(&server, &json!({"stream": "NETCONF"}));
    }
    let input = json!({"stream": "NETCONF"});
    check(
        "establish-subscription",
        &input,
        409,
        "insufficient-resources",
        establish_info,
    );
}

#[test]
fn errors_in_xml_have_their_structure_too() {
    let (server, _running) = served();
    let body = "<input xmlns='urn:ietf:params:xml:ns:yang:ietf-subscribed-notifications'><id>7</id></input>";
    let headers = [
        ("content-type", "application/yang-data+xml"),
        ("accept", "application/yang-data+xml"),
    ];
    let path = "/restconf/operations/ietf-subscribed-notifications:delete-subscription";
    let response = server.send("POST", path, &headers, body);
    let expected = "<error-info><delete-subscription-error-info \
        xmlns=\"urn:ietf:params:xml:ns:yang:ietf-subscribed-notifications\">\
        <reason>no-such-subscription</reason></delete-subscription-error-info></error-info>";
    assert!(response.body.contains(expected), "{}", response.body);
}

#[test]
fn a_client_that_connects_again_goes_on_after_its_last_event() {
    let (server, running) = served();
    let path = "/restconf/streams/NETCONF/json";
    let mut client = Client::open(server.address, path, "");
    alarm(&running, 1);
    let mut events: Vec<Event> = vec![client.expect("")];
    server.put("/m:port=a", r#"{"m:port":[{"name":"a"}]}"#);
    events.extend((0..2).map(|_| client.expect("")));
    alarm(&running, 2);
    events.push(client.expect(""));
    let mut resumed: Vec<Client> = events
        .iter()
        .map(|event| {
            let id = event.id.as_deref().expect("an id");
            Client::open(server.address, path, &format!("last-event-id: {id}\r\n"))
        })
        .collect();
    alarm(&running, 3);
    for (place, client) in resumed.iter_mut().enumerate() {
        for expected in &events[place + 1..] {
            assert_eq!(client.expect("").data, expected.data);
        }
        assert_eq!(number(client), 3);
    }
    // An id of another server is ignored.
    let mut other = Client::open(server.address, path, "last-event-id: 0x7\r\n");
    alarm(&running, 4);
    assert_eq!(number(&mut other), 4);
}

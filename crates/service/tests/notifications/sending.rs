//! What is sent is validated, stored and encoded.

use espalier_service::notifications::{Encoding, SubscriptionOptions};
use espalier_store::{EVENT_BYTES_MAX, Error, NewEvent};
use serde_json::json;

use crate::fixture::{Fixture, NOON, after_ms, content, module_stream, next_event, send_at};

/// The first violation of a notification.
fn rejected(fixture: &Fixture, parent: &str, document: &str) -> String {
    match fixture.send(parent, document) {
        Err(Error::Data(errors)) => {
            let error = errors.iter().next().expect("an error");
            format!("{} {}", error.tag.as_str(), error.path)
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn invalid_notifications_are_rejected_and_not_stored() {
    let fixture = Fixture::new();
    fixture.put(r#"{"m:port":[{"name":"a"}]}"#);
    for (parent, document, expected) in [
        (
            "",
            r#"{"m:alarm":{"number":-1}}"#,
            "invalid-value /m:alarm/number",
        ),
        (
            "",
            r#"{"m:alarm":{"port":"b"}}"#,
            "data-missing /m:alarm/port",
        ),
        ("", r#"{"m:nothing":{}}"#, "unknown-element "),
        ("", r#"{"m:port":[{"name":"a"}]}"#, "unknown-element "),
        ("", r#"{"m:alarm":{},"m:quiet":{}}"#, "malformed-message "),
        ("", "[]", "malformed-message "),
        (
            "/m:port[name='a']",
            r#"{"m:flap":{}}"#,
            "data-missing /m:port[name='a']/flap/up",
        ),
        (
            "/m:port[name='b']",
            r#"{"m:flap":{"up":true}}"#,
            "data-missing /m:port[name='b']",
        ),
        ("/m:port", r#"{"m:flap":{"up":true}}"#, "unknown-element "),
        ("", r#"{"m:flap":{"up":true}}"#, "unknown-element "),
    ] {
        let found = rejected(&fixture, parent, document);
        assert_eq!(found, expected, "{parent} {document}");
    }
    let large = format!(
        r#"{{"m:alarm":{{"severity":"{}"}}}}"#,
        "x".repeat(EVENT_BYTES_MAX)
    );
    assert_eq!(rejected(&fixture, "", &large), "too-big ");
    assert_eq!(fixture.tree.event_log().unwrap().last, 0);
}

#[test]
fn an_event_in_the_future_is_rejected_and_one_in_the_past_keeps_its_time() {
    let fixture = Fixture::new();
    let document = r#"{"m:quiet":{}}"#;
    let running = fixture.running();
    assert!(send_at(&running, "", document, Some(after_ms(120_000))).is_err());
    fixture.clock.set(after_ms(5000));
    send_at(&running, "", document, Some(after_ms(1000))).unwrap();
    let page = fixture.tree.events_from(1).unwrap();
    assert_eq!(page.records[0].time, after_ms(1000));
    assert_eq!(page.records[0].logged, after_ms(5000));
}

#[test]
fn an_event_is_delivered_with_the_nodes_around_it() {
    let fixture = Fixture::new();
    fixture.put(r#"{"m:port":[{"name":"a","speed":10}]}"#);
    let mut subscription = fixture.subscribe(module_stream());
    fixture
        .send(
            "",
            r#"{"m:alarm":{"port":"a","colour":"red","detail":[{"id":2},{"id":1}]}}"#,
        )
        .unwrap();
    fixture
        .send("/m:port[name='a']", r#"{"m:flap":{"up":true}}"#)
        .unwrap();
    let alarm = next_event(&mut subscription);
    let expected =
        json!({"m:alarm": {"port": "a", "colour": "m:red", "detail": [{"id": 1}, {"id": 2}]}});
    assert_eq!(content(&alarm), expected);
    assert_eq!(
        (alarm.module(), alarm.name(), alarm.time()),
        ("m", "alarm", NOON)
    );
    let flap = next_event(&mut subscription);
    assert_eq!(
        content(&flap),
        json!({"m:port": [{"name": "a", "flap": {"up": true}}]})
    );
    let json = std::str::from_utf8(flap.document(Encoding::Json)).unwrap();
    assert!(json.starts_with(
        r#"{"ietf-restconf:notification":{"eventTime":"2026-03-05T12:00:00.000Z","m:port":"#
    ));
    let xml = std::str::from_utf8(flap.document(Encoding::Xml)).unwrap();
    assert_eq!(
        xml,
        "<notification xmlns=\"urn:ietf:params:xml:ns:netconf:notification:1.0\">\
         <eventTime>2026-03-05T12:00:00.000Z</eventTime>\
         <port xmlns=\"urn:m\"><name>a</name><flap><up>true</up></flap></port></notification>"
    );
}

#[test]
fn a_notification_inside_operational_state_is_accepted() {
    let fixture = Fixture::new();
    let operational = fixture
        .tree
        .sibling_datastore(espalier_store::Datastore::Operational, "")
        .unwrap();
    let schema = fixture.tree.schema();
    let document =
        espalier_testkit::documents::json_document(schema, r#"{"m:port":[{"name":"b"}]}"#);
    operational
        .commit(
            &[espalier_store::Edit::merge(
                espalier_yang::InstancePath::root(),
                document,
            )],
            espalier_store::CommitOptions::default(),
        )
        .unwrap();
    fixture
        .send("/m:port[name='b']", r#"{"m:flap":{"up":false}}"#)
        .unwrap();
}

#[test]
fn records_of_notifications_that_the_models_do_not_define_any_more_are_skipped() {
    let fixture = Fixture::new();
    let event = NewEvent {
        time: None,
        name: "m:removed".to_owned(),
        parent: String::new(),
        content: br#"{"m:removed":{}}"#.to_vec(),
    };
    let mut subscription = fixture.subscribe(SubscriptionOptions::default());
    fixture.tree.append_events(&[event]).unwrap();
    fixture.alarm(1);
    assert_eq!(next_event(&mut subscription).name(), "alarm");
}

#[test]
fn a_deleted_anchor_ends_its_subscriptions_and_takes_no_more_events() {
    let fixture = Fixture::new();
    let mut subscription = fixture.subscribe(SubscriptionOptions::default());
    fixture.alarm(1);
    next_event(&mut subscription);
    fixture.tree.store().delete_anchor("d", "a").unwrap();
    let sent = fixture.send("", r#"{"m:quiet":{}}"#);
    assert!(matches!(sent, Err(Error::Unknown { .. })), "{sent:?}");
    let last = crate::fixture::next(&mut subscription);
    assert!(matches!(
        last,
        espalier_service::notifications::Delivery::Terminated(_)
    ));
    assert!(subscription.is_ended());
    assert!(fixture.tree.store().check(&mut |_| {}).unwrap().is_empty());
}

#[test]
fn the_operation_sends_what_its_input_has() {
    let fixture = Fixture::new();
    fixture.put(r#"{"m:port":[{"name":"a"}]}"#);
    let module = espalier_service::modules::module("espalier-notifications").unwrap();
    let source = espalier_yang::schema::SchemaSource {
        modules: espalier_service::modules::sources(),
        implement: vec![module.name.to_owned()],
        ..Default::default()
    };
    let schema = espalier_yang::Schema::compile(&source).unwrap();
    let mut nodes = schema.nodes().map(|node| node.id);
    let input = nodes
        .find(|&id| schema.path(id) == "/espalier-notifications:send-notification/input")
        .unwrap();
    let document = json!({"espalier-notifications:input": {
        "parent": "/m:port[name='a']", "event-time": "2026-03-05T11:00:00Z",
        "content": {"m:flap": {"up": true}}}});
    let mut builder = espalier_yang::data::TreeBuilder::new();
    let root = espalier_yang::data::Root::Resource(input);
    let options = espalier_yang::data::ParseOptions::default();
    let text = document.to_string();
    espalier_yang::data::json::parse(&schema, root, text.as_bytes(), &mut builder, &options)
        .unwrap();
    let input = builder.finish().unwrap();
    let running = fixture.running();
    let output = running
        .send_notification(&schema, input.nodes[0].children())
        .unwrap();
    assert!(output.nodes.is_empty());
    let sent = &fixture.tree.events_from(1).unwrap().records[0];
    assert_eq!(
        (&*sent.name, &*sent.parent),
        ("m:flap", "/m:port[name='a']")
    );
    assert_eq!(sent.time.0, NOON.0 - 3_600_000);
}

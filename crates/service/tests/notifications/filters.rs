//! Filters: XPath, subtrees; streams.

use std::sync::Arc;

use espalier_service::notifications::{
    Delivery, EventFilter, Stream, SubscriptionOptions, SubtreeFilter,
};
use espalier_store::EventSettings;
use serde_json::json;

use crate::fixture::{Fixture, NOON, next};

/// The notifications that the filters select from.
const SENT: [(&str, &str); 4] = [
    (
        "",
        r#"{"m:alarm":{"number":1,"severity":"minor","colour":"red","detail":[{"id":1,"text":"one"}]}}"#,
    ),
    ("", r#"{"m:alarm":{"number":2,"severity":"major"}}"#),
    ("", r#"{"m:quiet":{}}"#),
    ("/m:port[name='a']", r#"{"m:flap":{"up":true,"code":7}}"#),
];

/// The numbers of the notifications that match.
fn matching(fixture: &Fixture, filter: EventFilter) -> Vec<usize> {
    let mut subscription = fixture.subscribe(SubscriptionOptions {
        stream: Stream::Module("m".into()),
        filter: Some(Arc::new(filter)),
        start: Some(NOON),
        stop: None,
        from: None,
    });
    let mut found = Vec::new();
    while let Delivery::Event(event) = next(&mut subscription) {
        let json = crate::fixture::content(&event);
        let index = match event.name() {
            "alarm" => json["m:alarm"]["number"].as_u64().expect("a number") as usize - 1,
            "quiet" => 2,
            _ => 3,
        };
        found.push(index);
    }
    found
}

fn fixture() -> Fixture {
    let fixture = Fixture::new();
    fixture.put(r#"{"m:port":[{"name":"a"}]}"#);
    for (parent, document) in SENT {
        fixture
            .send(parent, document)
            .unwrap_or_else(|error| panic!("{error}"));
    }
    fixture
}

#[test]
fn xpath_filters_are_evaluated_at_the_root_of_the_event() {
    let fixture = fixture();
    for (filter, expected) in [
        ("/m:alarm", vec![0, 1]),
        ("/alarm", vec![0, 1]),
        ("/m:alarm[severity='major']", vec![1]),
        ("/m:alarm/m:severity='minor'", vec![0]),
        ("/alarm/number > 1", vec![1]),
        ("/m:quiet | /m:alarm[number=1]", vec![0, 2]),
        ("//text", vec![0]),
        ("/m:port[name='a']/m:flap/up='true'", vec![3]),
        ("/port/flap[code < 5]", vec![]),
        ("not(/m:alarm)", vec![2, 3]),
        ("count(/m:alarm/m:detail) = 1", vec![0]),
        ("derived-from(/m:alarm/colour, 'm:colour')", vec![0]),
        ("/other:alarm", vec![]),
        ("1 div 0 > 5", vec![0, 1, 2, 3]),
        ("''", vec![]),
    ] {
        let parsed = EventFilter::parse_xpath(filter).expect(filter);
        assert_eq!(matching(&fixture, parsed), expected, "{filter}");
    }
    for wrong in ["", "/m:alarm[", "a b", "undefined()"] {
        assert!(EventFilter::parse_xpath(wrong).is_err(), "{wrong}");
    }
}

/// The defaults and the containers without presence of the anchor's models were nodes of each event.
#[test]
fn regression_xpath_filters_see_the_event_record_only() {
    let fixture = fixture();
    for (filter, expected) in [
        ("count(/*) = 1", vec![0, 1, 2, 3]),
        ("count(//*) = 1", vec![2]),
        ("/m:secret", vec![]),
        ("/m:secret/lifetime = 5", vec![]),
        ("//lifetime", vec![]),
        ("/secret/use = 'any'", vec![]),
        ("/m:alarm/level", vec![]),
        ("/m:alarm/origin", vec![]),
        ("not(/m:secret/lifetime)", vec![0, 1, 2, 3]),
        ("count(/m:port/*) = 2", vec![3]),
    ] {
        let parsed = EventFilter::parse_xpath(filter).expect(filter);
        assert_eq!(matching(&fixture, parsed), expected, "{filter}");
    }
}

#[test]
fn subtree_filters_select_as_rfc_6241_describes() {
    let fixture = fixture();
    for (filter, expected) in [
        ("", vec![]),
        ("<alarm xmlns='urn:m'/>", vec![0, 1]),
        ("<m:alarm xmlns:m='urn:m'/>", vec![0, 1]),
        ("<alarm/>", vec![0, 1]),
        ("<alarm xmlns='urn:other'/>", vec![]),
        (
            "<alarm xmlns='urn:m'><severity>major</severity></alarm>",
            vec![1],
        ),
        (
            "<alarm xmlns='urn:m'><severity> minor </severity><detail/></alarm>",
            vec![0],
        ),
        (
            // The content match node is selected itself (RFC 6241 §6.2.5).
            "<alarm xmlns='urn:m'><severity>major</severity><detail/></alarm>",
            vec![1],
        ),
        (
            "<alarm xmlns='urn:m'><detail><text>one</text></detail></alarm>",
            vec![0],
        ),
        (
            "<alarm xmlns='urn:m'><detail><text>two</text></detail></alarm>",
            vec![],
        ),
        (
            "<alarm xmlns='urn:m'><colour xmlns:x='urn:m'>x:red</colour></alarm>",
            vec![0],
        ),
        (
            "<quiet xmlns='urn:m'/><alarm xmlns='urn:m'><number>2</number></alarm>",
            vec![1, 2],
        ),
        ("<port xmlns='urn:m'><name>a</name><flap/></port>", vec![3]),
        ("<port xmlns='urn:m'><name>b</name><flap/></port>", vec![]),
        ("<!-- nothing --><quiet xmlns='urn:m'></quiet>", vec![2]),
        (
            "<alarm xmlns='urn:m'><severity><![CDATA[maj]]>&#111;r</severity></alarm>",
            vec![1],
        ),
    ] {
        let parsed = SubtreeFilter::parse_xml(filter).expect(filter);
        assert_eq!(
            matching(&fixture, EventFilter::Subtree(parsed)),
            expected,
            "{filter}"
        );
    }
    let deep = "<a>".repeat(200) + &"</a>".repeat(200);
    for wrong in ["<a>", "<a></b>", "</a>", "<p:a/>", "<a>&x;</a>", &deep] {
        assert!(SubtreeFilter::parse_xml(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn modules_have_streams_if_the_settings_have_them() {
    let fixture = Fixture::new();
    let running = fixture.running();
    let names = |fixture: &Fixture| {
        let streams = fixture.running().streams().expect("streams");
        streams
            .into_iter()
            .map(|stream| stream.name)
            .collect::<Vec<_>>()
    };
    assert_eq!(names(&fixture), ["NETCONF", "espalier-commits"]);
    assert!(running.stream("m").is_err() && running.stream("NETCONF").is_ok());
    let changed = running.change_event_settings(&json!({"module-streams": true}));
    let expected = EventSettings {
        module_streams: true,
        ..EventSettings::default()
    };
    assert_eq!(changed.expect("settings"), expected);
    assert_eq!(names(&fixture), ["NETCONF", "espalier-commits", "m"]);
    assert_eq!(
        running.stream("m").expect("a stream"),
        Stream::Module("m".into())
    );
    assert!(running.stream("ietf-netconf-acm").is_err());
    assert!(
        running
            .change_event_settings(&json!({"records-max": 0}))
            .is_err()
    );
}

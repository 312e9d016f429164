//! Subscriptions to datastores (RFC 8641) over NETCONF (RFC 8640).

use crate::support::{Client, Fixture};

const SUBSCRIBED: &str = "urn:ietf:params:xml:ns:yang:ietf-subscribed-notifications";
const PUSH: &str = "urn:ietf:params:xml:ns:yang:ietf-yang-push";

fn establishment(content: &str) -> String {
    format!(
        "<establish-subscription xmlns=\"{SUBSCRIBED}\" xmlns:yp=\"{PUSH}\" \
         xmlns:ds=\"urn:ietf:params:xml:ns:yang:ietf-datastores\">{content}</establish-subscription>"
    )
}

/// Establishes a subscription; returns its number.
fn establish(client: &mut Client<'_>, content: &str) -> String {
    let reply = client.rpc(&establishment(content));
    let found = reply.split_once("<id xmlns");
    let (_, rest) = found.unwrap_or_else(|| panic!("{reply}"));
    rest.split(['>', '<']).nth(1).expect("an id").to_owned()
}

/// The content of the next notification, without its envelope and its time.
fn next(client: &mut Client<'_>) -> String {
    let message = client.receive().expect("a message");
    let (_, rest) = message
        .split_once("</eventTime>")
        .unwrap_or_else(|| panic!("{message}"));
    rest.trim_end_matches("</notification>").to_owned()
}

fn edit(client: &mut Client<'_>, content: &str) {
    client.ok(&format!(
        "<edit-config><target><running/></target><config><c xmlns=\"urn:m\" \
         xmlns:nc=\"urn:ietf:params:xml:ns:netconf:base:1.0\">{content}</c></config></edit-config>"
    ));
}

/// §5 row 38
#[test]
fn changes_of_running_are_pushed() {
    let fixture = Fixture::new();
    let (mut client, mut editor) = (fixture.session(), fixture.session());
    edit(&mut editor, "<e><k>a</k><v>1</v></e>");
    let id = establish(
        &mut client,
        "<yp:datastore>ds:running</yp:datastore>\
         <yp:datastore-xpath-filter xmlns:x=\"urn:m\">/x:c/x:e[x:v &lt; 9] | /x:c/x:tag</yp:datastore-xpath-filter>\
         <yp:on-change/>",
    );
    assert_eq!(
        next(&mut client),
        format!(
            "<push-update xmlns=\"{PUSH}\"><id>{id}</id><datastore-contents>\
             <c xmlns=\"urn:m\"><e><k>a</k><v>1</v></e></c></datastore-contents></push-update>"
        )
    );
    let changes = |patch: u32, edits: &str| {
        format!(
            "<push-change-update xmlns=\"{PUSH}\"><id>{id}</id><datastore-changes><yang-patch>\
             <patch-id>{patch}</patch-id>{edits}</yang-patch></datastore-changes></push-change-update>"
        )
    };
    edit(&mut editor, "<e><k>b/1</k><v>2</v></e><title>x</title>");
    let created = "<edit><edit-id>1</edit-id><operation>create</operation><target>/m:c/e=b%2F1</target>\
                   <value><e xmlns=\"urn:m\"><k>b/1</k><v>2</v></e></value></edit>";
    assert_eq!(next(&mut client), changes(0, created));
    // It does not fulfil the condition any more.
    edit(&mut editor, "<e><k>a</k><v>9</v></e>");
    let deleted =
        "<edit><edit-id>1</edit-id><operation>delete</operation><target>/m:c/e=a</target></edit>";
    assert_eq!(next(&mut client), changes(1, deleted));
    edit(&mut editor, "<tag>t</tag>");
    let inserted = "<edit><edit-id>1</edit-id><operation>insert</operation><target>/m:c/tag=t</target>\
                    <where>first</where><value><tag xmlns=\"urn:m\">t</tag></value></edit>";
    assert_eq!(next(&mut client), changes(2, inserted));
    client.send_request(&format!(
        "<resync-subscription xmlns=\"{PUSH}\"><id>{id}</id></resync-subscription>"
    ));
    let messages = [client.receive(), client.receive()].map(|message| message.expect("a message"));
    let has = |text: &str| messages.iter().any(|message| message.contains(text));
    assert!(has("<ok/>") && has("<push-update"), "{messages:?}");
    client.ok(&format!(
        "<delete-subscription xmlns=\"{SUBSCRIBED}\"><id>{id}</id></delete-subscription>"
    ));
}

/// §5 row 38
#[test]
fn operational_is_pushed_periodically_with_the_state_of_the_server() {
    let fixture = Fixture::new();
    let mut client = fixture.session();
    let id = establish(
        &mut client,
        "<yp:datastore>ds:operational</yp:datastore><yp:datastore-subtree-filter>\
         <c xmlns=\"urn:m\"><title/></c>\
         <netconf-state xmlns=\"urn:ietf:params:xml:ns:yang:ietf-netconf-monitoring\"><sessions/></netconf-state>\
         </yp:datastore-subtree-filter><yp:periodic><yp:period>100</yp:period></yp:periodic>",
    );
    for _ in 0..2 {
        let update = next(&mut client);
        let begin = format!("<push-update xmlns=\"{PUSH}\"><id>{id}</id><datastore-contents>");
        assert!(update.starts_with(&begin), "{update}");
        assert!(update.contains("<session>"), "{update}");
    }
    client.send_request(&format!(
        "<modify-subscription xmlns=\"{SUBSCRIBED}\"><id>{id}</id>\
         <datastore xmlns=\"{PUSH}\" xmlns:ds=\"urn:ietf:params:xml:ns:yang:ietf-datastores\">ds:operational</datastore>\
         <periodic xmlns=\"{PUSH}\"><period>200</period></periodic></modify-subscription>"
    ));
    let modified = std::iter::from_fn(|| client.receive())
        .find(|message| message.contains("subscription-modified"))
        .expect("a message");
    assert!(modified.contains(">200</period>"), "{modified}");
}

#[test]
fn what_cannot_be_pushed_has_a_reason_and_a_hint() {
    let fixture = Fixture::new();
    let mut client = fixture.session();
    for (content, expected) in [
        (
            "<yp:datastore>ds:running</yp:datastore><yp:periodic><yp:period>1</yp:period></yp:periodic>",
            &[
                "period-unsupported",
                ">100</period-hint>",
                "establish-subscription-datastore-error-info",
            ][..],
        ),
        (
            "<yp:datastore>ds:operational</yp:datastore><yp:on-change/>",
            &["on-change-unsupported"],
        ),
        (
            "<yp:datastore>ds:running</yp:datastore>\
             <yp:datastore-xpath-filter>/[</yp:datastore-xpath-filter><yp:on-change/>",
            &["rpc-error"],
        ),
        (
            "<yp:datastore>ds:running</yp:datastore>",
            &["missing-element"],
        ),
    ] {
        let reply = client.rpc(&establishment(content));
        for text in expected {
            assert!(reply.contains(text), "{text}: {reply}");
        }
    }
}

#[test]
fn the_filter_of_an_event_stream_has_prefixes_of_the_models() {
    let fixture = Fixture::new();
    let mut client = fixture.session();
    establish(
        &mut client,
        "<stream>NETCONF</stream><stream-xpath-filter xmlns:x=\"urn:m\">/x:alarm[x:number > 5]</stream-xpath-filter>",
    );
    fixture.alarm(4);
    fixture.alarm(6);
    assert!(next(&mut client).contains("<number>6</number>"));
}

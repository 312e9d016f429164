//! The begin and the end of sessions.

use std::time::Duration;

use espalier_protocols::netconf::{
    BASE_1_0, BASE_1_1, BASE_NAMESPACE, Hello, NetconfLimits, SessionEnd,
};

use espalier_service::AccessControl;
use espalier_yang::schema::{ModuleSource, SchemaSource};

use crate::support::Fixture;

#[test]
fn the_server_sends_its_capabilities_and_a_number_at_once() {
    let fixture = Fixture::new();
    let mut client = fixture.connect();
    let hello = client.receive().expect("a hello");
    for part in [
        BASE_1_0,
        BASE_1_1,
        "candidate:1.0",
        "confirmed-commit:1.1",
        "<session-id>",
        "content-id=",
    ] {
        assert!(hello.contains(part), "{part}: {hello}");
    }
    assert!(!hello.contains("<session-id>0<"), "{hello}");
    let mut other = fixture.session();
    assert!(
        other
            .data("<get-config><source><running/></source></get-config>")
            .is_empty()
    );
}

/// RFC 6020 §5.6.4, RFC 7950 §5.6.4.
#[test]
fn modules_of_yang_1_are_announced_and_those_of_yang_1_1_are_not() {
    let texts = [
        "module old { namespace 'urn:old?a&b'; prefix o; revision 2020-01-02; feature f; feature g;
          leaf x { type string; } }",
        "module old-deviation { yang-version 1; namespace 'urn:old-deviation'; prefix d;
          import old { prefix o; } deviation /o:x { deviate add { default y; } } }",
        "module old-types { namespace 'urn:old-types'; prefix t; }",
        "module new { yang-version 1.1; namespace 'urn:new'; prefix n; import old-types { prefix t; } }",
    ];
    let source = SchemaSource {
        modules: texts
            .map(|text| ModuleSource::from_text(text).expect("a module"))
            .to_vec(),
        implement: ["old", "old-deviation", "new"].map(str::to_owned).to_vec(),
        ..SchemaSource::default()
    };
    let fixture = Fixture::of_source(&source, AccessControl::Off, NetconfLimits::default());
    let hello = fixture.connect().receive().expect("a hello");
    let announced = |uri: &str| {
        let element = format!("<capability>{uri}</capability>");
        hello.matches(&element).count()
    };
    let old = "urn:old?a&amp;b?module=old&amp;revision=2020-01-02&amp;features=f,g&amp;deviations=old-deviation";
    assert_eq!(announced(old), 1, "{hello}");
    assert_eq!(
        announced("urn:old-deviation?module=old-deviation"),
        1,
        "{hello}"
    );
    let monitoring = "urn:ietf:params:xml:ns:yang:ietf-netconf-monitoring?module=ietf-netconf-monitoring&amp;revision=2010-10-04";
    assert_eq!(announced(monitoring), 1, "{hello}");
    for missing in ["old-types", "urn:new"] {
        assert!(!hello.contains(missing), "{hello}");
    }
}

/// §5 row 8
#[test]
fn wrong_hellos_end_the_session() {
    let fixture = Fixture::new();
    let capabilities = format!("<capabilities><capability>{BASE_1_1}</capability></capabilities>");
    for hello in [
        format!(
            "<hello xmlns=\"{BASE_NAMESPACE}\"><session-id>4</session-id>{capabilities}</hello>"
        ),
        format!("<hello xmlns=\"urn:other\">{capabilities}</hello>"),
        format!("<hello xmlns=\"{BASE_NAMESPACE}\"><capabilities/></hello>"),
        format!("<rpc message-id=\"1\" xmlns=\"{BASE_NAMESPACE}\"><get/></rpc>"),
        "<hello".to_owned(),
    ] {
        let mut client = fixture.connect();
        client.receive().expect("a hello");
        client.send(&hello);
        assert!(client.receive().is_none(), "{hello}");
        assert!(matches!(client.end(), SessionEnd::BadHello(_)), "{hello}");
    }
    assert!(fixture.service.sessions().list().is_empty());
}

/// Some clients send white space before the declaration, and some send chunks when they have the hello of the server.
///
/// §5 row 1
#[test]
fn unusual_hellos_are_accepted() {
    let fixture = Fixture::new();
    let hello = Hello::print(&[BASE_1_1.to_owned()], None);
    let chunked = format!("\n#{}\n{hello}\n##\n", hello.len());
    for bytes in [format!("\n  {hello}]]>]]>"), chunked] {
        let mut client = fixture.connect();
        client.receive().expect("a hello");
        client.send_bytes(bytes.as_bytes()).expect("open");
        client.expect_chunks();
        client.ok("<close-session/>");
        assert!(client.receive().is_none());
        assert_eq!(client.end(), SessionEnd::Closed);
    }
}

#[test]
fn a_client_that_sends_no_hello_is_disconnected() {
    let limits = NetconfLimits {
        hello_time_max: Duration::from_millis(100),
        ..NetconfLimits::default()
    };
    let fixture = Fixture::with(limits);
    let mut client = fixture.connect();
    client.receive().expect("a hello");
    assert!(client.receive().is_none());
    assert_eq!(client.end(), SessionEnd::Timeout);
}

/// Locks end with the connection; the candidate that was locked is discarded.
///
/// §5 row 40
#[test]
fn a_lost_connection_releases_what_the_session_had() {
    let fixture = Fixture::new();
    let mut first = fixture.session();
    let lock = "<lock><target><candidate/></target></lock>";
    first.ok(lock);
    first.ok(
        "<edit-config><target><candidate/></target><config><c xmlns=\"urn:m\"><title>x</title></c></config></edit-config>",
    );
    let mut second = fixture.session();
    assert_eq!(second.error(lock), "lock-denied");
    assert_eq!(first.drop_connection(), SessionEnd::Dropped);
    second.ok(lock);
    let candidate = second.data("<get-config><source><candidate/></source></get-config>");
    assert_eq!(candidate, "");
}

/// A session is in the list from its beginning, so it can be killed before its client has sent a `hello`.
#[test]
fn a_session_without_a_hello_is_killed_at_once() {
    let fixture = Fixture::new();
    let mut silent = fixture.connect();
    let hello = silent.receive().expect("a hello");
    let (_, id) = hello.split_once("<session-id>").expect("a number");
    let (id, _) = id.split_once('<').expect("a number");
    let mut other = fixture.session();
    other.ok(&format!(
        "<kill-session><session-id>{id}</session-id></kill-session>"
    ));
    assert_eq!(silent.end(), SessionEnd::Killed);
}

#[test]
fn a_killed_session_ends() {
    let fixture = Fixture::new();
    let mut first = fixture.session();
    first.ok("<lock><target><running/></target></lock>");
    let id = fixture.service.sessions().list()[0].id().0;
    let mut second = fixture.session();
    let reply = second.rpc("<lock><target><running/></target></lock>");
    assert!(
        reply.contains(&format!(
            "<session-id xmlns=\"{BASE_NAMESPACE}\">{id}</session-id>"
        )),
        "{reply}"
    );
    second.ok(&format!(
        "<kill-session><session-id>{id}</session-id></kill-session>"
    ));
    second.ok("<lock><target><running/></target></lock>");
    assert!(first.receive().is_none());
    assert_eq!(first.end(), SessionEnd::Killed);
    let own = fixture.service.sessions().list()[0].id().0;
    let kill = format!("<kill-session><session-id>{own}</session-id></kill-session>");
    assert_eq!(second.error(&kill), "invalid-value");
}

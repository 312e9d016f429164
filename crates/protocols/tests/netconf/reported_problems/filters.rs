//! Filters of reads.

use std::sync::Arc;

use espalier_store::{Datastore, Provider};
use espalier_yang::InstancePath;
use espalier_yang::data::{ParseOptions, Root, TreeBuilder, json};
use parking_lot::Mutex;

use super::fixture::{edit, fixture, read, top};
use crate::support::Fixture;

fn with_entries() -> Fixture {
    let fixture = fixture();
    let mut client = fixture.session();
    client.ok(&edit(
        "running",
        "<note>n</note><entry><name>a</name><value>1</value><kind xmlns:k=\"urn:k\">k:small</kind></entry>\
         <entry><name>b</name><value>2</value><kind>large</kind><more><x>y</x></more></entry>",
    ));
    fixture
}

fn subtree(content: &str) -> String {
    read(&format!(
        "<filter type=\"subtree\">{}</filter>",
        top(content)
    ))
}

/// §5 row 17
#[test]
fn identities_are_compared_by_their_module_and_not_by_their_prefix() {
    let fixture = with_entries();
    let mut client = fixture.session();
    for (filter, expected) in [
        (
            "<entry><name/><kind xmlns:zz=\"urn:k\">zz:small</kind></entry>",
            "<name>a</name>",
        ),
        (
            "<entry><name/><kind xmlns:k=\"urn:r\">k:large</kind></entry>",
            "<name>b</name>",
        ),
    ] {
        let data = client.data(&subtree(filter));
        assert!(data.contains(expected), "{filter}: {data}");
        assert_eq!(data.matches("<entry>").count(), 1, "{filter}: {data}");
    }
    let wrong = "<entry><name/><kind xmlns:k=\"urn:r\">k:small</kind></entry>";
    assert_eq!(client.data(&subtree(wrong)), "");
}

/// §5 row 18
#[test]
fn a_content_match_alone_selects_that_whole_entry_only() {
    let fixture = with_entries();
    let mut client = fixture.session();
    let entry =
        "<entry><name>b</name><value>2</value><kind>large</kind><more><x>y</x></more></entry>";
    for filter in [
        "<entry><name>b</name></entry>",
        "<entry><value>2</value></entry>",
    ] {
        let data = client.data(&subtree(filter));
        assert_eq!(
            data.replace(" xmlns:r=\"urn:r\">r:", ">"),
            top(entry),
            "{filter}"
        );
    }
}

/// §5 row 19
#[test]
fn an_unknown_element_selects_nothing_without_an_error() {
    let fixture = with_entries();
    let mut client = fixture.session();
    for filter in [
        "<filter><none xmlns=\"urn:r\"/></filter>",
        "<filter><top xmlns=\"urn:none\"/></filter>",
        "<filter><top/></filter>",
        "<filter><top xmlns=\"urn:r\"><none/></top></filter>",
        "<filter type=\"xpath\" xmlns:r=\"urn:r\" select=\"/r:none\"/>",
    ] {
        assert_eq!(client.data(&read(filter)), "", "{filter}");
        assert_eq!(client.data(&format!("<get>{filter}</get>")), "", "{filter}");
    }
}

/// §5 row 20
#[test]
fn keys_without_an_entry_select_nothing_and_subtrees_of_one_entry_are_united() {
    let fixture = with_entries();
    let mut client = fixture.session();
    assert_eq!(client.data(&subtree("<entry><name>c</name></entry>")), "");
    assert_eq!(
        client.data(&subtree("<entry><name>c</name><value/></entry>")),
        ""
    );
    let united = "<entry><name>b</name><value/></entry><entry><name>b</name><more/></entry>";
    let expected = "<entry><name>b</name><value>2</value><more><x>y</x></more></entry>";
    assert_eq!(client.data(&subtree(united)), top(expected));
}

/// §5 row 21
#[test]
fn the_type_is_subtree_by_default_and_may_have_a_prefix() {
    let fixture = with_entries();
    let mut client = fixture.session();
    let nc = "xmlns:nc=\"urn:ietf:params:xml:ns:netconf:base:1.0\"";
    let note = top("<note>n</note>");
    for filter in [
        "<filter><top xmlns=\"urn:r\"><note/></top></filter>".to_owned(),
        format!("<filter {nc} nc:type=\"subtree\"><top xmlns=\"urn:r\"><note/></top></filter>"),
        format!("<filter {nc} xmlns:r=\"urn:r\" nc:type=\"xpath\" nc:select=\"/r:top/r:note\"/>"),
    ] {
        assert_eq!(client.data(&read(&filter)), note, "{filter}");
    }
    // An expression selects no siblings except keys.
    let value =
        "<filter xmlns:r=\"urn:r\" type=\"xpath\" select=\"/r:top/r:entry[r:name='b']/r:value\"/>";
    let expected = top("<entry><name>b</name><value>2</value></entry>");
    assert_eq!(client.data(&read(value)), expected);
}

/// §5 row 22
#[test]
fn a_filter_reaches_only_the_provider_of_its_state_with_its_path() {
    let fixture = with_entries();
    let running = fixture.running();
    let operational = fixture.tree.sibling_datastore(Datastore::Operational, "");
    let operational = operational.expect("a tree");
    let calls = Arc::new(Mutex::new(Vec::new()));
    let provider = |document: &'static str| {
        let calls = Arc::clone(&calls);
        Provider::new("counting", move |request| {
            let path = request.path.to_instance_identifier(&request.schema);
            calls.lock().push(path);
            let mut builder = TreeBuilder::new();
            let options = ParseOptions::default();
            let bytes = document.as_bytes();
            json::parse(
                &request.schema,
                Root::Datastore,
                bytes,
                &mut builder,
                &options,
            )
            .expect("a document");
            Ok(builder.finish().expect("a tree"))
        })
    };
    let path = |text| InstancePath::parse_cli_path(running.schema(), text).expect("a path");
    let _health = operational
        .provide(
            path("/r:health"),
            provider(r#"{"r:health":{"temperature":20}}"#),
        )
        .expect("a provider");
    let ports = r#"{"r:traffic":{"port":[{"name":"p","bytes":"1"},{"name":"q","bytes":"2"}]}}"#;
    let _traffic = operational
        .provide(path("/r:traffic"), provider(ports))
        .expect("a provider");
    let mut client = fixture.session();
    let data = client.data("<get><filter><traffic xmlns=\"urn:r\"><port><name>q</name></port></traffic></filter></get>");
    assert_eq!(
        data,
        "<traffic xmlns=\"urn:r\"><port><name>q</name><bytes>2</bytes></port></traffic>"
    );
    let called = std::mem::take(&mut *calls.lock());
    assert_eq!(called, ["/r:traffic/port[name='q']"]);
    client.data(
        "<get><filter type=\"xpath\" xmlns:r=\"urn:r\" select=\"/r:health/r:temperature\"/></get>",
    );
    assert_eq!(std::mem::take(&mut *calls.lock()), ["/r:health"]);
    client.data("<get><filter><top xmlns=\"urn:r\"/></filter></get>");
    assert!(calls.lock().is_empty());
}

/// §5 row 23
#[test]
fn expressions_select_whole_entries_and_may_have_names_without_prefixes() {
    let fixture = with_entries();
    let mut client = fixture.session();
    let entry =
        top("<entry><name>b</name><value>2</value><kind>large</kind><more><x>y</x></more></entry>");
    for filter in [
        "<filter type=\"xpath\" xmlns:r=\"urn:r\" select=\"/r:top/r:entry[r:name='b']\"/>",
        "<filter type=\"xpath\" select=\"/r:top/entry[name='b']\"/>",
        "<filter type=\"xpath\" select=\"/top/entry[name='b']\"/>",
    ] {
        let data = client.data(&read(filter));
        assert_eq!(
            data.replace(" xmlns:r=\"urn:r\">r:", ">"),
            entry,
            "{filter}"
        );
    }
    let all = client.data(&read(""));
    // Also in the state of the server, whose models have the namespace of the messages.
    for select in [
        "/ietf-netconf-monitoring:netconf-state/sessions/session/session-id",
        "/netconf-state/sessions/session/session-id",
    ] {
        let filter = format!("<get><filter type=\"xpath\" select=\"{select}\"/></get>");
        let data = client.data(&filter);
        assert!(data.contains("<session-id>"), "{select}: {data}");
    }
    for select in ["/", "/*", "/top | /none"] {
        let filter = format!("<filter type=\"xpath\" select=\"{select}\"/>");
        assert_eq!(client.data(&read(&filter)), all, "{select}");
    }
}

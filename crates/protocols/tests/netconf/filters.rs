//! Filters of reads (RFC 6241 §6, §8.9). The engine part is tested against a naive filter in espalier-store.

use crate::support::{Client, Fixture};

fn fixture() -> Fixture {
    let fixture = Fixture::new();
    let mut client = fixture.session();
    client.ok(
        "<edit-config><target><running/></target><config><c xmlns=\"urn:m\"><title>t</title><e><k>a</k><v>1</v></e><e><k>b</k>\
         <v>2</v></e><tag>x</tag></c></config></edit-config>",
    );
    fixture
}

fn get(client: &mut Client<'_>, filter: &str) -> String {
    client.data(&format!(
        "<get-config><source><running/></source>{filter}</get-config>"
    ))
}

#[test]
fn subtree_filters_select_nodes_with_their_keys() {
    let fixture = fixture();
    let mut client = fixture.session();
    for (content, expected) in [
        ("", ""),
        (
            "<c xmlns='urn:m'><title/></c>",
            "<c xmlns=\"urn:m\"><title>t</title></c>",
        ),
        (
            "<c xmlns='urn:m'><e><k>b</k></e></c>",
            "<c xmlns=\"urn:m\"><e><k>b</k><v>2</v></e></c>",
        ),
        (
            "<c xmlns='urn:m'><e><k>b</k><v/></e></c>",
            "<c xmlns=\"urn:m\"><e><k>b</k><v>2</v></e></c>",
        ),
        (
            "<c xmlns='urn:m'><e><v>0x1</v></e></c>",
            "<c xmlns=\"urn:m\"><e><k>a</k><v>1</v></e></c>",
        ),
        ("<x:c xmlns:x='urn:m'><x:e><x:k>c</x:k></x:e></x:c>", ""),
        ("<c xmlns='urn:none'/>", ""),
        (
            "<c xmlns='urn:m'><tag/></c><c xmlns='urn:m'><title/></c>",
            "<c xmlns=\"urn:m\"><title>t</title><tag>x</tag></c>",
        ),
    ] {
        for start in ["<filter>", "<filter type='subtree'>"] {
            let filter = format!("{start}{content}</filter>");
            assert_eq!(get(&mut client, &filter), expected, "{filter}");
        }
    }
}

#[test]
fn xpath_filters_select_nodes_with_everything_below() {
    let fixture = fixture();
    let mut client = fixture.session();
    for (select, expected) in [
        (
            "/x:c/x:e[x:k=\"b\"]",
            "<c xmlns=\"urn:m\"><e><k>b</k><v>2</v></e></c>",
        ),
        (
            "/m:c/m:e[m:k=\"b\"]/m:v",
            "<c xmlns=\"urn:m\"><e><k>b</k><v>2</v></e></c>",
        ),
        (
            "//x:e[x:v &lt; 2]",
            "<c xmlns=\"urn:m\"><e><k>a</k><v>1</v></e></c>",
        ),
        ("/x:c/x:none", ""),
        (
            "/x:c/x:title | /x:c/x:tag",
            "<c xmlns=\"urn:m\"><title>t</title><tag>x</tag></c>",
        ),
    ] {
        let filter = format!("<filter type='xpath' xmlns:x='urn:m' select='{select}'/>");
        assert_eq!(get(&mut client, &filter), expected, "{filter}");
    }
    let all = get(&mut client, "<filter type='xpath' select='/'/>");
    assert_eq!(all, get(&mut client, ""));
    let read =
        |filter: &str| format!("<get-config><source><running/></source>{filter}</get-config>");
    for (filter, tag) in [
        ("<filter type='xpath' select='/['/>", "invalid-value"),
        ("<filter type='xpath' select='1'/>", "invalid-value"),
        ("<filter type='xpath'/>", "missing-attribute"),
        ("<filter type='other'/>", "bad-attribute"),
    ] {
        assert_eq!(client.error(&read(filter)), tag, "{filter}");
    }
}

#[test]
fn state_of_the_server_is_selected_too() {
    let fixture = fixture();
    let mut client = fixture.session();
    let namespace = "urn:ietf:params:xml:ns:yang:ietf-netconf-monitoring";
    for filter in [
        format!(
            "<filter><netconf-state xmlns='{namespace}'><sessions><session><session-id/></session></sessions></netconf-state></filter>"
        ),
        format!(
            "<filter type='xpath' xmlns:n='{namespace}' select='/n:netconf-state/n:sessions/n:session/n:session-id'/>"
        ),
    ] {
        let data = client.data(&format!("<get>{filter}</get>"));
        assert!(data.contains("<session-id>"), "{filter}: {data}");
        assert!(
            !data.contains("<schemas>") && !data.contains("urn:m"),
            "{filter}: {data}"
        );
    }
}

#[test]
fn data_of_nmda_is_filtered() {
    let fixture = fixture();
    let mut client = fixture.session();
    let nmda = "urn:ietf:params:xml:ns:yang:ietf-netconf-nmda";
    let get = |datastore: &str, more: &str| {
        format!(
            "<get-data xmlns=\"{nmda}\" xmlns:x=\"urn:m\" xmlns:or=\"urn:ietf:params:xml:ns:yang:ietf-origin\"><datastore \
             xmlns:ds=\"urn:ietf:params:xml:ns:yang:ietf-datastores\">ds:{datastore}</datastore>{more}</get-data>"
        )
    };
    let entry = "<c xmlns=\"urn:m\"><e><k>b</k><v>2</v></e></c>";
    for (datastore, more) in [
        ("running", "<xpath-filter>/x:c/x:e[x:k='b']</xpath-filter>"),
        (
            "running",
            "<subtree-filter><x:c><x:e><x:k>b</x:k></x:e></x:c></subtree-filter>",
        ),
        (
            "operational",
            "<xpath-filter>/x:c/x:e[x:k='b']</xpath-filter><origin-filter>or:intended</origin-filter>",
        ),
    ] {
        assert_eq!(client.data(&get(datastore, more)), entry, "{more}");
    }
    let none = "<xpath-filter>/x:c</xpath-filter><negated-origin-filter>or:intended</negated-origin-filter>";
    assert_eq!(client.data(&get("operational", none)), "");
    let both = "<xpath-filter>/x:c</xpath-filter><subtree-filter><x:c/></subtree-filter>";
    assert_eq!(client.error(&get("running", both)), "bad-element");
}

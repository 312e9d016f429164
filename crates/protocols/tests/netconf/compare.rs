//! `compare` (RFC 9144).

use crate::support::{Client, Fixture};

fn compare(source: &str, target: &str, more: &str) -> String {
    format!(
        "<compare xmlns=\"urn:ietf:params:xml:ns:yang:ietf-nmda-compare\" xmlns:ds=\"urn:ietf:params:xml:ns:yang:ietf-datastores\" xmlns:p=\"urn:m\">\
         <source>ds:{source}</source><target>ds:{target}</target>{more}</compare>"
    )
}

fn edit(client: &mut Client<'_>, target: &str, content: &str) {
    client.ok(&format!(
        "<edit-config><target><{target}/></target><config xmlns:nc=\"urn:ietf:params:xml:ns:netconf:base:1.0\">\
         <c xmlns=\"urn:m\">{content}</c></config></edit-config>"
    ));
}

/// The operation, the target and the values of each edit.
fn edits(reply: &str) -> Vec<String> {
    let edits = reply.split("<edit>").skip(1);
    let edits = edits.map(|edit| {
        let content = edit.split("</edit>").next().unwrap_or_default();
        let begin = content.find("<operation>").expect("an operation");
        content[begin..].to_owned()
    });
    edits.collect()
}

#[test]
fn datastores_are_compared() {
    let fixture = Fixture::new();
    let mut client = fixture.session();
    edit(
        &mut client,
        "running",
        "<title>old</title><e><k>a b</k><v>1</v></e><e><k>gone</k></e><tag>x</tag><tag>y</tag><tag>z</tag>",
    );
    let reply = client.rpc(&compare("running", "candidate", ""));
    assert!(reply.contains("<no-matches"), "{reply}");
    edit(
        &mut client,
        "candidate",
        "<title>new</title><e><k>a b</k><v>2</v></e><e nc:operation=\"delete\"><k>gone</k></e>\
         <e><k>n</k><v>3</v></e><tag xmlns:y=\"urn:ietf:params:xml:ns:yang:1\" y:insert=\"first\">z</tag>",
    );
    let reply = client.rpc(&compare("running", "candidate", ""));
    assert_eq!(
        edits(&reply),
        [
            "<operation>replace</operation><target>/m:c/title</target>\
             <value><title xmlns=\"urn:m\">new</title></value><source-value><title xmlns=\"urn:m\">old</title></source-value>",
            "<operation>delete</operation><target>/m:c/e=gone</target>\
             <source-value><e xmlns=\"urn:m\"><k>gone</k></e></source-value>",
            "<operation>replace</operation><target>/m:c/e=a%20b/v</target>\
             <value><v xmlns=\"urn:m\">2</v></value><source-value><v xmlns=\"urn:m\">1</v></source-value>",
            "<operation>create</operation><target>/m:c/e=n</target>\
             <value><e xmlns=\"urn:m\"><k>n</k><v>3</v></e></value>",
            "<operation>move</operation><target>/m:c/tag=z</target><where>first</where>",
        ],
        "{reply}"
    );
    for filter in [
        "<subtree-filter><c xmlns=\"urn:m\"><title/></c></subtree-filter>",
        "<xpath-filter>/p:c/p:title</xpath-filter>",
    ] {
        let reply = client.rpc(&compare("running", "candidate", filter));
        assert_eq!(edits(&reply).len(), 1, "{reply}");
    }
    let none = "<xpath-filter>/p:c/p:e[p:k='other']</xpath-filter>";
    let reply = client.rpc(&compare("running", "candidate", none));
    assert!(reply.contains("<no-matches"), "{reply}");

    let reply = client.rpc(&compare("running", "operational", "<report-origin/>"));
    assert!(reply.contains("<no-matches"), "{reply}");
    assert_eq!(
        client.error(&compare("running", "nothing", "")),
        "invalid-value"
    );
    let wrong = "<xpath-filter>/p:c[</xpath-filter>";
    let reply = client.rpc(&compare("running", "candidate", wrong));
    let declared = "xmlns:ietf-nmda-compare=\"urn:ietf:params:xml:ns:yang:ietf-nmda-compare\"";
    assert!(reply.contains(declared), "{reply}");
}

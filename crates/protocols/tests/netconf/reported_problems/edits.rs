//! Edits, and defaults.

use super::fixture::{PREFIXES, RUNNING, edit, edit_with, fixture, top};
use crate::support::{Client, Fixture};

const NONE: &str = "<default-operation>none</default-operation>";

/// A client of a server whose `top` has content.
fn client<'f>(fixture: &'f Fixture, content: &str) -> Client<'f> {
    let mut client = fixture.session();
    client.ok(&edit("running", content));
    client
}

/// The content of `top`.
fn content(client: &mut Client<'_>) -> String {
    let data = client.data(RUNNING);
    let inner = data.strip_prefix("<top xmlns=\"urn:r\">");
    let inner = inner.and_then(|inner| inner.strip_suffix("</top>"));
    inner.unwrap_or_default().to_owned()
}

/// §5 row 24
#[test]
fn entries_of_leaf_lists_are_inserted_where_the_client_requires() {
    let fixture = fixture();
    let mut client = client(&fixture, "<word>b</word>");
    for (attributes, word, expected) in [
        ("yang:insert=\"first\"", "a", "a b"),
        ("yang:insert=\"last\"", "d", "a b d"),
        ("yang:insert=\"before\" yang:value=\"d\"", "c", "a b c d"),
        ("yang:insert=\"after\" yang:value=\"c\"", "a", "b c a d"),
        ("", "e", "b c a d e"),
    ] {
        client.ok(&edit(
            "running",
            &format!("<word {attributes}>{word}</word>"),
        ));
        let words = content(&mut client).replace("</word><word>", " ");
        assert_eq!(words, format!("<word>{expected}</word>"), "{attributes}");
    }
    // Defaults that are not set are no entries.
    let before = "<preset yang:insert=\"before\" yang:value=\"one\">x</preset>";
    let reply = client.rpc(&edit("running", before));
    assert!(
        reply.contains("bad-attribute") && reply.contains("missing-instance"),
        "{reply}"
    );
    client.ok(&edit("running", "<preset yang:insert=\"first\">x</preset>"));
    assert!(content(&mut client).ends_with("<preset>x</preset>"));
}

/// §5 row 25
#[test]
fn an_entry_that_is_moved_before_itself_stays() {
    let fixture = fixture();
    let steps =
        "<step><id>1</id><text>x</text></step><step><id>2</id></step><step><id>3</id></step>";
    let mut client = client(&fixture, steps);
    for attributes in ["yang:insert=\"before\"", "yang:insert=\"after\""] {
        client.ok(&edit(
            "running",
            &format!("<step {attributes} yang:key=\"[id='1']\"><id>1</id></step>"),
        ));
        assert_eq!(content(&mut client), steps, "{attributes}");
    }
    client.ok(&edit(
        "running",
        "<step yang:insert=\"after\" yang:key=\"[r:id='3']\" xmlns:r=\"urn:r\"><id>1</id></step>",
    ));
    assert!(content(&mut client).ends_with("<step><id>1</id><text>x</text></step>"));
}

/// §5 row 26
#[test]
fn an_operation_without_a_namespace_is_rejected_and_changes_nothing() {
    let fixture = fixture();
    let entry = "<entry><name>a</name></entry>";
    let mut client = client(&fixture, entry);
    for name in ["a", "b"] {
        let wrong = format!("<entry operation=\"delete\"><name>{name}</name></entry>");
        assert_eq!(client.error(&edit("running", &wrong)), "unknown-attribute");
        assert_eq!(content(&mut client), entry);
    }
}

/// §5 row 27
#[test]
fn children_of_a_deleted_node_are_ignored_and_a_replaced_one_loses_its_own() {
    let fixture = fixture();
    let mut client = client(&fixture, "<entry><name>a</name><value>1</value></entry>");
    // Children of a node that is deleted have no meaning.
    client.ok(&edit(
        "running",
        "<entry nc:operation=\"delete\"><name>a</name><value>9</value><more><x>z</x></more></entry>",
    ));
    assert_eq!(client.data(RUNNING), "");
    client.ok(&edit(
        "running",
        "<entry><name>a</name><value>1</value></entry><note>n</note>",
    ));
    let replaced = "<entry nc:operation=\"replace\"><name>a</name><more><x>y</x></more></entry><note nc:operation=\"delete\"/>";
    client.ok(&edit("running", replaced));
    assert_eq!(
        content(&mut client),
        "<entry><name>a</name><more><x>y</x></more></entry>"
    );
}

/// §5 row 27
#[test]
fn a_node_is_deleted_and_created_anew_in_one_document() {
    let fixture = fixture();
    let start = "<entry><name>a</name><value>1</value><more><x>z</x></more></entry><entry><name>b</name></entry><note>n</note>";
    let mut client = client(&fixture, start);
    client.ok(&edit(
        "running",
        "<entry nc:operation=\"delete\"><name>a</name></entry><note nc:operation=\"delete\"/>\
         <entry nc:operation=\"create\"><name>a</name><value>2</value></entry><note nc:operation=\"create\">m</note>",
    ));
    let expected =
        "<note>m</note><entry><name>a</name><value>2</value></entry><entry><name>b</name></entry>";
    assert_eq!(content(&mut client), expected);
    let twice = "<entry nc:operation=\"delete\"><name>a</name></entry>".repeat(2);
    assert_eq!(client.error(&edit("running", &twice)), "data-missing");
    let twice = "<entry><name>a</name><value>7</value></entry>".repeat(2);
    assert_eq!(client.error(&edit("running", &twice)), "bad-element");
    assert_eq!(content(&mut client), expected);
    // Neither is there.
    client.ok(&edit(
        "running",
        "<entry nc:operation=\"remove\"><name>c</name></entry><entry nc:operation=\"create\"><name>c</name></entry>\
         <entry nc:operation=\"delete\"><name>c</name></entry>",
    ));
    assert_eq!(content(&mut client), expected);
}

/// §5 row 28
#[test]
fn none_creates_nothing_and_remove_makes_no_parents() {
    let fixture = fixture();
    let mut client = fixture.session();
    let missing = top("<entry><name>a</name><value nc:operation=\"create\">1</value></entry>");
    assert_eq!(
        client.error(&edit_with("running", NONE, &missing)),
        "data-missing"
    );
    client.ok(&edit(
        "running",
        "<entry nc:operation=\"remove\"><name>a</name></entry><part><text nc:operation=\"remove\"/></part>",
    ));
    assert_eq!(client.data(RUNNING), "");
    client.ok(&edit("running", "<entry><name>a</name></entry>"));
    client.ok(&edit_with("running", NONE, &missing));
    let expected = "<entry><name>a</name><value>1</value></entry>";
    assert_eq!(content(&mut client), expected);
    client.ok(&edit_with(
        "running",
        NONE,
        &top("<entry><name>a</name></entry>"),
    ));
    assert_eq!(content(&mut client), expected);
}

/// §5 row 29
#[test]
fn a_replaced_container_loses_its_old_entries() {
    let fixture = fixture();
    let mut client = client(
        &fixture,
        "<entry><name>a</name></entry><entry><name>b</name></entry><note>n</note>",
    );
    let replaced =
        "<top xmlns=\"urn:r\" nc:operation=\"replace\"><entry><name>c</name></entry></top>"
            .to_owned();
    client.ok(&edit_with("running", "", &replaced));
    assert_eq!(content(&mut client), "<entry><name>c</name></entry>");
    let all = "<default-operation>replace</default-operation>";
    client.ok(&edit_with("running", all, &top("<note>m</note>")));
    assert_eq!(content(&mut client), "<note>m</note>");
}

/// §5 row 30
#[test]
fn the_output_of_get_config_is_accepted_as_input() {
    let fixture = fixture();
    let mut client = fixture.session();
    client.ok(&edit(
        "running",
        "<kind xmlns:p=\"urn:k\">p:small</kind><link xmlns:q=\"urn:r\">/q:top/q:entry[q:name='a\"b']/q:value</link>\
         <entry xmlns:s=\"urn:k\"><name>x &amp; y</name><kind>s:small</kind></entry>",
    ));
    let before = client.data(RUNNING);
    for _ in 0..2 {
        let options = "<default-operation>replace</default-operation>";
        client.ok(&edit_with("running", options, &before));
        assert_eq!(client.data(RUNNING), before);
    }
    client.ok(&format!(
        "<copy-config><target><candidate/></target><source><config>{before}</config></source></copy-config>"
    ));
    let candidate = client.data("<get-config><source><candidate/></source></get-config>");
    assert_eq!(candidate, before);
}

/// §5 row 31
#[test]
fn an_empty_string_is_a_value() {
    let fixture = fixture();
    for note in ["<note/>", "<note></note>"] {
        let mut client = client(&fixture, note);
        let data = content(&mut client);
        assert!(["<note/>", "<note></note>"].contains(&&*data), "{data}");
        client.ok(&edit("running", "<note nc:operation=\"delete\"/>"));
    }
}

/// §5 row 32
#[test]
fn defaults_are_reported_as_the_mode_requires() {
    let fixture = fixture();
    let mut client = fixture.session();
    let read = |mode: &str| {
        format!(
            "<get-config><source><running/></source><with-defaults xmlns=\"urn:ietf:params:xml:ns:yang:ietf-netconf-with-defaults\">{mode}</with-defaults></get-config>"
        )
    };
    assert_eq!(client.data(RUNNING), "");
    assert_eq!(client.data(&read("explicit")), "");
    let all = client.data(&read("report-all"));
    for part in [
        "<mode>fast</mode>",
        "<part><speed>5</speed></part>",
        "<preset>one</preset>",
    ] {
        assert!(all.contains(part), "{part}: {all}");
    }
    assert!(
        client
            .data(&read("report-all-tagged"))
            .contains("default=\"true\"")
    );
    client.ok(&edit("running", "<mode>fast</mode>"));
    assert_eq!(client.data(RUNNING), top("<mode>fast</mode>"));
    assert_eq!(client.data(&read("trim")), "");
    assert_eq!(client.error(&read("some")), "invalid-value");
}

/// §5 row 33
#[test]
fn containers_without_content_are_not_reported() {
    let fixture = fixture();
    let mut client = client(&fixture, "<part><text>x</text></part>");
    client.ok(&edit(
        "running",
        "<part><text nc:operation=\"delete\"/></part>",
    ));
    assert_eq!(client.data(RUNNING), "");
    client.ok(&edit("running", "<part/>"));
    assert_eq!(client.data(RUNNING), "");
    client.ok(&edit("running", "<entry><name>a</name><more/></entry>"));
    assert_eq!(content(&mut client), "<entry><name>a</name></entry>");
}

/// §5 row 34
#[test]
fn errors_of_data_have_the_tag_of_their_kind() {
    let fixture = fixture();
    let mut client = fixture.session();
    for (wrong, tag) in [
        (
            "<entry><name>a</name><value>256</value></entry>",
            "invalid-value",
        ),
        ("<kind>unknown</kind>", "invalid-value"),
        ("<entry><value>1</value></entry>", "missing-element"),
        ("<entry><name>a</name><none/></entry>", "unknown-element"),
        ("<note xmlns=\"urn:none\"/>", "unknown-namespace"),
        ("<odd>2</odd>", "operation-failed"),
        ("<note nc:operation=\"delete\"/>", "data-missing"),
        ("<note nc:operation=\"destroy\">n</note>", "bad-attribute"),
    ] {
        assert_eq!(client.error(&edit("running", wrong)), tag, "{wrong}");
    }
    let state = format!(
        "<edit-config><target><running/></target><config {PREFIXES}><health xmlns=\"urn:r\"><temperature>1</temperature></health></config></edit-config>"
    );
    assert_eq!(client.error(&state), "unknown-element");
}

/// §5 row 60
#[test]
fn a_leaf_in_default_use_can_be_created() {
    let fixture = fixture();
    let mut client = fixture.session();
    client.ok(&edit(
        "running",
        "<mode nc:operation=\"create\">fast</mode>",
    ));
    assert_eq!(content(&mut client), "<mode>fast</mode>");
    let again = edit("running", "<mode nc:operation=\"create\">slow</mode>");
    assert_eq!(client.error(&again), "data-exists");
    client.ok(&edit("running", "<mode nc:operation=\"delete\"/>"));
    assert_eq!(
        client.error(&edit("running", "<mode nc:operation=\"delete\"/>")),
        "data-missing"
    );
}

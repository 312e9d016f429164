//! Messages that are not held in memory.

use std::fmt::Write as _;

use espalier_protocols::netconf::NetconfLimits;

use crate::support::{Client, Fixture};

/// Messages of this size are received into a file.
const HELD_BYTES_MAX: u64 = 100_000;

/// Entries that take more than [`HELD_BYTES_MAX`].
const ENTRIES: usize = 5000;

fn fixture() -> Fixture {
    Fixture::with(NetconfLimits {
        held_bytes_max: HELD_BYTES_MAX,
        ..NetconfLimits::default()
    })
}

fn entries(attributes: &str) -> String {
    let mut text = "<m:c>".to_owned();
    for number in 0..ENTRIES {
        let _ = write!(
            text,
            "<m:e{attributes}><m:k>k{number:05}é</m:k><m:v>7</m:v></m:e>"
        );
    }
    text.push_str("</m:c>");
    text
}

fn count(client: &mut Client<'_>) -> usize {
    let data = client.data("<get-config><source><running/></source></get-config>");
    data.matches("<e>").count()
}

#[test]
fn large_data_is_loaded_from_a_file() {
    let fixture = fixture();
    let mut client = fixture.session();
    let config = format!("<config xmlns:m=\"urn:m\">{}</config>", entries(""));
    let target = "<target><running/></target>";
    client.ok(&format!("<edit-config>{target}{config}</edit-config>"));
    assert_eq!(count(&mut client), ENTRIES);
    client.ok("<copy-config><target><running/></target><source><config/></source></copy-config>");
    assert_eq!(count(&mut client), 0);
    client.ok(&format!(
        "<copy-config>{target}<source>{config}</source></copy-config>"
    ));
    assert_eq!(count(&mut client), ENTRIES);
}

/// What cannot be loaded changes nothing; the session goes on where the request is known.
#[test]
fn large_data_that_cannot_be_loaded_are_rejected() {
    let fixture = fixture();
    let mut client = fixture.session();
    let config = |content: &str| format!("<config xmlns:m=\"urn:m\">{content}</config>");
    let target = "<target><running/></target>";
    let edit = |before: &str, config: &str, after: &str| {
        format!("<edit-config>{before}{config}{after}</edit-config>")
    };
    let plain = config(&entries(""));
    let operations = config(&entries(
        " xmlns:nc=\"urn:ietf:params:xml:ns:netconf:base:1.0\" nc:operation=\"delete\"",
    ));
    for (request, tag) in [
        (edit(target, &operations, ""), "unknown-attribute"),
        (
            edit(
                target,
                &plain.replace("<m:v>7</m:v></m:e></m:c>", "<m:v>700</m:v></m:e></m:c>"),
                "",
            ),
            "invalid-value",
        ),
        (
            edit("<target><startup/></target>", &plain, ""),
            "invalid-value",
        ),
        (edit("", &plain, ""), "missing-element"),
        (
            edit(
                &format!("{target}<default-operation>none</default-operation>"),
                &plain,
                "",
            ),
            "too-big",
        ),
    ] {
        assert_eq!(client.error(&request), tag);
    }
    assert_eq!(count(&mut client), 0);
    let mut other = fixture.session();
    other.send_request(&edit("", &plain, target));
    assert!(
        other
            .receive()
            .expect("a reply")
            .contains("missing-element")
    );
    let mut third = fixture.session();
    third.send_request(&format!(
        "<x xmlns=\"urn:x\">{}</x>",
        "<y/>".repeat(100_000)
    ));
    assert!(third.receive().expect("a reply").contains("too-big"));
    assert!(third.receive().is_none());
}

//! What must hold for any input. `fuzz.rs` runs this on mutated messages in `make test`, and `fuzz/` with libFuzzer.

use espalier_protocols::netconf::{
    BASE_NAMESPACE, Decoder, Element, Framing, FramingError, Part, SessionEnd,
};
use espalier_service::RequestFilter;
use espalier_store::Selection;
use espalier_yang::data::subtree_filter::SubtreeFilter;
use espalier_yang::data::{ParseOptions, PrintOptions, Root, TreeBuilder, xml};

use crate::support::{Client, Fixture, framed};

/// The end of a session whose operation has panicked.
const PANICKED: &str = "internal error";

/// The messages in bytes that arrive in pieces, the begin of the next one, and the error.
fn decoded(
    framing: Option<Framing>,
    pieces: &[&[u8]],
) -> (Vec<Vec<u8>>, Vec<u8>, Option<FramingError>) {
    let mut decoder = Decoder::new();
    if let Some(framing) = framing {
        decoder.set_framing(framing);
    }
    let (mut messages, mut open) = (Vec::new(), Vec::new());
    for piece in pieces {
        let mut input = *piece;
        loop {
            match decoder.next(&mut input) {
                Ok(Some(Part::Data(data))) => open.extend_from_slice(data),
                Ok(Some(Part::End)) => messages.push(std::mem::take(&mut open)),
                Ok(None) => break,
                Err(error) => return (messages, open, Some(error)),
            }
        }
    }
    (messages, open, None)
}

/// The decoder finds the same in whole bytes and in their pieces; what is encoded is decoded again.
pub fn framing(pieces: &[&[u8]]) {
    let input = pieces.concat();
    for framing in [None, Some(Framing::EndOfMessage), Some(Framing::Chunked)] {
        let whole = decoded(framing, &[&input]);
        assert_eq!(decoded(framing, pieces), whole, "{framing:?} {pieces:?}");
    }
    let text = String::from_utf8_lossy(&input);
    let frames = framed(Framing::Chunked, &text);
    let again = decoded(Some(Framing::Chunked), &[&frames]);
    // A message is never empty.
    if !text.is_empty() {
        assert_eq!(again, (vec![text.as_bytes().to_vec()], Vec::new(), None));
    }
}

/// Checks that text is well-formed.
fn check_xml(text: &str) {
    let mut reader = quick_xml::Reader::from_str(text);
    loop {
        match reader.read_event() {
            Ok(quick_xml::events::Event::Eof) => return,
            Ok(_) => {}
            Err(error) => panic!("{error}: {text}"),
        }
    }
}

/// Sends a message; returns false if the session has ended.
fn exchange(client: &mut Client<'_>, input: &[u8]) -> bool {
    let mut message = format!("\n#{}\n", input.len()).into_bytes();
    message.extend_from_slice(input);
    message.extend_from_slice(b"\n##\n");
    if client.send_bytes(&message).is_err() {
        return false;
    }
    while let Some(reply) = client.receive() {
        check_xml(&reply);
        let parsed = Element::parse(&reply).expect("XML");
        if parsed.is(BASE_NAMESPACE, "rpc-reply") {
            return true;
        }
        assert_eq!(parsed.name, "notification", "{reply}");
    }
    false
}

/// Every message has a reply, or ends its session. `session` is that of the message before.
pub fn envelope<'f>(fixture: &'f Fixture, session: &mut Option<Client<'f>>, input: &[u8]) {
    if input.is_empty() {
        return;
    }
    let mut client = session.take().unwrap_or_else(|| fixture.session());
    match exchange(&mut client, input) {
        true => *session = Some(client),
        false => assert_ne!(client.end(), SessionEnd::Malformed(PANICKED.to_owned())),
    }
}

/// Whatever a client sends first, its session ends with its connection.
pub fn hello(fixture: &Fixture, input: &[u8]) {
    let mut client = fixture.connect();
    // An error means that the session has ended.
    let _ = client.send_bytes(input);
    let end = client.drop_connection();
    assert_ne!(end, SessionEnd::Malformed(PANICKED.to_owned()));
}

/// Commits data that filters can select.
pub fn add_data(fixture: &Fixture) {
    let mut client = fixture.session();
    client.ok(
        "<edit-config><target><running/></target><config><c xmlns=\"urn:m\"><title>t</title><e><k>a</k><v>1</v></e><e><k>b</k>\
         <v>2</v></e><tag>x</tag><tag>y</tag></c></config></edit-config>",
    );
    client.drop_connection();
}

/// What a filter selects is a part of the datastore, as a document of its model.
pub fn subtree(fixture: &Fixture, input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    let document = format!("<filter>{text}</filter>");
    let Ok(filter) = SubtreeFilter::parse_element(&document) else {
        return;
    };
    let filter = RequestFilter::Subtree(filter);
    let parts = fixture.running().filtered(&filter, &Selection::default());
    for part in parts.expect("a read") {
        let mut bytes = format!("<data xmlns=\"{BASE_NAMESPACE}\">").into_bytes();
        let mut printer = xml::Printer::new(part.schema(), &mut bytes, PrintOptions::default());
        part.send(&mut printer).expect("a read");
        printer.finish().expect("memory");
        bytes.extend_from_slice(b"</data>");
        let mut builder = TreeBuilder::new();
        let options = ParseOptions::default();
        let parsed = xml::parse(
            part.schema(),
            Root::Datastore,
            &bytes[..],
            &mut builder,
            &options,
        );
        parsed.unwrap_or_else(|error| panic!("{error}: {}", bytes.escape_ascii()));
    }
}

//! The encodings of an event.

use bytes::Bytes;
use espalier_store::Timestamp;
use espalier_yang::data::{PrintOptions, json, xml};

use super::event::Event;
use crate::time_text::time_text;

/// The namespace of the envelope in XML.
const ENVELOPE: &str = "urn:ietf:params:xml:ns:netconf:notification:1.0";

/// An encoding of events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Encoding {
    /// RFC 7951; the envelope is `ietf-restconf:notification` (RFC 8040 §6.4).
    #[default]
    Json,
    /// The envelope is `notification` (RFC 5277 §4).
    Xml,
}

impl Encoding {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Json, Self::Xml];

    /// Its name in the list of streams (RFC 8040 §9.3).
    pub fn name(self) -> &'static str {
        match self {
            Self::Json => "json",
            Self::Xml => "xml",
        }
    }

    /// The encoding with a name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|encoding| encoding.name() == name)
    }

    /// The document of an event.
    pub(super) fn encode(self, event: &Event) -> Bytes {
        match self {
            Self::Json => json_document(event),
            Self::Xml => xml_document(event),
        }
        .into()
    }
}

/// The document of `replayComplete` or `notificationComplete` (RFC 5277 §4), which is no event of a stream.
pub fn completion(name: &str, time: Timestamp, encoding: Encoding) -> Vec<u8> {
    let time = time_text(time);
    let text = match encoding {
        Encoding::Json => format!(
            "{{\"ietf-restconf:notification\":{{\"eventTime\":\"{time}\",\"nc-notifications:{name}\":{{}}}}}}"
        ),
        Encoding::Xml => format!(
            "<notification xmlns=\"{ENVELOPE}\"><eventTime>{time}</eventTime>\
             <{name} xmlns=\"urn:ietf:params:xml:ns:netmod:notification\"/></notification>"
        ),
    };
    text.into_bytes()
}

fn json_document(event: &Event) -> Vec<u8> {
    let time = time_text(event.time());
    let mut text =
        format!("{{\"ietf-restconf:notification\":{{\"eventTime\":\"{time}\"").into_bytes();
    if let Some((id, update)) = event.push() {
        text.push(b',');
        update.write_json(*id, &mut text);
        text.extend_from_slice(b"}}");
        return text;
    }
    let mut printer = json::Printer::new(event.schema(), Vec::new(), PrintOptions::default());
    // Writing to memory does not fail.
    let _ = event.tree().emit(&mut printer);
    let content = printer.finish().unwrap_or_default();
    if let Some(members) = content.strip_prefix(b"{") {
        text.push(b',');
        text.extend_from_slice(members);
    }
    text.push(b'}');
    text
}

fn xml_document(event: &Event) -> Vec<u8> {
    let time = time_text(event.time());
    let mut text =
        format!("<notification xmlns=\"{ENVELOPE}\"><eventTime>{time}</eventTime>").into_bytes();
    match event.push() {
        Some((id, update)) => update.write_xml(*id, &mut text),
        None => {
            let options = PrintOptions::default();
            let mut printer = xml::Printer::new(event.schema(), Vec::new(), options);
            let _ = event.tree().emit(&mut printer);
            text.extend(printer.finish().unwrap_or_default());
        }
    }
    text.extend_from_slice(b"</notification>");
    text
}

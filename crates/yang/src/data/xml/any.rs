//! `anydata` and `anyxml` between XML and the JSON text that [`crate::Sink::any`] carries.
//!
//! Content that is data of the schema is converted to its RFC 7951 form, and back. Text is converted to a JSON string,
//! and back. Other XML is stored unchanged: an object with one member, [`RAW_XML_MEMBER`], that holds the XML as a
//! string. Other JSON is stored unchanged: one element `json` in the namespace [`RAW_JSON_NAMESPACE`] that holds the
//! JSON as text. So both conversions are lossless.

use quick_xml::events::Event;
use quick_xml::name::{Namespace, ResolveResult};
use serde_json::Value as Json;

use super::capture::Capture;
use super::input;
use super::print::Printer;
use super::read;
use super::write::{write_attribute, write_text};
use crate::data::json;
use crate::data::options::PrintOptions;
use crate::data::sink::Sink;
use crate::data::tree::TreeBuilder;
use crate::schema::{NodeId, NodeKind, Schema};

/// The member that holds XML that is not data of the schema, as a string.
pub const RAW_XML_MEMBER: &str = "espalier:xml";

/// The XML that is the content of an `anyxml` or `anydata`, if it is stored unchanged.
pub fn raw_xml(content: &str) -> Option<String> {
    let mut object: Json = serde_json::from_str(content).ok()?;
    match object.get_mut(RAW_XML_MEMBER)?.take() {
        Json::String(text) => Some(text),
        _ => None,
    }
}

/// Well-formed XML as the content of an `anyxml` or `anydata`: what [`raw_xml`] returns unchanged.
pub fn raw_content(xml: &str) -> String {
    raw(xml.as_bytes())
}

/// The namespace of the element that holds JSON that is not data of the schema, as text.
pub const RAW_JSON_NAMESPACE: &str = "urn:espalier:json";

/// The content of an element as JSON text.
pub(super) fn to_json(schema: &Schema, node: NodeId, capture: &Capture) -> String {
    match (capture.has_elements, is_data(schema, node)) {
        (true, _) => raw_json(&capture.xml)
            .or_else(|| schema_data_to_json(schema, &capture.xml))
            .unwrap_or_else(|| raw(&capture.xml)),
        (false, true) => "{}".to_owned(),
        (false, false) => Json::from(capture.text.as_str()).to_string(),
    }
}

fn is_data(schema: &Schema, node: NodeId) -> bool {
    matches!(schema.node(node).kind, NodeKind::AnyData)
}

/// Reads back what [`write_raw_json`] wrote.
fn raw_json(xml: &[u8]) -> Option<String> {
    let mut reader = input::open(xml);
    let mut buffer = Vec::new();
    match input::next(&mut reader, &mut buffer).ok()?.1 {
        Event::Start(start) => {
            let (namespace, name) = reader.resolver().resolve_element(start.name());
            let ours = ResolveResult::Bound(Namespace(RAW_JSON_NAMESPACE));
            ((namespace, name.as_ref()) == (ours, "json")).then_some(())?;
        }
        _ => return None,
    }
    let mut text = String::new();
    loop {
        match input::next(&mut reader, &mut buffer).ok()?.1 {
            Event::Text(part) => text.push_str(&part.xml10_content()),
            Event::GeneralRef(reference) => text.push(input::character(&reference)?),
            Event::End(_) => break,
            _ => return None,
        }
    }
    let is_last = matches!(input::next(&mut reader, &mut buffer).ok()?.1, Event::Eof);
    let json = serde_json::from_str::<Json>(&text)
        .ok()
        .filter(|_| is_last)?;
    Some(json.to_string())
}

fn write_raw_json(out: &mut Vec<u8>, json: &str) {
    out.extend_from_slice(b"<json");
    write_attribute(out, "xmlns", RAW_JSON_NAMESPACE);
    out.push(b'>');
    write_text(out, json);
    out.extend_from_slice(b"</json>");
}

fn raw(xml: &[u8]) -> String {
    let xml = String::from_utf8_lossy(xml);
    let object: serde_json::Map<_, _> = [(RAW_XML_MEMBER.to_owned(), xml.into())]
        .into_iter()
        .collect();
    Json::Object(object).to_string()
}

/// Converts XML that is data of the schema to JSON.
fn schema_data_to_json(schema: &Schema, xml: &[u8]) -> Option<String> {
    let mut tree = TreeBuilder::new();
    read::parse_nodes(schema, xml, &mut tree).ok()?;
    let mut tree = tree.finish().ok()?;
    tree.normalise(schema);
    let mut printer = json::Printer::new(schema, Vec::new(), PrintOptions::default());
    tree.emit(&mut printer).ok()?;
    String::from_utf8(printer.finish().ok()?).ok()
}

/// Appends JSON text as the content of an element.
pub(super) fn write_json(schema: &Schema, node: NodeId, out: &mut Vec<u8>, json: &str) {
    match serde_json::from_str::<Json>(json) {
        Ok(Json::String(text)) if !is_data(schema, node) => write_text(out, &text),
        Ok(Json::Object(object)) => match (object.len(), object.get(RAW_XML_MEMBER)) {
            (0, _) if is_data(schema, node) => {}
            (1, Some(Json::String(xml))) if is_well_formed(xml) => {
                out.extend_from_slice(xml.as_bytes());
            }
            _ => match schema_data_to_xml(schema, json) {
                Some(xml) if !xml.is_empty() => out.extend_from_slice(&xml),
                _ => write_raw_json(out, json),
            },
        },
        _ => write_raw_json(out, json),
    }
}

/// Converts JSON that is data of the schema to XML.
fn schema_data_to_xml(schema: &Schema, json: &str) -> Option<Vec<u8>> {
    let mut tree = TreeBuilder::new();
    json::parse_nodes(schema, json.as_bytes(), &mut tree).ok()?;
    let tree = tree.finish().ok()?;
    let mut printer = Printer::new(schema, Vec::new(), PrintOptions::default());
    tree.emit(&mut printer as &mut dyn Sink).ok()?;
    printer.finish().ok()
}

/// Returns whether text can be put inside an element without affecting anything outside.
fn is_well_formed(xml: &str) -> bool {
    let mut reader = input::open(xml.as_bytes());
    let (mut buffer, mut depth) = (Vec::new(), 0usize);
    loop {
        let Ok((_, event)) = input::next(&mut reader, &mut buffer) else {
            return false;
        };
        match event {
            Event::Start(start) => {
                let is_bound = |attribute: &quick_xml::events::attributes::Attribute<'_>| {
                    let scope = reader.resolver();
                    !matches!(
                        scope.resolve_attribute(attribute.key).0,
                        ResolveResult::Unknown(_)
                    )
                };
                if !start
                    .attributes()
                    .all(|one| one.is_ok_and(|one| is_bound(&one)))
                {
                    return false;
                }
                depth += 1;
            }
            Event::End(_) => depth -= 1,
            Event::GeneralRef(reference) if input::character(&reference).is_none() => return false,
            Event::Decl(_) | Event::PI(_) => return false,
            Event::Eof => return depth == 0,
            _ => {}
        }
    }
}

//! Elements as text.

use quick_xml::escape::escape;
use quick_xml::events::Event;
use quick_xml::{Reader, Writer};

use crate::netconf::{Element, NotXml};

/// An element with text.
pub(super) fn leaf(name: &str, text: &str) -> String {
    format!("<{name}>{}</{name}>", escape(text))
}

/// An element with text, or nothing.
pub(super) fn optional(name: &str, text: Option<&str>) -> String {
    text.map_or(String::new(), |text| leaf(name, text))
}

/// An attribute, with a space before it.
pub(super) fn attribute(name: &str, value: &str) -> String {
    format!(" {name}=\"{}\"", escape(value))
}

/// The elements of a text: one, or several one after the other, with any declaration before them. Those in an element of
/// one of the `wrappers` are taken out of it. Each has all declarations of namespaces that it needs.
///
/// # Errors
/// The text is not well-formed.
pub fn elements_of(text: &str, wrappers: &[&str]) -> Result<String, NotXml> {
    let text = text.trim_start_matches('\u{feff}').trim();
    let rest = match text.strip_prefix("<?xml") {
        Some(rest) => rest.split_once("?>").map_or(text, |(_, rest)| rest),
        None => text,
    };
    let wrapped = format!("<all>{rest}</all>");
    let mut elements = Element::parse(&wrapped)?.children()?;
    if let [element] = &elements[..]
        && wrappers.contains(&element.name.as_str())
    {
        elements = element.children()?;
    }
    Ok(elements.iter().map(Element::standalone).collect())
}

/// A document with a line for each element, indented by two spaces a level. Texts are not changed.
///
/// # Errors
/// The document is not well-formed.
pub fn indented(document: &str) -> Result<String, NotXml> {
    let mut reader = Reader::from_str(document);
    let mut writer = Writer::new_with_indent(Vec::new(), b' ', 2);
    let mut held: Option<Event<'_>> = None;
    let mut is_after_start = false;
    let failed = |error: std::io::Error| NotXml(error.to_string());
    loop {
        let event = reader.read_event()?;
        // White space is the value of a leaf if it is all between a start tag and its end tag.
        if let Some(space) = held.take()
            && matches!(event, Event::End(_))
        {
            writer.write_event(space).map_err(failed)?;
        }
        match event {
            Event::Eof => break,
            Event::Text(text) if text.xml10_content().trim().is_empty() => {
                held = is_after_start.then_some(Event::Text(text));
                is_after_start = false;
            }
            event => {
                is_after_start = matches!(event, Event::Start(_));
                writer.write_event(event).map_err(failed)?;
            }
        }
    }
    String::from_utf8(writer.into_inner()).map_err(|error| NotXml(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_keep_their_namespaces() {
        for (text, expected) in [
            ("<a/> <b/>", "<a></a><b></b>"),
            (
                "\u{feff}<?xml version='1.0'?>\n<config xmlns:x='urn:x'><x:a/></config>",
                "<x:a xmlns:x=\"urn:x\"></x:a>",
            ),
            ("", ""),
        ] {
            assert_eq!(elements_of(text, &["config"]).expect(text), expected);
        }
        for text in ["<a>", "<a/></all><all>", "text"] {
            assert!(elements_of(text, &[]).is_err(), "{text}");
        }
    }

    #[test]
    fn documents_are_indented_and_texts_kept() {
        let text = "<a><b> x </b>\n\n<c> </c><d><e/></d><f>1 &lt; 2</f></a>";
        let expected =
            "<a>\n  <b> x </b>\n  <c> </c>\n  <d>\n    <e/>\n  </d>\n  <f>1 &lt; 2</f>\n</a>";
        assert_eq!(indented(text).expect("a document"), expected);
        assert_eq!(indented(expected).expect("a document"), expected);
    }
}

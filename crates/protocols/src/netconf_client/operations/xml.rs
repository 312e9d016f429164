//! Elements as text.

use quick_xml::escape::escape;
use quick_xml::events::Event;
use quick_xml::{Reader, Writer};

use crate::netconf::{Element, NotXml};

/// Why a text is no document that can be sent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct DocumentError {
    /// The line, from 1; 0 if it is not known.
    pub line: u32,
    /// What is wrong.
    pub reason: String,
}

impl From<NotXml> for DocumentError {
    fn from(error: NotXml) -> Self {
        Self {
            line: 0,
            reason: error.0,
        }
    }
}

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
pub fn elements_of(text: &str, wrappers: &[&str]) -> Result<String, DocumentError> {
    check(text)?;
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

/// Checks that a text is elements that are well-formed, one after the other.
fn check(text: &str) -> Result<(), DocumentError> {
    let mut reader = Reader::from_str(text);
    reader.config_mut().check_comments = true;
    let at = |position: u64, reason: String| {
        let end = usize::try_from(position).unwrap_or(usize::MAX);
        let before = &text.as_bytes()[..end.min(text.len())];
        let lines = memchr::memchr_iter(b'\n', before).count();
        Err(DocumentError {
            line: u32::try_from(lines + 1).unwrap_or(u32::MAX),
            reason,
        })
    };
    // Where the open elements begin, outermost first.
    let mut open: Vec<(u64, String)> = Vec::new();
    loop {
        let begin = reader.buffer_position();
        let event = match reader.read_event() {
            Ok(event) => event,
            Err(error) => return at(reader.error_position(), error.to_string()),
        };
        match event {
            Event::Start(start) | Event::Empty(start)
                if let Some(wrong) = start.attributes().find_map(Result::err) =>
            {
                return at(begin, wrong.to_string());
            }
            Event::Start(start) => open.push((begin, start.name().as_ref().to_owned())),
            Event::End(_) => drop(open.pop()),
            Event::DocType(_) => {
                let reason = "a document type declaration is not accepted";
                return at(begin, reason.to_owned());
            }
            Event::Text(text) if open.is_empty() => {
                let text = text.xml10_content();
                let text = text.trim_start_matches('\u{feff}');
                if let Some(first) = text.find(|letter: char| !letter.is_whitespace()) {
                    return at(
                        begin + first as u64,
                        "there is text outside of elements".to_owned(),
                    );
                }
            }
            Event::CData(_) | Event::GeneralRef(_) if open.is_empty() => {
                return at(begin, "there is text outside of elements".to_owned());
            }
            Event::Eof => break,
            _ => {}
        }
    }
    match open.pop() {
        Some((begin, name)) => at(begin, format!("the element “{name}” is not closed")),
        None => Ok(()),
    }
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
    fn wrong_documents_have_the_line() {
        for (text, line, reason) in [
            ("<a>\n<b></a>", 2, "`</b>`"),
            ("<a\n", 1, "not closed"),
            ("<a/>\n<a>\n <b/>", 2, "“a” is not closed"),
            ("\n\n <a/>\n text", 4, "text outside"),
            ("<?xml version='1.0'?>\n<a b='1'\n b='2'/>", 2, "duplicate"),
            ("\n<!DOCTYPE a>\n<a/>", 2, "document type"),
            ("<a>\n</a>\n</all>", 3, "all"),
        ] {
            let error = elements_of(text, &[]).expect_err(text);
            assert_eq!(error.line, line, "{text}: {error}");
            assert!(error.reason.contains(reason), "{text}: {error}");
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

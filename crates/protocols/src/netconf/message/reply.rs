//! `rpc-reply` (RFC 6241 §4.2, §4.3).

use std::io::{self, Write};

use espalier_yang::{DataError, Errors, Schema};
use quick_xml::escape::escape;

use super::BASE_NAMESPACE;
use super::element::Element;
use crate::xml_errors;

/// How a reply begins: with all attributes of its request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReplyStart {
    /// The prefix of its element.
    prefix: String,
    /// The attributes, as they were written.
    attributes: String,
    /// The declaration that elements in it need because another default namespace is declared.
    declaration: &'static str,
}

/// Declares the namespace of the messages.
const DECLARATION: &str = " xmlns=\"urn:ietf:params:xml:ns:netconf:base:1.0\"";

impl ReplyStart {
    /// That of a request.
    pub(super) fn of(rpc: &Element<'_>) -> Self {
        let attributes = rpc.raw_attributes.trim();
        let attributes = match attributes.is_empty() {
            true => String::new(),
            false => format!(" {attributes}"),
        };
        match rpc.namespace_of("") {
            Some(BASE_NAMESPACE) => Self {
                prefix: String::new(),
                attributes,
                declaration: "",
            },
            None | Some("") if !rpc.raw_attributes.contains("xmlns=") => Self {
                prefix: String::new(),
                attributes: format!("{DECLARATION}{attributes}"),
                declaration: "",
            },
            _ => Self {
                prefix: format!("{}:", rpc.prefix),
                attributes,
                declaration: DECLARATION,
            },
        }
    }

    /// That of a message that could not be parsed.
    pub fn unknown() -> Self {
        Self {
            attributes: DECLARATION.to_owned(),
            ..Self::default()
        }
    }
}

/// A reply that is being written.
pub struct Reply<W: Write> {
    out: W,
    start: ReplyStart,
}

impl<W: Write> Reply<W> {
    /// Begins a reply.
    ///
    /// # Errors
    /// Those of writing.
    pub fn begin(mut out: W, start: ReplyStart) -> io::Result<Self> {
        let ReplyStart {
            prefix, attributes, ..
        } = &start;
        write!(
            out,
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<{prefix}rpc-reply{attributes}>"
        )?;
        Ok(Self { out, start })
    }

    /// The declaration that its elements in the namespace of the messages need, with a space before it, or nothing.
    pub fn declaration(&self) -> &'static str {
        self.start.declaration
    }

    /// Where content is written.
    pub fn content(&mut self) -> &mut W {
        &mut self.out
    }

    /// Writes `ok`.
    ///
    /// # Errors
    /// Those of writing.
    pub fn ok(&mut self) -> io::Result<()> {
        write!(self.out, "<ok{}/>", self.start.declaration)
    }

    /// Writes errors. `schema` resolves the modules of their paths.
    ///
    /// # Errors
    /// Those of writing.
    pub fn errors(&mut self, errors: &Errors, schema: Option<&Schema>) -> io::Result<()> {
        for error in errors.iter() {
            let text = rpc_error(error, self.start.declaration, schema);
            self.out.write_all(text.as_bytes())?;
        }
        Ok(())
    }

    /// Ends the reply.
    ///
    /// # Errors
    /// Those of writing.
    pub fn finish(mut self) -> io::Result<W> {
        write!(self.out, "</{}rpc-reply>", self.start.prefix)?;
        Ok(self.out)
    }
}

fn rpc_error(error: &DataError, declaration: &str, schema: Option<&Schema>) -> String {
    let mut text = format!(
        "<rpc-error{declaration}><error-type>{}</error-type><error-tag>{}</error-tag><error-severity>error</error-severity>",
        error.kind.as_str(),
        error.tag.as_str()
    );
    if let Some(tag) = &error.app_tag {
        text.extend(["<error-app-tag>", &escape(&**tag), "</error-app-tag>"]);
    }
    if !error.path.is_empty() {
        xml_errors::put_path(&mut text, &error.path, schema);
    }
    let message = xml_errors::message(error);
    text.extend([
        "<error-message xml:lang=\"en\">",
        &escape(&message),
        "</error-message>",
    ]);
    xml_errors::put_info(&mut text, &error.info());
    text.push_str("</rpc-error>");
    text
}

#[cfg(test)]
mod tests {
    use espalier_yang::ErrorTag;

    use super::super::Rpc;
    use super::*;

    fn reply(rpc: &str) -> String {
        let rpc = Rpc::parse(rpc).expect("a request");
        let mut reply = Reply::begin(Vec::new(), rpc.reply).expect("memory");
        reply.ok().expect("memory");
        let error = DataError::new(ErrorTag::InvalidValue, "a < b").at("/m:a");
        reply.errors(&error.into(), None).expect("memory");
        String::from_utf8(reply.finish().expect("memory")).expect("UTF-8")
    }

    /// The reply has all attributes of the request, and its elements are in the namespace of the messages, whatever prefix
    /// the request has.
    #[test]
    fn replies_begin_as_their_requests_and_have_the_right_namespace() {
        for rpc in [
            format!("<rpc message-id='1' xmlns='{BASE_NAMESPACE}' x=\"&lt;\"><get/></rpc>"),
            format!(
                "<nc:rpc xmlns:nc='{BASE_NAMESPACE}' message-id='1' nc:x='&lt;'><nc:get/></nc:rpc>"
            ),
            format!(
                "<nc:rpc xmlns:nc='{BASE_NAMESPACE}' xmlns='urn:x' message-id='1' x='&lt;'><get/></nc:rpc>"
            ),
            format!(
                "<nc:rpc xmlns:nc='{BASE_NAMESPACE}' xmlns='' message-id='1' x='&lt;'><get/></nc:rpc>"
            ),
        ] {
            let text = reply(&rpc);
            let parsed = Element::parse(&text).expect("a reply");
            assert!(parsed.is(BASE_NAMESPACE, "rpc-reply"), "{text}");
            let values: Vec<_> = parsed.attributes.iter().map(|one| &*one.value).collect();
            assert!(values.contains(&"1") && values.contains(&"<"), "{text}");
            let children = parsed.children().expect("children");
            assert!(children[0].is(BASE_NAMESPACE, "ok"), "{text}");
            assert!(children[1].is(BASE_NAMESPACE, "rpc-error"), "{text}");
            assert!(children[1].children().expect("children").len() >= 5);
        }
    }
}

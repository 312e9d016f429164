//! `hello` (RFC 6241 §8.1).

use super::element::{Element, NotXml};
use super::{BASE_1_0, BASE_1_1, BASE_NAMESPACE};
use crate::netconf::framing::Framing;
use quick_xml::escape::escape;

/// The `hello` of a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hello {
    /// The framing of the messages that follow: that of the highest version that both have.
    pub framing: Framing,
    /// The URIs of its capabilities.
    pub capabilities: Vec<String>,
}

/// The `hello` of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerHello {
    /// The number of the session.
    pub session_id: u32,
    /// The URIs of its capabilities.
    pub capabilities: Vec<String>,
}

/// Why a message is no `hello` of a client or of a server. The session has to end.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HelloError {
    /// Not XML.
    #[error(transparent)]
    NotXml(#[from] NotXml),
    /// Another element.
    #[error("the first message must be a hello in the namespace {BASE_NAMESPACE}, not “{0}”")]
    Other(String),
    /// It has a session identifier, as only that of a server may have.
    #[error("a hello of a client must not have a session-id")]
    SessionId,
    /// It has no session identifier, as that of a server must have, or one that is no number from 1 to 4294967295.
    #[error("a hello of a server must have a session-id from 1 to 4294967295")]
    NoSessionId,
    /// There is no list of capabilities.
    #[error("the hello has no capabilities")]
    NoCapabilities,
    /// It announces neither version of the protocol.
    #[error("the hello announces neither {BASE_1_0} nor {BASE_1_1}")]
    NoVersion,
}

/// What the `hello` of either side has.
struct Content {
    session_id: Option<String>,
    capabilities: Vec<String>,
}

impl Content {
    /// Parses a `hello`. Elements and capabilities that are not known are ignored.
    fn parse(message: &str) -> Result<Self, HelloError> {
        let hello = Element::parse(message)?;
        if !hello.is(BASE_NAMESPACE, "hello") {
            return Err(HelloError::Other(hello.name));
        }
        let (mut capabilities, mut session_id) = (None, None);
        for child in hello.children()? {
            if child.is(BASE_NAMESPACE, "session-id") {
                session_id = Some(child.text()?);
            }
            if child.is(BASE_NAMESPACE, "capabilities") {
                let all = child.children()?;
                let all = all
                    .iter()
                    .filter(|one| one.is(BASE_NAMESPACE, "capability"));
                capabilities = Some(all.map(Element::text).collect::<Result<Vec<_>, _>>()?);
            }
        }
        Ok(Self {
            session_id,
            capabilities: capabilities.ok_or(HelloError::NoCapabilities)?,
        })
    }
}

/// Whether a list of capabilities has a capability, with any parameters.
fn has_capability(capabilities: &[String], capability: &str) -> bool {
    let mut uris = capabilities.iter();
    uris.any(|uri| uri.split('?').next() == Some(capability))
}

impl Hello {
    /// Parses the `hello` of a client. Elements and capabilities that are not known are ignored.
    ///
    /// # Errors
    /// It is none.
    pub fn parse(message: &str) -> Result<Self, HelloError> {
        let Content {
            session_id,
            capabilities,
        } = Content::parse(message)?;
        if session_id.is_some() {
            return Err(HelloError::SessionId);
        }
        let has = |version: &str| has_capability(&capabilities, version);
        let framing = match (has(BASE_1_1), has(BASE_1_0)) {
            (true, _) => Framing::Chunked,
            (false, true) => Framing::EndOfMessage,
            (false, false) => return Err(HelloError::NoVersion),
        };
        Ok(Self {
            framing,
            capabilities,
        })
    }

    /// Whether the client has a capability.
    pub fn has(&self, capability: &str) -> bool {
        has_capability(&self.capabilities, capability)
    }

    /// The text of a `hello`: of a server, with the number of the session, or of a client.
    pub fn print(capabilities: &[String], session_id: Option<u32>) -> String {
        let mut text = format!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<hello xmlns=\"{BASE_NAMESPACE}\"><capabilities>"
        );
        for capability in capabilities {
            text.extend(["<capability>", &escape(capability), "</capability>"]);
        }
        text.push_str("</capabilities>");
        if let Some(id) = session_id {
            text.push_str(&format!("<session-id>{id}</session-id>"));
        }
        text.push_str("</hello>");
        text
    }
}

impl ServerHello {
    /// Parses the `hello` of a server. Elements and capabilities that are not known are ignored.
    ///
    /// # Errors
    /// It is none.
    pub fn parse(message: &str) -> Result<Self, HelloError> {
        let content = Content::parse(message)?;
        let session_id = content.session_id.and_then(|text| text.parse().ok());
        Ok(Self {
            session_id: session_id
                .filter(|id| *id > 0)
                .ok_or(HelloError::NoSessionId)?,
            capabilities: content.capabilities,
        })
    }

    /// Whether the server has a capability.
    pub fn has(&self, capability: &str) -> bool {
        has_capability(&self.capabilities, capability)
    }

    /// The framing of a session with a client of these capabilities: that of the highest version that both have.
    ///
    /// # Errors
    /// They have none in common.
    pub fn framing_with(&self, client: &[String]) -> Result<Framing, HelloError> {
        let both = |version: &str| self.has(version) && has_capability(client, version);
        match (both(BASE_1_1), both(BASE_1_0)) {
            (true, _) => Ok(Framing::Chunked),
            (false, true) => Ok(Framing::EndOfMessage),
            (false, false) => Err(HelloError::NoVersion),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hello(content: &str) -> String {
        format!("<hello xmlns='{BASE_NAMESPACE}'>{content}</hello>")
    }

    #[test]
    fn the_highest_common_version_is_taken() {
        let capabilities = |uris: &[&str]| {
            let uris = uris
                .iter()
                .map(|uri| format!("<capability> {uri}\n</capability>"));
            hello(&format!(
                "<capabilities>{}</capabilities>",
                uris.collect::<String>()
            ))
        };
        for (uris, framing) in [
            (&[BASE_1_0][..], Framing::EndOfMessage),
            (&[BASE_1_1], Framing::Chunked),
            (&[BASE_1_0, "urn:other", BASE_1_1], Framing::Chunked),
            (&["urn:ietf:params:netconf:base:1.1?x=y"], Framing::Chunked),
        ] {
            let parsed = Hello::parse(&capabilities(uris)).expect("a hello");
            assert_eq!(parsed.framing, framing, "{uris:?}");
        }
        let none = capabilities(&["urn:other", "urn:ietf:params:netconf:base:1.10"]);
        assert_eq!(Hello::parse(&none), Err(HelloError::NoVersion));
    }

    #[test]
    fn prefixes_and_unknown_elements_are_accepted() {
        let text = format!(
            "\n<?xml version='1.0'?><n:hello xmlns:n='{BASE_NAMESPACE}'><n:x/><n:capabilities><n:capability>{BASE_1_0}\
             </n:capability></n:capabilities></n:hello>"
        );
        // White space before the declaration is skipped with the framing.
        assert!(Hello::parse(text.trim_start()).is_ok());
    }

    #[test]
    fn other_messages_are_rejected() {
        let capabilities =
            format!("<capabilities><capability>{BASE_1_1}</capability></capabilities>");
        let with_id = hello(&format!("{capabilities}<session-id>1</session-id>"));
        for (text, expected) in [
            (with_id, HelloError::SessionId),
            (hello(""), HelloError::NoCapabilities),
            (hello("<capabilities/>"), HelloError::NoVersion),
            (
                "<hello><capabilities/></hello>".to_owned(),
                HelloError::Other("hello".to_owned()),
            ),
            (
                format!("<rpc xmlns='{BASE_NAMESPACE}'/>"),
                HelloError::Other("rpc".to_owned()),
            ),
        ] {
            assert_eq!(Hello::parse(&text), Err(expected), "{text}");
        }
        assert!(matches!(Hello::parse("<hello"), Err(HelloError::NotXml(_))));
    }

    #[test]
    fn what_is_printed_is_parsed() {
        let printed = Hello::print(&[BASE_1_1.to_owned(), "urn:a?b&c".to_owned()], None);
        let parsed = Hello::parse(&printed).expect("a hello");
        assert!(parsed.has("urn:a") && !parsed.has("urn:b"));
        assert!(Hello::print(&[], Some(7)).contains("<session-id>7</session-id>"));
    }
}

//! `rpc` (RFC 6241 §4.1).

use espalier_yang::{DataError, ErrorTag, ErrorType};

use super::BASE_NAMESPACE;
use super::element::{Element, NotXml};
use super::reply::ReplyStart;

/// The maximum length of a `message-id`, in characters.
const MESSAGE_ID_CHARS_MAX: usize = 4095;

/// A request.
#[derive(Clone, Debug)]
pub struct Rpc<'m> {
    /// The start of its reply.
    pub reply: ReplyStart,
    /// The operation.
    pub operation: Element<'m>,
}

/// Why a message is no request.
#[derive(Clone, Debug)]
pub enum RpcError {
    /// It is not XML, or another element. The session has to end.
    Malformed(String),
    /// It is a wrong request, which gets a reply.
    Wrong(ReplyStart, Box<DataError>),
}

impl From<NotXml> for RpcError {
    fn from(error: NotXml) -> Self {
        Self::Malformed(error.to_string())
    }
}

impl<'m> Rpc<'m> {
    /// Parses a request.
    ///
    /// # Errors
    /// It is none, or has no `message-id`, or not one operation.
    pub fn parse(message: &'m str) -> Result<Self, RpcError> {
        let rpc = Element::parse(message)?;
        if !rpc.is(BASE_NAMESPACE, "rpc") {
            let message = format!(
                "the message must be an rpc in the namespace {BASE_NAMESPACE}, not “{}” in “{}”",
                rpc.name, rpc.namespace
            );
            return Err(RpcError::Malformed(message));
        }
        let reply = ReplyStart::of(&rpc);
        let wrong = |error: DataError| {
            let error = error.of_type(ErrorType::Rpc);
            RpcError::Wrong(reply.clone(), Box::new(error))
        };
        let mut attributes = rpc.attributes.iter();
        let id = attributes.find(|one| one.namespace.is_none() && one.name == "message-id");
        match id {
            None => {
                let message = "the attribute “message-id” is missing";
                let error = DataError::new(ErrorTag::MissingAttribute, message);
                return Err(wrong(error.on_attribute("message-id").on_element("rpc")));
            }
            Some(id) if id.value.chars().count() > MESSAGE_ID_CHARS_MAX => {
                let message = format!(
                    "the attribute “message-id” is longer than {MESSAGE_ID_CHARS_MAX} characters (MESSAGE_ID_CHARS_MAX)"
                );
                let error = DataError::new(ErrorTag::BadAttribute, message);
                return Err(wrong(error.on_attribute("message-id").on_element("rpc")));
            }
            Some(_) => {}
        }
        let mut operations = rpc.children()?;
        match (operations.pop(), operations.pop()) {
            (Some(operation), None) => Ok(Self { reply, operation }),
            (None, _) => {
                let error = DataError::new(ErrorTag::MissingElement, "the rpc has no operation");
                Err(wrong(error.on_element("rpc")))
            }
            (Some(second), Some(_)) => {
                let message = "the rpc has more than one operation";
                let error = DataError::new(ErrorTag::BadElement, message);
                Err(wrong(error.on_element(&second.name)))
            }
        }
    }
}

/// The begin of a request whose last parameter is `config`: the rest is in a file.
pub struct PartialRpc<'m> {
    /// The start of its reply.
    pub reply: ReplyStart,
    /// The operation, whose content is not there.
    pub operation: Element<'m>,
    /// Its parameters before `config`; for `copy-config`, those before `source`.
    pub parameters: Vec<Element<'m>>,
    /// `config`, without its content.
    pub config: Element<'m>,
    /// Where its content begins.
    pub begin: usize,
}

impl<'m> PartialRpc<'m> {
    /// Parses the begin of a request; `None` if it has another form.
    ///
    /// # Errors
    /// As [`Rpc::parse`].
    pub fn parse(begin: &'m str) -> Result<Option<Self>, RpcError> {
        let open = Element::parse_open(begin, |element| element.name == "config")?;
        let Some(found) = open else {
            return Ok(None);
        };
        let mut open = found.open.into_iter();
        let (Some(rpc), Some(operation)) = (open.next(), open.next()) else {
            return Ok(None);
        };
        let has_id = rpc.attribute("message-id").is_some();
        if !rpc.is(BASE_NAMESPACE, "rpc") || !has_id {
            return Ok(None);
        }
        Ok(Some(Self {
            reply: ReplyStart::of(&rpc),
            operation,
            parameters: found.complete,
            config: found.last,
            begin: found.begin,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_have_one_operation_and_an_identifier() {
        let rpc = format!("<rpc message-id='7' xmlns='{BASE_NAMESPACE}'><get/></rpc>");
        let parsed = Rpc::parse(&rpc).expect("a request");
        assert!(parsed.operation.is(BASE_NAMESPACE, "get"));
        for (rpc, tag) in [
            (
                rpc.replace("message-id='7'", ""),
                ErrorTag::MissingAttribute,
            ),
            (rpc.replace("<get/>", ""), ErrorTag::MissingElement),
            (rpc.replace("<get/>", "<get/><get/>"), ErrorTag::BadElement),
            (
                rpc.replace("'7'", &format!("'{}'", "x".repeat(5000))),
                ErrorTag::BadAttribute,
            ),
        ] {
            match Rpc::parse(&rpc) {
                Err(RpcError::Wrong(_, error)) => assert_eq!(error.tag, tag, "{rpc}"),
                other => panic!("{other:?}"),
            }
        }
        for rpc in ["<rpc", "<rpc message-id='1'/>", "<a/>"] {
            assert!(
                matches!(Rpc::parse(rpc), Err(RpcError::Malformed(_))),
                "{rpc}"
            );
        }
    }
}

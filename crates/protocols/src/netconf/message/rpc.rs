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

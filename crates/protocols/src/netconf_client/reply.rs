//! `rpc-reply` (RFC 6241 §4.2).

use crate::netconf::{BASE_NAMESPACE, Element};

use super::error::ClientError;
use super::rpc_error::{RpcError, Severity};

/// A reply without errors.
#[derive(Clone, Debug)]
pub struct Reply {
    text: String,
    warnings: Vec<RpcError>,
}

impl Reply {
    /// A reply of this text.
    ///
    /// # Errors
    /// [`ClientError::Rpc`] if it has errors, others if it is no reply.
    pub(super) fn of(text: String) -> Result<Self, ClientError> {
        let reply = Element::parse(&text)?;
        if !reply.is(BASE_NAMESPACE, "rpc-reply") {
            let message = format!("expected an rpc-reply, not “{}”", reply.name);
            return Err(ClientError::Malformed(message));
        }
        let children = reply.children()?;
        let errors = children
            .iter()
            .filter(|one| one.is(BASE_NAMESPACE, "rpc-error"));
        let errors: Result<Vec<_>, _> = errors.map(RpcError::parse).collect();
        let (warnings, errors): (Vec<_>, Vec<_>) = errors?
            .into_iter()
            .partition(|error| error.severity == Severity::Warning);
        match errors.is_empty() {
            true => Ok(Self { text, warnings }),
            false => Err(ClientError::Rpc(errors)),
        }
    }

    /// The whole message.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The elements that the reply has, except warnings: `ok`, `data`, or the output of an operation.
    ///
    /// # Errors
    /// The reply is not well-formed.
    pub fn elements(&self) -> Result<Vec<Element<'_>>, ClientError> {
        let mut children = Element::parse(&self.text)?.children()?;
        children.retain(|child| !child.is(BASE_NAMESPACE, "rpc-error"));
        Ok(children)
    }

    /// The element `data`, of any namespace.
    ///
    /// # Errors
    /// There is none.
    pub fn data(&self) -> Result<Element<'_>, ClientError> {
        let mut elements = self.elements()?.into_iter();
        let data = elements.find(|element| element.name == "data");
        data.ok_or_else(|| ClientError::Malformed("the reply has no data".to_owned()))
    }

    /// Errors of the severity `warning`: the operation was done.
    pub fn warnings(&self) -> &[RpcError] {
        &self.warnings
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reply(content: &str) -> Result<Reply, ClientError> {
        Reply::of(format!(
            "<nc:rpc-reply xmlns:nc='{BASE_NAMESPACE}' message-id='1'>{content}</nc:rpc-reply>"
        ))
    }

    #[test]
    fn errors_have_all_their_parts_and_warnings_are_no_errors() {
        let warning = "<nc:rpc-error><nc:error-severity>warning</nc:error-severity>\
                       <nc:error-message>slow</nc:error-message></nc:rpc-error>";
        let found = reply(&format!("{warning}<nc:ok/>")).expect("a reply");
        assert_eq!(found.warnings()[0].message, "slow");
        assert_eq!(found.elements().expect("elements").len(), 1);
        let error = "<nc:rpc-error><nc:error-type>protocol</nc:error-type><nc:error-tag>lock-denied\
                     </nc:error-tag><nc:error-severity>error</nc:error-severity><nc:error-path xmlns:a='urn:a'>\
                     /a:b[a:c='&lt;']</nc:error-path><nc:error-message xml:lang='en'>held\n</nc:error-message>\
                     <nc:error-info><nc:session-id>7</nc:session-id><x:y xmlns:x='urn:x'><x:z/></x:y>\
                     </nc:error-info></nc:rpc-error>";
        let Err(ClientError::Rpc(errors)) = reply(&format!("{warning}{error}")) else {
            panic!("no error");
        };
        let expected = RpcError {
            error_type: "protocol".to_owned(),
            tag: "lock-denied".to_owned(),
            path: "/a:b[a:c='<']".to_owned(),
            message: "held".to_owned(),
            info: vec![
                ("session-id".to_owned(), "7".to_owned()),
                ("y".to_owned(), "<x:z/>".to_owned()),
            ],
            ..RpcError::default()
        };
        assert_eq!(errors, [expected]);
        assert!(matches!(
            reply("<nc:rpc-error>"),
            Err(ClientError::Malformed(_))
        ));
        let other = Reply::of("<a/>".to_owned());
        assert!(matches!(other, Err(ClientError::Malformed(_))));
    }

    #[test]
    fn data_of_any_namespace() {
        let found = reply("<data xmlns='urn:x'><a/></data>").expect("a reply");
        let data = found.data().expect("data").standalone();
        assert!(data.starts_with("<data xmlns='urn:x' xmlns:nc="), "{data}");
        assert!(reply("<nc:ok/>").expect("a reply").data().is_err());
    }
}

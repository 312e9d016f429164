//! The errors of the operations on subscriptions (RFC 8639 §2.4.6, RFC 8650 §3.3).

use espalier_store::Error;
use espalier_yang::{DataError, ErrorStructure, ErrorTag};

use super::SUBSCRIBED;
use super::record::SubscriptionId;

/// The namespace of the module.
const NAMESPACE: &str = "urn:ietf:params:xml:ns:yang:ietf-subscribed-notifications";

/// The operation that fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Request {
    Establish,
    Modify,
    /// `delete-subscription` or `kill-subscription`.
    Delete,
}

impl Request {
    /// The structure with the details of an error.
    fn structure(self) -> &'static str {
        match self {
            Self::Establish => "establish-subscription-stream-error-info",
            Self::Modify => "modify-subscription-stream-error-info",
            Self::Delete => "delete-subscription-error-info",
        }
    }
}

/// Why an operation fails.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SubscriptionError {
    /// The encoding is neither JSON nor XML.
    Encoding(String),
    /// The filter is wrong, for this reason.
    Filter(String),
    /// A limit is reached.
    Resources(String),
    /// There is no such subscription, or it is one of another subscriber.
    NoSuch(SubscriptionId),
}

impl SubscriptionError {
    /// The identity, the tag of RFC 8650 §3.3, and the message.
    fn parts(&self) -> (&'static str, ErrorTag, String) {
        let invalid = ErrorTag::InvalidValue;
        match self {
            Self::Encoding(name) => {
                let message = format!("the encoding {name} is not supported");
                ("encoding-unsupported", invalid, message)
            }
            Self::Filter(hint) => ("filter-unsupported", invalid, hint.clone()),
            Self::Resources(message) => (
                "insufficient-resources",
                ErrorTag::ResourceDenied,
                message.clone(),
            ),
            Self::NoSuch(SubscriptionId(id)) => {
                let message = format!("there is no subscription {id} of this subscriber");
                ("no-such-subscription", invalid, message)
            }
        }
    }

    /// The error of an operation.
    pub fn of(self, request: Request) -> Error {
        let (identity, tag, message) = self.parts();
        let identity = format!("{SUBSCRIBED}:{identity}");
        let mut leaves = vec![("reason".to_owned(), identity.clone())];
        if let Self::Filter(hint) = self {
            leaves.push(("filter-failure-hint".to_owned(), hint));
        }
        let structure = ErrorStructure {
            module: SUBSCRIBED.to_owned(),
            namespace: NAMESPACE.to_owned(),
            name: request.structure().to_owned(),
            leaves,
        };
        let error = DataError::new(tag, message).with_app_tag(identity);
        error.with_structure(structure).into()
    }
}

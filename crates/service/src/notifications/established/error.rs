//! The errors of the operations on subscriptions (RFC 8639 §2.4.6, RFC 8650 §3.3).

use espalier_store::Error;
use espalier_yang::{DataError, ErrorStructure, ErrorTag};

use super::super::push::PUSH;
use super::SUBSCRIBED;
use super::record::SubscriptionId;

/// What the namespaces of the modules begin with.
const NAMESPACES: &str = "urn:ietf:params:xml:ns:yang:";

/// The operation that fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Request {
    Establish,
    Modify,
    /// `delete-subscription` or `kill-subscription`.
    Delete,
    /// The establishment of a subscription to a datastore (RFC 8641).
    EstablishPush,
    /// The modification of one.
    ModifyPush,
    /// `resync-subscription`.
    Resync,
}

impl Request {
    /// The structure with the details of an error, and its module.
    fn structure(self) -> (&'static str, &'static str) {
        match self {
            Self::Establish => (SUBSCRIBED, "establish-subscription-stream-error-info"),
            Self::Modify => (SUBSCRIBED, "modify-subscription-stream-error-info"),
            Self::Delete => (SUBSCRIBED, "delete-subscription-error-info"),
            Self::EstablishPush => (PUSH, "establish-subscription-datastore-error-info"),
            Self::ModifyPush => (PUSH, "modify-subscription-datastore-error-info"),
            Self::Resync => (PUSH, "resync-subscription-error"),
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
    /// The datastore has no subscriptions.
    Datastore(String),
    /// Changes of this are not notified.
    OnChange(String),
    /// The period is shorter than this number of hundredths of a second.
    Period(u32),
    /// An update would have more than this number of nodes.
    UpdateTooBig(usize),
    /// As before, for a synchronization.
    SyncTooBig(usize),
    /// The filter can select nothing.
    Unchanging,
}

impl SubscriptionError {
    /// The module and name of the identity, the tag of RFC 8650 §3.3, and the message.
    fn parts(&self, request: Request) -> (&'static str, &'static str, ErrorTag, String) {
        let (invalid, unsupported) = (ErrorTag::InvalidValue, ErrorTag::OperationNotSupported);
        let too_big = |limit: usize| {
            format!("the selected data has more than {limit} nodes (PUSH_UPDATE_NODES_MAX)")
        };
        match self {
            Self::Encoding(name) => {
                let message = format!("the encoding {name} is not supported");
                (SUBSCRIBED, "encoding-unsupported", invalid, message)
            }
            Self::Filter(hint) => (SUBSCRIBED, "filter-unsupported", invalid, hint.clone()),
            Self::Resources(message) => {
                let tag = ErrorTag::ResourceDenied;
                (SUBSCRIBED, "insufficient-resources", tag, message.clone())
            }
            Self::NoSuch(SubscriptionId(id)) => {
                let message = format!("there is no subscription {id} of this subscriber");
                match request {
                    Request::Resync => (PUSH, "no-such-subscription-resync", invalid, message),
                    _ => (SUBSCRIBED, "no-such-subscription", invalid, message),
                }
            }
            Self::Datastore(name) => {
                let message = format!("there are no subscriptions to the datastore {name}");
                (PUSH, "datastore-not-subscribable", invalid, message)
            }
            Self::OnChange(what) => {
                let message = format!("changes of {what} are not notified");
                (PUSH, "on-change-unsupported", unsupported, message)
            }
            Self::Period(least) => {
                let message = format!(
                    "a period has at least {least} hundredths of a second (PUSH_PERIOD_MIN)"
                );
                (PUSH, "period-unsupported", invalid, message)
            }
            Self::UpdateTooBig(limit) => {
                let tag = ErrorTag::TooBig;
                (PUSH, "update-too-big", tag, too_big(*limit))
            }
            Self::SyncTooBig(limit) => (PUSH, "sync-too-big", ErrorTag::TooBig, too_big(*limit)),
            Self::Unchanging => {
                let message = "the filter can select nothing".to_owned();
                (PUSH, "unchanging-selection", invalid, message)
            }
        }
    }

    /// The leaves with hints (RFC 8639 §2.4.6, RFC 8641 §3.2).
    fn hints(self) -> Vec<(String, String)> {
        let hint = |name: &str, value: String| (name.to_owned(), value);
        match self {
            Self::Filter(text) => vec![hint("filter-failure-hint", text)],
            Self::Period(least) => vec![hint("period-hint", least.to_string())],
            Self::UpdateTooBig(limit) | Self::SyncTooBig(limit) => {
                vec![hint("object-count-limit", limit.to_string())]
            }
            _ => Vec::new(),
        }
    }

    /// The error of an operation.
    pub fn of(self, request: Request) -> Error {
        let (module, name, tag, message) = self.parts(request);
        let identity = format!("{module}:{name}");
        let mut leaves = vec![("reason".to_owned(), identity.clone())];
        leaves.extend(self.hints());
        let (module, name) = request.structure();
        let structure = ErrorStructure {
            module: module.to_owned(),
            namespace: format!("{NAMESPACES}{module}"),
            name: name.to_owned(),
            leaves,
        };
        let error = DataError::new(tag, message).with_app_tag(identity);
        error.with_structure(structure).into()
    }
}

//! A filter as it is given.

/// A filter, as the subscriber gave it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum GivenFilter {
    /// The name of one in the configuration.
    Name(String),
    /// An XPath expression.
    XPath(String),
    /// A subtree filter, as the content of an `anydata`.
    Subtree(String),
}

//! Why a subscription ends before its stop time.

use std::fmt;

/// Why a subscription ends before its stop time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Termination {
    /// The session of the subscription ended.
    SessionEnded,
    /// The subscription was ended with `kill-subscription`.
    Killed,
    /// The anchor was deleted.
    AnchorDeleted,
    /// The stream exists no more, or the user may not read it any more.
    StreamUnavailable,
    /// The named filter exists no more.
    FilterUnavailable,
}

impl Termination {
    /// The identity of `subscription-terminated-reason` (RFC 8639 §2.7.4).
    pub fn identity(self) -> &'static str {
        match self {
            Self::SessionEnded | Self::Killed => "no-such-subscription",
            Self::AnchorDeleted | Self::StreamUnavailable => "stream-unavailable",
            Self::FilterUnavailable => "filter-unavailable",
        }
    }
}

impl fmt::Display for Termination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::SessionEnded => "the session was killed",
            Self::Killed => "the subscription was killed",
            Self::AnchorDeleted => "the anchor was deleted",
            Self::StreamUnavailable => "the stream is not available",
            Self::FilterUnavailable => "the filter was removed",
        })
    }
}

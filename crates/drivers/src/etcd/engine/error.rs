//! From etcd's errors to the key space's, with what to do.

use std::error::Error as _;

use espalier_keyspace::{Error, ErrorKind};
use tonic::{Code, Status};

use crate::error_chain::ErrorChain;
use crate::tls_hints::{OPTION_NAMES, certificate_hint};

/// Whether the request may succeed on another server, or later. It may have been carried out.
pub(crate) fn is_passing(status: &Status) -> bool {
    let code = matches!(
        status.code(),
        Code::Unavailable | Code::DeadlineExceeded | Code::Cancelled | Code::Aborted
    );
    // What the transport says when a connection breaks in the middle.
    let broken = matches!(status.code(), Code::Unknown | Code::Internal)
        && !status.message().starts_with("etcdserver:");
    (code || broken || says(status, "too many requests")) && !is_distrusted(status)
}

/// Whether there is no trust between this server and us; there may be with another.
pub(crate) fn is_distrusted(status: &Status) -> bool {
    certificate_hint(status, &OPTION_NAMES).is_some()
}

/// Whether the server has forgotten who we are.
pub(crate) fn is_unknown_user(status: &Status) -> bool {
    says(status, "invalid auth token") || says(status, "revision of auth store is old")
}

/// Whether what was asked for has been compacted away.
pub(crate) fn is_compacted(status: &Status) -> bool {
    says(status, "has been compacted")
}

fn says(status: &Status, words: &str) -> bool {
    status.message().contains(words)
}

/// The error of a request that no server at `place` carried out.
pub(crate) fn engine_error(place: &str, status: &Status) -> Error {
    if let Some(problem) = certificate_hint(status, &OPTION_NAMES) {
        let message = format!("the connection to etcd at {place} cannot be secured: {problem}");
        return Error::new(ErrorKind::Denied, message);
    }
    let (kind, message) = match status.code() {
        _ if is_compacted(status) => (
            ErrorKind::SnapshotTooOld,
            "etcd has compacted what this snapshot shows; take a new one".to_owned(),
        ),
        _ if says(status, "space exceeded") => (
            ErrorKind::Full,
            format!(
                "the quota of etcd at {place} is used up; compact and defragment it, disarm its \
                 alarm, or raise --quota-backend-bytes"
            ),
        ),
        _ if says(status, "authentication failed") || says(status, "user name is empty") => (
            ErrorKind::Denied,
            format!(
                "etcd at {place} does not accept user and password; write etcd://user:password@…"
            ),
        ),
        Code::PermissionDenied | Code::Unauthenticated => (
            ErrorKind::Denied,
            format!("the user may not do this on etcd at {place}; grant readwrite on the prefix"),
        ),
        _ if is_passing(status) => (
            ErrorKind::Unavailable,
            format!("cannot reach etcd at {place}, or it has no majority"),
        ),
        _ => (
            ErrorKind::Engine,
            format!("etcd at {place} refuses a request"),
        ),
    };
    Error::new(kind, message).with_source(words(status))
}

/// What the server says, or why the connection broke. That it was an error of the transport, which comes
/// first there, is no news.
fn words(status: &Status) -> ErrorChain {
    match status.source() {
        Some(broken) => ErrorChain::of(broken.source().unwrap_or(broken)),
        None => ErrorChain(status.message().to_owned()),
    }
}

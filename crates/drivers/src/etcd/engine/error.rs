//! Maps etcd's errors to the key space's, with advice for the user.

use std::error::Error as _;

use espalier_keyspace::{Error, ErrorKind};
use tonic::{Code, Status};

use crate::error_chain::ErrorChain;
use crate::tls_hints::{OPTION_NAMES, certificate_hint};

/// Whether the request may succeed on another server, or later. It may have been applied.
pub(crate) fn is_transient(status: &Status) -> bool {
    let is_transient_code = matches!(
        status.code(),
        Code::Unavailable | Code::DeadlineExceeded | Code::Cancelled | Code::Aborted
    );
    // The codes of the transport for a connection that breaks during a request.
    let is_broken = matches!(status.code(), Code::Unknown | Code::Internal)
        && !status.message().starts_with("etcdserver:");
    (is_transient_code || is_broken || message_contains(status, "too many requests"))
        && !is_tls_failure(status)
}

/// Whether the TLS handshake with this server failed; it may succeed with another one.
pub(crate) fn is_tls_failure(status: &Status) -> bool {
    certificate_hint(status, &OPTION_NAMES).is_some()
}

/// Whether the server no longer accepts the authentication token.
pub(crate) fn is_invalid_token(status: &Status) -> bool {
    message_contains(status, "invalid auth token")
        || message_contains(status, "revision of auth store is old")
}

/// Whether the requested revision has been compacted.
pub(crate) fn is_compacted(status: &Status) -> bool {
    message_contains(status, "has been compacted")
}

fn message_contains(status: &Status, text: &str) -> bool {
    status.message().contains(text)
}

/// The error of a request that failed on the servers at `address`.
pub(crate) fn engine_error(address: &str, status: &Status) -> Error {
    if let Some(problem) = certificate_hint(status, &OPTION_NAMES) {
        let message = format!("the connection to etcd at {address} cannot be secured: {problem}");
        return Error::new(ErrorKind::Denied, message);
    }
    let (kind, message) = match status.code() {
        _ if is_compacted(status) => (
            ErrorKind::SnapshotTooOld,
            "etcd has compacted the revision of this snapshot; take a new one".to_owned(),
        ),
        _ if message_contains(status, "space exceeded") => (
            ErrorKind::Full,
            format!(
                "the quota of etcd at {address} is exhausted; compact and defragment it, disarm its \
                 alarm, or raise --quota-backend-bytes"
            ),
        ),
        _ if message_contains(status, "authentication failed")
            || message_contains(status, "user name is empty") =>
        {
            (
                ErrorKind::Denied,
                format!(
                    "etcd at {address} rejects the user and password; use etcd://user:password@…"
                ),
            )
        }
        Code::PermissionDenied | Code::Unauthenticated => (
            ErrorKind::Denied,
            format!(
                "the user lacks permission on etcd at {address}; grant readwrite on the prefix"
            ),
        ),
        _ if is_transient(status) => (
            ErrorKind::Unavailable,
            format!("cannot reach etcd at {address}, or it has no majority"),
        ),
        _ => (
            ErrorKind::Engine,
            format!("etcd at {address} rejects a request"),
        ),
    };
    Error::new(kind, message).with_source(words(status))
}

/// The server's message, or why the connection broke. The first error of that chain only names the
/// transport and is left out.
fn words(status: &Status) -> ErrorChain {
    match status.source() {
        Some(broken) => ErrorChain::of(broken.source().unwrap_or(broken)),
        None => ErrorChain(status.message().to_owned()),
    }
}

//! Converts Redis's errors to errors of the key space, with advice.

use espalier_keyspace::{Error, ErrorKind};
use redis::RedisError;

use crate::error_chain::ErrorChain;
use crate::tls_hints::{OPTION_NAMES, certificate_hint};

/// Returns whether the connection broke or the server is temporarily unable to serve requests, so that a retry
/// may succeed.
pub(crate) fn is_transient(error: &RedisError) -> bool {
    let is_lost = error.is_io_error() || error.is_cluster_error() || is_busy(error);
    is_lost && certificate_hint(error, &OPTION_NAMES).is_none()
}

/// Returns whether the server sent no valid reply.
pub(crate) fn is_without_reply(error: &RedisError) -> bool {
    let is_without_reply = error.is_io_error() || error.kind() == redis::ErrorKind::Parse;
    is_without_reply && certificate_hint(error, &OPTION_NAMES).is_none()
}

/// Returns whether only a member of a Cluster returns this error: a key is on another server, or the member has
/// only one database.
pub(crate) fn is_from_cluster_member(error: &RedisError) -> bool {
    let is_about = |part: &str| part.contains("cluster mode");
    matches!(error.code(), Some("MOVED" | "ASK")) || error.detail().is_some_and(is_about)
}

/// The error if the URL names one server that is a member of a Cluster.
pub(crate) fn cluster_member_error(address: &str, error: &RedisError) -> Error {
    let message = format!(
        "the Redis server {address} is a member of a Cluster; name several members, or one twice, and \
         database 0 (redis://host:port,host:port/0), so that the driver connects to the Cluster"
    );
    Error::new(ErrorKind::Engine, message).with_source(source_of(error))
}

fn is_busy(error: &RedisError) -> bool {
    let code = error.code();
    code.is_some_and(|code| ["LOADING", "BUSY", "MASTERDOWN", "TRYAGAIN"].contains(&code))
        || error.kind() == redis::ErrorKind::ClusterConnectionNotFound
}

/// Converts the error of a request to the server at `address`.
pub(crate) fn engine_error(address: &str, error: &RedisError) -> Error {
    if let Some(problem) = certificate_hint(error, &OPTION_NAMES) {
        let message = format!("the connection to {address} cannot be secured: {problem}");
        return Error::new(ErrorKind::Denied, message);
    }
    let (kind, message) = match error.code() {
        _ if error.kind() == redis::ErrorKind::AuthenticationFailed => denied(address),
        Some("WRONGPASS" | "NOAUTH") => denied(address),
        Some("NOPERM") => (
            ErrorKind::Denied,
            format!(
                "the user may not do this on {address}; it needs the commands of hashes, sorted \
                 sets, lists, streams and scripts on the names of the prefix"
            ),
        ),
        Some("READONLY") => (
            ErrorKind::ReadOnly,
            format!("the server {address} is a read-only replica; name its primary in the URL"),
        ),
        Some("MISCONF") => (
            ErrorKind::Full,
            format!(
                "the server {address} cannot write to its disk and rejects changes; check its log \
                 and the free space on its disk"
            ),
        ),
        Some("OOM") => (
            ErrorKind::Full,
            format!("the memory of the server {address} is full; raise its maxmemory"),
        ),
        _ if error.kind() == redis::ErrorKind::ClusterConnectionNotFound => (
            ErrorKind::Unavailable,
            format!(
                "cannot reach a Redis Cluster at {address}; if the server is not in a Cluster, \
                 name it only once"
            ),
        ),
        _ if is_transient(error) => (
            ErrorKind::Unavailable,
            format!("cannot reach the Redis server {address}"),
        ),
        _ => (
            ErrorKind::Engine,
            format!("the Redis server {address} rejected a request"),
        ),
    };
    Error::new(kind, message).with_source(source_of(error))
}

/// The message of the server or the connection, without the crate's own name of the error.
fn source_of(error: &RedisError) -> ErrorChain {
    let text = error.to_string();
    let name = format!(" - {:?}", error.kind());
    let summary = text.strip_suffix(&name).unwrap_or(&text);
    ErrorChain(error.detail().unwrap_or(summary).to_owned())
}

fn denied(address: &str) -> (ErrorKind, String) {
    let message =
        format!("the server {address} rejects user and password; write redis://user:password@…");
    (ErrorKind::Denied, message)
}

/// The error for a reply that no script of this driver returns.
pub(crate) fn unexpected_reply() -> Error {
    Error::new(
        ErrorKind::Corrupt,
        "the Redis server returned an unexpected reply",
    )
}

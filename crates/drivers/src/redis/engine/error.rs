//! From Redis's errors to the key space's, with what to do.

use espalier_keyspace::{Error, ErrorKind};
use redis::RedisError;

use crate::said::Said;
use crate::trust::{OPTIONS, distrust};

/// Whether the connection is of no use any more, or the server can do nothing for now: the same
/// request may succeed elsewhere or later.
pub(crate) fn is_transient(error: &RedisError) -> bool {
    let is_lost = error.is_io_error() || error.is_cluster_error() || is_busy(error);
    is_lost && distrust(error, &OPTIONS).is_none()
}

/// Whether the server did not say a word that can be understood.
pub(crate) fn is_without_reply(error: &RedisError) -> bool {
    let is_without_reply = error.is_io_error() || error.kind() == redis::ErrorKind::Parse;
    is_without_reply && distrust(error, &OPTIONS).is_none()
}

/// Whether only a server of a Cluster says this: a key is elsewhere, or that it has one database.
pub(crate) fn is_from_cluster_member(error: &RedisError) -> bool {
    let is_about = |part: &str| part.contains("cluster mode");
    matches!(error.code(), Some("MOVED" | "ASK")) || error.detail().is_some_and(is_about)
}

/// The error of one server, where the Cluster is wanted that it is a part of.
pub(crate) fn cluster_member_error(address: &str, error: &RedisError) -> Error {
    let message = format!(
        "the Redis server {address} is one of a Cluster; name several of them, or one twice, and no \
         database but 0 (redis://host:port,host:port/0), so that the driver asks the Cluster"
    );
    Error::new(ErrorKind::Engine, message).with_source(source_of(error))
}

fn is_busy(error: &RedisError) -> bool {
    let code = error.code();
    code.is_some_and(|code| ["LOADING", "BUSY", "MASTERDOWN", "TRYAGAIN"].contains(&code))
        || error.kind() == redis::ErrorKind::ClusterConnectionNotFound
}

/// The error of a request that a server at `address` did not carry out.
pub(crate) fn engine_error(address: &str, error: &RedisError) -> Error {
    if let Some(problem) = distrust(error, &OPTIONS) {
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
                "the server {address} cannot write to its disk and takes no changes; look at its \
                 log and at the room on its disk"
            ),
        ),
        Some("OOM") => (
            ErrorKind::Full,
            format!("the memory of the server {address} is full; raise its maxmemory"),
        ),
        _ if error.kind() == redis::ErrorKind::ClusterConnectionNotFound => (
            ErrorKind::Unavailable,
            format!(
                "cannot reach a Redis Cluster at {address}; where there is a server without one, \
                 name it once"
            ),
        ),
        _ if is_transient(error) => (
            ErrorKind::Unavailable,
            format!("cannot reach the Redis server {address}"),
        ),
        _ => (
            ErrorKind::Engine,
            format!("the Redis server {address} refuses a request"),
        ),
    };
    Error::new(kind, message).with_source(source_of(error))
}

/// What the server or the connection says, without the names that the crate has for errors.
fn source_of(error: &RedisError) -> Said {
    let text = error.to_string();
    let name = format!(" - {:?}", error.kind());
    let summary = text.strip_suffix(&name).unwrap_or(&text);
    Said(error.detail().unwrap_or(summary).to_owned())
}

fn denied(address: &str) -> (ErrorKind, String) {
    let message = format!(
        "the server {address} does not accept user and password; write redis://user:password@…"
    );
    (ErrorKind::Denied, message)
}

/// The error for an answer that no script of ours gives.
pub(crate) fn unexpected_reply() -> Error {
    Error::new(
        ErrorKind::Corrupt,
        "the Redis server gives an answer that makes no sense",
    )
}

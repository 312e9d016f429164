//! From Redis's errors to the key space's, with what to do.

use espalier_keyspace::{Error, ErrorKind};
use redis::RedisError;

use crate::error_chain::ErrorChain;
use crate::tls_hints::{OPTION_NAMES, certificate_hint};

/// Whether the connection is of no use any more, or the server can do nothing for now: the same
/// request may succeed elsewhere or later.
pub(crate) fn broken(error: &RedisError) -> bool {
    let is_lost = error.is_io_error() || error.is_cluster_error() || is_busy(error);
    is_lost && certificate_hint(error, &OPTION_NAMES).is_none()
}

/// Whether the server did not say a word that can be understood.
pub(crate) fn is_wordless(error: &RedisError) -> bool {
    let is_wordless = error.is_io_error() || error.kind() == redis::ErrorKind::Parse;
    is_wordless && certificate_hint(error, &OPTION_NAMES).is_none()
}

/// Whether only a server of a Cluster says this: a key is elsewhere, or that it has one database.
pub(crate) fn is_of_cluster(error: &RedisError) -> bool {
    let is_about = |words: &str| words.contains("cluster mode");
    matches!(error.code(), Some("MOVED" | "ASK")) || error.detail().is_some_and(is_about)
}

/// The error of one server, where the Cluster is wanted that it is a part of.
pub(crate) fn cluster_missed(place: &str, error: &RedisError) -> Error {
    let message = format!(
        "the Redis server {place} is one of a Cluster; name several of them, or one twice, and no \
         database but 0 (redis://host:port,host:port/0), so that the driver asks the Cluster"
    );
    Error::new(ErrorKind::Engine, message).with_source(words(error))
}

fn is_busy(error: &RedisError) -> bool {
    let code = error.code();
    code.is_some_and(|code| ["LOADING", "BUSY", "MASTERDOWN", "TRYAGAIN"].contains(&code))
        || error.kind() == redis::ErrorKind::ClusterConnectionNotFound
}

/// The error of a request that a server at `place` did not carry out.
pub(crate) fn engine_error(place: &str, error: &RedisError) -> Error {
    if let Some(problem) = certificate_hint(error, &OPTION_NAMES) {
        let message = format!("the connection to {place} cannot be secured: {problem}");
        return Error::new(ErrorKind::Denied, message);
    }
    let (kind, message) = match error.code() {
        _ if error.kind() == redis::ErrorKind::AuthenticationFailed => denied(place),
        Some("WRONGPASS" | "NOAUTH") => denied(place),
        Some("NOPERM") => (
            ErrorKind::Denied,
            format!(
                "the user may not do this on {place}; it needs the commands of hashes, sorted \
                 sets, lists, streams and scripts on the names of the prefix"
            ),
        ),
        Some("READONLY") => (
            ErrorKind::ReadOnly,
            format!("the server {place} is a read-only replica; name its primary in the URL"),
        ),
        Some("MISCONF") => (
            ErrorKind::Full,
            format!(
                "the server {place} cannot write to its disk and takes no changes; look at its \
                 log and at the room on its disk"
            ),
        ),
        Some("OOM") => (
            ErrorKind::Full,
            format!("the memory of the server {place} is full; raise its maxmemory"),
        ),
        _ if error.kind() == redis::ErrorKind::ClusterConnectionNotFound => (
            ErrorKind::Unavailable,
            format!(
                "cannot reach a Redis Cluster at {place}; where there is a server without one, \
                 name it once"
            ),
        ),
        _ if broken(error) => (
            ErrorKind::Unavailable,
            format!("cannot reach the Redis server {place}"),
        ),
        _ => (
            ErrorKind::Engine,
            format!("the Redis server {place} refuses a request"),
        ),
    };
    Error::new(kind, message).with_source(words(error))
}

/// What the server or the connection says, without the names that the crate has for errors.
fn words(error: &RedisError) -> ErrorChain {
    let told = error.to_string();
    let name = format!(" - {:?}", error.kind());
    let summary = told.strip_suffix(&name).unwrap_or(&told);
    ErrorChain(error.detail().unwrap_or(summary).to_owned())
}

fn denied(place: &str) -> (ErrorKind, String) {
    let message = format!(
        "the server {place} does not accept user and password; write redis://user:password@…"
    );
    (ErrorKind::Denied, message)
}

/// The error for an answer that no script of ours gives.
pub(crate) fn wrong_answer() -> Error {
    Error::new(
        ErrorKind::Corrupt,
        "the Redis server gives an answer that makes no sense",
    )
}

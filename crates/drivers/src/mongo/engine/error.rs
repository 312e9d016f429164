//! Maps MongoDB's errors to the key space's, with advice for the user.

use espalier_keyspace::{Error, ErrorKind};
use mongodb::bson::Document;
use mongodb::error::ErrorKind as Mongo;

use super::tls_failures::tls_failure;
use crate::error_chain::ErrorChain;

/// A second document with the same `_id`.
pub(super) const DUPLICATE: i32 = 11000;

/// Codes of a server that is not the primary, or not yet: `NotWritablePrimary`,
/// `NotPrimaryNoSecondaryOk`, `NotPrimaryOrSecondary`.
const NOT_PRIMARY: &[i32] = &[10107, 13435, 13436];

/// Codes of a server that shuts down or changes its role: `HostUnreachable`, `HostNotFound`,
/// `NetworkTimeout`, `ShutdownInProgress`, `LinearizableReadConcernError`, `PrimarySteppedDown`,
/// `ExceededTimeLimit`, `SocketException`, `InterruptedAtShutdown`, `InterruptedDueToReplStateChange`.
const TRANSIENT: &[i32] = &[6, 7, 89, 91, 187, 189, 262, 9001, 11600, 11602];

const UNAUTHORIZED: i32 = 13;
const AUTHENTICATION_FAILED: i32 = 18;
const OUT_OF_DISK_SPACE: i32 = 14031;
const INTERRUPTED_QUOTA: &[i32] = &[8000, 12501];

/// Why a request failed.
pub(in crate::mongo) struct RequestFailure {
    pub(in crate::mongo) error: Error,
    /// Whether the same request may succeed later.
    pub(in crate::mongo) is_transient: bool,
    /// Whether it may have been applied, or may be later, despite the failure.
    pub(in crate::mongo) may_be_applied: bool,
}

impl RequestFailure {
    /// The server did not respond in time.
    pub(super) fn timeout(address: &str) -> Self {
        Self::transient(address, "it does not respond in time")
    }

    /// The request may have been applied, and may succeed later.
    fn transient(address: &str, words: &str) -> Self {
        Self {
            error: unreachable(address, words),
            is_transient: true,
            may_be_applied: true,
        }
    }

    /// The same failure, with the error of a TLS failure on all servers.
    pub(super) fn with_tls_error(self, address: &str, reason: &str) -> Self {
        Self {
            error: tls_error(address, reason),
            is_transient: false,
            ..self
        }
    }

    pub(super) fn of(address: &str, error: &mongodb::error::Error) -> Self {
        let words = error.kind.to_string();
        if let Some(reason) = tls_failure(error) {
            return Self::permanent(tls_error(address, &reason));
        }
        match &*error.kind {
            Mongo::Command(command) => Self::of_code(address, command.code, &words),
            Mongo::Authentication { .. } => Self::of_code(address, AUTHENTICATION_FAILED, &words),
            // The text of a server selection error names what failed on the way to the server.
            Mongo::ServerSelection { .. } if is_authentication_error(&words) => {
                Self::of_code(address, AUTHENTICATION_FAILED, &words)
            }
            Mongo::ServerSelection { .. } if words.contains("wire version") => Self::permanent(
                Error::new(
                    ErrorKind::WrongVersion,
                    format!("the server at {address} is too old; the oldest supported version is MongoDB 5.0"),
                )
                .with_source(ErrorChain(words)),
            ),
            Mongo::Io(_) | Mongo::ConnectionPoolCleared { .. } => {
                Self::transient(address, &words)
            }
            Mongo::ServerSelection { .. } | Mongo::DnsResolve { .. } => Self {
                may_be_applied: false,
                ..Self::transient(address, &words)
            },
            Mongo::InvalidTlsConfig { .. } => Self::permanent(
                Error::new(ErrorKind::Engine, "the TLS files cannot be used")
                    .with_source(ErrorChain(words)),
            ),
            Mongo::InvalidResponse { .. } => Self {
                may_be_applied: true,
                ..Self::permanent(rejected(address, &words))
            },
            _ => Self::permanent(rejected(address, &words)),
        }
    }

    /// The request was not applied, and a retry fails too.
    pub(super) fn permanent(error: Error) -> Self {
        Self {
            error,
            is_transient: false,
            may_be_applied: false,
        }
    }

    /// The first error in a reply: of one of its writes, or of the write concern.
    pub(super) fn of_reply(address: &str, reply: &Document) -> Option<Self> {
        let code_and_text = |error: &Document| {
            let code = error.get_i32("code").unwrap_or_default();
            let words = error
                .get_str("errmsg")
                .unwrap_or("the server gave no reason");
            (code, words.to_owned())
        };
        let errors = reply.get_array("writeErrors").ok();
        let errors = errors
            .into_iter()
            .flatten()
            .filter_map(|error| error.as_document());
        let mut errors = errors
            .map(code_and_text)
            .filter(|(code, _)| *code != DUPLICATE);
        if let Some((code, words)) = errors.next() {
            return Some(Self::of_code(address, code, &words));
        }
        let (_, words) = code_and_text(reply.get_document("writeConcernError").ok()?);
        Some(Self::transient(address, &words))
    }

    fn of_code(address: &str, code: i32, words: &str) -> Self {
        let (kind, message) = match code {
            code if code == AUTHENTICATION_FAILED || is_missing_user(code, words) => (
                ErrorKind::Denied,
                format!(
                    "MongoDB at {address} rejects the user and password; use \
                     mongodb://user:password@…/database?authSource=admin"
                ),
            ),
            UNAUTHORIZED => (
                ErrorKind::Denied,
                format!("the user lacks permission on MongoDB at {address}; grant readWrite"),
            ),
            code if NOT_PRIMARY.contains(&code) => (
                ErrorKind::ReadOnly,
                format!(
                    "MongoDB at {address} is read-only: it is not the primary; name all members of \
                     the replica set, or wait until one is elected"
                ),
            ),
            code if TRANSIENT.contains(&code) => return Self::transient(address, words),
            code if is_out_of_space(code, words) => (
                ErrorKind::Full,
                format!("the disk or the quota of MongoDB at {address} is full; free some space"),
            ),
            _ => (
                ErrorKind::Engine,
                format!("MongoDB at {address} rejects a request"),
            ),
        };
        Self {
            is_transient: kind == ErrorKind::ReadOnly,
            ..Self::permanent(Error::new(kind, message).with_source(ErrorChain(words.to_owned())))
        }
    }
}

/// Whether the server requires a user, and the URL has none.
fn is_missing_user(code: i32, words: &str) -> bool {
    code == UNAUTHORIZED && words.contains("requires authentication")
}

/// Whether a write failed for lack of space. An error of WiredTiger has no code of its own: only its text
/// names the cause.
fn is_out_of_space(code: i32, words: &str) -> bool {
    let texts = ["No space left on device", "Disk quota exceeded"];
    code == OUT_OF_DISK_SPACE
        || INTERRUPTED_QUOTA.contains(&code)
        || texts.iter().any(|text| words.contains(text))
}

fn is_authentication_error(words: &str) -> bool {
    words.contains("Authentication") || words.contains("authentication")
}

fn unreachable(address: &str, words: &str) -> Error {
    let message =
        format!("cannot reach MongoDB at {address}; is it running, and is the URL right?");
    Error::new(ErrorKind::Unavailable, message).with_source(ErrorChain(words.to_owned()))
}

fn rejected(address: &str, words: &str) -> Error {
    let message = format!("MongoDB at {address} rejects a request");
    Error::new(ErrorKind::Engine, message).with_source(ErrorChain(words.to_owned()))
}

fn tls_error(address: &str, reason: &str) -> Error {
    let message = format!("the connection to MongoDB at {address} cannot be secured: {reason}");
    Error::new(ErrorKind::Denied, message)
}

/// The error of a document that is missing or that this program did not write.
pub(in crate::mongo) fn corrupt(problem: &str) -> Error {
    let message = format!("the data in MongoDB is corrupt: {problem}");
    Error::new(ErrorKind::Corrupt, message)
}

#[cfg(test)]
mod tests {
    use super::{ErrorKind, RequestFailure};

    #[test]
    fn a_full_disk_is_distinct_from_other_errors() {
        let of_storage_engine = "WiredTigerIdIndex::_insert: index: _id_; uri: table:index-13: 28: \
                                 No space left on device";
        let kinds = [
            (14031, "not enough room", ErrorKind::Full),
            (8, of_storage_engine, ErrorKind::Full),
            (8, "WT_ERROR: 122: Disk quota exceeded", ErrorKind::Full),
            (8, "another problem", ErrorKind::Engine),
        ];
        for (code, words, kind) in kinds {
            let failure = RequestFailure::of_code("host", code, words);
            assert_eq!(failure.error.kind(), kind, "{code} {words}");
            assert!(!failure.may_be_applied && !failure.is_transient);
        }
    }
}

//! From MongoDB's errors to the key space's, with what to do.

use espalier_keyspace::{Error, ErrorKind, Result};
use mongodb::bson::Document;
use mongodb::error::ErrorKind as Mongo;

use super::distrust;
use crate::error_chain::ErrorChain;

/// A second document with the same `_id`.
pub(super) const DUPLICATE: i32 = 11000;

/// Codes of a server that is no longer, or not yet, the one to ask: `NotWritablePrimary`,
/// `NotPrimaryNoSecondaryOk`, `NotPrimaryOrSecondary`.
const NOT_PRIMARY: &[i32] = &[10107, 13435, 13436];

/// Codes of a server that goes down or changes its part: `HostUnreachable`, `HostNotFound`,
/// `NetworkTimeout`, `ShutdownInProgress`, `LinearizableReadConcernError`, `PrimarySteppedDown`,
/// `ExceededTimeLimit`, `SocketException`, `InterruptedAtShutdown`, `InterruptedDueToReplStateChange`.
const PASSING: &[i32] = &[6, 7, 89, 91, 187, 189, 262, 9001, 11600, 11602];

const UNAUTHORIZED: i32 = 13;
const AUTHENTICATION_FAILED: i32 = 18;
const OUT_OF_DISK_SPACE: i32 = 14031;
const INTERRUPTED_QUOTA: &[i32] = &[8000, 12501];

/// Why a request was not carried out, or may not have been.
pub(in crate::mongo) struct Trouble {
    pub(in crate::mongo) error: Error,
    /// Whether the same request may succeed later.
    pub(in crate::mongo) is_passing: bool,
    /// Whether it may have been carried out all the same, or will be.
    pub(in crate::mongo) may_be_done: bool,
}

impl Trouble {
    /// The server did not answer in time.
    pub(super) fn no_answer(place: &str) -> Self {
        Self {
            error: unreachable(place, "it does not answer in time"),
            is_passing: true,
            may_be_done: true,
        }
    }

    /// No server is trusted, or none trusts us.
    pub(super) fn for_distrust(self, place: &str, problem: &str) -> Self {
        Self {
            error: untrusted(place, problem),
            is_passing: false,
            ..self
        }
    }

    pub(super) fn of(place: &str, error: &mongodb::error::Error) -> Self {
        let words = error.kind.to_string();
        if let Some(problem) = distrust::of(error) {
            return Self::refusal(untrusted(place, &problem));
        }
        match &*error.kind {
            Mongo::Command(command) => Self::of_code(place, command.code, &words),
            Mongo::Authentication { .. } => Self::of_code(place, AUTHENTICATION_FAILED, &words),
            // What went wrong on the way to a server is told in the words of the selection.
            Mongo::ServerSelection { .. } if is_about_user(&words) => {
                Self::of_code(place, AUTHENTICATION_FAILED, &words)
            }
            Mongo::ServerSelection { .. } if words.contains("wire version") => Self::refusal(
                Error::new(
                    ErrorKind::WrongVersion,
                    format!("the server at {place} is too old; it has to be MongoDB 5.0 or later"),
                )
                .with_source(ErrorChain(words)),
            ),
            Mongo::Io(_) | Mongo::ConnectionPoolCleared { .. } => Self {
                error: unreachable(place, &words),
                is_passing: true,
                may_be_done: true,
            },
            Mongo::ServerSelection { .. } | Mongo::DnsResolve { .. } => Self {
                error: unreachable(place, &words),
                is_passing: true,
                may_be_done: false,
            },
            Mongo::InvalidTlsConfig { .. } => Self::refusal(
                Error::new(ErrorKind::Engine, "the files for TLS cannot be used")
                    .with_source(ErrorChain(words)),
            ),
            Mongo::InvalidResponse { .. } => Self {
                may_be_done: true,
                ..Self::refusal(refused(place, &words))
            },
            _ => Self::refusal(refused(place, &words)),
        }
    }

    /// Nothing was done, and will not be however often it is asked for.
    pub(super) fn refusal(error: Error) -> Self {
        Self {
            error,
            is_passing: false,
            may_be_done: false,
        }
    }

    /// The errors of an answer: of one of its writes, or of waiting until they are safe.
    pub(super) fn of_answer(place: &str, answer: &Document) -> Option<Self> {
        let told = |error: &Document| {
            let code = error.get_i32("code").unwrap_or_default();
            let words = error.get_str("errmsg").unwrap_or("no reason is given");
            (code, words.to_owned())
        };
        let errors = answer.get_array("writeErrors").ok();
        let errors = errors
            .into_iter()
            .flatten()
            .filter_map(|error| error.as_document());
        let mut errors = errors.map(told).filter(|(code, _)| *code != DUPLICATE);
        if let Some((code, words)) = errors.next() {
            return Some(Self::of_code(place, code, &words));
        }
        let (_, words) = told(answer.get_document("writeConcernError").ok()?);
        Some(Self {
            error: unreachable(place, &words),
            is_passing: true,
            may_be_done: true,
        })
    }

    fn of_code(place: &str, code: i32, words: &str) -> Self {
        let (kind, message) = match code {
            code if code == AUTHENTICATION_FAILED || is_without_user(code, words) => (
                ErrorKind::Denied,
                format!(
                    "MongoDB at {place} does not accept user and password; write \
                     mongodb://user:password@…/database?authSource=admin"
                ),
            ),
            UNAUTHORIZED => (
                ErrorKind::Denied,
                format!("the user may not do this on MongoDB at {place}; grant readWrite"),
            ),
            code if NOT_PRIMARY.contains(&code) => (
                ErrorKind::ReadOnly,
                format!(
                    "MongoDB at {place} is read-only: it is not the primary; name all members of \
                     the replica set, or wait until one is elected"
                ),
            ),
            code if PASSING.contains(&code) => {
                return Self {
                    error: unreachable(place, words),
                    is_passing: true,
                    may_be_done: true,
                };
            }
            code if is_about_space(code, words) => (
                ErrorKind::Full,
                format!("the disk or the quota of MongoDB at {place} is full; make room there"),
            ),
            _ => (
                ErrorKind::Engine,
                format!("MongoDB at {place} refuses a request"),
            ),
        };
        Self {
            is_passing: kind == ErrorKind::ReadOnly,
            ..Self::refusal(Error::new(kind, message).with_source(ErrorChain(words.to_owned())))
        }
    }
}

/// Whether a server that knows users was asked without one.
fn is_without_user(code: i32, words: &str) -> bool {
    code == UNAUTHORIZED && words.contains("requires authentication")
}

/// Whether there is no room for a write. What WiredTiger meets has no code of its own: only its text
/// names the cause.
fn is_about_space(code: i32, words: &str) -> bool {
    let texts = ["No space left on device", "Disk quota exceeded"];
    code == OUT_OF_DISK_SPACE
        || INTERRUPTED_QUOTA.contains(&code)
        || texts.iter().any(|text| words.contains(text))
}

fn is_about_user(words: &str) -> bool {
    words.contains("Authentication") || words.contains("authentication")
}

fn unreachable(place: &str, words: &str) -> Error {
    let message = format!("cannot reach MongoDB at {place}; is it running, and is the URL right?");
    Error::new(ErrorKind::Unavailable, message).with_source(ErrorChain(words.to_owned()))
}

fn refused(place: &str, words: &str) -> Error {
    let message = format!("MongoDB at {place} refuses a request");
    Error::new(ErrorKind::Engine, message).with_source(ErrorChain(words.to_owned()))
}

fn untrusted(place: &str, problem: &str) -> Error {
    let message = format!("the connection to MongoDB at {place} cannot be secured: {problem}");
    Error::new(ErrorKind::Denied, message)
}

/// The error of a write that may as well be made again: what became of it does not matter.
pub(super) fn done(done: std::result::Result<(), Trouble>) -> Result<()> {
    done.map_err(|trouble| trouble.error)
}

/// A document that this program did not write.
pub(in crate::mongo) fn corrupt(what: &str) -> Error {
    let message = format!("a document in MongoDB is not what this program writes: {what}");
    Error::new(ErrorKind::Corrupt, message)
}

#[cfg(test)]
mod tests {
    use super::{ErrorKind, Trouble};

    #[test]
    fn a_full_disk_is_told_from_other_refusals() {
        let of_storage_engine = "WiredTigerIdIndex::_insert: index: _id_; uri: table:index-13: 28: \
                                 No space left on device";
        let kinds = [
            (14031, "not enough room", ErrorKind::Full),
            (8, of_storage_engine, ErrorKind::Full),
            (8, "WT_ERROR: 122: Disk quota exceeded", ErrorKind::Full),
            (8, "another problem", ErrorKind::Engine),
        ];
        for (code, words, kind) in kinds {
            let trouble = Trouble::of_code("host", code, words);
            assert_eq!(trouble.error.kind(), kind, "{code} {words}");
            assert!(!trouble.may_be_done && !trouble.is_passing);
        }
    }
}

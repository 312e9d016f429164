//! Records: what a front end fills in, and the stored form.

use std::borrow::Cow;
use std::fmt;

use espalier_store::Timestamp;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::error::AuditError;
use super::operation::{AuditKind, AuditOperation};
use super::sequence::AuditSequence;
use super::truncate::truncate;
use crate::time_text::time_text;

/// The format of stored records. A record of a later format is not read.
pub const RECORD_FORMAT: u64 = 1;

/// Maximum number of paths of a record. The number of further paths is in [`AuditEntry::paths_omitted`].
pub const PATHS_MAX: usize = 32;

/// Maximum bytes of a path. A longer path is truncated with [`crate::audit::TRUNCATION_MARK`], as other texts are.
pub const PATH_BYTES_MAX: usize = 1024;

/// Maximum bytes of the name of a session, a user, a transport, a peer, a target or an error-tag.
pub const NAME_BYTES_MAX: usize = 256;

/// Maximum bytes of a message.
pub const MESSAGE_BYTES_MAX: usize = 2048;

/// The error-tag of a request that access control rejected (RFC 6241 appendix A).
const ACCESS_DENIED: &str = "access-denied";

/// What happened: filled by the caller, bounded and stored by [`crate::audit::AuditLog::append`].
///
/// **Secrets must not enter.** No field may contain a password, a token, a key, a header, a body of a
/// request, or the value of a leaf. A token is recorded by its id. The user of a failed login may only be
/// filled in if such a user exists, because people type passwords into the field for the name. Paths contain
/// the values of list keys, and a message may be the error message that the client received.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct AuditEntry {
    /// The operation.
    pub operation: AuditOperation,
    /// The id of the session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The user's name, as authenticated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// The transport, such as `restconf` or `netconf-ssh`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transport: Option<String>,
    /// The client's address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peer: Option<String>,
    /// The object of the operation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<AuditTarget>,
    /// The changed, read or denied resources as instance identifiers, or the name of an RPC.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<String>,
    /// The number of paths that are not in `paths`.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub paths_omitted: u64,
    /// The version that the operation made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<u64>,
    /// The result.
    pub result: AuditResult,
    /// Further text, such as the error message.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// The object of an operation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum AuditTarget {
    /// A datastore of an anchor.
    Datastore {
        /// The dataspace.
        dataspace: String,
        /// The anchor.
        anchor: String,
        /// The datastore: `running`, `candidate`, ...
        datastore: String,
    },
    /// A schema set.
    SchemaSet {
        /// The dataspace.
        dataspace: String,
        /// The schema set.
        name: String,
    },
    /// A collection of documents.
    Collection(String),
    /// A metric.
    Metric(String),
    /// A user, by its name.
    User(String),
    /// A session, by its id.
    Session(String),
    /// A token, by its id.
    Token(String),
}

/// The kinds of errors of requests to collections, statistics and the log itself: what their records have in place of an
/// error-tag.
pub const PROBLEM_KINDS: [&str; 22] = [
    "access-denied",
    "building",
    "busy",
    "changed",
    "definition",
    "document",
    "engine",
    "exists",
    "internal",
    "limit",
    "media-type",
    "method",
    "missing",
    "overflow",
    "refused",
    "request",
    "room",
    "settings",
    "syntax",
    "timeout",
    "unique",
    "vetoed",
];

/// The result of an operation; `ok`, an error-tag or a kind of [`PROBLEM_KINDS`] in JSON.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", from = "String")]
pub enum AuditResult {
    /// The operation succeeded.
    #[default]
    Ok,
    /// The operation failed with this error-tag (RFC 6241 appendix A), or this kind of [`PROBLEM_KINDS`].
    Error(String),
}

impl AuditResult {
    /// `ok` or the error-tag.
    pub fn name(&self) -> &str {
        match self {
            Self::Ok => "ok",
            Self::Error(tag) => tag,
        }
    }
}

impl From<AuditResult> for String {
    fn from(result: AuditResult) -> Self {
        match result {
            AuditResult::Ok => "ok".to_owned(),
            AuditResult::Error(tag) => tag,
        }
    }
}

impl From<String> for AuditResult {
    fn from(name: String) -> Self {
        match name.as_str() {
            "ok" => Self::Ok,
            _ => Self::Error(name),
        }
    }
}

/// A record of the log. Its JSON is one object: `sequence`, `time` (RFC 3339), and the fields of the entry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditRecord {
    /// The place in the log.
    pub sequence: AuditSequence,
    /// The time of the record.
    #[serde(serialize_with = "print_time", deserialize_with = "parse_time")]
    pub time: Timestamp,
    /// What happened.
    #[serde(flatten)]
    pub entry: AuditEntry,
}

/// The value of a row. The sequence and the time are in the key.
#[derive(Serialize, Deserialize)]
struct StoredRecord<'a> {
    format: u64,
    #[serde(flatten)]
    entry: Cow<'a, AuditEntry>,
}

impl AuditEntry {
    /// An entry of a successful operation without further information.
    pub fn new(operation: AuditOperation) -> Self {
        Self {
            operation,
            session: None,
            user: None,
            transport: None,
            peer: None,
            target: None,
            paths: Vec::new(),
            paths_omitted: 0,
            version: None,
            result: AuditResult::Ok,
            message: String::new(),
        }
    }

    /// Adds a path, or counts it if there are [`PATHS_MAX`] paths. For callers with many paths.
    pub fn add_path(&mut self, path: impl FnOnce() -> String) {
        match self.paths.len() < PATHS_MAX {
            true => self.paths.push(path()),
            false => self.paths_omitted += 1,
        }
    }

    /// Whether the record is of this kind. A record whose result is `access-denied` is a denial too.
    pub fn is_of_kind(&self, kind: AuditKind) -> bool {
        let is_denied = matches!(&self.result, AuditResult::Error(tag) if tag == ACCESS_DENIED);
        self.operation.kind() == kind || (kind == AuditKind::Denials && is_denied)
    }

    /// The entry with every text and the number of paths within their limits.
    pub(super) fn bounded(mut self) -> Self {
        let omitted = self.paths.len().saturating_sub(PATHS_MAX);
        self.paths_omitted = self.paths_omitted.saturating_add(omitted as u64);
        self.paths.truncate(PATHS_MAX);
        for path in &mut self.paths {
            truncate(path, PATH_BYTES_MAX);
        }
        let names = [
            &mut self.session,
            &mut self.user,
            &mut self.transport,
            &mut self.peer,
        ];
        for name in names.into_iter().flatten() {
            truncate(name, NAME_BYTES_MAX);
        }
        for name in self.target.iter_mut().flat_map(AuditTarget::names_mut) {
            truncate(name, NAME_BYTES_MAX);
        }
        if let AuditResult::Error(tag) = &mut self.result {
            truncate(tag, NAME_BYTES_MAX);
        }
        truncate(&mut self.message, MESSAGE_BYTES_MAX);
        self
    }

    /// The value of the record's row.
    pub(super) fn encode(&self) -> Result<Vec<u8>, AuditError> {
        let stored = StoredRecord {
            format: RECORD_FORMAT,
            entry: Cow::Borrowed(self),
        };
        Ok(serde_json::to_vec(&stored)?)
    }
}

impl AuditTarget {
    fn names_mut(&mut self) -> Vec<&mut String> {
        match self {
            Self::Datastore {
                dataspace,
                anchor,
                datastore,
            } => vec![dataspace, anchor, datastore],
            Self::SchemaSet { dataspace, name } => vec![dataspace, name],
            Self::Collection(name)
            | Self::Metric(name)
            | Self::User(name)
            | Self::Session(name)
            | Self::Token(name) => vec![name],
        }
    }
}

impl fmt::Display for AuditTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Datastore {
                dataspace,
                anchor,
                datastore,
            } => write!(f, "datastore {dataspace}/{anchor}/{datastore}"),
            Self::SchemaSet { dataspace, name } => write!(f, "schema-set {dataspace}/{name}"),
            Self::Collection(name) => write!(f, "collection {name}"),
            Self::Metric(name) => write!(f, "metric {name}"),
            Self::User(name) => write!(f, "user {name}"),
            Self::Session(id) => write!(f, "session {id}"),
            Self::Token(id) => write!(f, "token {id}"),
        }
    }
}

impl AuditRecord {
    /// The record at `sequence`.
    pub(super) fn new(sequence: AuditSequence, entry: AuditEntry) -> Self {
        Self {
            sequence,
            time: sequence.time(),
            entry,
        }
    }

    /// Decodes a row. `None` if it is damaged or was written by a later version: one such row must not make
    /// the log unreadable.
    pub(super) fn decode(key: &[u8], value: &[u8]) -> Option<Self> {
        let sequence = AuditSequence::of_key(key)?;
        let stored: StoredRecord<'static> = serde_json::from_slice(value).ok()?;
        let is_readable = stored.format <= RECORD_FORMAT;
        is_readable.then(|| Self::new(sequence, stored.entry.into_owned()))
    }
}

fn print_time<S: Serializer>(time: &Timestamp, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&time_text(*time))
}

fn parse_time<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Timestamp, D::Error> {
    let text = Cow::<str>::deserialize(deserializer)?;
    let time: jiff::Timestamp = text.parse().map_err(serde::de::Error::custom)?;
    Ok(Timestamp(u64::try_from(time.as_millisecond()).unwrap_or(0)))
}

//! Errors of a store.

use espalier_keyspace::KeyspaceCause;
use espalier_yang::data::ParseError;
use espalier_yang::schema::SchemaErrors;
use espalier_yang::{DataError, ErrorTag, Errors};

/// The result of a store operation.
pub type Result<T> = std::result::Result<T, Error>;

/// An error of the store.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The data or the request is invalid: every error with its instance path.
    #[error("{0}")]
    Data(Errors),
    /// The modules do not compile.
    #[error("{0}")]
    Schema(#[from] SchemaErrors),
    /// A dataspace, schema set or anchor of this name does not exist.
    #[error("there is no {kind} named “{name}”")]
    Unknown {
        /// `dataspace`, `schema set` or `anchor`.
        kind: &'static str,
        /// The requested name.
        name: String,
    },
    /// A dataspace, schema set or anchor of this name exists already.
    #[error("a {kind} named “{name}” exists already")]
    Exists {
        /// `dataspace`, `schema set` or `anchor`.
        kind: &'static str,
        /// The name.
        name: String,
    },
    /// A dataspace or schema set is used, and cannot be deleted.
    #[error("the {kind} “{name}” is still used by {by}")]
    InUse {
        /// `dataspace` or `schema set`.
        kind: &'static str,
        /// The name.
        name: String,
        /// What uses it.
        by: String,
    },
    /// An invalid name.
    #[error("“{name}” cannot be the name of a {kind}: {reason}")]
    BadName {
        /// `dataspace`, `schema set` or `anchor`.
        kind: &'static str,
        /// The name.
        name: String,
        /// Why it is invalid.
        reason: &'static str,
    },
    /// A version that never existed.
    #[error("there is no version {version}; the newest is {newest}")]
    NoVersion {
        /// The requested version.
        version: u64,
        /// The newest version.
        newest: u64,
    },
    /// A version that is no longer kept.
    #[error("version {version} is no longer retained; the oldest retained version is {oldest}")]
    Pruned {
        /// The requested version.
        version: u64,
        /// The oldest version that is kept.
        oldest: u64,
    },
    /// The stored data does not fit the new modules of its schema set.
    #[error(
        "the data of {} do not fit the new modules: {errors}",
        anchor_list(anchors)
    )]
    Upgrade {
        /// The names of the anchors whose data does not fit.
        anchors: Vec<String>,
        /// Everything that does not fit. Where a schema set has more than one anchor, each message names
        /// its anchor.
        errors: Errors,
    },
    /// A document that was edited by hand while no process had the store open, and is not valid.
    #[error(
        "{file} was edited by hand and is rejected: {reason}\nnothing was changed: correct the file, or restore the stored version: mv '{stored}' '{file}'"
    )]
    Edited {
        /// The document.
        file: String,
        /// The file that holds the stored version.
        stored: String,
        /// The reason; every violation has its line and path.
        reason: Box<Self>,
    },
    /// A guard rejected the commit; nothing was changed.
    #[error("the resource is not in the state that the request expects")]
    Precondition,
    /// Reading the document failed before its end.
    #[error("the document could not be read: {0}")]
    Read(#[from] std::io::Error),
    /// Writing the document failed before its end.
    #[error("the document could not be written: {0}")]
    Write(std::io::Error),
    /// The reader of a document stopped before its end without giving an error.
    #[error("the document was not read to its end")]
    Stopped,
    /// The stored bytes are not those that this version of the code writes.
    #[error("the store is damaged: {0}")]
    Corrupt(String),
    /// The key space is the target of a copy or a restore that is not finished.
    #[error(
        "the key space is not complete: a transfer from {from} is in progress or was interrupted"
    )]
    Unfinished {
        /// The source of the transfer.
        from: String,
    },
    /// The target of a copy or a restore is not empty.
    #[error("the target is not empty")]
    NotEmpty,
    /// The source and the target of a copy are the same engine.
    #[error("the source and the target are the same")]
    SameEngine,
    /// Another writer changed the target of a copy or a restore.
    #[error("another transfer or another writer changed the target")]
    Interfered,
    /// The target of a copy or a restore does not hold the rows that were written to it.
    #[error("the target holds {found}, but {expected} were written")]
    Differs {
        /// The rows that were written.
        expected: String,
        /// The rows that were read back.
        found: String,
    },
    /// A backup file is damaged.
    #[error("the backup is damaged at {place}: {problem}")]
    Damaged {
        /// The place in the file.
        place: String,
        /// The problem there.
        problem: String,
    },
    /// An error of the engine.
    #[error(transparent)]
    Engine(#[from] espalier_keyspace::Error),
}

impl Error {
    /// One error in the data.
    pub fn data(tag: ErrorTag, message: impl Into<String>) -> Self {
        DataError::new(tag, message).into()
    }

    pub(crate) fn corrupt(message: impl Into<String>) -> Self {
        Self::Corrupt(message.into())
    }
}

impl KeyspaceCause for Error {
    fn keyspace(&self) -> Option<&espalier_keyspace::Error> {
        match self {
            Self::Engine(error) => Some(error),
            _ => None,
        }
    }
}

impl From<ParseError> for Error {
    fn from(error: ParseError) -> Self {
        match error {
            ParseError::Invalid(errors) => Self::Data(errors),
            ParseError::Read(error) => Self::Read(error),
            ParseError::Stopped => Self::Stopped,
        }
    }
}

impl From<DataError> for Error {
    fn from(error: DataError) -> Self {
        Self::Data(error.into())
    }
}

impl From<Errors> for Error {
    fn from(errors: Errors) -> Self {
        Self::Data(errors)
    }
}

/// At most this many anchors are named in a message.
const ANCHORS_NAMED_MAX: usize = 5;

/// Lists anchors for a message.
pub fn anchor_list(anchors: &[String]) -> String {
    let shown: Vec<String> = anchors
        .iter()
        .take(ANCHORS_NAMED_MAX)
        .map(|anchor| format!("“{anchor}”"))
        .collect();
    let shown = shown.join(", ");
    match anchors.len() {
        1 => format!("the anchor {shown}"),
        count if count <= ANCHORS_NAMED_MAX => format!("the anchors {shown}"),
        count => format!("the anchors {shown} and {} more", count - ANCHORS_NAMED_MAX),
    }
}

//! What can go wrong in a store.

use espalier_yang::data::ParseError;
use espalier_yang::schema::SchemaErrors;
use espalier_yang::{DataError, ErrorTag, Errors};

/// The result of a store operation.
pub type Result<T> = std::result::Result<T, Error>;

/// An error of the store.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The data, or what was asked of it, is wrong: every error with its instance path.
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
        /// The name that was asked for.
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
    /// A name that cannot be a name.
    #[error("“{name}” cannot be the name of a {kind}: {reason}")]
    BadName {
        /// `dataspace`, `schema set` or `anchor`.
        kind: &'static str,
        /// The name.
        name: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// A version that there never was.
    #[error("there is no version {version}; the newest is {newest}")]
    NoVersion {
        /// The version that was asked for.
        version: u64,
        /// The newest version.
        newest: u64,
    },
    /// A version that is no longer kept.
    #[error("version {version} is no longer kept; the oldest that is, is {oldest}")]
    Pruned {
        /// The version that was asked for.
        version: u64,
        /// The oldest version that is kept.
        oldest: u64,
    },
    /// Data do not fit modules that are to be put in place of their own.
    #[error("the data of {} do not fit the new modules: {errors}", named(anchors))]
    Upgrade {
        /// The anchors whose data do not fit, by name.
        anchors: Vec<String>,
        /// Everything that does not fit. Where a schema set has more than one anchor, each message names
        /// its anchor.
        errors: Errors,
    },
    /// A document that was edited by hand while nobody had the store open cannot be taken.
    #[error(
        "{file} was edited by hand and cannot be taken: {reason}\nnothing was changed: mend the file, or put back what is stored: mv '{stored}' '{file}'"
    )]
    Edited {
        /// The document.
        file: String,
        /// Where the document as it is stored was put.
        stored: String,
        /// Why; every violation has its line and path.
        reason: Box<Self>,
    },
    /// A guard refused the commit; nothing was changed.
    #[error("the resource is not in the state that the request expects")]
    Precondition,
    /// The document could not be read to its end.
    #[error("the document could not be read: {0}")]
    Read(#[from] std::io::Error),
    /// The document could not be written to its end.
    #[error("the document could not be written: {0}")]
    Write(std::io::Error),
    /// The reader of a document stopped before its end without saying why.
    #[error("the document was not read to its end")]
    Stopped,
    /// The stored bytes are not what this version of the code wrote.
    #[error("the store is damaged: {0}")]
    Corrupt(String),
    /// The key space is the target of a copy or a restore that has not ended.
    #[error(
        "the key space is not complete: it is being filled from {from}, or that was interrupted"
    )]
    Unfinished {
        /// What it is filled from.
        from: String,
    },
    /// The target of a copy or a restore holds something.
    #[error("the target is not empty")]
    NotEmpty,
    /// What is to be copied is its own target.
    #[error("the source and the target are the same")]
    SameEngine,
    /// Something else wrote to the target of a copy or a restore.
    #[error("something else is being copied to the target, or writes to it")]
    Interfered,
    /// The target of a copy or a restore does not hold what was written to it.
    #[error("the target holds {found} where {expected} were written")]
    Differs {
        /// What was written.
        expected: String,
        /// What is there.
        found: String,
    },
    /// A backup file is not what was written.
    #[error("the backup is damaged at {place}: {problem}")]
    Damaged {
        /// Where in the file.
        place: String,
        /// What is wrong there.
        problem: String,
    },
    /// The engine.
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

/// Anchors, for a message.
pub fn named(anchors: &[String]) -> String {
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

//! The error of a command: the message, the location and a hint on what to do next.

use std::borrow::Cow;
use std::fmt;
use std::io::ErrorKind;

use espalier_drivers::redacted;
use espalier_store::{Cause, Reported};
use espalier_yang::data::PrintError;
use espalier_yang::{DataError, ErrorTag, Errors};
use serde_json::{Value, json};

use crate::output::{escaped, escaped_lines};

/// The hint for a version that does not exist.
pub const VERSIONS_HINT: &str = "`espalier history` lists the versions that are kept";

/// The result of a command.
pub type Result<T> = std::result::Result<T, Failure>;

/// The kind of a failure, which determines the exit status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureKind {
    /// The command line, the configuration or a path is wrong: exit status 2.
    Usage,
    /// The data, the store or the server causes the failure: exit status 1.
    Data,
    /// Another writer changed the same data concurrently, and nothing was written: exit status 1.
    Conflict,
    /// The command needs a store, and there is none: exit status 2.
    NoStore,
    /// The reader closed the output, as `head` does: not reported, exit status 0.
    Closed,
    /// There are differences, which were printed: not reported, exit status 1.
    Different,
}

/// The failure of a command.
#[derive(Debug)]
pub struct Failure {
    kind: FailureKind,
    message: String,
    file: Option<String>,
    errors: Vec<DataError>,
    /// The number of errors, with those that are not in the list.
    errors_total: usize,
    /// The error that the message describes, for `--json`.
    detail: Option<Box<DataError>>,
    hint: Option<String>,
    is_answered: bool,
    cause: Cause,
}

/// The hint for data of nodes that new modules do not define.
const UNKNOWN_HINT: &str = "--drop-unknown removes data of nodes that the new modules do not have (--dry-run lists \
     them first); or change the data first, under the modules that the store has";

/// The hint for nodes that new modules require.
const MISSING_HINT: &str =
    "--fill PATH=VALUE gives a value to a leaf that became mandatory, in every entry that lacks it";

/// The hint for data that are invalid under new modules.
const INVALID_DATA_HINT: &str = "change the data first, under the modules that the store has; or load the \
     missing data (espalier load --yang NEW DOCUMENT) or all data (espalier load --replace --yang NEW DOCUMENT) under the \
     new modules. A load changes one datastore: data of startup, factory-default and candidates that do not fit are \
     removed first (espalier delete-config startup, espalier discard)";

impl Failure {
    /// The command line, the configuration or a path is wrong.
    pub fn usage(message: impl Into<String>) -> Self {
        Self::new(FailureKind::Usage, message)
    }

    /// The command needs a store, and there is none.
    pub fn no_store(message: impl Into<String>) -> Self {
        Self::new(FailureKind::NoStore, message)
    }

    /// Adds a hint on how to create a store, if the failure is a missing store.
    #[must_use]
    pub fn hint_of_making(self, hint: &str) -> Self {
        match self.kind {
            FailureKind::NoStore => self.hint(hint),
            _ => self,
        }
    }

    /// Any other failure: of the data, the store or the server.
    pub fn data(message: impl Into<String>) -> Self {
        Self::new(FailureKind::Data, message)
    }

    /// There is no data at a path, given as the user wrote it and as an instance identifier.
    pub fn nothing_at(written: &str, path: String) -> Self {
        let message = format!("there is nothing at {written}");
        let error = DataError::new(ErrorTag::DataMissing, message.clone()).at(path);
        Self::data(message).detail(error)
    }

    /// Another writer changed the same data concurrently, and nothing was written: exit status 1.
    fn conflict() -> Self {
        let message = "the data was changed by another writer, and nothing was stored";
        Self::new(FailureKind::Conflict, message).hint(
            "try again; `espalier lock` keeps other writers out while a large document is loaded",
        )
    }

    /// Returns whether a retry of the same command may succeed.
    pub fn is_overtaken(&self) -> bool {
        self.kind == FailureKind::Conflict
    }

    /// The reader closed the output.
    fn closed() -> Self {
        Self::new(FailureKind::Closed, "the output was closed")
    }

    /// The command ends here; nothing remains to be reported.
    pub fn done() -> Self {
        Self::closed()
    }

    /// The command ends here with the exit status 1, as it printed differences.
    pub fn different() -> Self {
        Self::new(FailureKind::Different, "there are differences")
    }

    /// Returns whether the failure is not reported.
    pub fn is_silent(&self) -> bool {
        matches!(self.kind, FailureKind::Closed | FailureKind::Different)
    }

    /// A failure with every error of a document or request.
    pub fn invalid(message: impl Into<String>, errors: &Errors) -> Self {
        let mut failure = Self::data(message);
        failure.errors = errors.iter().cloned().collect();
        failure.errors_total = errors.len();
        let is_of = |tag: &str| {
            let mut tags = errors.iter().map(|error| error.app_tag.as_deref());
            tags.any(|found| found == Some(tag))
        };
        if is_of(espalier_store::NO_SUCH_VERSION) {
            failure.hint = Some(VERSIONS_HINT.to_owned());
        }
        failure
    }

    /// Adds the hint for a change of modules that the data do not fit, if that is the failure.
    #[must_use]
    pub fn hint_of_modules(self) -> Self {
        let is_of_data = |error: &DataError| !error.path.is_empty();
        if self.hint.is_some() || !self.errors.iter().any(is_of_data) {
            return self;
        }
        // Other unknown elements, as those of a `when` that is false, are not removed.
        let is_unknown =
            |error: &DataError| error.app_tag.as_deref() == Some(espalier_store::UNKNOWN_NODE);
        let is_missing = |error: &DataError| {
            error.tag == ErrorTag::MissingElement || error.tag == ErrorTag::DataMissing
        };
        let hint = if self.errors.iter().all(is_unknown) {
            UNKNOWN_HINT.to_owned()
        } else if self.errors.iter().any(is_missing) {
            format!("{MISSING_HINT}; {INVALID_DATA_HINT}")
        } else {
            INVALID_DATA_HINT.to_owned()
        };
        self.hint(hint)
    }

    fn new(kind: FailureKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: shown(message),
            file: None,
            errors: Vec::new(),
            errors_total: 0,
            detail: None,
            hint: None,
            is_answered: false,
            cause: Cause::Request,
        }
    }

    /// Adds the file that the failure is in.
    #[must_use]
    pub fn in_file(mut self, file: impl fmt::Display) -> Self {
        self.file = Some(shown(file.to_string()));
        self
    }

    /// Returns whether the failure has a file.
    pub fn has_file(&self) -> bool {
        self.file.is_some()
    }

    /// Adds the place, as a line of a script, that the failure or its file is in.
    #[must_use]
    pub fn within(self, place: impl fmt::Display) -> Self {
        let file = match &self.file {
            Some(file) => format!("{place}: {file}"),
            None => place.to_string(),
        };
        self.in_file(file)
    }

    /// Adds the data error that the message describes: `--json` lists its tag and path, and the text does not repeat
    /// it.
    #[must_use]
    pub fn detail(mut self, error: DataError) -> Self {
        self.detail = Some(Box::new(error));
        self
    }

    /// Adds a hint on what to do next.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(shown(hint));
        self
    }

    /// Marks the failure as already part of the printed result, so that it is not printed a second time with
    /// `--json`.
    #[must_use]
    pub fn answered(mut self) -> Self {
        self.is_answered = true;
        self
    }

    /// Returns whether the printed result already contains the failure.
    pub fn is_answered(&self) -> bool {
        self.is_answered
    }

    /// The request was rejected: the data is not valid, or it is locked or unavailable.
    fn refused(errors: &Errors) -> Self {
        let is_of_data = |error: &DataError| {
            let is_somewhere = !error.path.is_empty() || error.line > 0;
            is_somewhere && !matches!(error.tag, ErrorTag::InUse | ErrorTag::LockDenied)
        };
        let message = match errors.iter().any(is_of_data) {
            true => "the data is not valid, and nothing was changed",
            false => "the request was refused, and nothing was changed",
        };
        Self::invalid(message, errors)
    }

    /// An error that is not in the data: its message, and its tag for `--json`.
    fn reported(message: impl Into<String>, reported: Reported) -> Self {
        let failure = Self::data(message);
        Self {
            cause: reported.cause,
            detail: reported.errors.iter().next().cloned().map(Box::new),
            ..failure
        }
    }

    /// The failure as a server reports it.
    pub fn into_reported(self) -> Reported {
        Reported {
            cause: self.cause,
            errors: self.into_errors(),
        }
    }

    /// The data errors; a failure without any is converted into one.
    pub fn into_errors(self) -> Errors {
        let mut errors = Errors::new();
        if self.errors.is_empty() {
            let own = DataError::new(ErrorTag::OperationFailed, self.message);
            errors.push(self.detail.map_or(own, |error| *error));
        }
        self.errors.into_iter().for_each(|error| errors.push(error));
        errors
    }

    /// The exit status of the process.
    pub fn exit_status(&self) -> u8 {
        match self.kind {
            FailureKind::Usage | FailureKind::NoStore => 2,
            FailureKind::Data | FailureKind::Conflict | FailureKind::Different => 1,
            FailureKind::Closed => 0,
        }
    }

    /// The machine-readable form, printed with `--json`.
    pub fn to_json(&self) -> Value {
        let errors = self.errors.iter().chain(self.detail.as_deref());
        let errors: Vec<_> = errors.map(|error| self.item(error)).collect();
        json!({"error": {
            "message": self.message,
            "file": self.file,
            "hint": self.hint,
            "exit-status": self.exit_status(),
            "errors-total": self.errors_total.max(errors.len()),
            "errors": errors,
        }})
    }

    fn item(&self, error: &DataError) -> Value {
        let info = error.info();
        json!({
            "file": self.file,
            "line": (error.line > 0).then_some(error.line),
            "error-path": (!error.path.is_empty()).then_some(&error.path),
            "error-type": error.kind.as_str(),
            "error-tag": error.tag.as_str(),
            "error-app-tag": error.app_tag,
            "error-message": redacted(&error.message),
            "error-info": (!info.is_empty()).then(|| info.to_json()),
        })
    }
}

/// Text from any source, without the passwords of the URLs in it.
fn shown(text: impl Into<String>) -> String {
    let text = text.into();
    match redacted(&text) {
        Cow::Borrowed(_) => text,
        Cow::Owned(shown) => shown,
    }
}

/// `file:line: path: message (tag)` for each error, then the hint.
impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "error: {}", escaped_lines(&self.message))?;
        let file = self.file.as_deref().map(escaped);
        match &file {
            Some(file) if self.errors.is_empty() => write!(f, " ({file})")?,
            _ => {}
        }
        for error in &self.errors {
            write!(f, "\n  ")?;
            match (&file, error.line) {
                (Some(file), 0) => write!(f, "{file}: ")?,
                (Some(file), line) => write!(f, "{file}:{line}: ")?,
                (None, 0) => {}
                (None, line) => write!(f, "line {line}: ")?,
            }
            if !error.path.is_empty() {
                write!(f, "{}: ", escaped(&error.path))?;
            }
            let message = redacted(&error.message);
            write!(f, "{} ({})", escaped(&message), error.tag.as_str())?;
        }
        match self.errors_total.saturating_sub(self.errors.len()) {
            0 => {}
            1 => write!(f, "\n  1 more error is not shown; correct these first")?,
            more => write!(
                f,
                "\n  {more} more errors are not shown; correct these first"
            )?,
        }
        if let Some(hint) = &self.hint {
            write!(f, "\n  {}", escaped_lines(hint))?;
        }
        Ok(())
    }
}

impl From<espalier_store::Error> for Failure {
    fn from(error: espalier_store::Error) -> Self {
        match error {
            espalier_store::Error::Data(errors) => Self::refused(&errors),
            error @ (espalier_store::Error::NoVersion { .. }
            | espalier_store::Error::Pruned { .. }) => {
                Self::reported(error.to_string(), error.into()).hint(VERSIONS_HINT)
            }
            espalier_store::Error::Edited {
                file,
                stored,
                reason,
            } => {
                let hint = format!(
                    "nothing was changed: correct the file, or restore the stored version: \
                     mv '{stored}' '{file}'"
                );
                let failure = match *reason {
                    espalier_store::Error::Data(errors) => {
                        Self::invalid("a document that was edited by hand is not valid", &errors)
                    }
                    other => {
                        let message = "a document that was edited by hand cannot be imported";
                        Self::data(format!("{message}: {other}"))
                    }
                };
                failure.in_file(file).hint(hint)
            }
            espalier_store::Error::Upgrade { anchors, errors } => {
                let message = format!(
                    "the data of {} do not fit the new modules, and nothing was changed",
                    espalier_store::anchor_list(&anchors)
                );
                Self::invalid(message, &errors).hint_of_modules()
            }
            espalier_store::Error::Engine(error) => error.into(),
            error @ espalier_store::Error::Unfinished { .. } => Self::data(error.to_string()).hint(
                "repeat the `espalier copy` or `espalier restore` with the same arguments: it continues where it \
                 stopped; --force begins anew",
            ),
            other => Self::reported(other.to_string(), other.into()),
        }
    }
}

impl From<espalier_keyspace::Error> for Failure {
    fn from(error: espalier_keyspace::Error) -> Self {
        let failure = Self::reported(error.to_string(), Reported::from(&error));
        match error.kind() {
            espalier_keyspace::ErrorKind::Conflict => Self {
                detail: failure.detail,
                cause: failure.cause,
                ..Self::conflict()
            },
            _ => failure,
        }
    }
}

impl From<espalier_stats::Error> for Failure {
    fn from(error: espalier_stats::Error) -> Self {
        Self::data(error.to_string())
    }
}

impl From<espalier_documents::Error> for Failure {
    fn from(error: espalier_documents::Error) -> Self {
        match error.kind() {
            espalier_documents::ErrorKind::Argument => Self::usage(error.to_string()),
            _ => Self::data(error.to_string()),
        }
    }
}

impl From<&PrintError> for Failure {
    fn from(error: &PrintError) -> Self {
        match error {
            PrintError::Write(error) if error.kind() == ErrorKind::BrokenPipe => Self::closed(),
            error => Self::data(format!("the data cannot be written: {error}")),
        }
    }
}

impl From<DataError> for Failure {
    fn from(error: DataError) -> Self {
        Self::invalid("the request is not valid", &Errors::from(error))
    }
}

impl From<Errors> for Failure {
    fn from(errors: Errors) -> Self {
        Self::refused(&errors)
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        if error.kind() == ErrorKind::BrokenPipe {
            return Self::closed();
        }
        Self::data(error.to_string())
    }
}

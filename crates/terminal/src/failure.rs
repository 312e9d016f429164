//! What a command says when it fails: what is wrong, where, and what to do next.

use std::borrow::Cow;
use std::fmt;
use std::io::ErrorKind;

use espalier_drivers::redacted;
use espalier_yang::data::PrintError;
use espalier_yang::{DataError, ErrorTag, Errors};
use serde_json::{Value, json};

use crate::output::{escaped, escaped_lines};

/// What to do where a version is not there.
pub const VERSIONS_HINT: &str = "`espalier history` lists the versions that are kept";

/// The result of a command.
pub type Result<T> = std::result::Result<T, Failure>;

/// How the process ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The command line, the configuration or a path is wrong: exit status 2.
    Usage,
    /// The data, the store or the server is not as needed: exit status 1.
    Data,
    /// Somebody else changed the same data meanwhile, and nothing was done: exit status 1.
    Overtaken,
    /// There is no store where one is needed: exit status 2.
    NoStore,
    /// Whoever read the output has had enough, as `head` does: no failure at all.
    Closed,
}

/// Why a command failed.
#[derive(Debug)]
pub struct Failure {
    kind: Kind,
    message: String,
    file: Option<String>,
    errors: Vec<DataError>,
    /// What the message says, for programs.
    detail: Option<Box<DataError>>,
    hint: Option<String>,
    is_answered: bool,
}

/// What to do about data that new modules do not have.
const UNKNOWN_HINT: &str = "--drop-unknown removes data of nodes that the new modules do not have (--dry-run lists \
     them first); or change the data first, under the modules that the store has";

/// What to do about data that do not fit new modules.
const MISFIT_HINT: &str = "change the data first, under the modules that the store has; or load with the new modules \
     what is missing (espalier load --yang NEW DOCUMENT) or everything anew (espalier load --replace --yang NEW DOCUMENT)";

impl Failure {
    /// A mistake in how the command was called.
    pub fn usage(message: impl Into<String>) -> Self {
        Self::new(Kind::Usage, message)
    }

    /// There is no store where one is needed.
    pub fn no_store(message: impl Into<String>) -> Self {
        Self::new(Kind::NoStore, message)
    }

    /// The same failure, with how to make a store where it is that there is none.
    #[must_use]
    pub fn hint_of_making(self, hint: &str) -> Self {
        match self.kind {
            Kind::NoStore => self.hint(hint),
            _ => self,
        }
    }

    /// Anything else that went wrong.
    pub fn data(message: impl Into<String>) -> Self {
        Self::new(Kind::Data, message)
    }

    /// There is nothing at a path, as the user wrote it and as an instance identifier.
    pub fn nothing_at(written: &str, path: String) -> Self {
        let message = format!("there is nothing at {written}");
        let error = DataError::new(ErrorTag::DataMissing, message.clone()).at(path);
        Self::data(message).detail(error)
    }

    /// Somebody else changed the same data meanwhile.
    fn overtaken() -> Self {
        let message = "somebody else changed the data meanwhile, and nothing was stored";
        Self::new(Kind::Overtaken, message).hint(
            "try again; for as long as a large document takes, `espalier lock` keeps others out",
        )
    }

    /// Whether the same may well succeed when it is tried again.
    pub fn is_overtaken(&self) -> bool {
        self.kind == Kind::Overtaken
    }

    /// Nobody reads the output any more.
    fn closed() -> Self {
        Self::new(Kind::Closed, "the output was closed")
    }

    /// The command ends here, and has said all that there is.
    pub fn done() -> Self {
        Self::closed()
    }

    /// Whether there is nothing to report.
    pub fn is_silent(&self) -> bool {
        self.kind == Kind::Closed
    }

    /// Every error of a document or request.
    pub fn invalid(message: impl Into<String>, errors: &Errors) -> Self {
        let mut failure = Self::data(message);
        failure.errors = errors.iter().cloned().collect();
        let dropped = errors.len() - failure.errors.len();
        if dropped > 0 {
            failure.hint = Some(format!(
                "{dropped} more errors are not shown; correct these first"
            ));
        }
        failure
    }

    fn new(kind: Kind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: shown(message),
            file: None,
            errors: Vec::new(),
            detail: None,
            hint: None,
            is_answered: false,
        }
    }

    /// The same failure, in a file.
    #[must_use]
    pub fn in_file(mut self, file: impl fmt::Display) -> Self {
        self.file = Some(shown(file.to_string()));
        self
    }

    /// The same failure, with the error in data that its message describes: `--json` lists its tag and
    /// path, and the text does not repeat it.
    #[must_use]
    pub fn detail(mut self, error: DataError) -> Self {
        self.detail = Some(Box::new(error));
        self
    }

    /// The same failure, with what to do next.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(shown(hint));
        self
    }

    /// The same failure of a command whose answer, printed already, says it: a program that reads the
    /// answer is told no more.
    #[must_use]
    pub fn answered(mut self) -> Self {
        self.is_answered = true;
        self
    }

    /// Whether what the command printed says it already.
    pub fn is_answered(&self) -> bool {
        self.is_answered
    }

    /// What was asked for was not done: the data is not valid, or it is locked or not to be had.
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

    /// The errors of the data; for a failure without such, itself as one.
    pub fn into_errors(self) -> Errors {
        let mut errors = Errors::new();
        if self.errors.is_empty() {
            let own = DataError::new(ErrorTag::OperationFailed, self.message);
            errors.push(self.detail.map_or(own, |error| *error));
        }
        self.errors.into_iter().for_each(|error| errors.push(error));
        errors
    }

    /// What the process ends with.
    pub fn exit_status(&self) -> u8 {
        match self.kind {
            Kind::Usage | Kind::NoStore => 2,
            Kind::Data | Kind::Overtaken => 1,
            Kind::Closed => 0,
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
            "errors": errors,
        }})
    }

    fn item(&self, error: &DataError) -> Value {
        json!({
            "file": self.file,
            "line": (error.line > 0).then_some(error.line),
            "error-path": (!error.path.is_empty()).then_some(&error.path),
            "error-type": error.kind.as_str(),
            "error-tag": error.tag.as_str(),
            "error-app-tag": error.app_tag,
            "error-message": redacted(&error.message),
        })
    }
}

/// Text that may come from anywhere: URLs in it lose their passwords.
fn shown(text: impl Into<String>) -> String {
    let text = text.into();
    match redacted(&text) {
        Cow::Borrowed(_) => text,
        Cow::Owned(shown) => shown,
    }
}

/// `file:line: path: message (tag)` for each error, then what to do.
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
                Self::data(error.to_string()).hint(VERSIONS_HINT)
            }
            espalier_store::Error::Edited {
                file,
                stored,
                reason,
            } => {
                let hint = format!(
                    "nothing was changed: mend the file, or put back what is stored: \
                     mv '{stored}' '{file}'"
                );
                let failure = match *reason {
                    espalier_store::Error::Data(errors) => {
                        Self::invalid("a document that was edited by hand is not valid", &errors)
                    }
                    other => {
                        let message = "a document that was edited by hand cannot be taken";
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
                let is_unknown = |error: &DataError| error.tag == ErrorTag::UnknownElement;
                let hint = match errors.iter().all(is_unknown) {
                    true => UNKNOWN_HINT,
                    false => MISFIT_HINT,
                };
                let more = errors.len() - errors.iter().len();
                let failure = Self::invalid(message, &errors);
                match more {
                    0 => failure.hint(hint),
                    more => failure.hint(format!("{more} more places are not shown; {hint}")),
                }
            }
            espalier_store::Error::Engine(error) => error.into(),
            error @ espalier_store::Error::Unfinished { .. } => Self::data(error.to_string()).hint(
                "repeat the `espalier copy` or `espalier restore` with the same arguments: it continues where it \
                 stopped; --force begins anew",
            ),
            other => Self::data(other.to_string()),
        }
    }
}

impl From<espalier_keyspace::Error> for Failure {
    fn from(error: espalier_keyspace::Error) -> Self {
        match error.kind() {
            espalier_keyspace::ErrorKind::Conflict => Self::overtaken(),
            _ => Self::data(error.to_string()),
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

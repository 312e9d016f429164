//! The identity that a request claims, in headers of this server, as HTTP has none for it.
//!
//! `Espalier-Session` names the session, which owns locks and private candidates; `Espalier-Author` and
//! `Espalier-Comment` are recorded in the history. Values are percent-encoded unless they are plain ASCII.
//! They are not authenticated: they only distinguish cooperating clients.

use espalier_yang::{DataError, ErrorTag, ErrorType};
use http::HeaderMap;
use percent_encoding::percent_decode_str;

/// The session.
pub const SESSION_HEADER: &str = "espalier-session";

/// The author of the commit.
pub const AUTHOR_HEADER: &str = "espalier-author";

/// The comment of the commit.
pub const COMMENT_HEADER: &str = "espalier-comment";

/// Maximum size of one of these headers.
const IDENTITY_BYTES_MAX: usize = 4096;

/// The identity that a request claims.
#[derive(Clone, Debug, Default)]
pub struct Who {
    /// The session; empty if none is given.
    pub session: String,
    /// The author; `None` means the default author of the server.
    pub author: Option<String>,
    /// The comment; may be empty.
    pub comment: String,
}

impl Who {
    /// Parses the headers of a request.
    pub fn of(headers: &HeaderMap) -> Result<Self, DataError> {
        Ok(Self {
            session: text(headers, SESSION_HEADER)?.unwrap_or_default(),
            author: text(headers, AUTHOR_HEADER)?,
            comment: text(headers, COMMENT_HEADER)?.unwrap_or_default(),
        })
    }
}

fn text(headers: &HeaderMap, name: &str) -> Result<Option<String>, DataError> {
    let Some(value) = headers.get(name) else {
        return Ok(None);
    };
    let wrong = || invalid(format!("the header {name} is not percent-encoded text"));
    let value = value.to_str().map_err(|_| wrong())?;
    if value.len() > IDENTITY_BYTES_MAX {
        let message = format!("the header {name} has more than {IDENTITY_BYTES_MAX} bytes");
        return Err(invalid(message));
    }
    let text = percent_decode_str(value).decode_utf8();
    Ok(Some(text.map_err(|_| wrong())?.into_owned()))
}

fn invalid(message: String) -> DataError {
    DataError::new(ErrorTag::InvalidValue, message).of_type(ErrorType::Protocol)
}

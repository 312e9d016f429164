//! Who a request is by: headers of our own, as HTTP has no place for it.
//!
//! `Espalier-Session` names the session that holds locks and private candidates,
//! `Espalier-Author` and `Espalier-Comment` go to the history. Values are percent-encoded where
//! they are not plain ASCII. Nothing is proved by them: they tell honest clients apart.

use espalier_yang::{DataError, ErrorTag, ErrorType};
use http::HeaderMap;
use percent_encoding::percent_decode_str;

/// Names the session.
pub const SESSION_HEADER: &str = "espalier-session";

/// Names the author of the commit.
pub const AUTHOR_HEADER: &str = "espalier-author";

/// Says why the commit is made.
pub const COMMENT_HEADER: &str = "espalier-comment";

/// Bytes in a header of these, at the most.
const WHO_BYTES_MAX: usize = 4096;

/// Who a request is by.
#[derive(Clone, Debug, Default)]
pub struct Who {
    /// The session; empty for nobody in particular.
    pub session: String,
    /// The author; none where the server's own stands.
    pub author: Option<String>,
    /// The comment; may be empty.
    pub comment: String,
}

impl Who {
    /// What the headers of a request say.
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
    if value.len() > WHO_BYTES_MAX {
        let message = format!("the header {name} has more than {WHO_BYTES_MAX} bytes");
        return Err(invalid(message));
    }
    let text = percent_decode_str(value).decode_utf8();
    Ok(Some(text.map_err(|_| wrong())?.into_owned()))
}

fn invalid(message: String) -> DataError {
    DataError::new(ErrorTag::InvalidValue, message).of_type(ErrorType::Protocol)
}

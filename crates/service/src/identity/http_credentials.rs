//! The credentials in the `Authorization` field of HTTP: `Basic` (RFC 7617) and `Bearer` (RFC 6750).

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::credentials::Credentials;

/// The maximum length of the value of `Authorization`, in bytes.
pub const AUTHORIZATION_BYTES_MAX: usize = 8 * 1024;

/// An `Authorization` value that cannot be used. No message has a part of the value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HttpCredentialsError {
    /// The value is too long.
    #[error(
        "Authorization has more than {AUTHORIZATION_BYTES_MAX} bytes (AUTHORIZATION_BYTES_MAX)"
    )]
    TooLong,
    /// Another scheme.
    #[error("the scheme of Authorization is not supported; use Basic or Bearer")]
    Scheme,
    /// The scheme is not followed by one value.
    #[error("Authorization is not a scheme, a space, and one value")]
    Form,
    /// The credentials of `Basic` are not base64.
    #[error("the credentials of Authorization: Basic are not base64")]
    Base64,
    /// The credentials of `Basic` are not UTF-8.
    #[error("the credentials of Authorization: Basic are not UTF-8")]
    Utf8,
    /// The credentials of `Basic` have no colon between user and password.
    #[error("the credentials of Authorization: Basic have no colon after the user name")]
    Colon,
    /// The user name or the password has a control character (RFC 7617 §2).
    #[error("the credentials of Authorization: Basic have a control character")]
    Control,
    /// The token of `Bearer` has a character that none has (RFC 6750 §2.1).
    #[error("the token of Authorization: Bearer has an invalid character")]
    Token,
}

/// Parses the value of `Authorization`.
///
/// # Errors
/// The value has another scheme or is malformed.
pub fn parse_authorization(value: &[u8]) -> Result<Credentials, HttpCredentialsError> {
    if value.len() > AUTHORIZATION_BYTES_MAX {
        return Err(HttpCredentialsError::TooLong);
    }
    let value = value.trim_ascii();
    let space = value.iter().position(|&byte| byte == b' ');
    let (scheme, credentials) = value.split_at(space.unwrap_or(value.len()));
    let credentials = credentials.trim_ascii_start();
    let parse = match scheme {
        _ if scheme.eq_ignore_ascii_case(b"basic") => parse_basic,
        _ if scheme.eq_ignore_ascii_case(b"bearer") => parse_bearer,
        _ => return Err(HttpCredentialsError::Scheme),
    };
    if credentials.is_empty() || credentials.iter().any(u8::is_ascii_whitespace) {
        return Err(HttpCredentialsError::Form);
    }
    parse(credentials)
}

/// RFC 7617 §2: base64 of the user name, a colon, and the password; in UTF-8 (§2.1).
fn parse_basic(credentials: &[u8]) -> Result<Credentials, HttpCredentialsError> {
    let decoded = STANDARD.decode(credentials);
    let decoded = decoded.map_err(|_| HttpCredentialsError::Base64)?;
    let text = std::str::from_utf8(&decoded).map_err(|_| HttpCredentialsError::Utf8)?;
    if text.chars().any(char::is_control) {
        return Err(HttpCredentialsError::Control);
    }
    let (user, password) = text.split_once(':').ok_or(HttpCredentialsError::Colon)?;
    Ok(Credentials::Password {
        user: user.to_owned(),
        password: password.to_owned(),
    })
}

/// RFC 6750 §2.1: letters, digits, `-._~+/`, and `=` at the end.
fn parse_bearer(credentials: &[u8]) -> Result<Credentials, HttpCredentialsError> {
    let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~+/=".contains(&byte);
    match std::str::from_utf8(credentials) {
        Ok(token) if token.bytes().all(is_token) => Ok(Credentials::Token(token.to_owned())),
        _ => Err(HttpCredentialsError::Token),
    }
}

//! The failures of [`super::Authenticator`].

use std::io;
use std::time::Duration;

use super::certificate_path::CertificateError;
use super::token_store::TokenError;

/// A failed authentication. No message has a secret, or shows whether a user exists.
#[derive(Debug, thiserror::Error)]
pub enum AuthenticationError {
    /// There are no credentials.
    #[error("authentication is required")]
    Required,
    /// The user does not exist or has another password.
    #[error("the user name or the password is wrong")]
    Password,
    /// Passwords are not accepted (RFC 7317 §3.3).
    #[error(
        "passwords are not accepted: user-authentication-order of ietf-system does not have local-users"
    )]
    PasswordsNotAccepted,
    /// The token is not valid, or its user was removed.
    #[error("the token is invalid or was revoked")]
    Token,
    /// The token is expired.
    #[error("the token is expired")]
    TokenExpired,
    /// The user does not exist or does not have the public key.
    #[error("the public key is not one of the user's")]
    PublicKey,
    /// The certificate cannot be used.
    #[error(transparent)]
    Certificate(#[from] CertificateError),
    /// No entry of cert-to-name gives a name for the certificate.
    #[error("the certificate has no user: no entry of cert-to-name matches")]
    UnmappedCertificate,
    /// The user id has no name.
    #[error("user id {0} has no name on this machine")]
    UnknownUid(u32),
    /// There were too many failures.
    #[error("too many failed logins; retry in {} seconds", retry_after.as_secs() + 1)]
    TooManyFailures {
        /// The time until the next try.
        retry_after: Duration,
    },
    /// The server computes too many password hashes.
    #[error("the server is busy with other logins; retry")]
    Busy,
    /// The stored tokens could not be read.
    #[error("the token could not be verified: {0}")]
    Store(TokenError),
    /// The groups of the user could not be read from the operating system.
    #[error("the groups of the user cannot be read now: {0}")]
    Groups(io::Error),
    /// The users or the access rules could not be read.
    #[error("the users cannot be read now: {0}")]
    Configuration(#[from] espalier_store::Error),
}

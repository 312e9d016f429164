//! Which check of a handshake failed, in the words of the log.

use std::io;

use rustls::{AlertDescription, CertificateError, Error};

/// A failed handshake.
#[derive(Debug, thiserror::Error)]
pub(super) enum FailedCheck {
    #[error("the client sent no certificate")]
    NoCertificate,
    #[error("the certificate of the client is not signed by a trusted authority")]
    UnknownAuthority,
    #[error("the certificate of the client is expired")]
    Expired,
    #[error("the certificate of the client is not valid yet")]
    NotValidYet,
    #[error("the certificate of the client is revoked")]
    Revoked,
    #[error("the certificate of the client is not for clients (extended key usage)")]
    Purpose,
    #[error("the signature of the client's certificate or of its authority is wrong")]
    Signature,
    #[error("the certificate of the client cannot be used: {0}")]
    Certificate(CertificateError),
    #[error("the client rejected the certificate of the server ({0:?})")]
    ServerCertificate(AlertDescription),
    #[error("the client ended the handshake ({0:?})")]
    Alert(AlertDescription),
    #[error("the client has no version or cipher of TLS in common with the server: {0}")]
    Incompatible(String),
    #[error("the client does not use TLS: {0}")]
    NotTls(String),
    #[error("the handshake took too long (login_grace)")]
    Timeout,
    #[error("the connection ended in the handshake: {0}")]
    Connection(io::Error),
}

impl FailedCheck {
    /// The cause of an error of a handshake.
    pub fn of(error: io::Error) -> Self {
        match error.get_ref().and_then(|cause| cause.downcast_ref()) {
            Some(cause) => Self::of_tls(cause),
            None => Self::Connection(error),
        }
    }

    fn of_tls(error: &Error) -> Self {
        match error {
            Error::NoCertificatesPresented => Self::NoCertificate,
            Error::InvalidCertificate(error) => Self::of_certificate(error),
            Error::AlertReceived(alert) => Self::of_alert(*alert),
            Error::InvalidMessage(_) | Error::InappropriateMessage { .. } => {
                Self::NotTls(error.to_string())
            }
            error => Self::Incompatible(error.to_string()),
        }
    }

    fn of_certificate(error: &CertificateError) -> Self {
        match error {
            CertificateError::UnknownIssuer => Self::UnknownAuthority,
            CertificateError::Expired | CertificateError::ExpiredContext { .. } => Self::Expired,
            CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
                Self::NotValidYet
            }
            CertificateError::Revoked => Self::Revoked,
            CertificateError::InvalidPurpose | CertificateError::InvalidPurposeContext { .. } => {
                Self::Purpose
            }
            CertificateError::BadSignature => Self::Signature,
            error => Self::Certificate(error.clone()),
        }
    }

    fn of_alert(alert: AlertDescription) -> Self {
        match alert {
            AlertDescription::UnknownCA
            | AlertDescription::BadCertificate
            | AlertDescription::UnsupportedCertificate
            | AlertDescription::CertificateExpired
            | AlertDescription::CertificateRevoked
            | AlertDescription::CertificateUnknown => Self::ServerCertificate(alert),
            alert => Self::Alert(alert),
        }
    }

    /// Whether it has an audit record: it is the client's, and not only the end of its connection.
    pub fn is_recorded(&self) -> bool {
        !matches!(self, Self::Connection(_) | Self::Timeout)
    }
}

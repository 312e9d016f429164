//! TLS to a server (RFC 7589).

use std::io;
use std::sync::Arc;

use rustls::{AlertDescription, CertificateError, ClientConfig, Error};
use rustls_pki_types::ServerName;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::error::ClientError;

/// How a client uses TLS.
#[derive(Clone, Debug)]
pub struct TlsOptions {
    /// Trusted authorities, and the client's own certificate.
    pub config: Arc<ClientConfig>,
    /// The name that the server's certificate must have; `None` for the host of the target.
    pub server_name: Option<String>,
}

impl TlsOptions {
    /// Completes the handshake.
    pub(super) async fn secure(
        &self,
        stream: TcpStream,
        host: &str,
    ) -> Result<TlsStream<TcpStream>, ClientError> {
        let name = self.server_name.as_deref().unwrap_or(host);
        let server = ServerName::try_from(name.to_owned()).map_err(|_| {
            ClientError::Transport(format!("“{name}” is no name that a certificate could have"))
        })?;
        let connector = TlsConnector::from(Arc::clone(&self.config));
        let secured = connector.connect(server, stream).await;
        secured.map_err(|error| ClientError::Transport(failed_check(&error, name)))
    }
}

/// Which check of a handshake, or of what follows it, has failed.
pub(super) fn failed_check(error: &io::Error, name: &str) -> String {
    let cause = error.get_ref().and_then(|cause| cause.downcast_ref());
    match cause {
        Some(Error::InvalidCertificate(error)) => of_certificate(error, name),
        Some(Error::AlertReceived(alert)) => of_alert(*alert),
        Some(Error::InvalidMessage(_)) => format!("the server does not use TLS: {error}"),
        _ => format!("the TLS handshake failed: {error}"),
    }
}

fn of_certificate(error: &CertificateError, name: &str) -> String {
    match error {
        CertificateError::UnknownIssuer => {
            "the certificate of the server is not signed by a trusted authority".to_owned()
        }
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
            "the certificate of the server is expired".to_owned()
        }
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            format!("the certificate of the server is not for “{name}”")
        }
        error => format!("the certificate of the server cannot be used: {error}"),
    }
}

fn of_alert(alert: AlertDescription) -> String {
    match alert {
        AlertDescription::CertificateRequired => {
            "the server needs a certificate of the client".to_owned()
        }
        AlertDescription::UnknownCA
        | AlertDescription::BadCertificate
        | AlertDescription::UnsupportedCertificate
        | AlertDescription::CertificateExpired
        | AlertDescription::CertificateRevoked
        | AlertDescription::CertificateUnknown
        | AlertDescription::AccessDenied => {
            format!("the server rejected the certificate of the client ({alert:?})")
        }
        alert => format!("the server ended the TLS handshake ({alert:?})"),
    }
}

//! TLS from PEM files.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::RwLock;
use rustls::RootCertStore;
use rustls::ServerConfig;
use rustls::crypto::CryptoProvider;
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::ClientCertVerifier;
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};

/// The paths of the TLS material.
#[derive(Clone, Debug)]
pub struct TlsFiles {
    /// The certificate chain, the server's own first.
    pub certificate: PathBuf,
    /// The private key: PKCS #8, PKCS #1 or SEC 1.
    pub key: PathBuf,
    /// The authorities of client certificates; if absent, clients need no certificate.
    pub client_authorities: Option<PathBuf>,
}

/// Why TLS cannot be configured.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TlsError {
    /// A file is missing, or is not PEM of the expected kind.
    #[error("{}: {source}", .path.display())]
    Pem {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: rustls_pki_types::pem::Error,
    },
    /// A file contains no certificate.
    #[error("{}: contains no certificate", .0.display())]
    Empty(PathBuf),
    /// The certificate and key do not match, or cannot be used.
    #[error("the TLS certificate and key cannot be used: {0}")]
    Unusable(#[from] rustls::Error),
    /// The client authorities cannot be used.
    #[error("the client authorities cannot be used: {0}")]
    Authorities(#[from] rustls::server::VerifierBuilderError),
}

/// The TLS configuration of a server. Clones share it, so that it can be replaced while the server runs.
#[derive(Clone, Debug)]
pub struct Tls {
    current: Arc<RwLock<Arc<TlsConfig>>>,
}

/// A configuration.
#[derive(Debug)]
pub(crate) struct TlsConfig {
    pub server: Arc<ServerConfig>,
    /// The certificate of the server, which names its hosts.
    pub certificate: CertificateDer<'static>,
    /// The authorities of client certificates.
    pub client_authorities: Vec<CertificateDer<'static>>,
    /// What verifies client certificates; `None` if clients need none.
    pub client_verifier: Option<Arc<dyn ClientCertVerifier>>,
}

impl Tls {
    /// The authorities of client certificates, in DER; none if clients need no certificate.
    pub fn client_authorities(&self) -> Vec<Vec<u8>> {
        let config = self.config();
        let authorities = config.client_authorities.iter();
        authorities.map(|one| one.to_vec()).collect()
    }

    /// Replaces the configuration for the connections that are accepted from now on.
    pub fn replace(&self, other: &Self) {
        let config = other.config();
        *self.current.write() = config;
    }

    /// The configuration at present.
    pub(crate) fn config(&self) -> Arc<TlsConfig> {
        Arc::clone(&self.current.read())
    }
}

/// Loads the configuration for [`crate::server::serve`]: TLS 1.2 and 1.3, HTTP/2 preferred by ALPN.
pub fn tls_config(files: &TlsFiles) -> Result<Tls, TlsError> {
    let chain = certificates(&files.certificate)?;
    let key = PrivateKeyDer::from_pem_file(&files.key).map_err(|e| pem(&files.key, e))?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()?;
    let client_authorities = match &files.client_authorities {
        None => Vec::new(),
        Some(path) => certificates(path)?,
    };
    let client_verifier = match &files.client_authorities {
        None => None,
        Some(path) => Some(verifier_of(path, &client_authorities, provider)?),
    };
    let builder = match &client_verifier {
        None => builder.with_no_client_auth(),
        Some(verifier) => builder.with_client_cert_verifier(Arc::clone(verifier)),
    };
    let certificate = chain.first().cloned();
    let certificate = certificate.ok_or_else(|| TlsError::Empty(files.certificate.clone()))?;
    let mut config = builder.with_single_cert(chain, key)?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    let config = TlsConfig {
        server: Arc::new(config),
        certificate,
        client_authorities,
        client_verifier,
    };
    Ok(Tls {
        current: Arc::new(RwLock::new(Arc::new(config))),
    })
}

/// What verifies that one of the authorities in a file signed a client certificate.
fn verifier_of(
    path: &Path,
    authorities: &[CertificateDer<'static>],
    provider: Arc<CryptoProvider>,
) -> Result<Arc<dyn ClientCertVerifier>, TlsError> {
    let mut roots = RootCertStore::empty();
    for certificate in authorities {
        roots.add(certificate.clone())?;
    }
    if roots.is_empty() {
        return Err(TlsError::Empty(path.to_owned()));
    }
    let builder = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
    Ok(builder.build()?)
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    CertificateDer::pem_file_iter(path)
        .and_then(Iterator::collect)
        .map_err(|e| pem(path, e))
}

fn pem(path: &Path, source: rustls_pki_types::pem::Error) -> TlsError {
    TlsError::Pem {
        path: path.to_path_buf(),
        source,
    }
}

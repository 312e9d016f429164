//! TLS connections, with `rustls`.

use std::future::Future;
use std::io;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_postgres::tls::{ChannelBinding, MakeTlsConnect, TlsConnect, TlsStream};
use tokio_rustls::client;
use tokio_rustls::rustls::client::WantsClientCert;
use tokio_rustls::rustls::client::danger::{
    HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier,
};
use tokio_rustls::rustls::crypto::{CryptoProvider, ring};
use tokio_rustls::rustls::{
    CertificateError, ClientConfig, ConfigBuilder, DigitallySignedStruct, Error, SignatureScheme,
};

use crate::file_verifier::FileVerifier;
use crate::postgres::{Config, Identity, Security};

/// Establishes TLS on connections.
#[derive(Clone)]
pub(super) struct Connector {
    config: Arc<ClientConfig>,
}

impl Connector {
    pub(super) fn new(config: &Config) -> Result<Self, String> {
        let provider = Arc::new(ring::default_provider());
        let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .map_err(|error| error.to_string())?;
        let verifier = Verifier::new(&config.security, provider)?;
        let builder = builder
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(verifier));
        let config = match &config.identity {
            Some(identity) => with_identity(builder, identity)?,
            None => builder.with_no_client_auth(),
        };
        Ok(Self {
            config: Arc::new(config),
        })
    }
}

/// The TLS configuration with a client certificate.
fn with_identity(
    builder: ConfigBuilder<ClientConfig, WantsClientCert>,
    identity: &Identity,
) -> Result<ClientConfig, String> {
    let Identity { certificate, key } = identity;
    let chain = certificates(certificate)?;
    let secret = PrivateKeyDer::from_pem_file(key).map_err(|error| file_error(key, &error))?;
    let built = builder.with_client_auth_cert(chain, secret);
    built.map_err(|error| file_error(certificate, &error))
}

/// Reads all certificates of a file.
fn certificates(file: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let read = CertificateDer::pem_file_iter(file).and_then(Iterator::collect);
    read.map_err(|error| file_error(file, &error))
}

fn file_error(file: &Path, problem: &dyn std::error::Error) -> String {
    format!("{}: {problem}", file.display())
}

/// The verifier of the server's certificate.
#[derive(Debug)]
enum Verifier {
    /// Accepts any certificate.
    AcceptAny(Arc<CryptoProvider>),
    /// Verifies that an authority has signed it.
    Authority(FileVerifier),
    /// Verifies the authority and that the certificate is for the host.
    Host(FileVerifier),
}

impl Verifier {
    fn new(security: &Security, provider: Arc<CryptoProvider>) -> Result<Self, String> {
        let (file, verifier): (_, fn(_) -> Self) = match security {
            Security::Disable | Security::Prefer | Security::Require => {
                return Ok(Self::AcceptAny(provider));
            }
            Security::VerifyAuthority(file) => (file, Self::Authority),
            Security::VerifyHost(file) => (file, Self::Host),
        };
        let built = FileVerifier::of_file(file, provider);
        built.map(verifier).map_err(|error| error.to_string())
    }
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let verify = |verifier: &FileVerifier| {
            verifier.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now)
        };
        match self {
            Self::AcceptAny(_) => Ok(ServerCertVerified::assertion()),
            Self::Host(verifier) => verify(verifier),
            Self::Authority(verifier) => match verify(verifier) {
                // The name is verified last, so everything else is valid.
                Err(Error::InvalidCertificate(
                    CertificateError::NotValidForName
                    | CertificateError::NotValidForNameContext { .. },
                )) => Ok(ServerCertVerified::assertion()),
                verified => verified,
            },
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        match self {
            Self::AcceptAny(provider) => tokio_rustls::rustls::crypto::verify_tls12_signature(
                message,
                certificate,
                signed,
                &provider.signature_verification_algorithms,
            ),
            Self::Authority(verifier) | Self::Host(verifier) => {
                verifier.verify_tls12_signature(message, certificate, signed)
            }
        }
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        match self {
            Self::AcceptAny(provider) => tokio_rustls::rustls::crypto::verify_tls13_signature(
                message,
                certificate,
                signed,
                &provider.signature_verification_algorithms,
            ),
            Self::Authority(verifier) | Self::Host(verifier) => {
                verifier.verify_tls13_signature(message, certificate, signed)
            }
        }
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        match self {
            Self::AcceptAny(provider) => provider
                .signature_verification_algorithms
                .supported_schemes(),
            Self::Authority(verifier) | Self::Host(verifier) => verifier.supported_verify_schemes(),
        }
    }
}

impl<S> MakeTlsConnect<S> for Connector
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    type Stream = SecuredStream<S>;
    type TlsConnect = Connect;
    type Error = io::Error;

    fn make_tls_connect(&mut self, domain: &str) -> io::Result<Connect> {
        let name = ServerName::try_from(domain.to_owned());
        Ok(Connect {
            name: name.map_err(io::Error::other)?,
            config: Arc::clone(&self.config),
        })
    }
}

/// The future TLS stream of one connection.
pub(super) struct Connect {
    name: ServerName<'static>,
    config: Arc<ClientConfig>,
}

impl<S> TlsConnect<S> for Connect
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    type Stream = SecuredStream<S>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<SecuredStream<S>>> + Send>>;

    fn connect(self, stream: S) -> Self::Future {
        let connecting = tokio_rustls::TlsConnector::from(self.config).connect(self.name, stream);
        Box::pin(async { connecting.await.map(SecuredStream) })
    }
}

/// A TLS stream.
pub(super) struct SecuredStream<S>(client::TlsStream<S>);

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncRead for SecuredStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(context, buffer)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for SecuredStream<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(context)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> TlsStream for SecuredStream<S> {
    fn channel_binding(&self) -> ChannelBinding {
        ChannelBinding::none()
    }
}

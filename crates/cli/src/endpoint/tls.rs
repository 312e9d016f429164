//! TLS to a server with a certificate that is in a file, or is signed by one in the file: `--server-ca`.
//!
//! ureq's own connector supports authorities only; [`FileVerifier`] documents what else is accepted.

use std::io::{Read, Write};
use std::path::Path;
use std::sync::Arc;
use std::{fmt, fs};

use espalier_drivers::FileVerifier;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, ClientConnection, StreamOwned};
use ureq::tls::{Certificate, ClientCert, PrivateKey};
use ureq::unversioned::transport::{
    Buffers, ConnectionDetails, Connector, Either, LazyBuffers, NextTimeout, Transport,
    TransportAdapter,
};

use crate::settings::Settings;
use espalier_terminal::{Failure, Result};

/// The client certificate with its key: `--client-cert` and `--client-key`.
pub struct ClientIdentity {
    /// The client's own certificate is first.
    chain: Vec<CertificateDer<'static>>,
    key_pem: Vec<u8>,
}

impl ClientIdentity {
    /// Reads the files named by the settings; `None` if they name none.
    pub fn from_settings(settings: &Settings) -> Result<Option<Self>> {
        let (certificate, key) = match (&settings.client_cert, &settings.client_key) {
            (Some(certificate), Some(key)) => (certificate, key),
            (None, None) => return Ok(None),
            _ => return Err(Failure::usage("--client-cert and --client-key go together")),
        };
        let unreadable = |option: &str, file: &Path, reason: &dyn fmt::Display| {
            Failure::usage(format!("{option}: this cannot be read: {reason}"))
                .in_file(file.display())
        };
        let chain = CertificateDer::pem_file_iter(certificate)
            .and_then(Iterator::collect::<std::result::Result<Vec<_>, _>>)
            .map_err(|error| unreadable("--client-cert", certificate, &error))?;
        if chain.is_empty() {
            let reason = "there is no certificate in it";
            return Err(unreadable("--client-cert", certificate, &reason));
        }
        let key_pem = fs::read(key).map_err(|error| unreadable("--client-key", key, &error))?;
        PrivateKeyDer::from_pem_slice(&key_pem)
            .map_err(|error| unreadable("--client-key", key, &error))?;
        Ok(Some(Self { chain, key_pem }))
    }

    /// Converts to the type of ureq's own connector.
    pub fn into_ureq(self) -> Result<ClientCert> {
        let chain = self.chain.iter();
        let chain: Vec<_> = chain
            .map(|certificate| Certificate::from_der(certificate).to_owned())
            .collect();
        let key = PrivateKey::from_pem(&self.key_pem)
            .map_err(|error| Failure::usage(format!("--client-key: {error}")))?;
        Ok(ClientCert::new_with_certs(&chain, key))
    }

    fn key(&self) -> Result<PrivateKeyDer<'static>> {
        PrivateKeyDer::from_pem_slice(&self.key_pem)
            .map_err(|error| Failure::usage(format!("--client-key: {error}")))
    }
}

/// The configuration of a client that trusts the certificates of `--server-ca`, and presents the client certificate, if
/// any; `None` without `--server-ca`.
pub fn client_tls(settings: &Settings) -> Result<Option<Arc<ClientConfig>>> {
    let Some(file) = &settings.server_ca else {
        return Ok(None);
    };
    let identity = ClientIdentity::from_settings(settings)?;
    Ok(Some(PinnedTls::from_file(file, identity)?.config))
}

/// A connector that adds TLS to the connections of the preceding connector in the chain.
pub struct PinnedTls {
    config: Arc<ClientConfig>,
}

impl PinnedTls {
    /// Trusts the certificates in a file, and presents the client certificate, if any.
    pub fn from_file(file: &Path, identity: Option<ClientIdentity>) -> Result<Self> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let verifier = FileVerifier::of_file(file, Arc::clone(&provider))
            .map_err(|error| Failure::usage(format!("--server-ca {error}")))?;
        let builder = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| Failure::usage(format!("--server-ca: {error}")))?;
        let builder = builder
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(verifier));
        let config = match identity {
            Some(identity) => {
                let key = identity.key()?;
                builder
                    .with_client_auth_cert(identity.chain, key)
                    .map_err(|error| Failure::usage(format!("--client-cert: {error}")))?
            }
            None => builder.with_no_client_auth(),
        };
        Ok(Self {
            config: Arc::new(config),
        })
    }
}

impl fmt::Debug for PinnedTls {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("PinnedTls")
    }
}

impl<In: Transport> Connector<In> for PinnedTls {
    type Out = Either<In, Secured>;

    fn connect(
        &self,
        details: &ConnectionDetails<'_>,
        chained: Option<In>,
    ) -> std::result::Result<Option<Self::Out>, ureq::Error> {
        let Some(transport) = chained else {
            return Ok(None);
        };
        if !details.needs_tls() || transport.is_tls() {
            return Ok(Some(Either::A(transport)));
        }
        let host = details.uri.host().unwrap_or_default();
        let host = host.trim_start_matches('[').trim_end_matches(']');
        let name = ServerName::try_from(host.to_owned())
            .map_err(|_| ureq::Error::Tls("the URL has no host that a certificate could name"))?;
        let mut connection = ClientConnection::new(Arc::clone(&self.config), name)?;
        let clock = Arc::clone(&details.current_time);
        let mut socket = TransportAdapter::new(transport.boxed(), clock);
        socket.set_timeout(details.timeout);
        connection.complete_io(&mut socket)?;
        let (input, output) = (
            details.config.input_buffer_size(),
            details.config.output_buffer_size(),
        );
        Ok(Some(Either::B(Secured {
            buffers: LazyBuffers::new(input, output),
            stream: StreamOwned::new(connection, socket),
        })))
    }
}

/// A TLS connection.
pub struct Secured {
    buffers: LazyBuffers,
    stream: StreamOwned<ClientConnection, TransportAdapter>,
}

impl fmt::Debug for Secured {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Secured")
    }
}

impl Transport for Secured {
    fn buffers(&mut self) -> &mut dyn Buffers {
        &mut self.buffers
    }

    fn transmit_output(
        &mut self,
        amount: usize,
        timeout: NextTimeout,
    ) -> std::result::Result<(), ureq::Error> {
        self.stream.get_mut().set_timeout(timeout);
        let output = &self.buffers.output()[..amount];
        Ok(self.stream.write_all(output)?)
    }

    fn await_input(&mut self, timeout: NextTimeout) -> std::result::Result<bool, ureq::Error> {
        self.stream.get_mut().set_timeout(timeout);
        let input = self.buffers.input_append_buf();
        let amount = self.stream.read(input)?;
        self.buffers.input_appended(amount);
        Ok(amount > 0)
    }

    fn is_open(&mut self) -> bool {
        self.stream.get_mut().get_mut().is_open()
    }

    fn is_tls(&self) -> bool {
        true
    }
}

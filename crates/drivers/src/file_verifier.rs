//! Verifies server certificates against the certificates of a file: issued by one of them, or equal to one
//! of them.
//!
//! `openssl req -x509` creates certificates with `CA:TRUE`, and many servers use one as their own. webpki
//! accepts such a certificate as an authority only. If the server's certificate is byte-equal to one of the
//! file, no other party could confirm it better; then only its validity period and its names are checked.

use std::path::Path;
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{WebPkiServerVerifier, verify_server_name};
use rustls::crypto::CryptoProvider;
use rustls::server::ParsedCertificate;
use rustls::{
    CertificateError, DigitallySignedStruct, Error, OtherError, RootCertStore, SignatureScheme,
};
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, ServerName, UnixTime};

/// webpki's error for a CA certificate that is used by a server.
const CA_AS_SERVER: &str = "CaUsedAsEndEntity";

// `openssl req -x509` sets CA:TRUE, which webpki rejects: docs/decisions/0059.
/// Accepts a server certificate that is issued by a certificate of a file, or equal to one.
#[derive(Debug)]
pub struct FileVerifier {
    signed: Arc<WebPkiServerVerifier>,
    given: Vec<CertificateDer<'static>>,
}

impl FileVerifier {
    /// Trusts the certificates of a PEM file. Errors name the file.
    pub fn of_file(file: &Path, provider: Arc<CryptoProvider>) -> espalier_keyspace::Result<Self> {
        let about = |problem: String| crate::url::refusal(format!("{}: {problem}", file.display()));
        let given =
            CertificateDer::pem_file_iter(file).and_then(Iterator::collect::<Result<Vec<_>, _>>);
        let given = given.map_err(|error| about(format!("no certificate can be read: {error}")))?;
        if given.is_empty() {
            return Err(about("there is no certificate in it".to_owned()));
        }
        let mut roots = RootCertStore::empty();
        for certificate in &given {
            let added = roots.add(certificate.clone());
            added.map_err(|error| about(error.to_string()))?;
        }
        let built = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider).build();
        let signed = built.map_err(|error| about(error.to_string()))?;
        Ok(Self { signed, given })
    }
}

/// Returns whether a certificate was rejected only because it is a CA certificate.
pub(crate) fn is_authority_itself(error: &CertificateError) -> bool {
    match error {
        CertificateError::Other(OtherError(cause)) => cause.to_string() == CA_AS_SERVER,
        _ => false,
    }
}

impl ServerCertVerifier for FileVerifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let verified = self.signed.verify_server_cert(
            end_entity,
            intermediates,
            server_name,
            ocsp_response,
            now,
        );
        match verified {
            // webpki checks the validity period before it checks whether the certificate is a CA.
            Err(Error::InvalidCertificate(error))
                if is_authority_itself(&error) && self.given.contains(end_entity) =>
            {
                verify_server_name(&ParsedCertificate::try_from(end_entity)?, server_name)?;
                Ok(ServerCertVerified::assertion())
            }
            // webpki rejects it before it checks the issuer; the remedy is the same as for an unknown
            // issuer.
            Err(Error::InvalidCertificate(error)) if is_authority_itself(&error) => {
                Err(CertificateError::UnknownIssuer.into())
            }
            verified => verified,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.signed
            .verify_tls12_signature(message, certificate, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.signed
            .verify_tls13_signature(message, certificate, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.signed.supported_verify_schemes()
    }
}

//! Certificates of clients that no authority signed, and whose fingerprints are in the map to names (RFC 7589 §3).

use std::fmt;
use std::sync::Arc;

use espalier_service::Service;
use rustls::client::danger::HandshakeSignatureValid;
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{CertificateError, DigitallySignedStruct, DistinguishedName, Error, SignatureScheme};
use rustls_pki_types::{CertificateDer, UnixTime};

/// Accepts what another verifier accepts, and certificates that are pinned now. The login verifies that these are valid
/// at present, and gives them their user.
pub(super) struct PinnedOrSigned {
    pub signed: Arc<dyn ClientCertVerifier>,
    pub service: Service,
}

impl fmt::Debug for PinnedOrSigned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PinnedOrSigned").finish_non_exhaustive()
    }
}

impl PinnedOrSigned {
    fn is_pinned(&self, certificate: &CertificateDer<'_>) -> bool {
        let accounts = self.service.accounts();
        accounts.authenticator().is_pinned(certificate)
    }
}

/// Whether a certificate is rejected for when it is used, and not for its authority.
fn is_of_time(error: &Error) -> bool {
    matches!(
        error,
        Error::InvalidCertificate(
            CertificateError::Expired
                | CertificateError::ExpiredContext { .. }
                | CertificateError::NotValidYet
                | CertificateError::NotValidYetContext { .. }
        )
    )
}

impl ClientCertVerifier for PinnedOrSigned {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        self.signed.root_hint_subjects()
    }

    fn verify_client_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        match self
            .signed
            .verify_client_cert(end_entity, intermediates, now)
        {
            Err(error) if !is_of_time(&error) && self.is_pinned(end_entity) => {
                Ok(ClientCertVerified::assertion())
            }
            verified => verified,
        }
    }

    // That the client has the private key is verified as for all certificates.

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.signed
            .verify_tls12_signature(message, certificate, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.signed
            .verify_tls13_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.signed.supported_verify_schemes()
    }
}

//! The authorities of a client certificate, established by signatures.
//!
//! A TLS client may send any certificates with its own. Those that did not sign it must not give it a name, so the
//! chain that the client sent is not taken as it is.

use espalier_store::Timestamp;
use x509_parser::certificate::X509Certificate;
use x509_parser::prelude::FromDer;
use x509_parser::time::ASN1Time;

/// The maximum number of certificates that a client may send.
pub const CHAIN_CERTIFICATES_MAX: usize = 16;

/// The maximum length of a certificate, in bytes.
pub const CERTIFICATE_BYTES_MAX: usize = 64 * 1024;

/// The maximum number of signatures that are verified for a client.
pub const SIGNATURES_MAX: usize = 32;

/// A certificate that cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CertificateError {
    /// The client sent none.
    #[error("the client sent no certificate")]
    Missing,
    /// The client sent too many.
    #[error(
        "the client sent more than {CHAIN_CERTIFICATES_MAX} certificates (CHAIN_CERTIFICATES_MAX)"
    )]
    TooMany,
    /// A certificate is too long.
    #[error("a certificate has more than {CERTIFICATE_BYTES_MAX} bytes (CERTIFICATE_BYTES_MAX)")]
    TooLong,
    /// A certificate is not one.
    #[error("a certificate is not a valid X.509 certificate in DER")]
    Malformed,
    /// The client's certificate is expired or not valid yet.
    #[error("the certificate of the client is expired or not valid yet")]
    NotValidNow,
}

/// Parses a certificate.
pub(super) fn parse(der: &[u8]) -> Result<X509Certificate<'_>, CertificateError> {
    if der.len() > CERTIFICATE_BYTES_MAX {
        return Err(CertificateError::TooLong);
    }
    match X509Certificate::from_der(der) {
        Ok(([], certificate)) => Ok(certificate),
        _ => Err(CertificateError::Malformed),
    }
}

/// The client's certificate, followed by the certificates of all authorities that issued it, directly or not: those
/// that the client sent and those in `authorities`. Each signature is verified, and each certificate is valid now.
pub(super) fn path_of<'a>(
    chain: &'a [Vec<u8>],
    authorities: &'a [Vec<u8>],
    now: Timestamp,
) -> Result<Vec<X509Certificate<'a>>, CertificateError> {
    let (first, sent) = chain.split_first().ok_or(CertificateError::Missing)?;
    if chain.len() > CHAIN_CERTIFICATES_MAX {
        return Err(CertificateError::TooMany);
    }
    let now = i64::try_from(now.0 / 1000).unwrap_or(i64::MAX);
    let now = ASN1Time::from_timestamp(now).map_err(|_| CertificateError::NotValidNow)?;
    let client = parse(first)?;
    if !client.validity().is_valid_at(now) {
        return Err(CertificateError::NotValidNow);
    }
    let mut issuers = Vec::new();
    for der in sent {
        issuers.push(parse(der)?);
    }
    issuers.retain(|issuer| issuer.is_ca());
    // Authorities of version 1 have no basic constraints; that they are authorities is configured.
    issuers.extend(authorities.iter().filter_map(|der| parse(der).ok()));
    issuers.retain(|issuer| issuer.validity().is_valid_at(now));
    Ok(extend(client, issuers))
}

/// Adds to a client's certificate its issuers, their issuers, and so on.
fn extend<'a>(
    client: X509Certificate<'a>,
    mut issuers: Vec<X509Certificate<'a>>,
) -> Vec<X509Certificate<'a>> {
    let mut path = vec![client];
    let mut signatures = 0;
    let mut done = 0;
    while done < path.len() {
        let mut index = 0;
        while index < issuers.len() && signatures < SIGNATURES_MAX {
            let (issued, issuer) = (&path[done], &issuers[index]);
            if issued.issuer().as_raw() != issuer.subject().as_raw() {
                index += 1;
                continue;
            }
            signatures += 1;
            match issued.verify_signature(Some(issuer.public_key())) {
                Ok(()) => path.push(issuers.swap_remove(index)),
                Err(_) => index += 1,
            }
        }
        done += 1;
    }
    path
}

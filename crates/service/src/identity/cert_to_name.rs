//! User names from certificates (RFC 7407 §2, module ietf-x509-cert-to-name).

use std::fmt;
use std::net::Ipv4Addr;

use espalier_store::Timestamp;
use sha2::{Digest, Sha224, Sha256, Sha384, Sha512};
use x509_parser::asn1_rs::Tag;
use x509_parser::certificate::X509Certificate;
use x509_parser::extensions::GeneralName;
use x509_parser::x509::AttributeTypeAndValue;

use super::certificate_path::{CertificateError, parse, path_of};
use super::users::USER_NAME_BYTES_MAX;

/// The maximum number of entries of a map.
pub const ENTRIES_MAX: usize = 1_000;

/// The maximum number of trusted authorities of a map.
pub const AUTHORITIES_MAX: usize = 1_000;

/// A fingerprint of a certificate: `tls-fingerprint` of RFC 7407.
#[derive(Clone, PartialEq, Eq)]
pub struct Fingerprint {
    algorithm: HashAlgorithm,
    hash: Vec<u8>,
}

/// The accepted part of the registry TLS HashAlgorithm (RFC 5246 §7.4.1.4.1). MD5 (1) and SHA-1 (2) are not, because
/// two certificates can be made with the same hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum HashAlgorithm {
    Sha224 = 3,
    Sha256 = 4,
    Sha384 = 5,
    Sha512 = 6,
}

/// A text that is not an accepted fingerprint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FingerprintError {
    /// The form of `tls-fingerprint` is violated.
    #[error("the fingerprint is not octets in hexadecimal, separated by colons")]
    Malformed,
    /// The hash algorithm is MD5 or SHA-1, or not in the registry.
    #[error(
        "the hash algorithm of the fingerprint (its first octet) is not 03, 04, 05 or 06 (SHA-2)"
    )]
    Algorithm,
    /// The hash is not as long as those of its algorithm.
    #[error("the hash of the fingerprint does not have the length of its algorithm")]
    Length,
}

impl Fingerprint {
    /// Parses a `tls-fingerprint`: the octet of the hash algorithm and the hash, as `04:ab:cd:…`.
    ///
    /// # Errors
    /// The text is malformed, or the algorithm is not accepted.
    pub fn parse(text: &str) -> Result<Self, FingerprintError> {
        let octet = |digits: &str| match digits.as_bytes() {
            [high, low] if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() => {
                u8::from_str_radix(digits, 16).ok()
            }
            _ => None,
        };
        let octets: Option<Vec<u8>> = text.split(':').map(octet).collect();
        let octets = octets.ok_or(FingerprintError::Malformed)?;
        let (algorithm, hash) = octets.split_first().ok_or(FingerprintError::Malformed)?;
        let algorithm = match algorithm {
            3 => HashAlgorithm::Sha224,
            4 => HashAlgorithm::Sha256,
            5 => HashAlgorithm::Sha384,
            6 => HashAlgorithm::Sha512,
            _ => return Err(FingerprintError::Algorithm),
        };
        match hash.len() == algorithm.hash(&[]).len() {
            false => Err(FingerprintError::Length),
            true => Ok(Self {
                algorithm,
                hash: hash.to_vec(),
            }),
        }
    }

    /// The SHA-256 fingerprint of a certificate in DER.
    pub fn of(certificate: &[u8]) -> Self {
        let algorithm = HashAlgorithm::Sha256;
        Self {
            algorithm,
            hash: algorithm.hash(certificate),
        }
    }

    /// Returns whether this is the fingerprint of a certificate in DER.
    pub fn matches(&self, certificate: &[u8]) -> bool {
        self.algorithm.hash(certificate) == self.hash
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:02x}", self.algorithm as u8)?;
        self.hash
            .iter()
            .try_for_each(|byte| write!(f, ":{byte:02x}"))
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Fingerprint({self})")
    }
}

impl HashAlgorithm {
    fn hash(self, bytes: &[u8]) -> Vec<u8> {
        match self {
            Self::Sha224 => Sha224::digest(bytes).to_vec(),
            Self::Sha256 => Sha256::digest(bytes).to_vec(),
            Self::Sha384 => Sha384::digest(bytes).to_vec(),
            Self::Sha512 => Sha512::digest(bytes).to_vec(),
        }
    }
}

/// How a name is derived from the client's certificate: the identities of RFC 7407 §2.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MapType {
    /// `specified`: this name.
    Specified(String),
    /// `san-rfc822-name`: the first rfc822Name, with the host part in lower case.
    SanRfc822Name,
    /// `san-dns-name`: the first dNSName, in lower case.
    SanDnsName,
    /// `san-ip-address`: the first iPAddress, dotted or as 32 hexadecimal digits.
    SanIpAddress,
    /// `san-any`: the first of these three kinds.
    SanAny,
    /// `common-name`: the common name of the subject.
    CommonName,
}

/// An entry of the map.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MapEntry {
    /// The order of the entry.
    pub id: u32,
    /// The client's certificate, or that of an authority that issued it, directly or not.
    pub fingerprint: Fingerprint,
    /// How the name is derived.
    pub map_type: MapType,
}

/// The map from certificates to user names.
#[derive(Clone, Debug, Default)]
pub struct CertToName {
    entries: Vec<MapEntry>,
    authorities: Vec<Vec<u8>>,
}

/// A map that cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CertToNameError {
    /// There are too many entries.
    #[error("the map from certificates to names has more than {ENTRIES_MAX} entries (ENTRIES_MAX)")]
    TooManyEntries,
    /// There are too many authorities.
    #[error("there are more than {AUTHORITIES_MAX} trusted authorities (AUTHORITIES_MAX)")]
    TooManyAuthorities,
    /// An authority is not a certificate.
    #[error("the certificate of trusted authority {0} (from 1) cannot be used: {1}")]
    Authority(usize, CertificateError),
}

impl CertToName {
    /// A map of `entries`. `authorities` are the certificates, in DER, of the authorities that the TLS server trusts:
    /// clients need not send them.
    ///
    /// # Errors
    /// A limit is exceeded, or an authority is not a certificate.
    pub fn new(
        mut entries: Vec<MapEntry>,
        authorities: Vec<Vec<u8>>,
    ) -> Result<Self, CertToNameError> {
        if entries.len() > ENTRIES_MAX {
            return Err(CertToNameError::TooManyEntries);
        }
        if authorities.len() > AUTHORITIES_MAX {
            return Err(CertToNameError::TooManyAuthorities);
        }
        for (number, authority) in (1..).zip(&authorities) {
            parse(authority).map_err(|error| CertToNameError::Authority(number, error))?;
        }
        entries.sort_by_key(|entry| entry.id);
        Ok(Self {
            entries,
            authorities,
        })
    }

    /// Whether an entry has the fingerprint of this certificate, in DER. Computes each hash at most once.
    pub(super) fn has_fingerprint_of(&self, certificate: &[u8]) -> bool {
        let algorithms = [
            HashAlgorithm::Sha224,
            HashAlgorithm::Sha256,
            HashAlgorithm::Sha384,
            HashAlgorithm::Sha512,
        ];
        algorithms.iter().any(|&algorithm| {
            let entries = self.entries.iter().map(|entry| &entry.fingerprint);
            let mut hashes = entries
                .filter(|fingerprint| fingerprint.algorithm == algorithm)
                .map(|fingerprint| &fingerprint.hash)
                .peekable();
            hashes.peek().is_some() && {
                let hash = algorithm.hash(certificate);
                hashes.any(|one| *one == hash)
            }
        })
    }

    /// The user name for the certificates that a client sent, its own first: that of the first entry whose
    /// fingerprint matches and that gives a name. `None` if no entry does.
    ///
    /// # Errors
    /// A certificate cannot be used.
    pub fn user_of(
        &self,
        chain: &[Vec<u8>],
        now: Timestamp,
    ) -> Result<Option<String>, CertificateError> {
        let path = path_of(chain, &self.authorities, now)?;
        let is_match = |entry: &&MapEntry| {
            let mut path = path.iter();
            path.any(|certificate| entry.fingerprint.matches(certificate.as_raw()))
        };
        let mut names = self.entries.iter().filter(is_match);
        Ok(names.find_map(|entry| name(&path[0], &entry.map_type)))
    }
}

/// The name that a map type derives from the client's certificate, if it can be a user name.
fn name(certificate: &X509Certificate<'_>, map_type: &MapType) -> Option<String> {
    let name = match map_type {
        MapType::Specified(name) => Some(name.clone()),
        MapType::SanRfc822Name => first(certificate, rfc822_name),
        MapType::SanDnsName => first(certificate, dns_name),
        MapType::SanIpAddress => first(certificate, ip_address),
        MapType::SanAny => first(certificate, |name| {
            rfc822_name(name)
                .or_else(|| dns_name(name))
                .or_else(|| ip_address(name))
        }),
        MapType::CommonName => {
            let subject = certificate.subject();
            subject.iter_common_name().next().and_then(text)
        }
    };
    name.filter(|name| {
        let has_length = (1..=USER_NAME_BYTES_MAX).contains(&name.len());
        has_length && !name.chars().any(char::is_control)
    })
}

/// The first general name of `subjectAltName` that `derive` accepts.
fn first(
    certificate: &X509Certificate<'_>,
    derive: impl Fn(&GeneralName<'_>) -> Option<String>,
) -> Option<String> {
    let names = certificate.subject_alternative_name().ok()??;
    names.value.general_names.iter().find_map(derive)
}

fn rfc822_name(name: &GeneralName<'_>) -> Option<String> {
    let GeneralName::RFC822Name(address) = name else {
        return None;
    };
    let (local, host) = address.rsplit_once('@')?;
    Some(format!("{local}@{}", host.to_ascii_lowercase()))
}

fn dns_name(name: &GeneralName<'_>) -> Option<String> {
    match name {
        GeneralName::DNSName(name) => Some(name.to_ascii_lowercase()),
        _ => None,
    }
}

fn ip_address(name: &GeneralName<'_>) -> Option<String> {
    let GeneralName::IPAddress(octets) = name else {
        return None;
    };
    if let Ok(octets) = <[u8; 4]>::try_from(*octets) {
        return Some(Ipv4Addr::from(octets).to_string());
    }
    let octets = <[u8; 16]>::try_from(*octets).ok()?;
    Some(format!("{:032x}", u128::from_be_bytes(octets)))
}

/// The text of an attribute in UTF-8.
fn text(attribute: &AttributeTypeAndValue<'_>) -> Option<String> {
    if attribute.attr_value().tag() != Tag::BmpString {
        return attribute.as_str().ok().map(Into::into);
    }
    let units = attribute.attr_value().data.chunks(2);
    let units: Option<Vec<u16>> = units
        .map(|unit| Some(u16::from_be_bytes(unit.try_into().ok()?)))
        .collect();
    String::from_utf16(&units?).ok()
}

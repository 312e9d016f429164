//! Explains why a TLS connection fails because of certificates, and names the option that fixes it.

use std::error::Error;
use std::io;
use std::sync::Arc;

use rustls::AlertDescription as Alert;
use rustls::CertificateError;

use crate::file_verifier::is_authority_itself;

/// The names of the TLS options in a driver's URL.
pub(crate) struct OptionNames {
    /// The option for trusted authorities.
    pub(crate) authority: &'static str,
    /// The options for the client certificate.
    pub(crate) identity: &'static str,
    /// How the client uses CA certificates of the authority file.
    pub(crate) ca_use: CaCertificateUse,
}

/// How a client uses a trusted certificate with `CA:TRUE`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CaCertificateUse {
    /// As an authority, and as the server's own ([`crate::FileVerifier`]).
    AuthorityOrServer,
    /// As an authority only.
    AuthorityOnly,
}

/// The names in most drivers.
pub(crate) const OPTION_NAMES: OptionNames = OptionNames {
    authority: "ca=FILE",
    identity: "cert=FILE&key=FILE",
    ca_use: CaCertificateUse::AuthorityOnly,
};

/// Describes the certificate problem that caused an error, if any. `authority` is the option for trusted
/// authorities.
pub fn certificate_problem(
    error: &(dyn Error + 'static),
    authority: &'static str,
) -> Option<String> {
    let options = OptionNames {
        authority,
        identity: "a certificate that it trusts",
        ca_use: CaCertificateUse::AuthorityOrServer,
    };
    certificate_hint(error, &options)
}

/// Describes the certificate problem that caused an error, if any. No request was sent, and a retry is
/// useless.
pub(crate) fn certificate_hint(
    error: &(dyn Error + 'static),
    options: &OptionNames,
) -> Option<String> {
    let mut cause = Some(error);
    while let Some(error) = cause {
        if let Some(error) = error.downcast_ref::<rustls::Error>() {
            return certificate_error_hint(error, options);
        }
        // `source` of these two skips the error that they contain.
        cause = if let Some(held) = error.downcast_ref::<io::Error>() {
            if let Some(problem) = alert_text_hint(held, options) {
                return Some(problem);
            }
            held.get_ref().map(|held| held as _)
        } else if let Some(held) = error.downcast_ref::<Arc<dyn Error + Send + Sync>>() {
            Some(&**held)
        } else {
            error.source()
        };
    }
    None
}

/// Alerts by which a server rejects the client certificate.
const ALERTS: [Alert; 9] = [
    Alert::CertificateRequired,
    Alert::BadCertificate,
    Alert::UnsupportedCertificate,
    Alert::CertificateRevoked,
    Alert::CertificateExpired,
    Alert::CertificateUnknown,
    Alert::UnknownCA,
    Alert::AccessDenied,
    Alert::DecryptError,
];

/// Only errors that end the handshake: after it, a request may have been sent.
fn certificate_error_hint(error: &rustls::Error, options: &OptionNames) -> Option<String> {
    let problem = match error {
        rustls::Error::InvalidCertificate(error) => server_certificate_hint(error, options),
        rustls::Error::AlertReceived(alert) if ALERTS.contains(alert) => {
            let identity = options.identity;
            format!("the server does not accept our certificate; give one with {identity}")
        }
        _ => return None,
    };
    Some(format!("{problem} ({error})"))
}

/// The same for errors that contain only the text of an alert, as in HTTP/2.
fn alert_text_hint(error: &io::Error, options: &OptionNames) -> Option<String> {
    if error.kind() != io::ErrorKind::InvalidData {
        return None;
    }
    let text = error.to_string();
    let alerts = ALERTS.map(rustls::Error::AlertReceived);
    let alert = alerts.iter().find(|alert| alert.to_string() == text);
    alert.and_then(|alert| certificate_error_hint(alert, options))
}

fn server_certificate_hint(error: &CertificateError, options: &OptionNames) -> String {
    let problem = match error {
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
            "has expired; renew it there"
        }
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            "is not valid yet; compare the clocks"
        }
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            "is for another host; name the host as the certificate does"
        }
        error
            if is_authority_itself(error) && options.ca_use == CaCertificateUse::AuthorityOnly =>
        {
            "is a CA certificate (CA:TRUE), which this engine's client accepts as an authority only: give the \
             server one with CA:FALSE (docs/guide/certificates.md has the commands)"
        }
        // A bad signature means another authority of the same name.
        error
            if is_authority_itself(error)
                || matches!(
                    error,
                    CertificateError::UnknownIssuer | CertificateError::BadSignature
                ) =>
        {
            let authority = options.authority;
            return format!(
                "the server's certificate is not signed by a trusted authority; name the authority \
                 with {authority}"
            );
        }
        _ => "is not accepted",
    };
    format!("the server's certificate {problem}")
}

//! Why a connection cannot be secured.

use std::error::Error;
use std::io;
use std::sync::Arc;

use rustls::AlertDescription as Alert;
use rustls::CertificateError as Wrong;

use crate::file_verifier::is_authority_itself;

/// What a driver calls the options that trust is about.
pub(crate) struct OptionNames {
    /// Who is trusted.
    pub(crate) authority: &'static str,
    /// Who we are.
    pub(crate) identity: &'static str,
    /// What a certificate of the file is good for, where it signs others.
    pub(crate) ca_use: CaCertificateUse,
}

/// What a client takes a certificate for that signs others (`CA:TRUE`), where the user names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CaCertificateUse {
    /// For an authority, and for a server's own ([`crate::FileVerifier`]).
    AuthorityOrServer,
    /// For an authority alone.
    AuthorityOnly,
}

/// As most drivers call them.
#[cfg(any(feature = "redis", feature = "mongo", feature = "etcd"))]
pub(crate) const OPTION_NAMES: OptionNames = OptionNames {
    authority: "ca=FILE",
    identity: "cert=FILE&key=FILE",
    ca_use: CaCertificateUse::AuthorityOnly,
};

/// What is wrong with the certificate of a server, where that is what an error comes from. `authority` is how the user
/// names a file of those who are trusted.
pub fn certificate_problem(
    error: &(dyn Error + 'static),
    authority: &'static str,
) -> Option<String> {
    let options = OptionNames {
        authority,
        identity: "a certificate that it knows",
        ca_use: CaCertificateUse::AuthorityOrServer,
    };
    certificate_hint(error, &options)
}

/// What is wrong with a certificate, where that is what an error comes from. Nothing was asked then,
/// and asking again is of no use.
pub(crate) fn certificate_hint(
    error: &(dyn Error + 'static),
    options: &OptionNames,
) -> Option<String> {
    let mut cause = Some(error);
    while let Some(error) = cause {
        if let Some(error) = error.downcast_ref::<rustls::Error>() {
            return about_certificates(error, options);
        }
        // Both would pass over what they hold.
        cause = if let Some(held) = error.downcast_ref::<io::Error>() {
            if let Some(problem) = told(held, options) {
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

/// What servers say of our certificate.
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

/// Only what ends the handshake: later on, something may have been asked.
fn about_certificates(error: &rustls::Error, options: &OptionNames) -> Option<String> {
    let problem = match error {
        rustls::Error::InvalidCertificate(wrong) => of_server(wrong, options),
        rustls::Error::AlertReceived(alert) if ALERTS.contains(alert) => {
            let identity = options.identity;
            format!("the server does not accept our certificate; give one with {identity}")
        }
        _ => return None,
    };
    Some(format!("{problem} ({error})"))
}

/// The same where only the text of an alert is left of the error, as HTTP/2 does it.
fn told(error: &io::Error, options: &OptionNames) -> Option<String> {
    if error.kind() != io::ErrorKind::InvalidData {
        return None;
    }
    let text = error.to_string();
    let alerts = ALERTS.map(rustls::Error::AlertReceived);
    let alert = alerts.iter().find(|alert| alert.to_string() == text);
    alert.and_then(|alert| about_certificates(alert, options))
}

fn of_server(wrong: &Wrong, options: &OptionNames) -> String {
    let problem = match wrong {
        Wrong::Expired | Wrong::ExpiredContext { .. } => "has expired; renew it there",
        Wrong::NotValidYet | Wrong::NotValidYetContext { .. } => {
            "is not valid yet; compare the clocks"
        }
        Wrong::NotValidForName | Wrong::NotValidForNameContext { .. } => {
            "is for another host; name the host as the certificate does"
        }
        wrong
            if is_authority_itself(wrong) && options.ca_use == CaCertificateUse::AuthorityOnly =>
        {
            "is one that signs others (CA:TRUE), which this engine's client takes as an authority alone: give the \
             server one with CA:FALSE (docs/guide/certificates.md has the commands)"
        }
        // A bad signature is one of another authority that has the same name.
        wrong
            if is_authority_itself(wrong)
                || matches!(wrong, Wrong::UnknownIssuer | Wrong::BadSignature) =>
        {
            let authority = options.authority;
            return format!(
                "the server's certificate is signed by nobody who is trusted; name the authority \
                 with {authority}"
            );
        }
        _ => "is not accepted",
    };
    format!("the server's certificate {problem}")
}

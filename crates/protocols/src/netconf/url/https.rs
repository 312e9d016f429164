//! Documents of HTTPS servers.

use std::io::{self, Read};
use std::path::Path;
use std::time::Duration;

use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject;
use ureq::Agent;
use ureq::tls::{Certificate, RootCerts, TlsConfig};

/// Maximum time to connect.
const CONNECT_TIME_MAX: Duration = Duration::from_secs(10);

/// Maximum time until the response begins.
const RESPONSE_TIME_MAX: Duration = Duration::from_secs(30);

/// Maximum time until the document is complete.
const DOCUMENT_TIME_MAX: Duration = Duration::from_secs(600);

/// The servers that may be read.
#[derive(Debug)]
pub(super) struct Https {
    beginnings: Vec<String>,
    agent: Agent,
}

impl Https {
    /// Reads documents whose URLs have one of some beginnings.
    pub fn new(beginnings: Vec<String>, authorities: Option<&Path>) -> io::Result<Self> {
        for beginning in &beginnings {
            if !is_beginning(beginning) {
                let message =
                    format!("“{beginning}” must have the form https://HOST/ or https://HOST/PATH/");
                return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
            }
        }
        let roots = match authorities {
            Some(file) => RootCerts::from(certificates(file)?),
            None => RootCerts::WebPki,
        };
        let config = Agent::config_builder()
            .https_only(true)
            // A redirection could lead to any server.
            .max_redirects(0)
            .http_status_as_error(true)
            .tls_config(TlsConfig::builder().root_certs(roots).build())
            .timeout_connect(Some(CONNECT_TIME_MAX))
            .timeout_recv_response(Some(RESPONSE_TIME_MAX))
            .timeout_global(Some(DOCUMENT_TIME_MAX))
            .build();
        Ok(Self {
            beginnings,
            agent: config.into(),
        })
    }

    /// Whether a URL may be read.
    pub fn may_read(&self, url: &str) -> bool {
        let mut beginnings = self.beginnings.iter();
        // Servers resolve dots and reversed slashes in paths.
        let is_plain = !url.contains(['\\', '%', '?', '#']) && !url.contains("/.");
        is_plain && beginnings.any(|beginning| url.starts_with(beginning.as_str()))
    }

    /// The content of a document.
    pub fn get(&self, url: &str) -> io::Result<impl Read + use<>> {
        let response = self.agent.get(url).call().map_err(io::Error::other)?;
        if !response.status().is_success() {
            return Err(io::Error::other(format!(
                "the server answers {}",
                response.status()
            )));
        }
        let body = response.into_body().into_with_config();
        // The callers have limits.
        Ok(body.limit(u64::MAX).reader())
    }
}

fn is_beginning(text: &str) -> bool {
    let Some(rest) = text.strip_prefix("https://") else {
        return false;
    };
    let host = rest.split('/').next().unwrap_or_default();
    !host.is_empty() && text.ends_with('/') && !rest.contains(['@', '\\', '%', '?', '#'])
}

fn certificates(file: &Path) -> io::Result<Vec<Certificate<'static>>> {
    let failed = |reason: &dyn std::fmt::Display| {
        let message = format!("{}: {reason}", file.display());
        io::Error::new(io::ErrorKind::InvalidInput, message)
    };
    let read = CertificateDer::pem_file_iter(file).map_err(|error| failed(&error))?;
    let mut all = Vec::new();
    for certificate in read {
        let certificate = certificate.map_err(|error| failed(&error))?;
        all.push(Certificate::from_der(&certificate).to_owned());
    }
    match all.is_empty() {
        true => Err(failed(&"there is no certificate in it")),
        false => Ok(all),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_that_leave_the_allowed_paths_are_not_read() {
        let beginnings = vec!["https://a.example/configs/".to_owned()];
        let https = Https::new(beginnings, None).expect("valid");
        assert!(https.may_read("https://a.example/configs/x/y.xml"));
        for wrong in [
            "https://a.example/other",
            "https://a.example.evil/configs/x",
            "https://a.example@evil/configs/x",
            "https://a.example/configs/../x",
            "https://a.example/configs/%2e%2e/x",
            "https://a.example/configs/x?y",
            "http://a.example/configs/x",
        ] {
            assert!(!https.may_read(wrong), "{wrong}");
        }
        for wrong in [
            "https://",
            "https:///",
            "https://a",
            "http://a/",
            "https://b@a/",
            "https://a/b",
        ] {
            assert!(Https::new(vec![wrong.to_owned()], None).is_err(), "{wrong}");
        }
    }
}

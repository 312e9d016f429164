//! Failures to connect to a server, each with a hint that depends on the cause.

use std::error::Error;
use std::io::{self, ErrorKind};

use espalier_drivers::certificate_problem;

use espalier_terminal::Failure;

/// The failure of a request that got no response from the server at `base`.
pub fn unreachable(base: &str, error: &ureq::Error) -> Failure {
    let failed = |problem: String| Failure::data(format!("the server {base} {problem}"));
    if let Some(problem) =
        certificate_problem(error, "--server-ca FILE").or(handshake_problem(error))
    {
        return failed(format!("is not trusted: {problem}"))
            .hint("docs/guide/certificates.md shows how to make a certificate that is accepted");
    }
    if is_tls_to_plain(error) {
        return failed("does not speak TLS".to_owned()).hint(format!(
            "write the URL with http:{}",
            base.trim_start_matches("https:")
        ));
    }
    if matches!(error, ureq::Error::Protocol(_)) && base.starts_with("http:") {
        return failed(format!("does not answer in HTTP: {error}")).hint(format!(
            "where it serves over TLS, write https:{} (and --server-ca FILE where its certificate is not one of the \
             web); else another program may have the port",
            base.trim_start_matches("http:")
        ));
    }
    let failure = failed(format!("does not answer: {error}"));
    match io_error_kind(error) {
        Some(ErrorKind::ConnectionRefused) => failure.hint(
            "nothing listens there: start a server with `espalier serve --store embedded:DIR`, or correct the URL",
        ),
        Some(ErrorKind::ConnectionReset | ErrorKind::UnexpectedEof | ErrorKind::BrokenPipe) => failure
            .hint("the connection was closed before the answer: the server's log may say why; try again"),
        _ if matches!(error, ureq::Error::HostNotFound) => {
            failure.hint("no address is known for this name: correct the URL")
        }
        _ if matches!(error, ureq::Error::Timeout(_)) => {
            failure.hint("the host does not answer at all: look at the network between, or at a firewall")
        }
        _ => failure.hint("check the URL, and look in the log of the server"),
    }
}

/// The certificate problem within an error of ureq, if any.
fn handshake_problem(error: &ureq::Error) -> Option<String> {
    match error {
        ureq::Error::Rustls(error) => certificate_problem(error, "--server-ca FILE"),
        ureq::Error::Io(error) => certificate_problem(error, "--server-ca FILE"),
        _ => None,
    }
}

/// Returns whether the server responded to a TLS handshake with something other than TLS.
fn is_tls_to_plain(error: &ureq::Error) -> bool {
    let is_not_tls = |error: &rustls::Error| matches!(error, rustls::Error::InvalidMessage(_));
    match error {
        ureq::Error::Rustls(error) => is_not_tls(error),
        ureq::Error::Io(error) => tls_error(error).is_some_and(is_not_tls),
        _ => false,
    }
}

fn tls_error(error: &io::Error) -> Option<&rustls::Error> {
    let tls_error: &(dyn Error + Send + Sync + 'static) = error.get_ref()?;
    tls_error.downcast_ref()
}

fn io_error_kind(error: &ureq::Error) -> Option<ErrorKind> {
    match error {
        ureq::Error::Io(error) => Some(error.kind()),
        ureq::Error::ConnectionFailed => Some(ErrorKind::ConnectionRefused),
        _ => None,
    }
}

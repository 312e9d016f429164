//! The checks of every request before it reaches a front end: it must name a host of this server (RFC 9112
//! §3.2), and must not come from a page of another site.

use std::net::IpAddr;

use axum::body::Body;
use http::header::{HOST, ORIGIN};
use http::request::Parts;
use http::{HeaderMap, HeaderName, Method, Response, StatusCode, Version};

use super::hosts::{HostPort, Hosts};
use crate::early_error::early_error_response;

/// The origin relation that a browser reports (W3C Fetch Metadata).
const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// Why a request is rejected.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Rejection {
    status: StatusCode,
    message: String,
}

impl Rejection {
    fn new(status: StatusCode, message: impl Into<String>) -> Self {
        let message = message.into();
        Self { status, message }
    }

    /// The response, in the format of the API that the path belongs to.
    pub(super) fn into_response(self, parts: &Parts) -> Response<Body> {
        tracing::debug!(
            target: "espalier::access",
            method = %parts.method,
            path = parts.uri.path(),
            status = self.status.as_u16(),
            reason = self.message,
        );
        early_error_response(parts, self.status, &self.message)
    }
}

type CheckResult<T> = Result<T, Rejection>;

/// Rejects a request that does not name one of `hosts`, or that comes from a page of another site. `local`
/// is the server address that the client connected to.
pub(super) fn check(parts: &Parts, hosts: &Hosts, local: Option<IpAddr>) -> CheckResult<()> {
    let host_ports = request_hosts(parts)?;
    for host_port in &host_ports {
        if !hosts.allows(&host_port.host, local) {
            let host = &host_port.host;
            let message = format!(
                "the host “{host}” is not a host of this server; to allow it, start the server with --allowed-host {host}"
            );
            return Err(Rejection::new(StatusCode::MISDIRECTED_REQUEST, message));
        }
    }
    check_origin(parts, host_ports.first(), hosts)
}

/// The hosts of the target and of the `Host` header, if present.
fn request_hosts(parts: &Parts) -> CheckResult<Vec<HostPort>> {
    let bad = |message: &str| Rejection::new(StatusCode::BAD_REQUEST, message);
    let mut headers = parts.headers.get_all(HOST).iter();
    let header = match (headers.next(), headers.next()) {
        (Some(_), Some(_)) => return Err(bad("the request has more than one Host header")),
        (header, _) => header,
    };
    let is_required = match parts.version {
        Version::HTTP_09 | Version::HTTP_10 => false,
        Version::HTTP_11 => header.is_none(),
        _ => header.is_none() && parts.uri.authority().is_none(),
    };
    if is_required {
        return Err(bad("the request has no Host header"));
    }
    let header = header.map(|header| header.to_str().ok().and_then(HostPort::parse));
    let target = parts.uri.authority();
    let target = target.map(|authority| HostPort::parse(authority.as_str()));
    let host_ports = target.into_iter().chain(header);
    let host_ports = host_ports.map(|host_port| {
        host_port.ok_or_else(|| bad("the Host of the request is not a valid host"))
    });
    host_ports.collect()
}

/// Rejects a request of a page whose origin is neither the target of the request nor a host that the
/// operator named.
fn check_origin(parts: &Parts, target: Option<&HostPort>, hosts: &Hosts) -> CheckResult<()> {
    let foreign = |origin: &str| {
        let message =
            format!("requests from pages of other sites are rejected; this one is from {origin}");
        Err(Rejection::new(StatusCode::FORBIDDEN, message))
    };
    if !parts.headers.contains_key(ORIGIN) {
        return match foreign_site(&parts.method, &parts.headers) {
            Some(site) => foreign(site),
            None => Ok(()),
        };
    }
    for origin in parts.headers.get_all(ORIGIN) {
        let text = origin.to_str().unwrap_or("no text");
        let Some((scheme, host_port)) = text.split_once("://") else {
            return foreign(text);
        };
        let is_ours = HostPort::parse(host_port).is_some_and(|origin| {
            hosts.is_named(&origin.host)
                || target.is_some_and(|t| is_same_origin(scheme, &origin, t))
        });
        if !is_ours {
            return foreign(text);
        }
    }
    Ok(())
}

/// The value of `Sec-Fetch-Site` of a request that may change something, if it names another site. Some
/// browsers do not send `Origin` with all such requests.
fn foreign_site<'h>(method: &Method, headers: &'h HeaderMap) -> Option<&'h str> {
    let site = headers.get(SEC_FETCH_SITE)?.to_str().ok()?;
    (!method.is_safe() && !matches!(site, "same-origin" | "none")).then_some(site)
}

/// Whether an origin and the target of a request have the same host and port. A proxy may have terminated
/// TLS, so the scheme only determines the default port.
fn is_same_origin(scheme: &str, origin: &HostPort, target: &HostPort) -> bool {
    let default_port = match scheme {
        "http" => 80,
        "https" => 443,
        _ => return false,
    };
    origin.host == target.host
        && origin.port.unwrap_or(default_port) == target.port.unwrap_or(default_port)
}

#[cfg(test)]
mod tests {
    use http::Request;

    use super::*;

    fn status(version: Version, method: &str, uri: &str, headers: &[(&str, &str)]) -> u16 {
        let mut request = Request::builder().version(version).method(method).uri(uri);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let (parts, ()) = request.body(()).expect("a request").into_parts();
        let hosts = Hosts::default().with("named.example").expect("a host");
        match check(&parts, &hosts, None) {
            Ok(()) => 200,
            Err(rejection) => rejection.status.as_u16(),
        }
    }

    #[test]
    fn hosts_are_checked() {
        type Row<'a> = (&'a str, &'a [(&'a str, &'a str)], u16);
        let table: [Row<'_>; 12] = [
            ("/", &[("host", "localhost:8080")], 200),
            ("/", &[("host", "named.example")], 200),
            ("/", &[], 400),
            ("/", &[("host", "localhost"), ("host", "localhost")], 400),
            ("/", &[("host", "")], 400),
            ("/", &[("host", "a b")], 400),
            ("/", &[("host", "me@localhost")], 400),
            ("/", &[("host", "localhost:80x")], 400),
            ("/", &[("host", "evil.example")], 421),
            ("http://evil.example/", &[("host", "localhost")], 421),
            ("http://localhost/", &[("host", "evil.example")], 421),
            ("http://localhost/", &[("host", "localhost")], 200),
        ];
        for (uri, headers, expected) in table {
            let response = status(Version::HTTP_11, "GET", uri, headers);
            assert_eq!(response, expected, "{uri} {headers:?}");
        }
        assert_eq!(status(Version::HTTP_10, "GET", "/", &[]), 200);
        assert_eq!(status(Version::HTTP_2, "GET", "/", &[]), 400);
        assert_eq!(
            status(Version::HTTP_2, "GET", "http://localhost/", &[]),
            200
        );
        assert_eq!(
            status(Version::HTTP_2, "GET", "http://evil.example/", &[]),
            421
        );
    }

    #[test]
    fn origins_are_checked() {
        let table = [
            ("GET", "origin", "http://localhost:8080", 200),
            ("POST", "origin", "http://localhost:8080", 200),
            ("GET", "origin", "http://localhost:3000", 403),
            ("GET", "origin", "http://localhost", 403),
            ("GET", "origin", "http://127.0.0.1:8080", 403),
            ("GET", "origin", "https://named.example:99", 200),
            ("GET", "origin", "https://evil.example", 403),
            ("GET", "origin", "null", 403),
            ("GET", "origin", "", 403),
            ("OPTIONS", "origin", "https://evil.example", 403),
            ("GET", "sec-fetch-site", "cross-site", 200),
            ("POST", "sec-fetch-site", "cross-site", 403),
            ("POST", "sec-fetch-site", "same-site", 403),
            ("DELETE", "sec-fetch-site", "same-origin", 200),
            ("POST", "sec-fetch-site", "none", 200),
        ];
        for (method, name, value, expected) in table {
            let headers = [("host", "localhost:8080"), (name, value)];
            let response = status(Version::HTTP_11, method, "/", &headers);
            assert_eq!(response, expected, "{method} {name}: {value}");
        }
    }
}

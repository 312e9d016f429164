//! The text of a call-home client: `NAME=URL[,URL...][?OPTION=VALUE&...]`.

use std::str::FromStr;
use std::time::Duration;

use espalier_protocols::netconf::transport::{
    CallHomeClient, ConnectionType, Endpoint, Protocol, StartWith,
};
use espalier_terminal::{Failure, Result};

/// What is accepted.
const HINT: &str = "as in `nms=ssh://nms1.example:4334,ssh://nms2.example?start-with=last-connected`; the options are \
    start-with (first-listed, last-connected, random-selection), max-attempts, max-wait, and for periodic connections \
    period and idle-timeout, in seconds";

/// Parses a client.
pub fn parse(text: &str) -> Result<CallHomeClient> {
    let wrong =
        |what: &str| Failure::usage(format!("--netconf-call-home {text}: {what}")).hint(HINT);
    let (name, rest) = text
        .split_once('=')
        .filter(|(name, _)| !name.is_empty() && !name.contains("://"))
        .ok_or_else(|| wrong("there is no name"))?;
    let (urls, options) = rest.split_once('?').unwrap_or((rest, ""));
    let endpoints = urls.split(',').map(endpoint);
    let endpoints: Option<Vec<Endpoint>> = endpoints.collect();
    let endpoints = endpoints.ok_or_else(|| wrong("a URL is not ssh://HOST or tls://HOST"))?;
    let mut client = CallHomeClient::new(name, endpoints);
    let mut periodic = Periodic::default();
    for option in options.split('&').filter(|option| !option.is_empty()) {
        let is_set = option
            .split_once('=')
            .and_then(|(key, value)| set(&mut client, &mut periodic, key, value));
        is_set.ok_or_else(|| wrong(&format!("the option {option} is not known")))?;
    }
    client.connection_type = match (periodic.period, periodic.idle_timeout) {
        (Some(period), idle_timeout) => ConnectionType::Periodic {
            period,
            anchor: None,
            idle_timeout,
        },
        (None, None) => ConnectionType::Persistent,
        (None, Some(_)) => return Err(wrong("idle-timeout needs period")),
    };
    Ok(client)
}

/// The options of periodic connections.
#[derive(Default)]
struct Periodic {
    period: Option<Duration>,
    idle_timeout: Option<Duration>,
}

/// Sets an option; `None` if it is not known or has no such value.
fn set(client: &mut CallHomeClient, periodic: &mut Periodic, key: &str, value: &str) -> Option<()> {
    match key {
        "start-with" => {
            client.start_with = match value {
                "first-listed" => StartWith::FirstListed,
                "last-connected" => StartWith::LastConnected,
                "random-selection" => StartWith::RandomSelection,
                _ => return None,
            }
        }
        "max-attempts" => client.attempts_max = positive(value)?,
        "max-wait" => client.wait_max = seconds(value)?,
        "period" => periodic.period = Some(seconds(value)?),
        "idle-timeout" => periodic.idle_timeout = Some(seconds(value)?),
        _ => return None,
    }
    Some(())
}

fn positive<T: FromStr + Default + PartialEq>(value: &str) -> Option<T> {
    value.parse().ok().filter(|number| *number != T::default())
}

fn seconds(value: &str) -> Option<Duration> {
    positive::<u32>(value).map(|seconds| Duration::from_secs(seconds.into()))
}

fn endpoint(url: &str) -> Option<Endpoint> {
    let (scheme, authority) = url.split_once("://")?;
    let protocol = match scheme {
        "ssh" => Protocol::Ssh,
        "tls" => Protocol::Tls,
        _ => return None,
    };
    // An IPv6 address is in brackets.
    let (host, port) = match authority.strip_prefix('[') {
        Some(rest) => {
            let (host, rest) = rest.split_once(']')?;
            (
                host,
                rest.strip_prefix(':').or(rest.is_empty().then_some(""))?,
            )
        }
        None => authority.rsplit_once(':').unwrap_or((authority, "")),
    };
    let port = match port {
        "" => protocol.default_port(),
        port => positive(port)?,
    };
    let is_host = !host.is_empty() && !host.contains(['/', '@']);
    is_host.then(|| Endpoint {
        protocol,
        host: host.to_owned(),
        port,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_with_all_options() {
        let client = parse("nms=ssh://a,tls://b.example:99,ssh://[::1]:7,tls://[::2]").unwrap();
        let endpoint = |protocol, host: &str, port| Endpoint {
            protocol,
            host: host.to_owned(),
            port,
        };
        let endpoints = vec![
            endpoint(Protocol::Ssh, "a", 4334),
            endpoint(Protocol::Tls, "b.example", 99),
            endpoint(Protocol::Ssh, "::1", 7),
            endpoint(Protocol::Tls, "::2", 4335),
        ];
        assert_eq!(client, CallHomeClient::new("nms", endpoints.clone()));
        let options =
            "start-with=random-selection&max-attempts=7&max-wait=9&period=60&idle-timeout=5";
        let client = parse(&format!("nms=ssh://a?{options}")).unwrap();
        let expected = CallHomeClient {
            start_with: StartWith::RandomSelection,
            attempts_max: 7,
            wait_max: Duration::from_secs(9),
            connection_type: ConnectionType::Periodic {
                period: Duration::from_secs(60),
                anchor: None,
                idle_timeout: Some(Duration::from_secs(5)),
            },
            ..CallHomeClient::new("nms", endpoints[..1].to_vec())
        };
        assert_eq!(client, expected);
    }

    #[test]
    fn mistakes() {
        for (text, expected) in [
            ("ssh://a", "no name"),
            ("=ssh://a", "no name"),
            ("n=http://a", "not ssh://HOST"),
            ("n=ssh://", "not ssh://HOST"),
            ("n=ssh://a:0", "not ssh://HOST"),
            ("n=ssh://a:99999", "not ssh://HOST"),
            ("n=ssh://[::1", "not ssh://HOST"),
            ("n=ssh://u@a", "not ssh://HOST"),
            ("n=ssh://a,", "not ssh://HOST"),
            ("n=ssh://a?period=0", "period=0 is not known"),
            ("n=ssh://a?start-with=b", "start-with=b is not known"),
            ("n=ssh://a?x", "x is not known"),
            ("n=ssh://a?idle-timeout=5", "idle-timeout needs period"),
        ] {
            let error = parse(text).unwrap_err().to_string();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }
}

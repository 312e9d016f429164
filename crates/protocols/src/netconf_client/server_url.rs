//! Where a NETCONF server is.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use super::error::ClientError;

/// The port of NETCONF over SSH (RFC 6242 §3).
const SSH_PORT: u16 = 830;
/// The port of NETCONF over TLS (RFC 7589 §2).
const TLS_PORT: u16 = 6513;
/// The port of call home over SSH (RFC 8071 §2).
const CALL_HOME_SSH_PORT: u16 = 4334;
/// The port of call home over TLS (RFC 8071 §2).
const CALL_HOME_TLS_PORT: u16 = 4335;
/// The address to wait at, if none is given.
const ANY_ADDRESS: &str = "::";

/// A host and a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostAndPort {
    /// The host name or address, without brackets.
    pub host: String,
    /// The port.
    pub port: u16,
}

/// Where a server is, as in `maria@router.example`, `ssh://host:830`, `tls://host`, `unix:/run/netconf.sock`,
/// `call-home+ssh://0.0.0.0:4334`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// SSH.
    Ssh {
        /// The user, if it is named.
        user: Option<String>,
        /// The server.
        server: HostAndPort,
    },
    /// TLS.
    Tls(HostAndPort),
    /// A Unix socket.
    Unix(PathBuf),
    /// Wait at this address for a server that connects, and then uses SSH.
    CallHomeSsh {
        /// The user, if it is named.
        user: Option<String>,
        /// Where to wait.
        listen: HostAndPort,
    },
    /// Wait at this address for a server that connects, and then uses TLS.
    CallHomeTls(HostAndPort),
}

impl fmt::Display for HostAndPort {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.host.contains(':') {
            true => write!(out, "[{}]:{}", self.host, self.port),
            false => write!(out, "{}:{}", self.host, self.port),
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at = |user: &Option<String>| {
            user.as_ref()
                .map_or(String::new(), |user| format!("{user}@"))
        };
        match self {
            Self::Ssh { user, server } => write!(out, "ssh://{}{server}", at(user)),
            Self::Tls(server) => write!(out, "tls://{server}"),
            Self::Unix(path) => write!(out, "unix:{}", path.display()),
            Self::CallHomeSsh { user, listen } => {
                write!(out, "call-home+ssh://{}{listen}", at(user))
            }
            Self::CallHomeTls(listen) => write!(out, "call-home+tls://{listen}"),
        }
    }
}

impl FromStr for Target {
    type Err = ClientError;

    fn from_str(text: &str) -> Result<Self, ClientError> {
        parse(text).map_err(|reason| {
            // A password can stand before the host.
            let shown = text.rsplit_once('@').map_or(text, |(_, host)| host);
            ClientError::Target(shown.to_owned(), reason)
        })
    }
}

fn parse(text: &str) -> Result<Target, String> {
    if let Some(path) = text.strip_prefix("unix:") {
        let path = path.strip_prefix("//").unwrap_or(path);
        return match path {
            "" => Err("there is no path of a socket".to_owned()),
            path => Ok(Target::Unix(path.into())),
        };
    }
    let (scheme, rest) = text.split_once("://").unwrap_or(("ssh", text));
    let rest = rest.strip_suffix('/').unwrap_or(rest);
    let (user, place) = match rest.rsplit_once('@') {
        Some((user, place)) => (Some(user), place),
        None => (None, rest),
    };
    if user.is_some_and(|user| user.contains(':')) {
        return Err(
            "a password does not belong here, where other users of the machine see it".to_owned(),
        );
    }
    let user = user.filter(|user| !user.is_empty()).map(str::to_owned);
    match (scheme, &user) {
        ("ssh", _) => Ok(Target::Ssh {
            user,
            server: server(place, SSH_PORT)?,
        }),
        ("tls", None) => Ok(Target::Tls(server(place, TLS_PORT)?)),
        ("call-home+ssh", _) => Ok(Target::CallHomeSsh {
            user,
            listen: host_and_port(place, CALL_HOME_SSH_PORT, ANY_ADDRESS)?,
        }),
        ("call-home+tls", None) => Ok(Target::CallHomeTls(host_and_port(
            place,
            CALL_HOME_TLS_PORT,
            ANY_ADDRESS,
        )?)),
        ("tls" | "call-home+tls", Some(_)) => {
            Err("over TLS the certificate of the client gives the user".to_owned())
        }
        _ => Err(
            "expected HOST, ssh://, tls://, unix:, call-home+ssh:// or call-home+tls://".to_owned(),
        ),
    }
}

fn server(text: &str, default_port: u16) -> Result<HostAndPort, String> {
    match text.is_empty() || text.starts_with(':') && !text.starts_with("::") {
        true => Err("there is no host".to_owned()),
        false => host_and_port(text, default_port, ""),
    }
}

fn host_and_port(text: &str, default_port: u16, default_host: &str) -> Result<HostAndPort, String> {
    let (host, port) = match text.strip_prefix('[') {
        Some(rest) => {
            let (host, rest) = rest.split_once(']').ok_or("there is no “]”")?;
            (
                host,
                rest.strip_prefix(':').or(rest.is_empty().then_some("")),
            )
        }
        // An address of IPv6 without a port.
        None if text.matches(':').count() > 1 => (text, Some("")),
        None => match text.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (text, Some("")),
        },
    };
    let port = match port {
        None => Err(()),
        Some("") => Ok(default_port),
        Some(port) => port.parse().map_err(|_| ()),
    };
    let port = port.map_err(|()| "the port must be a number up to 65535")?;
    let wrong =
        |letter: char| letter.is_whitespace() || letter.is_control() || "/?#\\".contains(letter);
    if host.contains(wrong) {
        return Err("a host name cannot have these characters".to_owned());
    }
    let host = match host {
        "" => default_host,
        host => host,
    };
    Ok(HostAndPort {
        host: host.to_owned(),
        port,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_with_and_without_users_and_ports() {
        for (text, expected) in [
            ("host", "ssh://host:830"),
            ("maria@host:22", "ssh://maria@host:22"),
            ("ssh://maria@host/", "ssh://maria@host:830"),
            ("::1", "ssh://[::1]:830"),
            ("[::1]:2022", "ssh://[::1]:2022"),
            ("tls://host", "tls://host:6513"),
            ("unix:/run/a.sock", "unix:/run/a.sock"),
            ("unix://a.sock", "unix:a.sock"),
            ("call-home+ssh://", "call-home+ssh://[::]:4334"),
            ("call-home+ssh://m@:1", "call-home+ssh://m@[::]:1"),
            (
                "call-home+tls://127.0.0.1",
                "call-home+tls://127.0.0.1:4335",
            ),
        ] {
            let target: Target = text.parse().expect(text);
            assert_eq!(target.to_string(), expected);
            assert_eq!(
                target.to_string().parse::<Target>().expect(expected),
                target
            );
        }
    }

    #[test]
    fn wrong_targets_have_reasons_without_passwords() {
        for text in [
            "",
            "ssh://",
            "ssh://:830",
            "unix:",
            "http://host",
            "host:x",
            "host:70000",
            "[::1",
            "[::1]x",
            "tls://maria@host",
            "a b",
            "maria:secret@host",
            "host/path",
        ] {
            let error = text.parse::<Target>().expect_err(text).to_string();
            assert!(!error.contains("secret"), "{error}");
        }
    }
}

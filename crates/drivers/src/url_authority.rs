//! The authority and path of a server URL: `//user:password@host:port,host:port/path`.

use espalier_keyspace::Result;
use percent_encoding::percent_decode_str;

use crate::url::{Url, refusal};

/// The servers and the credentials.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Authority {
    pub(crate) user: Option<String>,
    pub(crate) password: Option<String>,
    /// At least one.
    pub(crate) hosts: Vec<(String, u16)>,
    /// The text after the first slash.
    pub(crate) path: String,
}

impl Authority {
    /// Parses the authority and path of a URL. User and password are percent-decoded.
    pub(crate) fn parse(url: &Url<'_>, default_port: u16) -> Result<Self> {
        let wrong = || {
            let scheme = url.scheme;
            refusal(format!("write {scheme}://[user:password@]host:port"))
        };
        let place = url.place.strip_prefix("//").ok_or_else(wrong)?;
        let (servers, path) = place.split_once('/').unwrap_or((place, ""));
        let (user_info, hosts) = match servers.rsplit_once('@') {
            Some((user_info, hosts)) => (Some(user_info), hosts),
            None if path.contains('@') => {
                let scheme = url.scheme;
                return Err(refusal(format!(
                    "{scheme}: escape a / in user or password as %2F, and an @ there or after the servers as %40"
                )));
            }
            None => (None, servers),
        };
        let decode = |text: &str| percent_decode_str(text).decode_utf8_lossy().into_owned();
        let (user, password) =
            match user_info.map(|info| info.split_once(':').unwrap_or((info, ""))) {
                Some((user, password)) => (Some(decode(user)), Some(decode(password))),
                None => (None, None),
            };
        let hosts = hosts.split(',').map(|host| address(host, default_port));
        let hosts: Option<Vec<_>> = hosts.collect();
        Ok(Self {
            user: user.filter(|user| !user.is_empty()),
            password: password.filter(|password| !password.is_empty()),
            hosts: hosts.ok_or_else(wrong)?,
            path: path.to_owned(),
        })
    }

    /// The servers for messages, without the password.
    pub(crate) fn shown(&self) -> String {
        let hosts = self.hosts.iter();
        let hosts: Vec<_> = hosts.map(|(host, port)| format!("{host}:{port}")).collect();
        hosts.join(",")
    }
}

/// `host`, `host:port`, `[v6]` or `[v6]:port`.
fn address(text: &str, default_port: u16) -> Option<(String, u16)> {
    let bracket = text.rfind(']').map_or(0, |at| at + 1);
    if text.starts_with('[') && bracket == 0 {
        return None;
    }
    let (host, port) = match text[bracket..].rfind(':') {
        Some(at) => (
            &text[..bracket + at],
            text[bracket + at + 1..].parse().ok()?,
        ),
        None => (text, default_port),
    };
    let host = host.trim_start_matches('[').trim_end_matches(']');
    (!host.is_empty()).then(|| (host.to_owned(), port))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(url: &str) -> Result<Authority> {
        Authority::parse(&Url::parse(url).expect("a scheme"), 7)
    }

    #[test]
    fn servers_are_parsed() {
        let one = parse("x://host").expect("a host");
        assert_eq!(one.hosts, [("host".to_owned(), 7)]);
        assert_eq!(
            (one.user, one.password, one.path.as_str()),
            (None, None, "")
        );
        let all = parse("x://me:p%40ss:w@a:1,[::1]:2,[::2]/some/path?option=1").expect("hosts");
        assert_eq!(all.shown(), "a:1,::1:2,::2:7");
        assert_eq!(all.user.as_deref(), Some("me"));
        assert_eq!(all.password.as_deref(), Some("p@ss:w"));
        assert_eq!(all.path, "some/path");
        let only = parse("x://:secret@h").expect("a host");
        assert_eq!(
            (only.user, only.password.as_deref()),
            (None, Some("secret"))
        );
        for wrong in [
            "x://me:123/ter@h/path",
            "x:host",
            "x://",
            "x://h:port",
            "x://h,,h",
            "x://h:99999",
            "x://[::1",
        ] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}

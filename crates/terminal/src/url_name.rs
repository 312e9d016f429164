//! The name of a store in messages: its URL without secrets.

use espalier_drivers::redacted_url;

/// A URL without user, password and options, safe to show in messages and logs.
pub fn url_name(url: &str) -> String {
    let shown = redacted_url(url);
    match shown.split_once('?') {
        Some((place, _)) => place.to_owned(),
        None => shown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_no_password() {
        for (url, name) in [
            (
                "postgres://me:s@cret@db:5432/net?schema=a",
                "postgres://db:5432/net",
            ),
            ("redis://:p@host/0", "redis://host/0"),
            ("etcd://u:p@a,b/prefix?tls", "etcd://a,b/prefix"),
            ("redis://u:p@host", "redis://host"),
            ("sqlite:a@b.db?durability=relaxed", "sqlite:a@b.db"),
            ("memory:", "memory:"),
            ("postgre://me:hun?ter/2@db/net", "postgre://db/net"),
        ] {
            assert_eq!(url_name(url), name);
        }
    }
}

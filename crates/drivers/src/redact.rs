//! Removes passwords from URLs before they are shown.

use std::borrow::Cow;

/// Schemes with a path, in which `@` has no meaning.
const LOCAL: [&str; 4] = ["memory", "embedded", "file", "sqlite"];

/// Replaces a secret.
const MASK: &str = "***";

/// Parts of the names of options with secret values.
const SECRET_NAMES: [&str; 5] = ["pass", "pwd", "secret", "token", "credential"];

/// User and password placeholders in URL forms; not secret.
const PLACEHOLDERS: [&str; 4] = [
    "USER:PASSWORD",
    "[USER:PASSWORD",
    "user:password",
    "[user:password",
];

/// Port placeholders in URL forms.
const PORT_PLACEHOLDERS: [&str; 4] = ["PORT", "port", "PORT]", "port]"];

// Up to the last `@`, because a wrong URL is most often wrong at its password: docs/decisions/0056.
/// Returns a URL of a store or server, valid or not, without user, password, and the values of secret
/// options. If it is uncertain what is a password, more is removed.
///
/// ```
/// use espalier_drivers::redacted_url;
///
/// let mistyped = redacted_url("postgre://me:p@ss/w?rd@host:5432/net?schema=a");
/// assert_eq!(mistyped, "postgre://host:5432/net?schema=a");
/// assert_eq!(redacted_url("redis://me:forgotten-host/0"), "redis://me:***/0");
/// ```
pub fn redacted_url(url: &str) -> String {
    keyword_secrets_masked(url_redacted(url))
}

/// Masks secrets in the keyword form of libpq, `host=h password=p`, which is not a URL.
fn keyword_secrets_masked(text: String) -> String {
    let is_secret = |name: &str| {
        let name = name.to_ascii_lowercase();
        !name.ends_with("_file") && SECRET_NAMES.iter().any(|part| name.contains(part))
    };
    if !text.contains(char::is_whitespace) && !text.contains(":password=") {
        return text;
    }
    let words = text.split(' ').map(|word| match word.split_once('=') {
        Some((name, value))
            if !value.is_empty() && is_secret(name.rsplit(':').next().unwrap_or(name)) =>
        {
            format!("{name}={MASK}")
        }
        _ => word.to_owned(),
    });
    words.collect::<Vec<_>>().join(" ")
}

fn url_redacted(url: &str) -> String {
    let (scheme, slashes, rest) = split_scheme(url);
    if is_local(scheme.trim_end_matches(':')) && slashes.len() != 2 {
        let (place, options) = split_options(rest);
        return format!("{scheme}{slashes}{place}{}", options_shown(options));
    }
    // To the last `@`: an unescaped password may contain any character.
    let rest = match rest.rsplit_once('@') {
        Some((user_info, _)) if PLACEHOLDERS.contains(&user_info) => return url.to_owned(),
        Some((_, rest)) => rest,
        None => rest,
    };
    let (place, options) = split_options(rest);
    let (hosts, path) = place.split_at(place.find('/').unwrap_or(place.len()));
    let hosts: Vec<_> = hosts.split(',').map(host_shown).collect();
    let (hosts, options) = (hosts.join(","), options_shown(options));
    format!("{scheme}{slashes}{hosts}{path}{options}")
}

/// Whether URLs of a scheme contain a path.
pub(crate) fn is_local(scheme: &str) -> bool {
    LOCAL.contains(&scheme)
}

/// Whether a URL contains a server with a user.
pub(crate) fn has_user(place: &str) -> bool {
    place.starts_with("//") && !place.starts_with("///") && place.contains('@')
}

/// Returns a text with every URL redacted by [`redacted_url`].
pub fn redacted(text: &str) -> Cow<'_, str> {
    let mut shown = String::new();
    let mut done = 0;
    while let Some((from, to)) = next_url(text, done) {
        shown.push_str(&text[done..from]);
        shown.push_str(&redacted_url(&text[from..to]));
        done = to;
    }
    match done {
        0 => Cow::Borrowed(text),
        _ => {
            shown.push_str(&text[done..]);
            Cow::Owned(shown)
        }
    }
}

/// The scheme with its colon, the slashes after it, and the rest.
fn split_scheme(url: &str) -> (&str, &str, &str) {
    let colon = url.find(|letter: char| !is_of_scheme(letter));
    let end = match colon {
        Some(at) if at > 0 && url[at..].starts_with(':') => at + 1,
        _ => 0,
    };
    let rest = url[end..].trim_start_matches('/');
    let slashes = url.len() - rest.len();
    (&url[..end], &url[end..slashes], rest)
}

/// RFC 3986 §3.1
fn is_of_scheme(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || matches!(letter, '+' | '-' | '.')
}

/// The text before the options, and the options with their `?`.
fn split_options(rest: &str) -> (&str, &str) {
    rest.split_at(rest.find('?').unwrap_or(rest.len()))
}

/// `host:port`; an invalid port is masked, as it may be a password without a host.
fn host_shown(text: &str) -> Cow<'_, str> {
    let from = text.rfind(']').map_or(0, |at| at + 1);
    let Some(colon) = text[from..].find(':') else {
        return Cow::Borrowed(text);
    };
    let (host, port) = (&text[..from + colon], &text[from + colon + 1..]);
    let is_port = port.bytes().all(|byte| byte.is_ascii_digit()) && !host.is_empty();
    match is_port || PORT_PLACEHOLDERS.contains(&port) {
        true => Cow::Borrowed(text),
        false => Cow::Owned(format!("{host}:{MASK}")),
    }
}

/// The options without the values of secret ones.
fn options_shown(options: &str) -> String {
    let mut shown = String::with_capacity(options.len());
    for option in options.split_inclusive(['?', '&']) {
        let (option, end) = match option.strip_suffix(['?', '&']) {
            Some(inner) => (inner, &option[inner.len()..]),
            None => (option, ""),
        };
        match option.split_once('=') {
            Some((name, _)) if is_secret(name) => {
                shown.push_str(name);
                shown.push('=');
                shown.push_str(MASK);
            }
            _ => shown.push_str(option),
        }
        shown.push_str(end);
    }
    shown
}

/// Whether the value of an option is secret. Names of files are not.
fn is_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    !name.ends_with("file") && SECRET_NAMES.iter().any(|part| name.contains(part))
}

/// The next URL of a text: a scheme, a colon and a slash, up to the end of the word.
fn next_url(text: &str, from: usize) -> Option<(usize, usize)> {
    let colon = from + text[from..].find(":/")?;
    let before = text[from..colon].trim_end_matches(is_of_scheme);
    let ends_word =
        |letter: char| letter.is_whitespace() || matches!(letter, '"' | '\'' | '`' | '<' | '>');
    let end = text[colon..]
        .find(ends_word)
        .map_or(text.len(), |length| colon + length);
    // The colon of the sentence is not that of a port.
    let url = text[..end].trim_end_matches(':');
    Some((from + before.len(), url.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_colon_after_a_url_is_no_port() {
        for text in [
            "cannot connect to ssh://127.0.0.1:830: Connection refused",
            "ssh://host: there is no name",
        ] {
            assert_eq!(redacted(text), text);
        }
        assert_eq!(redacted("redis://me:secret: no"), "redis://me:***: no");
    }

    #[test]
    fn urls_are_shown_without_secrets() {
        for (url, shown) in [
            (
                "postgres://me:hunter2@h:5432/net?schema=a",
                "postgres://h:5432/net?schema=a",
            ),
            ("postgre://me:hunter2@h/x", "postgre://h/x"),
            ("postgres:/me:hunter2@h/x", "postgres:/h/x"),
            ("postgres:me:hunter2@h/x", "postgres:h/x"),
            ("postgres//me:hunter2@h/x", "h/x"),
            (
                "host=h user=me password=hunter2",
                "host=h user=me password=***",
            ),
            (
                "embedded:host=h sslpassword=hunter2 user=me",
                "embedded:host=h sslpassword=*** user=me",
            ),
            ("postgresql:password=hunter2", "postgresql:password=***"),
            ("me:hunter2@h", "me:h"),
            ("redis://:hunter2@h", "redis://h"),
            ("redis://:hunter2", "redis://:***"),
            ("redis://me:hunter2/0", "redis://me:***/0"),
            ("redis://me:hunter2%40h/0", "redis://me:***/0"),
            (
                "mongodb://u:hun/ter?2&@a:1,[::1]:2,b/d",
                "mongodb://a:1,[::1]:2,b/d",
            ),
            ("etcd://h?password=hunter2&tls", "etcd://h?password=***&tls"),
            (
                "etcd://h?ca=f&sslPassword=hunter2",
                "etcd://h?ca=f&sslPassword=***",
            ),
            (
                "etcd://me@h?password_file=/run/pw",
                "etcd://h?password_file=/run/pw",
            ),
            ("http://me:hunter2@h:80/restconf", "http://h:80/restconf"),
            (
                "sqlite:a@b.db?durability=relaxed",
                "sqlite:a@b.db?durability=relaxed",
            ),
            ("file:/home/me@work/data", "file:/home/me@work/data"),
            ("file:///home/me@work/data", "file:///home/me@work/data"),
            ("sqlite://me:hunter2@h/x", "sqlite://h/x"),
            ("embedded:d?token=hunter2", "embedded:d?token=***"),
            ("memory:", "memory:"),
            ("", ""),
        ] {
            assert_eq!(redacted_url(url), shown, "{url}");
        }
    }

    #[test]
    fn texts_are_shown_without_secrets() {
        for (text, shown) in [
            ("nothing", "nothing"),
            (
                "a \"postgre://me:hunter2@h/x\" and redis://h/0.",
                "a \"postgre://h/x\" and redis://h/0.",
            ),
            (
                "write postgres://USER:PASSWORD@HOST:PORT/DB or",
                "write postgres://USER:PASSWORD@HOST:PORT/DB or",
            ),
            (
                "write redis://[user:password@]host:port",
                "write redis://[user:password@]host:port",
            ),
            ("x:/me:hunter2@h\ny", "x:/h\ny"),
        ] {
            assert_eq!(redacted(text), shown);
        }
        // No part of the password is shown, whatever characters it contains.
        for odd in [
            "a/b", "a?b", "a&b=c", "a@b", "a:b", "a%2fb", "ä", "a,b", "[a]",
        ] {
            let url = format!("postgre://me:hunter2{odd}hunter2@h/x");
            assert_eq!(redacted_url(&url), "postgre://h/x");
            assert_eq!(redacted(&format!("no {url} here")), "no postgre://h/x here");
        }
    }
}

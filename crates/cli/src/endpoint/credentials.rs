//! The credentials of a command for a server.

use std::io::IsTerminal;
use std::net::IpAddr;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use espalier_terminal::{Failure, Result, read_password};
use ureq::http::{HeaderValue, Uri};

use crate::settings::Settings;

/// The value of the `Authorization` header; `None` without credentials. On a terminal, a missing password is prompted for.
pub fn authorization(settings: &Settings) -> Result<Option<HeaderValue>> {
    let text = match (&settings.token, &settings.user) {
        (Some(token), None) => format!("Bearer {}", token.0),
        (None, Some(user)) => {
            if user.contains(':') {
                return Err(Failure::usage("--user: a user name has no colon"));
            }
            let password = password(settings, user)?;
            format!("Basic {}", STANDARD.encode(format!("{user}:{password}")))
        }
        (None, None) => return Ok(None),
        (Some(_), Some(_)) => {
            return Err(Failure::usage(
                "ESPALIER_TOKEN and --user (ESPALIER_USER) exclude each other",
            ));
        }
    };
    let mut value = HeaderValue::try_from(text)
        .map_err(|_| Failure::usage("ESPALIER_TOKEN: this is not a token"))?;
    value.set_sensitive(true);
    Ok(Some(value))
}

fn password(settings: &Settings, user: &str) -> Result<String> {
    if let Some(password) = &settings.password {
        return Ok(password.0.clone());
    }
    if std::io::stdin().is_terminal() {
        return Ok(read_password(&format!("Password of {user}: "))?);
    }
    Err(Failure::usage(format!("there is no password of {user}"))
        .hint("set ESPALIER_PASSWORD, or use a token with ESPALIER_TOKEN"))
}

/// Rejects credentials that would go over a network in clear text.
pub fn check_url(url: &str) -> Result<()> {
    let Ok(uri) = url.parse::<Uri>() else {
        return Ok(());
    };
    let host = uri.host().unwrap_or_default();
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let address = host.parse::<IpAddr>().ok();
    let is_local = host == "localhost" || address.is_some_and(|address| address.is_loopback());
    match uri.scheme_str() == Some("http") && !is_local {
        false => Ok(()),
        true => Err(
            Failure::usage("the password or token would be sent in clear text")
                .hint("use an https:// URL"),
        ),
    }
}

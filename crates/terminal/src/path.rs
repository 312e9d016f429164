//! Instance paths on the command line and in URLs.

use std::fmt::Write;

use espalier_yang::{DataError, InstancePath, Schema};

use crate::failure::{Failure, Result};

/// Parses a path as a user writes it: `/ietf-interfaces:interfaces/interface=eth0` (RFC 8040 §3.5.3) or
/// `/ietf-interfaces:interfaces/interface[name='eth0']` (RFC 7951 §6.11); `/` is the root.
pub fn parse(schema: &Schema, text: &str) -> Result<InstancePath> {
    InstancePath::parse_cli_path(schema, text).map_err(|error| {
        Failure::usage(format!("the path {text}: {}", error.message))
            .hint("`espalier schema` shows which paths there are")
            .detail(placed(error, text))
    })
}

/// An error of a path: at the node where it is wrong, or else at the text.
pub fn placed(error: DataError, text: &str) -> DataError {
    match error.path.is_empty() {
        true => error.at(text),
        false => error,
    }
}

/// The path in a URL, with the leading `/`; empty for the root.
pub fn api_path(schema: &Schema, path: &InstancePath) -> Result<String> {
    let text = path.to_api_path(schema).ok_or_else(|| {
        Failure::usage("a server cannot select an entry by its position (RFC 8040 §3.5.3)")
            .hint("read the whole list, or work on the store: --store")
    })?;
    let text = text.trim_start_matches('/');
    Ok(match text {
        "" => String::new(),
        text => format!("/{text}"),
    })
}

/// Percent-encodes a text for a URL query.
pub fn percent_encoded(text: &str) -> String {
    let mut encoded = String::new();
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~/:;()".contains(&byte) {
            encoded.push(byte.into());
        } else {
            // Writing to a string cannot fail.
            let _ = write!(encoded, "%{byte:02X}");
        }
    }
    encoded
}

//! The paths of RESTCONF's URIs (RFC 8040 §3.5.3).
//!
//! A path is split at `/`, a step at its first `=`, the values at `,`; only then each part is percent-decoded. So key
//! values may contain any character if it is encoded.

use std::borrow::Cow;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

use super::resolve_steps::Descent;
use super::scan::{WrittenName, malformed};
use super::{InstancePath, Keys, Step};
use crate::error::DataError;
use crate::schema::{NodeId, NodeKind, Schema};

/// All characters except the unreserved ones of RFC 3986 §2.3.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// The start of a path (RFC 8040 §3.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ApiRoot {
    /// `{+restconf}/data` or a datastore of `{+restconf}/ds`: data nodes, and actions in them.
    Data,
    /// `{+restconf}/operations`: RPCs.
    Operations,
}

impl InstancePath {
    /// Parses the part of a URI after the root, percent-encoded as received; a leading slash is ignored. The empty
    /// path is the root itself. The last step may be a whole list or leaf-list; whether that is allowed depends on
    /// the method.
    pub fn parse_api_path(schema: &Schema, text: &str, root: ApiRoot) -> Result<Self, DataError> {
        let text = text.strip_prefix('/').unwrap_or(text);
        let mut descent = Descent::new(schema);
        if text.is_empty() {
            return Ok(descent.finish());
        }
        for segment in text.split('/') {
            api_step(&mut descent, segment, root)?;
        }
        Ok(descent.finish())
    }

    /// The path as in a URI: values in canonical form, all characters except letters, digits and `-._~`
    /// percent-encoded. `None` for a path with a position: RFC 8040 has no way to identify entries of keyless lists.
    /// The root is the empty path.
    pub fn to_api_path(&self, schema: &Schema) -> Option<String> {
        let mut out = String::new();
        for (index, Step { node, keys }) in self.steps.iter().enumerate() {
            if index > 0 {
                out.push('/');
            }
            out.push_str(&schema.qualified_name(*node));
            match keys {
                Keys::None => {}
                Keys::Position(_) => return None,
                Keys::Values(values) => {
                    let mut separator = '=';
                    for value in values {
                        out.push(separator);
                        out.extend(utf8_percent_encode(&value.to_string(), ENCODED));
                        separator = ',';
                    }
                }
            }
        }
        Some(out)
    }
}

/// Parses one segment: `api-identifier` or `list-instance`.
fn api_step(descent: &mut Descent<'_>, segment: &str, root: ApiRoot) -> Result<(), DataError> {
    let (name, values) = match segment.split_once('=') {
        Some((name, values)) => (name, Some(values)),
        None => (segment, None),
    };
    let name = decode(name)?;
    let name = WrittenName::parse(&name).map_err(|error| descent.explain_slash(error))?;
    let child = descent.json_child(name)?;
    if !is_reachable(descent, child, root) {
        return Err(descent.unknown(name));
    }
    descent.enter(child)?;
    match values {
        Some(values) => set_encoded_keys(descent, values),
        None => Ok(()),
    }
}

/// Sets the keys of the current entry from comma-separated, percent-encoded values.
pub(super) fn set_encoded_keys(descent: &mut Descent<'_>, values: &str) -> Result<(), DataError> {
    let texts: Vec<Cow<'_, str>> = values.split(',').map(decode).collect::<Result<_, _>>()?;
    descent.set_key_texts(&texts)
}

/// Returns whether a URI can identify the node: data and actions under `data`, RPCs under `operations`.
fn is_reachable(descent: &Descent<'_>, child: NodeId, root: ApiRoot) -> bool {
    let kind = &descent.schema.node(child).kind;
    let is_rpc = matches!(kind, NodeKind::Rpc);
    let is_data = !matches!(
        kind,
        NodeKind::Rpc | NodeKind::Notification | NodeKind::Input | NodeKind::Output
    );
    match root {
        ApiRoot::Data => is_data,
        ApiRoot::Operations => is_rpc,
    }
}

/// Percent-decodes a part after splitting.
fn decode(text: &str) -> Result<Cow<'_, str>, DataError> {
    let mut rest = text;
    while let Some((_, after)) = rest.split_once('%') {
        let digits = after.as_bytes().get(..2).unwrap_or_default();
        if digits.len() != 2 || !digits.iter().all(u8::is_ascii_hexdigit) {
            return Err(malformed(format!(
                "'%' without two hexadecimal digits in '{text}'"
            )));
        }
        rest = after;
    }
    percent_decode_str(text)
        .decode_utf8()
        .map_err(|_| malformed(format!("'{text}' is not percent-encoded UTF-8")))
}

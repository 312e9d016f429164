//! The names of documents: `DATASPACE/ANCHOR/DATASTORE.json`.
//!
//! In a dataspace or anchor name, all characters except letters, digits, `-`, `_` and non-leading dots are
//! percent-encoded.

use std::fmt::Write;

use crate::tree::Datastore;

const EXTENSION: &str = ".json";

/// The datastores that are documents. The others are running with changes, or running itself.
pub(super) const DOCUMENT_DATASTORES: [Datastore; 4] = [
    Datastore::Running,
    Datastore::Startup,
    Datastore::Operational,
    Datastore::FactoryDefault,
];

/// The name of a document without its file extension.
pub(super) fn title(dataspace: &str, anchor: &str, datastore: Datastore) -> String {
    let (dataspace, anchor) = (encoded(dataspace), encoded(anchor));
    format!("{dataspace}/{anchor}/{}", datastore.name())
}

/// The name of a document.
pub(super) fn name(dataspace: &str, anchor: &str, datastore: Datastore) -> String {
    title(dataspace, anchor, datastore) + EXTENSION
}

/// The dataspace, anchor and datastore of a document name.
pub(super) fn parse(name: &str) -> Option<(String, String, Datastore)> {
    let mut parts = name.strip_suffix(EXTENSION)?.split('/');
    let (dataspace, anchor, datastore) = (parts.next()?, parts.next()?, parts.next()?);
    let datastore = DOCUMENT_DATASTORES
        .into_iter()
        .find(|shown| shown.name() == datastore)?;
    let names = decoded(dataspace).zip(decoded(anchor));
    names
        .filter(|_| parts.next().is_none())
        .map(|(dataspace, anchor)| (dataspace, anchor, datastore))
}

fn encoded(name: &str) -> String {
    let mut text = String::with_capacity(name.len());
    for (at, byte) in name.bytes().enumerate() {
        let is_plain = byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
        if is_plain || (byte == b'.' && at > 0) {
            text.push(byte.into());
        } else {
            // Writing to a string never fails.
            let _ = write!(text, "%{byte:02X}");
        }
    }
    text
}

fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        rest = after;
        if first != b'%' {
            bytes.push(first);
            continue;
        }
        let digits = std::str::from_utf8(rest.split_off(..2)?).ok()?;
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_encoded_and_decoded() {
        for (dataspace, anchor, written) in [
            ("default", "r-1_a.b", "default/r-1_a.b/startup.json"),
            ("..", ".", "%2E./%2E/startup.json"),
            ("ü", "a b%", "%C3%BC/a%20b%25/startup.json"),
        ] {
            let text = name(dataspace, anchor, Datastore::Startup);
            assert_eq!(text, written);
            let (one, other, datastore) = parse(&text).expect("a name");
            assert_eq!((one.as_str(), other.as_str()), (dataspace, anchor));
            assert_eq!(datastore, Datastore::Startup);
        }
        for wrong in [
            "",
            "a/b/running",
            "a/b/candidate.json",
            "a/b/c/running.json",
            "a/%/running.json",
        ] {
            assert_eq!(parse(wrong), None, "{wrong}");
        }
    }
}

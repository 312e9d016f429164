//! The resource that a URL names (RFC 8040 §3.3; RFC 8527 §3 for `/ds`).
//!
//! Paths are handled in encoded form: percent-encoding is part of the grammar of keys (RFC 8040 §3.5.3), so
//! paths are split before they are decoded.

/// The part of the path after the root.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Address<'a> {
    /// `{+restconf}`
    Api,
    /// `{+restconf}/data…`
    Data(&'a str),
    /// `{+restconf}/ds/NAME…`
    Datastore(&'a str, &'a str),
    /// `{+restconf}/operations`
    Operations,
    /// `{+restconf}/operations/NAME`
    Operation(&'a str),
    /// `{+restconf}/yang-library-version`
    YangLibraryVersion,
    /// `{+restconf}/schema/NAME.yang`
    Schema(&'a str),
    /// `{+restconf}/streams/NAME/ENCODING`
    EventStream(&'a str, &'a str),
    /// `{+restconf}/subscriptions/ID` (RFC 8650 §3.1)
    Subscription(&'a str),
    /// No resource.
    Unknown,
}

/// Parses the part of the path after the root.
pub(super) fn locate(path: &str) -> Address<'_> {
    let Some(path) = path.strip_prefix('/') else {
        return match path {
            "" => Address::Api,
            _ => Address::Unknown,
        };
    };
    let (first, rest) = split(path);
    match (first, rest) {
        ("", "") => Address::Api,
        ("data", rest) => Address::Data(rest),
        ("ds", rest) if !rest.is_empty() => {
            let (name, rest) = split(rest);
            Address::Datastore(name, rest)
        }
        ("operations", "") => Address::Operations,
        ("operations", name) => Address::Operation(name),
        ("yang-library-version", "") => Address::YangLibraryVersion,
        ("streams", rest) if !rest.is_empty() => {
            let (name, encoding) = split(rest);
            Address::EventStream(name, encoding)
        }
        ("subscriptions", id) if !id.is_empty() => Address::Subscription(id),
        ("schema", file) => file
            .strip_suffix(".yang")
            .map_or(Address::Unknown, Address::Schema),
        _ => Address::Unknown,
    }
}

fn split(path: &str) -> (&str, &str) {
    path.split_once('/').unwrap_or((path, ""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses() {
        let table = [
            ("", Address::Api),
            ("/", Address::Api),
            ("/data", Address::Data("")),
            ("/data/", Address::Data("")),
            ("/data/a:b/c=1%2F2", Address::Data("a:b/c=1%2F2")),
            (
                "/ds/ietf-datastores:running",
                Address::Datastore("ietf-datastores:running", ""),
            ),
            (
                "/ds/ietf-datastores:running/a:b",
                Address::Datastore("ietf-datastores:running", "a:b"),
            ),
            ("/operations", Address::Operations),
            ("/operations/a:b", Address::Operation("a:b")),
            ("/yang-library-version", Address::YangLibraryVersion),
            ("/schema/a@2020-01-01.yang", Address::Schema("a@2020-01-01")),
            (
                "/streams/NETCONF/json",
                Address::EventStream("NETCONF", "json"),
            ),
            ("/subscriptions/7", Address::Subscription("7")),
            ("/subscriptions", Address::Unknown),
            ("/streams", Address::Unknown),
            ("/schema/a", Address::Unknown),
            ("/ds", Address::Unknown),
            ("data", Address::Unknown),
            ("/database", Address::Unknown),
        ];
        for (path, expected) in table {
            assert_eq!(locate(path), expected, "{path}");
        }
    }
}

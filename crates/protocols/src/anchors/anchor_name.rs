//! The name of an anchor, and its place in URLs.

use std::fmt;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// The characters that are encoded in a segment of a path: all that RFC 3986 does not call unreserved.
const SEGMENT: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// The name of an anchor, with that of its dataspace.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct AnchorName {
    /// The dataspace.
    pub dataspace: String,
    /// The anchor.
    pub anchor: String,
}

impl AnchorName {
    /// An anchor of a dataspace.
    pub fn new(dataspace: impl Into<String>, anchor: impl Into<String>) -> Self {
        Self {
            dataspace: dataspace.into(),
            anchor: anchor.into(),
        }
    }

    /// The path at which a server has the routes of the anchor: `/dataspaces/{dataspace}/anchors/{anchor}`.
    pub fn path(&self) -> String {
        format!(
            "{}/{}",
            anchors_path(&self.dataspace),
            segment(&self.anchor)
        )
    }
}

impl fmt::Display for AnchorName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "“{}” in the dataspace “{}”", self.anchor, self.dataspace)
    }
}

/// The path of the list of anchors of a dataspace.
pub(super) fn anchors_path(dataspace: &str) -> String {
    format!("/dataspaces/{}/anchors", segment(dataspace))
}

/// A name as a segment of a path. A client resolves the segments `.` and `..` even when they are encoded (RFC 3986
/// §6.2.2), so an anchor of that name has no path.
fn segment(name: &str) -> String {
    utf8_percent_encode(name, SEGMENT).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_encoded() {
        let table = [
            ("a", "b", "/dataspaces/a/anchors/b"),
            ("a b", "50%", "/dataspaces/a%20b/anchors/50%25"),
            ("ä", "x?y#z", "/dataspaces/%C3%A4/anchors/x%3Fy%23z"),
        ];
        for (dataspace, anchor, expected) in table {
            assert_eq!(AnchorName::new(dataspace, anchor).path(), expected);
        }
    }
}

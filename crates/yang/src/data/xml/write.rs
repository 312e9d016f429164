//! XML escaping of text and attributes.

/// Appends escaped text. A carriage return is written as a reference, because a reader would turn it into a line feed
/// (XML 1.0 §2.11).
pub(super) fn write_text(out: &mut Vec<u8>, text: &str) {
    write_escaped(out, text, |byte| match byte {
        b'<' => Some("&lt;"),
        b'>' => Some("&gt;"),
        b'&' => Some("&amp;"),
        b'\r' => Some("&#13;"),
        _ => None,
    });
}

/// Appends ` name="value"`, escaped so that attribute value normalisation changes nothing.
pub(super) fn write_attribute(out: &mut Vec<u8>, name: &str, value: &str) {
    begin_attribute(out, name);
    write_escaped(out, value, |byte| match byte {
        b'<' => Some("&lt;"),
        b'&' => Some("&amp;"),
        b'"' => Some("&quot;"),
        b'\t' => Some("&#9;"),
        b'\n' => Some("&#10;"),
        b'\r' => Some("&#13;"),
        _ => None,
    });
    out.push(b'"');
}

/// Appends a value that is escaped already but may use other quotes.
pub(super) fn write_attribute_raw(out: &mut Vec<u8>, name: &str, value: &str) {
    begin_attribute(out, name);
    write_escaped(out, value, |byte| (byte == b'"').then_some("&quot;"));
    out.push(b'"');
}

fn begin_attribute(out: &mut Vec<u8>, name: &str) {
    out.push(b' ');
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b"=\"");
}

fn write_escaped(out: &mut Vec<u8>, text: &str, escape: impl Fn(u8) -> Option<&'static str>) {
    let bytes = text.as_bytes();
    let mut start = 0;
    for (index, &byte) in bytes.iter().enumerate() {
        if let Some(escaped) = escape(byte) {
            out.extend_from_slice(&bytes[start..index]);
            out.extend_from_slice(escaped.as_bytes());
            start = index + 1;
        }
    }
    out.extend_from_slice(&bytes[start..]);
}

//! JSON encoding of values and strings.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::value::Value;

/// Appends a value in the encoding of RFC 7951 §6.
pub fn write_value(out: &mut Vec<u8>, value: &Value) {
    match value {
        Value::Int32(number) => write_number(out, *number),
        Value::Uint32(number) => write_number(out, *number),
        Value::Int64(number) => write_quoted_number(out, *number),
        Value::Uint64(number) => write_quoted_number(out, *number),
        Value::Boolean(true) => out.extend_from_slice(b"true"),
        Value::Boolean(false) => out.extend_from_slice(b"false"),
        Value::Empty => out.extend_from_slice(b"[null]"),
        Value::String(text) | Value::Identity(text) | Value::InstanceIdentifier(text) => {
            write_string(out, text);
        }
        Value::Binary(bytes) => {
            out.push(b'"');
            let start = out.len();
            let length = bytes.len().div_ceil(3) * 4;
            out.resize(start + length, 0);
            let written = STANDARD.encode_slice(bytes, &mut out[start..]).unwrap_or(0);
            out.truncate(start + written);
            out.push(b'"');
        }
        Value::Decimal64(..) => {
            out.push(b'"');
            out.extend_from_slice(value.to_string().as_bytes());
            out.push(b'"');
        }
    }
}

fn write_number(out: &mut Vec<u8>, number: impl itoa::Integer) {
    out.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
}

fn write_quoted_number(out: &mut Vec<u8>, number: impl itoa::Integer) {
    out.push(b'"');
    write_number(out, number);
    out.push(b'"');
}

/// Appends a quoted string, with only the escapes that RFC 8259 §7 requires.
pub fn write_string(out: &mut Vec<u8>, text: &str) {
    out.push(b'"');
    let bytes = text.as_bytes();
    let mut start = 0;
    for (index, &byte) in bytes.iter().enumerate() {
        let letter = ESCAPES[usize::from(byte)];
        if letter == 0 {
            continue;
        }
        out.extend_from_slice(&bytes[start..index]);
        start = index + 1;
        if letter == b'u' {
            let digit = |value: u8| b"0123456789abcdef"[usize::from(value)];
            out.extend_from_slice(b"\\u00");
            out.extend_from_slice(&[digit(byte >> 4), digit(byte & 15)]);
        } else {
            out.extend_from_slice(&[b'\\', letter]);
        }
    }
    out.extend_from_slice(&bytes[start..]);
    out.push(b'"');
}

/// The escape character after the backslash for each byte; 0 if the byte needs no escape.
const ESCAPES: [u8; 256] = {
    let mut escapes = [0; 256];
    let mut byte = 0;
    while byte < 0x20 {
        escapes[byte] = b'u';
        byte += 1;
    }
    escapes[0x08] = b'b';
    escapes[0x09] = b't';
    escapes[0x0a] = b'n';
    escapes[0x0c] = b'f';
    escapes[0x0d] = b'r';
    escapes[b'"' as usize] = b'"';
    escapes[b'\\' as usize] = b'\\';
    escapes
};

#[cfg(test)]
mod tests {
    use super::*;

    fn json_of(value: Value) -> String {
        let mut out = Vec::new();
        write_value(&mut out, &value);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn each_kind_has_its_encoding() {
        let cases = [
            (Value::Int32(-5), "-5"),
            (Value::Uint64(u64::MAX), "\"18446744073709551615\""),
            (Value::Decimal64(-125, 2), "\"-1.25\""),
            (Value::Empty, "[null]"),
            (Value::Binary(Box::new([0, 1, 2, 3])), "\"AAECAw==\""),
            (Value::Binary(Box::new([])), "\"\""),
            (
                Value::string("a\"\\\u{1}\n/é😀"),
                "\"a\\\"\\\\\\u0001\\n/é😀\"",
            ),
        ];
        for (value, text) in cases {
            assert_eq!(json_of(value), text);
        }
    }

    #[test]
    fn strings_round_trip_through_serde_json() {
        for code in 0..0x1_0000 {
            let Some(character) = char::from_u32(code) else {
                continue;
            };
            let text = format!("x{character}y");
            let json = json_of(Value::string(text.clone()));
            assert_eq!(serde_json::from_str::<String>(&json).unwrap(), text);
        }
    }
}

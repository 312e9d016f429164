//! JSON tokens (RFC 8259) from a stream, with their positions.
//!
//! Written by hand because the considered libraries give no exact positions or read byte by byte: serde_json over a
//! counting reader reads 150 MB/s before any type is checked, this several times that. A token is a slice of the
//! read buffer; only strings with escapes are copied.

use std::io::{self, Read};
use std::ops::Range;

use super::escape::write_string;
use crate::data::assemble::{Halt, malformed, too_big};
use crate::data::sink::Mark;

/// The maximum length of a string, name or number (in bytes of the document).
pub const TOKEN_LENGTH_MAX: usize = 16 << 20;

/// The maximum nesting depth of objects and arrays.
pub const DEPTH_MAX: usize = 256;

const BUFFER_LENGTH: usize = 64 << 10;

/// A scalar as in the document (strings unescaped).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scalar<'a> {
    String(&'a str),
    Number(&'a str),
    Boolean(bool),
    Null,
}

/// The type of the next value, according to its first byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    Object,
    Array,
    Scalar,
}

/// The location of the text of a token.
enum TextLocation {
    Buffer(Range<usize>),
    Scratch,
}

// `serde_json` gives no position of a value and no digits of a number: docs/decisions/0061.
/// The tokenizer.
pub(super) struct Tokens<R> {
    reader: R,
    buffer: Vec<u8>,
    position: usize,
    end: usize,
    line: u32,
    /// The number of bytes of the current line before `buffer[0]`, or, if negative, the position in the buffer at which
    /// the line begins.
    line_offset: i64,
    scratch: Vec<u8>,
    depth: usize,
    at_end: bool,
}

impl<R: Read> Tokens<R> {
    pub(super) fn new(reader: R) -> Self {
        Self {
            reader,
            buffer: vec![0; BUFFER_LENGTH],
            position: 0,
            end: 0,
            line: 1,
            line_offset: 0,
            scratch: Vec::new(),
            depth: 0,
            at_end: false,
        }
    }

    /// The position of the next byte.
    pub(super) fn mark(&self) -> Mark {
        let column = self.position as i64 + self.line_offset + 1;
        Mark {
            line: self.line,
            column: u32::try_from(column).unwrap_or(u32::MAX),
        }
    }

    /// Skips white space; returns the next byte without consuming it, or `None` at the end.
    pub(super) fn peek(&mut self) -> Result<Option<u8>, Halt> {
        loop {
            while self.position < self.end {
                match self.buffer[self.position] {
                    b'\n' => {
                        self.line = self.line.saturating_add(1);
                        self.position += 1;
                        self.line_offset = -(self.position as i64);
                    }
                    b' ' | b'\t' | b'\r' => self.position += 1,
                    byte => return Ok(Some(byte)),
                }
            }
            if !self.fill(self.position)? {
                return Ok(None);
            }
        }
    }

    /// The type of the next value.
    pub(super) fn shape(&mut self) -> Result<Shape, Halt> {
        match self.peek()? {
            Some(b'{') => Ok(Shape::Object),
            Some(b'[') => Ok(Shape::Array),
            Some(_) => Ok(Shape::Scalar),
            None => Err(self.cut_short()),
        }
    }

    /// Consumes the `{` or `[` that [`Self::shape`] found.
    pub(super) fn descend(&mut self) -> Result<(), Halt> {
        if self.depth == DEPTH_MAX {
            let message = format!("nested deeper than the limit of {DEPTH_MAX} (DEPTH_MAX)");
            return Err(malformed(self.mark(), message));
        }
        self.depth += 1;
        self.position += 1;
        Ok(())
    }

    /// Returns whether another element follows in the array (or member in the object) that `close` ends; consumes the
    /// comma before it, or the closing bracket.
    pub(super) fn another(&mut self, close: u8, place: ElementPosition) -> Result<bool, Halt> {
        let next = self.peek()?;
        if next == Some(close) {
            self.position += 1;
            self.depth -= 1;
            return Ok(false);
        }
        if place == ElementPosition::First {
            return Ok(true);
        }
        if next != Some(b',') {
            return Err(self.unexpected(&format!("a comma or '{}'", char::from(close))));
        }
        self.position += 1;
        if self.peek()? == Some(close) {
            return Err(self.unexpected("a value after the comma"));
        }
        Ok(true)
    }

    /// The name of a member, with the colon after it.
    pub(super) fn name(&mut self) -> Result<&str, Halt> {
        if self.peek()? != Some(b'"') {
            return Err(self.unexpected("a member name in quotes"));
        }
        let text = self.string()?;
        // The colon is nearly always the next byte; only otherwise may the buffer move.
        if self.position < self.end && self.buffer[self.position] == b':' {
            self.position += 1;
            return Ok(self.text(&text));
        }
        if let TextLocation::Buffer(range) = text {
            self.scratch.clear();
            self.scratch.extend_from_slice(&self.buffer[range]);
        }
        if self.peek()? != Some(b':') {
            return Err(self.unexpected("a colon"));
        }
        self.position += 1;
        Ok(self.text(&TextLocation::Scratch))
    }

    /// A scalar value.
    pub(super) fn scalar(&mut self) -> Result<Scalar<'_>, Halt> {
        match self.peek()? {
            Some(b'"') => {
                let text = self.string()?;
                Ok(Scalar::String(self.text(&text)))
            }
            Some(b'-' | b'0'..=b'9') => {
                let text = self.number()?;
                Ok(Scalar::Number(self.text(&text)))
            }
            Some(b't') => self.literal(b"true").map(|()| Scalar::Boolean(true)),
            Some(b'f') => self.literal(b"false").map(|()| Scalar::Boolean(false)),
            Some(b'n') => self.literal(b"null").map(|()| Scalar::Null),
            Some(_) => Err(self.unexpected("a value")),
            None => Err(self.cut_short()),
        }
    }

    /// Skips one value of any type.
    pub(super) fn skip(&mut self) -> Result<(), Halt> {
        let close = match self.shape()? {
            Shape::Scalar => return self.scalar().map(drop),
            Shape::Object => b'}',
            Shape::Array => b']',
        };
        self.descend()?;
        let mut place = ElementPosition::First;
        while self.another(close, place)? {
            place = ElementPosition::Later;
            if close == b'}' {
                self.name()?;
            }
            self.skip()?;
        }
        Ok(())
    }

    /// Copies one value of any type, without white space.
    pub(super) fn copy(&mut self, out: &mut Vec<u8>, length_max: usize) -> Result<(), Halt> {
        if out.len() > length_max {
            let limit = format!("content longer than {length_max} bytes (ANY_LENGTH_MAX)");
            return Err(too_big(self.mark(), limit));
        }
        let (open, close) = match self.shape()? {
            Shape::Scalar => return self.copy_scalar(out),
            Shape::Object => (b'{', b'}'),
            Shape::Array => (b'[', b']'),
        };
        self.descend()?;
        out.push(open);
        let mut place = ElementPosition::First;
        while self.another(close, place)? {
            if place == ElementPosition::Later {
                out.push(b',');
            }
            place = ElementPosition::Later;
            if close == b'}' {
                write_string(out, self.name()?);
                out.push(b':');
            }
            self.copy(out, length_max)?;
        }
        out.push(close);
        Ok(())
    }

    fn copy_scalar(&mut self, out: &mut Vec<u8>) -> Result<(), Halt> {
        match self.scalar()? {
            Scalar::String(text) => write_string(out, text),
            Scalar::Number(text) => out.extend_from_slice(text.as_bytes()),
            Scalar::Boolean(true) => out.extend_from_slice(b"true"),
            Scalar::Boolean(false) => out.extend_from_slice(b"false"),
            Scalar::Null => out.extend_from_slice(b"null"),
        }
        Ok(())
    }

    /// Fails if anything but white space is left.
    pub(super) fn finish(&mut self) -> Result<(), Halt> {
        match self.peek()? {
            None => Ok(()),
            Some(_) => Err(self.unexpected("the end of the document")),
        }
    }

    /// An "expected X, found Y" error at the current position.
    pub(super) fn unexpected(&self, expected: &str) -> Halt {
        if self.position == self.end {
            return self.cut_short();
        }
        let found = self.buffer[self.position].escape_ascii();
        malformed(self.mark(), format!("expected {expected}, found '{found}'"))
    }

    fn cut_short(&self) -> Halt {
        malformed(self.mark(), "the document ends too early")
    }

    fn text(&self, text: &TextLocation) -> &str {
        let bytes = match text {
            TextLocation::Buffer(range) => &self.buffer[range.clone()],
            TextLocation::Scratch => &self.scratch,
        };
        // Checked when the token was read.
        std::str::from_utf8(bytes).unwrap_or_default()
    }

    /// Reads more input, keeping the bytes from `keep` on (which move to the front, `position` with them). Returns
    /// false at the end of the input.
    fn fill(&mut self, keep: usize) -> Result<bool, Halt> {
        if self.at_end {
            return Ok(false);
        }
        if keep > 0 {
            self.buffer.copy_within(keep..self.end, 0);
            self.end -= keep;
            self.position -= keep;
            self.line_offset += keep as i64;
        }
        if self.end == self.buffer.len() {
            if self.end >= TOKEN_LENGTH_MAX {
                let limit = format!("longer than {TOKEN_LENGTH_MAX} bytes (TOKEN_LENGTH_MAX)");
                return Err(too_big(self.mark(), limit));
            }
            self.buffer.resize(self.end * 2, 0);
        }
        loop {
            match self.reader.read(&mut self.buffer[self.end..]) {
                Ok(0) => {
                    self.at_end = true;
                    return Ok(false);
                }
                Ok(length) => {
                    self.end += length;
                    return Ok(true);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(Halt::Read(error)),
            }
        }
    }

    /// A string; `position` is at its opening quote.
    fn string(&mut self) -> Result<TextLocation, Halt> {
        let mut length = 1;
        loop {
            let from = self.position + length;
            length += plain_length(&self.buffer[from..self.end]);
            let at = self.position + length;
            if at == self.end {
                if !self.fill(self.position)? {
                    self.position = self.end;
                    return Err(self.cut_short());
                }
                continue;
            }
            if self.buffer[at] != b'"' {
                return self.string_with_escapes(at);
            }
            let range = self.position + 1..at;
            self.check_text(&self.buffer[range.clone()])?;
            self.position = at + 1;
            return Ok(TextLocation::Buffer(range));
        }
    }

    /// Reads the rest of a string whose first escape (or error) is at `at`.
    fn string_with_escapes(&mut self, at: usize) -> Result<TextLocation, Halt> {
        self.scratch.clear();
        self.scratch
            .extend_from_slice(&self.buffer[self.position + 1..at]);
        self.position = at;
        loop {
            if self.position == self.end && !self.fill(self.position)? {
                return Err(self.cut_short());
            }
            let length = plain_length(&self.buffer[self.position..self.end]);
            let plain = self.position..self.position + length;
            self.scratch.extend_from_slice(&self.buffer[plain]);
            if self.scratch.len() > TOKEN_LENGTH_MAX {
                let limit = format!("longer than {TOKEN_LENGTH_MAX} bytes (TOKEN_LENGTH_MAX)");
                return Err(too_big(self.mark(), limit));
            }
            self.position += length;
            match self.buffer[..self.end].get(self.position) {
                None => {}
                Some(b'"') => {
                    self.position += 1;
                    self.check_text(&self.scratch)?;
                    return Ok(TextLocation::Scratch);
                }
                Some(b'\\') => self.escape()?,
                Some(byte) => {
                    let message = format!("control character {byte:#04x} in a string");
                    return Err(malformed(self.mark(), message));
                }
            }
        }
    }

    fn check_text(&self, bytes: &[u8]) -> Result<(), Halt> {
        match std::str::from_utf8(bytes) {
            Ok(_) => Ok(()),
            Err(_) => Err(malformed(self.mark(), "a string is not UTF-8")),
        }
    }

    /// Reads one escape, from its backslash on.
    fn escape(&mut self) -> Result<(), Halt> {
        self.position += 1;
        let byte = self.byte()?;
        let plain = match byte {
            b'"' | b'\\' | b'/' => byte,
            b'b' => 0x08,
            b'f' => 0x0c,
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'u' => return self.unicode_escape(),
            _ => return Err(malformed(self.mark(), "an unknown escape in a string")),
        };
        self.scratch.push(plain);
        Ok(())
    }

    fn unicode_escape(&mut self) -> Result<(), Halt> {
        let first = self.four_digits()?;
        let code = if (0xd800..0xdc00).contains(&first) {
            let is_pair = self.byte()? == b'\\' && self.byte()? == b'u';
            let second = if is_pair { self.four_digits()? } else { 0 };
            if !(0xdc00..0xe000).contains(&second) {
                return Err(malformed(self.mark(), "half of a surrogate pair"));
            }
            0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00)
        } else {
            first
        };
        let Some(character) = char::from_u32(code) else {
            return Err(malformed(self.mark(), "half of a surrogate pair"));
        };
        let mut bytes = [0; 4];
        self.scratch
            .extend_from_slice(character.encode_utf8(&mut bytes).as_bytes());
        Ok(())
    }

    fn four_digits(&mut self) -> Result<u32, Halt> {
        let mut code = 0;
        for _ in 0..4 {
            let byte = self.byte()?;
            let Some(digit) = char::from(byte).to_digit(16) else {
                return Err(malformed(self.mark(), "expected four hexadecimal digits"));
            };
            code = code * 16 + digit;
        }
        Ok(code)
    }

    fn byte(&mut self) -> Result<u8, Halt> {
        if self.position == self.end && !self.fill(self.position)? {
            return Err(self.cut_short());
        }
        self.position += 1;
        Ok(self.buffer[self.position - 1])
    }

    /// Reads a number; `position` is at its first byte.
    fn number(&mut self) -> Result<TextLocation, Halt> {
        let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || b"+-.".contains(byte);
        let mut length = 0;
        loop {
            let rest = &self.buffer[self.position + length..self.end];
            length += rest.iter().take_while(|&byte| is_part(byte)).count();
            if self.position + length < self.end || !self.fill(self.position)? {
                break;
            }
        }
        let range = self.position..self.position + length;
        if !is_number(&self.buffer[range.clone()]) {
            let found = self.buffer[range].escape_ascii().take(40).map(char::from);
            let message = format!("'{}' is not a JSON number", found.collect::<String>());
            return Err(malformed(self.mark(), message));
        }
        self.position = range.end;
        Ok(TextLocation::Buffer(range))
    }

    fn literal(&mut self, word: &[u8]) -> Result<(), Halt> {
        while self.end - self.position < word.len() {
            if !self.fill(self.position)? {
                return Err(self.unexpected("a value"));
            }
        }
        let end = self.position + word.len();
        if &self.buffer[self.position..end] != word {
            return Err(self.unexpected("a value"));
        }
        self.position = end;
        Ok(())
    }
}

/// Whether an element is the first of its array or object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ElementPosition {
    First,
    Later,
}

/// The number of leading bytes of a string that need no special treatment.
fn plain_length(bytes: &[u8]) -> usize {
    let is_special = |byte: u8| byte == b'"' || byte == b'\\' || byte < 0x20;
    let mut length = 0;
    while let Some(chunk) = bytes[length..].first_chunk() {
        let marks = special_bytes(u64::from_le_bytes(*chunk));
        if marks != 0 {
            return length + marks.trailing_zeros() as usize / 8;
        }
        length += 8;
    }
    let rest = &bytes[length..];
    length
        + rest
            .iter()
            .position(|&byte| is_special(byte))
            .unwrap_or(rest.len())
}

/// Sets the high bit of the first special byte of eight; later bytes may be marked wrongly.
fn special_bytes(word: u64) -> u64 {
    const ONES: u64 = u64::from_le_bytes([1; 8]);
    let zero_bytes = |word: u64| word.wrapping_sub(ONES) & !word;
    let quotes = zero_bytes(word ^ (ONES * u64::from(b'"')));
    let backslashes = zero_bytes(word ^ (ONES * u64::from(b'\\')));
    let controls = word.wrapping_sub(ONES * 0x20) & !word;
    (quotes | backslashes | controls) & (ONES * 0x80)
}

/// The grammar of RFC 8259 §6.
fn is_number(text: &[u8]) -> bool {
    let text = text.strip_prefix(b"-").unwrap_or(text);
    let (whole, rest) = split_digits(text);
    if whole.is_empty() || (whole.len() > 1 && whole[0] == b'0') {
        return false;
    }
    let rest = match rest.strip_prefix(b".") {
        Some(fraction) => match split_digits(fraction) {
            ([], _) => return false,
            (_, rest) => rest,
        },
        None => rest,
    };
    let Some(exponent) = rest.strip_prefix(b"e").or_else(|| rest.strip_prefix(b"E")) else {
        return rest.is_empty();
    };
    let exponent = match exponent {
        [b'+' | b'-', digits @ ..] => digits,
        digits => digits,
    };
    matches!(split_digits(exponent), ([_, ..], []))
}

fn split_digits(text: &[u8]) -> (&[u8], &[u8]) {
    let length = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    text.split_at(length)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a few bytes per read, so that every token is split somewhere.
    struct Dribble<'a>(&'a [u8], usize);

    impl Read for Dribble<'_> {
        fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
            let length = self.1.min(self.0.len()).min(out.len());
            out[..length].copy_from_slice(&self.0[..length]);
            self.0 = &self.0[length..];
            Ok(length)
        }
    }

    fn value<R: Read>(tokens: &mut Tokens<R>) -> Result<serde_json::Value, Halt> {
        let close = match tokens.shape()? {
            Shape::Object => b'}',
            Shape::Array => b']',
            Shape::Scalar => {
                return Ok(match tokens.scalar()? {
                    Scalar::String(text) => text.into(),
                    Scalar::Number(text) => serde_json::from_str(text).expect("a number"),
                    Scalar::Boolean(value) => value.into(),
                    Scalar::Null => serde_json::Value::Null,
                });
            }
        };
        tokens.descend()?;
        let (mut object, mut array) = (serde_json::Map::new(), Vec::new());
        let mut place = ElementPosition::First;
        while tokens.another(close, place)? {
            place = ElementPosition::Later;
            if close == b'}' {
                let name = tokens.name()?.to_owned();
                object.insert(name, value(tokens)?);
            } else {
                array.push(value(tokens)?);
            }
        }
        Ok(if close == b'}' {
            object.into()
        } else {
            array.into()
        })
    }

    fn read(text: &[u8], piece: usize) -> Option<serde_json::Value> {
        let mut tokens = Tokens::new(Dribble(text, piece));
        let value = value(&mut tokens).ok()?;
        tokens.finish().ok()?;
        Some(value)
    }

    #[test]
    fn tokens_agree_with_serde_json() {
        use rand::Rng;
        let mut random = espalier_testkit::seed::generator();
        let whole = r#" {"a" : [1, -2.5e3, 0, true,false ,null, "x\"\\\/\b\f\n\r\t\u00e9\ud83d\ude00é"],
            "b":{"c":{},"d":[],"":"long enough to fill some words of eight bytes"}} "#;
        for round in 0..20_000 {
            let mut text = whole.as_bytes().to_vec();
            for _ in 0..random.random_range(0..3) {
                let at = random.random_range(0..text.len());
                match random.random_range(0..3) {
                    0 => drop(text.remove(at)),
                    1 => text[at] = random.random(),
                    _ => text.insert(at, b"{}[]\",:0-.eu\\ "[random.random_range(0..14)]),
                }
            }
            let theirs = serde_json::from_slice::<serde_json::Value>(&text).ok();
            let ours = read(&text, 1 + round % 9);
            assert_eq!(ours, theirs, "{}", String::from_utf8_lossy(&text));
        }
    }

    #[test]
    fn positions_are_exact() {
        let mut tokens = Tokens::new(Dribble(b"{\n  \"a\":\n\n 12\n}", 3));
        tokens.peek().unwrap();
        tokens.descend().unwrap();
        tokens.another(b'}', ElementPosition::First).unwrap();
        assert_eq!(tokens.mark(), Mark { line: 2, column: 3 });
        tokens.name().unwrap();
        tokens.peek().unwrap();
        assert_eq!(tokens.mark(), Mark { line: 4, column: 2 });
        tokens.scalar().unwrap();
        assert_eq!(tokens.mark(), Mark { line: 4, column: 4 });
    }

    #[test]
    fn depth_is_limited() {
        let deep = "[".repeat(DEPTH_MAX + 1);
        let mut tokens = Tokens::new(deep.as_bytes());
        assert!(matches!(tokens.skip(), Err(Halt::Invalid(_))));
    }
}

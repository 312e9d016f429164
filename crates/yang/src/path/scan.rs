//! Scanner for names and quoted values.

use std::borrow::Cow;

use crate::error::{DataError, ErrorTag, ErrorType};

/// A name as written, with or without a prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct WrittenName<'a> {
    pub(super) prefix: Option<&'a str>,
    pub(super) name: &'a str,
}

impl<'a> WrittenName<'a> {
    /// Parses a text that is a name.
    pub(super) fn parse(text: &'a str) -> Result<Self, DataError> {
        let mut scanner = Scanner::new(text);
        let name = scanner.name()?;
        scanner.end()?;
        Ok(name)
    }
}

impl std::fmt::Display for WrittenName<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if let Some(prefix) = self.prefix {
            write!(f, "{prefix}:")?;
        }
        f.write_str(self.name)
    }
}

/// Scans a text from left to right.
pub(super) struct Scanner<'a> {
    text: &'a str,
    rest: &'a str,
}

impl<'a> Scanner<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { text, rest: text }
    }

    pub(super) fn peek(&self) -> Option<char> {
        self.rest.chars().next()
    }

    pub(super) fn eat(&mut self, c: char) -> bool {
        let is_next = self.peek() == Some(c);
        if is_next {
            self.rest = &self.rest[c.len_utf8()..];
        }
        is_next
    }

    pub(super) fn expect(&mut self, c: char) -> Result<(), DataError> {
        if self.eat(c) {
            Ok(())
        } else {
            Err(self.expected(&format!("'{c}'")))
        }
    }

    /// `WSP` of RFC 7950 §14, and line ends.
    pub(super) fn spaces(&mut self) {
        self.rest = self.rest.trim_start_matches([' ', '\t', '\n', '\r']);
    }

    /// The text before the first of `stops`, or the rest.
    pub(super) fn until(&mut self, stops: &[char]) -> &'a str {
        let end = self.rest.find(stops).unwrap_or(self.rest.len());
        let (taken, rest) = self.rest.split_at(end);
        self.rest = rest;
        taken
    }

    /// `[prefix ":"] identifier` (RFC 7950 §14 `node-identifier`).
    pub(super) fn name(&mut self) -> Result<WrittenName<'a>, DataError> {
        let first = self.identifier()?;
        if !self.eat(':') {
            return Ok(WrittenName {
                prefix: None,
                name: first,
            });
        }
        Ok(WrittenName {
            prefix: Some(first),
            name: self.identifier()?,
        })
    }

    fn identifier(&mut self) -> Result<&'a str, DataError> {
        let is_part = |c: &u8| c.is_ascii_alphanumeric() || matches!(c, b'_' | b'-' | b'.');
        let bytes = self.rest.as_bytes();
        if !bytes
            .first()
            .is_some_and(|c| c.is_ascii_alphabetic() || *c == b'_')
        {
            return Err(self.expected("a name"));
        }
        let end = bytes.iter().position(|c| !is_part(c));
        let end = end.unwrap_or(bytes.len());
        let (taken, rest) = self.rest.split_at(end);
        self.rest = rest;
        Ok(taken)
    }

    /// A quoted value. It may contain its quote character, doubled.
    pub(super) fn quoted(&mut self) -> Result<Cow<'a, str>, DataError> {
        let quote = match self.peek() {
            Some(quote @ ('\'' | '"')) => quote,
            _ => return Err(self.expected("a value between quotes")),
        };
        self.eat(quote);
        let mut value = Cow::Borrowed(self.quoted_part(quote)?);
        while self.eat(quote) {
            let value = value.to_mut();
            value.push(quote);
            value.push_str(self.quoted_part(quote)?);
        }
        Ok(value)
    }

    /// The text up to the next quote, which is consumed.
    fn quoted_part(&mut self, quote: char) -> Result<&'a str, DataError> {
        let part = self.until(&[quote]);
        if self.eat(quote) {
            Ok(part)
        } else {
            Err(self.expected(&format!("the closing {quote}")))
        }
    }

    /// Requires the end of the text.
    pub(super) fn end(&self) -> Result<(), DataError> {
        if self.rest.is_empty() {
            Ok(())
        } else {
            Err(self.expected("the end of the name"))
        }
    }

    /// An error at the current position.
    pub(super) fn expected(&self, what: &str) -> DataError {
        let read = &self.text[..self.text.len() - self.rest.len()];
        let column = read.chars().count() + 1;
        let found = self
            .peek()
            .map_or_else(|| "the end".to_owned(), |c| format!("'{c}'"));
        malformed(format!(
            "column {column} of the path: expected {what}, found {found}"
        ))
    }
}

/// The error of a path whose syntax is wrong.
pub(super) fn malformed(message: impl Into<String>) -> DataError {
    DataError::new(ErrorTag::MalformedMessage, message).of_type(ErrorType::Protocol)
}

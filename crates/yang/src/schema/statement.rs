//! The statements of a YANG text (RFC 7950 §6.1, §14), parsed just enough to identify a text and to find positions in
//! it. libyang does the real parsing, but keeps no lines.

use std::borrow::Cow;
use std::ops::Range;

/// The maximum nesting depth of statements; libyang would overflow the stack at some depth.
pub const STATEMENT_DEPTH_MAX: usize = 500;

/// The line of the first statement that is nested too deep.
pub(super) fn too_deep(text: &str) -> Option<u32> {
    let mut statements = Statements::new(text);
    let found = statements.find(|statement| statement.depth > STATEMENT_DEPTH_MAX)?;
    Some(found.line)
}

/// A statement, without its substatements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Statement<'t> {
    /// The keyword, with its prefix if it is an extension.
    pub(super) keyword: &'t str,
    /// The argument, if there is one.
    pub(super) argument: Option<Cow<'t, str>>,
    /// The byte range of the argument, including its quotes; empty if there is none.
    pub(super) argument_bytes: Range<usize>,
    /// The line of its start, from 1.
    pub(super) line: u32,
    /// The number of enclosing statements.
    pub(super) depth: usize,
}

/// The statements of a text in order, each before its substatements; ends at the first syntax error.
#[derive(Clone)]
pub(super) struct Statements<'t> {
    /// The length of the whole text in bytes.
    bytes: usize,
    rest: &'t str,
    line: u32,
    depth: usize,
}

enum Token<'t> {
    /// An unquoted or quoted string.
    String(Cow<'t, str>),
    Semicolon,
    Open,
    Close,
}

impl<'t> Statements<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        Self {
            bytes: text.len(),
            rest: text.trim_start_matches('\u{feff}'),
            line: 1,
            depth: 0,
        }
    }

    /// The number of bytes read.
    fn offset(&self) -> usize {
        self.bytes - self.rest.len()
    }

    fn advance(&mut self, bytes: usize) -> &'t str {
        let (taken, rest) = self.rest.split_at(bytes);
        let lines = memchr::memchr_iter(b'\n', taken.as_bytes()).count();
        self.line = self
            .line
            .saturating_add(u32::try_from(lines).unwrap_or(u32::MAX));
        self.rest = rest;
        taken
    }

    fn skip_space_and_comments(&mut self) {
        loop {
            let space = self.rest.len() - self.rest.trim_start().len();
            self.advance(space);
            let comment = if self.rest.starts_with("//") {
                self.rest.find('\n')
            } else if self.rest.starts_with("/*") {
                self.rest.find("*/").map(|end| end + 2)
            } else {
                return;
            };
            self.advance(comment.unwrap_or(self.rest.len()));
        }
    }

    fn token(&mut self) -> Option<Token<'t>> {
        self.skip_space_and_comments();
        let first = self.rest.chars().next()?;
        let mark = match first {
            ';' => Some(Token::Semicolon),
            '{' => Some(Token::Open),
            '}' => Some(Token::Close),
            _ => None,
        };
        if mark.is_some() {
            self.advance(1);
            return mark;
        }
        let string = match first {
            '"' | '\'' => self.quoted(first)?,
            _ => Cow::Borrowed(self.word()),
        };
        Some(Token::String(self.concatenated(string)))
    }

    fn word(&mut self) -> &'t str {
        let is_end = |character: char| character.is_whitespace() || ";{}\"'".contains(character);
        let end = self.rest.find(is_end).unwrap_or(self.rest.len());
        self.advance(end)
    }

    fn quoted(&mut self, quote: char) -> Option<Cow<'t, str>> {
        self.advance(1);
        if quote == '\'' {
            let text = self.advance(self.rest.find('\'')?);
            self.advance(1);
            return Some(Cow::Borrowed(text));
        }
        let mut is_escaped = false;
        let end = self.rest.find(|character| match character {
            _ if is_escaped => {
                is_escaped = false;
                false
            }
            '\\' => {
                is_escaped = true;
                false
            }
            _ => character == '"',
        })?;
        let text = self.advance(end);
        self.advance(1);
        Some(Cow::Borrowed(text))
    }

    /// Appends the strings that follow a `+`.
    fn concatenated(&mut self, mut string: Cow<'t, str>) -> Cow<'t, str> {
        loop {
            let (rest, line) = (self.rest, self.line);
            self.skip_space_and_comments();
            let is_plus = self.rest.starts_with('+');
            if is_plus {
                self.advance(1);
                self.skip_space_and_comments();
            }
            let quote = self.rest.chars().next();
            match quote.filter(|quote| is_plus && ['"', '\''].contains(quote)) {
                Some(quote) => match self.quoted(quote) {
                    Some(more) => string.to_mut().push_str(&more),
                    None => return string,
                },
                None => {
                    (self.rest, self.line) = (rest, line);
                    return string;
                }
            }
        }
    }
}

impl<'t> Iterator for Statements<'t> {
    type Item = Statement<'t>;

    fn next(&mut self) -> Option<Statement<'t>> {
        loop {
            self.skip_space_and_comments();
            if !self.rest.starts_with('}') {
                break;
            }
            self.advance(1);
            self.depth = self.depth.checked_sub(1)?;
        }
        let line = self.line;
        let keyword = self.word();
        if keyword.is_empty() {
            return None;
        }
        let depth = self.depth;
        let mut argument = None;
        let mut argument_bytes = 0..0;
        loop {
            self.skip_space_and_comments();
            let start = self.offset();
            match self.token()? {
                Token::String(string) if argument.is_none() => {
                    argument = Some(string);
                    argument_bytes = start..self.offset();
                }
                Token::String(_) | Token::Close => return None,
                Token::Open => {
                    self.depth += 1;
                    break;
                }
                Token::Semicolon => break,
            }
        }
        Some(Statement {
            keyword,
            argument,
            argument_bytes,
            line,
            depth,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_have_their_lines() {
        let text = "/* a\n comment */ module a { // more\n  prefix 'p';\n\
                    \x20 container \"c\"\n  + /**/ 'd' {\n    e:ext;\n  }\n  leaf l { type string; }\n}";
        let found: Vec<_> = Statements::new(text)
            .map(|item| {
                (
                    item.keyword,
                    item.argument.unwrap_or_default(),
                    item.line,
                    item.depth,
                )
            })
            .collect();
        let expected = [
            ("module", "a", 2, 0),
            ("prefix", "p", 3, 1),
            ("container", "cd", 4, 1),
            ("e:ext", "", 6, 2),
            ("leaf", "l", 8, 1),
            ("type", "string", 8, 2),
        ];
        let expected: Vec<_> = expected
            .map(|(keyword, argument, line, depth)| (keyword, argument.into(), line, depth))
            .to_vec();
        assert_eq!(found, expected);
    }

    #[test]
    fn invalid_texts_end_early() {
        for text in [
            "",
            "}",
            "module",
            "module a",
            "module \"a",
            "/*",
            "module a b {",
            "\"a\" {",
        ] {
            assert_eq!(Statements::new(text).count(), 0, "{text}");
        }
    }
}

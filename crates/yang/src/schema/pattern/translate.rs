//! Alternatives, pieces and quantifiers (XML Schema part 2, F, productions 1 to 10).

use std::iter::Peekable;
use std::str::Chars;

use regex::{Regex, RegexBuilder};

use super::PatternError;
use super::class::{push_char, push_class, push_escape};

/// The maximum length of a pattern, in characters.
pub const PATTERN_CHARS_MAX: usize = 65_536;

/// The maximum nesting depth of groups and classes.
pub const PATTERN_DEPTH_MAX: usize = 100;

/// The maximum number in a quantifier.
pub const REPEAT_MAX: u32 = 65_535;

/// The maximum size of a compiled pattern; large counts of large classes exceed it.
pub const COMPILED_BYTES_MAX: usize = 64 << 20;

/// The maximum size of the engine's automaton cache during matching.
const CACHE_BYTES_MAX: usize = 4 << 20;

/// Translates `xsd` to an expression that matches the same values.
pub fn translate(xsd: &str) -> Result<Regex, PatternError> {
    let (expression, largest) = rewrite(xsd)?;
    RegexBuilder::new(&expression)
        .size_limit(COMPILED_BYTES_MAX)
        .dfa_size_limit(CACHE_BYTES_MAX)
        // The engine's own parser needs up to four levels per group.
        .nest_limit(8 + 4 * PATTERN_DEPTH_MAX as u32)
        .build()
        .map_err(|error| build_error(&error, largest))
}

/// A repetition: its maximum count and its position.
#[derive(Clone, Copy, Default)]
struct Repeat {
    count: u32,
    at: usize,
}

fn build_error(error: &regex::Error, largest: Repeat) -> PatternError {
    match error {
        regex::Error::CompiledTooBig(limit) => PatternError::at(
            largest.at,
            format!("repetitions make the pattern larger than {limit} bytes compiled"),
        ),
        other => PatternError::at(0, other.to_string()),
    }
}

fn rewrite(xsd: &str) -> Result<(String, Repeat), PatternError> {
    if xsd.chars().nth(PATTERN_CHARS_MAX).is_some() {
        let reason = format!("longer than {PATTERN_CHARS_MAX} characters");
        return Err(PatternError::at(PATTERN_CHARS_MAX, reason));
    }
    let mut translator = Translator::new(xsd);
    translator.out.push_str(r"\A(?:");
    translator.alternatives()?;
    if let Some(c) = translator.peek() {
        return Err(translator.error(format!("unexpected '{c}'")));
    }
    translator.out.push_str(r")\z");
    Ok((translator.out, translator.largest))
}

/// Parses a pattern and writes its translation.
pub(super) struct Translator<'a> {
    input: Peekable<Chars<'a>>,
    /// The number of characters read.
    position: usize,
    depth: usize,
    largest: Repeat,
    pub(super) out: String,
}

impl<'a> Translator<'a> {
    fn new(xsd: &'a str) -> Self {
        Self {
            input: xsd.chars().peekable(),
            position: 0,
            depth: 0,
            largest: Repeat::default(),
            out: String::with_capacity(2 * xsd.len() + 16),
        }
    }

    pub(super) fn peek(&mut self) -> Option<char> {
        self.input.peek().copied()
    }

    /// The character after the next.
    pub(super) fn peek_second(&mut self) -> Option<char> {
        self.input.clone().nth(1)
    }

    pub(super) fn next(&mut self) -> Option<char> {
        let c = self.input.next()?;
        self.position += 1;
        Some(c)
    }

    pub(super) fn eat(&mut self, c: char) -> bool {
        let found = self.peek() == Some(c);
        if found {
            self.next();
        }
        found
    }

    /// An error at the next character.
    pub(super) fn error(&self, reason: impl Into<Box<str>>) -> PatternError {
        PatternError::at(self.position, reason)
    }

    /// An error at the character just read.
    pub(super) fn error_here(&self, reason: impl Into<Box<str>>) -> PatternError {
        PatternError::at(self.position.saturating_sub(1), reason)
    }

    /// Enters a group or class.
    pub(super) fn descend(&mut self) -> Result<(), PatternError> {
        self.depth += 1;
        if self.depth > PATTERN_DEPTH_MAX {
            return Err(self.error_here(format!("nested more than {PATTERN_DEPTH_MAX} deep")));
        }
        Ok(())
    }

    /// Leaves a group or class.
    pub(super) fn ascend(&mut self) {
        self.depth -= 1;
    }

    /// `regExp ::= branch ( '|' branch )*`; a branch is any number of pieces.
    fn alternatives(&mut self) -> Result<(), PatternError> {
        loop {
            while self.peek().is_some_and(|c| c != '|' && c != ')') {
                self.atom()?;
                self.quantifier()?;
            }
            if !self.eat('|') {
                return Ok(());
            }
            self.out.push('|');
        }
    }

    fn atom(&mut self) -> Result<(), PatternError> {
        match self.next() {
            Some('(') => self.group(),
            Some('[') => push_class(self),
            Some('\\') => push_escape(self),
            Some('.') => {
                self.out.push_str(r"[^\n\r]");
                Ok(())
            }
            Some(c @ ('?' | '*' | '+' | '{')) => {
                Err(self.error_here(format!("nothing for the quantifier '{c}' to repeat")))
            }
            Some(c @ (']' | '}')) => Err(self.error_here(format!("'{c}' without its opening"))),
            Some(c) => {
                push_char(&mut self.out, c);
                Ok(())
            }
            None => Ok(()),
        }
    }

    fn group(&mut self) -> Result<(), PatternError> {
        self.descend()?;
        let opened = self.position - 1;
        if self.peek() == Some('?') {
            return Err(self.error("groups that begin with '(?' do not exist in XSD"));
        }
        self.out.push_str("(?:");
        self.alternatives()?;
        if !self.eat(')') {
            return Err(PatternError::at(opened, "'(' is never closed"));
        }
        self.out.push(')');
        self.ascend();
        Ok(())
    }

    fn quantifier(&mut self) -> Result<(), PatternError> {
        match self.peek() {
            Some(c @ ('?' | '*' | '+')) => {
                self.next();
                self.out.push(c);
            }
            Some('{') => self.counts()?,
            _ => return Ok(()),
        }
        match self.peek() {
            Some('?') => Err(self.error("lazy quantifiers do not exist in XSD")),
            Some('+') => Err(self.error("possessive quantifiers do not exist in XSD")),
            Some('*' | '{') => Err(self.error("a second quantifier")),
            _ => Ok(()),
        }
    }

    /// `{n}`, `{n,}` or `{n,m}`.
    fn counts(&mut self) -> Result<(), PatternError> {
        let at = self.position;
        self.next();
        let least = self.count()?;
        let (most, text) = if !self.eat(',') {
            (least, format!("{{{least}}}"))
        } else if self.peek() == Some('}') {
            (least, format!("{{{least},}}"))
        } else {
            let most = self.count()?;
            (most, format!("{{{least},{most}}}"))
        };
        if most < least {
            return Err(PatternError::at(at, format!("{most} is less than {least}")));
        }
        if !self.eat('}') {
            return Err(self.error("expected '}'"));
        }
        if most > self.largest.count {
            self.largest = Repeat { count: most, at };
        }
        self.out.push_str(&text);
        Ok(())
    }

    fn count(&mut self) -> Result<u32, PatternError> {
        let at = self.position;
        let mut count = None;
        while let Some(digit) = self.peek().and_then(|c| c.to_digit(10)) {
            let value = count.unwrap_or(0) * 10 + digit;
            if value > REPEAT_MAX {
                let reason = format!("repeats more often than {REPEAT_MAX} times");
                return Err(PatternError::at(at, reason));
            }
            count = Some(value);
            self.next();
        }
        count.ok_or_else(|| self.error("expected a number"))
    }
}

//! Output to standard output and standard error that is safe on terminals.
//!
//! Data are not trusted. A control character in them could move the cursor, hide a line or trigger a function of the
//! terminal; a newline could forge a line of output. Everything that is printed goes through [`stdout`] or
//! [`escaped`].

use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::{self, IsTerminal, StdoutLock, Write};

use serde_json::Value;

use crate::failure::Result;

/// The form of the output, which decides how a character is escaped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Text for people.
    Text,
    /// JSON, in whose strings any character can be escaped without a change of meaning.
    Json,
    /// XML. It is escaped on a terminal only: in a CDATA section or a comment a reference does not stand for a
    /// character.
    Xml,
}

/// Returns whether a character controls the terminal or the position of the text after it: C0 and C1 controls, DEL,
/// changes of text direction, line separators and the byte order mark.
fn is_control(letter: char) -> bool {
    letter.is_control()
        || matches!(
            letter,
            '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}'
        )
}

/// Escapes a text into one line: each control character is written as `\u{1b}`, a newline as `\n`.
pub fn escaped(text: &str) -> Cow<'_, str> {
    if !text.contains(is_control) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for letter in text.chars() {
        match is_control(letter) {
            true => shown.push_str(&escape_of(letter)),
            false => shown.push(letter),
        }
    }
    Cow::Owned(shown)
}

/// Escapes a text of several lines. Lines after the first are indented, so that none can be taken for another
/// message.
pub fn escaped_lines(text: &str) -> String {
    let lines: Vec<_> = text.split('\n').map(escaped).collect();
    let mut shown = String::with_capacity(text.len());
    for (at, line) in lines.iter().enumerate() {
        match (at, line.starts_with(' ')) {
            (0, _) => {}
            (_, true) => shown.push('\n'),
            (_, false) => shown.push_str("\n  "),
        }
        shown.push_str(line);
    }
    shown
}

fn escape_of(letter: char) -> String {
    match letter {
        '\n' | '\r' | '\t' => letter.escape_default().to_string(),
        _ => letter.escape_unicode().to_string(),
    }
}

/// Standard output for output in a form.
pub fn stdout(form: Form) -> Escaping<StdoutLock<'static>> {
    let out = io::stdout().lock();
    let is_raw = form == Form::Xml && !out.is_terminal();
    Escaping {
        is_raw,
        ..Escaping::new(out, form)
    }
}

/// Prints the result of a command: `value` with `--json`, otherwise `text` unless it is empty.
pub fn print_result(json: bool, value: &Value, text: &str) -> Result<()> {
    if json {
        writeln!(stdout(Form::Json), "{value}")?;
    } else if !text.is_empty() {
        writeln!(stdout(Form::Text), "{text}")?;
    }
    Ok(())
}

// In pipes too, which often end in a pager: docs/decisions/0058.
/// A writer that escapes control characters. The input is UTF-8; a character may be split across writes.
pub struct Escaping<W> {
    inner: W,
    form: Form,
    is_raw: bool,
    /// The first bytes of a character whose rest was not written yet.
    pending: Vec<u8>,
}

impl<W: Write> Escaping<W> {
    /// Creates a writer to `inner` for output in a form.
    pub fn new(inner: W, form: Form) -> Self {
        Self {
            inner,
            form,
            is_raw: false,
            pending: Vec::new(),
        }
    }

    fn pass(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while let Some(at) = bytes.iter().position(|byte| self.is_suspect(*byte)) {
            self.inner.write_all(&bytes[..at])?;
            bytes = &bytes[at..];
            let length = length_of(bytes[0]);
            if bytes.len() < length {
                self.pending = bytes.to_vec();
                return Ok(());
            }
            let (letter, rest) = bytes.split_at(length);
            match std::str::from_utf8(letter) {
                Ok(text) => self.letter(text)?,
                // Not UTF-8: write this byte as it is, and continue after it.
                Err(_) => {
                    self.inner.write_all(&bytes[..1])?;
                    bytes = &bytes[1..];
                    continue;
                }
            }
            bytes = rest;
        }
        self.inner.write_all(bytes)
    }

    /// Returns whether a byte can be the first of a control character.
    fn is_suspect(&self, byte: u8) -> bool {
        match byte {
            b'\n' | b'\t' => false,
            b'\r' | ..0x20 => self.form == Form::Text,
            0x7f | 0xc2 | 0xd8 | 0xe2 | 0xef => true,
            _ => false,
        }
    }

    fn letter(&mut self, text: &str) -> io::Result<()> {
        let Some(letter) = text.chars().next().filter(|letter| is_control(*letter)) else {
            return self.inner.write_all(text.as_bytes());
        };
        let code = u32::from(letter);
        let mut shown = String::new();
        // Writing to a string cannot fail.
        let _ = match self.form {
            Form::Text => write!(shown, "{}", escape_of(letter)),
            Form::Json => write!(shown, "\\u{code:04x}"),
            Form::Xml => write!(shown, "&#x{code:X};"),
        };
        self.inner.write_all(shown.as_bytes())
    }
}

/// The length in bytes of a character that begins with a suspect byte.
fn length_of(first: u8) -> usize {
    match first {
        0xc2 | 0xd8 => 2,
        0xe2 | 0xef => 3,
        _ => 1,
    }
}

impl<W: Write> Write for Escaping<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.is_raw {
            return self.inner.write(bytes);
        }
        if self.pending.is_empty() {
            self.pass(bytes)?;
        } else {
            let mut joined = std::mem::take(&mut self.pending);
            joined.extend_from_slice(bytes);
            self.pass(&joined)?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

/// Standard error for the log. Each write is one event in one line.
pub struct LogLine {
    form: Form,
}

impl LogLine {
    /// Creates a writer for events in a form.
    pub fn new(form: Form) -> Self {
        Self { form }
    }
}

impl Write for LogLine {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(bytes);
        let line = text.strip_suffix('\n').unwrap_or(&text);
        let line = espalier_drivers::redacted(line);
        // Newlines within JSON are escaped already.
        let line = match self.form {
            Form::Text => escaped(&line),
            _ => line,
        };
        writeln!(Escaping::new(io::stderr().lock(), self.form), "{line}")?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().lock().flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn printed(form: Form, parts: &[&[u8]]) -> String {
        let mut out = Escaping::new(Vec::new(), form);
        for part in parts {
            out.write_all(part).expect("written");
        }
        String::from_utf8(out.inner).expect("text")
    }

    const TEXT: &str = "a\u{1b}[2J\u{9b}31m\u{7f}\u{202e}\u{2066}é\u{a0}–\u{feff}€\nb\t\r\u{61c}ظ";

    #[test]
    fn control_characters_are_escaped_even_if_split_across_writes() {
        let text =
            "a\\u{1b}[2J\\u{9b}31m\\u{7f}\\u{202e}\\u{2066}é\u{a0}–\\u{feff}€\nb\t\\r\\u{61c}ظ";
        let json = "a\u{1b}[2J\\u009b31m\\u007f\\u202e\\u2066é\u{a0}–\\ufeff€\nb\t\r\\u061cظ";
        for (form, expected) in [(Form::Text, text), (Form::Json, json)] {
            assert_eq!(printed(form, &[TEXT.as_bytes()]), expected);
            for at in 0..TEXT.len() {
                let (one, two) = TEXT.as_bytes().split_at(at);
                assert_eq!(printed(form, &[one, two]), expected, "cut at {at}");
            }
            let bytes: Vec<_> = TEXT.as_bytes().chunks(1).collect();
            assert_eq!(printed(form, &bytes), expected);
        }
        let xml = printed(Form::Xml, &["<a>\u{9b}\u{202e}</a>".as_bytes()]);
        assert_eq!(xml, "<a>&#x9B;&#x202E;</a>");
    }

    #[test]
    fn a_newline_in_data_does_not_begin_a_line() {
        assert_eq!(escaped("a\nb\u{1b}"), "a\\nb\\u{1b}");
        assert_eq!(escaped_lines("a\nerror: b\n  c"), "a\n  error: b\n  c");
        assert_eq!(escaped("plain"), "plain");
    }
}

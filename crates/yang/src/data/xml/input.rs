//! The bytes of an XML document with their positions, within limits.

use std::io::{self, BufRead, BufReader, Read};

use quick_xml::events::Event;
use quick_xml::reader::NsReader;

use crate::data::assemble::{Halt, malformed, too_big};
use crate::data::sink::Mark;

/// The maximum length of a tag or text (in bytes).
pub const TOKEN_LENGTH_MAX: usize = 16 << 20;

/// The maximum nesting depth of elements.
pub const DEPTH_MAX: usize = 256;

const BUFFER_LENGTH: usize = 64 << 10;

/// Counts lines, and fails within a token that is too long.
pub(super) struct CountingReader<R> {
    reader: BufReader<R>,
    line: u32,
    /// The number of bytes read of the line.
    column: usize,
    /// The number of bytes read of the token.
    token_length: usize,
}

impl<R: Read> CountingReader<R> {
    fn mark(&self) -> Mark {
        Mark {
            line: self.line,
            column: u32::try_from(self.column + 1).unwrap_or(u32::MAX),
        }
    }
}

impl<R: Read> Read for CountingReader<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let length = self.fill_buf()?.read(out)?;
        self.consume(length);
        Ok(length)
    }
}

impl<R: Read> BufRead for CountingReader<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.token_length > TOKEN_LENGTH_MAX {
            let message = format!("longer than {TOKEN_LENGTH_MAX} bytes (TOKEN_LENGTH_MAX)");
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, message));
        }
        self.reader.fill_buf()
    }

    fn consume(&mut self, amount: usize) {
        let bytes = &self.reader.buffer()[..amount];
        match memchr::memrchr(b'\n', bytes) {
            None => self.column += amount,
            Some(last) => {
                let count = memchr::memchr_iter(b'\n', bytes).count();
                self.line = self
                    .line
                    .saturating_add(u32::try_from(count).unwrap_or(u32::MAX));
                self.column = amount - last - 1;
            }
        }
        self.token_length += amount;
        self.reader.consume(amount);
    }
}

/// The events of a document.
pub(super) type Xml<R> = NsReader<CountingReader<R>>;

pub(super) fn open<R: Read>(reader: R) -> Xml<R> {
    let mut xml = NsReader::from_reader(CountingReader {
        reader: BufReader::with_capacity(BUFFER_LENGTH, reader),
        line: 1,
        column: 0,
        token_length: 0,
    });
    let config = xml.config_mut();
    config.expand_empty_elements = true;
    config.check_comments = true;
    xml
}

/// The next event, and the position of its start.
pub(super) fn next<'b, R: Read>(
    xml: &mut Xml<R>,
    buffer: &'b mut Vec<u8>,
) -> Result<(Mark, Event<'b>), Halt> {
    buffer.clear();
    xml.get_mut().token_length = 0;
    let mark = xml.get_ref().mark();
    match xml.read_event_into(buffer) {
        Ok(Event::DocType(_)) => Err(malformed(
            mark,
            "a document type declaration is not accepted",
        )),
        Ok(event) => Ok((mark, event)),
        Err(error) => Err(halt(error, xml.get_ref().mark())),
    }
}

fn halt(error: quick_xml::Error, mark: Mark) -> Halt {
    match error {
        quick_xml::Error::Io(error) if error.kind() == io::ErrorKind::FileTooLarge => {
            too_big(mark, error.to_string())
        }
        quick_xml::Error::Io(error) => Halt::Read(io::Error::new(error.kind(), error)),
        error => malformed(mark, error.to_string()),
    }
}

/// The character of `&name;`: a character reference or one of the five predefined entities.
pub(super) fn character(reference: &quick_xml::events::BytesRef<'_>) -> Option<char> {
    if let Ok(Some(character)) = reference.resolve_char_ref() {
        return is_xml_character(character).then_some(character);
    }
    match &**reference {
        "lt" => Some('<'),
        "gt" => Some('>'),
        "amp" => Some('&'),
        "quot" => Some('"'),
        "apos" => Some('\''),
        _ => None,
    }
}

/// XML 1.0 §2.2.
fn is_xml_character(character: char) -> bool {
    !matches!(
        character,
        '\0'..='\u{8}' | '\u{b}' | '\u{c}' | '\u{e}'..='\u{1f}' | '\u{fffe}' | '\u{ffff}'
    )
}

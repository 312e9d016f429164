//! Decodes frames.

use super::Framing;

/// The end of a message in `base:1.0`.
const END_OF_MESSAGE: &[u8] = b"]]>]]>";

/// For each prefix of [`END_OF_MESSAGE`]: the length of its longest proper prefix that ends it too.
const BORDERS: [usize; 7] = [0, 0, 1, 0, 1, 2, 3];

/// The maximum number of digits of a chunk size (RFC 6242 §4.2).
const DIGITS_MAX: u32 = 10;

/// A part of the bytes that were received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part<'b> {
    /// Bytes of the message.
    Data(&'b [u8]),
    /// The message has ended.
    End,
}

/// Why bytes are no frame. The session has to end: where the next message begins is unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FramingError {
    /// A chunk does not begin with a line feed and `#`.
    #[error("a chunk must begin with a line feed and “#”, not with the byte {0:#04x}")]
    Begin(u8),
    /// A message without framing, from a peer that announced `base:1.1`.
    #[error(
        "the peer announced base:1.1, but sent a message without chunks: it must announce base:1.0 only, or send chunks"
    )]
    NotChunked,
    /// A wrong size of a chunk.
    #[error("the size of a chunk must be a number from 1 to 4294967295 without leading zeros")]
    Size,
    /// The end of a message before its first chunk.
    #[error("a message must have at least one chunk")]
    NoChunk,
}

/// Finds the messages in received bytes, which may be split anywhere.
#[derive(Clone, Debug)]
pub struct Decoder {
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Before the first message, whose framing is seen from its first byte.
    Hello,
    /// In a message of `base:1.0`, after this many bytes of [`END_OF_MESSAGE`].
    Text(usize),
    /// Before a message of `base:1.0`.
    BeforeText,
    /// Before the first chunk of a message.
    BeforeChunks,
    /// After the data of a chunk, before the line feed.
    AfterData,
    /// Before `#`, after the line feed that follows a chunk.
    BeforeHash,
    /// After `#`, that of the first chunk or of a later one.
    Hash { is_first: bool },
    /// In the size of a chunk.
    Size(u64, u32),
    /// This many bytes of the chunk follow.
    Data(u64),
    /// After `##`.
    End,
}

impl Decoder {
    /// Before the first message. Its framing should be [`Framing::EndOfMessage`]; chunks are accepted, as some clients
    /// send them when the `hello` of the server was there first. White space before it is skipped.
    pub fn new() -> Self {
        Self {
            state: State::Hello,
        }
    }

    /// Sets the framing of the messages that follow. Call it between messages.
    pub fn set_framing(&mut self, framing: Framing) {
        self.state = match framing {
            Framing::EndOfMessage => State::BeforeText,
            Framing::Chunked => State::BeforeChunks,
        };
    }

    /// Whether bytes of a message were received, and not its end.
    pub fn is_in_message(&self) -> bool {
        !matches!(
            self.state,
            State::Hello | State::BeforeText | State::BeforeChunks
        )
    }

    /// Takes the next part from the start of `input`; `None` if all of it was taken.
    ///
    /// # Errors
    /// The bytes are no frame.
    pub fn next<'b>(&mut self, input: &mut &'b [u8]) -> Result<Option<Part<'b>>, FramingError> {
        while let Some((&byte, rest)) = input.split_first() {
            match self.state {
                State::Data(left) => return Ok(Some(self.data(left, input))),
                State::Text(matched) => match self.text(matched, input) {
                    Some(part) => return Ok(Some(part)),
                    None => continue,
                },
                State::Hello if byte == b'#' => self.state = State::Hash { is_first: true },
                State::Hello | State::BeforeText if !byte.is_ascii_whitespace() => {
                    // The byte belongs to the message.
                    self.state = State::Text(0);
                    continue;
                }
                State::Hello | State::BeforeText => {}
                State::End if byte == b'\n' => {
                    *input = rest;
                    self.state = State::BeforeChunks;
                    return Ok(Some(Part::End));
                }
                state => self.state = header(state, byte)?,
            }
            *input = rest;
        }
        Ok(None)
    }

    /// Takes data of a chunk.
    fn data<'b>(&mut self, left: u64, input: &mut &'b [u8]) -> Part<'b> {
        let taken = usize::try_from(left).map_or(input.len(), |left| left.min(input.len()));
        let (data, rest) = input.split_at(taken);
        *input = rest;
        self.state = match left - taken as u64 {
            0 => State::AfterData,
            left => State::Data(left),
        };
        Part::Data(data)
    }

    /// Takes text up to its end; `None` if only a part of the end was taken.
    fn text<'b>(&mut self, matched: usize, input: &mut &'b [u8]) -> Option<Part<'b>> {
        if matched == 0 {
            let end = memchr::memchr(END_OF_MESSAGE[0], input).unwrap_or(input.len());
            if end > 0 {
                let (text, rest) = input.split_at(end);
                *input = rest;
                return Some(Part::Data(text));
            }
        }
        let byte = *input.first()?;
        if byte != END_OF_MESSAGE[matched] {
            // What was taken for the end begins with text; the rest of it can still be its start.
            let border = BORDERS[matched];
            self.state = State::Text(border);
            return match matched {
                0 => None,
                _ => Some(Part::Data(&END_OF_MESSAGE[..matched - border])),
            };
        }
        *input = &input[1..];
        if matched + 1 == END_OF_MESSAGE.len() {
            self.state = State::BeforeText;
            return Some(Part::End);
        }
        self.state = State::Text(matched + 1);
        None
    }
}

impl Default for Decoder {
    fn default() -> Self {
        Self::new()
    }
}

/// The state after a byte between the data of two chunks.
fn header(state: State, byte: u8) -> Result<State, FramingError> {
    match (state, byte) {
        (State::BeforeChunks, b'#') => Ok(State::Hash { is_first: true }),
        (State::BeforeChunks, byte) if byte.is_ascii_whitespace() => Ok(state),
        (State::BeforeChunks, b'<') => Err(FramingError::NotChunked),
        (State::AfterData, b'\n') => Ok(State::BeforeHash),
        (State::BeforeHash, b'#') => Ok(State::Hash { is_first: false }),
        (State::BeforeChunks | State::AfterData | State::BeforeHash, byte) => {
            Err(FramingError::Begin(byte))
        }
        (State::Hash { is_first: true }, b'#') => Err(FramingError::NoChunk),
        (State::Hash { is_first: false }, b'#') => Ok(State::End),
        (State::Hash { .. }, b'1'..=b'9') => Ok(State::Size(u64::from(byte - b'0'), 1)),
        (State::Size(size, digits), b'0'..=b'9') if digits < DIGITS_MAX => {
            Ok(State::Size(size * 10 + u64::from(byte - b'0'), digits + 1))
        }
        (State::Size(size, _), b'\n') if size <= u64::from(u32::MAX) => Ok(State::Data(size)),
        _ => Err(FramingError::Size),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The messages in some bytes that arrive in pieces, and the error after them.
    fn decode(
        framing: Option<Framing>,
        pieces: &[&[u8]],
    ) -> (Vec<Vec<u8>>, Vec<u8>, Option<FramingError>) {
        let mut decoder = Decoder::new();
        if let Some(framing) = framing {
            decoder.set_framing(framing);
        }
        let (mut messages, mut open) = (Vec::new(), Vec::new());
        for piece in pieces {
            let mut input = *piece;
            loop {
                match decoder.next(&mut input) {
                    Ok(Some(Part::Data(data))) => open.extend_from_slice(data),
                    Ok(Some(Part::End)) => messages.push(std::mem::take(&mut open)),
                    Ok(None) => break,
                    Err(error) => return (messages, open, Some(error)),
                }
            }
            assert_eq!(input, b"");
        }
        (messages, open, None)
    }

    /// Bytes with the messages that they have, in both framings and before the first message.
    const STREAMS: [(Option<Framing>, &[u8], &[&str]); 9] = [
        (None, b"\n<?xml?><hello/>]]>]]>", &["<?xml?><hello/>"]),
        (None, b"\n#8\n<hello/>\n##\n", &["<hello/>"]),
        (
            Some(Framing::EndOfMessage),
            b"<a/>]]>]]>\n <b>]] >]]></b>]]>]]>",
            &["<a/>", "<b>]] >]]></b>"],
        ),
        (
            Some(Framing::EndOfMessage),
            b"<a>]]]]>]]]]>]]>",
            &["<a>]]]]>]]"],
        ),
        (Some(Framing::EndOfMessage), b"]]>]]>]]>]]>", &["", ""]),
        (
            Some(Framing::Chunked),
            b"\n#4\n<a/>\n##\n\n#1\n<\n#3\nb/>\n##\n",
            &["<a/>", "<b/>"],
        ),
        (
            Some(Framing::Chunked),
            b"#4\n<a/>\n##\n#4\n<b/>\n##\n",
            &["<a/>", "<b/>"],
        ),
        (
            Some(Framing::Chunked),
            b" \r\n\n#6\n\n##\n#1\n##\n",
            &["\n##\n#1"],
        ),
        (
            Some(Framing::Chunked),
            b"\n#10\n0123456789\n##\n\n",
            &["0123456789"],
        ),
    ];

    #[test]
    fn streams_are_decoded_wherever_they_are_split() {
        for (framing, bytes, expected) in STREAMS {
            for first in 0..=bytes.len() {
                for second in first..=bytes.len() {
                    let pieces = [&bytes[..first], &bytes[first..second], &bytes[second..]];
                    let (messages, open, error) = decode(framing, &pieces);
                    let texts: Vec<_> = messages
                        .iter()
                        .map(|one| String::from_utf8_lossy(one))
                        .collect();
                    assert_eq!(
                        (texts, error),
                        (expected.iter().map(|&text| text.into()).collect(), None),
                        "{pieces:?}"
                    );
                    assert_eq!(open, b"");
                }
            }
        }
    }

    #[test]
    fn wrong_frames_are_rejected_wherever_they_are_split() {
        for (bytes, expected) in [
            (&b"<rpc/>]]>]]>"[..], FramingError::NotChunked),
            (b"\n#01\n", FramingError::Size),
            (b"\n#0\n", FramingError::Size),
            (b"\n#-1\n", FramingError::Size),
            (b"\n#1 \n", FramingError::Size),
            (b"\n#4294967296\n", FramingError::Size),
            (b"\n#10000000000\n", FramingError::Size),
            (b"\n##\n", FramingError::NoChunk),
            (b"\n#1\n<<", FramingError::Begin(b'<')),
            (b"\n#1\n<\n<", FramingError::Begin(b'<')),
            (b"x", FramingError::Begin(b'x')),
        ] {
            for at in 0..=bytes.len() {
                let (_, _, error) = decode(Some(Framing::Chunked), &[&bytes[..at], &bytes[at..]]);
                assert_eq!(error, Some(expected), "{}", bytes.escape_ascii());
            }
        }
    }

    #[test]
    fn a_decoder_knows_whether_a_message_is_open() {
        let mut decoder = Decoder::new();
        assert!(!decoder.is_in_message());
        let mut input = &b"<hello/>]]>]"[..];
        while decoder.next(&mut input).expect("a hello").is_some() {}
        assert!(decoder.is_in_message());
        let mut input = &b"]>\n"[..];
        assert_eq!(decoder.next(&mut input), Ok(Some(Part::End)));
        decoder.set_framing(Framing::Chunked);
        assert_eq!(decoder.next(&mut input), Ok(None));
        assert!(!decoder.is_in_message());
    }
}

//! Encodes messages.

use std::io::{self, Write};

use bytes::Bytes;

use super::Framing;

/// The size of chunks, except for the last of a message: 64 KiB, with which clients are fastest.
pub const CHUNK_BYTES: usize = 64 << 10;

/// Space for the header of a chunk: `LF # size LF`.
const HEADER_BYTES_MAX: usize = 13;

/// Writes one message of UTF-8 text as frames.
///
/// A chunk never ends within a character, as some clients decode each chunk by itself. Messages that end with
/// `]]>]]>` have character references for all that is not ASCII: some clients decode each read by itself.
pub struct MessageWriter<S: FnMut(Bytes) -> io::Result<()>> {
    framing: Framing,
    send: S,
    text: Vec<u8>,
    /// The bytes of a character that are not complete yet, of a message that ends with `]]>]]>`.
    partial: Vec<u8>,
}

impl<S: FnMut(Bytes) -> io::Result<()>> MessageWriter<S> {
    /// Begins a message. `send` gets its frames.
    pub fn new(framing: Framing, send: S) -> Self {
        Self {
            framing,
            send,
            text: Vec::new(),
            partial: Vec::new(),
        }
    }

    /// Ends the message.
    ///
    /// # Errors
    /// Those of `send`.
    pub fn finish(mut self) -> io::Result<()> {
        let mut frames = Vec::with_capacity(self.text.len() + 2 * HEADER_BYTES_MAX);
        match self.framing {
            Framing::EndOfMessage => {
                frames.append(&mut self.text);
                frames.extend_from_slice(b"]]>]]>");
            }
            Framing::Chunked => {
                put_chunk(&mut frames, &self.text);
                frames.extend_from_slice(b"\n##\n");
            }
        }
        (self.send)(frames.into())
    }

    /// Sends full chunks.
    fn send_full(&mut self) -> io::Result<()> {
        while self.text.len() >= CHUNK_BYTES {
            let end = match self.framing {
                Framing::EndOfMessage => self.text.len(),
                Framing::Chunked => boundary(&self.text, CHUNK_BYTES),
            };
            let rest = self.text.split_off(end);
            let text = std::mem::replace(&mut self.text, rest);
            let frame = match self.framing {
                Framing::EndOfMessage => text,
                Framing::Chunked => {
                    let mut frame = Vec::with_capacity(text.len() + HEADER_BYTES_MAX);
                    put_chunk(&mut frame, &text);
                    frame
                }
            };
            (self.send)(frame.into())?;
        }
        Ok(())
    }

    /// Appends text with character references for all that is not ASCII.
    fn put_ascii(&mut self, bytes: &[u8]) {
        if self.partial.is_empty() && bytes.is_ascii() {
            self.text.extend_from_slice(bytes);
            return;
        }
        let mut rest = std::mem::take(&mut self.partial);
        rest.extend_from_slice(bytes);
        for part in rest.utf8_chunks() {
            for character in part.valid().chars() {
                match u8::try_from(character) {
                    Ok(byte) if byte.is_ascii() => self.text.push(byte),
                    _ => self
                        .text
                        .extend_from_slice(format!("&#{};", u32::from(character)).as_bytes()),
                }
            }
            // The text is UTF-8, so only its last character can be incomplete.
            self.partial = part.invalid().to_vec();
        }
    }
}

impl<S: FnMut(Bytes) -> io::Result<()>> Write for MessageWriter<S> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.framing {
            Framing::EndOfMessage => self.put_ascii(bytes),
            Framing::Chunked => self.text.extend_from_slice(bytes),
        }
        self.send_full()?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn put_chunk(out: &mut Vec<u8>, text: &[u8]) {
    if text.is_empty() {
        return;
    }
    out.extend_from_slice(format!("\n#{}\n", text.len()).as_bytes());
    out.extend_from_slice(text);
}

/// The last boundary of characters at or before a place.
fn boundary(text: &[u8], place: usize) -> usize {
    let is_boundary = |place: &usize| text.get(*place).is_none_or(|byte| byte & 0xc0 != 0x80);
    (1..=place).rev().find(is_boundary).unwrap_or(place)
}

#[cfg(test)]
mod tests {
    use rand::Rng;

    use super::super::{Decoder, Part};
    use super::*;

    fn frames(framing: Framing, text: &str, mut pieces: impl FnMut() -> usize) -> Vec<Bytes> {
        let mut sent = Vec::new();
        let mut writer = MessageWriter::new(framing, |frame| {
            sent.push(frame);
            Ok(())
        });
        let mut rest = text.as_bytes();
        while !rest.is_empty() {
            let (piece, after) = rest.split_at(pieces().min(rest.len()));
            writer.write_all(piece).expect("written");
            rest = after;
        }
        writer.finish().expect("finished");
        sent
    }

    #[test]
    fn what_is_encoded_is_decoded_wherever_it_is_split() {
        espalier_testkit::seed::run("frames", |random| {
            for framing in [Framing::Chunked, Framing::EndOfMessage] {
                for length in [1, 10, 1000, 3 * CHUNK_BYTES] {
                    let characters = (0..length)
                        .map(|_| ['a', '\n', '#', 'é', '€', '😀'][random.random_range(0..6)]);
                    let text: String = characters.collect();
                    let sent = frames(framing, &text, || random.random_range(1..100_000));
                    let bytes = sent.concat();
                    let mut decoder = Decoder::new();
                    decoder.set_framing(framing);
                    let (mut decoded, mut ends) = (Vec::new(), 0);
                    let mut rest = &bytes[..];
                    while !rest.is_empty() {
                        let (mut piece, after) = rest.split_at(random.random_range(1..=rest.len()));
                        rest = after;
                        while let Some(part) = decoder.next(&mut piece).expect("frames") {
                            match part {
                                Part::Data(data) => {
                                    // Each client can decode each chunk by itself.
                                    decoded.extend_from_slice(data);
                                }
                                Part::End => ends += 1,
                            }
                        }
                    }
                    let decoded = String::from_utf8(decoded).expect("UTF-8");
                    let expected = match framing {
                        Framing::Chunked => text,
                        Framing::EndOfMessage => {
                            assert!(bytes.is_ascii());
                            text.replace('é', "&#233;")
                                .replace('€', "&#8364;")
                                .replace('😀', "&#128512;")
                                .trim_start()
                                .to_owned()
                        }
                    };
                    assert_eq!((decoded, ends), (expected, 1));
                }
            }
        });
    }

    #[test]
    fn chunks_end_between_characters_and_are_not_larger_than_the_limit() {
        let text = "€".repeat(CHUNK_BYTES);
        let sent = frames(Framing::Chunked, &text, || 1000);
        assert!(sent.len() > 2);
        for frame in sent {
            let text = std::str::from_utf8(&frame).expect("whole characters");
            assert!(text.len() <= CHUNK_BYTES + 2 * HEADER_BYTES_MAX);
        }
    }
}

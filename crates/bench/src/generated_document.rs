//! A document that is generated while it is read.

use std::io::{self, Read};

/// A reader over generated texts, one after the other.
pub struct GeneratedDocument<'a> {
    texts: Box<dyn Iterator<Item = String> + 'a>,
    text: String,
    taken: usize,
}

impl<'a> GeneratedDocument<'a> {
    /// Creates a document of texts.
    pub fn new(texts: impl Iterator<Item = String> + 'a) -> Self {
        Self {
            texts: Box::new(texts),
            text: String::new(),
            taken: 0,
        }
    }

    /// Creates a document of JSON arrays, each with the text before it, and `end` after the last.
    pub fn lists(lists: Vec<(String, List<'a>)>, end: &str) -> Self {
        let end = end.to_owned();
        let texts = lists.into_iter().flat_map(|(before, entries)| {
            let joined = entries.enumerate().map(|(index, entry)| match index {
                0 => entry,
                _ => format!(",{entry}"),
            });
            std::iter::once(before).chain(joined)
        });
        Self::new(texts.chain(std::iter::once(end)))
    }
}

/// The entries of a list, each as JSON.
pub type List<'a> = Box<dyn Iterator<Item = String> + 'a>;

impl Read for GeneratedDocument<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.taken == self.text.len() {
            match self.texts.next() {
                Some(text) => (self.text, self.taken) = (text, 0),
                None => return Ok(0),
            }
        }
        let rest = &self.text.as_bytes()[self.taken..];
        let length = rest.len().min(buffer.len());
        buffer[..length].copy_from_slice(&rest[..length]);
        self.taken += length;
        Ok(length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_joined_by_commas() {
        let list = |entries: &'static [&'static str]| -> List<'static> {
            Box::new(entries.iter().map(|&entry| entry.to_owned()))
        };
        let lists = vec![
            (r#"{"a":["#.to_owned(), list(&["1", "2"])),
            (r#"],"b":["#.to_owned(), list(&[])),
        ];
        let mut text = String::new();
        let mut document = GeneratedDocument::lists(lists, "]}");
        document.read_to_string(&mut text).expect("text");
        assert_eq!(text, r#"{"a":[1,2],"b":[]}"#);
    }
}

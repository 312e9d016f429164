//! Lists of byte strings, as the scripts read and write them: MessagePack arrays of strings.

use std::mem;

use espalier_keyspace::Result;

use super::error::unexpected_reply;

/// Encoded strings of a list, without the list's header.
#[derive(Default)]
pub(crate) struct PackedStrings {
    packed: Vec<u8>,
    strings: u32,
}

impl PackedStrings {
    /// Appends strings.
    pub(crate) fn put(&mut self, strings: &[&[u8]]) {
        for string in strings {
            put_string(&mut self.packed, string);
            self.strings += 1;
        }
    }

    pub(crate) fn bytes(&self) -> usize {
        self.packed.len()
    }
}

/// Encodes lists of a limited size.
pub(crate) struct ListEncoder {
    bytes_max: usize,
    full: Vec<Vec<u8>>,
    /// The strings of the current list, after its header.
    items: PackedStrings,
}

/// The header of a list: the number of its strings, in four bytes.
const HEAD: [u8; 5] = [0xdd, 0, 0, 0, 0];

impl ListEncoder {
    /// Creates an encoder that begins a new list when the current one has reached `bytes_max`.
    pub(crate) fn new(bytes_max: usize) -> Self {
        Self {
            bytes_max,
            full: Vec::new(),
            items: PackedStrings::default(),
        }
    }

    /// Appends strings, all to the same list.
    pub(crate) fn item(&mut self, strings: &[&[u8]]) {
        self.begin();
        self.items.put(strings);
        self.end();
    }

    /// Appends encoded strings, all to the same list.
    pub(crate) fn append(&mut self, all: &[&PackedStrings]) {
        self.begin();
        for items in all {
            self.items.packed.extend(&items.packed);
            self.items.strings += items.strings;
        }
        self.end();
    }

    fn begin(&mut self) {
        if self.items.strings == 0 {
            self.items.packed.extend(HEAD);
        }
    }

    fn end(&mut self) {
        if self.items.bytes() >= self.bytes_max {
            self.close();
        }
    }

    fn close(&mut self) {
        let PackedStrings {
            mut packed,
            strings,
        } = mem::take(&mut self.items);
        if strings > 0 {
            packed[1..HEAD.len()].copy_from_slice(&strings.to_be_bytes());
            self.full.push(packed);
        }
    }

    /// Returns the lists.
    pub(crate) fn finish(mut self) -> Vec<Vec<u8>> {
        self.close();
        self.full
    }
}

fn put_string(list: &mut Vec<u8>, string: &[u8]) {
    let bytes = string.len();
    match (u8::try_from(bytes), u16::try_from(bytes)) {
        (Ok(short @ 0..32), _) => list.push(0xa0 | short),
        (Ok(short), _) => list.extend([0xd9, short]),
        (_, Ok(long)) => {
            list.push(0xda);
            list.extend(long.to_be_bytes());
        }
        _ => {
            list.push(0xdb);
            list.extend(u32::try_from(bytes).unwrap_or(u32::MAX).to_be_bytes());
        }
    }
    list.extend(string);
}

/// Decodes the strings of a list. `None` is nil.
#[derive(Clone)]
pub(crate) struct Strings<'a> {
    rest: &'a [u8],
    left: usize,
}

impl<'a> Strings<'a> {
    /// Decodes the header of a list, and fails if there is none. The iterator decodes the strings.
    pub(crate) fn of(list: &'a [u8]) -> Result<Self> {
        let mut rest = list;
        let left = count(&mut rest).ok_or_else(unexpected_reply)?;
        Ok(Self { rest, left })
    }
}

impl<'a> Iterator for Strings<'a> {
    type Item = Result<Option<&'a [u8]>>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.left == 0 {
            let is_over = self.rest.is_empty();
            self.rest = &[];
            return (!is_over).then(|| Err(unexpected_reply()));
        }
        self.left -= 1;
        let string = string(&mut self.rest);
        if string.is_none() {
            (self.left, self.rest) = (0, &[]);
        }
        Some(string.ok_or_else(unexpected_reply))
    }
}

fn count(rest: &mut &[u8]) -> Option<usize> {
    match take(rest, 1)?[0] {
        small @ 0x90..=0x9f => Some(usize::from(small & 0x0f)),
        0xdc => length(rest, 2),
        0xdd => length(rest, 4),
        // Lua may encode an empty table as a map.
        0x80 => Some(0),
        _ => None,
    }
}

fn string<'a>(rest: &mut &'a [u8]) -> Option<Option<&'a [u8]>> {
    let bytes = match take(rest, 1)?[0] {
        small @ 0xa0..=0xbf => usize::from(small & 0x1f),
        0xd9 => length(rest, 1)?,
        0xda => length(rest, 2)?,
        0xdb => length(rest, 4)?,
        // Nil, or false, as scripts represent nil.
        0xc0 | 0xc2 => return Some(None),
        _ => return None,
    };
    take(rest, bytes).map(Some)
}

fn length(rest: &mut &[u8], bytes: usize) -> Option<usize> {
    let digits = take(rest, bytes)?.iter();
    Some(digits.fold(0, |sum, &digit| sum << 8 | usize::from(digit)))
}

fn take<'a>(rest: &mut &'a [u8], bytes: usize) -> Option<&'a [u8]> {
    let (taken, left) = rest.split_at_checked(bytes)?;
    *rest = left;
    Some(taken)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decode(list: &[u8]) -> Result<Vec<Option<&[u8]>>> {
        Strings::of(list)?.collect()
    }

    #[test]
    fn encoded_lists_are_decoded() {
        let mut encoder = ListEncoder::new(1000);
        let long = vec![7; 1000];
        encoder.item(&[b"key", b""]);
        encoder.item(&[b"key", &long]);
        encoder.item(&[b"\0"]);
        let lists = encoder.finish();
        assert_eq!(lists.len(), 2);
        let first = decode(&lists[0]).expect("a list");
        let texts: [&[u8]; 4] = [b"key", b"", b"key", &long];
        assert_eq!(first, texts.map(Some));
        assert_eq!(decode(&lists[1]).expect("a list"), [Some(&b"\0"[..])]);
        let absent = decode(b"\x93\xc2\xa1x\xc0").expect("a list");
        assert_eq!(absent, [None, Some(&b"x"[..]), None]);
        assert!(decode(b"\x80").expect("an empty table").is_empty());
    }

    #[test]
    fn invalid_lists_are_rejected() {
        for wrong in [
            &b""[..],
            b"\x91",
            b"\x91\xa1",
            b"\x91\xa1xy",
            b"\x91\x01",
            b"\x01",
        ] {
            assert!(decode(wrong).is_err(), "{}", wrong.escape_ascii());
        }
    }
}

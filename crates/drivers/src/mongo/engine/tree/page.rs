//! A node of the tree: entries in key order. The entries of a leaf are rows; those of an inner page are the
//! start and the name of each child page.

use espalier_keyspace::Direction;
use espalier_keyspace::compact_encoding::{put_bytes, put_number, take_bytes, take_number};

use crate::page::Page;

/// Approximate bytes of an entry in addition to its key and value.
const ENTRY_BYTES: usize = 4;

// Pages never change, so they are cached for ever: docs/decisions/0036.
impl Page {
    /// Approximate bytes in memory.
    pub(in crate::mongo) fn size(&self) -> usize {
        self.bytes() + ENTRY_BYTES * self.len()
    }

    /// The name of the child page of an entry; `None` if it is not valid.
    pub(super) fn child(&self, at: usize) -> Option<&str> {
        std::str::from_utf8(self.value(at)).ok()
    }

    /// The entry of a key.
    pub(in crate::mongo) fn find(&self, key: &[u8]) -> Option<usize> {
        let at = self.position(key, Direction::Forward);
        (at < self.len() && self.key(at) == key).then_some(at)
    }

    /// The entry whose child page may contain a key: the last that does not start after it.
    pub(super) fn child_of(&self, key: &[u8]) -> usize {
        match self.find(key) {
            Some(at) => at,
            None => self.position(key, Direction::Forward).saturating_sub(1),
        }
    }

    /// Appends the entries of another page.
    pub(super) fn append(&mut self, other: &Self) {
        for at in 0..other.len() {
            self.push(other.key(at), other.value(at));
        }
    }

    /// Encodes the page: the number of entries, and for each the length of the prefix that its key shares with
    /// the key before, the rest of the key, and the value.
    pub(in crate::mongo) fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.size());
        put_number(&mut bytes, self.len() as u64);
        let mut before: &[u8] = &[];
        for at in 0..self.len() {
            let key = self.key(at);
            let shared = before.iter().zip(key).take_while(|(one, two)| one == two);
            let shared = shared.count();
            put_number(&mut bytes, shared as u64);
            put_bytes(&mut bytes, &key[shared..]);
            put_bytes(&mut bytes, self.value(at));
            before = key;
        }
        bytes
    }

    /// Decodes a page; `None` if the bytes are not valid, or the keys are out of order.
    pub(in crate::mongo) fn decode(mut bytes: &[u8]) -> Option<Self> {
        let rest = &mut bytes;
        let count = take_number(rest)?;
        let mut page = Self::default();
        let mut key = Vec::new();
        for at in 0..count {
            let shared = usize::try_from(take_number(rest)?).ok()?;
            let suffix = take_bytes(rest)?;
            let is_after = match key.get(shared..)? {
                [] => !suffix.is_empty(),
                before => suffix > before,
            };
            if at > 0 && !is_after {
                return None;
            }
            key.truncate(shared);
            key.extend_from_slice(suffix);
            page.push(&key, take_bytes(rest)?);
        }
        (rest.is_empty() && !page.is_empty()).then_some(page)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_round_trip() {
        let mut page = Page::default();
        for key in [&b""[..], b"a", b"ab", b"abc", b"b", b"\xff\xff"] {
            page.push(key, &[key, b"value"].concat());
        }
        page.push(b"\xff\xff\xff", b"");
        let bytes = page.encode();
        let found = Page::decode(&bytes).expect("a page");
        assert!(found.entries().eq(page.entries()));
        for cut in 0..bytes.len() {
            assert!(Page::decode(&bytes[..cut]).is_none(), "{cut}");
        }
        assert_eq!(page.find(b"abc"), Some(3));
        assert_eq!(
            (page.find(b"aa"), page.position(b"aa", Direction::Forward)),
            (None, 2)
        );
        assert_eq!((page.child_of(b"aa"), page.child_of(b"ab")), (1, 2));
    }

    #[test]
    fn a_page_with_unordered_keys_is_rejected() {
        for keys in [["b", "a"], ["a", "a"], ["ab", "a"]] {
            let mut page = Page::default();
            keys.iter().for_each(|key| page.push(key.as_bytes(), b""));
            assert!(Page::decode(&page.encode()).is_none(), "{keys:?}");
        }
    }
}

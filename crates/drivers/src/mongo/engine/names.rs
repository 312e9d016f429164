//! The `_id`s of documents: versions, transactions, pages and keys as text of the same order.
//!
//! MongoDB compares binary values by length first, so a key cannot be used as an `_id` directly. It is
//! encoded in letters of six bits each, in the order of their values. The text is a third longer than
//! the key (hexadecimal: twice as long), and has the key's order, as the unused bits of the last letter
//! are zero.

use espalier_keyspace::{Error, ErrorKind, KeyRange, Result};

// MongoDB sorts binary `_id`s by length first: docs/decisions/0038.
/// The letters for 0 to 63, in the order of their bytes.
const LETTERS: &[u8; 64] = b"-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz";

/// Letters of a version.
const VERSION_LETTERS: u32 = 8;

/// Random letters in the name of a transaction.
const RANDOM_LETTERS: u32 = 6;

/// Letters of a page's number within its transaction: 16 million.
const PAGE_LETTERS: u32 = 4;

/// Letters of a page's name.
pub(super) const PAGE_NAME_BYTES: usize =
    (VERSION_LETTERS + RANDOM_LETTERS + PAGE_LETTERS) as usize;

/// The last version that a key space can have: there are 2^48.
pub const VERSION_MAX: u64 = (1 << (6 * VERSION_LETTERS)) - 1;

/// A version as text of constant length. Commits over [`VERSION_MAX`] are rejected earlier.
pub(in crate::mongo) fn version_text(version: u64) -> String {
    letters(version, VERSION_LETTERS)
}

/// The version at the start of a text.
pub(in crate::mongo) fn version_of(text: &str) -> Option<u64> {
    let letters = text.get(..VERSION_LETTERS as usize)?;
    letters.bytes().try_fold(0, |version, letter| {
        let value = LETTERS.binary_search(&letter).ok()?;
        Some(version << 6 | value as u64)
    })
}

/// The name of a transaction that is to commit a version.
pub(in crate::mongo) fn transaction_name(version: u64, random: u64) -> String {
    version_text(version) + &letters(random, RANDOM_LETTERS)
}

/// Names for the pages of a transaction, which begin with the transaction's name.
pub(in crate::mongo) struct PageNames<'a> {
    transaction: &'a str,
    next: u64,
}

impl<'a> PageNames<'a> {
    pub(in crate::mongo) fn of(transaction: &'a str) -> Self {
        let next = 0;
        Self { transaction, next }
    }
}

impl PageNames<'_> {
    /// The next name.
    ///
    /// # Errors
    /// [`ErrorKind::BatchTooLarge`] if all names are used.
    pub(in crate::mongo) fn next(&mut self) -> Result<String> {
        if self.next >> (6 * PAGE_LETTERS) > 0 {
            let message = "a commit of more than 16 million pages is too large; split it";
            return Err(Error::new(ErrorKind::BatchTooLarge, message));
        }
        let name = self.transaction.to_owned() + &letters(self.next, PAGE_LETTERS);
        self.next += 1;
        Ok(name)
    }
}

/// The range of `_id`s of a transaction's pages: an inclusive start and an exclusive end.
pub(super) fn page_names_of(transaction: &str) -> (String, String) {
    // A letter after all others.
    (transaction.to_owned(), format!("{transaction}~"))
}

fn letters(value: u64, count: u32) -> String {
    let shifts = (0..count).rev().map(|at| 6 * at);
    shifts
        .map(|shift| char::from(LETTERS[(value >> shift & 63) as usize]))
        .collect()
}

/// The `_id` of the document of a row for human readers.
pub(super) fn row_name(key: &[u8]) -> String {
    let mut text = String::with_capacity(key.len().div_ceil(3) * 4);
    for part in key.chunks(3) {
        let mut bits = [0; 3];
        bits[..part.len()].copy_from_slice(part);
        let bits = u32::from_be_bytes([0, bits[0], bits[1], bits[2]]);
        let count = (part.len() * 8).div_ceil(6);
        let letters = (0..count).map(|at| LETTERS[(bits >> (18 - 6 * at) & 63) as usize]);
        text.extend(letters.map(char::from));
    }
    text
}

/// The `_id`s of the rows of a range: an inclusive start and, if the range has an end, an exclusive end.
pub(super) fn row_names(range: &KeyRange) -> (String, Option<String>) {
    (row_name(&range.start), range.end.as_deref().map(row_name))
}

#[cfg(test)]
mod tests {
    use espalier_testkit::seed;
    use rand::Rng;

    use super::*;

    #[test]
    fn letters_are_in_order() {
        assert!(LETTERS.is_sorted_by(|one, two| one < two));
        assert!(*LETTERS.last().expect("letters") < b'~');
    }

    #[test]
    fn row_names_are_in_key_order() {
        seed::run("order of names", |random| {
            let mut key = || {
                let bytes = [0, 1, 0x40, 0xff, random.random()];
                let length = random.random_range(0..8);
                let byte = |_| bytes[random.random_range(0..bytes.len())];
                (0..length).map(byte).collect::<Vec<_>>()
            };
            for _ in 0..2000 {
                let (one, two, third) = (key(), key(), key());
                let names = (row_name(&one), row_name(&two));
                assert_eq!(one.cmp(&two), names.0.cmp(&names.1), "{one:?} {two:?}");
                let (from, to) = row_names(&KeyRange::new(&*one, &*two));
                let name = row_name(&third);
                let is_within = from <= name && name < to.expect("an end");
                assert_eq!(is_within, one <= third && third < two);
            }
        });
    }

    #[test]
    fn versions_round_trip() {
        for version in [0, 1, 63, 64, 1 << 30, VERSION_MAX] {
            let text = version_text(version);
            assert_eq!(version_of(&text), Some(version));
            assert!(version == 0 || version_text(version - 1) < text);
        }
        assert_eq!(version_of("short"), None);
        assert_eq!(version_of("????????"), None);
    }

    #[test]
    fn page_names_begin_with_their_transaction() {
        let transaction = transaction_name(5, 77);
        let mut names = PageNames::of(&transaction);
        let (from, to) = page_names_of(&transaction);
        let mut last = String::new();
        for _ in 0..100 {
            let name = names.next().expect("a name");
            assert!(last < name && from <= name && name < to);
            assert_eq!(name.len(), PAGE_NAME_BYTES);
            last = name;
        }
        assert!(to < transaction_name(6, 0));
        names.next = 1 << 24;
        assert!(names.next().is_err());
    }
}

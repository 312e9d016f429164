//! Names of collections, and `_id`s of versions of cells: text in the order of keys and revisions.
//!
//! MongoDB compares binary values by their length first, so a key cannot be an `_id` as it is. It
//! is written in letters of six bits each, which stand in the order of their values: a third more
//! than the key (hexadecimal: twice as much), and in its order, as the bits that a key leaves of
//! its last letter are zero.

use espalier_keyspace::{Direction, KeyRange};

/// The letters for 0 to 63, in the order of their bytes.
const LETTERS: &[u8; 64] = b"-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz";

/// Ends a key. Before every letter, so that a key stands before those that begin with it.
const END: char = '!';

/// What comes next after [`END`].
const AFTER_END: char = '"';

/// Letters of a revision.
const REVISION_LETTERS: u32 = 8;

/// Letters of chance in the name of a transaction.
const CHANCE_LETTERS: u32 = 6;

/// The last revision that a key space can have: there are 2^48.
pub const REVISION_MAX: u64 = (1 << (6 * REVISION_LETTERS)) - 1;

/// A collection of versions of cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::mongo) enum Kind {
    Data,
    Chunks,
    /// Records and lanes, which are read at the newest revision only.
    Staging,
}

impl Kind {
    pub(in crate::mongo) const ALL: [Self; 3] = [Self::Data, Self::Chunks, Self::Staging];

    pub(in crate::mongo) fn name(self) -> &'static str {
        match self {
            Self::Data => "data",
            Self::Chunks => "chunks",
            Self::Staging => "staging",
        }
    }

    /// Where a cell stands; `None` for those that stand in the documents of revisions.
    pub(in crate::mongo) fn of(cell: &[u8]) -> Option<Self> {
        match cell.first()? {
            b'd' => Some(Self::Data),
            b'c' => Some(Self::Chunks),
            b'o' | b's' => Some(Self::Staging),
            _ => None,
        }
    }

    /// Whether older versions are read.
    pub(in crate::mongo) fn has_past(self) -> bool {
        self != Self::Staging
    }

    /// The part of a cell that is in `_id`s.
    fn rest(self, cell: &[u8]) -> &[u8] {
        match self {
            // Its collection says it all.
            Self::Data | Self::Chunks => cell.get(1..).unwrap_or_default(),
            Self::Staging => cell,
        }
    }

    /// The cell that a document is a version of.
    pub(in crate::mongo) fn cell(self, id: &str) -> Option<Vec<u8>> {
        let mut cell = match self {
            Self::Data => vec![b'd'],
            Self::Chunks => vec![b'c'],
            Self::Staging => Vec::new(),
        };
        decode(id.split(END).next()?, &mut cell)?;
        Some(cell)
    }

    /// The `_id` of a version of a cell.
    pub(in crate::mongo) fn id(self, cell: &[u8], transaction: &str) -> String {
        let mut id = encode(self.rest(cell));
        id.push(END);
        id.push_str(transaction);
        id
    }

    /// The first `_id` of a cell, and the first after them.
    pub(in crate::mongo) fn ids_of(self, cell: &[u8]) -> (String, String) {
        let key = encode(self.rest(cell));
        (format!("{key}{END}"), format!("{key}{AFTER_END}"))
    }

    /// The first `_id` of a range of cells, and the first after them where there is an end.
    pub(in crate::mongo) fn ids_within(self, range: &KeyRange) -> (String, Option<String>) {
        let start = encode(self.rest(&range.start));
        // An end of another kind is the end of the collection.
        let is_own = |end: &&[u8]| self == Self::Staging || Self::of(end) == Some(self);
        let end = range.end.as_deref().filter(is_own);
        (start, end.map(|end| encode(self.rest(end))))
    }
}

/// 1 or -1, as sorting has it.
pub(in crate::mongo) fn order(direction: Direction) -> i32 {
    match direction {
        Direction::Forward => 1,
        Direction::Backward => -1,
    }
}

/// A revision as text of constant length. Those over [`REVISION_MAX`] are refused before.
pub(in crate::mongo) fn revision_text(revision: u64) -> String {
    letters(revision, REVISION_LETTERS)
}

/// The revision that a text begins with.
pub(in crate::mongo) fn revision_of(text: &str) -> Option<u64> {
    let letters = text.get(..REVISION_LETTERS as usize)?;
    letters.bytes().try_fold(0, |revision, letter| {
        let value = LETTERS.binary_search(&letter).ok()?;
        Some(revision << 6 | value as u64)
    })
}

/// The name of a transaction that wants to be a revision.
pub(in crate::mongo) fn transaction_name(revision: u64, chance: u64) -> String {
    revision_text(revision) + &letters(chance, CHANCE_LETTERS)
}

fn letters(value: u64, count: u32) -> String {
    let shifts = (0..count).rev().map(|at| 6 * at);
    shifts
        .map(|shift| char::from(LETTERS[(value >> shift & 63) as usize]))
        .collect()
}

fn encode(key: &[u8]) -> String {
    let mut text = String::with_capacity(key.len().div_ceil(3) * 4 + 16);
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

fn decode(text: &str, key: &mut Vec<u8>) -> Option<()> {
    for part in text.as_bytes().chunks(4) {
        let mut bits = 0;
        for at in 0..4 {
            let letter = part.get(at).unwrap_or(&LETTERS[0]);
            bits = bits << 6 | LETTERS.binary_search(letter).ok()? as u32;
        }
        let bytes = bits.to_be_bytes();
        key.extend(&bytes[1..=part.len() * 6 / 8]);
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use espalier_testkit::seed;
    use rand::Rng;

    use super::*;

    #[test]
    fn letters_stand_in_their_order() {
        assert!(LETTERS.is_sorted_by(|one, two| one < two));
        assert!(END < char::from(LETTERS[0]) && END < AFTER_END);
        assert!(AFTER_END < char::from(LETTERS[0]));
    }

    #[test]
    fn ids_stand_in_the_order_of_keys_and_come_back() {
        seed::run("order of ids", |random| {
            let mut key = || {
                let bytes = [0, 1, 0x40, 0xff, random.random()];
                let length = random.random_range(1..8);
                let mut key = vec![b'd'];
                key.extend((0..length).map(|_| bytes[random.random_range(0..bytes.len())]));
                key
            };
            for _ in 0..2000 {
                let (one, two) = (key(), key());
                let ids =
                    |cell: &[u8], revision| Kind::Data.id(cell, &transaction_name(revision, 5));
                let (earlier, later, other) = (ids(&one, 1), ids(&one, 2), ids(&two, 1));
                assert!(earlier < later);
                assert_eq!(one.cmp(&two), earlier.cmp(&other), "{one:?} {two:?}");
                assert_eq!(Kind::Data.cell(&later).expect("a cell"), one);
                let (start, end) = Kind::Data.ids_of(&one);
                assert!(start <= earlier && later < end);
                assert!(one == two || !(start <= other && other < end));
                let (from, to) = Kind::Data.ids_within(&KeyRange::new(&*one, &*two));
                let third = key();
                let id = ids(&third, 7);
                let within = from <= id && id < to.expect("an end");
                assert_eq!(within, one <= third && third < two);
            }
        });
    }

    #[test]
    fn revisions_come_back() {
        for revision in [0, 1, 63, 64, 1 << 30, REVISION_MAX] {
            let text = revision_text(revision);
            assert_eq!(revision_of(&text), Some(revision));
            assert!(revision == 0 || revision_text(revision - 1) < text);
        }
        assert_eq!(revision_of("short"), None);
        assert_eq!(revision_of("????????"), None);
    }
}

//! Positions: the part of a key that orders the entries of a list ordered by user.
//!
//! A position is an integer and, usually empty, a fraction of bytes. Appending takes the next integer,
//! prepending the previous one; inserting between two neighbours takes the middle, as a fraction that grows
//! by one bit for each insertion in the same place. If a fraction would exceed [`FRACTION_BYTES_MAX`], the
//! list is renumbered, at the earliest after `8 * FRACTION_BYTES_MAX` insertions in one place.

use espalier_keyspace::tuple::{self, Element};

use crate::error::{Error, Result};

/// If a fraction would be longer than this, the list is renumbered.
pub(crate) const FRACTION_BYTES_MAX: usize = 48;

/// Ends the encoding of a position without a fraction; sorts before every fraction.
const WHOLE: u8 = 0x00;

// Inserting an entry moves no other entry: docs/decisions/0005.
/// The place of an entry among the entries of its list.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Position {
    whole: i64,
    fraction: Vec<u8>,
}

impl Position {
    /// The position at an integer.
    pub fn at(whole: i64) -> Self {
        Self {
            whole,
            fraction: Vec::new(),
        }
    }

    /// A position between two neighbours (`None`: the end of the list on that side). `None` when
    /// the list must be renumbered first.
    pub fn between(before: Option<&Self>, after: Option<&Self>) -> Option<Self> {
        match (before, after) {
            (None, None) => Some(Self::at(0)),
            (Some(last), None) => last.whole.checked_add(1).map(Self::at),
            (None, Some(first)) => first.whole.checked_sub(1).map(Self::at),
            (Some(before), Some(after)) => Self::middle(before, after),
        }
    }

    fn middle(before: &Self, after: &Self) -> Option<Self> {
        if after.whole.checked_sub(before.whole)? > 1 {
            return Some(Self::at(before.whole + (after.whole - before.whole) / 2));
        }
        let upper = (after.whole == before.whole).then_some(after.fraction.as_slice());
        if upper.is_none() && !after.fraction.is_empty() {
            return Some(Self::at(after.whole));
        }
        let fraction = middle_fraction(&before.fraction, upper);
        (fraction.len() <= FRACTION_BYTES_MAX).then_some(Self {
            whole: before.whole,
            fraction,
        })
    }

    /// Appends the encoding. Encodings sort like the positions, and none is a prefix of another.
    pub fn put(&self, key: &mut Vec<u8>) {
        tuple::put_signed(key, self.whole);
        if self.fraction.is_empty() {
            key.push(WHOLE);
        } else {
            tuple::put_bytes(key, &self.fraction);
        }
    }

    /// Removes a position from the front of a key.
    pub fn take(key: &mut &[u8]) -> Result<Self> {
        let whole = Self::take_whole(key)?;
        if let Some(rest) = key.strip_prefix(&[WHOLE]) {
            *key = rest;
            return Ok(Self::at(whole));
        }
        match tuple::take(key)? {
            Element::Bytes(fraction) => Ok(Self { whole, fraction }),
            _ => Err(Error::corrupt("a position does not end with a fraction")),
        }
    }

    /// The integer part.
    pub fn whole(&self) -> i64 {
        self.whole
    }

    /// The position moved by a number of integers, relative to others that were moved in the same way.
    pub fn moved_by(mut self, integers: i64) -> Self {
        self.whole = self.whole.saturating_add(integers);
        self
    }

    /// Removes the integer part of a position from the front of a key.
    pub fn take_whole(key: &mut &[u8]) -> Result<i64> {
        let Element::Integer(whole) = tuple::take(key)? else {
            return Err(Error::corrupt("a position does not begin with an integer"));
        };
        i64::try_from(whole).map_err(|_| Error::corrupt("a position is too large"))
    }

    /// Skips a position at the front of a key.
    pub fn skip(key: &mut &[u8]) -> Result<()> {
        tuple::skip(key)?;
        Self::skip_fraction(key)
    }

    /// Skips the rest of a position after its integer part.
    pub fn skip_fraction(key: &mut &[u8]) -> Result<()> {
        match key.strip_prefix(&[WHOLE]) {
            Some(rest) => *key = rest,
            None => tuple::skip(key)?,
        }
        Ok(())
    }
}

/// The middle of two fractions (`None`: one), each given by its digits after the point in base 256.
fn middle_fraction(lower: &[u8], upper: Option<&[u8]>) -> Vec<u8> {
    let digits = lower.len().max(upper.map_or(0, <[u8]>::len)) + 1;
    let digit = |bytes: &[u8], index: usize| u16::from(bytes.get(index).copied().unwrap_or(0));
    let mut sum = vec![0u16; digits];
    let mut carry = 0;
    for index in (0..digits).rev() {
        let total = digit(lower, index) + upper.map_or(0, |upper| digit(upper, index)) + carry;
        (sum[index], carry) = (total & 0xff, total >> 8);
    }
    carry += u16::from(upper.is_none());
    let mut middle = Vec::with_capacity(digits);
    for digit in sum {
        let value = carry << 8 | digit;
        middle.push((value >> 1) as u8);
        carry = value & 1;
    }
    while middle.last() == Some(&0) {
        middle.pop();
    }
    middle
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encoded(position: &Position) -> Vec<u8> {
        let mut key = Vec::new();
        position.put(&mut key);
        assert_eq!(&Position::take(&mut key.as_slice()).unwrap(), position);
        let mut rest = key.as_slice();
        Position::skip(&mut rest).unwrap();
        assert!(rest.is_empty());
        key
    }

    /// Inserts at random places, with long runs in one place. No insertion is refused before a fraction has its full
    /// length.
    fn inserted(mut random: u64) -> Vec<Position> {
        let mut list: Vec<Position> = Vec::new();
        let mut place = 0;
        for round in 0..3000 {
            random = random
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407);
            if round % 100 == 0 {
                place = (random >> 33) as usize % (list.len() + 1);
            }
            let before = place.checked_sub(1).map(|index| list[index].clone());
            let new = Position::between(before.as_ref(), list.get(place));
            let Some(new) = new else {
                let mut neighbours = before.iter().chain(list.get(place));
                assert!(neighbours.any(|one| one.fraction.len() == FRACTION_BYTES_MAX));
                continue;
            };
            list.insert(place, new);
            if random >> 63 == 1 {
                place += 1;
            }
        }
        list
    }

    #[test]
    fn positions_keep_the_order_of_any_insertions() {
        // How many are refused depends on how close the places are: the number is that of this seed.
        let list = inserted(7);
        assert!(list.len() > 2900 && list.is_sorted());
        assert!(list.iter().map(encoded).collect::<Vec<_>>().is_sorted());
        let list = inserted(espalier_testkit::seed::printed());
        assert!(list.is_sorted());
        assert!(list.iter().map(encoded).collect::<Vec<_>>().is_sorted());
    }
}

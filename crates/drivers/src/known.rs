//! What a snapshot knows without asking: what it was told would be read, brought along in the round trip
//! that opened it.

use std::borrow::Cow;
use std::collections::HashMap;

use espalier_keyspace::{Direction, KeyRange, Result, is_key};

use crate::pages::{More, Page};

/// The values of keys in their order: those that are known, and the others as `ask` finds them, which is
/// called once, with legal keys, or not at all.
pub(crate) fn get_many<'a>(
    keys: &[&[u8]],
    known: impl Fn(&[u8]) -> Option<Option<&'a [u8]>>,
    ask: impl FnOnce(&[&[u8]]) -> Result<Vec<Option<Vec<u8>>>>,
) -> Result<Vec<Option<Cow<'a, [u8]>>>> {
    let mut values = Vec::with_capacity(keys.len());
    let (mut unknown, mut places) = (Vec::new(), Vec::new());
    for key in keys {
        let value = known(key);
        if value.is_none() && is_key(key) {
            unknown.push(*key);
            places.push(values.len());
        }
        values.push(value.flatten().map(Cow::Borrowed));
    }
    if unknown.is_empty() {
        return Ok(values);
    }
    let found = ask(&unknown)?;
    debug_assert_eq!(found.len(), unknown.len());
    for (place, value) in places.into_iter().zip(found) {
        values[place] = value.map(Cow::Owned);
    }
    Ok(values)
}

/// Values of keys and beginnings of ranges, all of one state.
#[derive(Default)]
pub(crate) struct Known {
    values: HashMap<Vec<u8>, Option<Vec<u8>>>,
    heads: Vec<(KeyRange, Page, More)>,
}

impl Known {
    /// Takes in the value of a key; `None` where there is none.
    pub(crate) fn value(&mut self, key: &[u8], value: Option<Vec<u8>>) {
        self.values.insert(key.to_vec(), value);
    }

    /// Takes in how a range begins.
    pub(crate) fn head(&mut self, range: &KeyRange, head: Page, more: More) {
        self.heads.push((range.clone(), head, more));
    }

    /// The value of a key, or that it has none, where that is known.
    pub(crate) fn get(&self, key: &[u8]) -> Option<Option<&[u8]>> {
        self.values.get(key).map(Option::as_deref)
    }

    /// Fills an empty page with how a range begins, where that is known.
    pub(crate) fn show(
        &self,
        range: &KeyRange,
        direction: Direction,
        page: &mut Page,
    ) -> Option<More> {
        if direction == Direction::Backward {
            return None;
        }
        let (_, head, more) = self.heads.iter().find(|(known, ..)| known == range)?;
        page.clone_from(head);
        Some(*more)
    }
}

//! What a snapshot knows without asking: what it was told would be read, brought along in the round trip
//! that opened it.

use std::collections::HashMap;

use espalier_keyspace::{Direction, KeyRange};

use crate::pages::{More, Page};

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

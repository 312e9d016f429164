//! What edits are going to read, found by trying them on an empty state. What is there leads to other
//! keys than these, but the first ones are the same: the entries on the way, and their stamps.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

use espalier_keyspace::{
    Cursor, Direction, Error, ErrorKind, Expected, KeyRange, Result, Snapshot, Version,
};
use parking_lot::Mutex;

use super::edit::{Applying, Edit};
use super::stamp::stamp_key;
use crate::keys::TreeId;
use crate::overlay::Overlay;
use crate::store::Compiled;

/// Keys that are found at most: a large edit is not done twice.
const KEYS_MAX: usize = 32;

/// Tells what some edits will read first.
pub(super) fn rehearse(
    edits: &[Edit],
    (compiled, tree): (&Compiled, TreeId),
    expected: &mut Expected,
) {
    let asked = Asked::default();
    let mut overlay = Overlay::new(Box::new(Blank(Arc::clone(&asked))));
    let mut applying = Applying::new(&mut overlay, compiled, tree);
    let edits = edits.iter().take(KEYS_MAX);
    // An edit that cannot be done on nothing, or not so soon, has told what it asked for till then.
    let _ = edits.into_iter().try_for_each(|edit| applying.edit(edit));
    let mut keys: BTreeSet<_> = applying.touched.into_keys().take(KEYS_MAX).collect();
    keys.iter().for_each(|key| expected.key(stamp_key(key)));
    keys.extend(std::mem::take(&mut *asked.lock()));
    keys.into_iter().for_each(|key| expected.key(key));
}

type Asked = Arc<Mutex<Vec<Vec<u8>>>>;

/// A state in which there is nothing, and which remembers what it was asked for.
struct Blank(Asked);

impl Snapshot for Blank {
    fn version(&self) -> Version {
        Version::default()
    }

    fn get(&self, key: &[u8]) -> Result<Option<Cow<'_, [u8]>>> {
        let mut asked = self.0.lock();
        if asked.len() == KEYS_MAX {
            return Err(Error::new(ErrorKind::Aborted, "that is enough"));
        }
        if !asked.iter().any(|known| known == key) {
            asked.push(key.to_vec());
        }
        Ok(None)
    }

    fn scan(&self, _: &KeyRange, _: Direction) -> Result<Box<dyn Cursor + '_>> {
        Ok(Box::new(Nothing))
    }
}

struct Nothing;

impl Cursor for Nothing {
    fn next(&mut self) -> Result<Option<(&[u8], &[u8])>> {
        Ok(None)
    }

    fn seek(&mut self, _: &[u8]) -> Result<()> {
        Ok(())
    }
}

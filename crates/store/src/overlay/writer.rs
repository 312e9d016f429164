//! A [`Writer`] that collects changes instead of writing to an engine: for loads over existing data, and for
//! indexes that are not stored.

use std::borrow::Cow;

use espalier_keyspace::{Error, ErrorKind, KeyExisted, KeyRange, Result, Snapshot, Writer};

use super::{Changes, Layered};

/// Collects writes as changes over a snapshot; reads see them.
pub(crate) struct ChangesWriter<'a> {
    base: &'a dyn Snapshot,
    changes: Changes,
}

impl<'a> ChangesWriter<'a> {
    /// A writer without changes over a snapshot.
    pub fn new(base: &'a dyn Snapshot) -> Self {
        Self {
            base,
            changes: Changes::default(),
        }
    }

    /// The collected changes.
    pub fn into_changes(self) -> Changes {
        self.changes
    }

    fn layered(&self) -> Layered<'_> {
        Layered {
            base: self.base,
            changes: &self.changes,
        }
    }
}

impl Writer for ChangesWriter<'_> {
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.changes.put(key.to_vec(), value.to_vec());
        Ok(())
    }

    fn put_new(&mut self, key: &[u8], value: &[u8]) -> Result<KeyExisted> {
        if self.layered().value(key)?.is_some() {
            return Ok(KeyExisted::Yes);
        }
        self.put(key, value)?;
        Ok(KeyExisted::No)
    }

    fn get(&mut self, key: &[u8]) -> Result<Option<Cow<'_, [u8]>>> {
        self.layered().value(key)
    }

    fn snapshot(&mut self) -> Result<Box<dyn Snapshot + '_>> {
        Ok(Box::new(self.layered()))
    }

    fn delete(&mut self, key: &[u8]) -> Result<()> {
        self.changes.delete(key.to_vec());
        Ok(())
    }

    fn delete_range(&mut self, range: &KeyRange) -> Result<()> {
        self.changes.delete_range(range);
        Ok(())
    }

    fn add(&mut self, _: &[u8], _: i64) -> Result<()> {
        Err(Error::new(
            ErrorKind::Aborted,
            "a candidate has no counters",
        ))
    }
}

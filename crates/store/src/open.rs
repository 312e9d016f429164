//! Opening a store.

use std::sync::Arc;

use espalier_keyspace::{Batch, Direction, Driver, ErrorKind, KeyRange, Snapshot, Usage};

use crate::clock::Clock;
use crate::error::{Error, Result};
use crate::fragment::{put_varint, take_varint};
use crate::readable::{StoreLens, apply_edited_document};
use crate::store::Store;
use crate::subspace::{FORMAT_VERSION, Subspace};
use crate::transfer::reject_unfinished;

impl Store {
    /// Opens a key space, and formats it if it is empty. The cost does not depend on the number of anchors.
    ///
    /// # Errors
    /// [`Error::Corrupt`] if the format is of a later version, or the key space is not a store;
    /// [`Error::Edited`] if a driver that keeps documents found one that was edited by hand and is not valid.
    pub fn open(driver: Arc<dyn Driver>, clock: Arc<dyn Clock>) -> Result<Self> {
        let store = Self::new(driver, clock);
        // Starts the observation of the clock.
        store.now();
        store.check_format()?;
        store.register_lens()?;
        Ok(store)
    }

    /// Registers the lens with a driver that stores human-readable documents, and imports edited documents.
    fn register_lens(&self) -> Result<()> {
        let lens = Arc::new(StoreLens::new(Arc::clone(self.schemas())));
        let mut rejection = None;
        let registered = self.driver().set_lens(lens, &mut |document| {
            apply_edited_document(self, document).map_err(|error| {
                rejection = Some(error);
                espalier_keyspace::Error::new(ErrorKind::Aborted, "an edited document is rejected")
            })
        });
        match rejection {
            Some(rejection) => Err(rejection),
            None => registered.map_err(Error::from),
        }
    }

    fn check_format(&self) -> Result<()> {
        let key = format_key();
        let snapshot = self.driver().snapshot()?;
        reject_unfinished(&*snapshot)?;
        let Some(value) = snapshot.get(&key)? else {
            if snapshot
                .scan(&KeyRange::all(), Direction::Forward)?
                .next()?
                .is_some()
            {
                return Err(Error::corrupt(
                    "the key space is not empty and is not a store",
                ));
            }
            return self.write_format(key);
        };
        match take_varint(&mut &*value)? {
            FORMAT_VERSION => Ok(()),
            version => Err(Error::corrupt(format!(
                "the format is version {version}, this program supports {FORMAT_VERSION}; use the program that wrote it"
            ))),
        }
    }

    fn write_format(&self, key: Vec<u8>) -> Result<()> {
        let mut value = Vec::new();
        put_varint(&mut value, FORMAT_VERSION);
        let mut batch = Batch::new();
        batch.require(key.clone(), None);
        batch.put(key, value);
        match self.driver().commit(batch) {
            Err(error) if error.kind() == ErrorKind::Conflict => self.check_format(),
            result => result.map(|_| ()).map_err(Error::from),
        }
    }

    /// The number and the size of the keys in each key range. Linear in the number of keys.
    pub fn usage(&self) -> Result<Vec<(Subspace, Usage)>> {
        let snapshot = self.driver().snapshot()?;
        Subspace::ALL
            .into_iter()
            .map(|subspace| Ok((subspace, range_usage(&*snapshot, subspace)?)))
            .collect()
    }
}

fn format_key() -> Vec<u8> {
    let mut key = Subspace::Meta.key();
    key.extend_from_slice(b"format");
    key
}

fn range_usage(snapshot: &dyn Snapshot, subspace: Subspace) -> Result<Usage> {
    let mut usage = Usage::default();
    let range = subspace.range();
    let mut cursor = snapshot.scan(&range, Direction::Forward)?;
    while let Some((key, value)) = cursor.next()? {
        usage.keys += 1;
        usage.bytes += (key.len() + value.len()) as u64;
    }
    Ok(usage)
}

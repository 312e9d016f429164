//! The content of a driver, in one buffer.

use espalier_keyspace::{Direction, Driver, KeyRange};

use espalier_terminal::Result;

/// Keys and values, one after the other in one buffer.
#[derive(Default)]
pub struct Contents {
    bytes: Vec<u8>,
    lengths: Vec<(usize, usize)>,
}

impl Contents {
    /// Reads the whole content of a driver.
    pub fn of(driver: &dyn Driver) -> Result<Self> {
        let snapshot = driver.snapshot()?;
        let mut cursor = snapshot.scan(&KeyRange::all(), Direction::Forward)?;
        let mut contents = Self::default();
        while let Some((key, value)) = cursor.next()? {
            contents.bytes.extend_from_slice(key);
            contents.bytes.extend_from_slice(value);
            contents.lengths.push((key.len(), value.len()));
        }
        Ok(contents)
    }

    /// The number of keys.
    pub fn keys(&self) -> usize {
        self.lengths.len()
    }

    /// The number of bytes of keys and values.
    pub fn bytes(&self) -> usize {
        self.bytes.len()
    }

    /// Each key with its value, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        let mut rest = self.bytes.as_slice();
        self.lengths.iter().map(move |&(key, value)| {
            let (pair, after) = rest.split_at(key + value);
            rest = after;
            pair.split_at(key)
        })
    }
}

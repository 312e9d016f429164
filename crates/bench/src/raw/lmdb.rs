//! LMDB without Espalier.

use std::fs;
use std::ops::Bound;
use std::path::Path;

use espalier_keyspace::{Direction, KeyRange, Operation};
use heed::types::Bytes;
use heed::{CommitOrAbort, Database, Env, EnvFlags, EnvOpenOptions, RoTxn, RwTxn, WithoutTls};

use super::client::RawEngine;
use super::contents::Contents;
use crate::engine::Durability;
use crate::recorder::{ReadStep, Trace};
use espalier_terminal::{Failure, Result};

/// The address space of the map in bytes.
const MAP_BYTES: usize = 1 << 38;

/// LMDB in a separate folder.
pub struct Lmdb {
    env: Env<WithoutTls>,
    keys: Database<'static, Bytes, Bytes>,
}

impl Lmdb {
    /// Creates an engine in a new folder.
    pub fn create(folder: &Path, durability: Durability) -> Result<Self> {
        fs::create_dir_all(folder)?;
        let mut options = EnvOpenOptions::new().read_txn_without_tls();
        options.map_size(MAP_BYTES);
        if durability != Durability::Durable {
            // SAFETY: the folder is deleted after the bench, so no data can be lost.
            unsafe { options.flags(EnvFlags::NO_SYNC) };
        }
        // SAFETY: the folder is new and used only by this process, so no other process changes the file.
        let env = unsafe { options.open(folder) }.map_err(failed)?;
        let keys = open_keys(&env).map_err(failed)?;
        let keys = keys.ok_or_else(|| Failure::data("the raw engine has no database"))?;
        Ok(Self { env, keys })
    }

    /// Reads every key and value; returns the number of bytes read.
    pub fn scan(&self) -> Result<u64> {
        let txn = self.env.read_txn().map_err(failed)?;
        let mut bytes = 0;
        for pair in self.keys.iter(&txn).map_err(failed)? {
            let (key, value) = pair.map_err(failed)?;
            bytes += (key.len() + value.len()) as u64;
        }
        Ok(bytes)
    }

    fn read(&self, txn: &RoTxn<'_, WithoutTls>, step: &ReadStep) -> Result<usize> {
        match step {
            ReadStep::Get(key) => {
                let value = self.keys.get(txn, key).map_err(failed)?;
                Ok(value.map_or(0, <[u8]>::len))
            }
            ReadStep::GetMany(keys) => keys.iter().try_fold(0, |bytes, key| {
                let value = self.keys.get(txn, key).map_err(failed)?;
                Ok(bytes + value.map_or(0, <[u8]>::len))
            }),
            ReadStep::Scan(range, Direction::Forward, count) => {
                let found = self.keys.range(txn, &bounds(range)).map_err(failed)?;
                sum(found.take(*count))
            }
            ReadStep::Scan(range, Direction::Backward, count) => {
                let found = self.keys.rev_range(txn, &bounds(range)).map_err(failed)?;
                sum(found.take(*count))
            }
        }
    }

    fn apply(&self, txn: &mut RwTxn<'_>, operation: &Operation) -> Result<()> {
        match operation {
            Operation::Put { key, value } => self.keys.put(txn, key, value).map_err(failed),
            Operation::Delete { key } => self.keys.delete(txn, key).map(drop).map_err(failed),
            Operation::DeleteRange(range) => {
                let deleted = self.keys.delete_range(txn, &bounds(range));
                deleted.map(drop).map_err(failed)
            }
            Operation::Add { key, delta } => {
                let before = self.keys.get(txn, key).map_err(failed)?;
                let before = before.and_then(|value| value.try_into().ok());
                let sum = before.map_or(0, i64::from_le_bytes).wrapping_add(*delta);
                self.keys.put(txn, key, &sum.to_le_bytes()).map_err(failed)
            }
        }
    }
}

impl RawEngine for Lmdb {
    fn load(&self, contents: &Contents) -> Result<()> {
        let mut txn = self.env.write_txn().map_err(failed)?;
        for (key, value) in contents.iter() {
            self.keys.put(&mut txn, key, value).map_err(failed)?;
        }
        txn.commit().map_err(failed)
    }

    fn replay(&self, trace: &Trace) -> Result<usize> {
        let mut bytes = 0;
        if !trace.reads.is_empty() {
            let txn = self.env.read_txn().map_err(failed)?;
            for step in &trace.reads {
                bytes += self.read(&txn, step)?;
            }
        }
        for operations in &trace.commits {
            let mut txn = self.env.write_txn().map_err(failed)?;
            for operation in operations {
                self.apply(&mut txn, operation)?;
            }
            txn.commit().map_err(failed)?;
        }
        Ok(bytes)
    }
}

/// The unnamed database, which always exists.
fn open_keys(env: &Env<WithoutTls>) -> heed::Result<Option<Database<'static, Bytes, Bytes>>> {
    let opened = env.open_databases_and_commit(env.read_txn()?, |opener, txn| {
        let keys = opener.open_database::<Bytes, Bytes>(txn, None)?;
        Ok::<_, heed::Error>(CommitOrAbort::<_, ()>::Commit(keys))
    });
    Ok(opened?.commit().flatten())
}

type Pair<'a> = heed::Result<(&'a [u8], &'a [u8])>;

fn sum<'a>(pairs: impl Iterator<Item = Pair<'a>>) -> Result<usize> {
    let mut bytes = 0;
    for pair in pairs {
        let (key, value) = pair.map_err(failed)?;
        bytes += key.len() + value.len();
    }
    Ok(bytes)
}

fn bounds(range: &KeyRange) -> (Bound<&[u8]>, Bound<&[u8]>) {
    let end = match &range.end {
        Some(end) => Bound::Excluded(end.as_slice()),
        None => Bound::Unbounded,
    };
    // LMDB does not accept an empty key.
    let start = match range.start.as_slice() {
        [] => Bound::Unbounded,
        start => Bound::Included(start),
    };
    (start, end)
}

fn failed(error: heed::Error) -> Failure {
    Failure::data(format!("the raw engine: {error}"))
}

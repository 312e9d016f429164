//! Reads many documents of a snapshot: rows are fetched in chunks, and while one thread fetches, another
//! decodes.

use std::borrow::Cow;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, TrySendError, sync_channel};
use std::thread::{self, ScopedJoinHandle};

use espalier_keyspace::{Snapshot, Version};

use super::Opened;
use crate::Result;
use crate::cache::{Fact, Present};
use crate::document::Document;
use crate::reader::read_rows;

/// The number of rows that are fetched at a time.
const ROWS_AT_ONCE: usize = 256;

/// The number of documents from which a second thread is used: starting it takes as long as decoding some
/// hundred documents.
const HELP_MIN: usize = 1024;

/// The maximum number of chunks that wait for the second thread; beyond that the first thread decodes too.
const WAITING_MAX: usize = 2;

/// A chunk of documents to decode.
struct Part<'a> {
    number: usize,
    keys: &'a [u64],
    rows: Vec<Option<Cow<'a, [u8]>>>,
}

/// The documents of a chunk; `None` for those that do not exist.
type Documents<T> = Vec<Option<Arc<T>>>;

impl<T: Document> Opened<T> {
    /// The documents of some keys in a snapshot, in the order of keys, `None` for those that do not exist.
    /// They are cached if the policy requires it.
    pub(crate) fn read_many(&self, snapshot: &dyn Snapshot, keys: &[u64]) -> Result<Documents<T>> {
        let version = snapshot.version();
        let mut parts = keys.chunks(ROWS_AT_ONCE).enumerate();
        let bring = |(number, keys)| -> Result<Part<'_>> {
            let rows = read_rows(snapshot, &self.shape.keys, keys)?;
            Ok(Part { number, keys, rows })
        };
        if keys.len() < HELP_MIN {
            let documents = parts.map(|part| self.decode(version, bring(part)?));
            let documents: Vec<_> = documents.collect::<Result<_>>()?;
            return Ok(documents.into_iter().flatten().collect());
        }
        let mut decoded = thread::scope(|scope| {
            let (sender, waiting) = sync_channel(WAITING_MAX);
            let help = move || self.decode_all(version, &waiting);
            let helper = thread::Builder::new().spawn_scoped(scope, help);
            let own = parts.try_fold(Vec::new(), |mut own, part| -> Result<_> {
                // If the second thread is busy or could not be started, this one decodes.
                if let Err(TrySendError::Full(part) | TrySendError::Disconnected(part)) =
                    sender.try_send(bring(part)?)
                {
                    own.push((part.number, self.decode(version, part)?));
                }
                Ok(own)
            });
            drop(sender);
            let helped = match helper.map(ScopedJoinHandle::join) {
                Ok(Ok(helped)) => helped,
                Ok(Err(panic)) => resume_unwind(panic),
                Err(_) => Ok(Vec::new()),
            };
            let mut all = own?;
            all.extend(helped?);
            Result::Ok(all)
        })?;
        decoded.sort_unstable_by_key(|(number, _)| *number);
        Ok(decoded.into_iter().flat_map(|(_, part)| part).collect())
    }

    fn decode_all(
        &self,
        version: Version,
        waiting: &Receiver<Part<'_>>,
    ) -> Result<Vec<(usize, Documents<T>)>> {
        let parts = waiting.iter();
        parts
            .map(|part| Ok((part.number, self.decode(version, part)?)))
            .collect()
    }

    fn decode(&self, version: Version, part: Part<'_>) -> Result<Documents<T>> {
        let rows = part.keys.iter().zip(part.rows);
        rows.map(|(key, row)| {
            row.map(|row| self.take_row(version, *key, &row))
                .transpose()
        })
        .collect()
    }

    /// Decodes the document of a row, and caches it if the policy requires it.
    pub(super) fn take_row(&self, version: Version, key: u64, row: &[u8]) -> Result<Arc<T>> {
        let document = Arc::new(self.shape.decode(key, row)?);
        if let Some(recent) = self.cache.recent() {
            recent.read(Fact {
                key,
                version,
                present: Some(Present::new(Arc::clone(&document), row)),
            });
        }
        Ok(document)
    }
}

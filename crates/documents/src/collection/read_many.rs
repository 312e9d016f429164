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
use crate::cache::{DocumentState, Present};
use crate::document::Document;
use crate::row_reader::read_rows;

/// The number of rows that are fetched at a time.
const ROWS_AT_ONCE: usize = 256;

// Decoding is half of the time of reading many: docs/decisions/0045.
/// The number of documents from which a second thread is used: starting it takes as long as decoding some
/// hundred documents.
const SECOND_THREAD_MIN: usize = 1024;

/// The maximum number of chunks that wait for the second thread; beyond that the first thread decodes too.
const WAITING_MAX: usize = 2;

/// A chunk of documents to decode.
struct RowChunk<'a> {
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
        let mut chunks = keys.chunks(ROWS_AT_ONCE).enumerate();
        let fetch = |(number, keys)| -> Result<RowChunk<'_>> {
            let rows = read_rows(snapshot, &self.shape.keys, keys)?;
            Ok(RowChunk { number, keys, rows })
        };
        if keys.len() < SECOND_THREAD_MIN {
            let documents = chunks.map(|chunk| self.decode(version, fetch(chunk)?));
            let documents: Vec<_> = documents.collect::<Result<_>>()?;
            return Ok(documents.into_iter().flatten().collect());
        }
        let mut decoded = thread::scope(|scope| {
            let (sender, waiting) = sync_channel(WAITING_MAX);
            let decode_waiting = move || self.decode_all(version, &waiting);
            let helper = thread::Builder::new().spawn_scoped(scope, decode_waiting);
            let own = chunks.try_fold(Vec::new(), |mut own, chunk| -> Result<_> {
                // If the second thread is busy or could not be started, this one decodes.
                if let Err(TrySendError::Full(chunk) | TrySendError::Disconnected(chunk)) =
                    sender.try_send(fetch(chunk)?)
                {
                    own.push((chunk.number, self.decode(version, chunk)?));
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
        Ok(decoded.into_iter().flat_map(|(_, chunk)| chunk).collect())
    }

    fn decode_all(
        &self,
        version: Version,
        waiting: &Receiver<RowChunk<'_>>,
    ) -> Result<Vec<(usize, Documents<T>)>> {
        let chunks = waiting.iter();
        chunks
            .map(|chunk| Ok((chunk.number, self.decode(version, chunk)?)))
            .collect()
    }

    fn decode(&self, version: Version, chunk: RowChunk<'_>) -> Result<Documents<T>> {
        let rows = chunk.keys.iter().zip(chunk.rows);
        rows.map(|(key, row)| {
            row.map(|row| self.decode_row(version, *key, &row))
                .transpose()
        })
        .collect()
    }

    /// Decodes the document of a row, and caches it if the policy requires it.
    pub(super) fn decode_row(&self, version: Version, key: u64, row: &[u8]) -> Result<Arc<T>> {
        let document = Arc::new(self.shape.decode(key, row)?);
        if let Some(recent) = self.cache.recent() {
            recent.read(DocumentState {
                key,
                version,
                present: Some(Present::new(Arc::clone(&document), row)),
            });
        }
        Ok(document)
    }
}

//! An LRU cache of documents.

use std::sync::Arc;

use espalier_keyspace::Version;
use hashlink::LruCache;
use parking_lot::Mutex;

use super::document_state::DocumentState;

/// Documents by key, as many as the limits allow; the least recently used one is evicted first.
pub(crate) struct Recent<T> {
    state: Mutex<RecentState<T>>,
    bytes_max: usize,
}

struct RecentState<T> {
    documents: LruCache<u64, CachedDocument<T>>,
    bytes: usize,
    /// Documents read from older snapshots are not cached: changes since then may have been evicted.
    floor: Version,
    sequence: u64,
}

struct CachedDocument<T> {
    document: Arc<T>,
    bytes: usize,
    version: Version,
}

impl<T> Recent<T> {
    pub(super) fn new(entries: usize, bytes_max: usize) -> Self {
        Self {
            state: Mutex::new(RecentState {
                documents: LruCache::new(entries),
                bytes: 0,
                floor: Version(0),
                sequence: 0,
            }),
            bytes_max,
        }
    }

    /// A cached document.
    pub(crate) fn get(&self, key: u64) -> Option<Arc<T>> {
        let mut state = self.state.lock();
        state
            .documents
            .get(&key)
            .map(|cached| Arc::clone(&cached.document))
    }

    /// The number of commits that are certainly included.
    pub(super) fn sequence(&self) -> u64 {
        self.state.lock().sequence
    }

    /// Caches a document that was read from a snapshot.
    pub(crate) fn read(&self, update: DocumentState<T>) {
        let mut state = self.state.lock();
        if update.version >= state.floor {
            state.put(update, self.bytes_max);
        }
    }

    /// Applies the changes of a commit.
    pub(super) fn commit(&self, updates: Vec<DocumentState<T>>, before: u64) {
        let mut state = self.state.lock();
        if state.sequence == before {
            state.sequence = before + 1;
        }
        for update in updates {
            state.floor = state.floor.max(update.version);
            state.put(update, self.bytes_max);
        }
    }

    /// Removes documents that changed at a version.
    pub(super) fn invalidate(&self, keys: &[u64], version: Version, sequence: Option<u64>) {
        let mut state = self.state.lock();
        state.floor = state.floor.max(version);
        for key in keys {
            if state
                .documents
                .peek(key)
                .is_some_and(|cached| cached.version < version)
            {
                state.remove(*key);
            }
        }
        state.sequence = state.sequence.max(sequence.unwrap_or(0));
    }

    /// Clears the cache, unless all commits up to `sequence` are included.
    pub(super) fn catch_up(&self, version: Version, sequence: u64) {
        let mut state = self.state.lock();
        if state.sequence != sequence {
            state.floor = state.floor.max(version);
            state.documents.clear();
            state.bytes = 0;
            state.sequence = state.sequence.max(sequence);
        }
    }
}

impl<T> RecentState<T> {
    fn put(&mut self, update: DocumentState<T>, bytes_max: usize) {
        if self
            .documents
            .peek(&update.key)
            .is_some_and(|cached| cached.version > update.version)
        {
            return;
        }
        self.remove(update.key);
        let Some(present) = update.present else {
            return;
        };
        if present.bytes > bytes_max || self.documents.capacity() == 0 {
            return;
        }
        while self.bytes + present.bytes > bytes_max
            || self.documents.len() >= self.documents.capacity()
        {
            match self.documents.remove_lru() {
                Some((_, oldest)) => self.bytes -= oldest.bytes,
                None => break,
            }
        }
        self.bytes += present.bytes;
        let cached = CachedDocument {
            document: present.document,
            bytes: present.bytes,
            version: update.version,
        };
        self.documents.insert(update.key, cached);
    }

    fn remove(&mut self, key: u64) {
        if let Some(cached) = self.documents.remove(&key) {
            self.bytes -= cached.bytes;
        }
    }
}

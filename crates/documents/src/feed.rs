//! The changes of a collection as they happen, whoever makes them.

use std::sync::Arc;
use std::time::Duration;

use espalier_keyspace::{Change, Version, Watch, WatchEvent};

use crate::document::Document;
use crate::layout::Home;
use crate::shape::Shape;
use crate::{Collection, Error, Result};

/// One thing that happened.
#[derive(Debug)]
pub enum Event<T> {
    /// One commit: what became of each document that it changed.
    Commit {
        /// Its version.
        version: Version,
        /// Keys, and what the documents are now; none for those that were deleted.
        changes: Vec<(u64, Option<Arc<T>>)>,
    },
    /// Commits up to this version cannot be told one by one: they were made too long ago, or by
    /// another process on an engine that does not tell. Read the collection again.
    Gap {
        /// The last version of the gap.
        version: Version,
    },
}

/// The changes of a collection, in order. One that is read too slowly has gaps.
pub struct Feed<T> {
    watch: Box<dyn Watch>,
    shape: Arc<Shape<T>>,
}

impl<T: Document> Collection<T> {
    /// The changes after a version; after now where none is given.
    pub fn watch(&self, after: Option<Version>) -> Result<Feed<T>> {
        let opened = self.opened();
        let shape = Arc::clone(&opened.shape);
        if shape.keys.home == Home::Ram {
            let message =
                "a collection that is in memory only has triggers, and no feed of changes";
            return Err(Error::argument(message));
        }
        let driver = &self.core().driver;
        let after = match after {
            Some(after) => after,
            None => driver.snapshot()?.version(),
        };
        let watch = driver.watch(shape.keys.watched(), after)?;
        Ok(Feed { watch, shape })
    }
}

impl<T: Document> Feed<T> {
    /// The next event, waiting at most `timeout`; `None` where there was none in that time.
    pub fn next(&mut self, timeout: Duration) -> Result<Option<Event<T>>> {
        let end = std::time::Instant::now().checked_add(timeout);
        loop {
            let left = end.map_or(timeout, |end| {
                end.saturating_duration_since(std::time::Instant::now())
            });
            let Some(event) = self.watch.next(left)? else {
                return Ok(None);
            };
            match event {
                WatchEvent::Gap { version } => return Ok(Some(Event::Gap { version })),
                WatchEvent::Commit { version, changes } => {
                    if let Some(event) = self.event(version, &changes)? {
                        return Ok(Some(event));
                    }
                }
            }
        }
    }

    fn event(&self, version: Version, changes: &[Change]) -> Result<Option<Event<T>>> {
        let mut told = Vec::new();
        for change in changes {
            match change {
                Change::DeleteRange(_) => return Ok(Some(Event::Gap { version })),
                Change::Put { key, value } => {
                    if let Some(key) = self.shape.keys.document_key(key) {
                        told.push((key, Some(Arc::new(self.shape.decode(key, value)?))));
                    }
                }
                Change::Delete { key } => {
                    if let Some(key) = self.shape.keys.document_key(key) {
                        told.push((key, None));
                    }
                }
            }
        }
        let changes = told;
        Ok((!changes.is_empty()).then_some(Event::Commit { version, changes }))
    }
}

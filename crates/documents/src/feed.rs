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
    collection: Collection<T>,
    watch: Box<dyn Watch>,
    shape: Arc<Shape<T>>,
    begin: Version,
    /// A gap that is known before anything was told.
    gap: Option<Version>,
}

impl<T: Document> Collection<T> {
    /// The changes after a version; after now where none is given. A version that is yet to come is one
    /// of another history (the engine was put back, or is in memory and was begun anew): then the feed
    /// begins with a gap.
    pub fn watch(&self, after: Option<Version>) -> Result<Feed<T>> {
        let shape = Arc::clone(&self.opened().shape);
        if shape.keys.home == Home::Ram {
            let message =
                "a collection that is in memory only has triggers, and no feed of changes";
            return Err(Error::argument(message));
        }
        let driver = &self.core().driver;
        driver.catch_up()?;
        let now = driver.snapshot()?.version();
        let begin = after.unwrap_or(now).min(now);
        let watch = driver.watch(shape.keys.watched(), begin)?;
        Ok(Feed {
            collection: self.clone(),
            watch,
            shape,
            begin,
            gap: after.filter(|after| *after > now).map(|_| now),
        })
    }
}

impl<T: Document> Feed<T> {
    /// The version after which it begins: what is read of the collection from now on has all that
    /// was before.
    pub fn begin(&self) -> Version {
        self.begin
    }

    /// The next event, waiting at most `timeout`; `None` where there was none in that time.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Missing`] once the collection is removed.
    pub fn next(&mut self, timeout: Duration) -> Result<Option<Event<T>>> {
        if let Some(version) = self.gap.take() {
            return Ok(Some(Event::Gap { version }));
        }
        let end = std::time::Instant::now().checked_add(timeout);
        loop {
            let left = end.map_or(timeout, |end| {
                end.saturating_duration_since(std::time::Instant::now())
            });
            let Some(event) = self.watch.next(left)? else {
                return Ok(None);
            };
            let event = match event {
                WatchEvent::Gap { version } => Some(Event::Gap { version }),
                WatchEvent::Commit { version, changes } => self.event(version, &changes)?,
            };
            if let Some(Event::Gap { version }) = event {
                self.look_again(version)?;
            }
            if event.is_some() {
                return Ok(event);
            }
        }
    }

    /// After a gap: the collection may be another one of its name, or there may be none.
    fn look_again(&mut self, version: Version) -> Result<()> {
        let shape = Arc::clone(&self.collection.reopen()?.shape);
        if shape.id != self.shape.id {
            let driver = &self.collection.core().driver;
            self.watch = driver.watch(shape.keys.watched(), version)?;
        }
        self.shape = shape;
        Ok(())
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

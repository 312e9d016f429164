//! A feed of the changes of a collection, by all processes.

use std::sync::Arc;
use std::time::Duration;

use espalier_keyspace::{Change, Version, Watch, WatchEvent};

use crate::bound_definition::Shape;
use crate::document::Document;
use crate::layout::Storage;
use crate::{Collection, Error, Result};

/// One event of a feed.
#[derive(Debug)]
pub enum Event<T> {
    /// One commit: the new state of each document that it changed.
    Commit {
        /// Its version.
        version: Version,
        /// Keys with their documents; `None` for deleted ones.
        changes: Vec<(u64, Option<Arc<T>>)>,
    },
    /// Commits up to this version are not available individually: they are too old, or were made by another
    /// process on an engine that does not report changes. Read the collection again.
    Gap {
        /// The last version of the gap.
        version: Version,
    },
}

/// The changes of a collection, in order. A feed that is read too slowly has gaps.
pub struct Feed<T> {
    collection: Collection<T>,
    watch: Box<dyn Watch>,
    shape: Arc<Shape<T>>,
    begin: Version,
    /// A gap to report before the first event.
    gap: Option<Version>,
}

impl<T: Document> Collection<T> {
    /// The changes after a version, or from now on if none is given. If the version is in the future, it is
    /// of another history (the engine was restored, or is an in-memory one that was restarted): the feed then
    /// begins with a gap.
    pub fn watch(&self, after: Option<Version>) -> Result<Feed<T>> {
        let shape = Arc::clone(&self.opened().shape);
        if shape.keys.storage == Storage::Ram {
            let message = "a collection in memory only has no feed of changes; use triggers";
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
    /// The version after which the feed begins. A read of the collection from now on includes all earlier
    /// changes.
    pub fn begin(&self) -> Version {
        self.begin
    }

    /// The next event; waits at most `timeout`. `None` if there is none in that time.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Missing`] if the collection was removed.
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
                self.reopen_after_gap(version)?;
            }
            if event.is_some() {
                return Ok(event);
            }
        }
    }

    /// After a gap: the collection may have been dropped or recreated.
    fn reopen_after_gap(&mut self, version: Version) -> Result<()> {
        let shape = Arc::clone(&self.collection.reopen()?.shape);
        if shape.id != self.shape.id {
            let driver = &self.collection.core().driver;
            self.watch = driver.watch(shape.keys.watched(), version)?;
        }
        self.shape = shape;
        Ok(())
    }

    fn event(&self, version: Version, changes: &[Change]) -> Result<Option<Event<T>>> {
        let mut changed = Vec::new();
        for change in changes {
            match change {
                Change::DeleteRange(_) => return Ok(Some(Event::Gap { version })),
                Change::Put { key, value } => {
                    if let Some(key) = self.shape.keys.document_key(key) {
                        changed.push((key, Some(Arc::new(self.shape.decode(key, value)?))));
                    }
                }
                Change::Delete { key } => {
                    if let Some(key) = self.shape.keys.document_key(key) {
                        changed.push((key, None));
                    }
                }
            }
        }
        let changes = changed;
        Ok((!changes.is_empty()).then_some(Event::Commit { version, changes }))
    }
}

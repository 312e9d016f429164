//! The thread that brings the commits of others.

use std::sync::{Arc, Weak};
use std::time::Duration;

use espalier_keyspace::{Change, Driver, Watch, WatchEvent};

use super::store::Cache;
use crate::document::Document;
use crate::limits::STALE_MS_MAX;
use crate::shape::Shape;
use crate::{Error, Result};

/// How long the thread waits for news before it looks whether it is still needed.
const WAIT: Duration = Duration::from_millis(STALE_MS_MAX / 2);

impl<T: Document> Cache<T> {
    /// Loads what is kept, and has a thread follow the commits of others for as long as the cache
    /// lives.
    pub(crate) fn follow(
        self: &Arc<Self>,
        shape: &Arc<Shape<T>>,
        driver: &Arc<dyn Driver>,
    ) -> Result<()> {
        let mut follower = Follower {
            driver: Arc::clone(driver),
            shape: Arc::clone(shape),
            cache: Arc::downgrade(self),
        };
        let watch = follower.start(self)?;
        let spawned = std::thread::Builder::new()
            .name("documents".to_owned())
            .spawn(move || follower.run(Some(watch)));
        spawned.map(drop).map_err(|error| {
            let message = format!("no thread could be started to follow changes: {error}");
            Error::new(crate::ErrorKind::Limit, message)
        })
    }
}

struct Follower<T> {
    driver: Arc<dyn Driver>,
    shape: Arc<Shape<T>>,
    cache: Weak<Cache<T>>,
}

impl<T: Document> Follower<T> {
    /// Brings the cache to a snapshot, and watches from there.
    fn start(&mut self, cache: &Cache<T>) -> Result<Box<dyn Watch>> {
        let snapshot = self.driver.snapshot()?;
        let watch = self
            .driver
            .watch(self.shape.keys.watched(), snapshot.version())?;
        cache.catch_up(&self.shape, &*snapshot)?;
        cache.set_following(true);
        Ok(watch)
    }

    fn run(mut self, mut watch: Option<Box<dyn Watch>>) {
        while self.cache.strong_count() > 0 {
            let Err(error) = self.step(&mut watch) else {
                continue;
            };
            tracing::warn!(collection = self.shape.name, %error, "a cache does not follow");
            if let Some(cache) = self.cache.upgrade() {
                cache.set_following(false);
            }
            watch = None;
            std::thread::sleep(WAIT);
        }
    }

    fn step(&mut self, watch: &mut Option<Box<dyn Watch>>) -> Result<()> {
        let Some(running) = watch else {
            if let Some(cache) = self.cache.upgrade() {
                *watch = Some(self.start(&cache)?);
            }
            return Ok(());
        };
        let Some(event) = running.next(WAIT)? else {
            return Ok(());
        };
        let Some(cache) = self.cache.upgrade() else {
            return Ok(());
        };
        match event {
            WatchEvent::Commit { version, changes } if !changes.iter().any(is_range) => {
                cache.learn(&self.shape, version, &changes)
            }
            // A range goes where the collection is dropped.
            WatchEvent::Commit { .. } | WatchEvent::Gap { .. } => {
                cache.catch_up(&self.shape, &*self.driver.snapshot()?)
            }
        }
    }
}

fn is_range(change: &Change) -> bool {
    matches!(change, Change::DeleteRange(_))
}

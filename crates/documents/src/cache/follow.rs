//! The thread that brings the commits of others.

use std::sync::{Arc, Weak};
use std::time::Duration;

use espalier_keyspace::{Change, Driver, Watch, WatchEvent};
use parking_lot::Mutex;

use super::store::{Cache, News};
use crate::core::Core;
use crate::document::Document;
use crate::limits::STALE_MS_MAX;
use crate::shape::Shape;
use crate::{Error, Result};

/// How long the thread waits for news before it looks whether it is still needed.
const WAIT: Duration = Duration::from_millis(STALE_MS_MAX / 2);

impl<T: Document> Cache<T> {
    /// Loads what is kept, and has a thread follow the commits of others for as long as the cache
    /// lives.
    pub(crate) fn follow(self: &Arc<Self>, shape: &Arc<Shape<T>>, core: &Core) -> Result<()> {
        let mut follower = Follower {
            driver: Arc::clone(&core.driver),
            telling: Arc::clone(&core.telling),
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

/// How long the thread rests after news: what this process commits is told at once anyway, so the
/// thread need not be woken by every commit.
const PAUSE: Duration = Duration::from_millis(2);

/// How much news it takes before it looks whether it is still needed.
const EVENTS_AT_ONCE: usize = 256;

struct Follower<T> {
    driver: Arc<dyn Driver>,
    telling: Arc<Mutex<()>>,
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
                std::thread::sleep(PAUSE);
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
        let mut wait = WAIT;
        for _ in 0..EVENTS_AT_ONCE {
            let Some(event) = running.next(wait)? else {
                return Ok(());
            };
            let Some(cache) = self.cache.upgrade() else {
                return Ok(());
            };
            self.take(&cache, event)?;
            wait = Duration::ZERO;
        }
        Ok(())
    }

    fn take(&self, cache: &Cache<T>, event: WatchEvent) -> Result<()> {
        match event {
            WatchEvent::Commit { version, changes } if !changes.iter().any(is_range) => {
                let news = News::of(&self.shape, &changes)?;
                if !cache.knows(&news, version) {
                    // Where it is a commit of this process, it is about to be told more cheaply.
                    drop(self.telling.lock());
                }
                cache.learn(&self.shape, version, &news)
            }
            // A range goes where the collection is dropped.
            WatchEvent::Commit { .. } | WatchEvent::Gap { .. } => {
                catch_up(cache, &self.shape, &*self.driver, &self.telling)
            }
        }
    }
}

/// Brings a cache to the newest state, unless it has all commits.
pub(crate) fn catch_up<T: Document>(
    cache: &Cache<T>,
    shape: &Shape<T>,
    driver: &dyn Driver,
    telling: &Mutex<()>,
) -> Result<()> {
    // What this process committed is in the cache when it is in the snapshot.
    let told = telling.lock();
    let snapshot = driver.snapshot()?;
    if cache.includes(shape, &*snapshot)? {
        return Ok(());
    }
    drop(told);
    cache.catch_up(shape, &*snapshot)
}

fn is_range(change: &Change) -> bool {
    matches!(change, Change::DeleteRange(_))
}

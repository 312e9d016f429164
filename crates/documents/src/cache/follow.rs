//! The thread that applies the commits of other processes to a cache.

use std::sync::{Arc, Weak};
use std::time::Duration;

use espalier_keyspace::{Change, Driver, Watch, WatchEvent};
use parking_lot::Mutex;

use super::policy_cache::{Cache, WatchedChanges};
use crate::bound_definition::Shape;
use crate::document::Document;
use crate::limits::STALE_MS_MAX;
use crate::shared_state::Core;
use crate::{Error, Result};

/// The longest wait for an event before the thread checks whether it is still needed.
const WAIT: Duration = Duration::from_millis(STALE_MS_MAX / 2);

impl<T: Document> Cache<T> {
    /// Loads the cache, and starts a thread that follows the commits of other processes for the lifetime of
    /// the cache.
    pub(crate) fn follow(self: &Arc<Self>, shape: &Arc<Shape<T>>, core: &Core) -> Result<()> {
        let mut follower = Follower {
            driver: Arc::clone(&core.driver),
            cache_update_lock: Arc::clone(&core.cache_update_lock),
            shape: Arc::clone(shape),
            cache: Arc::downgrade(self),
        };
        let watch = follower.start(self)?;
        let spawned = std::thread::Builder::new()
            .name("documents".to_owned())
            .spawn(move || follower.run(Some(watch)));
        spawned.map(drop).map_err(|error| {
            let message = format!("starting the thread that follows changes failed: {error}");
            Error::new(crate::ErrorKind::Limit, message)
        })
    }
}

/// A pause of the thread after an event. The commits of this process are applied to the cache directly, so
/// the thread need not wake up for each of them.
const PAUSE: Duration = Duration::from_millis(2);

/// The number of events after which the thread checks whether it is still needed.
const EVENTS_AT_ONCE: usize = 256;

struct Follower<T> {
    driver: Arc<dyn Driver>,
    cache_update_lock: Arc<Mutex<()>>,
    shape: Arc<Shape<T>>,
    cache: Weak<Cache<T>>,
}

impl<T: Document> Follower<T> {
    /// Brings the cache to a snapshot, and starts a watch there.
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
            tracing::warn!(collection = self.shape.name, %error, "following changes failed; the cache is bypassed");
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
            self.apply(&cache, event)?;
            wait = Duration::ZERO;
        }
        Ok(())
    }

    fn apply(&self, cache: &Cache<T>, event: WatchEvent) -> Result<()> {
        match event {
            WatchEvent::Commit { version, changes } if !changes.iter().any(is_range) => {
                let watched = WatchedChanges::of(&self.shape, &changes)?;
                if !cache.includes_changes(&watched, version) {
                    // A commit of this process is about to be applied directly, which is cheaper.
                    drop(self.cache_update_lock.lock());
                }
                cache.apply_watched(&self.shape, version, &watched)
            }
            // A range is deleted when the collection is dropped.
            WatchEvent::Commit { .. } | WatchEvent::Gap { .. } => {
                catch_up(cache, &self.shape, &*self.driver, &self.cache_update_lock)
            }
        }
    }
}

/// Brings a cache to the newest state, unless it already includes all commits.
pub(crate) fn catch_up<T: Document>(
    cache: &Cache<T>,
    shape: &Shape<T>,
    driver: &dyn Driver,
    cache_update_lock: &Mutex<()>,
) -> Result<()> {
    // A commit of this process is in the cache once it is visible in a snapshot.
    let guard = cache_update_lock.lock();
    let snapshot = driver.snapshot()?;
    if cache.includes(shape, &*snapshot)? {
        return Ok(());
    }
    drop(guard);
    cache.catch_up(shape, &*snapshot)
}

fn is_range(change: &Change) -> bool {
    matches!(change, Change::DeleteRange(_))
}

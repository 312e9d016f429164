//! A view of the engine that is taken when it is first read: what is in memory alone asks no engine.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::sync::Arc;

use espalier_keyspace::{Cursor, Direction, Driver, Expect, KeyRange, Result, Snapshot, Version};

/// The newest state of the engine, as of the first look at it.
pub(crate) struct EngineView {
    driver: Arc<dyn Driver>,
    taken: OnceCell<Box<dyn Snapshot + Send>>,
}

impl EngineView {
    /// A view; it is taken at once where it is known what will be read of it.
    pub(crate) fn new(driver: &Arc<dyn Driver>, expect: Option<Expect<'_>>) -> Result<Self> {
        let taken = match expect {
            Some(expect) => OnceCell::from(driver.snapshot_expecting(expect)?),
            None => OnceCell::new(),
        };
        Ok(Self {
            driver: Arc::clone(driver),
            taken,
        })
    }

    /// The version that it shows, where anything was read of it.
    pub(crate) fn seen(&self) -> Option<Version> {
        self.taken.get().map(|taken| taken.version())
    }

    fn take(&self) -> Result<&dyn Snapshot> {
        if let Some(taken) = self.taken.get() {
            return Ok(&**taken);
        }
        let taken = self.driver.snapshot()?;
        Ok(&**self.taken.get_or_init(|| taken))
    }
}

impl Snapshot for EngineView {
    /// 0 before anything was read.
    fn version(&self) -> Version {
        self.seen().unwrap_or_default()
    }

    fn get(&self, key: &[u8]) -> Result<Option<Cow<'_, [u8]>>> {
        self.take()?.get(key)
    }

    fn get_many(&self, keys: &[&[u8]]) -> Result<Vec<Option<Cow<'_, [u8]>>>> {
        self.take()?.get_many(keys)
    }

    fn scan(&self, range: &KeyRange, direction: Direction) -> Result<Box<dyn Cursor + '_>> {
        self.take()?.scan(range, direction)
    }
}

//! A lazy snapshot of the engine: operations that read only memory send no request to the engine.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::sync::Arc;

use espalier_keyspace::{Cursor, Direction, Driver, KeyRange, Prefetch, Result, Snapshot, Version};

/// The state of the engine at the first read.
pub(crate) struct EngineView {
    driver: Arc<dyn Driver>,
    taken: OnceCell<Box<dyn Snapshot + Send>>,
}

impl EngineView {
    /// A lazy snapshot; with a prefetch it is taken immediately.
    pub(crate) fn new(driver: &Arc<dyn Driver>, expect: Option<Prefetch<'_>>) -> Result<Self> {
        let taken = match expect {
            Some(expect) => OnceCell::from(driver.snapshot_with_prefetch(expect)?),
            None => OnceCell::new(),
        };
        Ok(Self {
            driver: Arc::clone(driver),
            taken,
        })
    }

    /// The version of the snapshot, if anything was read from it.
    pub(crate) fn read_version(&self) -> Option<Version> {
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
    /// 0 before the first read.
    fn version(&self) -> Version {
        self.read_version().unwrap_or_default()
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

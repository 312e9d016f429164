//! Snapshots: the rows of a tree, under an overlay of the changes since.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::sync::Arc;

use espalier_keyspace::{
    Cursor, Direction, Finding, KeyRange, Prefetch, PrefetchList, Result, Snapshot, Usage, Version,
    is_key,
};

use super::engine::{CommittedState, Engine, Overlay, PageReader, Tree};
use crate::page::Page;
use crate::paged_cursor::{More, PAGE_BYTES, PagedCursor, Source};

/// Approximate rows of a leaf, to estimate how many leaves a scan reads.
const LEAF_ROWS: usize = 128;

/// A snapshot of a committed state.
pub(super) struct MongoSnapshot {
    engine: Arc<Engine>,
    state: Arc<CommittedState>,
}

impl MongoSnapshot {
    /// The newest state.
    pub(super) fn newest(engine: &Arc<Engine>) -> Result<Self> {
        Ok(Self {
            engine: Arc::clone(engine),
            state: engine.newest()?.0,
        })
    }

    /// The newest state, or one that this process presumes to be the newest.
    pub(super) fn presumed(engine: &Arc<Engine>) -> Result<Self> {
        Ok(Self {
            engine: Arc::clone(engine),
            state: engine.presumed_newest()?,
        })
    }

    /// Prefetches the expected keys and the starts of the expected ranges.
    pub(super) fn expecting(self, expect: Prefetch<'_>) -> Result<Box<dyn Snapshot + Send>> {
        let mut expected = PrefetchList::new();
        expect(&mut expected);
        let keys = expected.keys().iter().map(Vec::as_slice);
        let ranges = expected.ranges().iter();
        let keys = keys.chain(ranges.map(|(range, _)| range.start.as_slice()));
        self.view().prefetch(&keys.collect::<Vec<_>>())?;
        Ok(Box::new(self))
    }

    fn view(&self) -> StateView<'_> {
        StateView::of(&self.engine, &self.state, &self.state.overlay)
    }

    pub(super) fn usage(&self) -> Result<Usage> {
        let mut usage = Usage::default();
        let mut rows = self.scan(&KeyRange::all(), Direction::Forward)?;
        while let Some((key, value)) = rows.next()? {
            usage.keys += 1;
            usage.bytes += (key.len() + value.len()) as u64;
        }
        Ok(usage)
    }

    /// Checks that every page can be read and is in its place in the tree.
    pub(super) fn check(&self) -> Result<Vec<Finding>> {
        let mut findings = Vec::new();
        let view = self.view();
        view.tree.check(&view.pages, &mut findings)?;
        Ok(findings)
    }
}

impl Snapshot for MongoSnapshot {
    fn version(&self) -> Version {
        Version(self.state.version)
    }

    fn get(&self, key: &[u8]) -> Result<Option<Cow<'_, [u8]>>> {
        self.view().get(key)
    }

    fn get_many(&self, keys: &[&[u8]]) -> Result<Vec<Option<Cow<'_, [u8]>>>> {
        let view = self.view();
        view.prefetch(keys)?;
        keys.iter().map(|key| view.get(key)).collect()
    }

    fn scan(&self, range: &KeyRange, direction: Direction) -> Result<Box<dyn Cursor + '_>> {
        Ok(Box::new(PagedCursor::new(self.view(), range, direction)))
    }
}

/// The rows of a tree under an overlay.
#[derive(Clone, Copy)]
pub(super) struct StateView<'a> {
    pages: PageReader<'a>,
    tree: &'a Tree,
    overlay: &'a Overlay,
}

impl<'a> StateView<'a> {
    /// The tree of a state, under its overlay or one that follows it.
    pub(super) fn of(engine: &'a Engine, state: &'a CommittedState, overlay: &'a Overlay) -> Self {
        let version = state.version;
        Self {
            pages: PageReader { engine, version },
            tree: &state.tree,
            overlay,
        }
    }

    pub(super) fn get(&self, key: &[u8]) -> Result<Option<Cow<'a, [u8]>>> {
        if !is_key(key) {
            return Ok(None);
        }
        if let Some(value) = self.overlay.get(key) {
            return Ok(value.map(Cow::Borrowed));
        }
        let range = KeyRange {
            start: key.to_vec(),
            end: None,
        };
        let leaf = self.tree.leaf(&self.pages, &range, Direction::Forward, 0)?;
        Ok(leaf.and_then(|leaf| {
            let at = leaf.page.find(key)?;
            Some(Cow::Owned(leaf.page.value(at).to_vec()))
        }))
    }

    /// Whether a range contains a key.
    pub(super) fn has_any(&self, range: &KeyRange) -> Result<bool> {
        if range.is_empty() {
            return Ok(false);
        }
        let mut page = Page::default();
        self.read(range, Direction::Forward, 1, &mut page)?;
        Ok(!page.is_empty())
    }

    /// Prefetches the leaves of the keys that the overlay does not decide.
    pub(super) fn prefetch(&self, keys: &[&[u8]]) -> Result<()> {
        let is_in_tree = |key: &&&[u8]| is_key(key) && self.overlay.get(key).is_none();
        let keys: Vec<_> = keys.iter().filter(is_in_tree).copied().collect();
        match keys.len() {
            0 | 1 => Ok(()),
            _ => self.tree.prefetch(&self.pages, &keys),
        }
    }

    /// Appends the rows of a range within one leaf, until the page is full. Returns whether it is full.
    fn merge(
        &self,
        rows: &mut dyn Iterator<Item = (&[u8], &[u8])>,
        range: &KeyRange,
        direction: Direction,
        wanted: usize,
        page: &mut Page,
    ) -> bool {
        let mut own = self.overlay.scan(range, direction).peekable();
        let mut rows = rows.peekable();
        loop {
            if page.len() >= wanted || page.bytes() >= PAGE_BYTES {
                return true;
            }
            let order = match (own.peek(), rows.peek()) {
                (None, None) => return false,
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (Some((own, _)), Some((row, _))) => match direction {
                    Direction::Forward => own.cmp(row),
                    Direction::Backward => row.cmp(own),
                },
            };
            let row = (order != Ordering::Less).then(|| rows.next()).flatten();
            let row = row.filter(|(key, _)| !self.overlay.is_cleared(key));
            let entry = match order {
                Ordering::Greater => row,
                _ => own.next().and_then(|(key, value)| Some((key, value?))),
            };
            if let Some((key, value)) = entry {
                page.push(key, value);
            }
        }
    }
}

impl Source for StateView<'_> {
    fn read(
        &self,
        range: &KeyRange,
        direction: Direction,
        wanted: usize,
        page: &mut Page,
    ) -> Result<More> {
        let mut rest = range.clone();
        loop {
            let (part, is_full) = match self.overlay.leading_cleared(&rest, direction) {
                Some(part) => {
                    let none = &mut std::iter::empty();
                    let is_full = self.merge(none, &part, direction, wanted, page);
                    (part, is_full)
                }
                None => {
                    let ahead = (wanted - page.len()) / LEAF_ROWS;
                    let leaf = self.tree.leaf(&self.pages, &rest, direction, ahead)?;
                    let Some(leaf) = leaf else {
                        let none = &mut std::iter::empty();
                        let is_full = self.merge(none, &rest, direction, wanted, page);
                        return Ok(if is_full {
                            More::Perhaps
                        } else {
                            More::Nothing
                        });
                    };
                    let part = leaf.span.intersection(&rest);
                    let end = part.end.as_deref();
                    let end = end.map_or(leaf.page.len(), |end| {
                        leaf.page.position(end, Direction::Forward)
                    });
                    let rows = leaf.page.position(&part.start, Direction::Forward)..end;
                    let row = |at| (leaf.page.key(at), leaf.page.value(at));
                    let is_full = match direction {
                        Direction::Forward => {
                            self.merge(&mut rows.map(row), &part, direction, wanted, page)
                        }
                        Direction::Backward => {
                            self.merge(&mut rows.rev().map(row), &part, direction, wanted, page)
                        }
                    };
                    (part, is_full)
                }
            };
            if is_full {
                return Ok(More::Perhaps);
            }
            match direction {
                Direction::Forward => match part.end {
                    Some(end) => rest.start = end,
                    None => return Ok(More::Nothing),
                },
                Direction::Backward => rest.end = Some(part.start),
            }
            if rest.is_empty() {
                return Ok(More::Nothing);
            }
        }
    }
}

//! Snapshots: reads at a revision. While a staged batch is applied, that is the revision that created its
//! gate. Expected reads are prefetched.

use std::borrow::Cow;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use espalier_keyspace::{
    Cursor, Direction, Error, ErrorKind, Finding, KeyRange, Prefetch, PrefetchList, Result,
    Snapshot, Usage, Version, is_key,
};

use super::config::CHUNK_BYTES;
use super::driver::Shared;
use super::engine::{Cell, CellStore, Layout, RangeContent, Read, StoredValue};

/// Rows of the first page of a scan.
const ROWS_MIN: usize = 16;

/// Maximum rows of a page; each page has four times as many as the one before, within the byte limit.
const ROWS_MAX: usize = 4096;

/// Target bytes of a page, estimated from the previous page: 2 MiB.
const PAGE_BYTES: usize = 2 << 20;

/// A snapshot at a revision.
pub(crate) struct StagedSnapshot<C> {
    pub(super) shared: Arc<Shared<C>>,
    version: Version,
    revision: u64,
    prefetched: PrefetchedCells,
}

/// Prefetched data, by data cell and by range of data cells.
#[derive(Default)]
struct PrefetchedCells {
    cells: HashMap<Vec<u8>, Option<Cell>>,
    /// With the limits of the reads.
    heads: Vec<(KeyRange, usize, Vec<Cell>)>,
}

impl<C: CellStore> StagedSnapshot<C> {
    /// The newest committed state.
    pub(super) fn newest(shared: &Arc<Shared<C>>) -> Result<Self> {
        Self::newest_expecting(shared, &|_| {})
    }

    /// The newest committed state with prefetched reads, as many as fit into one request.
    pub(super) fn newest_expecting(shared: &Arc<Shared<C>>, expect: Prefetch<'_>) -> Result<Self> {
        let layout = &shared.layout;
        let mut expected = PrefetchList::new();
        expect(&mut expected);
        let mut reads = vec![Read::One(layout.gate()), Read::One(layout.head())];
        let keys = expected.keys().iter().filter(|key| is_key(key));
        reads.extend(keys.map(|key| Read::One(layout.data(key))));
        let ranges = expected.ranges().iter().filter(|(_, keys)| *keys > 0);
        reads.extend(ranges.map(|(range, keys)| Read::Some {
            range: layout.data_range(range),
            direction: Direction::Forward,
            limit: *keys,
        }));
        reads.truncate(shared.cells.bounds().operations);
        let found = shared.cells.read(&reads, None)?;
        let mut answers = found.cells.into_iter();
        let mut first = || answers.next().and_then(|mut cells| cells.pop());
        let (gate, head) = (first(), first());
        let version = Version(head.ok_or_else(deleted_error)?.modified);
        let mut prefetched = PrefetchedCells::default();
        // With a gate, the snapshot is older than the prefetched cells.
        if gate.is_none() {
            for (read, cells) in reads.into_iter().skip(2).zip(answers) {
                prefetched.insert(read, cells);
            }
        }
        Ok(Self {
            shared: Arc::clone(shared),
            version,
            revision: gate.map_or(found.revision, |gate| gate.created),
            prefetched,
        })
    }

    pub(super) fn revision(&self) -> u64 {
        self.revision
    }

    /// A snapshot at a revision without a gate.
    pub(super) fn at(shared: &Arc<Shared<C>>, version: Version, revision: u64) -> Self {
        Self {
            shared: Arc::clone(shared),
            version,
            revision,
            prefetched: PrefetchedCells::default(),
        }
    }

    fn cells(&self, range: KeyRange, direction: Direction, limit: usize) -> Result<Vec<Cell>> {
        let read = Read::Some {
            range,
            direction,
            limit,
        };
        let mut found = self.shared.cells.read(&[read], Some(self.revision))?;
        Ok(found.cells.pop().unwrap_or_default())
    }

    /// The value of a data cell.
    pub(super) fn value(&self, cell: Cell) -> Result<Vec<u8>> {
        let count = match Layout::decode_value(&cell)? {
            StoredValue::Inline(value) => return Ok(value.to_vec()),
            StoredValue::Chunks(count) => count,
        };
        let key = self.shared.layout.key(&cell.key);
        let chunks = self.cells(
            self.shared.layout.chunks(key, 0),
            Direction::Forward,
            count as usize + 1,
        )?;
        if chunks.len() != count as usize {
            let message = "a part of a long value is missing";
            return Err(Error::new(ErrorKind::Corrupt, message).with_key(key));
        }
        let chunks: Vec<_> = chunks.into_iter().map(|chunk| chunk.value).collect();
        Ok(chunks.concat())
    }

    /// Whether a range contains a key that is not deleted.
    pub(super) fn range_content(
        &self,
        range: &KeyRange,
        is_deleted: &dyn Fn(&[u8]) -> bool,
    ) -> Result<RangeContent> {
        let layout = &self.shared.layout;
        let mut rest = layout.data_range(range);
        let (mut rows, mut found) = (1, RangeContent::Empty);
        loop {
            let page = self.cells(rest.clone(), Direction::Forward, rows)?;
            if page.iter().any(|cell| !is_deleted(layout.key(&cell.key))) {
                return Ok(RangeContent::Key);
            }
            let Some(last) = page.last() else {
                return Ok(found);
            };
            found = RangeContent::OnlyDeleted;
            if page.len() < rows {
                return Ok(found);
            }
            rest.start = [&last.key, &[0][..]].concat();
            rows = (rows * 16).min(ROWS_MAX);
        }
    }

    pub(super) fn usage(&self) -> Result<Usage> {
        let mut usage = Usage::default();
        self.for_each_cell(self.shared.layout.data_range(&KeyRange::all()), |cell| {
            usage.keys += 1;
            usage.bytes += (cell.key.len() + cell.value.len()) as u64;
        })?;
        self.for_each_cell(self.shared.layout.chunk_range(&KeyRange::all()), |cell| {
            usage.bytes += (cell.key.len() + cell.value.len()) as u64;
        })?;
        Ok(usage)
    }

    /// Checks that every value can be read, and that every chunk belongs to a value.
    pub(super) fn check(&self) -> Result<Vec<Finding>> {
        let layout = &self.shared.layout;
        let (mut findings, mut expected, mut chunks) = (Vec::new(), 0, 0);
        let mut long = Vec::new();
        let mut found = |cell: &Cell, problem: &str| {
            findings.push(Finding {
                place: format!("key {}", layout.key(&cell.key).escape_ascii()),
                problem: problem.to_owned(),
            });
        };
        self.for_each_cell(
            layout.data_range(&KeyRange::all()),
            |cell| match Layout::decode_value(&cell) {
                Ok(StoredValue::Inline(_)) => {}
                Ok(StoredValue::Chunks(count)) => {
                    expected += u64::from(count);
                    long.push(cell);
                }
                Err(_) => found(&cell, "its cell cannot be decoded"),
            },
        )?;
        for cell in long {
            match self.value(cell.clone()) {
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::Corrupt => {
                    found(&cell, "a part of its value is missing");
                }
                Err(error) => return Err(error),
            }
        }
        self.for_each_cell(layout.chunk_range(&KeyRange::all()), |_| chunks += 1)?;
        if chunks > expected {
            findings.push(Finding {
                place: "chunks of long values".to_owned(),
                problem: format!("{} chunks belong to no key", chunks - expected),
            });
        }
        Ok(findings)
    }

    fn for_each_cell(&self, range: KeyRange, mut act: impl FnMut(Cell)) -> Result<()> {
        let mut pages = Pages::new(range, Direction::Forward);
        while let Some(page) = pages.next(self)? {
            page.into_iter().for_each(&mut act);
        }
        Ok(())
    }
}

impl PrefetchedCells {
    fn insert(&mut self, read: Read, mut cells: Vec<Cell>) {
        match read {
            Read::One(key) => drop(self.cells.insert(key, cells.pop())),
            Read::Some { range, limit, .. } => self.heads.push((range, limit, cells)),
        }
    }

    /// The first cells of a range and their limit, if it, or a range around it, was prefetched.
    fn head(&self, range: &KeyRange, direction: Direction) -> Option<(Vec<Cell>, usize)> {
        let heads = self.heads.iter();
        let mut heads = heads.filter(|(head_range, ..)| head_range.includes(range));
        heads.find_map(|(_, limit, cells)| {
            let last = cells.last();
            let is_all =
                cells.len() < *limit || last.is_some_and(|last| !range.is_before_end(&last.key));
            let within = cells.iter().filter(|cell| range.contains(&cell.key));
            let mut within: Vec<_> = within.cloned().collect();
            match (is_all, direction) {
                (true, Direction::Backward) => within.reverse(),
                (false, Direction::Backward) => return None,
                (false, Direction::Forward) if within.is_empty() => return None,
                (_, Direction::Forward) => {}
            }
            let limit = within.len() + usize::from(is_all);
            Some((within, limit))
        })
    }
}

pub(super) fn deleted_error() -> Error {
    let message = "the key space was deleted from the engine";
    Error::new(ErrorKind::Corrupt, message)
}

impl<C: CellStore> Snapshot for StagedSnapshot<C> {
    fn version(&self) -> Version {
        self.version
    }

    fn get(&self, key: &[u8]) -> Result<Option<Cow<'_, [u8]>>> {
        if !is_key(key) {
            return Ok(None);
        }
        let key = self.shared.layout.data(key);
        let cell = match self.prefetched.cells.get(&key) {
            Some(cell) => cell.clone(),
            None => {
                let reads = [Read::One(key)];
                let mut found = self.shared.cells.read(&reads, Some(self.revision))?;
                found.cells.pop().and_then(|mut cells| cells.pop())
            }
        };
        cell.map(|cell| self.value(cell).map(Cow::Owned))
            .transpose()
    }

    fn get_many(&self, keys: &[&[u8]]) -> Result<Vec<Option<Cow<'_, [u8]>>>> {
        let layout = &self.shared.layout;
        let cell_keys: Vec<_> = keys
            .iter()
            .map(|key| is_key(key).then(|| layout.data(key)))
            .collect();
        let mut missing: Vec<&Vec<u8>> = cell_keys.iter().flatten().collect();
        missing.retain(|cell| !self.prefetched.cells.contains_key(*cell));
        missing.sort_unstable();
        missing.dedup();
        let mut found = HashMap::with_capacity(missing.len());
        for part in missing.chunks(self.shared.cells.bounds().operations) {
            let reads: Vec<_> = part.iter().map(|cell| Read::One((*cell).clone())).collect();
            let read = self.shared.cells.read(&reads, Some(self.revision))?;
            for cell in read.cells.into_iter().flatten() {
                found.insert(cell.key.clone(), cell);
            }
        }
        let value = |key: &Option<Vec<u8>>| {
            let Some(key) = key else {
                return Ok(None);
            };
            let prefetched = self.prefetched.cells.get(key).and_then(Option::as_ref);
            let cell = prefetched.or_else(|| found.get(key)).cloned();
            cell.map(|cell| self.value(cell).map(Cow::Owned))
                .transpose()
        };
        cell_keys.iter().map(value).collect()
    }

    fn scan(&self, range: &KeyRange, direction: Direction) -> Result<Box<dyn Cursor + '_>> {
        Ok(Box::new(StagedCursor {
            snapshot: self,
            range: range.clone(),
            direction,
            pages: Pages::new(self.shared.layout.data_range(range), direction),
            page: VecDeque::new(),
            current: (Vec::new(), Vec::new()),
        }))
    }
}

/// The cells of a range, page by page.
struct Pages {
    rest: Option<KeyRange>,
    direction: Direction,
    rows: usize,
}

impl Pages {
    fn new(range: KeyRange, direction: Direction) -> Self {
        Self {
            rest: Some(range),
            direction,
            rows: ROWS_MIN,
        }
    }

    fn next<C: CellStore>(&mut self, snapshot: &StagedSnapshot<C>) -> Result<Option<Vec<Cell>>> {
        let Some(mut rest) = self.rest.take().filter(|rest| !rest.is_empty()) else {
            return Ok(None);
        };
        let (page, rows) = match snapshot.prefetched.head(&rest, self.direction) {
            Some(head) => head,
            None => {
                let page = snapshot.cells(rest.clone(), self.direction, self.rows)?;
                (page, self.rows)
            }
        };
        let Some(last) = page.last() else {
            return Ok(None);
        };
        if page.len() == rows {
            match self.direction {
                Direction::Forward => rest.start = [&last.key, &[0][..]].concat(),
                Direction::Backward => rest.end = Some(last.key.clone()),
            }
            self.rest = Some(rest);
        }
        let bytes: usize = page.iter().map(|cell| cell.value.len() + 1).sum();
        let fitting = PAGE_BYTES / (bytes / page.len()).clamp(1, CHUNK_BYTES);
        self.rows = (self.rows * 4).min(ROWS_MAX).min(fitting);
        Ok(Some(page))
    }
}

struct StagedCursor<'a, C> {
    snapshot: &'a StagedSnapshot<C>,
    range: KeyRange,
    direction: Direction,
    pages: Pages,
    page: VecDeque<Cell>,
    /// The pair returned last.
    current: (Vec<u8>, Vec<u8>),
}

impl<C: CellStore> Cursor for StagedCursor<'_, C> {
    fn next(&mut self) -> Result<Option<(&[u8], &[u8])>> {
        if self.page.is_empty() {
            let page = self.pages.next(self.snapshot)?;
            self.page = page.unwrap_or_default().into();
        }
        let Some(cell) = self.page.pop_front() else {
            return Ok(None);
        };
        let key = self.snapshot.shared.layout.key(&cell.key).to_vec();
        self.current = (key, self.snapshot.value(cell)?);
        Ok(Some((&self.current.0, &self.current.1)))
    }

    fn seek(&mut self, key: &[u8]) -> Result<()> {
        let rest = self.range.remaining_from(key, self.direction);
        let cells = self.snapshot.shared.layout.data_range(&rest);
        self.pages = Pages::new(cells, self.direction);
        self.page.clear();
        Ok(())
    }
}

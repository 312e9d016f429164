//! The journal as read by this process: the rows that are not in LMDB yet. Updated from the files before a
//! state is shown.

use std::sync::Arc;

use espalier_keyspace::{Result, Version};

use super::changed_rows::ChangedRows;
use super::foreign_commits::ForeignCommits;
use super::frame;
use super::head::{Head, Position};
use super::segment::{self, HEADER_BYTES, Segment};
use crate::embedded::engine::Lmdb;

/// How often a view is read again, if segments change meanwhile.
pub(super) const ATTEMPTS: usize = 100;

/// The segment before the newest, which is being merged.
#[derive(Clone)]
pub(super) struct Frozen {
    pub(super) segment: Arc<Segment>,
    /// The number of its valid bytes.
    pub(super) end: u64,
    pub(super) rows: ChangedRows,
}

impl Frozen {
    /// Reads a segment; `None` if it does not exist.
    fn load(generation: u64, end: u64, base: &Lmdb) -> Result<Option<Self>> {
        let Some(segment) = Segment::open(&base.dir, generation)? else {
            return Ok(None);
        };
        let mut rows = ChangedRows::new();
        let take = &mut |payload: &[u8]| frame::apply(payload, &mut rows);
        segment.read(HEADER_BYTES, end, take)?;
        Ok(Some(Self {
            segment: Arc::new(segment),
            end,
            rows,
        }))
    }
}

/// The journal as far as this process has read it.
#[derive(Clone)]
pub(in crate::embedded) struct View {
    /// The newest segment.
    pub(super) segment: Arc<Segment>,
    /// The end of the part that was read.
    pub(super) end: u64,
    /// The version of the last frame.
    pub(in crate::embedded) version: Version,
    /// The changed rows of the newest segment.
    pub(super) rows: ChangedRows,
    pub(super) frozen: Option<Frozen>,
    /// Commits of other processes that were read.
    pub(super) foreign: ForeignCommits,
}

/// The rows over LMDB.
#[derive(Default)]
pub(in crate::embedded) struct Layers {
    newest: Option<ChangedRows>,
    frozen: Option<ChangedRows>,
    generation: u64,
}

impl Layers {
    /// The rows; earlier ones take precedence.
    pub(in crate::embedded) fn rows(&self) -> [Option<&ChangedRows>; 2] {
        [self.newest.as_ref(), self.frozen.as_ref()]
    }

    /// The generation of the newest segment; 0 without layers.
    pub(in crate::embedded) fn generation(&self) -> u64 {
        self.generation
    }
}

/// The parts of a view that a reader needs, taken before it begins to read LMDB.
pub(super) struct ReaderView {
    pub(super) position: Position,
    pub(super) version: Version,
    /// The LMDB transaction that the newest segment follows.
    pub(super) base: u64,
    newest: Option<ChangedRows>,
    /// The rows of the previous segment, with the transaction that it follows.
    frozen: Option<(u64, ChangedRows)>,
}

impl ReaderView {
    /// Whether the previous segment may not be merged yet.
    pub(super) fn has_frozen(&self) -> bool {
        self.frozen.is_some()
    }

    /// The layers for a reader of this LMDB transaction.
    pub(super) fn layers_for(self, transaction: u64) -> Layers {
        let frozen = self.frozen.filter(|(base, _)| transaction <= *base);
        Layers {
            newest: self.newest,
            generation: self.position.generation,
            frozen: frozen.map(|(_, rows)| rows),
        }
    }
}

impl View {
    /// A segment that was not read yet.
    pub(super) fn at(segment: Segment) -> Self {
        Self {
            version: segment.header.version,
            segment: Arc::new(segment),
            end: HEADER_BYTES,
            rows: ChangedRows::new(),
            frozen: None,
            foreign: ForeignCommits::default(),
        }
    }

    /// The position up to which the journal was read.
    pub(super) fn position(&self) -> Position {
        Position {
            generation: self.segment.header.generation,
            end: self.end,
        }
    }

    /// The LMDB transaction that the newest segment follows.
    pub(in crate::embedded) fn base(&self) -> u64 {
        self.segment.header.base
    }

    /// The parts that a reader needs.
    pub(super) fn reader_view(&self) -> ReaderView {
        let frozen = self.frozen.as_ref();
        ReaderView {
            position: self.position(),
            version: self.version,
            base: self.base(),
            newest: (!self.rows.is_empty()).then(|| self.rows.clone()),
            frozen: frozen.map(|frozen| (frozen.segment.header.base, frozen.rows.clone())),
        }
    }

    /// Reads up to the current end of the journal.
    pub(super) fn follow(&mut self, head: &Head, base: &Arc<Lmdb>) -> Result<()> {
        let position = head.position();
        if position == self.position() {
            return Ok(());
        }
        self.follow_to(position, head, base)
    }

    #[cold]
    fn follow_to(&mut self, wanted: Position, head: &Head, base: &Arc<Lmdb>) -> Result<()> {
        for _ in 0..ATTEMPTS {
            // Other processes may commit meanwhile; a reader need not keep up with them.
            let (own, current) = (self.position(), head.position());
            if own >= wanted {
                return Ok(());
            }
            if current.generation == own.generation {
                self.read_to(current.end)?;
                continue;
            }
            // Segments are opened by path.
            head.check_not_replaced()?;
            if !(current.generation == own.generation + 1 && self.move_to_next_segment(base)?)
                && let Some(view) = Self::load(current, base)?
            {
                *self = view;
                self.foreign = ForeignCommits::gap(self.version);
            }
        }
        Err(segment::damaged(&self.segment.path, self.end))
    }

    fn read_to(&mut self, end: u64) -> Result<()> {
        let Self {
            segment,
            version,
            rows,
            foreign,
            ..
        } = self;
        segment.read(self.end, end, &mut |payload| {
            version.0 += 1;
            foreign.push(*version, payload);
            frame::apply(payload, rows)
        })?;
        self.end = end;
        Ok(())
    }

    /// Moves to the next segment, if there is one that continues this.
    fn move_to_next_segment(&mut self, base: &Arc<Lmdb>) -> Result<bool> {
        let next = Segment::open(&base.dir, self.segment.header.generation + 1)?;
        let Some(next) = next.filter(|next| next.header.previous_end >= self.end) else {
            return Ok(false);
        };
        self.read_to(next.header.previous_end)?;
        self.continue_with(next);
        Ok(true)
    }

    /// Continues with the next segment.
    pub(super) fn continue_with(&mut self, next: Segment) {
        let segment = std::mem::replace(&mut self.segment, Arc::new(next));
        self.frozen = Some(Frozen {
            segment,
            end: self.end,
            rows: std::mem::take(&mut self.rows),
        });
        self.end = HEADER_BYTES;
        self.version = self.segment.header.version;
    }

    /// Reads everything that is not in LMDB yet; `None` if a segment was removed meanwhile.
    pub(super) fn load(position: Position, base: &Arc<Lmdb>) -> Result<Option<Self>> {
        let Some(newest) = Segment::open(&base.dir, position.generation)? else {
            return Ok(None);
        };
        let mut view = Self::at(newest);
        if base.newest()? < view.base() {
            let generation = position.generation - 1;
            view.frozen = Frozen::load(generation, view.segment.header.previous_end, base)?;
            // It may have been merged meanwhile, and its file removed.
            if view.frozen.is_none() && base.newest()? < view.base() {
                return Ok(None);
            }
        }
        view.read_to(position.end)?;
        Ok(Some(view))
    }
}

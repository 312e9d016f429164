//! Edits a candidate: the changes of an edit are folded into the candidate's changes.

use std::sync::Arc;

use espalier_keyspace::{Batch, ConflictRetry, KeyRange, Snapshot};
use espalier_yang::Sink;

use super::cache::StoredCandidate;
use super::fold::Fold;
use super::header::Header;
use super::rows::Rows;
use crate::access::AccessTable;
use crate::error::{Error, Result};
use crate::overlay::{Changes, ChangesWriter, Layered, Overlay};
use crate::subspace::Subspace;
use crate::tree::change::logged_ranges;
use crate::tree::changes::{Comparison, NewerState};
use crate::tree::commit_pipeline::write_stamps;
use crate::tree::copy::put_differences;
use crate::tree::edit::{EditApplier, TouchExtent};
use crate::tree::load::{LoadMode, LoadOptions, LoadReport, Loader};
use crate::tree::{Commit, CommitOptions, Edit, Tree};

/// A candidate prepared for an edit.
pub(super) struct Editing {
    /// The content to edit: the candidate's changes over their base.
    pub candidate: Overlay,
    /// The header after the edit.
    pub next: Header,
    stored: StoredCandidate,
    /// Whether the changes were rebased on a later version of running and became different: all rows are
    /// rewritten.
    is_rebased: bool,
    /// Stamps that are incremented because running changed.
    stamps: Changes,
}

/// An edit applied to a candidate.
pub(super) struct Edited {
    /// The candidate before the edit.
    pub candidate: Overlay,
    /// The changes of the edit.
    pub changes: Arc<Changes>,
}

impl Edited {
    /// Requires that access rules allow the edit, judged by the content of the candidate before it.
    fn authorise(&self, tree: &Tree, access: Option<&AccessTable>) -> Result<()> {
        let upper = Layered {
            base: &self.candidate,
            changes: &self.changes,
        };
        let comparison = Comparison {
            compiled: tree.compiled(),
            tree: tree.id(),
            lower: &self.candidate,
            changes: &self.changes,
            upper: &upper,
            newer_state: NewerState::Upper,
        };
        tree.authorise_changes(access, comparison)
    }

    /// Adds stamps; those that the edit wrote win.
    pub fn add_stamps(&mut self, mut stamps: Changes) {
        if !stamps.is_empty() {
            stamps.apply(&self.changes);
            self.changes = Arc::new(stamps);
        }
    }
}

/// The result of a change, to be committed.
struct Folded {
    commit: Commit,
    /// What the cache holds after the commit, if the candidate has changes.
    cached: Option<(Rows, Header, Changes)>,
}

fn commit_of(header: &Header, is_changed: bool) -> Commit {
    Commit {
        version: header.stamp().version,
        time: header.time,
        is_changed,
    }
}

/// Applies an edit to the candidate.
type Change<'a> = &'a mut dyn FnMut(&Tree, Overlay, &Header) -> Result<Edited>;

impl Tree {
    /// Applies edits to the candidate. Constraints are validated when it is committed.
    pub(in crate::tree) fn edit_candidate(
        &self,
        edits: &[Edit],
        options: CommitOptions<'_>,
    ) -> Result<Commit> {
        self.change_candidate(
            options,
            ConflictRetry::new(),
            &mut |tree, candidate, header| {
                let mut overlay = Overlay::over(candidate);
                let applier = EditApplier::new(&mut overlay, tree.compiled(), tree.id());
                let touched = applier.apply_all(edits)?;
                write_stamps(&mut overlay, touched, header.stamp())?;
                edited(overlay)
            },
        )
    }

    /// Replaces the content of the candidate with that of another datastore.
    pub(in crate::tree) fn replace_candidate(
        &self,
        source: &Tree,
        options: CommitOptions<'_>,
    ) -> Result<Commit> {
        self.change_candidate(
            options,
            ConflictRetry::new(),
            &mut |tree, candidate, header| {
                let mut overlay = Overlay::over(candidate);
                let from = source.view()?.into_snapshot();
                put_differences(&*from, source.id(), &mut overlay, tree.id())?;
                let touched = tree.touched_by(&mut overlay)?;
                write_stamps(&mut overlay, touched, header.stamp())?;
                edited(overlay)
            },
        )
    }

    /// Loads a document into the candidate. The changes are held in memory.
    pub(in crate::tree) fn load_candidate(
        &self,
        mut options: LoadOptions<'_>,
        document: &mut dyn FnMut(&mut dyn Sink) -> Result<()>,
    ) -> Result<LoadReport> {
        let commit_options = CommitOptions {
            author: options.author,
            comment: options.comment,
            session: options.session,
            guard: options.guard,
            access: options.access,
            origin: options.origin,
        };
        let (mut fragments, mut values) = (0, 0);
        // The document can be read only once: there is one try.
        let commit = self.change_candidate(
            commit_options,
            ConflictRetry::never(),
            &mut |tree, candidate, header| {
                let mut base = Overlay::over(candidate);
                if options.mode == LoadMode::Replace {
                    for range in logged_ranges(tree.id()) {
                        base.delete_range(&range);
                    }
                }
                let mut writer = ChangesWriter::new(&base);
                let mut loader = Loader::new(tree, &base, &mut writer, None, &mut options);
                let parsed = document(&mut loader);
                let done = loader.finish(parsed)?;
                (fragments, values) = (done.fragments, done.values);
                let written = writer.into_changes();
                base.apply(&written);
                base.delete_range(&KeyRange::prefix(&tree.id().prefix(Subspace::Stamp)));
                let root = (tree.tree_key(), TouchExtent::Whole);
                write_stamps(&mut base, [root].into_iter().collect(), header.stamp())?;
                edited(base)
            },
        )?;
        Ok(LoadReport {
            commit,
            fragments,
            values,
        })
    }

    /// Applies a change to the candidate and stores it. Retries if the candidate was changed meanwhile.
    pub(super) fn change_candidate(
        &self,
        options: CommitOptions<'_>,
        retry: ConflictRetry,
        change: Change<'_>,
    ) -> Result<Commit> {
        let _one_at_a_time = self.store().lock(self.own_id());
        self.store().driver().catch_up()?;
        let newest = || Ok(self.store().driver().snapshot()?);
        let folded = self.transact(retry, &newest, &mut |snapshot| {
            self.fold(snapshot, options, change)
        })?;
        if let Some((rows, header, changes)) = folded.cached {
            let changes = Arc::new(changes);
            let candidates = self.store().candidates();
            candidates.insert(&rows, header.encode(), &changes);
        }
        Ok(folded.commit)
    }

    /// The batch that stores the result of a change.
    fn fold(
        &self,
        snapshot: Box<dyn Snapshot + Send>,
        options: CommitOptions<'_>,
        change: Change<'_>,
    ) -> Result<(Batch, Folded)> {
        if let Some(guard) = options.guard {
            guard(&self.view()?.with_access(options.access.cloned()))?;
        }
        let mut batch = Batch::new();
        let lock_record = self.require_unlocked(&*snapshot, options.session, &mut batch)?;
        let Editing {
            candidate,
            next,
            stored,
            is_rebased,
            stamps,
        } = self.editing(snapshot, options.session)?;
        let mut edited = change(self, candidate, &next)?;
        self.require_no_partial_lock(&lock_record, &edited.changes, options.session)?;
        edited.authorise(self, options.access.map(|access| &**access))?;
        if !is_changed(&edited, self)? && !is_rebased {
            let unchanged = Folded {
                commit: commit_of(&stored.header, false),
                cached: None,
            };
            return Ok((Batch::new(), unchanged));
        }
        edited.add_stamps(stamps);
        let fold = Fold::new(self, &stored.rows, batch);
        let (changes, mut batch) = fold.run(edited, stored.changes, is_rebased)?;
        let header = self.put_header(
            &stored.rows,
            stored.header_bytes,
            next,
            &changes,
            &mut batch,
        );
        let folded = Folded {
            commit: commit_of(&header, true),
            cached: (!header.sessions.is_empty()).then_some((stored.rows, header, changes)),
        };
        Ok((batch, folded))
    }

    /// Prepares the candidate for an edit: rebased on the newest running if there is no conflict; else on
    /// its base version.
    pub(super) fn editing(
        &self,
        snapshot: Box<dyn Snapshot + Send>,
        session: &str,
    ) -> Result<Editing> {
        let stored = self.stored_candidate(&*snapshot)?;
        let merged = self.merged(&*snapshot, &stored)?;
        let running = self.running_stamp(&*snapshot)?;
        let now = self.store().now();
        if merged.conflicts.is_empty() {
            return Ok(Editing {
                candidate: Overlay::with(snapshot, Arc::clone(&merged.changes)),
                is_rebased: !Arc::ptr_eq(&merged.changes, &stored.changes),
                stamps: merged.stamps.clone(),
                next: stored.header.edited(running.version, now, session),
                stored,
            });
        }
        let base = stored.header.base;
        let (back, _) = self.back_to_base(&*snapshot, &stored)?;
        let made_on = Overlay::with(snapshot, Arc::new(back));
        let changes = Arc::clone(&stored.changes);
        Ok(Editing {
            candidate: Overlay::with(Box::new(made_on), changes),
            is_rebased: false,
            stamps: Changes::default(),
            next: stored.header.edited(base, now, session),
            stored,
        })
    }

    /// Puts the header of changes, on condition that it is unchanged. A candidate without effective changes
    /// is emptied.
    pub(super) fn put_header(
        &self,
        rows: &Rows,
        before: Option<Vec<u8>>,
        next: Header,
        changes: &Changes,
        batch: &mut Batch,
    ) -> Header {
        let ranges = logged_ranges(self.id());
        let is_empty = ranges
            .iter()
            .all(|range| !changes.writes_in(range) && changes.cleared_in(range).is_empty());
        let header = match is_empty {
            true => Header {
                sessions: Vec::new(),
                ..next
            },
            false => next,
        };
        if is_empty {
            batch.delete_range(rows.changes());
        }
        batch.require(rows.header(), before);
        batch.put(rows.header(), header.encode());
        // The rows have keys of these modules.
        let modules = self.compiled().modules_precondition.clone();
        batch.require_all([self.anchor_precondition(), modules]);
        header
    }
}

/// The changes of an edit in an overlay over the candidate.
pub(super) fn edited(overlay: Overlay) -> Result<Edited> {
    let (candidate, changes) = overlay
        .into_base_overlay()
        .ok_or_else(|| Error::corrupt("an edit of a candidate is not over the candidate"))?;
    Ok(Edited { candidate, changes })
}

/// Whether an edit changes anything but stamps.
fn is_changed(edited: &Edited, tree: &Tree) -> Result<bool> {
    let is_within = |key: &[u8]| {
        logged_ranges(tree.id())
            .iter()
            .any(|range| range.contains(key))
    };
    for cleared in edited
        .changes
        .cleared()
        .filter(|range| is_within(&range.start))
    {
        let mut cursor = edited
            .candidate
            .scan(&cleared, espalier_keyspace::Direction::Forward)?;
        while let Some((key, held)) = cursor.next()? {
            if edited.changes.get(key) != Some(Some(held)) {
                return Ok(true);
            }
        }
    }
    for (key, value) in edited.changes.written().filter(|(key, _)| is_within(key)) {
        if edited.candidate.get(key)?.as_deref() != value {
            return Ok(true);
        }
    }
    Ok(false)
}

//! Loads a document in one commit.

use std::sync::Arc;

use espalier_keyspace::{
    Batch, ConflictRetry, Direction, ErrorKind, KeyRange, Snapshot, Writer, retry_conflicts,
};
use espalier_yang::Sink;
use espalier_yang::validate::WorkerShare;

use super::options::{LoadMode, LoadOptions, LoadReport};
use super::sink::{LoadOutcome, Loader};
use crate::error::{Error, Result};
use crate::overlay::{ChangesWriter, Overlay};
use crate::subspace::Subspace;
use crate::tree::commit_options::{Commit, CommitOptions};
use crate::tree::commit_pipeline::Basis;
use crate::tree::datastore::Datastore;
use crate::tree::lock::NONE_PINNED;
use crate::tree::log::CommitLog;
use crate::tree::operational::record_origin_of_all;
use crate::tree::proposal::Proposal;
use crate::tree::stamp::{Stamp, StampRecord, stamp_key};
use crate::tree::tree::Tree;
use crate::tree::validate::{rebuild, validate_whole};

impl Tree {
    /// Streams a document into one atomic commit. `document` is called once with the sink; if it fails,
    /// nothing is stored.
    ///
    /// # Errors
    /// Errors of `document`; `data-exists` in [`LoadMode::Create`]; a retryable [`Error::Engine`] if
    /// another process changed the datastore meanwhile.
    pub fn load(
        &self,
        mut options: LoadOptions<'_>,
        document: &mut dyn FnMut(&mut dyn Sink) -> Result<()>,
    ) -> Result<LoadReport> {
        self.check_writable()?;
        if self.datastore().is_candidate() {
            return self.load_candidate(options, document);
        }
        retry_conflicts(ConflictRetry::new(), |_| {
            let mut is_document_read = false;
            let loaded = self.try_load(&mut options, &mut |sink| {
                is_document_read = true;
                document(sink)
            });
            let loaded = self.checked_conflict(loaded);
            match is_document_read {
                // A document can be read once: a conflict is not retried.
                true => Ok(loaded),
                false => loaded.map(Ok),
            }
        })?
    }

    fn try_load(
        &self,
        options: &mut LoadOptions<'_>,
        document: &mut dyn FnMut(&mut dyn Sink) -> Result<()>,
    ) -> Result<LoadReport> {
        self.check_not_in_subscriber_call()?;
        self.store().driver().catch_up()?;
        self.expire()?;
        let is_restricted = options.access.is_some_and(|access| !access.writes_all());
        if self.has_subscribers() || is_restricted {
            return self.load_as_commit(options, document);
        }
        let _one_at_a_time = self.store().lock(self.id());
        self.ensure_indexes()?;
        let base = self.store().driver().snapshot()?;
        if options.mode != LoadMode::Replace && !self.is_empty(&*base)? {
            return self.load_into_existing(options, document);
        }
        let Basis {
            last,
            next: stamp,
            conditions,
        } = self.basis(&*base)?;
        // The view may be newer than `base`: the precondition on the stamp detects that.
        if let Some(guard) = options.guard {
            guard(&self.stored_view()?.with_access(options.access.cloned()))?;
        }
        let mut lock_batch = Batch::new();
        self.authorise_load(&*base, options.session, &mut lock_batch)?;
        let conditions = [lock_batch.preconditions(), &conditions].concat();
        let driver = self.store().driver();
        let mut identical = None;
        let written = espalier_keyspace::write(&**driver, &conditions, &mut |writer| {
            lock_batch.apply_to(writer)?;
            let done = self.write_load(options, &*base, writer, stamp, document)?;
            if done.is_identical {
                // The write is abandoned: there is no new version.
                identical = Some(done);
                let message = "the document is the data that is stored";
                let aborted = espalier_keyspace::Error::new(ErrorKind::Aborted, message);
                return Err(Error::from(aborted));
            }
            Ok(done)
        });
        let done = match identical {
            Some(done) => done,
            None => written?.1,
        };
        if done.is_changed {
            self.notify_load(stamp, options);
        }
        let Stamp { version, time } = if done.is_changed { stamp } else { last };
        Ok(LoadReport {
            commit: Commit {
                version,
                time,
                is_changed: done.is_changed,
            },
            fragments: done.fragments,
            values: done.values,
        })
    }

    /// Loads a document into existing data: as a proposal in memory, like edits.
    fn load_into_existing(
        &self,
        options: &mut LoadOptions<'_>,
        document: &mut dyn FnMut(&mut dyn Sink) -> Result<()>,
    ) -> Result<LoadReport> {
        let view = self.stored_view()?.with_access(options.access.cloned());
        if let Some(guard) = options.guard {
            guard(&view)?;
        }
        let commit_options = CommitOptions {
            author: options.author,
            comment: options.comment,
            session: options.session,
            access: options.access,
            origin: options.origin,
            ..CommitOptions::default()
        };
        let base = view.into_snapshot();
        let mut writer = ChangesWriter::new(&*base);
        let mut loader = Loader::new(self, &*base, &mut writer, None, options);
        let parsed = document(&mut loader);
        let done = loader.finish(parsed)?;
        let changes = Arc::new(writer.into_changes());
        let mut overlay = Overlay::with(base, changes);
        let touched = self.touched_by(&mut overlay)?;
        let proposal = Proposal {
            overlay,
            touched,
            extra: Batch::new(),
        };
        let commit = self.commit_proposal(proposal, commit_options)?;
        Ok(LoadReport {
            commit,
            fragments: done.fragments,
            values: done.values,
        })
    }

    /// Writes the document, the log, and a stamp of the whole datastore; nothing if the document changes
    /// nothing.
    fn write_load(
        &self,
        options: &mut LoadOptions<'_>,
        base: &dyn Snapshot,
        writer: &mut dyn Writer,
        stamp: Stamp,
        document: &mut dyn FnMut(&mut dyn Sink) -> Result<()>,
    ) -> Result<LoadOutcome> {
        let log = CommitLog::new(
            self.id(),
            stamp.version,
            stamp.time,
            options.author,
            options.comment,
        );
        let done = self.write_document(options, base, writer, log, document)?;
        // The first commit also validates what it does not touch.
        if self.is_validated() && (done.is_changed || stamp.version == 1) {
            let (compiled, tree) = (self.compiled(), self.id());
            rebuild(compiled, tree, writer)?;
            if !compiled.plan().is_empty() {
                let written = writer.snapshot()?;
                let (errors, effort) = validate_whole(compiled, tree, &*written, WorkerShare::ALL)?;
                self.store().count_effort(effort);
                errors.into_result()?;
            }
        }
        if !done.is_changed {
            return Ok(done);
        }
        self.prune(base, stamp, NONE_PINNED, writer)?;
        writer.delete_range(&KeyRange::prefix(&self.id().prefix(Subspace::Stamp)))?;
        let record = StampRecord {
            any: stamp,
            whole: stamp,
        };
        writer.put(&stamp_key(&self.tree_key()), &record.encode())?;
        if self.datastore() == Datastore::Operational {
            record_origin_of_all(writer, self.id(), options.origin)?;
        }
        Ok(done)
    }

    fn write_document(
        &self,
        options: &mut LoadOptions<'_>,
        base: &dyn Snapshot,
        writer: &mut dyn Writer,
        mut log: CommitLog,
        document: &mut dyn FnMut(&mut dyn Sink) -> Result<()>,
    ) -> Result<LoadOutcome> {
        // Read through the writer, so that an engine that tracks reads sees an empty one.
        let is_empty = self.is_empty(&*writer.snapshot()?)?;
        if !is_empty {
            self.delete_all(base, writer, &mut log)?;
        }
        log.record_loaded();
        let mut loader = Loader::new(self, base, &mut *writer, Some(log), options);
        let parsed = document(&mut loader);
        let mut done = loader.finish(parsed)?;
        if !is_empty && self.is_identical(base, &*writer.snapshot()?)? {
            (done.is_identical, done.is_changed) = (true, false);
        }
        Ok(done)
    }

    fn is_empty(&self, base: &dyn Snapshot) -> Result<bool> {
        let range = KeyRange::prefix(&self.tree_key());
        Ok(base.scan(&range, Direction::Forward)?.next()?.is_none())
    }

    fn delete_all(
        &self,
        base: &dyn Snapshot,
        writer: &mut dyn Writer,
        log: &mut CommitLog,
    ) -> Result<()> {
        for subspace in [Subspace::Tree, Subspace::Order] {
            let range = KeyRange::prefix(&self.id().prefix(subspace));
            let mut cursor = base.scan(&range, Direction::Forward)?;
            while let Some((key, old)) = cursor.next()? {
                log.record(key, Some(old), None, writer)?;
            }
            writer.delete_range(&range)?;
        }
        Ok(())
    }
}

//! Writes a new data file, which makes the journals before it obsolete.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;

use espalier_keyspace::{Result, compact_encoding};

use super::documents;
use super::frame::{FILE_HEADER_BYTES, FileId, Kind};
use super::journal::Journal;
use super::names::{self, DATA, DRAFT, JOURNAL};
use super::open::Engine;
use super::record::{self, END, PART};
use super::replay::Documents;
use crate::file::Config;
use crate::files::{Access, create_private, numbered_files, path_error, sync_directory};
use crate::memory::VersionedMap;

/// Maximum size of the journal, as a multiple of the data file.
pub const JOURNAL_FACTOR: u64 = 2;

/// Bytes of a record in a data file: 256 KiB.
const PART_BYTES: usize = 256 << 10;

/// Journal bytes at which a data file is written.
pub(super) fn threshold(config: &Config, data_bytes: u64) -> u64 {
    config
        .journal_bytes
        .max(data_bytes.saturating_mul(JOURNAL_FACTOR))
}

/// Writes the data file on a thread, if the journals are large.
pub(in crate::file) fn compact_when_due(engine: &Arc<Engine>) {
    let is_due = {
        let log = engine.log.lock();
        log.older_bytes + log.journal.length() > log.compact_at
    };
    if !is_due || engine.is_compacting.swap(true, Ordering::AcqRel) {
        return;
    }
    let compacted = Arc::clone(engine);
    let run = move || {
        if let Err(error) = compact(&compacted) {
            tracing::warn!(%error, "the journal cannot be compacted and keeps growing");
            let mut log = compacted.log.lock();
            log.compact_at = 2 * (log.older_bytes + log.journal.length());
        }
        compacted.is_compacting.store(false, Ordering::Release);
    };
    let thread = thread::Builder::new().name("file-compaction".into());
    match thread.spawn(run) {
        Ok(thread) => *engine.compactor.lock() = Some(thread),
        Err(error) => {
            tracing::warn!(%error, "cannot start a thread to compact the journal");
            engine.is_compacting.store(false, Ordering::Release);
        }
    }
}

/// Writes the documents and the data file, after which the journal is empty.
pub(in crate::file) fn flush_all(engine: &Arc<Engine>) -> Result<()> {
    if engine.access == Access::Read {
        return Ok(());
    }
    if let Some(thread) = engine.compactor.lock().take()
        && thread.join().is_err()
    {
        tracing::error!("the compaction thread panicked");
    }
    documents::refresh(engine)?;
    let is_current = {
        let log = engine.log.lock();
        log.journal.is_empty() && log.older_bytes == 0
    };
    if is_current {
        return Ok(());
    }
    compact(engine)
}

/// Writes the data file while commits go to the next journal.
fn compact(engine: &Engine) -> Result<()> {
    let _one_at_a_time = engine.compacting.lock();
    engine.check_not_replaced()?;
    let (state, documents, generation) = {
        let mut log = engine.log.lock();
        // Records of a later journal are valid only if this one is complete.
        log.journal.sync()?;
        // An empty journal was created for a data file that could not be written.
        if !log.journal.is_empty() {
            let next = Journal::create(&engine.dir, log.journal.generation() + 1)?;
            let full = std::mem::replace(&mut log.journal, next);
            log.older_bytes += full.length();
        }
        let generation = log.journal.generation();
        let state = engine.in_memory.newest.get();
        (state, log.documents.clone(), generation)
    };
    let bytes = write_data(&engine.dir, generation, &state, &documents)?;
    engine.data_bytes.store(bytes, Ordering::Relaxed);
    {
        let mut log = engine.log.lock();
        log.older_bytes = 0;
        log.compact_at = threshold(&engine.config, bytes);
    }
    remove_obsolete(&engine.dir);
    Ok(())
}

/// Writes the data file of a generation atomically. Returns its size.
pub(super) fn write_data(
    dir: &Path,
    generation: u64,
    state: &VersionedMap,
    documents: &Documents,
) -> Result<u64> {
    let path = names::data(dir, generation);
    let draft = names::with(&path, DRAFT);
    let written = write_draft(&draft, generation, state, documents).and_then(|bytes| {
        fs::rename(&draft, &path)?;
        sync_directory(dir)?;
        Ok(bytes)
    });
    written.map_err(|error| {
        // The first error is the one to report.
        let _ = fs::remove_file(&draft);
        path_error(&path, "written")(error)
    })
}

fn write_draft(
    draft: &Path,
    generation: u64,
    state: &VersionedMap,
    documents: &Documents,
) -> io::Result<u64> {
    let id = FileId {
        kind: Kind::Data,
        generation,
    };
    let mut out = DataFile {
        id,
        file: BufWriter::with_capacity(1 << 18, create_private(draft)?),
        offset: FILE_HEADER_BYTES,
        frame: Vec::new(),
    };
    out.file.write_all(&id.header())?;
    for (name, document) in documents {
        out.write(&record::document(name, document))?;
    }
    let mut part = vec![PART];
    for (key, value) in &state.map {
        record::put_put(&mut part, key, value);
        if part.len() >= PART_BYTES {
            out.write(&part)?;
            part.truncate(1);
        }
    }
    let mut end = vec![END];
    compact_encoding::put_number(&mut end, state.version.0);
    end.extend_from_slice(&part[1..]);
    out.write(&end)?;
    out.file.flush()?;
    out.file.get_ref().sync_all()?;
    Ok(out.offset)
}

struct DataFile {
    id: FileId,
    file: BufWriter<File>,
    offset: u64,
    frame: Vec<u8>,
}

impl DataFile {
    fn write(&mut self, payload: &[u8]) -> io::Result<()> {
        self.frame.clear();
        self.id.put_frame(&mut self.frame, self.offset, 0, payload);
        self.offset += self.frame.len() as u64;
        self.file.write_all(&self.frame)
    }
}

/// Removes the files that the newest data file has made obsolete. A file that cannot be removed is removed
/// later.
pub(super) fn remove_obsolete(dir: &Path) {
    let Ok(generations) = numbered_files(dir, DATA) else {
        return;
    };
    let Some(&newest) = generations.last() else {
        return;
    };
    let journals = numbered_files(dir, JOURNAL).unwrap_or_default();
    let old = |number: &&u64| **number < newest;
    let data = generations
        .iter()
        .filter(old)
        .map(|&number| names::data(dir, number));
    let journals = journals
        .iter()
        .filter(old)
        .map(|&number| names::journal(dir, number));
    let drafts = names::drafts(dir, DATA);
    for path in data.chain(journals).chain(drafts) {
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                tracing::warn!(%error, path = %path.display(), "an obsolete file cannot be removed");
            }
            _ => {}
        }
    }
}

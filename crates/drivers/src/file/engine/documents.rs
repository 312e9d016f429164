//! The documents: files that people read, and edit while the directory is closed.
//!
//! The data file and the journal store the digest of each document's text, and the document's stamp when it
//! was written. A text with another digest was edited. A document is written in three steps, so that a kill
//! between them is not mistaken for an edit: the new digest is stored next to the old one, the file is
//! replaced, the old digest is removed.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use espalier_keyspace::{
    Document, EditedDocument, Error, ErrorKind, ImportDocument, Lens, Result, Snapshot,
};

use super::names::{self, DOCUMENTS, DRAFT};
use super::open::Engine;
use super::record::{Digest, DocumentRecord};
use super::unknown_documents::reject_unknown_documents;
use crate::files::{Access, create_directories, create_private, path_error, sync_directory};
use crate::memory::MemorySnapshot;

/// Suffix of an edited document that cannot be imported.
const EDITED: &str = "edited";

/// Suffix of the stored version of a document, written while the edited one is rejected.
const STORED: &str = "old";

/// Stores the lens, rejects unknown files, imports edited documents, and writes outdated ones.
pub(in crate::file) fn set_lens(
    engine: &Arc<Engine>,
    lens: Arc<dyn Lens>,
    take: ImportDocument<'_>,
) -> Result<()> {
    *engine.lens.lock() = Some(Arc::clone(&lens));
    let documents = lens.documents(&*snapshot(engine))?;
    reject_unknown_documents(engine, &documents)?;
    for document in documents {
        let file = DocumentFile {
            engine,
            lens: &*lens,
            path: path(engine, &document.name)?,
            document,
        };
        file.import_if_edited(take)?;
        if engine.access == Access::Write {
            file.remove_old()?;
        }
    }
    if engine.access == Access::Read {
        return Ok(());
    }
    match refresh(engine) {
        // All data is in the other files, and can be read while the disk is full.
        Err(error) if error.kind() == ErrorKind::Full => {
            tracing::warn!(%error, "the documents are outdated until there is disk space again");
            Ok(())
        }
        refreshed => refreshed,
    }
}

// Documents do not hold positions and stamps, so rows are stored too: docs/decisions/0030.
/// Writes outdated documents, and removes those without rows.
pub(super) fn refresh(engine: &Engine) -> Result<()> {
    engine.check_not_replaced()?;
    let Some(lens) = engine.lens.lock().clone() else {
        return Ok(());
    };
    let state = snapshot(engine);
    let mut records = engine.log.lock().documents.clone();
    for document in lens.documents(&*state)? {
        let Some(stamp) = document.stamp.clone() else {
            continue;
        };
        let file = DocumentFile {
            engine,
            lens: &*lens,
            path: path(engine, &document.name)?,
            document,
        };
        let record = records.remove(&file.document.name).unwrap_or_default();
        if record.stamp != stamp || !file.path.exists() {
            file.write(&*state)?;
        }
    }
    records
        .into_keys()
        .try_for_each(|name| remove_document(engine, &name))
}

fn snapshot(engine: &Engine) -> Box<dyn Snapshot> {
    Box::new(MemorySnapshot::new(engine.in_memory.newest.get()))
}

/// The path of a document.
fn path(engine: &Engine, name: &str) -> Result<PathBuf> {
    let is_plain = |part: Component<'_>| matches!(part, Component::Normal(_));
    if name.is_empty() || !Path::new(name).components().all(is_plain) {
        let message = format!("{name:?} is not a valid document name");
        return Err(Error::new(ErrorKind::Engine, message));
    }
    Ok(engine.dir.join(DOCUMENTS).join(name))
}

/// Stores the record of a document, durably.
fn store_record(engine: &Engine, name: &str, record: DocumentRecord) -> Result<()> {
    let mut log = engine.log.lock();
    log.journal.record_document(name, &record)?;
    match record.digests.is_empty() {
        true => drop(log.documents.remove(name)),
        false => drop(log.documents.insert(name.to_owned(), record)),
    }
    Ok(())
}

/// Removes a document without rows.
fn remove_document(engine: &Engine, name: &str) -> Result<()> {
    let path = path(engine, name)?;
    let record = engine.log.lock().documents.get(name).cloned();
    match digest(&path)? {
        Some(found) if record.is_some_and(|record| record.digests.contains(&found)) => {
            fs::remove_file(&path).map_err(path_error(&path, "written"))?;
        }
        Some(_) => keep_edited(&path)?,
        None => {}
    }
    // Folders that are not empty remain.
    let folders = path.ancestors().skip(1);
    for folder in folders.take_while(|folder| *folder != engine.dir.join(DOCUMENTS)) {
        if fs::remove_dir(folder).is_err() {
            break;
        }
    }
    store_record(engine, name, DocumentRecord::default())
}

/// The digest of a file; `None` if it does not exist.
fn digest(path: &Path) -> Result<Option<Digest>> {
    let read = || -> io::Result<Digest> {
        let mut hasher = blake3::Hasher::new();
        hasher.update_reader(File::open(path)?)?;
        Ok(*hasher.finalize().as_bytes())
    };
    match read() {
        Ok(digest) => Ok(Some(digest)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(path_error(path, "read")(error)),
    }
}

/// Keeps an edited file under another name.
fn keep_edited(path: &Path) -> Result<()> {
    let aside = names::with(path, EDITED);
    fs::rename(path, &aside).map_err(path_error(&aside, "written"))?;
    tracing::warn!(path = %path.display(), kept = %aside.display(),
        "an edited document cannot be imported; it is kept under another name");
    Ok(())
}

/// A document and its file.
struct DocumentFile<'e> {
    engine: &'e Engine,
    lens: &'e dyn Lens,
    path: PathBuf,
    document: Document,
}

impl DocumentFile<'_> {
    fn record(&self) -> Option<DocumentRecord> {
        let log = self.engine.log.lock();
        log.documents.get(&self.document.name).cloned()
    }

    /// Imports the document, if it was edited.
    fn import_if_edited(&self, take: ImportDocument<'_>) -> Result<()> {
        let aside = names::with(&self.path, EDITED);
        if aside.exists() {
            return Err(stale_edit_error(&self.path, &aside));
        }
        let Some(found) = digest(&self.path)? else {
            return Ok(());
        };
        let record = self.record();
        if record
            .as_ref()
            .is_some_and(|record| record.digests.contains(&found))
        {
            return Ok(());
        }
        if self.engine.access == Access::Read {
            return Err(read_only_edit_error(&self.path));
        }
        if record.map(|record| record.stamp) != self.document.stamp {
            keep_edited(&self.path)?;
            self.write(&*snapshot(self.engine))?;
            return Err(stale_edit_error(&self.path, &aside));
        }
        self.import(take)
    }

    fn import(&self, take: ImportDocument<'_>) -> Result<()> {
        let old = names::with(&self.path, STORED);
        let text = fs::read(&self.path).map_err(path_error(&self.path, "read"))?;
        let taken = take(&EditedDocument {
            name: &self.document.name,
            place: &self.path.to_string_lossy(),
            stored_path: &old.to_string_lossy(),
            text: &text,
        });
        if let Err(error) = taken {
            if let Err(problem) = self.print(&*snapshot(self.engine), &old) {
                tracing::warn!(%problem, path = %old.display(), "the stored document cannot be written");
            }
            return Err(error);
        }
        // Without a stamp, so that it is written again in canonical form.
        let record = DocumentRecord {
            stamp: Vec::new(),
            digests: vec![*blake3::hash(&text).as_bytes()],
        };
        store_record(self.engine, &self.document.name, record)
    }

    /// Removes the stored version that was written while the edited document was rejected: the document has
    /// been corrected or restored.
    fn remove_old(&self) -> Result<()> {
        let old = names::with(&self.path, STORED);
        match fs::remove_file(&old) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(path_error(&old, "written")(error))
            }
            _ => Ok(()),
        }
    }

    /// Writes the document of a state.
    fn write(&self, state: &dyn Snapshot) -> Result<()> {
        self.engine.check_not_replaced()?;
        let draft = names::with(&self.path, DRAFT);
        let printed = self.print(state, &draft)?;
        let renamed = self.place(&draft, printed);
        if renamed.is_err() {
            // If it was already renamed, there is no draft.
            let _ = fs::remove_file(&draft);
        }
        renamed
    }

    /// Renames the draft to the document.
    fn place(&self, draft: &Path, printed: Digest) -> Result<()> {
        let name = &self.document.name;
        let stamp = self.document.stamp.clone().unwrap_or_default();
        let old_digests = self
            .record()
            .map(|record| record.digests)
            .unwrap_or_default();
        let record = |digests| DocumentRecord {
            stamp: stamp.clone(),
            digests,
        };
        let both = old_digests.iter().copied().chain([printed]).collect();
        store_record(self.engine, name, record(both))?;
        let found = digest(&self.path)?;
        if found.is_some_and(|found| found != printed && !old_digests.contains(&found)) {
            keep_edited(&self.path)?;
        }
        let folder = self.path.parent().unwrap_or(&self.engine.dir);
        let renamed = fs::rename(draft, &self.path).and_then(|()| sync_directory(folder));
        renamed.map_err(path_error(&self.path, "written"))?;
        store_record(self.engine, name, record(vec![printed]))
    }

    fn print(&self, state: &dyn Snapshot, path: &Path) -> Result<Digest> {
        let failed = path_error(path, "written");
        if let Some(folder) = path.parent() {
            create_directories(folder).map_err(failed)?;
        }
        let mut out = HashingWriter {
            file: BufWriter::with_capacity(1 << 18, create_private(path).map_err(failed)?),
            hasher: blake3::Hasher::new(),
            failed: None,
        };
        let printed = self.lens.print(state, &self.document.name, &mut out);
        let flushed = printed.and_then(|()| {
            out.file.flush().map_err(failed)?;
            out.file.get_ref().sync_all().map_err(failed)
        });
        if let Err(error) = flushed {
            // The first error is the one to report.
            let _ = fs::remove_file(path);
            return Err(out.failed.map_or(error, failed));
        }
        Ok(*out.hasher.finalize().as_bytes())
    }
}

/// The error for a document that was edited on an older state, or while the directory was open.
fn stale_edit_error(path: &Path, aside: &Path) -> Error {
    let (path, aside) = (path.display(), aside.display());
    let message = format!(
        "{path} was edited while the store was open, or before it was brought up to date after a crash; \
         importing it would undo later commits. The edited file is {aside}, and {path} is the stored \
         document: repeat your changes there, and remove {aside}"
    );
    Error::new(ErrorKind::Aborted, message)
}

/// The error for a document that was edited on a read-only file system.
fn read_only_edit_error(path: &Path) -> Error {
    let message = format!(
        "{} was edited, but cannot be imported, as it is on a read-only file system: copy the directory to \
         a writable location, and open the copy",
        path.display()
    );
    Error::new(ErrorKind::ReadOnly, message)
}

/// A file writer that computes a digest.
struct HashingWriter {
    file: BufWriter<File>,
    hasher: blake3::Hasher,
    /// The error of the file: the printer's own error has neither the file name nor the disk error.
    failed: Option<io::Error>,
}

impl Write for HashingWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes);
        let written = written.inspect_err(|error| self.failed = Some(copy(error)))?;
        self.hasher.update(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        let flushed = self.file.flush();
        flushed.inspect_err(|error| self.failed = Some(copy(error)))
    }
}

fn copy(error: &io::Error) -> io::Error {
    let code = error.raw_os_error().map(io::Error::from_raw_os_error);
    code.unwrap_or_else(|| error.kind().into())
}

//! The documents: files that people read, and edit while nobody has the directory open.
//!
//! Of each is known (in the data file and the journal) the digest of its text and the stamp that it
//! had when it was written. A text with another digest was edited. A file is written in three steps, so that a
//! kill between them is not taken for an edit: its new digest is noted beside the old one, the file is
//! put in place, the old digest is forgotten.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use espalier_keyspace::{Document, EditedDocument, Error, ErrorKind, Lens, Result, Snapshot, Take};

use super::names::{self, DOCUMENTS, DRAFT};
use super::open::Engine;
use super::record::{Digest, DocumentRecord};
use super::unknown::refuse_unknown;
use crate::files::{Access, create_directories, create_private, io_error};
use crate::memory::MemorySnapshot;

/// What the name of a file ends in that was edited and cannot be taken.
const EDITED: &str = "edited";

/// What the name of a file ends in that holds what is stored, while the document beside it is refused.
const OLD: &str = "old";

/// Keeps the lens, refuses files that are no documents, has the documents taken that were edited, and writes those that are behind.
pub(in crate::file) fn use_lens(
    engine: &Arc<Engine>,
    lens: Arc<dyn Lens>,
    take: Take<'_>,
) -> Result<()> {
    *engine.lens.lock() = Some(Arc::clone(&lens));
    let documents = lens.documents(&*snapshot(engine))?;
    refuse_unknown(engine, &documents)?;
    for document in documents {
        let shown = Shown {
            engine,
            lens: &*lens,
            path: path(engine, &document.name)?,
            document,
        };
        shown.look(take)?;
        if engine.access == Access::Write {
            shown.forget_old()?;
        }
    }
    if engine.access == Access::Read {
        return Ok(());
    }
    match refresh(engine) {
        // Everything is in the other files, and can be read while the disk is full.
        Err(error) if error.kind() == ErrorKind::Full => {
            tracing::warn!(%error, "the documents are behind what is stored until there is space again");
            Ok(())
        }
        refreshed => refreshed,
    }
}

/// Writes the documents that are behind, and removes those of which there is nothing more.
pub(super) fn refresh(engine: &Engine) -> Result<()> {
    engine.check_not_replaced()?;
    let Some(lens) = engine.lens.lock().clone() else {
        return Ok(());
    };
    let state = snapshot(engine);
    let mut gone = engine.log.lock().documents.clone();
    for document in lens.documents(&*state)? {
        let Some(stamp) = document.stamp.clone() else {
            continue;
        };
        let shown = Shown {
            engine,
            lens: &*lens,
            path: path(engine, &document.name)?,
            document,
        };
        let known = gone.remove(&shown.document.name).unwrap_or_default();
        if known.stamp != stamp || !shown.path.exists() {
            shown.write(&*state)?;
        }
    }
    gone.into_keys().try_for_each(|name| forget(engine, &name))
}

fn snapshot(engine: &Engine) -> Box<dyn Snapshot> {
    Box::new(MemorySnapshot::new(engine.resident.newest.get()))
}

/// Where a document lies.
fn path(engine: &Engine, name: &str) -> Result<PathBuf> {
    let is_plain = |part: Component<'_>| matches!(part, Component::Normal(_));
    if name.is_empty() || !Path::new(name).components().all(is_plain) {
        let message = format!("{name:?} cannot be the name of a document");
        return Err(Error::new(ErrorKind::Engine, message));
    }
    Ok(engine.dir.join(DOCUMENTS).join(name))
}

/// Notes what is known of a document, durably.
fn note(engine: &Engine, name: &str, record: DocumentRecord) -> Result<()> {
    let mut log = engine.log.lock();
    log.journal.record_document(name, &record)?;
    match record.digests.is_empty() {
        true => drop(log.documents.remove(name)),
        false => drop(log.documents.insert(name.to_owned(), record)),
    }
    Ok(())
}

/// Removes a document of which there is nothing more.
fn forget(engine: &Engine, name: &str) -> Result<()> {
    let path = path(engine, name)?;
    let known = engine.log.lock().documents.get(name).cloned();
    match digest(&path)? {
        Some(found) if known.is_some_and(|known| known.digests.contains(&found)) => {
            fs::remove_file(&path).map_err(|error| not_written(&path, error))?;
        }
        Some(_) => set_aside(&path)?,
        None => {}
    }
    // Folders that still hold something stay.
    let folders = path.ancestors().skip(1);
    for folder in folders.take_while(|folder| *folder != engine.dir.join(DOCUMENTS)) {
        if fs::remove_dir(folder).is_err() {
            break;
        }
    }
    note(engine, name, DocumentRecord::default())
}

/// The digest of a file; `None` where there is none.
fn digest(path: &Path) -> Result<Option<Digest>> {
    let read = || -> io::Result<Digest> {
        let mut hasher = blake3::Hasher::new();
        hasher.update_reader(File::open(path)?)?;
        Ok(*hasher.finalize().as_bytes())
    };
    match read() {
        Ok(digest) => Ok(Some(digest)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(not_read(path, error)),
    }
}

fn not_read(path: &Path, error: io::Error) -> Error {
    io_error(format!("{} cannot be read", path.display()), error)
}

fn not_written(path: &Path, error: io::Error) -> Error {
    io_error(format!("{} cannot be written", path.display()), error)
}

/// Keeps an edited file under another name.
fn set_aside(path: &Path) -> Result<()> {
    let aside = names::with(path, EDITED);
    fs::rename(path, &aside).map_err(|error| not_written(&aside, error))?;
    tracing::warn!(path = %path.display(), kept = %aside.display(),
        "a document was edited when it could not be taken; the edited one is kept");
    Ok(())
}

/// A document and its file.
struct Shown<'e> {
    engine: &'e Engine,
    lens: &'e dyn Lens,
    path: PathBuf,
    document: Document,
}

impl Shown<'_> {
    fn known(&self) -> Option<DocumentRecord> {
        let log = self.engine.log.lock();
        log.documents.get(&self.document.name).cloned()
    }

    /// Has the document taken, where it was edited.
    fn look(&self, take: Take<'_>) -> Result<()> {
        let aside = names::with(&self.path, EDITED);
        if aside.exists() {
            return Err(waiting(&self.path, &aside));
        }
        let Some(found) = digest(&self.path)? else {
            return Ok(());
        };
        let known = self.known();
        if known
            .as_ref()
            .is_some_and(|known| known.digests.contains(&found))
        {
            return Ok(());
        }
        if self.engine.access == Access::Read {
            return Err(edited_for_good(&self.path));
        }
        if known.map(|known| known.stamp) != self.document.stamp {
            set_aside(&self.path)?;
            self.write(&*snapshot(self.engine))?;
            return Err(waiting(&self.path, &aside));
        }
        self.take(take)
    }

    fn take(&self, take: Take<'_>) -> Result<()> {
        let old = names::with(&self.path, OLD);
        let text = fs::read(&self.path).map_err(|error| not_read(&self.path, error))?;
        let taken = take(&EditedDocument {
            name: &self.document.name,
            place: &self.path.to_string_lossy(),
            place_of_stored: &old.to_string_lossy(),
            text: &text,
        });
        if let Err(error) = taken {
            if let Err(problem) = self.print(&*snapshot(self.engine), &old) {
                tracing::warn!(%problem, path = %old.display(), "what is stored is not shown");
            }
            return Err(error);
        }
        // Without a stamp: it is written once more, as it is printed.
        let record = DocumentRecord {
            stamp: Vec::new(),
            digests: vec![*blake3::hash(&text).as_bytes()],
        };
        note(self.engine, &self.document.name, record)
    }

    /// Removes what was shown beside the document while that was refused. It was mended, or is as stored
    /// again.
    fn forget_old(&self) -> Result<()> {
        let old = names::with(&self.path, OLD);
        match fs::remove_file(&old) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(not_written(&old, error)),
            _ => Ok(()),
        }
    }

    /// Writes the document as it is in a state.
    fn write(&self, state: &dyn Snapshot) -> Result<()> {
        self.engine.check_not_replaced()?;
        let draft = names::with(&self.path, DRAFT);
        let printed = self.print(state, &draft)?;
        let placed = self.place(&draft, printed);
        if placed.is_err() {
            // Where it is in place already, there is none.
            let _ = fs::remove_file(&draft);
        }
        placed
    }

    /// Puts the draft in the place of the document.
    fn place(&self, draft: &Path, printed: Digest) -> Result<()> {
        let name = &self.document.name;
        let stamp = self.document.stamp.clone().unwrap_or_default();
        let known = self.known().map(|known| known.digests).unwrap_or_default();
        let record = |digests| DocumentRecord {
            stamp: stamp.clone(),
            digests,
        };
        let both = known.iter().copied().chain([printed]).collect();
        note(self.engine, name, record(both))?;
        let found = digest(&self.path)?;
        if found.is_some_and(|found| found != printed && !known.contains(&found)) {
            set_aside(&self.path)?;
        }
        let folder = self.path.parent().unwrap_or(&self.engine.dir);
        let placed = fs::rename(draft, &self.path).and_then(|()| names::sync_folder(folder));
        placed.map_err(|error| not_written(&self.path, error))?;
        note(self.engine, name, record(vec![printed]))
    }

    fn print(&self, state: &dyn Snapshot, path: &Path) -> Result<Digest> {
        let failed = |error| not_written(path, error);
        if let Some(folder) = path.parent() {
            create_directories(folder).map_err(failed)?;
        }
        let mut out = Hashing {
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
            // What went wrong first is what the user should see.
            let _ = fs::remove_file(path);
            return Err(out.failed.map_or(error, failed));
        }
        Ok(*out.hasher.finalize().as_bytes())
    }
}

/// The error that a document was edited on an older state, or while the directory was open.
fn waiting(path: &Path, aside: &Path) -> Error {
    let (path, aside) = (path.display(), aside.display());
    let message = format!(
        "{path} was edited while the store was open, or before it was brought up to date after a crash; \
         taking it would undo what was committed since. The edited one is {aside}, and {path} is as \
         stored: repeat your changes there, and remove {aside}"
    );
    Error::new(ErrorKind::Aborted, message)
}

/// The error that a document was edited where nothing can be written.
fn edited_for_good(path: &Path) -> Error {
    let message = format!(
        "{} was edited, and taking that needs to write, but it lies on a read-only file system: copy the \
         directory to where it can be written, and open the copy",
        path.display()
    );
    Error::new(ErrorKind::ReadOnly, message)
}

/// Writes, and digests what it writes.
struct Hashing {
    file: BufWriter<File>,
    hasher: blake3::Hasher,
    /// Why the file took no more: whoever prints knows neither the file nor how it is with the disk.
    failed: Option<io::Error>,
}

impl Write for Hashing {
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

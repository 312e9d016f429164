//! Whether a path still leads to the file that is open. Who removes the files of a store, or puts others
//! in their place, leaves a process that has it open with files that nobody finds again: what it would
//! commit there is lost, and what it would do by path happens to the files of another store.

use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use espalier_keyspace::{Error, ErrorKind, Result};

use crate::files::io_error;

/// A file that is open for as long as this value lives, so that no other one has its number.
#[derive(Debug)]
pub(crate) struct FileIdentity {
    path: PathBuf,
    device: u64,
    inode: u64,
}

impl FileIdentity {
    /// The file that was found under `path`.
    pub(crate) fn new(path: PathBuf, file: &Metadata) -> Self {
        Self {
            path,
            device: file.dev(),
            inode: file.ino(),
        }
    }

    /// Fails where the path leads elsewhere, or nowhere. To be asked before anything is committed or done
    /// by path: it takes a look at the path, which is less than a microsecond.
    pub(crate) fn check_not_replaced(&self) -> Result<()> {
        match fs::metadata(&self.path) {
            Ok(found) if found.dev() == self.device && found.ino() == self.inode => Ok(()),
            Err(error) if !is_nothing_there(&error) => Err(io_error(
                format!("{} cannot be looked at", self.path.display()),
                error,
            )),
            _ => Err(self.gone()),
        }
    }

    fn gone(&self) -> Error {
        let message = format!(
            "{} was removed or replaced while this process had the store open; nothing more is committed \
             here, as nobody would find it: restart this process",
            self.path.display()
        );
        Error::new(ErrorKind::ReadOnly, message)
    }
}

fn is_nothing_there(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::path::Path;

    use super::*;

    fn opened(path: &Path) -> (File, FileIdentity) {
        let file = File::create(path).expect("a file");
        let metadata = file.metadata().expect("its numbers");
        (file, FileIdentity::new(path.to_owned(), &metadata))
    }

    #[test]
    fn a_path_that_leads_elsewhere_is_noticed() {
        let dir = tempfile::tempdir().expect("a directory");
        let folder = dir.path().join("store");
        let check = |change: &dyn Fn()| {
            fs::create_dir(&folder).expect("a folder");
            let (_file, opened) = opened(&folder.join("file"));
            opened.check_not_replaced().expect("it is there");
            change();
            let error = opened.check_not_replaced().expect_err("it is not there");
            assert_eq!(error.kind(), ErrorKind::ReadOnly);
            assert!(error.to_string().contains("store/file"), "{error}");
            let _ = fs::remove_dir_all(&folder).or_else(|_| fs::remove_file(&folder));
        };
        check(&|| fs::remove_file(folder.join("file")).expect("removed"));
        check(&|| fs::remove_dir_all(&folder).expect("removed"));
        check(&|| {
            fs::remove_dir_all(&folder).expect("removed");
            fs::write(&folder, "a file in its place").expect("written");
        });
        check(&|| {
            fs::remove_file(folder.join("file")).expect("removed");
            fs::write(folder.join("file"), "another").expect("written");
        });
    }

    /// A directory that was moved is where it is through a link.
    #[test]
    fn a_link_to_the_file_is_the_file() {
        let dir = tempfile::tempdir().expect("a directory");
        let (folder, moved) = (dir.path().join("store"), dir.path().join("moved"));
        fs::create_dir(&folder).expect("a folder");
        let (_file, opened) = opened(&folder.join("file"));
        fs::rename(&folder, &moved).expect("moved");
        assert!(opened.check_not_replaced().is_err());
        std::os::unix::fs::symlink(&moved, &folder).expect("a link");
        opened.check_not_replaced().expect("it is there");
    }
}

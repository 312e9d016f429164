//! Detects that the path of an open file now refers to another file. If the files of a store are removed or
//! replaced while a process has it open, commits of the process are lost, and its operations by path affect
//! the files of another store.

use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use espalier_keyspace::{Error, ErrorKind, Result};

use crate::files::io_error;

/// The device and inode of a file. The file must remain open while this value exists, so that its inode
/// number is not reused.
#[derive(Debug)]
pub(crate) struct FileIdentity {
    path: PathBuf,
    device: u64,
    inode: u64,
}

impl FileIdentity {
    /// The identity of the open file at `path`.
    pub(crate) fn new(path: PathBuf, file: &Metadata) -> Self {
        Self {
            path,
            device: file.dev(),
            inode: file.ino(),
        }
    }

    /// Fails if the path refers to another file, or to none. Call it before a commit and before operations
    /// by path; it costs one `stat`, less than a microsecond.
    pub(crate) fn check_not_replaced(&self) -> Result<()> {
        match fs::metadata(&self.path) {
            Ok(found) if found.dev() == self.device && found.ino() == self.inode => Ok(()),
            Err(error) if !is_missing(&error) => Err(io_error(
                format!("{} cannot be examined", self.path.display()),
                error,
            )),
            _ => Err(self.replaced_error()),
        }
    }

    fn replaced_error(&self) -> Error {
        let message = format!(
            "{} was removed or replaced while this process had the store open; commits are rejected, \
             as they would be lost: restart this process",
            self.path.display()
        );
        Error::new(ErrorKind::ReadOnly, message)
    }
}

fn is_missing(error: &io::Error) -> bool {
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
    fn a_replaced_file_is_detected() {
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

    /// A directory that was moved is found through a symbolic link.
    #[test]
    fn a_symbolic_link_to_the_file_is_accepted() {
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

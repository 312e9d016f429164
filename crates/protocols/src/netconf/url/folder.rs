//! Files below a folder.
//!
//! No component of a path may be a link, so that nothing outside of the folder can be reached.

use std::fs::{File, Permissions};
use std::io::{self, BufWriter, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use percent_encoding::percent_decode_str;
use rustix::fs::{AtFlags, Mode, OFlags};

/// An open folder.
#[derive(Debug)]
pub(super) struct Folder(OwnedFd);

impl Folder {
    /// Opens a folder, which must exist.
    pub fn open(path: &Path) -> io::Result<Self> {
        let flags = OFlags::DIRECTORY | OFlags::RDONLY | OFlags::CLOEXEC;
        Ok(Self(rustix::fs::open(path, flags, Mode::empty())?))
    }

    /// The components of the path of a `file:` URL without its scheme; `None` if it names no file below a folder.
    pub fn path(rest: &str) -> Option<Vec<String>> {
        let path = match rest.strip_prefix("//") {
            Some(rest) => match rest.split_once('/')? {
                ("" | "localhost", path) => path,
                _ => return None,
            },
            None => rest.strip_prefix('/').unwrap_or(rest),
        };
        if path.contains(['?', '#']) {
            return None;
        }
        let components = path.split('/').map(|component| {
            let name = percent_decode_str(component).decode_utf8().ok()?;
            let is_name = !matches!(&*name, "" | "." | "..") && !name.contains(['/', '\0']);
            is_name.then(|| name.into_owned())
        });
        components.collect()
    }

    /// Opens a file for reading.
    pub fn open_file(&self, path: &[String]) -> io::Result<File> {
        let (folder, name) = self.parent(path)?;
        // A named pipe would wait for a writer.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = File::from(rustix::fs::openat(&folder, name, flags, Mode::empty())?);
        match file.metadata()?.is_file() {
            true => Ok(file),
            false => Err(io::Error::other("it is not a file")),
        }
    }

    /// Begins to replace a file, or to create it.
    pub fn replace(&self, path: &[String]) -> io::Result<NewFile> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let (folder, name) = self.parent(path)?;
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let temporary = format!(".espalier-new-{}-{number}", std::process::id());
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let mode = Mode::RUSR | Mode::WUSR;
        let file = File::from(rustix::fs::openat(&folder, &temporary, flags, mode)?);
        file.set_permissions(Permissions::from_mode(0o600))?;
        Ok(NewFile {
            folder,
            temporary,
            name: name.to_owned(),
            file: BufWriter::new(file),
            is_finished: false,
        })
    }

    /// Deletes a file.
    pub fn delete(&self, path: &[String]) -> io::Result<()> {
        let (folder, name) = self.parent(path)?;
        rustix::fs::unlinkat(&folder, name, AtFlags::empty())?;
        Ok(rustix::fs::fsync(&folder)?)
    }

    /// The folder of a file, and its name in it.
    fn parent<'p>(&self, path: &'p [String]) -> io::Result<(OwnedFd, &'p str)> {
        let Some((name, folders)) = path.split_last() else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        let mut folder = self.0.as_fd().try_clone_to_owned()?;
        for component in folders {
            let flags = OFlags::DIRECTORY | OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            folder = rustix::fs::openat(&folder, component, flags, Mode::empty())?;
        }
        Ok((folder, name))
    }
}

/// A file that replaces another one when it is complete; removed if it never is.
pub(super) struct NewFile {
    folder: OwnedFd,
    temporary: String,
    name: String,
    file: BufWriter<File>,
    is_finished: bool,
}

impl NewFile {
    /// Replaces the file. It is on disk then.
    pub fn finish(mut self) -> io::Result<()> {
        self.file.flush()?;
        self.file.get_ref().sync_all()?;
        rustix::fs::renameat(&self.folder, &self.temporary, &self.folder, &self.name)?;
        self.is_finished = true;
        Ok(rustix::fs::fsync(&self.folder)?)
    }
}

impl Write for NewFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Drop for NewFile {
    fn drop(&mut self) {
        if !self.is_finished {
            // It is not named by any URL: nobody else removes it.
            let _ = rustix::fs::unlinkat(&self.folder, &self.temporary, AtFlags::empty());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_below_the_folder_have_a_path() {
        let path = |rest: &str| Folder::path(rest).map(|path| path.join("|"));
        assert_eq!(path("///a.xml").as_deref(), Some("a.xml"));
        assert_eq!(path("//localhost/a/b%20c").as_deref(), Some("a|b c"));
        assert_eq!(path("/a.xml").as_deref(), Some("a.xml"));
        assert_eq!(path("a.xml").as_deref(), Some("a.xml"));
        for wrong in [
            "",
            "//",
            "///",
            "//host/a",
            "///a/",
            "///../a",
            "///a/../b",
            "///a/%2e%2e/b",
            "///a%2fb",
            "///a%00b",
            "///./a",
            "////a",
            "///a?b",
            "///a#b",
            "///%ff",
        ] {
            assert_eq!(path(wrong), None, "{wrong}");
        }
    }
}

//! A body in a file.

use std::fs::{File, Permissions};
use std::io::{self, Seek, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::budget::Reservation;

// Nothing is locked while a client sends its body: docs/decisions/0049.
/// A file that stores a body. It has no name and only its owner can read it; the system removes it when it
/// is closed, also after a crash.
#[derive(Debug)]
pub(super) struct Spill {
    pub(super) file: File,
    pub(super) reservation: Reservation,
}

impl Spill {
    /// Creates a file in a directory. No other process can open it by name.
    pub(super) fn file_in(dir: &Path) -> io::Result<File> {
        let file = tempfile::tempfile_in(dir)?;
        // An unnamed file is reachable only through /proc, with its owner's rights; with O_TMPFILE, those
        // depend on the umask.
        file.set_permissions(Permissions::from_mode(0o600))?;
        Ok(file)
    }

    /// Appends to the file, unless the disk would then have less than `free_bytes_min` left.
    pub(super) fn append(&mut self, bytes: &[u8], free_bytes_min: u64) -> io::Result<()> {
        if free_bytes(&self.file)? < free_bytes_min.saturating_add(bytes.len() as u64) {
            let message = format!("the disk would have less than {free_bytes_min} bytes left");
            return Err(io::Error::new(io::ErrorKind::StorageFull, message));
        }
        self.file.write_all(bytes)
    }

    /// Moves to the start of the file.
    pub(super) fn rewind(&mut self) -> io::Result<()> {
        self.file.rewind()
    }
}

fn free_bytes(file: &File) -> io::Result<u64> {
    let disk = rustix::fs::fstatvfs(file)?;
    Ok(disk.f_bavail.saturating_mul(disk.f_frsize))
}

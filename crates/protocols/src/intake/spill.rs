//! A body in a file.

use std::fs::{File, Permissions};
use std::io::{self, Seek, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::budget::Reservation;

/// A file that holds a body. It has no name and is readable for its owner alone, and the system removes
/// it when it is closed, also by a crash.
#[derive(Debug)]
pub(super) struct Spill {
    pub(super) file: File,
    pub(super) reservation: Reservation,
}

impl Spill {
    /// A new file in a folder. Nobody else can open it.
    pub(super) fn file_in(dir: &Path) -> io::Result<File> {
        let file = tempfile::tempfile_in(dir)?;
        // Without a name nobody reaches it but through /proc, by its owner's rights; those of
        // O_TMPFILE follow the umask.
        file.set_permissions(Permissions::from_mode(0o600))?;
        Ok(file)
    }

    /// Writes behind what it has, unless the disk would then have less than this left.
    pub(super) fn append(&mut self, bytes: &[u8], free_bytes_min: u64) -> io::Result<()> {
        if free_bytes(&self.file)? < free_bytes_min.saturating_add(bytes.len() as u64) {
            let message = format!("the disk would have less than {free_bytes_min} bytes left");
            return Err(io::Error::new(io::ErrorKind::StorageFull, message));
        }
        self.file.write_all(bytes)
    }

    /// Reads from the beginning from now on.
    pub(super) fn rewind(&mut self) -> io::Result<()> {
        self.file.rewind()
    }
}

fn free_bytes(file: &File) -> io::Result<u64> {
    let disk = rustix::fs::fstatvfs(file)?;
    Ok(disk.f_bavail.saturating_mul(disk.f_frsize))
}

//! A file of JSON lines.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::PathBuf;

use rustix::fs::OFlags;

use super::export::write_json_line;
use super::record::AuditRecord;
use super::sink::AuditOutput;

/// The file is private: records have names, addresses and key values.
const FILE_MODE: u32 = 0o600;

/// Appends records to a file, which is created with mode 0600. If the file is renamed or deleted (as by
/// `logrotate`), the next record goes to a new file of the same name.
pub struct JsonLinesFile {
    path: PathBuf,
    file: File,
}

impl JsonLinesFile {
    /// Opens or creates the file.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn open(path: impl Into<PathBuf>) -> io::Result<Self> {
        let path = path.into();
        let file = open(&path)?;
        Ok(Self { path, file })
    }

    fn is_current(&self) -> io::Result<bool> {
        let open = self.file.metadata()?;
        match std::fs::metadata(&self.path) {
            Ok(named) => Ok((named.dev(), named.ino()) == (open.dev(), open.ino())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }
}

fn open(path: &PathBuf) -> io::Result<File> {
    let mut options = OpenOptions::new();
    // A FIFO whose reader is slow or missing must not make a request wait.
    let flags = OFlags::NONBLOCK.bits().cast_signed();
    let options = options.append(true).create(true).mode(FILE_MODE);
    options.custom_flags(flags).open(path)
}

impl AuditOutput for JsonLinesFile {
    fn name(&self) -> &'static str {
        "file"
    }

    fn write(&mut self, record: &AuditRecord) -> io::Result<()> {
        if !self.is_current()? {
            self.file = open(&self.path)?;
        }
        // One write for each line: lines of several processes do not mix.
        let mut line = Vec::new();
        write_json_line(record, &mut line).map_err(io::Error::other)?;
        self.file.write_all(&line)
    }
}

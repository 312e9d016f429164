//! The format file of a directory, so that another version, or another program's database, is rejected
//! instead of misread.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use espalier_keyspace::{Error, ErrorKind, Result};

use super::environment::DATA_FILE;
use crate::embedded::NAME;
use crate::files::{Access, create_private, path_error, sync_directory};
use crate::foreign_files::reject_foreign_files;

const FILE: &str = "espalier.format";
const MAGIC: &str = "espalier embedded ";

/// The supported format: 2 has a journal, and 3 has removed ranges in it. Earlier ones are upgraded when a directory is
/// opened.
const VERSION: u32 = 3;

/// Prefixes of files that another process may be creating.
const OWN: [&str; 4] = [FILE, "journal.", "lock.mdb", DATA_FILE];

/// Checks the format of a directory, or writes the format file in an empty one.
pub(in crate::embedded) fn check_or_create(dir: &Path, access: Access) -> Result<()> {
    let file = dir.join(FILE);
    let failed = path_error(&file, "written");
    if let Some(text) = read(dir)? {
        return match (check(dir, &text)?, access) {
            (VERSION, _) | (_, Access::Read) => Ok(()),
            (_, Access::Write) => create(dir).map_err(failed),
        };
    }
    let has_data = fs::metadata(dir.join(DATA_FILE)).is_ok_and(|data| data.len() > 0);
    if !has_data {
        reject_foreign_files(dir, NAME, &OWN)?;
        return create(dir).map_err(failed);
    }
    // Another process may have created both files since.
    match read(dir)? {
        Some(text) => check(dir, &text).map(drop),
        None => Err(Error::new(
            ErrorKind::WrongVersion,
            format!(
                "{} contains a data.mdb that Espalier did not write ({FILE} is missing)",
                dir.display()
            ),
        )),
    }
}

fn read(dir: &Path) -> Result<Option<String>> {
    let path = dir.join(FILE);
    match fs::read(&path) {
        Ok(bytes) => Ok(Some(String::from_utf8_lossy(&bytes).into_owned())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(path_error(&path, "read")(error)),
    }
}

/// The format of a directory, if it is supported.
fn check(dir: &Path, text: &str) -> Result<u32> {
    let found = text
        .strip_prefix(MAGIC)
        .map(|version| version.trim().parse::<u32>());
    let (kind, message) = match found {
        Some(Ok(version @ 1..=VERSION)) => return Ok(version),
        Some(Ok(other)) => (
            ErrorKind::WrongVersion,
            format!(
                "{} has format {other}; this version of Espalier supports format {VERSION}",
                dir.display()
            ),
        ),
        _ => {
            let file = dir.join(FILE);
            (ErrorKind::Corrupt, format!("{} is damaged", file.display()))
        }
    };
    Err(Error::new(kind, message))
}

/// Writes the file atomically.
fn create(dir: &Path) -> io::Result<()> {
    let draft = dir.join(format!("{FILE}.{}", std::process::id()));
    let mut file = create_private(&draft)?;
    file.write_all(format!("{MAGIC}{VERSION}\n").as_bytes())?;
    file.sync_all()?;
    fs::rename(&draft, dir.join(FILE))?;
    sync_directory(dir)
}

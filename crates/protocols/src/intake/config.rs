//! The limits of taking bodies in, each with a name.

use std::path::PathBuf;

use super::error::IntakeError;
use super::spill::Spill;

/// Where bodies are held, and how much of them.
#[derive(Clone, Debug)]
pub struct IntakeConfig {
    /// Bytes of one body that are held in memory; a larger one goes to a file.
    pub held_bytes_max: usize,
    /// Bytes of all bodies together that are held in memory; beyond it, also small ones go to a file.
    pub held_bytes_max_all: u64,
    /// Bytes of all bodies together in files.
    pub spill_bytes_max: u64,
    /// Bytes that are left free on the disk of these files.
    pub spill_free_bytes_min: u64,
    /// The folder of these files.
    pub spill_dir: PathBuf,
    /// Bodies in files that are read back into memory at a time, for requests that need them there.
    pub recalled_max: usize,
}

impl Default for IntakeConfig {
    fn default() -> Self {
        Self {
            held_bytes_max: 1 << 20,
            held_bytes_max_all: 256 << 20,
            spill_bytes_max: 64 << 30,
            spill_free_bytes_min: 256 << 20,
            spill_dir: default_spill_dir(),
            recalled_max: 16,
        }
    }
}

impl IntakeConfig {
    /// Makes a file in [`Self::spill_dir`], as a large body does.
    ///
    /// # Errors
    /// [`IntakeError::File`] if it cannot be made.
    pub fn check_spill_dir(&self) -> Result<(), IntakeError> {
        let made = Spill::file_in(&self.spill_dir);
        made.map(drop).map_err(|source| IntakeError::File {
            dir: self.spill_dir.clone(),
            source,
        })
    }
}

/// `TMPDIR` where it is set, else `/var/tmp`: `/tmp` is often in memory.
fn default_spill_dir() -> PathBuf {
    let large = PathBuf::from("/var/tmp");
    match std::env::var_os("TMPDIR") {
        None if large.is_dir() => large,
        _ => std::env::temp_dir(),
    }
}

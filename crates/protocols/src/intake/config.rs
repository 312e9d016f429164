//! The limits of receiving request bodies.

use std::path::PathBuf;

use super::error::IntakeError;
use super::spill::Spill;

/// Where request bodies are stored, and their maximum size.
#[derive(Clone, Debug)]
pub struct IntakeConfig {
    /// Maximum size of a body in memory; a larger one is written to a file.
    pub memory_bytes_max: usize,
    /// Maximum size of all bodies in memory; beyond it, small ones are written to a file too.
    pub memory_bytes_max_all: u64,
    /// Maximum size of all bodies in files.
    pub spill_bytes_max: u64,
    /// Space to leave free on the disk of these files.
    pub spill_free_bytes_min: u64,
    /// The directory of these files.
    pub spill_dir: PathBuf,
    /// Maximum number of bodies that are loaded from files into memory at the same time, for requests that
    /// need that.
    pub loads_max: usize,
}

impl Default for IntakeConfig {
    fn default() -> Self {
        Self {
            memory_bytes_max: 1 << 20,
            memory_bytes_max_all: 256 << 20,
            spill_bytes_max: 64 << 30,
            spill_free_bytes_min: 256 << 20,
            spill_dir: default_spill_dir(),
            loads_max: 16,
        }
    }
}

impl IntakeConfig {
    /// Creates a file in [`Self::spill_dir`], as a large body does, and removes it.
    ///
    /// # Errors
    /// [`IntakeError::File`] if it cannot be created.
    pub fn check_spill_dir(&self) -> Result<(), IntakeError> {
        let made = Spill::file_in(&self.spill_dir);
        made.map(drop).map_err(|source| IntakeError::File {
            dir: self.spill_dir.clone(),
            source,
        })
    }
}

/// `TMPDIR` if it is set, otherwise `/var/tmp`: `/tmp` is often in memory.
fn default_spill_dir() -> PathBuf {
    let large = PathBuf::from("/var/tmp");
    match std::env::var_os("TMPDIR") {
        None if large.is_dir() => large,
        _ => std::env::temp_dir(),
    }
}

//! Which start of the machine it is: what was written since then is there, whatever became of the process
//! that wrote it.

use std::fs;
use std::io;

/// Bytes of a boot, as the system writes it.
pub(crate) const BOOT_ID_BYTES: usize = 36;

/// What is another after each start of the machine, and the same for all its processes.
pub(crate) fn read_boot_id() -> io::Result<[u8; BOOT_ID_BYTES]> {
    let path = "/proc/sys/kernel/random/boot_id";
    let mut boot = [0; BOOT_ID_BYTES];
    let text = fs::read(path)
        .map_err(|error| io::Error::new(error.kind(), format!("{path} cannot be read: {error}")))?;
    let length = text.len().min(BOOT_ID_BYTES);
    boot[..length].copy_from_slice(&text[..length]);
    Ok(boot)
}

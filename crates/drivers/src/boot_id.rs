//! The boot ID of the machine. Data written since the last boot is in the page cache at least, even if the
//! process that wrote it has crashed.

use std::fs;
use std::io;

/// Bytes of a boot ID in the system's text form.
pub(crate) const BOOT_ID_BYTES: usize = 36;

/// Reads the boot ID: different after each start of the machine, equal for all its processes.
pub(crate) fn read_boot_id() -> io::Result<[u8; BOOT_ID_BYTES]> {
    let path = "/proc/sys/kernel/random/boot_id";
    let mut boot = [0; BOOT_ID_BYTES];
    let text = fs::read(path)
        .map_err(|error| io::Error::new(error.kind(), format!("{path} cannot be read: {error}")))?;
    let length = text.len().min(BOOT_ID_BYTES);
    boot[..length].copy_from_slice(&text[..length]);
    Ok(boot)
}

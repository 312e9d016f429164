//! Buffered output of the printers: a document of any size passes through a buffer of bounded size.

use std::io::Write;

use super::options::PrintError;
use super::sink::Stop;

/// The buffer is written out when it has at least this many bytes.
const PIECE_LENGTH: usize = 64 << 10;

/// Writes the buffer out if it is full. Stores an error in `failure`.
pub(super) fn flush_if_full(
    out: &mut impl Write,
    buffer: &mut Vec<u8>,
    failure: &mut Option<PrintError>,
) -> Result<(), Stop> {
    if buffer.len() < PIECE_LENGTH {
        return Ok(());
    }
    if let Err(error) = out.write_all(buffer) {
        *failure = Some(PrintError::Write(error));
        return Err(Stop);
    }
    buffer.clear();
    Ok(())
}

/// Writes out the remaining bytes; returns the flushed writer.
pub(super) fn flush_last<W: Write>(mut out: W, buffer: &[u8]) -> Result<W, PrintError> {
    let written = out.write_all(buffer).and_then(|()| out.flush());
    written.map_err(PrintError::Write)?;
    Ok(out)
}

//! How the printers hand on what they print: in pieces, so that a document of any size passes
//! through a buffer of one size.

use std::io::Write;

use super::options::PrintError;
use super::sink::Stop;

/// The buffer is written out when it holds at least this much.
const PIECE_LENGTH: usize = 64 << 10;

/// Writes the buffer out where it is full. Why that failed is kept in `failure`.
pub(super) fn write_full(
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

/// Writes out the last piece. The writer, flushed.
pub(super) fn write_last<W: Write>(mut out: W, buffer: &[u8]) -> Result<W, PrintError> {
    let written = out.write_all(buffer).and_then(|()| out.flush());
    written.map_err(PrintError::Write)?;
    Ok(out)
}

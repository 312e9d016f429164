//! A frame: the changes of one commit, with a checksum.
//!
//! A frame is valid only where it was written: the checksum covers its position and the salt of its
//! segment. It records how much of the segment was on disk when it was written, so that an incomplete end
//! of a segment after a crash is distinguished from damage in the middle.

use espalier_keyspace::compact_encoding::{put_bytes, take_bytes};
use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::changed_rows::{ChangedRows, RowChange};

/// Bytes before the payload of a frame.
pub(super) const FRAME_HEADER_BYTES: usize = 20;

const MAGIC: [u8; 4] = *b"rows";

/// The position of a frame.
#[derive(Clone, Copy, Debug)]
pub(super) struct FramePosition {
    /// The salt of the segment.
    pub(super) salt: u64,
    /// The offset of the frame.
    pub(super) offset: u64,
}

impl FramePosition {
    fn checksum(self, synced: [u8; 4], payload: &[u8]) -> [u8; 8] {
        let seed = self.salt ^ self.offset.rotate_left(32) ^ u64::from(u32::from_le_bytes(synced));
        xxh3_64_with_seed(payload, seed).to_le_bytes()
    }
}

/// Encodes the changed rows as a frame for `position`. `synced` bytes of the segment are on disk.
pub(super) fn encode(changed: &ChangedRows, position: FramePosition, synced: u64) -> Vec<u8> {
    let mut frame = Vec::with_capacity(FRAME_HEADER_BYTES + changed.bytes() + changed.len() * 6);
    frame.resize(FRAME_HEADER_BYTES, 0);
    for (key, entry) in changed.encoded() {
        put_bytes(&mut frame, key);
        put_bytes(&mut frame, entry);
    }
    let (header, payload) = frame.split_at_mut(FRAME_HEADER_BYTES);
    // Segments are shorter than 4 GiB.
    let synced = (synced as u32).to_le_bytes();
    header[..4].copy_from_slice(&MAGIC);
    header[4..8].copy_from_slice(&(payload.len() as u32).to_le_bytes());
    header[8..12].copy_from_slice(&synced);
    header[12..].copy_from_slice(&position.checksum(synced, payload));
    frame
}

/// A decoded frame.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frame<'a> {
    pub(super) payload: &'a [u8],
    /// How much of the segment was on disk when it was written.
    pub(super) synced: u64,
}

impl Frame<'_> {
    /// The size of the frame.
    pub(super) fn bytes(&self) -> u64 {
        (FRAME_HEADER_BYTES + self.payload.len()) as u64
    }
}

/// Decodes the frame at the start of `bytes`, if there is a valid one.
pub(super) fn decode(bytes: &[u8], position: FramePosition) -> Option<Frame<'_>> {
    let rest = bytes.strip_prefix(&MAGIC)?;
    let (length, rest) = rest.split_first_chunk::<4>()?;
    let (synced, rest) = rest.split_first_chunk::<4>()?;
    let (sum, rest) = rest.split_first_chunk::<8>()?;
    let payload = rest.get(..u32::from_le_bytes(*length) as usize)?;
    (position.checksum(*synced, payload) == *sum).then_some(Frame {
        payload,
        synced: u64::from(u32::from_le_bytes(*synced)),
    })
}

/// Whether any frame in `bytes`, the rest of a segment from `position`, was written when more of the segment
/// than the part before `position` was already on disk.
pub(super) fn was_synced(bytes: &[u8], position: FramePosition) -> bool {
    let starts = find_all(&MAGIC, bytes);
    starts.into_iter().any(|at| {
        let offset = position.offset + at as u64;
        let frame = decode(&bytes[at..], FramePosition { offset, ..position });
        frame.is_some_and(|frame| frame.synced > position.offset)
    })
}

/// The offsets of `part` in `bytes`.
fn find_all(part: &[u8], bytes: &[u8]) -> Vec<usize> {
    let windows = bytes.windows(part.len()).enumerate();
    let found = windows.filter(|(_, window)| *window == part);
    found.map(|(at, _)| at).collect()
}

/// Applies the changes of a frame to `rows`. `None` if the payload is invalid.
pub(super) fn apply(payload: &[u8], rows: &mut ChangedRows) -> Option<()> {
    each(payload, &mut |change| rows.apply_change(change))
}

/// Calls `take` with each change of a frame, in order.
pub(super) fn each(mut payload: &[u8], take: &mut dyn FnMut(RowChange<'_>)) -> Option<()> {
    while !payload.is_empty() {
        let key = take_bytes(&mut payload)?;
        let entry = take_bytes(&mut payload)?;
        take(RowChange::decode(key, entry)?);
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use espalier_keyspace::KeyRange;

    use super::*;

    fn position(offset: u64) -> FramePosition {
        FramePosition { salt: 7, offset }
    }

    fn changed() -> ChangedRows {
        let mut changed = ChangedRows::new();
        changed.put(b"put", &vec![9; 300]);
        changed.delete(b"removed");
        changed.remove_range(&KeyRange::new("a", "b"));
        changed.remove_range(&KeyRange {
            start: b"x".to_vec(),
            end: None,
        });
        changed
    }

    #[test]
    fn a_frame_is_decoded_as_it_was_encoded() {
        let frame = encode(&changed(), position(64), 64);
        let read = decode(&frame, position(64)).expect("a frame");
        assert_eq!((read.bytes(), read.synced), (frame.len() as u64, 64));
        let mut rows = ChangedRows::new();
        apply(read.payload, &mut rows).expect("rows");
        assert!(rows.encoded().eq(changed().encoded()));
    }

    #[test]
    fn no_frame_is_decoded_at_another_position_or_with_another_byte() {
        let frame = encode(&changed(), position(64), 64);
        assert!(decode(&frame, position(65)).is_none());
        assert!(
            decode(
                &frame,
                FramePosition {
                    salt: 8,
                    ..position(64)
                }
            )
            .is_none()
        );
        for at in 0..frame.len() {
            let mut damaged = frame.clone();
            damaged[at] ^= 1;
            assert!(decode(&damaged, position(64)).is_none(), "byte {at}");
            assert!(decode(&frame[..at], position(64)).is_none(), "{at} bytes");
        }
    }

    #[test]
    fn damage_is_distinguished_from_an_incomplete_end() {
        let first = encode(&changed(), position(64), 64);
        let end = 64 + first.len() as u64;
        for (synced, is_damage) in [(64, false), (end, true)] {
            let second = encode(&changed(), position(end), synced);
            let mut bytes = [first.clone(), second].concat();
            bytes[FRAME_HEADER_BYTES] ^= 1;
            assert!(decode(&bytes, position(64)).is_none());
            assert_eq!(was_synced(&bytes, position(64)), is_damage);
        }
    }
}

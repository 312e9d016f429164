//! The encoding of a value in an index in memory.

/// Values up to this size need no allocation.
const INLINE_BYTES: usize = 22;

/// Immutable bytes in 24 bytes of memory, if they are few.
pub(super) enum ValueBytes {
    /// The length, and the bytes.
    Inline(u8, [u8; INLINE_BYTES]),
    Allocated(Box<[u8]>),
}

impl ValueBytes {
    pub(super) fn of(bytes: &[u8]) -> Self {
        let mut inline = [0; INLINE_BYTES];
        match inline.get_mut(..bytes.len()) {
            Some(space) => {
                space.copy_from_slice(bytes);
                Self::Inline(bytes.len() as u8, inline)
            }
            None => Self::Allocated(bytes.into()),
        }
    }

    pub(super) fn as_slice(&self) -> &[u8] {
        match self {
            Self::Inline(length, bytes) => &bytes[..usize::from(*length)],
            Self::Allocated(bytes) => bytes,
        }
    }
}

impl Default for ValueBytes {
    fn default() -> Self {
        Self::Inline(0, [0; INLINE_BYTES])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_of_any_length_are_kept() {
        let bytes: Vec<u8> = (0..=255).collect();
        for length in [0, 1, INLINE_BYTES - 1, INLINE_BYTES, INLINE_BYTES + 1, 256] {
            assert_eq!(
                ValueBytes::of(&bytes[..length]).as_slice(),
                &bytes[..length]
            );
        }
        assert_eq!(size_of::<ValueBytes>(), 24);
    }
}

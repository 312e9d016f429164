//! The gate: the ID and the progress of the staged batch that is being applied.

use espalier_keyspace::Result;

use super::layout::corrupt;

/// Bytes of the ID of a batch, and of the name of a session.
pub(crate) const ID_BYTES: usize = 16;

/// The content of the gate cell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Gate {
    /// The ID of the records.
    pub(crate) id: [u8; ID_BYTES],
    /// The session of the commit, and the commit's number in it.
    pub(crate) session: [u8; ID_BYTES],
    pub(crate) sequence: u64,
    /// The next record to apply.
    pub(crate) next: u32,
    /// The number of records; after them comes the head.
    pub(crate) count: u32,
}

impl Gate {
    pub(crate) fn encode(&self) -> Vec<u8> {
        [
            &self.id[..],
            &self.session,
            &self.sequence.to_be_bytes(),
            &self.next.to_be_bytes(),
            &self.count.to_be_bytes(),
        ]
        .concat()
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<Self> {
        Self::parts(bytes).ok_or_else(|| corrupt(b"g"))
    }

    fn parts(bytes: &[u8]) -> Option<Self> {
        let (id, rest) = bytes.split_first_chunk()?;
        let (session, rest) = rest.split_first_chunk()?;
        let (sequence, rest) = rest.split_first_chunk()?;
        let (next, rest) = rest.split_first_chunk()?;
        let count = rest.try_into().ok()?;
        Some(Self {
            id: *id,
            session: *session,
            sequence: u64::from_be_bytes(*sequence),
            next: u32::from_be_bytes(*next),
            count: u32::from_be_bytes(count),
        })
    }

    /// The gate after applying one record.
    pub(crate) fn advanced(&self) -> Self {
        Self {
            next: self.next + 1,
            ..self.clone()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gate_is_decoded() {
        let gate = Gate {
            id: [1; ID_BYTES],
            session: [2; ID_BYTES],
            sequence: 3,
            next: 4,
            count: 5,
        };
        assert_eq!(Gate::decode(&gate.encode()).expect("a gate"), gate);
        assert!(Gate::decode(&gate.encode()[1..]).is_err());
        assert_eq!(gate.advanced().next, 5);
    }
}

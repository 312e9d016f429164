//! The gate: which staged batch is being applied, and how far it is.

use espalier_keyspace::Result;

use super::layout::corrupt;

/// Bytes of the name of a batch, and of that of a lane.
pub(crate) const ID_BYTES: usize = 16;

/// What the gate's cell holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Gate {
    /// The name of the records.
    pub(crate) id: [u8; ID_BYTES],
    /// The lane of the commit, and its number there.
    pub(crate) lane: [u8; ID_BYTES],
    pub(crate) sequence: u64,
    /// The record whose turn it is.
    pub(crate) next: u32,
    /// How many records there are; the one after them is the head.
    pub(crate) count: u32,
}

impl Gate {
    pub(crate) fn encode(&self) -> Vec<u8> {
        [
            &self.id[..],
            &self.lane,
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
        let (lane, rest) = rest.split_first_chunk()?;
        let (sequence, rest) = rest.split_first_chunk()?;
        let (next, rest) = rest.split_first_chunk()?;
        let count = rest.try_into().ok()?;
        Some(Self {
            id: *id,
            lane: *lane,
            sequence: u64::from_be_bytes(*sequence),
            next: u32::from_be_bytes(*next),
            count: u32::from_be_bytes(count),
        })
    }

    /// The same, one record on.
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
    fn a_gate_comes_back() {
        let gate = Gate {
            id: [1; ID_BYTES],
            lane: [2; ID_BYTES],
            sequence: 3,
            next: 4,
            count: 5,
        };
        assert_eq!(Gate::decode(&gate.encode()).expect("a gate"), gate);
        assert!(Gate::decode(&gate.encode()[1..]).is_err());
        assert_eq!(gate.advanced().next, 5);
    }
}

//! The encoding of a compiled schema set: its parts in one byte string, each compressed separately.

use std::sync::Arc;

use espalier_yang::Schema;
use espalier_yang::schema::stored::{SchemaParts, decode, encode};
use espalier_yang::validate::ValidationPlan;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::subtree_flags::SubtreeFlags;
use crate::compiled_schema_set::Compiled;
use crate::fragment::{put_varint, take_varint};
use crate::node_numbers::Layout;

/// The largest part, unpacked.
const PART_BYTES_MAX: usize = 1 << 30;

/// The maximum compression ratio of an LZ4 block: a length grows by at most 255 for each byte.
const LZ4_RATIO_MAX: usize = 255;

/// The indexes of the first parts; those of the schema follow.
#[derive(Clone, Copy)]
enum PartKind {
    Layout,
    SubtreeFlags,
    IndexDefinition,
    ValidationPlan,
    Schema,
}

/// All parts of a compiled schema set: varint number of parts; varint packed and unpacked length of
/// each; the parts, each an LZ4 block.
#[derive(Debug)]
pub(crate) struct Content {
    bytes: Vec<u8>,
    parts: Vec<Part>,
}

#[derive(Clone, Copy, Debug)]
struct Part {
    start: usize,
    packed: usize,
    unpacked: usize,
}

impl Content {
    /// Packs a compiled schema set; `None` if it is too large for this format.
    pub fn pack(compiled: &Compiled) -> Option<Vec<u8>> {
        let mut parts = vec![
            packed(&compiled.layout)?,
            packed(&compiled.subtree_flags)?,
            packed(compiled.index_definition())?,
            packed(compiled.plan())?,
        ];
        for part in compiled.schema.to_parts().ok()? {
            parts.push(compressed(&part)?);
        }
        let mut bytes = Vec::new();
        put_varint(&mut bytes, parts.len() as u64);
        for (unpacked, part) in &parts {
            put_varint(&mut bytes, part.len() as u64);
            put_varint(&mut bytes, *unpacked as u64);
        }
        parts.iter().for_each(|(_, part)| bytes.extend(part));
        Some(bytes)
    }

    /// Parses the bytes that [`Self::pack`] returned; `None` if they are invalid.
    pub fn new(bytes: Vec<u8>) -> Option<Self> {
        let mut rest = bytes.as_slice();
        let mut number = || usize::try_from(take_varint(&mut rest).ok()?).ok();
        let count = number()?;
        let mut parts = Vec::new();
        let mut start = 0_usize;
        for _ in 0..count {
            let (packed, unpacked) = (number()?, number()?);
            parts.push(Part {
                start,
                packed,
                unpacked,
            });
            start = start.checked_add(packed)?;
        }
        let table = bytes.len() - rest.len();
        if rest.len() != start {
            return None;
        }
        parts.iter_mut().for_each(|part| part.start += table);
        Some(Self { bytes, parts })
    }

    /// The node numbers of a schema.
    pub fn layout(&self, schema: &Schema) -> Option<Layout> {
        let layout: Layout = self.decoded(PartKind::Layout)?;
        layout.is_of(schema).then_some(layout)
    }

    /// The subtree flags of a schema.
    pub fn subtree_flags(&self, schema: &Schema) -> Option<SubtreeFlags> {
        let subtree_flags: SubtreeFlags = self.decoded(PartKind::SubtreeFlags)?;
        let nodes = schema.nodes().len();
        (subtree_flags.state.len() == nodes && subtree_flags.order.len() == nodes)
            .then_some(subtree_flags)
    }

    /// The indexes and counts that the constraints need.
    pub fn index_definition(&self) -> Option<Vec<u8>> {
        self.decoded(PartKind::IndexDefinition)
    }

    /// The constraints of a schema.
    pub fn plan(&self, schema: &Schema) -> Option<ValidationPlan> {
        ValidationPlan::from_stored(&self.unpacked(PartKind::ValidationPlan as usize)?, schema).ok()
    }

    /// The schema.
    pub fn schema(self: &Arc<Self>) -> Option<Schema> {
        Schema::from_parts(Arc::clone(self) as Arc<dyn SchemaParts>).ok()
    }

    fn decoded<T: DeserializeOwned>(&self, part: PartKind) -> Option<T> {
        decode(&self.unpacked(part as usize)?).ok()
    }

    fn unpacked(&self, index: usize) -> Option<Vec<u8>> {
        let part = self.parts.get(index)?;
        let packed = self
            .bytes
            .get(part.start..part.start.checked_add(part.packed)?)?;
        let is_possible = part.unpacked / LZ4_RATIO_MAX <= part.packed;
        if part.unpacked > PART_BYTES_MAX || !is_possible {
            return None;
        }
        let unpacked = lz4_flex::block::decompress(packed, part.unpacked).ok()?;
        (unpacked.len() == part.unpacked).then_some(unpacked)
    }
}

impl SchemaParts for Content {
    fn part(&self, index: usize) -> Option<Vec<u8>> {
        self.unpacked(PartKind::Schema as usize + index)
    }
}

fn packed<T: Serialize + ?Sized>(value: &T) -> Option<(usize, Vec<u8>)> {
    compressed(&encode(value).ok()?)
}

/// The length, and the LZ4 block.
fn compressed(bytes: &[u8]) -> Option<(usize, Vec<u8>)> {
    (bytes.len() <= PART_BYTES_MAX).then(|| (bytes.len(), lz4_flex::block::compress(bytes)))
}

//! The id ranges of a schema, for decoding: each decoded id is checked against them, in whatever type it occurs, so
//! that a new field with an id is checked too. The limits are thread-local, because derived decoders pass no
//! context.

use std::cell::Cell;

use serde::{Deserialize, Deserializer, Serialize};

use crate::schema::{IdentityId, ModuleId, NodeId};

/// The numbers of modules, identities and nodes; each id is less than its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct IdBounds {
    pub modules: u32,
    pub identities: u32,
    pub nodes: u32,
}

impl IdBounds {
    /// No restriction.
    const NONE: Self = Self {
        modules: u32::MAX,
        identities: u32::MAX,
        nodes: u32::MAX,
    };

    /// Decodes data that contains ids of a schema with these bounds; other ids are an error.
    pub fn decode<T>(self, decode: impl FnOnce() -> T) -> T {
        let outer = Restore(CURRENT.replace(self));
        let decoded = decode();
        drop(outer);
        decoded
    }
}

thread_local! {
    static CURRENT: Cell<IdBounds> = const { Cell::new(IdBounds::NONE) };
}

/// Restores the bounds, also after a panic.
struct Restore(IdBounds);

impl Drop for Restore {
    fn drop(&mut self) {
        CURRENT.set(self.0);
    }
}

fn check_id<E: serde::de::Error>(id: u32, number: u32) -> Result<(), E> {
    if id < number || number == u32::MAX {
        return Ok(());
    }
    Err(E::custom("the id is out of range for this schema"))
}

impl<'de> Deserialize<'de> for NodeId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let id = u32::deserialize(deserializer)?;
        check_id(id, CURRENT.get().nodes)?;
        Ok(Self(id))
    }
}

impl<'de> Deserialize<'de> for ModuleId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let id = u16::deserialize(deserializer)?;
        check_id(id.into(), CURRENT.get().modules)?;
        Ok(Self(id))
    }
}

impl<'de> Deserialize<'de> for IdentityId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let id = u32::deserialize(deserializer)?;
        check_id(id, CURRENT.get().identities)?;
        Ok(Self(id))
    }
}

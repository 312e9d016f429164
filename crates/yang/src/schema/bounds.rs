//! How many modules, identities and nodes the schema has whose ids are decoded.
//!
//! An id that is decoded is checked against them, in whatever type it stands, so that a new field with
//! an id is checked too. The limits are of the thread, as derived decoders pass nothing on.

use std::cell::Cell;

use serde::{Deserialize, Deserializer, Serialize};

use crate::schema::{IdentityId, ModuleId, NodeId};

/// Numbers of ids; each id is below its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Bounds {
    pub modules: u32,
    pub identities: u32,
    pub nodes: u32,
}

impl Bounds {
    /// Every id is within these.
    const NONE: Self = Self {
        modules: u32::MAX,
        identities: u32::MAX,
        nodes: u32::MAX,
    };

    /// Decodes something with ids of a schema of these numbers: others are an error.
    pub fn decode<T>(self, decode: impl FnOnce() -> T) -> T {
        let outer = Restore(CURRENT.replace(self));
        let decoded = decode();
        drop(outer);
        decoded
    }
}

thread_local! {
    static CURRENT: Cell<Bounds> = const { Cell::new(Bounds::NONE) };
}

/// Sets the limits back, after a panic too.
struct Restore(Bounds);

impl Drop for Restore {
    fn drop(&mut self) {
        CURRENT.set(self.0);
    }
}

fn below<E: serde::de::Error>(id: u32, number: u32) -> Result<(), E> {
    if id < number || number == u32::MAX {
        return Ok(());
    }
    Err(E::custom("an id is not of this schema"))
}

impl<'de> Deserialize<'de> for NodeId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let id = u32::deserialize(deserializer)?;
        below(id, CURRENT.get().nodes)?;
        Ok(Self(id))
    }
}

impl<'de> Deserialize<'de> for ModuleId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let id = u16::deserialize(deserializer)?;
        below(id.into(), CURRENT.get().modules)?;
        Ok(Self(id))
    }
}

impl<'de> Deserialize<'de> for IdentityId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let id = u32::deserialize(deserializer)?;
        below(id, CURRENT.get().identities)?;
        Ok(Self(id))
    }
}

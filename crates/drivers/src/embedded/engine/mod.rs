//! LMDB: its environment and map, how a directory is opened, who may do what at the same time.

mod check;
mod damage;
mod environment;
mod error;
mod format;
mod gate;
mod open;
mod pages;

pub(in crate::embedded) use check::{check, usage};
pub use damage::tell_of_damage;
pub(in crate::embedded) use environment::{Engine, Keys, Pass};
pub use environment::{GROW_PATIENCE, MAP_BYTES, MAP_BYTES_MIN, READERS_MAX};
pub(in crate::embedded) use error::{commit_error, engine_error, is_map_full};
pub(in crate::embedded) use open::open;

//! LMDB, its environment and map, and the journal over it; opening directories, and access control between
//! threads and processes.

mod check;
mod damage_handler;
mod directory;
mod environment;
mod error;
mod format;
mod journal;
mod open;
mod pages;
mod remap_lock;

pub(in crate::embedded) use check::{check, usage};
pub use damage_handler::install_damage_handler;
pub(in crate::embedded) use directory::{Engine, Reading};
pub use environment::{GROW_TIMEOUT, HEADROOM_BYTES, MAP_BYTES, MAP_BYTES_MIN, READERS_MAX};
pub(in crate::embedded) use environment::{Keys, Lmdb, Shortage};
pub(in crate::embedded) use error::{is_map_full, out_of_order_error};
pub(in crate::embedded) use journal::{
    ChangedRows, CommitLock, FRAME_BYTES_MAX, Fault, OverlayCursor, RowCursor, bounds, lookup,
    merge_rows, remove_range,
};
pub(in crate::embedded) use open::open;

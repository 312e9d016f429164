//! The trait of engines, the layout of cells, and the writes that a batch comes to.

mod cells;
mod gate;
mod lane;
mod layout;
mod plan;
mod record;
#[cfg(test)]
mod simulated;
mod state;

pub(crate) use cells::{Bounds, Cell, Cells, Failure, Follow, Followed, Found, Guard, Read, Write};
pub(crate) use gate::{Gate, ID_BYTES};
pub(crate) use lane::{Lane, Lanes, age_ms, done, gated, now_ms, says_done, says_gated, void};
pub(crate) use layout::{Held, Layout};
pub(crate) use plan::{AnyKey, Plan};
pub(crate) use record::{changes_of, encode_changes, encode_writes, writes_of};

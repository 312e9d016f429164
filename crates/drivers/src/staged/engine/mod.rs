//! The interface of engines, the layout of cells, and planning the writes of a batch.

mod batch_in_progress;
mod cell_store;
mod commit_basis;
mod layout;
mod record;
mod session;
#[cfg(test)]
mod simulated;
mod write_plan;

pub(crate) use batch_in_progress::{Gate, ID_BYTES};
pub(crate) use cell_store::{
    Bounds, Cell, CellStore, Failure, Follow, Followed, Guard, Read, ReadResult, Write,
};
pub(crate) use layout::{Layout, StoredValue};
pub(crate) use record::{changes_of, encode_changes, encode_writes, writes_of};
pub(crate) use session::{
    Session, SessionPool, age_ms, encode_cancelled, encode_done, encode_gated, is_done, is_gated,
    now_ms,
};
pub(crate) use write_plan::{RangeContent, WritePlan};

//! Connections and messages: all that only this driver needs.

mod connection;
mod error;
mod wire;

pub(super) use connection::{Certainty, Engine, Watching};
pub(super) use error::{is_compacted, is_passing};
pub(super) use wire::{
    Compare, DeleteRangeRequest, KeyValue, PutRequest, RangeRequest, RequestOp, ResponseOp,
    TxnRequest, WatchCreateRequest, compare, compare_target, op, result,
};

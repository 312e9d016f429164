//! Connections to etcd, its errors, and its protobuf messages.

mod connection;
mod error;
mod wire;

pub(super) use connection::{Engine, TxnOutcome, WatchStream};
pub(super) use error::{is_compacted, is_transient};
pub(super) use wire::{
    Compare, DeleteRangeRequest, KeyValue, PutRequest, RangeRequest, RequestOp, ResponseOp,
    TxnRequest, WatchCreateRequest, compare, compare_target, op, result,
};

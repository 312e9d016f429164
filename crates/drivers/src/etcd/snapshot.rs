//! Reads: one range request, or a transaction of several range requests.

use espalier_keyspace::{Direction, Result};

use super::engine::{Engine, KeyValue, RangeRequest, RequestOp, ResponseOp, TxnRequest, op};
use crate::staged::engine::{Cell, Read, ReadResult};

/// `RangeRequest.SortOrder.DESCEND`
const DESCEND: i32 = 2;

/// Reads at a revision, or at the newest one.
pub(super) fn read(engine: &Engine, reads: &[Read], at: Option<u64>) -> Result<ReadResult> {
    let revision = at.map_or(0, signed);
    if let ([read], Some(at)) = (reads, at) {
        let response = engine.range(request(read, revision))?;
        return Ok(ReadResult {
            revision: at,
            cells: vec![cells(response.kvs)],
        });
    }
    read_all(engine, reads.iter().map(|read| request(read, revision)))
}

/// Reads at the newest revision of the current server, which may lag behind the cluster. It is the server
/// that applied this process's last write, as long as it responds.
pub(super) fn read_possibly_stale(engine: &Engine, reads: &[Read]) -> Result<ReadResult> {
    let serializable = |read| RangeRequest {
        serializable: true,
        ..request(read, 0)
    };
    read_all(engine, reads.iter().map(serializable))
}

fn read_all(engine: &Engine, requests: impl Iterator<Item = RangeRequest>) -> Result<ReadResult> {
    let operation = |request| RequestOp {
        request: Some(op::Request::Range(request)),
    };
    let response = engine.read_txn(TxnRequest {
        compare: Vec::new(),
        success: requests.map(operation).collect(),
    })?;
    let header = response.header.unwrap_or_default();
    Ok(ReadResult {
        revision: unsigned(header.revision),
        cells: response.responses.into_iter().map(response_cells).collect(),
    })
}

fn request(read: &Read, revision: i64) -> RangeRequest {
    let mut request = RangeRequest {
        revision,
        ..RangeRequest::default()
    };
    match read {
        Read::One(key) => request.key.clone_from(key),
        Read::Some {
            range,
            direction,
            limit,
        } => {
            request.key = range_start(&range.start);
            request.range_end = range.end.clone().unwrap_or_else(|| vec![0]);
            request.limit = i64::try_from(*limit).unwrap_or(i64::MAX);
            if *direction == Direction::Backward {
                request.sort_order = DESCEND;
            }
        }
    }
    request
}

/// The start of a range for etcd, whose keys are never empty.
pub(super) fn range_start(start: &[u8]) -> Vec<u8> {
    if start.is_empty() {
        return vec![0];
    }
    start.to_vec()
}

fn response_cells(response: ResponseOp) -> Vec<Cell> {
    match response.response {
        Some(op::Response::Range(response)) => cells(response.kvs),
        None => Vec::new(),
    }
}

fn cells(kvs: Vec<KeyValue>) -> Vec<Cell> {
    let cell = |kv: KeyValue| Cell {
        key: kv.key,
        value: kv.value,
        created: unsigned(kv.create_revision),
        modified: unsigned(kv.mod_revision),
    };
    kvs.into_iter().map(cell).collect()
}

/// A revision as etcd's integer type.
pub(super) fn signed(revision: u64) -> i64 {
    i64::try_from(revision).unwrap_or(i64::MAX)
}

/// A revision from etcd, which has no negative ones.
pub(super) fn unsigned(revision: i64) -> u64 {
    u64::try_from(revision).unwrap_or_default()
}

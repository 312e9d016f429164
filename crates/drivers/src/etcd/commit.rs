//! Commits: transactions that compare and write.

use super::engine::{
    Compare, DeleteRangeRequest, Engine, PutRequest, RequestOp, TxnOutcome, TxnRequest, compare,
    compare_target, op, result,
};
use super::snapshot::{range_start, signed, unsigned};
use crate::staged::engine::{Failure, Guard, Write};

/// Writes if all guards hold. Returns the new revision; `None` if a guard does not hold.
pub(super) fn transact(
    engine: &Engine,
    guards: &[Guard],
    writes: &[Write],
) -> Result<Option<u64>, Failure> {
    let request = TxnRequest {
        compare: guards.iter().map(comparison).collect(),
        success: writes.iter().map(operation).collect(),
    };
    match engine.txn_once(request) {
        Ok(response) if response.succeeded => {
            let header = response.header.unwrap_or_default();
            Ok(Some(unsigned(header.revision)))
        }
        Ok(_) => Ok(None),
        Err((error, TxnOutcome::Unknown)) => Err(Failure::OutcomeUnknown(error)),
        Err((error, TxnOutcome::NotApplied)) => Err(Failure::NotApplied(error)),
    }
}

fn comparison(guard: &Guard) -> Compare {
    let (result, target, key, union) = match guard {
        Guard::Absent(key) => compare_created(result::EQUAL, key),
        Guard::Present(key) => compare_created(result::GREATER, key),
        Guard::Modified(key, revision) => {
            let union = compare::Target::Modified(signed(*revision));
            (result::EQUAL, compare_target::MOD, key, union)
        }
        Guard::Holds(key, value) => {
            let union = compare::Target::Value(value.clone());
            (result::EQUAL, compare_target::VALUE, key, union)
        }
        Guard::Empty(range) => {
            let mut compare = comparison(&Guard::Absent(range_start(&range.start)));
            compare.range_end = range.end.clone().unwrap_or_else(|| vec![0]);
            return compare;
        }
    };
    Compare {
        result,
        target,
        key: key.clone(),
        union: Some(union),
        range_end: Vec::new(),
    }
}

fn compare_created(result: i32, key: &Vec<u8>) -> (i32, i32, &Vec<u8>, compare::Target) {
    let union = compare::Target::Created(0);
    (result, compare_target::CREATE, key, union)
}

fn operation(write: &Write) -> RequestOp {
    let request = match write {
        Write::Put(key, value) => op::Request::Put(PutRequest {
            key: key.clone(),
            value: value.clone(),
        }),
        Write::Delete(key) => op::Request::DeleteRange(DeleteRangeRequest {
            key: key.clone(),
            range_end: Vec::new(),
        }),
        Write::DeleteRange(range) => op::Request::DeleteRange(DeleteRangeRequest {
            key: range_start(&range.start),
            range_end: range.end.clone().unwrap_or_else(|| vec![0]),
        }),
    };
    RequestOp {
        request: Some(request),
    }
}

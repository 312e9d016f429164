//! Measures a row on an open store, and the raw engine doing the same reads and writes.

use std::ops::Range;

use super::configuration::RawClient;
use super::harness::{Repetitions, measure};
use super::model_store::ModelStore;
use super::recorder::Trace;
use super::row::Row;
use espalier_terminal::Result;

/// The largest number of operations of a row that the raw engine replays.
const TRACES_MAX: u64 = 50;

/// One of this many measured calls is replayed.
const CALLS_PER_TRACE: u64 = 10;

/// The most operations of a commit that changes one entry: its fragment, stamps, indexes, the log.
const SMALL_COMMIT_MAX: usize = 32;

fn is_small_commit(trace: &Trace) -> bool {
    matches!(trace.commits.as_slice(), [operations] if operations.len() <= SMALL_COMMIT_MAX)
}

impl ModelStore {
    /// Measures an operation, which gets the number of the call, from 0. The time of `check` is not measured: it
    /// fails on a wrong result, and reverts the operation. Some additional calls are made to record the reads and
    /// writes for the raw engine.
    pub fn measured<T>(
        &self,
        row: Row,
        plan: Repetitions,
        mut operation: impl FnMut(u64) -> Result<T>,
        mut check: impl FnMut(u64, T) -> Result<()>,
    ) -> Result<Row> {
        let (row, calls) = self.timed(row, plan, &mut operation, &mut check)?;
        let Some(raw) = self.raw_copy()? else {
            return Ok(row);
        };
        self.with_raw_figures(row, &raw, replayed_calls(calls), operation, check)
    }

    /// Like [`Self::measured`], with a raw client that holds a copy of the store already: for operations that only
    /// read. None for memory.
    pub fn measured_with_raw<T>(
        &self,
        raw: Option<&RawClient>,
        row: Row,
        plan: Repetitions,
        mut operation: impl FnMut(u64) -> Result<T>,
        mut check: impl FnMut(u64, T) -> Result<()>,
    ) -> Result<Row> {
        let (row, calls) = self.timed(row, plan, &mut operation, &mut check)?;
        match raw {
            Some(raw) => self.with_raw_figures(row, raw, replayed_calls(calls), operation, check),
            None => Ok(row),
        }
    }

    /// Measures the row. Also returns the number of calls made.
    fn timed<T>(
        &self,
        row: Row,
        plan: Repetitions,
        operation: &mut impl FnMut(u64) -> Result<T>,
        check: &mut impl FnMut(u64, T) -> Result<()>,
    ) -> Result<(Row, u64)> {
        let mut calls = 0;
        let operation = |call| {
            calls = call + 1;
            operation(call)
        };
        let timing = measure(plan, operation, check)?;
        Ok((row.timed(&timing), calls))
    }

    /// Adds the raw engine's figure for the reads and writes of some calls.
    fn with_raw_figures<T>(
        &self,
        row: Row,
        raw: &RawClient,
        calls: Range<u64>,
        mut operation: impl FnMut(u64) -> Result<T>,
        mut check: impl FnMut(u64, T) -> Result<()>,
    ) -> Result<Row> {
        let traces = calls.map(|call| {
            let mut result = None;
            let trace = self.record(|| {
                result = Some(operation(call)?);
                Ok(())
            })?;
            result.map_or(Ok(()), |result| check(call, result))?;
            Ok(trace)
        });
        let traces = traces.collect::<Result<Vec<_>>>()?;
        if traces.iter().all(Trace::is_empty) {
            return Ok(row.note("no access to the engine"));
        }
        let row = row.raw(Some(&raw.replay(&traces)?));
        if !traces.iter().all(is_small_commit) {
            return Ok(row);
        }
        let write = raw.single_write(&traces)?;
        let factor = row.factor(row.median_s, Some(write.median_s));
        Ok(row.note(format!("{factor} of one raw write")))
    }
}

/// The calls to replay on the raw engine, after `calls` measured ones.
fn replayed_calls(calls: u64) -> Range<u64> {
    calls..calls + TRACES_MAX.min(calls / CALLS_PER_TRACE + 1)
}

//! A row measured on an open store, and the raw engine doing the same.

use std::ops::Range;

use super::configuration::RawClient;
use super::harness::{Repetitions, measure};
use super::model_store::ModelStore;
use super::recorder::Trace;
use super::row::Row;
use espalier_terminal::Result;

/// The raw engine does at most this many of the operations of a row.
const TRACES_MAX: u64 = 50;

/// It does one in so many of those that are measured.
const CALLS_PER_TRACE: u64 = 10;

/// Operations of a commit that changes one entry, at most: its fragment, stamps, indexes, the log.
const SMALL_COMMIT_MAX: usize = 32;

fn is_small_commit(trace: &Trace) -> bool {
    matches!(trace.commits.as_slice(), [operations] if operations.len() <= SMALL_COMMIT_MAX)
}

impl ModelStore {
    /// Measures an operation, which is given the number of the call, from 0. `check` is not
    /// measured: it fails at a wrong answer, and puts back what the operation changed. Some more
    /// calls are made to tell the raw engine what they read and write.
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

    /// As [`Self::measured`], beside a raw engine that holds already what the store holds: for
    /// operations that only read. None for memory.
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

    /// The row, and how many calls were made.
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

    /// The row with the raw engine's figure for what some calls read and write.
    fn with_raw_figures<T>(
        &self,
        row: Row,
        raw: &RawClient,
        calls: Range<u64>,
        mut operation: impl FnMut(u64) -> Result<T>,
        mut check: impl FnMut(u64, T) -> Result<()>,
    ) -> Result<Row> {
        let traces = calls.map(|call| {
            let mut answer = None;
            let trace = self.record(|| {
                answer = Some(operation(call)?);
                Ok(())
            })?;
            answer.map_or(Ok(()), |answer| check(call, answer))?;
            Ok(trace)
        });
        let traces = traces.collect::<Result<Vec<_>>>()?;
        if traces.iter().all(Trace::is_empty) {
            return Ok(row.note("the engine is not asked"));
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

/// The calls that the raw engine repeats, after so many that were measured.
fn replayed_calls(calls: u64) -> Range<u64> {
    calls..calls + TRACES_MAX.min(calls / CALLS_PER_TRACE + 1)
}

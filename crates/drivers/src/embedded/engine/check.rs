//! Examining the engine: first every page, then every key.

use std::sync::Arc;

use espalier_keyspace::{Error, ErrorKind, Finding, Result, Usage, VALUE_BYTES_MAX, is_key};
use heed::{RoTxn, WithoutTls};

use super::environment::{Engine, Pass};
use super::error::engine_error;
use super::pages::{self, FINDINGS_MAX, Which};
use crate::files::io_error;

/// How often a state is taken, when others commit so fast that it is gone before it is examined.
const ATTEMPTS: usize = 20;

/// The faults of the newest committed state.
pub(in crate::embedded) fn check(engine: &Arc<Engine>) -> Result<Vec<Finding>> {
    let (txn, pass, findings) = examine(engine)?;
    if findings.is_empty() {
        return check_keys(&txn, &pass);
    }
    Ok(findings)
}

/// How much is stored. Whoever asks is about to read it all, so the pages are examined first: LMDB
/// ends a process that meets a damaged one.
pub(in crate::embedded) fn usage(engine: &Arc<Engine>) -> Result<Usage> {
    let (txn, pass, findings) = examine(engine)?;
    if let Some(finding) = findings.first() {
        let dir = engine.dir.display();
        let message = format!(
            "{dir}: {}: {}; `espalier check embedded:{dir}` tells all",
            finding.place, finding.problem
        );
        return Err(Error::new(ErrorKind::Corrupt, message));
    }
    Ok(Usage {
        keys: pass.keys().len(&txn).map_err(engine_error)?,
        bytes: engine.env.real_disk_size().map_err(engine_error)?,
    })
}

/// The newest committed state, and the faults of its pages.
fn examine(engine: &Arc<Engine>) -> Result<(RoTxn<'static, WithoutTls>, Pass, Vec<Finding>)> {
    let path = engine.data_path();
    let act = |error| io_error(format!("{} cannot be read", path.display()), error);
    for _ in 0..ATTEMPTS {
        let (txn, pass) = engine.begin_read()?;
        let found = pages::examine(&path, Which::Transaction(txn.id() as u64));
        if let Some(findings) = found.map_err(act)? {
            return Ok((txn, pass, findings));
        }
    }
    let (txn, pass) = engine.begin_read()?;
    Ok((txn, pass, Vec::new()))
}

fn check_keys(txn: &RoTxn<'_, WithoutTls>, pass: &Pass) -> Result<Vec<Finding>> {
    let mut findings = Vec::new();
    let told = pass.keys().len(txn).map_err(engine_error)?;
    let mut counted = 0;
    let mut last: Option<&[u8]> = None;
    for pair in pass.keys().iter(txn).map_err(engine_error)? {
        let Ok((key, value)) = pair else {
            findings.push(finding(
                last,
                "the keys after this one cannot be read".into(),
            ));
            return Ok(findings);
        };
        findings.extend(check_pair(last, key, value));
        last = Some(key);
        counted += 1;
        if findings.len() >= FINDINGS_MAX {
            return Ok(findings);
        }
    }
    if counted != told {
        let problem = format!("{counted} keys can be read; the engine says that it has {told}");
        findings.push(finding(None, problem));
    }
    Ok(findings)
}

fn check_pair(last: Option<&[u8]>, key: &[u8], value: &[u8]) -> Option<Finding> {
    let problem = if last.is_some_and(|last| last >= key) {
        "the key is not after the one before it"
    } else if !is_key(key) {
        "the key has a length that no key can have"
    } else if value.len() > VALUE_BYTES_MAX {
        "the value is longer than any value can be"
    } else {
        return None;
    };
    Some(finding(Some(key), problem.into()))
}

fn finding(key: Option<&[u8]>, problem: String) -> Finding {
    let place = key.map_or_else(
        || "data.mdb".into(),
        |key| format!("key {}", key.escape_ascii()),
    );
    Finding { place, problem }
}

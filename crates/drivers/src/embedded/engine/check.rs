//! Examining the engine: first every page, then every key.

use std::sync::Arc;

use espalier_keyspace::{Finding, Result, VALUE_BYTES_MAX, is_key};
use heed::{RoTxn, WithoutTls};

use super::environment::{Engine, Pass};
use super::error::engine_error;
use super::pages::{self, FINDINGS_MAX, Which};
use crate::files::io_error;

/// How often a state is taken, when others commit so fast that it is gone before it is examined.
const ATTEMPTS: usize = 20;

/// The faults of the newest committed state.
pub(in crate::embedded) fn check(engine: &Arc<Engine>) -> Result<Vec<Finding>> {
    for _ in 0..ATTEMPTS {
        let (txn, pass) = engine.begin_read()?;
        let path = engine.data_path();
        let found = pages::examine(&path, Which::Transaction(txn.id() as u64));
        let act = || format!("{} cannot be read", path.display());
        match found.map_err(|error| io_error(act(), error))? {
            Some(findings) if findings.is_empty() => return check_keys(&txn, &pass),
            Some(findings) => return Ok(findings),
            None => continue,
        }
    }
    let (txn, pass) = engine.begin_read()?;
    check_keys(&txn, &pass)
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

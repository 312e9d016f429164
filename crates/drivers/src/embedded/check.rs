//! Examining the engine: every page that holds keys is read, and what it holds is compared.

use espalier_keyspace::{Finding, KEY_BYTES_MAX, Result, VALUE_BYTES_MAX};
use heed::{RoTxn, WithoutTls};

use super::engine::{Keys, Pass};
use super::error::engine_error;

/// The most findings that are told; a damaged engine may have any number.
const FINDINGS_MAX: usize = 100;

pub(super) fn check(txn: &RoTxn<'_, WithoutTls>, pass: &Pass) -> Result<Vec<Finding>> {
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
    } else if key.is_empty() || key.len() > KEY_BYTES_MAX {
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

/// The engine's count of its keys, for usage.
pub(super) fn count(txn: &RoTxn<'_, WithoutTls>, keys: &Keys) -> Result<u64> {
    keys.len(txn).map_err(engine_error)
}

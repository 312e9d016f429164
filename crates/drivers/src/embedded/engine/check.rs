//! Checks the engine: first every page, then every key.

use espalier_keyspace::{Error, ErrorKind, Finding, Result, Usage, VALUE_BYTES_MAX, is_key};
use heed::{RoTxn, WithoutTls};

use super::directory::{Engine, Reading};
use super::environment::Lmdb;
use super::pages::{self, CheckedState, FINDINGS_MAX};
use crate::files::path_error;

/// How often a state is read again, if other processes commit so fast that it is overwritten during the
/// check.
const ATTEMPTS: usize = 20;

/// Checks the newest committed state.
pub(in crate::embedded) fn check(engine: &Engine) -> Result<Vec<Finding>> {
    let (reading, mut findings) = check_newest(engine)?;
    findings.extend(engine.journal.check()?);
    if findings.is_empty() {
        return check_keys(&reading.txn, &engine.base);
    }
    Ok(findings)
}

/// Returns how much is stored; `count` counts the keys. The caller is about to read all data, so the pages are checked first: LMDB
/// aborts the process on a damaged page.
pub(in crate::embedded) fn usage(
    engine: &Engine,
    count: impl FnOnce(&Reading) -> Result<u64>,
) -> Result<Usage> {
    let (reading, findings) = check_newest(engine)?;
    if let Some(finding) = findings.first() {
        let dir = engine.dir().display();
        let message = format!(
            "{}: {}; `espalier check embedded:{dir}` lists all problems",
            finding.place, finding.problem
        );
        return Err(Error::new(ErrorKind::Corrupt, message));
    }
    let pages = engine.base.env.real_disk_size();
    let pages = pages.map_err(|error| engine.base.error(error))?;
    Ok(Usage {
        keys: count(&reading)?,
        bytes: pages + engine.journal.bytes()?,
    })
}

/// Checks the pages of the newest committed state.
fn check_newest(engine: &Engine) -> Result<(Reading, Vec<Finding>)> {
    engine.journal.check_not_replaced()?;
    let path = engine.base.data_path();
    let act = path_error(&path, "read");
    for _ in 0..ATTEMPTS {
        let reading = engine.begin_read()?;
        let found = pages::check_pages(&path, CheckedState::Transaction(reading.txn.id() as u64));
        if let Some(findings) = found.map_err(act)? {
            return Ok((reading, findings));
        }
    }
    Ok((engine.begin_read()?, Vec::new()))
}

fn check_keys(txn: &RoTxn<'_, WithoutTls>, base: &Lmdb) -> Result<Vec<Finding>> {
    let failed = |error| base.error(error);
    let mut findings = Vec::new();
    let recorded = base.keys.len(txn).map_err(failed)?;
    let mut counted = 0;
    let mut last: Option<&[u8]> = None;
    for pair in base.keys.iter(txn).map_err(failed)? {
        let Ok((key, value)) = pair else {
            findings.push(match last {
                Some(last) => at_key(last, "the keys after this one cannot be read"),
                None => in_file(base, "the keys cannot be read".into()),
            });
            return Ok(findings);
        };
        findings.extend(check_pair(last, key, value));
        last = Some(key);
        counted += 1;
        if findings.len() >= FINDINGS_MAX {
            return Ok(findings);
        }
    }
    if counted != recorded {
        let problem = format!("{counted} keys can be read; the engine has recorded {recorded}");
        findings.push(in_file(base, problem));
    }
    Ok(findings)
}

fn check_pair(last: Option<&[u8]>, key: &[u8], value: &[u8]) -> Option<Finding> {
    let problem = if last.is_some_and(|last| last >= key) {
        "the key is not greater than the previous one"
    } else if !is_key(key) {
        "the key has an invalid length"
    } else if value.len() > VALUE_BYTES_MAX {
        "the value exceeds the size limit"
    } else {
        return None;
    };
    Some(at_key(key, problem))
}

fn at_key(key: &[u8], problem: &str) -> Finding {
    Finding {
        place: format!("key {}", key.escape_ascii()),
        problem: problem.into(),
    }
}

fn in_file(base: &Lmdb, problem: String) -> Finding {
    Finding {
        place: base.data_path().display().to_string(),
        problem,
    }
}

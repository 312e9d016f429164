//! Checks the file, first its structure, then every entry; and measures its size.

use std::sync::Arc;

use espalier_keyspace::{Finding, KEY_BYTES_MAX, Result, Usage, VALUE_BYTES_MAX};
use rusqlite::{Connection, ErrorCode, Params};

use super::error::engine_error;
use super::long_value::value;
use super::open::Engine;

/// The most findings that a check returns.
const FINDINGS_MAX: usize = 100;

/// Checks the newest committed state.
pub(in crate::sqlite) fn check(engine: &Arc<Engine>) -> Result<Vec<Finding>> {
    let reader = engine.read()?;
    let mut findings = corruption_as_finding(check_structure(reader.connection()))?;
    if findings.is_empty() {
        findings = corruption_as_finding(check_entries(reader.connection()))?;
    }
    if findings.is_empty() {
        findings = corruption_as_finding(check_long_values(reader.connection()))?;
    }
    Ok(findings)
}

/// Turns an error for a damaged file into a finding.
fn corruption_as_finding(found: rusqlite::Result<Vec<Finding>>) -> Result<Vec<Finding>> {
    match found {
        Err(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseCorrupt) => {
            Ok(vec![file_finding(error.to_string())])
        }
        found => found.map_err(engine_error),
    }
}

fn file_finding(problem: String) -> Finding {
    Finding {
        place: "the file".into(),
        problem,
    }
}

fn check_structure(connection: &Connection) -> rusqlite::Result<Vec<Finding>> {
    let mut statement = connection.prepare(&format!("PRAGMA integrity_check({FINDINGS_MAX})"))?;
    let lines = statement.query_map([], |row| row.get::<_, String>(0))?;
    let lines: Vec<_> = lines.collect::<rusqlite::Result<_>>()?;
    let problems = lines.into_iter().filter(|line| line != "ok");
    Ok(problems.map(file_finding).collect())
}

fn check_entries(connection: &Connection) -> rusqlite::Result<Vec<Finding>> {
    let text = concat!(
        "SELECT key FROM entries WHERE length(key) NOT BETWEEN 1 AND ?1 OR length(",
        value!(),
        ") > ?2 LIMIT ?3"
    );
    let limits = [KEY_BYTES_MAX, VALUE_BYTES_MAX, FINDINGS_MAX].map(|limit| limit as i64);
    let problem = "the length of the key or value is out of range";
    findings_at_keys(connection, text, limits, problem)
}

fn check_long_values(connection: &Connection) -> rusqlite::Result<Vec<Finding>> {
    let text = "SELECT key FROM entries WHERE long_value IS NOT NULL \
                AND long_value NOT IN (SELECT id FROM long_values) LIMIT ?1";
    let limit = [FINDINGS_MAX as i64];
    let mut findings = findings_at_keys(
        connection,
        text,
        limit,
        "the long value of the key is missing",
    )?;
    let orphans = "SELECT count(*) FROM long_values WHERE id NOT IN \
                   (SELECT long_value FROM entries WHERE long_value IS NOT NULL)";
    let orphans: i64 = connection.query_row(orphans, [], |row| row.get(0))?;
    if orphans > 0 {
        findings.push(file_finding(format!(
            "{orphans} long values belong to no key"
        )));
    }
    Ok(findings)
}

/// Returns one finding for each key that a query returns.
fn findings_at_keys(
    connection: &Connection,
    text: &str,
    values: impl Params,
    problem: &str,
) -> rusqlite::Result<Vec<Finding>> {
    let mut statement = connection.prepare(text)?;
    let keys = statement.query_map(values, |row| row.get::<_, Vec<u8>>(0))?;
    keys.map(|key| {
        Ok(Finding {
            place: format!("key {}", key?.escape_ascii()),
            problem: problem.into(),
        })
    })
    .collect()
}

/// Returns the number of keys and the size of the file.
pub(in crate::sqlite) fn usage(engine: &Arc<Engine>) -> Result<Usage> {
    let reader = engine.read()?;
    let number = |text: &str| {
        let read = reader.connection().query_row(text, [], |row| row.get(0));
        read.map(i64::cast_unsigned).map_err(engine_error)
    };
    Ok(Usage {
        keys: number("SELECT count(*) FROM entries")?,
        bytes: number("PRAGMA page_count")? * number("PRAGMA page_size")?,
    })
}

//! Checks the stored data, measures its size, and makes it durable.

use std::sync::Arc;

use espalier_keyspace::{
    ErrorKind, Finding, KEY_BYTES_MAX, PrefetchList, Usage, VALUE_BYTES_MAX, Version,
};

use super::connection::Connection;
use super::error::Failure;
use super::open::Engine;
use super::reads::{bytes, version};
use super::statements::Query;
use crate::postgres::Durability;

/// The most findings that a check returns.
const FINDINGS_MAX: i64 = 100;

/// Begins a transaction whose commit waits for the disk, and so for all commits before it.
const FLUSH: &str = "BEGIN; SET LOCAL synchronous_commit = on; ";

/// Checks the newest committed state. If the server fails because of damage, the error is the finding.
pub(in crate::postgres) fn check(engine: &Arc<Engine>) -> espalier_keyspace::Result<Vec<Finding>> {
    let (mut lease, (newest, _)) = engine.read(&PrefetchList::new())?;
    let found = examine(lease.connection()?, newest);
    let error = match found {
        Ok(findings) => return Ok(findings),
        Err(failure) => failure.into_error(&engine.setup),
    };
    match error.kind() {
        ErrorKind::Corrupt => Ok(vec![Finding {
            place: engine.setup.address.clone(),
            problem: error.to_string(),
        }]),
        _ => Err(error),
    }
}

fn examine(connection: &mut Connection, newest: Version) -> Result<Vec<Finding>, Failure> {
    let limits = [KEY_BYTES_MAX, VALUE_BYTES_MAX].map(|limit| limit as i32);
    let strange = connection.query(Query::OutOfLimits, &[&limits[0], &limits[1], &FINDINGS_MAX])?;
    let mut findings = Vec::new();
    for row in strange {
        let key = bytes(&row, 0)?;
        findings.push(Finding {
            place: format!("key {}", key.escape_ascii()),
            problem: "the length of the key or value is out of range".into(),
        });
    }
    let after = newest.0.cast_signed();
    let later = connection.query(Query::LoggedAfter, &[&after, &1i64])?;
    if let Some(row) = later.first() {
        let later = version(row)?;
        findings.push(Finding {
            place: "the table \"commits\"".into(),
            problem: format!("it has version {}, the state is {}", later.0, newest.0),
        });
    }
    Ok(findings)
}

/// Returns the number of keys and the bytes of keys and values.
pub(in crate::postgres) fn usage(engine: &Arc<Engine>) -> espalier_keyspace::Result<Usage> {
    let (mut lease, _) = engine.read(&PrefetchList::new())?;
    let rows = lease.connection()?.query(Query::Usage, &[]);
    let rows = rows.map_err(|failure| failure.into_error(&engine.setup))?;
    let number = |column| {
        let number = rows.first().map(|row| row.try_get::<_, i64>(column));
        let number = number.unwrap_or(Ok(0)).map_err(Failure::Database);
        number.map(i64::cast_unsigned)
    };
    let counted = number(0).and_then(|keys| {
        Ok(Usage {
            keys,
            bytes: number(1)?,
        })
    });
    counted.map_err(|failure| failure.into_error(&engine.setup))
}

/// Makes every commit durable.
pub(in crate::postgres) fn flush(engine: &Arc<Engine>) -> espalier_keyspace::Result<()> {
    if engine.setup.config.durability == Durability::Durable {
        return Ok(());
    }
    // Updates the row that every commit updates, without changing it.
    let schema = &engine.setup.config.schema;
    let touch = format!("UPDATE \"{schema}\".state SET version = version WHERE id = 1; COMMIT");
    engine.queue.lead(|| {
        engine.with_writer(|connection| {
            let flushed = connection.text(&format!("{FLUSH}{touch}"));
            flushed.map_err(|failure| failure.into_error(&engine.setup))
        })
    })
}

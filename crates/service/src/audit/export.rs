//! Records as JSON lines.

use std::io::Write;

use espalier_keyspace::Driver;

use super::error::AuditError;
use super::query::{AUDIT_PAGE_MAX, AuditQuery, query};
use super::record::AuditRecord;

/// Writes a record as one line of JSON. Control characters are escaped.
///
/// # Errors
/// Those of `out`.
pub fn write_json_line(record: &AuditRecord, out: &mut dyn Write) -> Result<(), AuditError> {
    let mut line = serde_json::to_vec(record)?;
    line.push(b'\n');
    out.write_all(&line)?;
    Ok(())
}

/// Writes every record that the query selects, without regard to its limit, and returns their number. Each
/// page is read from a new snapshot, so an export of any length works on engines with limited history.
///
/// # Errors
/// Those of the engine and of `out`.
pub fn export(
    driver: &dyn Driver,
    selected: &AuditQuery,
    out: &mut dyn Write,
) -> Result<u64, AuditError> {
    let mut page_query = AuditQuery {
        limit: AUDIT_PAGE_MAX,
        ..selected.clone()
    };
    let mut records = 0;
    loop {
        let page = query(&*driver.snapshot()?, &page_query)?;
        for record in &page.records {
            write_json_line(record, out)?;
        }
        records += page.records.len() as u64;
        if page.next.is_none() {
            return Ok(records);
        }
        page_query.after = page.next;
    }
}

//! Reading the log in pages.

use espalier_keyspace::{Direction, KeyRange, Snapshot};
use espalier_store::Timestamp;

use super::criteria::AuditCriteria;
use super::error::AuditError;
use super::record::AuditRecord;
use super::sequence::{AuditSequence, records_range};

/// Maximum number of records of a page.
pub const AUDIT_PAGE_MAX: usize = 1000;

/// Maximum number of rows that are read for a page. A page of a rare kind of records may therefore be empty and
/// still have a next page.
pub const AUDIT_SCAN_MAX: usize = 10_000;

/// The order of records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AuditOrder {
    /// The latest record first.
    #[default]
    NewestFirst,
    /// The earliest record first.
    OldestFirst,
}

/// A request for a page.
#[derive(Clone, Debug, Default)]
pub struct AuditQuery {
    /// The first time, inclusive.
    pub from: Option<Timestamp>,
    /// The last time, exclusive.
    pub until: Option<Timestamp>,
    /// Conditions on the records.
    pub criteria: AuditCriteria,
    /// The order.
    pub order: AuditOrder,
    /// The maximum number of records, at most [`AUDIT_PAGE_MAX`]; 0 for that.
    pub limit: usize,
    /// The page begins after this record, in the order of the query: [`AuditPage::next`] of the page before.
    pub after: Option<AuditSequence>,
}

/// A page of records.
#[derive(Clone, Debug, Default)]
pub struct AuditPage {
    /// The records, in the order of the query.
    pub records: Vec<AuditRecord>,
    /// Where the next page begins; `None` if there are no further rows.
    pub next: Option<AuditSequence>,
    /// The number of rows that were read.
    pub scanned: usize,
    /// The number of rows that this version cannot read, because they are damaged or of a later format.
    pub unreadable: usize,
}

impl AuditQuery {
    /// The rows that remain to be read.
    fn range(&self) -> KeyRange {
        let mut range = records_range();
        if let Some(from) = self.from {
            range.start = AuditSequence::first_at(from).key();
        }
        if let Some(until) = self.until {
            range.end = Some(AuditSequence::first_at(until).key());
        }
        if let Some(after) = self.after {
            let key = after.key();
            let rest = match self.order {
                AuditOrder::NewestFirst => KeyRange::new(Vec::new(), key),
                AuditOrder::OldestFirst => KeyRange {
                    start: [key.as_slice(), &[0]].concat(),
                    end: None,
                },
            };
            range = range.intersection(&rest);
        }
        range
    }
}

/// Reads a page from a snapshot. Costs one descent, then time in proportion to the rows that are read, at most
/// [`AUDIT_SCAN_MAX`].
///
/// # Errors
/// Those of the engine.
pub fn query(snapshot: &dyn Snapshot, query: &AuditQuery) -> Result<AuditPage, AuditError> {
    let mut page = AuditPage::default();
    let range = query.range();
    if range.is_empty() {
        return Ok(page);
    }
    let limit = match query.limit {
        0 => AUDIT_PAGE_MAX,
        limit => limit.min(AUDIT_PAGE_MAX),
    };
    let direction = match query.order {
        AuditOrder::NewestFirst => Direction::Backward,
        AuditOrder::OldestFirst => Direction::Forward,
    };
    let mut cursor = snapshot.scan(&range, direction)?;
    while let Some((key, value)) = cursor.next()? {
        page.scanned += 1;
        match AuditRecord::decode(key, value) {
            Some(record) if query.criteria.matches(&record.entry) => page.records.push(record),
            Some(_) => {}
            None => page.unreadable += 1,
        }
        if page.records.len() == limit || page.scanned >= AUDIT_SCAN_MAX {
            page.next = AuditSequence::of_key(key);
            break;
        }
    }
    Ok(page)
}

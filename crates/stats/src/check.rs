//! The check of stored statistics.

use espalier_keyspace::{Direction, Driver, Finding};

use crate::layout::{Layout, RowKind};
use crate::number::take_varint;
use crate::packed::{Codec, Recent, Table};
use crate::retention_clock::TrustedTime;
use crate::row::{Row, entries, row};
use crate::sketch::Sketch;
use crate::{Error, Metric, Result, Settings, Stats, Status};

/// The maximum number of faults that one check reports.
const FINDINGS_MAX: usize = 10_000;

impl Stats {
    /// Reads every row of the statistics below `prefix`, and returns those that are unreadable or stored
    /// under the wrong key (at most 10,000). Statistics that cannot be opened can be checked as well.
    /// `progress` gets the number of rows so far.
    pub fn check(
        driver: &dyn Driver,
        prefix: &[u8],
        progress: &mut dyn FnMut(u64),
    ) -> Result<Vec<Finding>> {
        let layout = Layout::new(prefix);
        let snapshot = driver.snapshot()?;
        let mut cursor = snapshot.scan(&layout.everything(), Direction::Forward)?;
        let (mut findings, mut rows) = (Vec::new(), 0);
        while let Some((key, value)) = cursor.next()? {
            rows += 1;
            progress(rows);
            if let Err(error) = examine(&layout, key, value) {
                findings.push(Finding {
                    place: format!("statistics key {}", key.escape_ascii()),
                    problem: error.to_string(),
                });
            }
            if findings.len() == FINDINGS_MAX {
                break;
            }
        }
        Ok(findings)
    }
}

fn examine(layout: &Layout, key: &[u8], mut value: &[u8]) -> Result<()> {
    let kind = layout
        .kind_of(key)
        .ok_or_else(|| Error::corrupt("the key is of an unknown kind"))?;
    let own_key = match kind {
        RowKind::Settings => {
            return Settings::decode(value)?.map_or(Ok(()), |settings| settings.check());
        }
        RowKind::Numbers => {
            if let Row::Leaf(values) = row(value)? {
                entries(values).try_for_each(|entry| entry.map(drop))?;
            }
            return Ok(());
        }
        RowKind::Recent => {
            let mut recent = Recent::decode(value, &mut Codec::default())?;
            let mut tiers = recent.tiers.iter_mut();
            return tiers.try_for_each(|tier| tier.table().map(drop));
        }
        RowKind::Block => {
            Table::decode(value, &mut Codec::default())?;
            return Ok(());
        }
        RowKind::Sketch => {
            Sketch::decode(value)?;
            return Ok(());
        }
        RowKind::Request => {
            take_varint(&mut value)?;
            return Ok(());
        }
        RowKind::RequestTime => return Ok(()),
        RowKind::Clock => {
            TrustedTime::decode(value)?;
            return Ok(());
        }
        RowKind::Metric => layout.metric(&Metric::decode(value)?),
        RowKind::Status => layout.status(&Status::decode(value)?.metric),
    };
    match own_key == key {
        true => Ok(()),
        false => Err(Error::corrupt(
            "the row is stored under the key of another row",
        )),
    }
}

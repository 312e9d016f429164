//! Adds to the latest values of a metric, which may be in an earlier bucket.

use espalier_keyspace::{Direction, KeyRange, Snapshot};

use super::plan::Target;
use super::rows::Rows;
use crate::layout::{bucket, bucket_start};
use crate::row::{Row, entries, row};
use crate::{Number, Path, PathValues, Result};

/// The amounts to add to a bucket so that each value becomes the latest existing value plus the given one.
pub(super) fn add_to_latest(
    rows: &mut Rows<'_>,
    snapshot: &dyn Snapshot,
    target: &Target,
    values: &PathValues,
) -> Result<PathValues> {
    let key = target.key();
    let mut added = values.clone();
    for (path, number) in values {
        if rows.number(&key, path)?.is_none()
            && let Some(latest) = latest_before(rows, snapshot, target, path)?
        {
            added.set(
                path.clone(),
                latest.plus(*number).map_err(|error| error.at(path))?,
            );
        }
    }
    Ok(added)
}

/// The value of a path in the last earlier bucket that has it. The commit requires that this bucket is
/// unchanged; a later bucket that another process starts in the meantime is not detected.
fn latest_before(
    rows: &mut Rows<'_>,
    snapshot: &dyn Snapshot,
    target: &Target,
    path: &Path,
) -> Result<Option<Number>> {
    let buckets = &target.buckets;
    let first = target.kept_from;
    let first = first.map_or_else(|| buckets.clone(), |first| bucket(buckets, first));
    let range = KeyRange::new(first, target.key());
    let start = |key: &[u8]| bucket_start(&key[buckets.len()..]);
    // The changes of this commit are newer than the stored rows.
    let mut changed: Vec<i64> = rows.keys(&range).map(start).collect::<Result<_>>()?;
    let mut cursor = snapshot.scan(&range, Direction::Backward)?;
    loop {
        let stored = match cursor.next()? {
            Some((key, value)) => Some((start(key)?, has(value, path)?)),
            None => None,
        };
        let is_later = |changed: &mut i64| stored.is_none_or(|(stored, _)| *changed >= stored);
        while let Some(start) = changed.pop_if(is_later) {
            if let Some(number) = rows.number(&bucket(buckets, start), path)? {
                return Ok(Some(number));
            }
        }
        match stored {
            Some((start, true)) => return rows.number(&bucket(buckets, start), path),
            Some((_, false)) => {}
            None => return Ok(None),
        }
    }
}

/// Whether a stored row has a value of a path.
fn has(stored: &[u8], path: &Path) -> Result<bool> {
    match row(stored)? {
        Row::Spread => Ok(false),
        Row::Leaf(all) => {
            for entry in entries(all) {
                if entry?.path == path.as_str().as_bytes() {
                    return Ok(true);
                }
            }
            Ok(false)
        }
    }
}

//! Reads the sketches of a range.

use std::collections::BTreeMap;

use espalier_keyspace::{Direction, PrefetchList};

use crate::layout::BucketKind;
use crate::limits::{BUCKETS_MAX, ROWS_AT_ONCE};
use crate::read_values::bucket_keys;
use crate::stats::Stats;
use crate::{Error, Metric, Path, Range, Result, Sketch, Timestamp};

/// The sketches of one bucket.
#[derive(Clone)]
pub struct SketchPoint {
    /// The start of the bucket.
    pub at: Timestamp,
    /// The sketches by their paths.
    pub sketches: BTreeMap<Path, Sketch>,
}

impl Stats {
    /// The sketches of a metric over a range, for buckets that have any, in one scan.
    pub fn sketches(&self, metric: impl Into<Metric>, range: Range) -> Result<Vec<SketchPoint>> {
        let metric = metric.into();
        metric.check()?;
        let Some((buckets, span)) =
            self.key_prefix_and_span(BucketKind::Sketches, &metric, range)?
        else {
            return Ok(Vec::new());
        };
        let keys = bucket_keys(&buckets, span);
        let expect = |expected: &mut PrefetchList| expected.range(keys.clone(), ROWS_AT_ONCE);
        let snapshot = self.driver.snapshot_with_prefetch(&expect)?;
        let mut cursor = snapshot.scan(&keys, Direction::Forward)?;
        let mut points: Vec<SketchPoint> = Vec::new();
        while let Some((key, row)) = cursor.next()? {
            let rest = key.get(buckets.len()..).unwrap_or_default();
            let start = crate::layout::bucket_start(rest)?;
            let at = Timestamp::from_second(start).unwrap_or(Timestamp::MIN);
            let (path, sketch) = Sketch::decode(row)?;
            if points.last().is_none_or(|point| point.at != at) {
                if points.len() == BUCKETS_MAX {
                    return Err(Error::limit(format!("more than {BUCKETS_MAX} buckets")));
                }
                points.push(SketchPoint {
                    at,
                    sketches: BTreeMap::new(),
                });
            }
            if let Some(point) = points.last_mut() {
                point.sketches.insert(path, sketch);
            }
        }
        Ok(points)
    }

    /// The merged sketch of a path over a whole range.
    pub fn sketch(&self, metric: impl Into<Metric>, range: Range, path: &Path) -> Result<Sketch> {
        let mut merged = Sketch::default();
        for point in self.sketches(metric, range)? {
            if let Some(sketch) = point.sketches.get(path) {
                merged.merge(sketch);
            }
        }
        Ok(merged)
    }
}

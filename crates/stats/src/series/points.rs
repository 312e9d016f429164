//! The points of a series, and slices of them.

use std::collections::BTreeSet;

use crate::stats::Stats;
use crate::{Error, Metric, Path, Point, Range, Result};

/// The values of a metric over a range, for further computations.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Series {
    points: Vec<Point>,
    /// The paths of computed values, also if no point has a value.
    pub(super) computed: BTreeSet<Path>,
}

impl Stats {
    /// The values of a metric over a range, as a series.
    pub fn series(&self, metric: impl Into<Metric>, range: Range) -> Result<Series> {
        self.values(metric, range).map(Series::new)
    }
}

impl Series {
    /// The series of these points.
    pub fn new(points: Vec<Point>) -> Self {
        Self {
            points,
            computed: BTreeSet::new(),
        }
    }

    /// The points, the oldest first.
    pub fn points(&self) -> &[Point] {
        &self.points
    }

    pub(super) fn points_mut(&mut self) -> &mut [Point] {
        &mut self.points
    }

    /// The points in `count` slices of equal length, the oldest first. A remainder at the old end is in no
    /// slice.
    pub fn slices(&self, count: usize) -> Result<impl Iterator<Item = &[Point]>> {
        let length = self.points.len().checked_div(count).unwrap_or(0);
        if length == 0 && !(count == 1 && self.points.is_empty()) {
            return Err(Error::argument(format!(
                "{} points cannot be divided into {count} slices",
                self.points.len()
            )));
        }
        let rest = self.points.len() - length * count;
        // A series without points has one slice without points.
        let empty = (length == 0).then_some(&self.points[..0]);
        let slices = self.points[rest..].chunks_exact(length.max(1));
        Ok(empty.into_iter().chain(slices))
    }
}

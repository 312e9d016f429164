//! Series for plots: values over time, and totals by category.

use std::collections::{BTreeMap, BTreeSet};

use super::Series;
use crate::{Number, Path, Pattern, PatternMatch, Point, Result, Timestamp};

/// For each path the values over time, in slices; `None` for points without a value.
pub type Timelines = BTreeMap<Path, Vec<Vec<(Timestamp, Option<Number>)>>>;

/// For each slice the totals by category.
pub type Categories = Vec<BTreeMap<String, Number>>;

impl Series {
    /// The paths with values or computed values that match a pattern, including those one name below, so that
    /// the path of a group stands for its values.
    pub fn paths(&self, pattern: &Pattern) -> BTreeSet<Path> {
        let mut paths: BTreeSet<&Path> = self.computed.iter().collect();
        let points = self.points().iter();
        paths.extend(points.flat_map(|point| point.values.iter().map(|(path, _)| path)));
        let fitting = paths
            .into_iter()
            .filter(|path| pattern.match_path(path) != PatternMatch::None);
        fitting.cloned().collect()
    }

    /// The values over time of every path that matches the pattern.
    pub fn timeline(&self, pattern: &Pattern, slices: usize) -> Result<Timelines> {
        let parts: Vec<_> = self.slices(slices)?.collect();
        let line = |path: &Path, points: &[Point]| {
            points
                .iter()
                .map(|point| (point.at, point.values.get(path)))
                .collect()
        };
        let lines = self.paths(pattern).into_iter().map(|path| {
            let lines = parts.iter().map(|points| line(&path, points)).collect();
            (path, lines)
        });
        Ok(lines.collect())
    }

    /// The totals of every path that matches the pattern.
    pub fn category(&self, pattern: &Pattern, slices: usize) -> Result<Categories> {
        self.category_by(pattern, slices, |path, number| (path.to_string(), number))
    }

    /// The totals by category; `name` maps each path and value to a category.
    pub fn category_by(
        &self,
        pattern: &Pattern,
        slices: usize,
        mut name: impl FnMut(&Path, Number) -> (String, Number),
    ) -> Result<Categories> {
        let paths = self.paths(pattern);
        let mut all = Vec::new();
        for points in self.slices(slices)? {
            let mut totals: BTreeMap<String, Number> = BTreeMap::new();
            for (path, &number) in points.iter().flat_map(|point| point.values.iter()) {
                if paths.contains(path) {
                    let (category, number) = name(path, number);
                    let total = totals.entry(category).or_insert(Number::ZERO);
                    *total = total.plus(number)?;
                }
            }
            all.push(totals);
        }
        Ok(all)
    }

    /// The paths with the largest totals, the largest first; equal totals are sorted by name.
    pub fn top(&self, pattern: &Pattern, count: usize) -> Result<Vec<(String, Number)>> {
        let mut totals: Vec<_> = self.category(pattern, 1)?.into_iter().flatten().collect();
        totals.sort_by(|left, right| right.1.cmp(&left.1).then_with(|| left.0.cmp(&right.0)));
        totals.truncate(count);
        Ok(totals)
    }
}

//! Aggregates: one number from many.

use std::str::FromStr;

use super::Series;
use crate::{Error, Number, Path, Point, Result};

/// The aggregate function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Aggregate {
    /// Their sum; 0 for none.
    Sum,
    /// Their mean; 0 for none.
    Mean,
    /// The smallest.
    Min,
    /// The largest.
    Max,
    /// The number of values.
    Count,
}

impl Aggregate {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Sum, Self::Mean, Self::Min, Self::Max, Self::Count];

    /// The name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Sum => "sum",
            Self::Mean => "mean",
            Self::Min => "min",
            Self::Max => "max",
            Self::Count => "count",
        }
    }

    /// The aggregate of some numbers; `None` for the minimum and the maximum of none.
    pub fn of(self, numbers: impl IntoIterator<Item = Number>) -> Result<Option<Number>> {
        let mut numbers = numbers.into_iter();
        Ok(match self {
            Self::Sum => Some(numbers.try_fold(Number::ZERO, Number::plus)?),
            Self::Min => numbers.min(),
            Self::Max => numbers.max(),
            Self::Count => Some(Number::from(numbers.count() as u64)),
            Self::Mean => {
                let mut count = 0_u64;
                let counted = numbers.inspect(|_| count += 1);
                let sum = { counted }.try_fold(Number::ZERO, Number::plus)?;
                Some(sum.divide(Number::from(count)).unwrap_or(Number::ZERO))
            }
        })
    }
}

impl FromStr for Aggregate {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let found = Self::ALL
            .into_iter()
            .find(|aggregate| aggregate.as_str() == text);
        found.ok_or_else(|| {
            let message = format!("{text:?} is not an aggregate; use sum, mean, min, max or count");
            Error::syntax(message)
        })
    }
}

impl Series {
    /// The aggregate of the values at a path, one for each of `slices` slices. Points without the value do
    /// not count.
    ///
    /// # Errors
    /// If the path itself has no value in any point, but there are values below it.
    pub fn aggregate(
        &self,
        aggregate: Aggregate,
        path: &Path,
        slices: usize,
    ) -> Result<Vec<Option<Number>>> {
        self.check_value(path)?;
        let of = |points: &[Point]| {
            aggregate.of(points.iter().filter_map(|point| point.values.get(path)))
        };
        self.slices(slices)?.map(of).collect()
    }

    /// Rejects the path of a group of values.
    fn check_value(&self, path: &Path) -> Result<()> {
        let points = self.points();
        if self.computed.contains(path)
            || points.iter().any(|point| point.values.get(path).is_some())
        {
            return Ok(());
        }
        let mut values = points.iter().flat_map(|point| &point.values);
        let Some((below, _)) = values.find(|(other, _)| other.is_below(path)) else {
            return Ok(());
        };
        Err(Error::argument(format!(
            "{path} is a group of values, not a value; name one of its values, such as {below}"
        )))
    }
}

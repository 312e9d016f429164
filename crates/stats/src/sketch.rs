//! Sketches: what is kept of observed values, so that quantiles can be told with a relative error
//! of 1 %, and sketches of several buckets merged without any further error.

use sketches_ddsketch::{Config, DDSketch};

use crate::number::{put_text, take_text};
use crate::{Error, Number, Path, Result};

/// What is kept of observed values.
#[derive(Clone)]
pub struct Sketch(DDSketch);

impl Default for Sketch {
    fn default() -> Self {
        Self(DDSketch::new(Config::defaults()))
    }
}

impl Sketch {
    /// Puts a value in.
    pub fn observe(&mut self, value: Number) {
        self.0.add(value.to_f64());
    }

    /// Puts in what another sketch has.
    pub fn merge(&mut self, other: &Self) -> Result<()> {
        self.0
            .merge(&other.0)
            .map_err(|error| Error::corrupt(format!("two sketches differ in their kind: {error}")))
    }

    /// The value below which the part `quantile` (0 to 1) of the values is; `None` where nothing
    /// was observed.
    pub fn quantile(&self, quantile: f64) -> Result<Option<f64>> {
        if !(0.0..=1.0).contains(&quantile) {
            return Err(Error::argument(format!(
                "a quantile is between 0 and 1, not {quantile}"
            )));
        }
        let estimated = self
            .0
            .quantile(quantile)
            .map_err(|error| Error::argument(error.to_string()))?;
        // An estimate lies in the middle of a bin, which may be beyond every value.
        Ok(match (estimated, self.min(), self.max()) {
            (Some(value), Some(min), Some(max)) => Some(value.max(min).min(max)),
            (estimated, _, _) => estimated,
        })
    }

    /// How many values were observed.
    pub fn count(&self) -> u64 {
        self.0.count() as u64
    }

    /// The sum of the values, rounded as floats are.
    pub fn sum(&self) -> Option<f64> {
        self.0.sum()
    }

    /// The smallest value.
    pub fn min(&self) -> Option<f64> {
        self.0.min()
    }

    /// The largest value.
    pub fn max(&self) -> Option<f64> {
        self.0.max()
    }

    /// The path and the sketch in a stored row.
    pub(crate) fn decode(mut row: &[u8]) -> Result<(Path, Self)> {
        let path = Path::stored(take_text(&mut row)?)?;
        let sketch = DDSketch::from_java_bytes(row)
            .map_err(|error| Error::corrupt(format!("a stored sketch cannot be read: {error}")))?;
        Ok((path, Self(sketch)))
    }

    fn encode(&self, path: &Path) -> Vec<u8> {
        let mut row = Vec::new();
        put_text(&mut row, path.as_str().as_bytes());
        row.extend(self.0.to_java_bytes());
        row
    }
}

/// The row of a sketch after one more value.
pub(crate) fn observed(row: Option<&[u8]>, path: &Path, value: Number) -> Result<Vec<u8>> {
    let mut sketch = match row {
        Some(row) => Sketch::decode(row)?.1,
        None => Sketch::default(),
    };
    sketch.observe(value);
    Ok(sketch.encode(path))
}

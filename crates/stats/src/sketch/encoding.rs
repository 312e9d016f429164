//! The encoding of sketches: that of `DDSketchWithExactSummaryStatistics` in DataDog's sketches-java, with
//! these parts, each after its flag.

use super::bins::{Bins, GAMMA};
use super::estimate::Sketch;
use crate::number::{put_text, put_varint, take_text, take_varint};
use crate::{Error, Number, Path, Result};

const COUNT: u8 = 0xa0;
const MIN: u8 = 0x88;
const MAX: u8 = 0x8c;
const SUM: u8 = 0x84;
/// The ratio of the boundaries of a bin, and the offset of bin indexes.
const MAPPING: u8 = 0x02;
const ZEROS: u8 = 0x04;
/// Bins with values above 0: their number, then for each the difference to the previous index, and its count.
const ABOVE: u8 = 0x05;
/// The same for values below 0.
const BELOW: u8 = 0x07;

/// Bits by which a stored count is rotated, so that small counts end with zeros.
const ROTATED: u32 = 6;

/// The maximum length of a count in bytes.
const COUNT_BYTES_MAX: u32 = 9;

impl Sketch {
    /// Decodes the path and the sketch of a stored row.
    pub(crate) fn decode(mut row: &[u8]) -> Result<(Path, Self)> {
        let path = Path::stored(take_text(&mut row)?)?;
        let mut sketch = Self::default();
        while let Some(flag) = row.split_off_first() {
            match *flag {
                COUNT => drop(take_count(&mut row)?),
                MIN => sketch.min = take_float(&mut row)?,
                MAX => sketch.max = take_float(&mut row)?,
                SUM => sketch.sum = take_float(&mut row)?,
                MAPPING => {
                    let (gamma, offset) = (take_float(&mut row)?, take_float(&mut row)?);
                    if (gamma - GAMMA).abs() > 1e-12 || offset != 0.0 {
                        return Err(Error::corrupt("a stored sketch has bins of another kind"));
                    }
                }
                ZEROS => sketch.zeros = take_count(&mut row)?,
                ABOVE => sketch.above = take_bins(&mut row)?,
                BELOW => sketch.below = take_bins(&mut row)?,
                other => {
                    let message = format!("a stored sketch has an unknown part {other:#04x}");
                    return Err(Error::corrupt(message));
                }
            }
        }
        Ok((path, sketch))
    }

    fn encode(&self, path: &Path) -> Vec<u8> {
        let mut row = Vec::new();
        put_text(&mut row, path.as_str().as_bytes());
        if self.count() > 0 {
            row.push(COUNT);
            put_count(&mut row, self.count());
            put_float(&mut row, MIN, self.min);
            put_float(&mut row, MAX, self.max);
        }
        if self.sum != 0.0 {
            put_float(&mut row, SUM, self.sum);
        }
        put_float(&mut row, MAPPING, GAMMA);
        row.extend(0_f64.to_le_bytes());
        if self.zeros > 0 {
            row.push(ZEROS);
            put_count(&mut row, self.zeros);
        }
        put_bins(&mut row, ABOVE, &self.above);
        put_bins(&mut row, BELOW, &self.below);
        row
    }
}

/// The row of a sketch with one more value.
pub(crate) fn observed(row: Option<&[u8]>, path: &Path, value: Number) -> Result<Vec<u8>> {
    let mut sketch = match row {
        Some(row) => Sketch::decode(row)?.1,
        None => Sketch::default(),
    };
    sketch.observe(value);
    Ok(sketch.encode(path))
}

fn truncated() -> Error {
    Error::corrupt("a stored sketch is truncated")
}

fn put_float(row: &mut Vec<u8>, flag: u8, value: f64) {
    row.push(flag);
    row.extend(value.to_le_bytes());
}

fn take_float(row: &mut &[u8]) -> Result<f64> {
    let bytes = row.split_off(..8).ok_or_else(truncated)?;
    let bytes = bytes.try_into().map_err(|_| truncated())?;
    Ok(f64::from_le_bytes(bytes))
}

/// Encodes a count as a float in variable length, short for small counts.
fn put_count(row: &mut Vec<u8>, count: u64) {
    let bits = (count as f64 + 1.0).to_bits();
    let mut bits = bits.wrapping_sub(1_f64.to_bits()).rotate_left(ROTATED);
    for _ in 1..COUNT_BYTES_MAX {
        let next = (bits >> 57) as u8;
        bits <<= 7;
        if bits == 0 {
            row.push(next);
            return;
        }
        row.push(next | 0x80);
    }
    row.push((bits >> 56) as u8);
}

fn take_count(row: &mut &[u8]) -> Result<u64> {
    let mut bits = 0_u64;
    for group in 1..=COUNT_BYTES_MAX {
        let byte = u64::from(*row.split_off_first().ok_or_else(truncated)?);
        if group == COUNT_BYTES_MAX {
            bits |= byte;
            break;
        }
        bits |= (byte & 0x7f) << (64 - 7 * group);
        if byte < 0x80 {
            break;
        }
    }
    let bits = bits.rotate_right(ROTATED).wrapping_add(1_f64.to_bits());
    Ok((f64::from_bits(bits) - 1.0) as u64)
}

fn put_bins(row: &mut Vec<u8>, flag: u8, bins: &Bins) {
    let counts = bins.iter();
    if counts.len() == 0 {
        return;
    }
    row.push(flag);
    put_varint(row, counts.len() as u128);
    let mut before = 0;
    for (bin, count) in counts {
        let distance = i64::from(bin) - before;
        put_varint(row, u128::from(((distance >> 63) ^ (distance << 1)) as u64));
        put_count(row, count);
        before = i64::from(bin);
    }
}

fn take_bins(row: &mut &[u8]) -> Result<Bins> {
    let mut bins = Bins::default();
    let mut bin = 0_i64;
    for _ in 0..take_varint(row)? {
        let distance = u64::try_from(take_varint(row)?).map_err(|_| truncated())?;
        let distance = (distance >> 1) as i64 ^ -((distance & 1) as i64);
        bin = bin.checked_add(distance).ok_or_else(truncated)?;
        let place = i32::try_from(bin).map_err(|_| truncated())?;
        bins.add(place, take_count(row)?);
    }
    Ok(bins)
}

#[cfg(test)]
mod tests {
    use sketches_ddsketch::{Config, DDSketch};

    use super::*;

    fn path() -> Path {
        Path::parse("ms").expect("a path")
    }

    fn row(values: &[f64]) -> Vec<u8> {
        let mut row = None;
        for &value in values {
            let value = Number::from_f64(value).expect("finite");
            row = Some(observed(row.as_deref(), &path(), value).expect("a row"));
        }
        row.expect("values")
    }

    /// The reference is the library that wrote rows before, and that other languages use: the same bytes, in
    /// both directions.
    #[test]
    fn rows_equal_those_of_the_library() {
        for count in [1, 2, 10, 200, 3000] {
            let values: Vec<f64> = (0..count)
                .map(|number| f64::from(number % 41 - 20) * 1.17_f64.powi(number % 60 - 30))
                .collect();
            let mut library = DDSketch::new(Config::defaults());
            values.iter().for_each(|value| library.add(*value));
            let mut expected = Vec::new();
            put_text(&mut expected, b"ms");
            expected.extend(library.to_java_bytes());
            assert_eq!(row(&values), expected, "{count}");
            let (_, read) = Sketch::decode(&expected).expect("a row");
            for part in 0..=100 {
                let part = f64::from(part) / 100.0;
                let reference = library.quantile(part).expect("in range").expect("values");
                let estimate = read.quantile(part).expect("in range").expect("values");
                let close = (estimate - reference).abs() <= 0.011 * reference.abs();
                assert!(close, "{part}: {estimate} and {reference}");
            }
        }
    }

    #[test]
    fn truncated_or_unknown_parts_are_errors() {
        let whole = row(&[1.0, -2.0, 0.0, 4e5]);
        for length in 3..whole.len() {
            // A part may be missing; the rest is decoded or rejected.
            Sketch::decode(&whole[..length]).ok();
        }
        assert!(Sketch::decode(&[&whole[..], &[0xff]].concat()).is_err());
        assert!(Sketch::decode(&whole[..whole.len() - 1]).is_err());
    }
}

//! The values of one path in consecutive buckets.

use super::float_column::{put_floats, take_floats};
use super::integers::{put_integers, take_integers};
use crate::limits::SCALE_MAX;
use crate::number::{put_number, take_number};
use crate::{Decimal, Error, Number, Result};

/// No bucket has a value.
const ABSENT: u8 = 0;

/// All values are equal: one number.
const SAME: u8 = 1;

/// Each value as a number.
const NUMBERS: u8 = 2;

/// Decimals with the same scale: the scale, then their integers.
const DECIMALS: u8 = 3;

/// Floats, combined by exclusive or.
const FLOATS: u8 = 4;

/// Added to the code if some buckets have no value: a bitmap of the buckets that have one follows.
const WITH_GAPS: u8 = 0x80;

/// Writes columns, with memory that is used again for each.
#[derive(Default)]
pub(super) struct ColumnWriter {
    numbers: Vec<Number>,
    integers: Vec<i64>,
    pub(super) deltas: Vec<i64>,
}

impl ColumnWriter {
    /// Appends the values of consecutive buckets.
    pub(super) fn put(
        &mut self,
        out: &mut Vec<u8>,
        cells: impl Iterator<Item = Option<Number>> + Clone,
    ) {
        self.numbers.clear();
        let mut count = 0;
        for cell in cells.clone() {
            count += 1;
            self.numbers.extend(cell);
        }
        if self.numbers.is_empty() {
            return out.push(ABSENT);
        }
        let code = out.len();
        out.push(0);
        if self.numbers.len() < count {
            out.extend(std::iter::repeat_n(0, count.div_ceil(8)));
            for (index, cell) in cells.enumerate() {
                out[code + 1 + index / 8] |= u8::from(cell.is_some()) << (index % 8);
            }
            out[code] = WITH_GAPS;
        }
        out[code] |= self.put_numbers(out);
    }

    /// Appends the numbers in the shortest code; returns it.
    fn put_numbers(&mut self, out: &mut Vec<u8>) -> u8 {
        let first = self.numbers[0];
        if self
            .numbers
            .iter()
            .all(|number| is_identical(*number, first))
        {
            put_number(out, first);
            return SAME;
        }
        let begin = out.len();
        let code = if self.find_integers(out) {
            put_integers(out, &self.integers, &mut self.deltas);
            DECIMALS
        } else if self.numbers.iter().all(|number| !number.is_exact()) {
            put_floats(out, self.numbers.iter().map(|number| number.to_f64()));
            FLOATS
        } else {
            NUMBERS
        };
        let plain: usize = match code {
            FLOATS => self.numbers.len() * 9,
            _ => usize::MAX,
        };
        if code == NUMBERS || out.len() - begin > plain {
            out.truncate(begin);
            self.numbers
                .iter()
                .for_each(|number| put_number(out, *number));
            return NUMBERS;
        }
        code
    }

    /// Appends the scale of decimals and collects their integers; returns `false`, and appends nothing, if they are not
    /// integers of 64 bits with one scale.
    fn find_integers(&mut self, out: &mut Vec<u8>) -> bool {
        let mut scale = 0;
        for number in &self.numbers {
            let Number::Exact(decimal) = number else {
                return false;
            };
            scale = scale.max(decimal.scale());
        }
        self.integers.clear();
        for number in &self.numbers {
            let Number::Exact(decimal) = number else {
                return false;
            };
            let scaled = match decimal.scale() == scale {
                true => Some(decimal.mantissa()),
                false => decimal.scaled(scale),
            };
            match scaled.map(i64::try_from) {
                Some(Ok(integer)) => self.integers.push(integer),
                _ => return false,
            }
        }
        out.push(scale);
        true
    }
}

/// Whether two numbers have the same encoding; equal numbers may be a decimal and a float.
fn is_identical(left: Number, right: Number) -> bool {
    match (left, right) {
        (Number::Exact(left), Number::Exact(right)) => left == right,
        (Number::Float(left), Number::Float(right)) => left.to_bits() == right.to_bits(),
        _ => false,
    }
}

/// Removes the column of `count` buckets from the front of `bytes`; calls `put` with the index of each bucket that has
/// a value. `integers` is scratch memory.
pub(super) fn take_column(
    bytes: &mut &[u8],
    count: usize,
    integers: &mut Vec<i64>,
    put: &mut impl FnMut(usize, Number),
) -> Result<()> {
    let code = *bytes.split_off_first().ok_or_else(damaged)?;
    if code & WITH_GAPS == 0 {
        return take_numbers(bytes, code, count, integers, put);
    }
    let bitmap = bytes.split_off(..count.div_ceil(8)).ok_or_else(damaged)?;
    let is_present = |index: &usize| bitmap[index / 8] >> (index % 8) & 1 == 1;
    let present = (0..count).filter(is_present).count();
    let mut indexes = (0..count).filter(is_present);
    let mut put_next = |_: usize, number: Number| {
        if let Some(index) = indexes.next() {
            put(index, number);
        }
    };
    take_numbers(bytes, code & !WITH_GAPS, present, integers, &mut put_next)
}

fn take_numbers(
    bytes: &mut &[u8],
    code: u8,
    count: usize,
    integers: &mut Vec<i64>,
    put: &mut impl FnMut(usize, Number),
) -> Result<()> {
    match code {
        ABSENT => {}
        SAME => {
            let number = take_number(bytes)?;
            (0..count).for_each(|index| put(index, number));
        }
        NUMBERS => {
            for index in 0..count {
                put(index, take_number(bytes)?);
            }
        }
        DECIMALS => {
            let scale = *bytes.split_off_first().ok_or_else(damaged)?;
            if scale > SCALE_MAX {
                return Err(damaged());
            }
            take_integers(bytes, count, integers)?;
            for (index, integer) in integers.iter().enumerate() {
                let decimal = Decimal::new(i128::from(*integer), u32::from(scale));
                put(index, Number::Exact(decimal.ok_or_else(damaged)?));
            }
        }
        FLOATS => {
            let mut put_float = |index, float: f64| put(index, Number::Float(float));
            take_floats(bytes, count, &mut put_float)?;
        }
        _ => return Err(damaged()),
    }
    Ok(())
}

fn damaged() -> Error {
    Error::corrupt("a stored column is damaged")
}

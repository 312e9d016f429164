//! Parsing of numbers.

use std::str::FromStr;

use super::value::{Decimal, Number};
use crate::limits::SCALE_MAX;
use crate::{Error, Result};

/// Digits of the longest exact number.
const DIGITS_MAX: usize = 38;

/// The number of significant digits of a float: a float is written with at most this many digits.
const FLOAT_DIGITS: usize = 17;

impl FromStr for Number {
    type Err = Error;

    /// Parses `12`, `-0.5`, `1e9`. A number that cannot be exact (0.0014285714285714286 has too many decimal
    /// places) becomes a float, like one with an exponent, unless it has more digits than a float keeps.
    fn from_str(text: &str) -> Result<Self> {
        let parts = Parts::split(text).ok_or_else(|| no_number(text))?;
        if let Some(decimal) = parts.decimal() {
            return Ok(Self::Exact(decimal));
        }
        if parts.exponent.is_none() && parts.digits() > FLOAT_DIGITS {
            return Err(Error::syntax(format!(
                "{text} has more digits than the {DIGITS_MAX} of an exact number, or more than {SCALE_MAX} decimal places: remove some, or write it with an exponent for the nearest float"
            )));
        }
        let value: f64 = text.parse().map_err(|_| no_number(text))?;
        if value.is_finite() {
            Ok(Self::Float(value))
        } else {
            Err(Error::syntax(format!("{text} is out of range")))
        }
    }
}

/// The exact number in the shortest decimal form of a float, if there is one.
pub(super) fn exact_of_float(value: f64) -> Option<Decimal> {
    if value.abs() < 1e15 && value.fract() == 0.0 {
        return Decimal::new(value as i128, 0);
    }
    Parts::split(&format!("{value:e}"))?.decimal()
}

/// The parts of a number in JSON syntax; a leading `+` or `.` is allowed as well.
struct Parts<'a> {
    negative: bool,
    whole: &'a str,
    fraction: &'a str,
    exponent: Option<i64>,
}

impl<'a> Parts<'a> {
    fn split(text: &'a str) -> Option<Self> {
        let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
        let (digits, exponent) = match unsigned.split_once(['e', 'E']) {
            Some((digits, exponent)) => (digits, Some(exponent.parse().ok()?)),
            None => (unsigned, None),
        };
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        let all_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
        let any = !whole.is_empty() || !fraction.is_empty();
        (any && all_digits(whole) && all_digits(fraction)).then_some(Self {
            negative: text.starts_with('-'),
            whole,
            fraction,
            exponent,
        })
    }

    /// The number of digits from the first to the last nonzero one.
    fn digits(&self) -> usize {
        let all = [self.whole, self.fraction].concat();
        all.trim_matches('0').len()
    }

    fn decimal(&self) -> Option<Decimal> {
        let fraction = self.fraction.trim_end_matches('0');
        let mut mantissa: i128 = 0;
        for digit in self.whole.bytes().chain(fraction.bytes()) {
            let digit = i128::from(digit - b'0');
            mantissa = mantissa.checked_mul(10)?.checked_add(digit)?;
        }
        if self.negative {
            mantissa = -mantissa;
        }
        let scale = i64::try_from(fraction.len()).ok()?;
        let scale = scale.checked_sub(self.exponent.unwrap_or(0))?;
        if mantissa == 0 {
            return Some(Decimal::ZERO);
        }
        if scale >= 0 {
            return Decimal::new(mantissa, u32::try_from(scale).ok()?);
        }
        let power = u32::try_from(-scale).ok()?;
        Decimal::new(mantissa.checked_mul(10_i128.checked_pow(power)?)?, 0)
    }
}

fn no_number(text: &str) -> Error {
    let shown: String = text.chars().take(40).collect();
    Error::syntax(format!("{shown:?} is not a number"))
}

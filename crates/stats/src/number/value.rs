//! The number type.

use std::cmp::Ordering;
use std::fmt;

use crate::limits::SCALE_MAX;
use crate::{Error, Result};

/// Every integer up to this one has an exact float.
const FLOAT_INTEGER_MAX: u128 = 1 << 53;

/// An exact number: `mantissa / 10^scale`, with the smallest possible scale.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Decimal {
    mantissa: i128,
    scale: u8,
}

impl Decimal {
    /// Zero.
    pub const ZERO: Self = Self {
        mantissa: 0,
        scale: 0,
    };

    /// `mantissa / 10^scale`, or `None` if the scale exceeds [`SCALE_MAX`] even without trailing zeros.
    pub fn new(mut mantissa: i128, mut scale: u32) -> Option<Self> {
        if mantissa == 0 {
            return Some(Self::ZERO);
        }
        while scale > 0 && mantissa % 10 == 0 {
            mantissa /= 10;
            scale -= 1;
        }
        let scale = u8::try_from(scale).ok().filter(|&s| s <= SCALE_MAX)?;
        Some(Self { mantissa, scale })
    }

    /// The scaled integer.
    pub fn mantissa(self) -> i128 {
        self.mantissa
    }

    /// The number of decimal places.
    pub fn scale(self) -> u8 {
        self.scale
    }

    /// The mantissa for a larger scale, if it is in range.
    pub(crate) fn scaled(self, scale: u8) -> Option<i128> {
        let power = 10_i128.pow(u32::from(scale - self.scale));
        self.mantissa.checked_mul(power)
    }

    /// The nearest float.
    pub fn to_f64(self) -> f64 {
        if self.mantissa.unsigned_abs() <= FLOAT_INTEGER_MAX {
            return self.mantissa as f64 / 10_f64.powi(i32::from(self.scale));
        }
        // Correctly rounded; dividing two rounded numbers is not.
        self.to_string().parse().unwrap_or(f64::NAN)
    }
}

impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.scale == 0 {
            return write!(f, "{}", self.mantissa);
        }
        let sign = if self.mantissa < 0 { "-" } else { "" };
        let power = 10_u128.pow(u32::from(self.scale));
        let magnitude = self.mantissa.unsigned_abs();
        let width = usize::from(self.scale);
        write!(
            f,
            "{sign}{}.{:0width$}",
            magnitude / power,
            magnitude % power
        )
    }
}

/// A number that is counted, summed or set. Never infinite or NaN.
#[derive(Clone, Copy, Debug)]
pub enum Number {
    /// An integer or a decimal, exact.
    Exact(Decimal),
    /// A float with more digits than an exact number can have, or a sum with a float.
    Float(f64),
}

impl Number {
    /// Zero.
    pub const ZERO: Self = Self::Exact(Decimal::ZERO);

    /// One.
    pub const ONE: Self = Self::Exact(Decimal {
        mantissa: 1,
        scale: 0,
    });

    /// Converts a float by its shortest decimal form: 0.1 becomes the exact number 0.1. One with more digits
    /// than an exact number has stays a float; infinities and NaN are rejected.
    pub fn from_f64(value: f64) -> Result<Self> {
        if !value.is_finite() {
            return Err(Error::syntax(format!("{value} is not a finite number")));
        }
        Ok(super::parse::exact_of_float(value).map_or(Self::Float(value), Self::Exact))
    }

    /// The nearest float.
    pub fn to_f64(self) -> f64 {
        match self {
            Self::Exact(decimal) => decimal.to_f64(),
            Self::Float(value) => value,
        }
    }

    /// Whether it is exact: no float was involved.
    pub fn is_exact(self) -> bool {
        matches!(self, Self::Exact(_))
    }

    /// Whether it is zero.
    pub fn is_zero(self) -> bool {
        self.to_f64() == 0.0
    }
}

impl From<i64> for Number {
    fn from(value: i64) -> Self {
        Self::Exact(Decimal {
            mantissa: i128::from(value),
            scale: 0,
        })
    }
}

impl From<u64> for Number {
    fn from(value: u64) -> Self {
        Self::Exact(Decimal {
            mantissa: i128::from(value),
            scale: 0,
        })
    }
}

impl From<i32> for Number {
    fn from(value: i32) -> Self {
        Self::from(i64::from(value))
    }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exact(decimal) => decimal.fmt(f),
            Self::Float(value) => {
                let plain = format!("{value:?}");
                if plain.contains('e') || plain.parse::<Self>().is_ok() {
                    f.write_str(&plain)
                } else {
                    write!(f, "{value:e}")
                }
            }
        }
    }
}

impl PartialEq for Number {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Number {}

impl PartialOrd for Number {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Number {
    fn cmp(&self, other: &Self) -> Ordering {
        if let (Self::Exact(left), Self::Exact(right)) = (self, other) {
            let scale = left.scale.max(right.scale);
            if let (Some(left), Some(right)) = (left.scaled(scale), right.scaled(scale)) {
                return left.cmp(&right);
            }
        }
        self.to_f64().total_cmp(&other.to_f64())
    }
}

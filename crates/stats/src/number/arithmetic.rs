//! Arithmetic of numbers.

use super::value::{Decimal, Number};
use crate::{Error, ErrorKind, Result};

impl Number {
    /// The sum: exact if both numbers are, otherwise a float. A sum out of range is an error.
    pub fn plus(self, other: Self) -> Result<Self> {
        if let (Self::Exact(left), Self::Exact(right)) = (self, other) {
            return add_exact(left, right)
                .map(Self::Exact)
                .ok_or_else(|| overflow(self, other));
        }
        let sum = self.to_f64() + other.to_f64();
        if sum.is_finite() {
            Ok(Self::Float(sum))
        } else {
            Err(overflow(self, other))
        }
    }

    /// The number times a count: the same as adding it that often with [`Self::plus`].
    pub fn times(self, count: u64) -> Result<Self> {
        let product = match self {
            Self::Exact(decimal) => decimal
                .mantissa()
                .checked_mul(i128::from(count))
                .and_then(|mantissa| Decimal::new(mantissa, u32::from(decimal.scale())))
                .map(Self::Exact),
            Self::Float(value) => Some(value * count as f64)
                .filter(|product| product.is_finite())
                .map(Self::Float),
        };
        product.ok_or_else(|| overflow(self, Self::from(count)))
    }

    /// The difference.
    pub fn minus(self, other: Self) -> Result<Self> {
        self.plus(other.negate())
    }

    /// The negated number.
    #[must_use]
    pub fn negate(self) -> Self {
        match self {
            Self::Exact(decimal) => {
                let negative = decimal.mantissa().checked_neg();
                let negative = negative.and_then(|m| Decimal::new(m, u32::from(decimal.scale())));
                negative.map_or(Self::Float(-decimal.to_f64()), Self::Exact)
            }
            Self::Float(value) => Self::Float(-value),
        }
    }

    /// The product: exact if both numbers are and it is in range, otherwise the nearest float.
    pub fn multiply(self, other: Self) -> Option<Self> {
        if let (Self::Exact(left), Self::Exact(right)) = (self, other) {
            let scale = u32::from(left.scale()) + u32::from(right.scale());
            let product = left.mantissa().checked_mul(right.mantissa());
            if let Some(exact) = product.and_then(|mantissa| Decimal::new(mantissa, scale)) {
                return Some(Self::Exact(exact));
            }
        }
        finite(self.to_f64() * other.to_f64())
    }

    /// The quotient: exact if it has few enough digits, otherwise the nearest float; `None` for a division by
    /// zero.
    pub fn divide(self, other: Self) -> Option<Self> {
        if other.is_zero() {
            return None;
        }
        if let (Self::Exact(left), Self::Exact(right)) = (self, other)
            && let Some(exact) = divide_exact(left, right)
        {
            return Some(Self::Exact(exact));
        }
        finite(self.to_f64() / other.to_f64())
    }

    /// The square root; `None` for a negative number.
    pub fn square_root(self) -> Option<Self> {
        let root = self.to_f64().sqrt();
        Self::from_f64(root).ok()
    }
}

fn finite(value: f64) -> Option<Number> {
    value.is_finite().then_some(Number::Float(value))
}

fn add_exact(left: Decimal, right: Decimal) -> Option<Decimal> {
    let scale = left.scale().max(right.scale());
    let sum = left.scaled(scale)?.checked_add(right.scaled(scale)?)?;
    Decimal::new(sum, u32::from(scale))
}

fn divide_exact(left: Decimal, right: Decimal) -> Option<Decimal> {
    let scale = left.scale().max(right.scale());
    let (mut left, right) = (left.scaled(scale)?, right.scaled(scale)?);
    for digits in 0..=u32::from(crate::limits::SCALE_MAX) {
        if left % right == 0 {
            return Decimal::new(left / right, digits);
        }
        left = left.checked_mul(10)?;
    }
    None
}

fn overflow(left: Number, right: Number) -> Error {
    let message = format!("the sum of {left} and {right} is out of range");
    Error::new(ErrorKind::Overflow, message)
}

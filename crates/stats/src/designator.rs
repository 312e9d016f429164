//! Designators: map a value to a class of a histogram, named by its upper bound.

use crate::{Decimal, Error, Number, Result};

/// The exponent of the largest power of ten that a geometric designator names.
const POWER_MAX: u32 = 18;

/// The classes of a histogram.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Designator {
    /// Classes of equal width: multiples of `step` from `min` to `max`.
    Linear {
        /// Values up to this are in the first class.
        min: Number,
        /// Values above this are in the last class, `max+`.
        max: Number,
        /// The width of a class, a positive integer.
        step: u64,
    },
    /// Classes whose bounds are powers of ten.
    Geometric {
        /// Values up to this are in the first class; not negative.
        min: Number,
        /// Values above this are in the last class.
        max: Number,
    },
    /// Classes with the given bounds.
    Custom {
        /// The bounds, ascending.
        bounds: Vec<Number>,
    },
}

impl Designator {
    /// Classes of equal width.
    pub fn linear(min: Number, max: Number, step: u64) -> Result<Self> {
        if step == 0 || max < min {
            return Err(Error::argument(
                "a linear designator needs min less than max, and a step of at least 1",
            ));
        }
        Ok(Self::Linear { min, max, step })
    }

    /// Classes whose bounds are powers of ten. A negative `min` counts as 0.
    pub fn geometric(min: Number, max: Number) -> Result<Self> {
        let min = min.max(Number::ZERO);
        if max < min {
            return Err(Error::argument(
                "a geometric designator needs min less than max",
            ));
        }
        Ok(Self::Geometric { min, max })
    }

    /// Classes with these bounds.
    pub fn custom(mut bounds: Vec<Number>) -> Result<Self> {
        bounds.sort();
        bounds.dedup();
        if bounds.is_empty() {
            return Err(Error::argument(
                "a custom designator needs at least one bound",
            ));
        }
        Ok(Self::Custom { bounds })
    }

    /// The name of the class of a value: its upper bound, or the last bound followed by `+`.
    pub fn designate(&self, value: Number) -> String {
        match self {
            Self::Linear { min, max, step } => linear(value, *min, *max, *step),
            Self::Geometric { min, max } => geometric(value, *min, *max),
            Self::Custom { bounds } => custom(value, bounds),
        }
    }
}

fn linear(value: Number, min: Number, max: Number, step: u64) -> String {
    if value <= min {
        return min.to_string();
    }
    if value > max {
        return format!("{max}+");
    }
    let step = i128::from(step);
    let ceiling = ceiling(value);
    let classes = ceiling.div_euclid(step) + i128::from(ceiling.rem_euclid(step) != 0);
    classes.saturating_mul(step).to_string()
}

fn ceiling(value: Number) -> i128 {
    match value {
        Number::Exact(decimal) => {
            let power = 10_i128.pow(u32::from(decimal.scale()));
            let whole = decimal.mantissa().div_euclid(power);
            whole + i128::from(decimal.mantissa().rem_euclid(power) != 0)
        }
        Number::Float(value) => value.ceil() as i128,
    }
}

/// The smallest power of ten that is not less than a value, except that 10, 100, ... themselves, and 0.1,
/// 0.01, ..., are in the class above: classes are determined by the number of digits.
fn geometric(value: Number, min: Number, max: Number) -> String {
    if value <= min {
        return with_point(min);
    }
    if value > max {
        return format!("{}+", with_point(max));
    }
    if value > Number::ONE {
        let whole = ceiling(value.negate()).unsigned_abs();
        return format!("1{}.0", "0".repeat(whole.to_string().len()));
    }
    let below = (1..=POWER_MAX).take_while(|&digits| {
        Decimal::new(1, digits).is_some_and(|power| value < Number::Exact(power))
    });
    match below.count() {
        0 => "1.0".to_owned(),
        zeros => format!("0.{}1", "0".repeat(zeros - 1)),
    }
}

fn with_point(bound: Number) -> String {
    let text = bound.to_string();
    if text.contains(['.', 'e']) {
        text
    } else {
        text + ".0"
    }
}

fn custom(value: Number, bounds: &[Number]) -> String {
    let at = bounds.partition_point(|bound| *bound < value);
    match (bounds.get(at), bounds.last()) {
        (Some(bound), _) => bound.to_string(),
        (None, Some(last)) => format!("{last}+"),
        (None, None) => String::new(),
    }
}

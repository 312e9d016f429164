//! Integers (RFC 7950 §9.2) and decimals (§9.3).

use std::borrow::Cow;

use super::encoding::Encoding;
use super::mismatch::Mismatch;
use super::parse::Input;
use super::text::is_space;
use crate::schema::{IntegerWidth, Intervals};
use crate::value::Value;

impl Intervals {
    /// Returns whether a number is in one of the intervals, or there are none.
    pub(super) fn contain(&self, value: i128) -> bool {
        self.parts.is_empty()
            || self
                .parts
                .iter()
                .any(|part| part.min <= value && value <= part.max)
    }
}

impl IntegerWidth {
    fn bounds(self) -> (i128, i128) {
        match self {
            Self::Int8 => (i8::MIN.into(), i8::MAX.into()),
            Self::Int16 => (i16::MIN.into(), i16::MAX.into()),
            Self::Int32 => (i32::MIN.into(), i32::MAX.into()),
            Self::Int64 => (i64::MIN.into(), i64::MAX.into()),
            Self::Uint8 => (0, u8::MAX.into()),
            Self::Uint16 => (0, u16::MAX.into()),
            Self::Uint32 => (0, u32::MAX.into()),
            Self::Uint64 => (0, u64::MAX.into()),
        }
    }
}

pub(super) fn integer<'t>(
    input: Input<'_>,
    width: IntegerWidth,
    range: &'t Intervals,
) -> Result<Value, Mismatch<'t>> {
    let value = match input.encoding {
        Encoding::ModelDefault => any_base(trimmed(input.text)),
        Encoding::JsonNumber => decimal_digits(&without_exponent(input.text)),
        _ => decimal_digits(trimmed(input.text)),
    };
    let value = value.ok_or(Mismatch::Malformed)?;
    let (min, max) = width.bounds();
    if value < min || value > max {
        return Err(Mismatch::TooLarge);
    }
    if !range.contain(value) {
        return Err(Mismatch::Range(range));
    }
    let converted = match width {
        IntegerWidth::Int8 | IntegerWidth::Int16 | IntegerWidth::Int32 => {
            i32::try_from(value).map(Value::Int32)
        }
        IntegerWidth::Int64 => i64::try_from(value).map(Value::Int64),
        IntegerWidth::Uint8 | IntegerWidth::Uint16 | IntegerWidth::Uint32 => {
            u32::try_from(value).map(Value::Uint32)
        }
        IntegerWidth::Uint64 => u64::try_from(value).map(Value::Uint64),
    };
    converted.map_err(|_| Mismatch::TooLarge)
}

/// White space around numbers is allowed, as in libyang.
fn trimmed(text: &str) -> &str {
    text.trim_matches(is_space)
}

/// Parses sign and digits. Numbers far beyond 64 bits become another number that is out of range too.
fn decimal_digits(text: &str) -> Option<i128> {
    in_base(text, 10)
}

/// RFC 7950 §9.2.1: hexadecimal after `0x`, octal after `0`.
fn any_base(text: &str) -> Option<i128> {
    let (sign, digits) = match text.as_bytes().first()? {
        b'-' => (-1, &text[1..]),
        b'+' => (1, &text[1..]),
        _ => (1, text),
    };
    let hexadecimal = digits.strip_prefix("0x").or(digits.strip_prefix("0X"));
    let value = match (hexadecimal, digits.strip_prefix('0')) {
        (Some(digits), _) => unsigned(digits.as_bytes(), 16)?,
        (None, Some(octal)) if !octal.is_empty() => unsigned(octal.as_bytes(), 8)?,
        _ => unsigned(digits.as_bytes(), 10)?,
    };
    Some(sign * value)
}

fn in_base(text: &str, base: u32) -> Option<i128> {
    match text.as_bytes() {
        [b'-', digits @ ..] => Some(-unsigned(digits, base)?),
        [b'+', digits @ ..] | digits => unsigned(digits, base),
    }
}

fn unsigned(digits: &[u8], base: u32) -> Option<i128> {
    if digits.is_empty() {
        return None;
    }
    let mut value: u64 = 0;
    let mut is_beyond = false;
    for &digit in digits {
        let digit = char::from(digit).to_digit(base)?;
        let next = value
            .checked_mul(base.into())
            .and_then(|value| value.checked_add(digit.into()));
        match next {
            Some(next) => value = next,
            None => is_beyond = true,
        }
    }
    Some(if is_beyond {
        i128::from(u64::MAX) + 1
    } else {
        value.into()
    })
}

/// The maximum exponent of a JSON number; no integer type has more digits.
const EXPONENT_MAX: i32 = 40;

/// Rewrites a JSON number as sign and digits if it is an integer: `1e3`, `1.50e2`. Anything else is returned
/// unchanged, and is rejected later.
fn without_exponent(text: &str) -> Cow<'_, str> {
    let Some((mantissa, exponent)) = text.split_once(['e', 'E']) else {
        return Cow::Borrowed(text);
    };
    let Ok(exponent) = exponent.parse::<i32>() else {
        return Cow::Borrowed(text);
    };
    if exponent.abs() > EXPONENT_MAX {
        return Cow::Borrowed(text);
    }
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let fraction = fraction.trim_end_matches('0');
    let point = i32::try_from(fraction.len()).unwrap_or(i32::MAX);
    let mut digits = format!("{whole}{fraction}");
    let zeros = exponent.saturating_sub(point);
    if zeros >= 0 {
        digits.extend(std::iter::repeat_n(
            '0',
            usize::try_from(zeros).unwrap_or(0),
        ));
        return Cow::Owned(digits);
    }
    // A negative exponent removes trailing zeros, as long as there are some.
    for _ in zeros..0 {
        match digits.pop() {
            Some('0') if digits.ends_with(|last: char| last.is_ascii_digit()) => {}
            Some('0') => digits.push('0'),
            _ => return Cow::Borrowed(text),
        }
    }
    Cow::Owned(digits)
}

pub(super) fn decimal<'t>(
    text: &str,
    fraction_digits: u8,
    range: &'t Intervals,
) -> Result<Value, Mismatch<'t>> {
    let text = trimmed(text);
    let (is_negative, unsigned) = match text.as_bytes() {
        [b'-', ..] => (true, &text[1..]),
        [b'+', ..] => (false, &text[1..]),
        _ => (false, text),
    };
    let (whole, fraction) = match unsigned.split_once('.') {
        Some((whole, fraction)) if !fraction.is_empty() => (whole, fraction),
        Some(_) => return Err(Mismatch::Malformed),
        None => (unsigned, ""),
    };
    let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !digits(whole) || !digits(fraction) {
        return Err(Mismatch::Malformed);
    }
    let fraction = fraction.trim_end_matches('0');
    if fraction.len() > usize::from(fraction_digits) {
        return Err(Mismatch::FractionDigits(fraction_digits));
    }
    let missing = usize::from(fraction_digits) - fraction.len();
    let all = whole.bytes().chain(fraction.bytes());
    let all = all.chain(std::iter::repeat_n(b'0', missing));
    let mut scaled: i128 = 0;
    for digit in all {
        scaled = scaled * 10 + i128::from(digit - b'0');
        if scaled > i128::from(u64::MAX) {
            return Err(Mismatch::TooLarge);
        }
    }
    let scaled = if is_negative { -scaled } else { scaled };
    let value = i64::try_from(scaled).map_err(|_| Mismatch::TooLarge)?;
    if !range.contain(scaled) {
        return Err(Mismatch::Range(range));
    }
    Ok(Value::Decimal64(value, fraction_digits))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_numbers_may_have_exponents() {
        for (text, plain) in [
            ("1e3", "1000"),
            ("1.50e2", "150"),
            ("-20e-1", "-2"),
            ("0e-3", "0"),
        ] {
            let plain = decimal_digits(plain);
            assert_eq!(decimal_digits(&without_exponent(text)), plain, "{text}");
        }
        for text in ["1e-1", "1.5", "1e99999999999", "1e400"] {
            assert_eq!(decimal_digits(&without_exponent(text)), None, "{text}");
        }
    }

    #[test]
    fn defaults_may_be_octal_and_hexadecimal() {
        for (text, value) in [
            ("0x1F", 31),
            ("-0X10", -16),
            ("017", 15),
            ("0", 0),
            ("19", 19),
        ] {
            assert_eq!(any_base(text), Some(value), "{text}");
        }
        for text in ["", "-", "0x", "08", "0xg", "1 2"] {
            assert_eq!(any_base(text), None, "{text}");
        }
    }
}

//! Dates and times: RFC 6991 §3 and its successor.
//!
//! The canonical form of a time with a known zone has the offset of the device. This crate knows
//! no device and no clock: the offset is that of UTC.

/// How a value in UTC is written whose local zone is not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum UnknownZone {
    /// As `Z` (since revision 2025-12-22 of ietf-yang-types).
    Z,
    /// As `-00:00`; there, `Z` means `+00:00` (revision 2013-07-15).
    MinusZero,
}

/// A date and time, with what the text says about its zone.
struct Moment<'t> {
    /// Seconds since 1970-01-01T00:00:00, in UTC where the zone is known.
    seconds: i64,
    /// The fraction with its point, or nothing.
    fraction: &'t str,
    /// The zone as written: nothing, `Z`, or an offset.
    zone: &'t str,
}

const DAY: i64 = 86_400;

/// `None` where the text, which matches the pattern of the typedef, names no date.
pub(super) fn date_and_time(text: &str, unknown: UnknownZone) -> Option<String> {
    let moment = parse(text)?;
    let is_unknown = moment.zone == "-00:00" || (moment.zone == "Z" && unknown == UnknownZone::Z);
    let zone = match (moment.zone, unknown) {
        ("", _) => "",
        (_, UnknownZone::Z) if is_unknown => "Z",
        (_, UnknownZone::MinusZero) if is_unknown => "-00:00",
        _ => "+00:00",
    };
    let (date, time) = (date_text(moment.seconds), time_text(moment.seconds));
    Some(format!("{date}T{time}{}{zone}", moment.fraction))
}

pub(super) fn date(text: &str) -> Option<String> {
    let (day, zone) = text.split_at_checked(10)?;
    let moment = format!("{day}T00:00:00{zone}");
    let moment = parse(&moment)?;
    Some(date_text(moment.seconds) + canonical_zone(moment.zone))
}

pub(super) fn time(text: &str) -> Option<String> {
    let moment = format!("1970-01-01T{text}");
    let moment = parse(&moment)?;
    let zone = canonical_zone(moment.zone);
    Some(time_text(moment.seconds) + moment.fraction + zone)
}

fn canonical_zone(zone: &str) -> &'static str {
    match zone {
        "" => "",
        "Z" => "Z",
        _ => "+00:00",
    }
}

/// Reads `YYYY-MM-DDThh:mm:ss`, a fraction and a zone.
fn parse(text: &str) -> Option<Moment<'_>> {
    let (moment, rest) = text.split_at_checked(19)?;
    let number = |from: usize, to: usize| -> Option<i64> { moment.get(from..to)?.parse().ok() };
    let days = days_from_civil(number(0, 4)?, number(5, 7)?, number(8, 10)?);
    let clock = number(11, 13)? * 3600 + number(14, 16)? * 60 + number(17, 19)?;
    let digits = match rest.strip_prefix('.') {
        Some(digits) => 1 + digits.bytes().take_while(u8::is_ascii_digit).count(),
        None => 0,
    };
    let (fraction, zone) = rest.split_at(digits);
    Some(Moment {
        seconds: days * DAY + clock - offset(zone)?,
        fraction,
        zone,
    })
}

/// The offset of a zone in seconds.
fn offset(zone: &str) -> Option<i64> {
    let sign = match zone.as_bytes().first() {
        None | Some(b'Z') => return Some(0),
        Some(b'-') => -1,
        Some(_) => 1,
    };
    let (hours, minutes) = zone.get(1..)?.split_once(':')?;
    let (hours, minutes): (i64, i64) = (hours.parse().ok()?, minutes.parse().ok()?);
    (hours < 24 && minutes < 60).then_some(sign * (hours * 3600 + minutes * 60))
}

fn time_text(seconds: i64) -> String {
    let second = seconds.rem_euclid(DAY);
    format!(
        "{:02}:{:02}:{:02}",
        second / 3600,
        second / 60 % 60,
        second % 60
    )
}

fn date_text(seconds: i64) -> String {
    let (year, month, day) = civil_from_days(seconds.div_euclid(DAY));
    format!("{year:04}-{month:02}-{day:02}")
}

/// Days since 1970-01-01 in the proleptic Gregorian calendar. Years begin in March here, so that
/// the day of leap years is the last; a 31st of a shorter month is a day of the next.
fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

fn civil_from_days(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let leaps = day_of_era / 1_460 - day_of_era / 36_524 + day_of_era / 146_096;
    let year_of_era = (day_of_era - leaps) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = (shifted_month + 2) % 12 + 1;
    let year = era * 400 + year_of_era + i64::from(month <= 2);
    (year, month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_and_dates_are_inverse() {
        for days in (-800_000..3_000_000).step_by(17) {
            let (year, month, day) = civil_from_days(days);
            assert_eq!(days_from_civil(year, month, day), days);
        }
        assert_eq!(civil_from_days(0), (1970, 1, 1));
        assert_eq!(civil_from_days(19_782), (2024, 2, 29));
    }

    #[test]
    fn times_are_in_utc() {
        let cases = [
            (
                "2024-02-29T23:30:00.50-01:00",
                "2024-03-01T00:30:00.50+00:00",
                UnknownZone::Z,
            ),
            (
                "2024-01-01T00:00:00Z",
                "2024-01-01T00:00:00Z",
                UnknownZone::Z,
            ),
            (
                "2024-01-01T00:00:00-00:00",
                "2024-01-01T00:00:00Z",
                UnknownZone::Z,
            ),
            (
                "2024-01-01T00:00:00Z",
                "2024-01-01T00:00:00+00:00",
                UnknownZone::MinusZero,
            ),
            (
                "2024-01-01T00:00:00-00:00",
                "2024-01-01T00:00:00-00:00",
                UnknownZone::MinusZero,
            ),
        ];
        for (text, canonical, unknown) in cases {
            assert_eq!(date_and_time(text, unknown).as_deref(), Some(canonical));
        }
        assert_eq!(
            date("2024-01-01+02:00").as_deref(),
            Some("2023-12-31+00:00")
        );
        assert_eq!(
            time("01:00:00.5+02:00").as_deref(),
            Some("23:00:00.5+00:00")
        );
    }
}

//! Strings, and the canonical forms of well-known string typedefs.

use super::mismatch::Mismatch;
use super::{date, ip, text};
use crate::schema::{Canonical, Intervals, Pattern};
use crate::value::Value;

pub(super) fn string<'t>(
    canonical: Canonical,
    text: &str,
    length: &'t Intervals,
    patterns: &'t [Pattern],
) -> Result<Value, Mismatch<'t>> {
    if canonical == Canonical::HexString {
        // As in libyang, the canonical form is checked.
        let lower = text.to_ascii_lowercase();
        text::check(&lower, length, patterns)?;
        return Ok(Value::String(lower.into()));
    }
    text::check(text, length, patterns)?;
    let changed = match canonical {
        Canonical::BuiltIn
        | Canonical::HexString
        | Canonical::XPath
        | Canonical::NodeInstanceIdentifier => return Ok(Value::String(text.into())),
        Canonical::Ipv4Address | Canonical::Ipv4AddressNoZone => ip::ipv4_address(text),
        Canonical::Ipv4Prefix => ip::ipv4_prefix(text, ip::HostBits::Zeroed),
        Canonical::Ipv4AddressAndPrefix => ip::ipv4_prefix(text, ip::HostBits::Kept),
        Canonical::Ipv6Address | Canonical::Ipv6AddressNoZone => ip::ipv6_address(text),
        Canonical::Ipv6Prefix => ip::ipv6_prefix(text, ip::HostBits::Zeroed),
        Canonical::Ipv6AddressAndPrefix => ip::ipv6_prefix(text, ip::HostBits::Kept),
        Canonical::DateAndTime | Canonical::Date | Canonical::Time => {
            date::has_possible_offset(text).then(|| text.to_owned())
        }
    };
    let changed = changed.ok_or(Mismatch::Malformed)?;
    Ok(Value::String(changed.into()))
}

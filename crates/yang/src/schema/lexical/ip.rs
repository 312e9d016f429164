//! IP addresses and prefixes: RFC 6991 §4 and its successor, RFC 5952.

use std::fmt::Write as _;
use std::net::{Ipv4Addr, Ipv6Addr};

/// The treatment of the host bits of a prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HostBits {
    /// They are zero in the canonical form.
    Zeroed,
    /// They are part of the value.
    Kept,
}

/// Returns `None` if the text is not an address.
pub(super) fn ipv4_address(text: &str) -> Option<String> {
    let (address, _) = split_zone(text);
    // An IPv4 address has only one textual form.
    address.parse::<Ipv4Addr>().ok().map(|_| text.to_owned())
}

pub(super) fn ipv6_address(text: &str) -> Option<String> {
    let (address, zone) = split_zone(text);
    let mut canonical = ipv6_text(address.parse().ok()?);
    canonical.push_str(zone);
    Some(canonical)
}

pub(super) fn ipv4_prefix(text: &str, host_bits: HostBits) -> Option<String> {
    let (address, length) = text.split_once('/')?;
    let length: u32 = length.parse().ok().filter(|&length| length <= u32::BITS)?;
    let mut bits = address.parse::<Ipv4Addr>().ok()?.to_bits();
    if host_bits == HostBits::Zeroed {
        bits &= u32::MAX.checked_shl(u32::BITS - length).unwrap_or(0);
    }
    Some(format!("{}/{length}", Ipv4Addr::from_bits(bits)))
}

pub(super) fn ipv6_prefix(text: &str, host_bits: HostBits) -> Option<String> {
    let (address, length) = text.split_once('/')?;
    let length: u32 = length.parse().ok().filter(|&length| length <= u128::BITS)?;
    let mut bits = address.parse::<Ipv6Addr>().ok()?.to_bits();
    if host_bits == HostBits::Zeroed {
        bits &= u128::MAX.checked_shl(u128::BITS - length).unwrap_or(0);
    }
    Some(format!("{}/{length}", ipv6_text(Ipv6Addr::from_bits(bits))))
}

/// Splits off the zone, including its `%`.
fn split_zone(text: &str) -> (&str, &str) {
    text.split_at(text.find('%').unwrap_or(text.len()))
}

/// The form of RFC 5952 §4 and §5: lower case, the longest run of zeros (the first of those) as `::`, and a dotted
/// quad at the end of addresses that embed an IPv4 address.
fn ipv6_text(address: Ipv6Addr) -> String {
    let words = address.segments();
    let zeros = longest_zeros(&words);
    let carries_ipv4 = match zeros {
        Some((0, 6)) => true,
        Some((0, 5)) => words[5] == 0xffff,
        _ => false,
    };
    let mut text = String::new();
    let mut index = 0;
    while index < words.len() {
        if let Some((start, count)) = zeros.filter(|&(start, _)| start == index) {
            text.push_str("::");
            index = start + count;
            continue;
        }
        if !text.is_empty() && !text.ends_with(':') {
            text.push(':');
        }
        // Writing to a string cannot fail.
        if index == 6 && carries_ipv4 {
            let [.., a, b, c, d] = address.octets();
            let _ = write!(text, "{}", Ipv4Addr::new(a, b, c, d));
            break;
        }
        let _ = write!(text, "{:x}", words[index]);
        index += 1;
    }
    text
}

/// Start and length of the first longest run of at least two zeros.
fn longest_zeros(words: &[u16; 8]) -> Option<(usize, usize)> {
    let mut best: Option<(usize, usize)> = None;
    let mut index = 0;
    while index < words.len() {
        let count = words[index..].iter().take_while(|&&word| word == 0).count();
        if count >= 2 && best.is_none_or(|(_, longest)| count > longest) {
            best = Some((index, count));
        }
        index += count.max(1);
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ipv6_addresses_are_written_as_in_rfc_5952() {
        let cases = [
            ("2001:DB8:0:0:1:0:0:1", "2001:db8::1:0:0:1"),
            ("0:0:0:0:0:0:0:0", "::"),
            ("0:0:0:0:0:0:0:1", "::1"),
            ("::ffff:c000:0201", "::ffff:192.0.2.1"),
            ("2001:db8:0:1:1:1:1:1", "2001:db8:0:1:1:1:1:1"),
            ("FE80::1%eth0", "fe80::1%eth0"),
            ("1:0:0:0:0:0:0:0", "1::"),
        ];
        for (text, canonical) in cases {
            assert_eq!(ipv6_address(text).as_deref(), Some(canonical));
        }
    }

    #[test]
    fn prefixes_have_zero_host_bits() {
        let cleared = ipv4_prefix("192.0.2.129/24", HostBits::Zeroed);
        assert_eq!(cleared.as_deref(), Some("192.0.2.0/24"));
        assert_eq!(
            ipv4_prefix("192.0.2.1/0", HostBits::Zeroed).as_deref(),
            Some("0.0.0.0/0")
        );
        assert_eq!(
            ipv4_prefix("192.0.2.1/24", HostBits::Kept).as_deref(),
            Some("192.0.2.1/24")
        );
        let cleared = ipv6_prefix("2001:DB8::1/32", HostBits::Zeroed);
        assert_eq!(cleared.as_deref(), Some("2001:db8::/32"));
        assert_eq!(ipv6_prefix("::1/129", HostBits::Zeroed), None);
    }
}

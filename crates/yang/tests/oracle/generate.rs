//! Random texts that are values of a type, nearly values, or neither.

use espalier_yang::schema::{Canonical, IntegerWidth, Intervals, Type, TypeKind};
use rand::Rng;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom as _;

/// A text for a type. Half of them are modified slightly.
pub fn text(rng: &mut StdRng, of: &Type) -> String {
    let mut text = value(rng, of);
    if rng.random_bool(0.4) {
        for _ in 0..rng.random_range(1..=2) {
            mutate(rng, &mut text);
        }
    }
    text
}

fn value(rng: &mut StdRng, of: &Type) -> String {
    match &of.kind {
        TypeKind::Integer(width, range) => integer(rng, *width, range),
        TypeKind::Decimal64(digits, range) => decimal(rng, *digits, range),
        TypeKind::Boolean => pick(rng, &["true", "false", "1", "TRUE", ""]),
        TypeKind::Empty => pick(rng, &["", "", "x"]),
        TypeKind::Enumeration(items) => items.choose(rng).unwrap().name.to_string(),
        TypeKind::Bits(bits) => {
            let count = rng.random_range(0..=bits.len() + 1);
            let names = (0..count).map(|_| bits.choose(rng).unwrap().name.to_string());
            let names: Vec<String> = names.collect();
            names.join(&pick(rng, &[" ", "  ", "\n", "\t "]))
        }
        TypeKind::Binary(_) => binary(rng),
        TypeKind::IdentityRef(_) => pick(
            rng,
            &[
                "cat",
                "et:cat",
                "et:lion",
                "tabby",
                "et:tabby",
                "et:animal",
                "et:pet",
                "et:dog",
                "x:cat",
            ],
        ),
        TypeKind::LeafRef { target_type, .. } => value(rng, target_type),
        TypeKind::Union(members) => {
            let member = members.choose(rng).unwrap();
            value(rng, member)
        }
        TypeKind::String(..) if of.canonical == Canonical::BuiltIn => string(rng, &of.name),
        TypeKind::String(..) => special(rng, of.canonical),
        TypeKind::InstanceIdentifier { .. } => String::new(),
    }
}

fn pick(rng: &mut StdRng, choices: &[&str]) -> String {
    (*choices.choose(rng).unwrap()).to_owned()
}

fn mutate(rng: &mut StdRng, text: &mut String) {
    let mut characters: Vec<char> = text.chars().collect();
    let position = rng.random_range(0..=characters.len());
    let alphabet: Vec<char> = "0123456789abcdefzAFZ+-.:/% \t\n=_é€😀~".chars().collect();
    let character = *alphabet.choose(rng).unwrap();
    match rng.random_range(0..3) {
        0 => characters.insert(position, character),
        1 if position < characters.len() => characters[position] = character,
        _ if position < characters.len() => {
            characters.remove(position);
        }
        _ => characters.push(character),
    }
    *text = characters.into_iter().collect();
}

/// Numbers at, around and between the bounds.
fn integer(rng: &mut StdRng, width: IntegerWidth, range: &Intervals) -> String {
    let (min, max): (i128, i128) = match width {
        IntegerWidth::Int8 => (i8::MIN.into(), i8::MAX.into()),
        IntegerWidth::Int16 => (i16::MIN.into(), i16::MAX.into()),
        IntegerWidth::Int32 => (i32::MIN.into(), i32::MAX.into()),
        IntegerWidth::Int64 => (i64::MIN.into(), i64::MAX.into()),
        IntegerWidth::Uint8 => (0, u8::MAX.into()),
        IntegerWidth::Uint16 => (0, u16::MAX.into()),
        IntegerWidth::Uint32 => (0, u32::MAX.into()),
        IntegerWidth::Uint64 => (0, u64::MAX.into()),
    };
    let value = bound(rng, range).unwrap_or_else(|| match rng.random_range(0..4) {
        0 => min + rng.random_range(-2..=2),
        1 => max + rng.random_range(-2..=2),
        2 => rng.random_range(-20..=20),
        _ => rng.random_range(min..=max),
    });
    let (sign, digits) = match value.to_string() {
        negative if value < 0 => ("-", negative[1..].to_owned()),
        positive => (if rng.random_bool(0.1) { "+" } else { "" }, positive),
    };
    let zeros = "0".repeat(if rng.random_bool(0.1) { 3 } else { 0 });
    let (before, after) = spaces(rng);
    format!("{before}{sign}{zeros}{digits}{after}")
}

fn spaces(rng: &mut StdRng) -> (String, String) {
    if rng.random_bool(0.9) {
        return Default::default();
    }
    (pick(rng, &["", " ", "\n "]), pick(rng, &["", " ", "\t\n"]))
}

fn bound(rng: &mut StdRng, range: &Intervals) -> Option<i128> {
    let part = range.parts.choose(rng)?;
    let bound = if rng.random() { part.min } else { part.max };
    Some(bound + rng.random_range(-1..=1))
}

fn decimal(rng: &mut StdRng, digits: u8, range: &Intervals) -> String {
    let scaled = bound(rng, range).unwrap_or_else(|| match rng.random_range(0..3) {
        0 => i128::from(i64::MAX) + rng.random_range(-1..=1),
        1 => i128::from(i64::MIN) + rng.random_range(-1..=1),
        _ => rng.random_range(-2000..2000),
    });
    let scale = 10i128.pow(digits.into());
    let sign = if scaled < 0 { "-" } else { "" };
    let (whole, fraction) = (scaled.abs() / scale, scaled.abs() % scale);
    let fraction = format!("{fraction:0width$}", width = usize::from(digits));
    let zeros = "0".repeat(if rng.random_bool(0.2) { 2 } else { 0 });
    let (before, after) = spaces(rng);
    match rng.random_range(0..4) {
        0 => format!("{before}{sign}{whole}{after}"),
        1 => format!("{sign}{zeros}{whole}.{}", fraction.trim_end_matches('0')),
        _ => format!("{before}{sign}{whole}.{fraction}{zeros}{after}"),
    }
}

fn binary(rng: &mut StdRng) -> String {
    const DIGITS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let count = if rng.random_bool(0.2) {
        40
    } else {
        rng.random_range(0..4)
    };
    let digits = (0..count * 4).map(|_| char::from(*DIGITS.choose(rng).unwrap()));
    let mut text: String = digits.collect();
    text.push_str(&pick(rng, &["", "QQ==", "AAE=", "="]));
    if rng.random_bool(0.3) && text.len() > 64 {
        let lines: Vec<&str> = text
            .as_bytes()
            .chunks(64)
            .map(|line| std::str::from_utf8(line).unwrap())
            .collect();
        text = lines.join("\n");
    }
    text
}

fn string(rng: &mut StdRng, name: &str) -> String {
    let fixed = match name {
        "ietf-inet-types:uri" => pick(rng, &["http://a/b?c#d", "urn:x", "mailto:a@b"]),
        "ietf-inet-types:domain-name" | "domain-name" => pick(rng, &["a.example.org", ".", "x--y"]),
        "ietf-yang-types:dotted-quad" => pick(rng, &["1.2.3.4", "255.255.255.256", "01.2.3.4"]),
        "ietf-yang-types:object-identifier" => pick(rng, &["1.3.6.1", "2.999.1", "0.40"]),
        _ => String::new(),
    };
    if !fixed.is_empty() {
        return fixed;
    }
    let alphabet: Vec<char> = "abcxyz é€😀\u{7f}\t\n<&>\"'\\/\u{fffd}".chars().collect();
    let letters = rng.random_bool(0.7);
    let count = rng.random_range(0..10);
    let characters = (0..count).map(|_| {
        let limit = if letters { 6 } else { alphabet.len() };
        alphabet[rng.random_range(0..limit)]
    });
    characters.collect()
}

fn special(rng: &mut StdRng, canonical: Canonical) -> String {
    match canonical {
        Canonical::Ipv4Address | Canonical::Ipv4AddressNoZone => {
            ipv4(rng) + &pick(rng, &["", "", "%eth0", "%1", "%"])
        }
        Canonical::Ipv4Prefix | Canonical::Ipv4AddressAndPrefix => {
            let length: u8 = rng.random_range(0..=33);
            format!("{}/{length}", ipv4(rng))
        }
        Canonical::Ipv6Address | Canonical::Ipv6AddressNoZone => {
            ipv6(rng) + &pick(rng, &["", "", "%eth0", "%1"])
        }
        Canonical::Ipv6Prefix | Canonical::Ipv6AddressAndPrefix => {
            let length: u8 = rng.random_range(0..=129);
            format!("{}/{length}", ipv6(rng))
        }
        Canonical::HexString => pick(
            rng,
            &[
                "00:1B:44:11:3A:B7",
                "aB",
                "",
                "F81D4FAE-7DEC-11D0-A765-00A0C91E6BF6",
                "0:1",
            ],
        ),
        Canonical::XPath => pick(
            rng,
            &[
                "/et:types/et:int8",
                "//et:types[et:int8 = '1']/et:int16 | /et:canonical/*",
                "count(/et:types/et:several) > 2 and not(/et:types/et:empty)",
                "/et:types[et:identity = 'et:cat']/et:string",
                "'a' + 1",
                "..",
                "/x:y",
                "/et:types[",
                "/",
            ],
        ),
        Canonical::Date => date(rng) + &zone(rng),
        Canonical::Time => time(rng) + &zone(rng),
        _ => format!("{}T{}{}", date(rng), time(rng), zone(rng)),
    }
}

fn ipv4(rng: &mut StdRng) -> String {
    let [a, b, c, d]: [u8; 4] = rng.random();
    format!("{a}.{b}.{c}.{d}")
}

fn ipv6(rng: &mut StdRng) -> String {
    let zeros = rng.random_range(0.0..1.0);
    let words: [u16; 8] = std::array::from_fn(|_| {
        if rng.random_bool(zeros) {
            0
        } else {
            rng.random()
        }
    });
    match rng.random_range(0..4) {
        0 => std::net::Ipv6Addr::from(words).to_string().to_uppercase(),
        1 => words.map(|word| format!("{word:04X}")).join(":"),
        2 => format!("::{}", ipv4(rng)),
        _ => words.map(|word| format!("{word:x}")).join(":"),
    }
}

fn date(rng: &mut StdRng) -> String {
    let year = *[0, 1, 1900, 1969, 1970, 2000, 2024, 9999]
        .choose(rng)
        .unwrap();
    let (month, day) = (rng.random_range(1..=12), rng.random_range(1..=31));
    format!("{year:04}-{month:02}-{day:02}")
}

fn time(rng: &mut StdRng) -> String {
    let (hour, minute) = (rng.random_range(0..24), rng.random_range(0..60));
    let second = rng.random_range(0..=60);
    let fraction = pick(rng, &["", "", ".5", ".000", ".123456789"]);
    format!("{hour:02}:{minute:02}:{second:02}{fraction}")
}

fn zone(rng: &mut StdRng) -> String {
    pick(
        rng,
        &["Z", "+00:00", "-00:00", "+02:00", "-13:30", "+14:00", ""],
    )
}

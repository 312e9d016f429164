//! Random texts of leaves, including unusual ones.

use espalier_yang::schema::{IntegerWidth, Intervals, Schema, Type, TypeKind};
use rand::Rng;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;

/// Strings that have caused errors in some program.
pub const HOSTILE: &[&str] = &[
    "",
    " ",
    "/",
    ",",
    "%",
    "%2F",
    "'",
    "\"",
    "a'b",
    "a\"b",
    "x y",
    " lead and trail ",
    "\t",
    "\n",
    "line\r\nline\rline",
    "\\",
    "\\u0041",
    "&amp;",
    "<x/>",
    "]]>",
    "<![CDATA[",
    "[name='x']",
    "../..",
    "é",
    "e\u{301}",
    "😀",
    "\u{85}\u{2028}\u{feff}",
    "\u{7f}",
    "\u{d7ff}\u{e000}\u{fffd}",
    "\u{10fffd}",
    "true",
    "null",
    "0",
    "-1.50",
    "module:name",
];

/// A random string: unusual, long, or composed of parts of unusual ones.
pub fn string(random: &mut StdRng) -> String {
    match random.random_range(0..10) {
        0..5 => pick(random, HOSTILE).to_owned(),
        5 => "x".repeat(4096),
        6..8 => format!("s{}", random.random_range(0..1000)),
        _ => {
            let pieces = random.random_range(2..6);
            (0..pieces).map(|_| pick(random, HOSTILE)).collect()
        }
    }
}

fn pick<'a>(random: &mut StdRng, choices: &[&'a str]) -> &'a str {
    choices.choose(random).expect("something to choose from")
}

/// A text that is probably a value of a type, as accepted by [`Type::parse`] with module names.
pub fn of_type(random: &mut StdRng, schema: &Schema, of: &Type) -> String {
    match &of.kind {
        TypeKind::Integer(width, range) => integer(random, *width, range).to_string(),
        TypeKind::Decimal64(digits, range) => decimal(random, *digits, range),
        TypeKind::Boolean => pick(random, &["true", "false"]).to_owned(),
        TypeKind::Empty => String::new(),
        TypeKind::Enumeration(items) => items
            .choose(random)
            .map_or_else(String::new, |item| item.name.to_string()),
        TypeKind::Bits(bits) => {
            let chosen = bits.iter().filter(|_| random.random_bool(0.5));
            chosen.map(|bit| &*bit.name).collect::<Vec<_>>().join(" ")
        }
        TypeKind::Binary(_) => pick(random, &["", "AA==", "AAE=", "AAEC", "/+8="]).to_owned(),
        TypeKind::IdentityRef(bases) => {
            let derived = bases
                .first()
                .map_or(&[][..], |base| &schema.identity(*base).derived);
            derived.choose(random).map_or_else(String::new, |id| {
                let identity = schema.identity(*id);
                format!("{}:{}", schema.module(identity.module).name, identity.name)
            })
        }
        TypeKind::LeafRef { target_type, .. } => of_type(random, schema, target_type),
        TypeKind::String(_, patterns) if !patterns.is_empty() => word(random),
        TypeKind::String(length, _) => bounded_string(random, length),
        TypeKind::Union(members) => match members.choose(random) {
            Some(member) => of_type(random, schema, member),
            None => String::new(),
        },
        TypeKind::InstanceIdentifier { .. } => instance(random, schema),
    }
}

fn integer(random: &mut StdRng, width: IntegerWidth, range: &Intervals) -> i128 {
    let (min, max) = match width {
        IntegerWidth::Int8 => (i8::MIN.into(), i8::MAX.into()),
        IntegerWidth::Int16 => (i16::MIN.into(), i16::MAX.into()),
        IntegerWidth::Int32 => (i32::MIN.into(), i32::MAX.into()),
        IntegerWidth::Int64 => (i64::MIN.into(), i64::MAX.into()),
        IntegerWidth::Uint8 => (0, u8::MAX.into()),
        IntegerWidth::Uint16 => (0, u16::MAX.into()),
        IntegerWidth::Uint32 => (0, u32::MAX.into()),
        IntegerWidth::Uint64 => (0, u64::MAX.into()),
    };
    between(random, range, min, max)
}

fn between(random: &mut StdRng, range: &Intervals, min: i128, max: i128) -> i128 {
    let (min, max) = match range.parts.choose(random) {
        Some(part) => (part.min.max(min), part.max.min(max)),
        None => (min, max),
    };
    match random.random_range(0..4) {
        0 => min,
        1 => max,
        2 => random.random_range(min..=max),
        _ => random.random_range(-100..100).clamp(min, max),
    }
}

fn decimal(random: &mut StdRng, digits: u8, range: &Intervals) -> String {
    let scaled = between(random, range, i64::MIN.into(), i64::MAX.into());
    let scaled = i64::try_from(scaled).unwrap_or_default();
    espalier_yang::Value::Decimal64(scaled, digits).to_string()
}

fn word(random: &mut StdRng) -> String {
    let length = random.random_range(1..8);
    (0..length)
        .map(|_| char::from(random.random_range(b'a'..=b'z')))
        .collect()
}

fn bounded_string(random: &mut StdRng, length: &Intervals) -> String {
    let text = string(random);
    match length.parts.choose(random) {
        None => text,
        Some(part) => {
            let min = usize::try_from(part.min).unwrap_or(0);
            let max = usize::try_from(part.max).unwrap_or(usize::MAX);
            let mut characters: Vec<char> = text.chars().take(max).collect();
            characters.resize(characters.len().max(min), 'x');
            characters.into_iter().collect()
        }
    }
}

/// The instance identifier of a random node, in the form of RFC 7951 §6.11.
fn instance(random: &mut StdRng, schema: &Schema) -> String {
    let mut text = String::new();
    let mut nodes = schema.roots();
    let mut module = None;
    while let Some(&id) = nodes.choose(random) {
        let node = schema.node(id);
        if matches!(
            node.kind,
            espalier_yang::NodeKind::Action | espalier_yang::NodeKind::Notification
        ) {
            break;
        }
        text.push('/');
        if module != Some(node.module) {
            text.push_str(&schema.module(node.module).name);
            text.push(':');
            module = Some(node.module);
        }
        text.push_str(&node.name);
        for &key in node.keys() {
            let key = schema.node(key);
            let Some(leaf) = key.as_value() else { break };
            let value = match leaf.value_type.kind {
                TypeKind::InstanceIdentifier { .. } => "/farm:farm".to_owned(),
                _ => of_type(random, schema, &leaf.value_type).replace('"', ""),
            };
            let quote = if value.contains('\'') { '"' } else { '\'' };
            text.push_str(&format!("[{}={quote}{value}{quote}]", key.name));
        }
        if node.is_list() && node.keys().is_empty() {
            text.push_str("[1]");
        }
        if let Some(leaf) = node.as_value().filter(|_| node.is_leaf_list()) {
            let value = of_type(random, schema, &leaf.value_type).replace(['"', '\''], "");
            text.push_str(&format!("[.='{value}']"));
        }
        nodes = &node.children;
        if random.random_bool(0.3) {
            break;
        }
    }
    text
}

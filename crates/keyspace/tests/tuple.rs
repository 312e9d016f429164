//! Properties of the key encoding, on random tuples of every element type.

use std::cmp::Ordering;

use espalier_keyspace::tuple::{
    self, Element, LONG_PREFIX_BYTES, STRING_BYTES_MAX, put_binary, put_boolean, put_bytes,
    put_decimal, put_empty, put_signed, put_unsigned, take,
};
use espalier_keyspace::{ErrorKind, KEY_BYTES_MAX, KeyRange};
use espalier_testkit::seed;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

/// A value of a type that occurs in keys. The variants are in the order of their encodings.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Value {
    Bytes(Vec<u8>),
    Binary(Vec<u8>),
    Integer(i128),
    Decimal(u8, i64),
    Boolean(bool),
    Empty,
}

fn encode(value: &Value) -> Vec<u8> {
    let mut key = Vec::new();
    match value {
        Value::Bytes(bytes) => put_bytes(&mut key, bytes),
        Value::Binary(bytes) => put_binary(&mut key, bytes),
        Value::Decimal(digits, number) => put_decimal(&mut key, *number, *digits),
        Value::Integer(number) => match u64::try_from(*number) {
            Ok(number) => put_unsigned(&mut key, number),
            Err(_) => put_signed(&mut key, i64::try_from(*number).expect("not below i64")),
        },
        Value::Boolean(value) => put_boolean(&mut key, *value),
        Value::Empty => put_empty(&mut key),
    }
    key
}

fn encode_all(values: &[Value]) -> Vec<u8> {
    values.iter().flat_map(encode).collect()
}

fn integer() -> impl Strategy<Value = i128> {
    prop_oneof![
        any::<i64>().prop_map(i128::from),
        any::<u64>().prop_map(i128::from),
        (-300i128..300),
        // Boundary values of each number of bytes.
        (0u32..64, -2i128..=2, any::<bool>()).prop_map(|(bits, near, negative)| {
            let edge = (1i128 << bits) + near;
            let number = if negative { -edge } else { edge };
            number.clamp(i128::from(i64::MIN), i128::from(u64::MAX))
        }),
    ]
}

/// Mostly bytes that need escaping, and ordinary ones.
fn byte() -> impl Strategy<Value = u8> {
    prop_oneof![
        Just(0u8),
        Just(1),
        Just(2),
        Just(0xfe),
        Just(0xff),
        Just(b'a'),
        any::<u8>()
    ]
}

fn short_bytes() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        4 => vec(byte(), 0..8),
        1 => vec(byte(), 0..=STRING_BYTES_MAX),
        1 => "[a-c]{0,3}".prop_map(String::into_bytes),
    ]
}

fn long_bytes() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        vec(byte(), STRING_BYTES_MAX + 1..300),
        // Many with a common prefix.
        vec(Just(b'x'), LONG_PREFIX_BYTES..200).prop_flat_map(|start| {
            vec(byte(), STRING_BYTES_MAX..STRING_BYTES_MAX + 20)
                .prop_map(move |end| [start.clone(), end].concat())
        }),
    ]
}

fn value() -> impl Strategy<Value = Value> {
    prop_oneof![
        4 => short_bytes().prop_map(Value::Bytes),
        1 => short_bytes().prop_map(Value::Binary),
        4 => integer().prop_map(Value::Integer),
        1 => (1u8..=18, any::<i64>()).prop_map(|(digits, number)| Value::Decimal(digits, number)),
        1 => any::<bool>().prop_map(Value::Boolean),
        1 => Just(Value::Empty),
    ]
}

fn any_value() -> impl Strategy<Value = Value> {
    prop_oneof![4 => value(), 1 => long_bytes().prop_map(Value::Bytes), 1 => long_bytes().prop_map(Value::Binary)]
}

/// Arbitrary bytes after an element.
fn rest() -> impl Strategy<Value = Vec<u8>> {
    vec(byte(), 0..6)
}

/// The expected result of decoding a value.
fn decoded(value: &Value) -> Element {
    match value {
        Value::Integer(number) => Element::Integer(*number),
        Value::Decimal(digits, number) => Element::Decimal(*digits, (*number).into()),
        Value::Binary(bytes) => match decoded(&Value::Bytes(bytes.clone())) {
            Element::Hashed(prefix, hash) => Element::HashedBinary(prefix, hash),
            _ => Element::Binary(bytes.clone()),
        },
        Value::Boolean(value) => Element::Boolean(*value),
        Value::Empty => Element::Empty,
        Value::Bytes(bytes) if tuple::is_shortened(bytes.len()) => {
            let hash = blake3::hash(bytes);
            Element::Hashed(
                bytes[..LONG_PREFIX_BYTES].try_into().expect("long enough"),
                hash.as_bytes()[..16].try_into().expect("16 of 32 bytes"),
            )
        }
        Value::Bytes(bytes) => Element::Bytes(bytes.clone()),
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        rng_seed: RngSeed::Fixed(seed::printed()),
        ..ProptestConfig::with_cases(2_000)
    })]

    /// Encodings sort like their tuples; a tuple sorts before its extensions.
    #[test]
    fn order_is_preserved(one in vec(value(), 0..4), other in vec(value(), 0..4)) {
        prop_assert_eq!(encode_all(&one).cmp(&encode_all(&other)), one.cmp(&other));
    }

    /// The same for tuples with a common prefix, like the keys of one list.
    #[test]
    fn order_is_preserved_below_a_common_beginning(
        start in vec(any_value(), 0..3),
        one in value(),
        other in value(),
        rests in (rest(), rest()),
    ) {
        let key = |value: &Value, rest: &[u8]| {
            [encode_all(&start), encode(value), rest.to_vec()].concat()
        };
        let expected = one.cmp(&other);
        if expected != Ordering::Equal {
            prop_assert_eq!(key(&one, &rests.0).cmp(&key(&other, &rests.1)), expected);
        }
    }

    /// Integers sort numerically, whichever function encoded them.
    #[test]
    fn integers_sort_as_numbers(one in integer(), other in integer()) {
        let (one_key, other_key) = (encode(&Value::Integer(one)), encode(&Value::Integer(other)));
        prop_assert_eq!(one_key.cmp(&other_key), one.cmp(&other));
    }

    /// A number has one encoding, whichever function encoded it.
    #[test]
    fn signed_and_unsigned_agree(number in 0..=i64::MAX) {
        let (mut signed, mut unsigned) = (Vec::new(), Vec::new());
        put_signed(&mut signed, number);
        put_unsigned(&mut unsigned, number.unsigned_abs());
        prop_assert_eq!(signed, unsigned);
    }

    /// Decoding returns the encoded values and leaves the remaining bytes.
    #[test]
    fn decoding_undoes_encoding(values in vec(any_value(), 0..5), rest in rest()) {
        let key = [encode_all(&values), rest.clone()].concat();
        let mut bytes = key.as_slice();
        for value in &values {
            prop_assert_eq!(take(&mut bytes).expect("an element"), decoded(value));
        }
        prop_assert_eq!(bytes, rest.as_slice());
    }

    /// No element is a prefix of another, so a tuple's subtree is the prefix range of its key.
    #[test]
    fn elements_delimit_themselves(one in any_value(), other in any_value(), rest in rest()) {
        let (key, subtree) = ([encode(&other), rest].concat(), KeyRange::prefix(&encode(&one)));
        prop_assert_eq!(subtree.contains(&key), one == other);
    }

    /// Long strings sort by their first bytes; the hash distinguishes strings with equal first bytes; keys
    /// stay short.
    #[test]
    fn long_strings_are_shortened(one in long_bytes(), other in long_bytes()) {
        let (one_key, other_key) = (encode(&Value::Bytes(one.clone())), encode(&Value::Bytes(other.clone())));
        prop_assert!(one_key.len() <= 1 + 2 * LONG_PREFIX_BYTES + 18);
        prop_assert_eq!(one_key == other_key, one == other);
        let starts = one[..LONG_PREFIX_BYTES].cmp(&other[..LONG_PREFIX_BYTES]);
        if starts != Ordering::Equal {
            prop_assert_eq!(one_key.cmp(&other_key), starts);
        }
    }

    /// A long string sorts among short ones by its first bytes.
    #[test]
    fn long_strings_sort_among_short_ones(long in long_bytes(), short in short_bytes()) {
        let start = &long[..LONG_PREFIX_BYTES];
        let expected = start.cmp(&short[..short.len().min(LONG_PREFIX_BYTES)]);
        if expected != Ordering::Equal && !start.starts_with(&short) {
            let (long_key, short_key) =
                (encode(&Value::Bytes(long.clone())), encode(&Value::Bytes(short)));
            prop_assert_eq!(long_key.cmp(&short_key), expected);
        }
    }

    /// Arbitrary bytes are decoded or rejected as corrupt.
    #[test]
    fn hostile_bytes_are_refused(bytes in vec(prop_oneof![byte(), 0u8..0x30], 0..60)) {
        let mut rest = bytes.as_slice();
        while !rest.is_empty() {
            let before = rest.len();
            match take(&mut rest) {
                Ok(_) => prop_assert!(rest.len() < before),
                Err(error) => {
                    prop_assert_eq!(error.kind(), ErrorKind::Corrupt);
                    break;
                }
            }
        }
    }

    /// A truncated element is rejected, not misread.
    #[test]
    fn a_cut_element_is_refused(value in any_value(), cut in any::<prop::sample::Index>()) {
        let key = encode(&value);
        let mut cut = &key[..cut.index(key.len())];
        prop_assert_eq!(take(&mut cut).expect_err("cut").kind(), ErrorKind::Corrupt);
    }
}

#[test]
fn the_documented_bytes() {
    let cases: [(Value, &[u8]); 14] = [
        (Value::Integer(0), b"\x14"),
        (Value::Integer(1), b"\x15\x01"),
        (Value::Integer(255), b"\x15\xff"),
        (Value::Integer(256), b"\x16\x01\x00"),
        (Value::Integer(-1), b"\x13\xfe"),
        (Value::Integer(-255), b"\x13\x00"),
        (Value::Integer(-256), b"\x12\xfe\xff"),
        (
            Value::Integer(i64::MIN.into()),
            b"\x0c\x7f\xff\xff\xff\xff\xff\xff\xff",
        ),
        (
            Value::Integer(u64::MAX.into()),
            b"\x1c\xff\xff\xff\xff\xff\xff\xff\xff",
        ),
        (Value::Bytes(b"".to_vec()), b"\x02\x00"),
        (
            Value::Bytes(b"a\x00b\x01c\xff".to_vec()),
            b"\x02a\x01\x01b\x01\x02c\xff\x00",
        ),
        (Value::Boolean(false), b"\x26"),
        (Value::Boolean(true), b"\x27"),
        (Value::Empty, b"\x28"),
    ];
    for (value, bytes) in cases {
        assert_eq!(encode(&value), bytes, "{value:?}");
    }
}

#[test]
fn the_longest_string_in_full_and_the_shortest_hashed() {
    let full = encode(&Value::Bytes(vec![0; STRING_BYTES_MAX]));
    assert_eq!(full.len(), 2 + 2 * STRING_BYTES_MAX);
    let hashed = encode(&Value::Bytes(vec![0; STRING_BYTES_MAX + 1]));
    assert_eq!(hashed.len(), 1 + 2 * LONG_PREFIX_BYTES + 2 + 16);
    let keys_in_one = KEY_BYTES_MAX / full.len();
    assert!(keys_in_one >= 5, "five hostile list keys fit into one key");
}

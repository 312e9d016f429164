//! Numbers, paths and nested values.

use espalier_stats::{ErrorKind, NestedValues, Number, Path, PathValues, Pattern, PatternMatch};
use espalier_testkit::seed;
use rand::Rng;

fn number(text: &str) -> Number {
    text.parse()
        .unwrap_or_else(|error| panic!("{text}: {error}"))
}

#[test]
fn numbers_are_parsed_and_formatted_exactly() {
    for (given, written) in [
        ("0", "0"),
        ("-0", "0"),
        ("12", "12"),
        ("+7", "7"),
        ("1.50", "1.5"),
        ("-0.05", "-0.05"),
        (".5", "0.5"),
        ("1e3", "1000"),
        ("1.25e1", "12.5"),
        ("5e-2", "0.05"),
        ("1e300", "1e300"),
        ("9223372036854775807", "9223372036854775807"),
        ("18446744073709551615", "18446744073709551615"),
        (
            "-9223372036854775808.000000000000000001",
            "-9223372036854775808.000000000000000001",
        ),
        ("1e-300", "1e-300"),
        ("0.0000000000000000001", "1e-19"),
        ("0.0014285714285714286", "0.0014285714285714286"),
        ("0.1", "0.1"),
    ] {
        assert_eq!(number(given).to_string(), written, "{given}");
    }
    for wrong in [
        "",
        "-",
        ".",
        "e5",
        "1e",
        "0x1",
        "1_000",
        "NaN",
        "inf",
        "1e999",
        "1.2.3",
        "--1",
        "0.000000000000000000123456789012345678",
        "1234567890123456789012345678901234567890",
    ] {
        assert!(wrong.parse::<Number>().is_err(), "{wrong}");
    }
}

#[test]
fn floats_are_converted_by_their_decimal_form() {
    let sum = (0..3).try_fold(Number::ZERO, |sum, _| {
        sum.plus(Number::from_f64(1.7).expect("finite"))
    });
    assert_eq!(sum.expect("small").to_string(), "5.1");
    assert!(Number::from_f64(f64::NAN).is_err() && Number::from_f64(f64::INFINITY).is_err());
    seed::run("floats_are_converted_by_their_decimal_form", |random| {
        for _ in 0..2000 {
            let float = f64::from_bits(random.random());
            if let Ok(number) = Number::from_f64(float) {
                assert_eq!(number.to_f64(), float);
                assert_eq!(self::number(&number.to_string()).to_f64(), float);
            }
        }
    });
}

#[test]
fn sums_are_exact_or_rejected() {
    let most = number("9223372036854775807");
    assert_eq!(
        most.plus(Number::ONE).expect("widened").to_string(),
        "9223372036854775808"
    );
    let huge = number("170141183460469231731687303715884105727");
    assert_eq!(
        huge.plus(Number::ONE).expect_err("too large").kind(),
        ErrorKind::Overflow
    );
    assert!(number("1e308").times(3).is_err());
    assert_eq!(number("0.1").times(3).expect("small"), number("0.3"));
    assert_eq!(number("1").divide(number("8")), Some(number("0.125")));
    assert_eq!(number("1").divide(Number::ZERO), None);
    assert!(number("0.30000000000000001") > number("0.3"));
    assert!(number("-3") < number("0.1"));
}

#[test]
fn sums_of_decimals_are_those_of_integers() {
    seed::run("sums_of_decimals_are_those_of_integers", |random| {
        let mut sum = Number::ZERO;
        let mut scaled = 0_i128;
        for _ in 0..1000 {
            let mantissa: i64 = random.random_range(-1_000_000_000..1_000_000_000);
            let digits = random.random_range(0..=6_u32);
            let decimal =
                espalier_stats::Decimal::new(i128::from(mantissa), digits).expect("few digits");
            sum = sum.plus(Number::Exact(decimal)).expect("small");
            scaled += i128::from(mantissa) * 10_i128.pow(6 - digits);
        }
        let expected = espalier_stats::Decimal::new(scaled, 6).expect("few digits");
        assert_eq!(sum, Number::Exact(expected));
    });
}

#[test]
fn names_with_dots_survive() {
    for names in [
        &["a.b"][..],
        &["a", "b"],
        &["*"],
        &["a\\", ".", "é"],
        &["\\."],
        &["a*b"],
    ] {
        let path = Path::of(names.iter().copied()).expect("a path");
        assert_eq!(path.names(), names, "{path}");
        assert_eq!(Path::parse(path.as_str()).expect("the same"), path);
    }
    assert_ne!(
        Path::of(["a.b"]).expect("a path"),
        Path::of(["a", "b"]).expect("a path")
    );
    for wrong in ["a\\b", "a\\", "*", "a.*", "", "a.", ".a", "a..b"] {
        assert!(Path::parse(wrong).is_err(), "{wrong}");
    }
    assert!(Path::of([]).is_err() && Path::of(["x".repeat(1025).as_str()]).is_err());
}

#[test]
fn patterns_match_paths_and_children() {
    let fit = |pattern: &str, path: &str| {
        Pattern::parse(pattern)
            .expect("a pattern")
            .match_path(&Path::parse(path).expect("a path"))
    };
    assert_eq!(fit("a.*", "a.b"), PatternMatch::Exact);
    assert_eq!(fit("a", "a.b"), PatternMatch::Child);
    assert_eq!(fit("*.x", "a.x"), PatternMatch::Exact);
    assert_eq!(fit("a", "a.b.c"), PatternMatch::None);
    assert_eq!(fit("a.\\*", "a.b"), PatternMatch::None);
    assert_eq!(fit("a.\\*", "a.\\*"), PatternMatch::Exact);
}

#[test]
fn nested_values_are_packed_and_unpacked() {
    let text = r#"{"a":1,"b":{"c":22.50,"d":{"e":18446744073709551615}},"x.y":-1}"#;
    let nested = NestedValues::from_json(text).expect("numbers");
    let packed = nested.pack().expect("named");
    let paths: Vec<_> = packed
        .iter()
        .map(|(path, number)| format!("{path}={number}"))
        .collect();
    assert_eq!(
        paths,
        ["a=1", "b.c=22.5", "b.d.e=18446744073709551615", "x\\.y=-1"]
    );
    assert_eq!(NestedValues::unpack(&packed), nested);
    let written = serde_json::to_string(&nested).expect("JSON");
    assert_eq!(written, text.replace("22.50", "22.5"));
}

#[test]
fn a_number_with_values_below_it_gets_the_empty_name() {
    let packed = [("a", 1), ("a.b", 2)]
        .map(|(path, value)| (Path::parse(path).expect("a path"), Number::from(value)));
    let nested = NestedValues::unpack(packed.iter().map(|(path, number)| (path, number)));
    assert_eq!(
        serde_json::to_string(&nested).expect("JSON"),
        r#"{"a":{"":1,"b":2}}"#
    );
    assert_eq!(nested.pack().expect("named"), packed.into_iter().collect());
}

#[test]
fn an_empty_name_is_the_number_of_its_parent_or_rejected() {
    let packed = |text: &str| NestedValues::from_json(text).expect(text).pack();
    assert_eq!(
        packed(r#"{"a":{"":1}}"#).expect("a number of a"),
        packed(r#"{"a":1}"#).expect("a number")
    );
    for wrong in [r#"{"":1}"#, r#"{"a":{"":{"b":1}}}"#, r#"{"a":{"":{"":1}}}"#] {
        let error = packed(wrong).expect_err(wrong).to_string();
        assert!(error.contains("has an empty name"), "{error}");
    }
    let path = Path::parse("a").expect("a path");
    let error = path.child("").expect_err("no name").to_string();
    assert!(error.contains(r#""a." has an empty name"#), "{error}");
}

/// Any values of a store can be read back from their output.
#[test]
fn values_survive_unpacking_and_packing() {
    seed::run("values_survive_unpacking", |random| {
        for _ in 0..500 {
            let values = (0..random.random_range(0_i64..8)).map(|number| {
                let names = (0..random.random_range(1..4))
                    .map(|_| ["a", "b", ".", "*"][random.random_range(0..4)]);
                (Path::of(names).expect("a path"), Number::from(number))
            });
            let values: PathValues = values.collect();
            assert_eq!(NestedValues::unpack(&values).pack().expect("named"), values);
        }
    });
}

#[test]
fn invalid_numbers_are_rejected() {
    for wrong in [
        r#"{"a":"1"}"#,
        r#"{"a":[1]}"#,
        r#"{"a":null}"#,
        r#"{"a":true}"#,
        "[]",
        "{",
        r#"{"a":1e999}"#,
        "",
    ] {
        assert!(NestedValues::from_json(wrong).is_err(), "{wrong}");
    }
    assert!(
        NestedValues::from_json("5")
            .expect("a number")
            .pack()
            .is_err(),
        "a number without a name"
    );
    let deep = "{\"a\":".repeat(200) + "1" + &"}".repeat(200);
    assert!(NestedValues::from_json(&deep).is_err());
}

//! The JSON reader compared with serde_json: which texts are JSON, and their values.

use espalier_testkit::seed;
use espalier_yang::Schema;
use espalier_yang::data::{Content, ParseOptions, Root, TreeBuilder, json};
use espalier_yang::schema::{ModuleSource, SchemaSource};
use rand::Rng;
use rand::rngs::StdRng;
use serde_json::Value as Json;

const ROUNDS: usize = 20_000;

/// No control characters: JSON may escape them, YANG does not allow them.
const SCALARS: [&str; 24] = [
    "0",
    "-0",
    "1",
    "-12",
    "1.5",
    "1e5",
    "1E-5",
    "-0.0e+0",
    "18446744073709551615",
    "01",
    "1.",
    ".5",
    "+1",
    "1e",
    "true",
    "false",
    "null",
    "nul",
    "True",
    "\"\"",
    r#""a\u00e9\ud83d\ude00""#,
    r#""\"\\\/\n\r\t""#,
    r#""\x""#,
    r#""\u12""#,
];

const NOISE: [&str; 12] = [
    ",", ":", "{", "}", "[", "]", "\"", " ", "\t", "\n", "\u{e9}", "\\",
];

/// serde_json's error for a number beyond the range of a double.
const TOO_LARGE: &str = "number out of range";

fn schema() -> Schema {
    let text = "module jt { yang-version 1.1; namespace urn:jt; prefix jt; anyxml any; }";
    let module = ModuleSource {
        name: "jt".into(),
        revision: None,
        text: text.into(),
    };
    Schema::compile(&SchemaSource {
        modules: vec![module],
        ..SchemaSource::default()
    })
    .unwrap()
}

/// A random JSON text, mostly valid.
fn value(random: &mut StdRng, depth: usize, text: &mut String) {
    let space = |random: &mut StdRng, text: &mut String| {
        if random.random_ratio(1, 6) {
            text.push_str([" ", "\n", "\t", "\r\n"][random.random_range(0..4)]);
        }
    };
    space(random, text);
    match random.random_range(0..if depth == 0 { 4 } else { 7 }) {
        0..4 => text.push_str(SCALARS[random.random_range(0..SCALARS.len())]),
        4 => {
            text.push('[');
            for index in 0..random.random_range(0..4) {
                text.push_str(if index > 0 { "," } else { "" });
                value(random, depth - 1, text);
            }
            text.push(']');
        }
        _ => {
            text.push('{');
            for index in 0..random.random_range(0..4) {
                text.push_str(if index > 0 { "," } else { "" });
                space(random, text);
                text.push_str(&format!("\"n{index}\""));
                space(random, text);
                text.push(':');
                value(random, depth - 1, text);
            }
            text.push('}');
        }
    }
    space(random, text);
}

/// Inserts or removes something.
fn mutate(random: &mut StdRng, text: &mut String) {
    let places: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
    let at = places[random.random_range(0..places.len())];
    if random.random() {
        text.remove(at);
    } else {
        text.insert_str(at, NOISE[random.random_range(0..NOISE.len())]);
    }
}

/// The value that the reader stores for a document of one anyxml node.
fn kept(schema: &Schema, text: &str) -> Option<String> {
    let mut tree = TreeBuilder::new();
    json::parse(
        schema,
        Root::Datastore,
        text.as_bytes(),
        &mut tree,
        &ParseOptions::default(),
    )
    .ok()?;
    match &tree.finish().unwrap().nodes.first()?.content {
        Content::Any(kept) => Some(kept.to_string()),
        other => panic!("an anyxml node holds {other:?}"),
    }
}

#[test]
fn accepts_the_same_json_as_serde_json() {
    let schema = schema();
    seed::run("accepts_the_same_json_as_serde_json", |random| {
        let mut accepted = 0;
        for _ in 0..ROUNDS {
            let mut text = String::from("{\"jt:any\":");
            value(random, 3, &mut text);
            text.push('}');
            if random.random_ratio(1, 3) {
                mutate(random, &mut text);
            }
            let theirs = serde_json::from_str::<Json>(&text);
            // A mutation joined two numbers: valid JSON, but out of serde_json's range.
            let is_too_large = |error: &serde_json::Error| error.to_string().contains(TOO_LARGE);
            if theirs.as_ref().is_err_and(is_too_large) {
                continue;
            }
            let theirs = theirs.ok();
            // Valid JSON, but not a document of this model.
            let theirs = theirs.and_then(|json| match json {
                Json::Object(members) if members.len() == 1 => members.get("jt:any").cloned(),
                _ => None,
            });
            let mine = kept(&schema, &text);
            let mine: Option<Json> =
                mine.map(|kept| serde_json::from_str(&kept).expect("what is kept is JSON"));
            // A mutation duplicated a name: rejected by RFC 7951 (I-JSON), accepted by serde_json.
            if mine.is_none()
                && theirs.is_some()
                && text.matches("\"n").count() > 1
                && has_twins(&text)
            {
                continue;
            }
            assert_eq!(mine, theirs, "{text:?}");
            accepted += usize::from(theirs.is_some());
        }
        assert!(accepted > ROUNDS / 20, "{accepted}");
    });
}

/// Regression: a mutation joined 1e5 and the digits after it, which the test above reported as an error.
#[test]
fn a_number_out_of_double_range_is_kept_as_written() {
    let text = r#"{"jt:any":[-1e518446744073709551615]}"#;
    let error = serde_json::from_str::<Json>(text).expect_err("too large");
    assert!(error.to_string().contains(TOO_LARGE), "{error}");
    let kept = kept(&schema(), text);
    assert_eq!(kept.as_deref(), Some("[-1e518446744073709551615]"));
}

/// Returns whether a mutation may have made two names of one object equal.
fn has_twins(text: &str) -> bool {
    text.contains("\"n\"") || !(0..3).all(|index| text.contains(&format!("\"n{index}\"")))
}

//! Random values: accepted, rejected and printed as by libyang.

use espalier_testkit::seed;
use espalier_yang::schema::{
    Canonical, JsonScalar, ModuleNames, Type, TypeKind, ValueError, XmlPrefixes,
};
use espalier_yang::{NodeId, Schema, Value};
use rand::Rng as _;
use rand::rngs::StdRng;
use yang5::context::Context;
use yang5::data::DataFormat;

use crate::{generate, libyang};

/// The number of texts for each leaf.
const ROUNDS: usize = 300;

/// The intended differences from libyang: the RFCs are clear there.
fn is_known_difference(of: &Type, text: &str, format: DataFormat) -> bool {
    let unsigned = text.trim().trim_start_matches(['-', '+']);
    match &of.kind {
        // RFC 7950 §9.10.2: derived from all bases. libyang requires only one, and it accepts an empty prefix.
        TypeKind::IdentityRef(bases) => bases.len() > 1 || text.starts_with(':'),
        // §9.2.1: octal and hexadecimal are for defaults only. libyang accepts them in JSON strings.
        TypeKind::Integer(..) => format == DataFormat::JSON && unsigned.starts_with('0'),
        // §9.3.1: there is a digit before the point. libyang accepts `-.5` and `-`.
        TypeKind::Decimal64(..) => unsigned.is_empty() || unsigned.starts_with('.'),
        TypeKind::String(..) => is_known_difference_of_typedef(of.canonical, text, format),
        TypeKind::LeafRef { target_type, .. } => is_known_difference(target_type, text, format),
        TypeKind::Union(members) => members
            .iter()
            .any(|member| is_known_difference(member, text, format)),
        _ => false,
    }
}

fn is_known_difference_of_typedef(canonical: Canonical, text: &str, format: DataFormat) -> bool {
    match canonical {
        // The patterns define the characters of a zone. libyang does not check them.
        Canonical::Ipv4Address | Canonical::Ipv6Address => text.contains('%'),
        // The offset is optional in the patterns. libyang requires one.
        Canonical::Date => text.len() == 10,
        Canonical::DateAndTime => !text.get(19..).unwrap_or("").contains(['Z', '+', '-']),
        // libyang searches for prefixes anywhere in literals; Espalier only in literals that are one name. And
        // libyang rejects prefixes of unknown modules in XML only; Espalier in both formats.
        Canonical::XPath => {
            text.contains('\'')
                || joins_an_operator(text)
                || format == DataFormat::JSON && names_another_module(text)
        }
        // As with dates; and libyang has no times before midnight in UTC.
        Canonical::Time => !text.contains(['Z', '-']),
        _ => false,
    }
}

/// XML names may contain nearly all characters beyond ASCII (XML 1.0 §2.3), in libyang too.
fn is_in_name(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || "-_.".contains(letter) || !letter.is_ascii()
}

/// Returns whether the name of an operator is followed by further letters, as in `1 andnot(2)`: one name in XPath
/// (XPath 1.0 §3.7), but libyang reads the operator.
fn joins_an_operator(expression: &str) -> bool {
    ["and", "or", "div", "mod"].iter().any(|operator| {
        expression.match_indices(operator).any(|(at, _)| {
            let (before, after) = (&expression[..at], &expression[at + operator.len()..]);
            let is_operator = before.trim_end().ends_with(|last: char| {
                is_in_name(last) || matches!(last, ')' | ']' | '*' | '\'' | '"')
            });
            is_operator && !before.ends_with(is_in_name) && after.starts_with(is_in_name)
        })
    })
}

/// Returns whether an expression has a prefix that is not the name of the only module of these tests.
fn names_another_module(expression: &str) -> bool {
    expression.match_indices(':').any(|(at, _)| {
        let before = &expression[..at];
        before.trim_end_matches(is_in_name).len() + "every-type".len() != at
            || !before.ends_with("every-type")
    })
}

fn is_date(canonical: Canonical) -> bool {
    matches!(
        canonical,
        Canonical::Date | Canonical::DateAndTime | Canonical::Time
    )
}

fn compare(
    of: &Type,
    leaf: &str,
    text: &str,
    format: DataFormat,
    ours: Result<Value, ValueError>,
    theirs: Result<String, String>,
) -> bool {
    let is_same = match (&ours, &theirs) {
        // Dates and times are kept as written. libyang converts them to its own zone.
        (Ok(Value::String(ours)), Ok(_)) if is_date(of.canonical) => **ours == *text.trim(),
        // Unused bits of the last base64 digit are zero in Espalier's canonical form.
        (Ok(Value::Binary(_)), Ok(_)) => true,
        // libyang drops some spaces from expressions.
        (Ok(Value::InstanceIdentifier(ours)), Ok(theirs)) => {
            without_space(ours) == without_space(theirs)
        }
        (Ok(ours), Ok(theirs)) => ours.to_string() == *theirs,
        (Err(_), Err(_)) => true,
        _ => false,
    };
    if !is_same && !is_known_difference(of, text, format) {
        println!("{leaf}: {text:?}\n   ours {ours:?}\n theirs {theirs:?}");
        return false;
    }
    true
}

fn without_space(text: &str) -> String {
    text.split_whitespace().collect()
}

fn leaves(schema: &Schema) -> Vec<(&'static str, NodeId)> {
    let module = schema.module_by_name("every-type").unwrap();
    let mut leaves = Vec::new();
    for container in ["types", "canonical"] {
        let id = schema.child(None, module, container).unwrap();
        let children = schema.node(id).children.iter();
        let children = children.filter(|&&child| {
            let value = schema.node(child).as_value().unwrap();
            !matches!(value.value_type.kind, TypeKind::InstanceIdentifier { .. })
        });
        leaves.extend(children.map(|&child| (container, child)));
    }
    leaves
}

fn check_xml(rng: &mut StdRng, schema: &Schema, context: &Context) -> usize {
    let prefixes = XmlPrefixes(|prefix: Option<&str>| match prefix {
        None | Some("et") => Some("urn:espalier:test:every-type"),
        _ => None,
    });
    let mut wrong = 0;
    for (container, id) in leaves(schema) {
        let node = schema.node(id);
        let of = &node.as_value().unwrap().value_type;
        for _ in 0..ROUNDS {
            let text = generate::text(rng, of);
            let escaped = text
                .replace('&', "&amp;")
                .replace('<', "&lt;")
                .replace('>', "&gt;");
            let document = format!(
                "<{container} xmlns=\"urn:espalier:test:every-type\" \
                 xmlns:et=\"urn:espalier:test:every-type\"><{}>{escaped}</{}></{container}>",
                node.name, node.name
            );
            // Whether white space alone is a value depends on the parser.
            if !text.is_empty() && text.trim().is_empty() {
                continue;
            }
            let theirs = libyang::canonical(context, &document, DataFormat::XML);
            let ours = of.parse(schema, &text, &prefixes);
            wrong += usize::from(!compare(
                of,
                &node.name,
                &text,
                DataFormat::XML,
                ours,
                theirs,
            ));
        }
    }
    wrong
}

fn check_json(rng: &mut StdRng, schema: &Schema, context: &Context) -> usize {
    let names = ModuleNames {
        leaf_module: schema.module_by_name("every-type").unwrap(),
    };
    let mut wrong = 0;
    for (container, id) in leaves(schema) {
        let node = schema.node(id);
        let of = &node.as_value().unwrap().value_type;
        for _ in 0..ROUNDS {
            let text = generate::text(rng, of).replace("et:", "every-type:");
            let is_number = serde_json::from_str::<serde_json::Number>(&text).is_ok();
            let (scalar, written) = match rng.random_range(0..8) {
                0 => (JsonScalar::EmptyArray, "[null]".to_owned()),
                1 => (JsonScalar::Boolean(true), "true".to_owned()),
                2..=4 if is_number => (JsonScalar::Number(text.trim()), text.clone()),
                _ => (
                    JsonScalar::String(&text),
                    serde_json::to_string(&text).unwrap(),
                ),
            };
            let value = if node.is_leaf_list() {
                format!("[{written}]")
            } else {
                written
            };
            let document = format!(
                "{{\"every-type:{container}\":{{\"{}\":{value}}}}}",
                node.name
            );
            let theirs = libyang::canonical(context, &document, DataFormat::JSON);
            let ours = of.parse_json(schema, scalar, &names);
            wrong += usize::from(!compare(
                of,
                &node.name,
                &text,
                DataFormat::JSON,
                ours,
                theirs,
            ));
        }
    }
    wrong
}

#[test]
fn values_match_libyang() {
    let (schema, context) = (libyang::schema(), libyang::context());
    let mut rng = seed::generator();
    let wrong = check_xml(&mut rng, &schema, &context);
    assert_eq!(wrong, 0, "differences in XML");
    let wrong = check_json(&mut rng, &schema, &context);
    assert_eq!(wrong, 0, "differences in JSON");
}

#[test]
fn known_differences_of_expressions_are_recognised() {
    for text in ["\u{1F600}every-type:types", "/€every-type:types"] {
        assert!(names_another_module(text));
    }
    assert!(joins_an_operator("count(/et:a) > 2 andnot(/et:b)"));
    assert!(!joins_an_operator("/et:android and /et:order or 1"));
    assert!(!names_another_module("/every-type:types/every-type:int8"));
}

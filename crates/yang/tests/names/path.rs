//! Instance identifiers, paths in URIs and paths on command lines.

use espalier_testkit::seed;
use espalier_yang::path::ApiRoot;
use espalier_yang::schema::{ModuleNames, XmlPrefixes};
use espalier_yang::{DataError, ErrorTag, InstancePath, Keys, Schema, Value};
use rand::Rng;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use yang5::context::{Context, ContextFlags};
use yang5::data::{Data, DataFormat, DataParserFlags, DataTree, DataValidationFlags};
use yang5::schema::{SchemaInputFormat, SchemaModule};

use crate::tree_model::{HOSTILE, modules, random_path, schema};

fn identifier(schema: &Schema, text: &str) -> Result<InstancePath, DataError> {
    let leaf_module = schema.module_by_name("t").expect("module t");
    InstancePath::parse_instance_identifier(schema, text, &ModuleNames { leaf_module })
}

fn data(schema: &Schema, text: &str) -> Result<InstancePath, DataError> {
    InstancePath::parse_api_path(schema, text, ApiRoot::Data)
}

fn cli(schema: &Schema, text: &str) -> Result<InstancePath, DataError> {
    InstancePath::parse_cli_path(schema, text)
}

fn has_position(path: &InstancePath) -> bool {
    let mut steps = path.steps.iter();
    steps.any(|step| matches!(step.keys, Keys::Position(_)))
}

#[test]
fn printed_paths_parse_to_the_same_path() {
    let (schema, mut rng) = (schema(), seed::generator());
    for _ in 0..5_000 {
        let path = random_path(&mut rng, &schema);
        let text = path.to_instance_identifier(&schema);
        assert_eq!(identifier(&schema, &text).as_ref(), Ok(&path), "{text}");
        assert_eq!(cli(&schema, &text).as_ref(), Ok(&path), "{text}");
        match path.to_api_path(&schema) {
            Some(text) => {
                assert_eq!(data(&schema, &text).as_ref(), Ok(&path), "{text}");
                assert_eq!(cli(&schema, &text).as_ref(), Ok(&path), "{text}");
                assert!(text.bytes().all(|b| b.is_ascii_graphic()), "{text}");
            }
            None => assert!(has_position(&path), "{text}"),
        }
    }
}

#[test]
fn whole_lists_are_printed_and_parsed() {
    let schema = schema();
    for (text, api) in [
        ("/t:top/words", "t:top/words"),
        ("/t:top/pair", "t:top/pair"),
        ("/t:top/string[k='a']/u:v", "t:top/string=a/u:v"),
        ("/", ""),
    ] {
        let path = cli(&schema, text).unwrap();
        assert_eq!(path.to_instance_identifier(&schema), text);
        assert_eq!(path.to_api_path(&schema).as_deref(), Some(api));
        assert_eq!(data(&schema, api), Ok(path));
    }
}

fn mutate(rng: &mut StdRng, text: &str) -> String {
    const PIECES: &[&str] = &[
        "/", "[", "]", "'", "\"", "=", ",", "%", "t:", "u:", "k", "a", "[k='a']", "[1]", "[.='x']",
        " ", ".", "words", "string", "%2F", "é", "0", "''", "/v", "[a='x']", "[b='1']", "x:",
    ];
    let mut chars: Vec<char> = text.chars().collect();
    for _ in 0..rng.random_range(0..3) {
        let at = rng.random_range(0..=chars.len());
        let end = (at + rng.random_range(0..3)).min(chars.len());
        let piece = PIECES.choose(rng).expect("not empty").chars();
        let piece: Vec<char> = if rng.random_bool(0.7) {
            piece.collect()
        } else {
            Vec::new()
        };
        chars.splice(at..end, piece);
    }
    chars.into_iter().collect()
}

#[test]
fn no_input_panics_and_what_is_accepted_round_trips() {
    let (schema, mut rng) = (schema(), seed::generator());
    let mut accepted = 0;
    for _ in 0..20_000 {
        let path = random_path(&mut rng, &schema);
        let text = match rng.random_bool(0.5) {
            true => path.to_instance_identifier(&schema),
            false => path.to_api_path(&schema).unwrap_or_default(),
        };
        let text = mutate(&mut rng, &text);
        let forms = [
            identifier(&schema, &text),
            data(&schema, &text),
            cli(&schema, &text),
        ];
        for path in forms.into_iter().flatten() {
            let printed = path.to_instance_identifier(&schema);
            assert_eq!(cli(&schema, &printed), Ok(path), "{text} as {printed}");
            accepted += 1;
        }
    }
    assert!(accepted > 5_000, "{accepted}");
}

/// libyang's canonical form of an instance identifier; `None` if it rejects it.
fn libyang_canonical(context: &Context, text: &str) -> Option<String> {
    let json = serde_json::json!({ "t:iid": text }).to_string();
    let tree = DataTree::parse_string(
        context,
        json,
        DataFormat::JSON,
        DataParserFlags::STRICT,
        DataValidationFlags::empty(),
    )
    .ok()?;
    let leaf = tree.find_path("/t:iid").ok()?;
    leaf.value_canonical()
}

/// The intended differences from libyang.
fn is_known_difference(text: &str) -> bool {
    // libyang cannot write both kinds of quotes, and writes them wrongly.
    let both_quotes = text.contains('\'') && text.contains('"');
    let doubled_quotes = text.contains("\'\'") || text.contains("\"\"");
    // libyang keeps base64 whose unused bits are not zero; Espalier makes it canonical.
    let base64 = text.contains("binary");
    // libyang accepts an empty prefix as none.
    let empty_prefix = text.contains("':") || text.contains("\":");
    // libyang reads `-.5` and even `-` as decimals; RFC 7950 §9.3.1 requires digits.
    let decimal = text.contains("decimal");
    // libyang accepts numbers without quotes.
    let bare_number = text
        .split('=')
        .any(|after| after.trim_start().starts_with(is_digit));
    let quotes = both_quotes || doubled_quotes;
    quotes || base64 || empty_prefix || decimal || bare_number || has_odd_position(text)
}

fn is_digit(c: char) -> bool {
    c.is_ascii_digit()
}

/// Returns whether there is a position that libyang reads as an XPath number, as in `[056]` or `[8.]`: RFC 7950 §14
/// allows digits only, the first not zero.
fn has_odd_position(text: &str) -> bool {
    text.split('[').skip(1).any(|inside| {
        let inside = inside.trim_start();
        let after = inside.trim_start_matches(is_digit);
        inside.starts_with('0') || (after != inside && after.starts_with('.'))
    })
}

#[test]
fn instance_identifiers_match_libyang() {
    let (schema, mut rng) = (schema(), seed::generator());
    let context = Context::new(ContextFlags::NO_YANGLIBRARY).expect("a context");
    for (name, text) in modules() {
        SchemaModule::parse_string(&context, &text, SchemaInputFormat::YANG)
            .unwrap_or_else(|error| panic!("{name}: {error}"));
    }
    let (mut both, mut neither) = (0, 0);
    for _ in 0..3_000 {
        let path = random_path(&mut rng, &schema);
        let text = mutate(&mut rng, &path.to_instance_identifier(&schema));
        if is_known_difference(&text) {
            continue;
        }
        let ours = identifier(&schema, &text);
        let theirs = libyang_canonical(&context, &text);
        match (ours, theirs) {
            (Ok(path), Some(canonical)) => {
                assert_eq!(path.to_instance_identifier(&schema), canonical, "{text:?}");
                both += 1;
            }
            (Err(_), None) => neither += 1,
            (ours, theirs) => panic!("{text:?}: {ours:?}, libyang {theirs:?}"),
        }
    }
    println!("{both} accepted, {neither} rejected by both");
    assert!(both > 500 && neither > 100);
}

#[track_caller]
fn check_rejected(parsed: Result<InstancePath, DataError>, tag: ErrorTag, part: &str) {
    match parsed {
        Ok(path) => panic!("accepted as {path:?}"),
        Err(error) => {
            assert_eq!(error.tag, tag, "{error}");
            assert!(error.to_string().contains(part), "{error}");
        }
    }
}

#[test]
fn api_paths_follow_rfc_8040() {
    let schema = schema();
    let same = |text: &str, canonical: &str| {
        let path = data(&schema, text).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(path.to_instance_identifier(&schema), canonical);
    };
    same("t:top/string=eth%2F0", "/t:top/string[k='eth/0']");
    same("/t:top/string=", "/t:top/string[k='']");
    same("t:top/t:string=a=b", "/t:top/string[k='a=b']");
    same("t:top/string=%F0%9F%98%80/v", "/t:top/string[k='😀']/v");
    same("t:top/string=a/u:v=b", "/t:top/string[k='a']/u:v[k='b']");
    same("t:top/pair=1,", "/t:top/pair[b='1'][a='']");
    same("t:top/pair=1,%2C%25", "/t:top/pair[b='1'][a=',%']");
    same("t:top/identity=id-a", "/t:top/identity[k='t:id-a']");
    same("t:top/identity=u%3Aid-b", "/t:top/identity[k='u:id-b']");
    same("t:top/decimal=7", "/t:top/decimal[k='7.0']");
    same("t:top/words=a%20b", "/t:top/words[.='a b']");
    same("t:top/inner/x", "/t:top/inner/x");
    same("t:top/reset", "/t:top/reset");
    let path = InstancePath::parse_api_path(&schema, "t:go", ApiRoot::Operations).unwrap();
    assert_eq!(path.to_api_path(&schema).as_deref(), Some("t:go"));
}

#[test]
fn invalid_api_paths_are_rejected_with_a_reason() {
    let schema = schema();
    let check = |text: &str, tag, part: &str| check_rejected(data(&schema, text), tag, part);
    check("top", ErrorTag::UnknownElement, "needs its module");
    check("x:top", ErrorTag::UnknownNamespace, "no module 'x'");
    check(
        "t:topp",
        ErrorTag::UnknownElement,
        "'t:topp' does not exist at the top level",
    );
    check(
        "t:top/foo",
        ErrorTag::UnknownElement,
        "does not exist in /t:top",
    );
    check("t:top/extra", ErrorTag::UnknownElement, "does not exist");
    check("t:top/string/v", ErrorTag::MissingElement, "its keys");
    check(
        "t:top/pair=1",
        ErrorTag::MissingElement,
        "2 key values, not 1",
    );
    check(
        "t:top/pair=1,a,b",
        ErrorTag::InvalidValue,
        "2 key values, not 3",
    );
    check("t:top/pair=x,a", ErrorTag::InvalidValue, "'b' of the path");
    check("t:top/inner=1", ErrorTag::InvalidValue, "has no keys");
    check("t:top/keyless=1", ErrorTag::InvalidValue, "has no keys");
    check(
        "t:top/string=a%2",
        ErrorTag::MalformedMessage,
        "two hexadecimal digits",
    );
    check("t:top/string=%ff", ErrorTag::MalformedMessage, "UTF-8");
    check(
        "t:top//inner",
        ErrorTag::MalformedMessage,
        "expected a name",
    );
    check("t:top/", ErrorTag::MalformedMessage, "expected a name");
    check("t:top/a b", ErrorTag::MalformedMessage, "end of the name");
    check("t:go", ErrorTag::UnknownElement, "'t:go'");
    check("t:gone", ErrorTag::UnknownElement, "'t:gone'");
    check("t:top/alarm", ErrorTag::UnknownElement, "'alarm'");
    check("t:top/reset/input", ErrorTag::UnknownElement, "'input'");
    check("t:top/words=a/x", ErrorTag::UnknownElement, "'x'");
    let rpc = |text| InstancePath::parse_api_path(&schema, text, ApiRoot::Operations);
    check_rejected(rpc("t:top"), ErrorTag::UnknownElement, "'t:top'");
    check_rejected(rpc("t:go/input"), ErrorTag::UnknownElement, "'input'");
}

#[test]
fn errors_of_api_paths_have_the_path_parsed_so_far() {
    let schema = schema();
    let place = |text: &str| data(&schema, text).expect_err(text).path;
    assert_eq!(place("t:topp"), "");
    assert_eq!(place("t:top/foo"), "/t:top");
    assert_eq!(place("t:top/string=a/foo"), "/t:top/string[k='a']");
    assert_eq!(place("t:top/pair=x,y"), "/t:top/pair");
}

#[test]
fn instance_identifiers_accept_keys_in_any_order_and_both_quotes() {
    let schema = schema();
    let same = |text: &str, canonical: &str| {
        let path = identifier(&schema, text).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(path.to_instance_identifier(&schema), canonical);
    };
    same(
        "/t:top/pair[a=\"x\"][ b = '1' ]/in",
        "/t:top/pair[b='1'][a='x']/in",
    );
    same("/t:top/words[.=\"it's\"]", "/t:top/words[.=\"it's\"]");
    same("/t:top/keyless[3]/x", "/t:top/keyless[3]/x");
    same("/t:top/state-words[3]", "/t:top/state-words[3]");
    same(
        "/t:top/string[k='it''s \"x\"']",
        "/t:top/string[k='it''s \"x\"']",
    );
    same(
        "/t:top/string[k=\"it's \"\"x\"\"\"]",
        "/t:top/string[k='it''s \"x\"']",
    );
}

#[test]
fn invalid_instance_identifiers_are_rejected_with_a_reason() {
    let schema = schema();
    let check = |text: &str, tag, part: &str| check_rejected(identifier(&schema, text), tag, part);
    check("", ErrorTag::MalformedMessage, "expected '/'");
    check("t:top", ErrorTag::MalformedMessage, "column 1");
    check("/t:top/", ErrorTag::MalformedMessage, "column 8");
    check(
        "/t:top/t:pair",
        ErrorTag::InvalidValue,
        "must be written 'pair'",
    );
    check(
        "/t:top/string[t:k='']",
        ErrorTag::InvalidValue,
        "must be written 'k'",
    );
    check("/t:top/pair", ErrorTag::MissingElement, "its keys");
    check(
        "/t:top/pair[b='1']",
        ErrorTag::MissingElement,
        "lacks its key 'a'",
    );
    check(
        "/t:top/pair[b='1'][a='x'][a='x']",
        ErrorTag::InvalidValue,
        "duplicate predicate",
    );
    check("/t:top/pair[c='1']", ErrorTag::InvalidValue, "not a key");
    check(
        "/t:top/pair[1]",
        ErrorTag::InvalidValue,
        "not identified by a position",
    );
    check(
        "/t:top/keyless[0]",
        ErrorTag::InvalidValue,
        "not a position",
    );
    check(
        "/t:top/keyless[99999999999999999999]",
        ErrorTag::InvalidValue,
        "not a position",
    );
    check("/t:top/keyless", ErrorTag::MissingElement, "a position");
    check("/t:top/words", ErrorTag::MissingElement, "its value");
    check("/t:top[.='1']", ErrorTag::InvalidValue, "leaf-list");
    check(
        "/t:top/string[k=a]",
        ErrorTag::MalformedMessage,
        "between quotes",
    );
    check(
        "/t:top/string[k='a]",
        ErrorTag::MalformedMessage,
        "closing '",
    );
    check(
        "/t:top/string[k='a'",
        ErrorTag::MalformedMessage,
        "expected ']'",
    );
}

#[test]
fn xml_instance_identifiers_have_a_prefix_on_every_name() {
    let schema = schema();
    let namespaces = XmlPrefixes(|prefix: Option<&str>| match prefix {
        Some("one") => Some("urn:t"),
        Some("two") => Some("urn:u"),
        _ => None,
    });
    let parse = |text: &str| InstancePath::parse_instance_identifier(&schema, text, &namespaces);
    let path = parse("/one:top/one:string[one:k='a']/two:more").unwrap();
    assert_eq!(
        path.to_instance_identifier(&schema),
        "/t:top/string[k='a']/u:more"
    );
    let path = parse("/one:top/one:identity[one:k='two:id-b']").unwrap();
    assert_eq!(
        path.to_instance_identifier(&schema),
        "/t:top/identity[k='u:id-b']"
    );
    check_rejected(
        parse("/one:top/inner"),
        ErrorTag::UnknownNamespace,
        "needs a prefix",
    );
    check_rejected(
        parse("/t:top"),
        ErrorTag::UnknownNamespace,
        "'t' is not a known module",
    );
    check_rejected(
        parse("/one:top/one:string[k='a']"),
        ErrorTag::UnknownNamespace,
        "needs a prefix",
    );
}

#[test]
fn command_lines_may_omit_unambiguous_modules() {
    let schema = schema();
    let same = |text: &str, canonical: &str| {
        let path = cli(&schema, text).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(path.to_instance_identifier(&schema), canonical);
    };
    same("top/string[k=eth0]/more", "/t:top/string[k='eth0']/u:more");
    same("/top/string[k='a/b']/v", "/t:top/string[k='a/b']/v");
    same(
        "/top/string=a%2Fb/u:v=x",
        "/t:top/string[k='a/b']/u:v[k='x']",
    );
    same("/tp:top/pair=1,x/in", "/t:top/pair[b='1'][a='x']/in");
    same("/top/pair[a=x][b=1]", "/t:top/pair[b='1'][a='x']");
    same("/top/extra/top", "/t:top/u:extra/top");
    same("/top/words", "/t:top/words");
    same("/top/u:words", "/t:top/u:words");
    same("/only", "/u:only");
    same("/top/identity[k=id-a]", "/t:top/identity[k='t:id-a']");
    let check = |text: &str, tag, part: &str| check_rejected(cli(&schema, text), tag, part);
    check(
        "/top/twice",
        ErrorTag::UnknownElement,
        "may be u:twice or w:twice",
    );
    check("/iid", ErrorTag::UnknownElement, "may be t:iid or w:iid");
    check("/top/string/v", ErrorTag::MissingElement, "its keys");
    check(
        "/top/foo",
        ErrorTag::UnknownElement,
        "'foo' does not exist in /t:top",
    );
    check("//top", ErrorTag::MalformedMessage, "expected a name");
    check("/top/inner x", ErrorTag::MalformedMessage, "expected '/'");
    check("/go", ErrorTag::UnknownElement, "'go'");
}

#[test]
fn every_hostile_string_survives_every_form() {
    let schema = schema();
    let list = cli(&schema, "/top/string").unwrap();
    let node = list.target().unwrap();
    for a in HOSTILE {
        for b in HOSTILE {
            let value = Value::string(format!("{a}{b}"));
            let keys = Keys::Values(vec![value]);
            let path = list.parent().unwrap().child(node, keys);
            let text = path.to_instance_identifier(&schema);
            assert_eq!(identifier(&schema, &text).as_ref(), Ok(&path), "{text}");
            let text = path.to_api_path(&schema).unwrap();
            assert_eq!(data(&schema, &text).as_ref(), Ok(&path), "{text}");
        }
    }
}

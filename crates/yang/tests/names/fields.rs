//! `fields` expressions.

use espalier_yang::path::{Fields, Selection};
use espalier_yang::{ErrorTag, InstancePath, NodeId, Schema};

use crate::tree_model::schema;

fn node(schema: &Schema, path: &str) -> NodeId {
    let path = InstancePath::parse_cli_path(schema, path).unwrap_or_else(|e| panic!("{e}"));
    path.target().expect("not the root")
}

#[track_caller]
fn check(target: Option<&str>, text: &str, expected: &[(&str, Selection)]) {
    let schema = schema();
    let target = target.map(|path| node(&schema, path));
    let fields = Fields::parse(&schema, target, text).unwrap_or_else(|e| panic!("{text}: {e}"));
    for (path, selection) in expected {
        let id = node(&schema, path);
        assert_eq!(fields.selection(&schema, id), *selection, "{text}: {path}");
    }
}

#[test]
fn fields_select_nodes_wholly_and_those_above_partly() {
    use Selection::{Not, Partial, Whole};
    check(
        None,
        "t:top(pair/in;string(v;u:more);words);u:only",
        &[
            ("/top", Partial),
            ("/top/pair", Partial),
            ("/top/pair=1,a/a", Whole),
            ("/top/pair=1,a/b", Whole),
            ("/top/pair=1,a/in", Whole),
            ("/top/pair=1,a/in/x", Whole),
            ("/top/string", Partial),
            ("/top/string=a/k", Whole),
            ("/top/string=a/v", Whole),
            ("/top/string=a/more", Whole),
            ("/top/string=a/u:v", Not),
            ("/top/string=a/u:v=b/k", Not),
            ("/top/words", Whole),
            ("/top/u:words", Not),
            ("/top/inner", Not),
            ("/top/inner/x", Not),
            ("/only", Whole),
            ("/t:iid", Not),
        ],
    );
    check(
        Some("/top"),
        "inner/x;u:extra",
        &[
            ("/top", Partial),
            ("/top/inner", Partial),
            ("/top/inner/x", Whole),
            ("/top/extra/top", Whole),
            ("/top/words", Not),
            ("/only", Not),
        ],
    );
    check(
        Some("/top/pair=1,a"),
        "in",
        &[
            ("/top/pair=1,a/a", Whole),
            ("/top/pair=1,a/in/x", Whole),
            ("/top", Partial),
        ],
    );
    check(
        None,
        "t:top;t:top/inner/x",
        &[("/top/inner", Whole), ("/top/words", Whole)],
    );
    check(
        None,
        "t:top/inner/x;t:top",
        &[("/top/inner", Whole), ("/top/words", Whole)],
    );
    check(
        None,
        "t:top(nested(top(words)))",
        &[
            ("/top/nested/top", Partial),
            ("/top/nested/top/words", Whole),
        ],
    );
}

#[test]
fn invalid_fields_are_rejected() {
    let schema = schema();
    for (text, part) in [
        ("", "expected a name"),
        ("top", "'top' does not exist in /"),
        ("t:top(", "expected a name"),
        ("t:top(inner", "column 12"),
        ("t:top(inner))", "'(' before ')'"),
        ("t:top()", "expected a name"),
        ("t:top;", "expected a name"),
        ("t:top//inner", "expected a name"),
        ("t:top/extra", "does not exist in /t:top"),
        ("t:top/string=a", "found '='"),
        ("t:go", "does not exist"),
        ("t:top/reset", "does not exist"),
        ("t:top inner", "found ' '"),
    ] {
        let error = Fields::parse(&schema, None, text).expect_err(text);
        assert_eq!(error.tag, ErrorTag::InvalidValue, "{error}");
        assert!(error.message.contains(part), "{text}: {error}");
    }
}

//! A model with a list for every key type, two modules that augment it, and random paths in it.

use espalier_yang::schema::{ModuleNames, ModuleSource, NodeKind, SchemaSource};
use espalier_yang::{InstancePath, Keys, NodeId, Schema, Value};
use rand::Rng;
use rand::rngs::StdRng;
use rand::seq::{IndexedRandom, IteratorRandom};

/// Type statements of keys, and texts of values.
const KEY_TYPES: &[(&str, &str, &[&str])] = &[
    ("int8", "type int8;", &["-128", "0", "7"]),
    ("int16", "type int16;", &["-32768", "32767"]),
    ("int32", "type int32;", &["-1", "2147483647"]),
    ("int64", "type int64;", &["-9223372036854775808", "9"]),
    ("uint8", "type uint8;", &["0", "255"]),
    ("uint16", "type uint16;", &["65535"]),
    ("uint32", "type uint32;", &["4294967295", "1"]),
    ("uint64", "type uint64;", &["18446744073709551615"]),
    (
        "decimal",
        "type decimal64 { fraction-digits 3; }",
        &["-0.5", "12.345", "7.0"],
    ),
    ("boolean", "type boolean;", &["true", "false"]),
    (
        "enum",
        "type enumeration { enum a; enum \"b/c,d %41\"; enum \"it's\"; }",
        &["a", "b/c,d %41", "it's"],
    ),
    (
        "bits",
        "type bits { bit one; bit two; }",
        &["", "one", "one two"],
    ),
    ("binary", "type binary;", &["", "AA==", "+/+/"]),
    ("empty", "type empty;", &[""]),
    (
        "identity",
        "type identityref { base base; }",
        &["t:id-a", "u:id-b"],
    ),
    (
        "instance",
        "type instance-identifier { require-instance false; }",
        &[
            "/t:top",
            "/t:top/string[k='a']",
            "/t:top/string[k=\"it's\"]/u:more",
            "/t:top/pair[b='1'][a='x\"y']",
        ],
    ),
    (
        "union",
        "type union { type int32; type string; }",
        &["1", "-", "x,y"],
    ),
    (
        "leafref",
        "type leafref { path '../../pair/b'; require-instance false; }",
        &["5"],
    ),
    ("string", "type string;", HOSTILE),
];

/// Texts that break naive paths.
pub const HOSTILE: &[&str] = &[
    "",
    "/",
    ",",
    "%",
    "%2F",
    "%zz",
    "=",
    "'",
    "\"",
    "'\"",
    "''",
    "a''b\"\"",
    "[",
    "]",
    "]/x[",
    " ",
    "  x ",
    "\t\n\r",
    "😀",
    "é",
    "日本",
    ":",
    "t:top",
    ".",
    "..",
    "a=b,c=d/e",
    "?",
    "#",
    "&amp;",
    "+",
    "\\",
    "\\'",
    "(a;b)",
    "\u{10fffd}",
    "\u{301}",
    "1",
    "[1]",
];

pub fn model() -> String {
    let lists: String = KEY_TYPES
        .iter()
        .map(|(name, statement, _)| {
            let statement = statement.replace("base base", "base t:base");
            format!("list {name} {{ key k; leaf k {{ {statement} }} leaf v {{ type string; }} }}\n")
        })
        .collect();
    format!(
        "module t {{
           yang-version 1.1; namespace urn:t; prefix tp;
           import t {{ prefix unused; }}
           identity base; identity id-a {{ base base; }}
           leaf iid {{ type instance-identifier {{ require-instance false; }} }}
           container top {{
             {lists}
             list pair {{ key \"b a\"; leaf a {{ type string; }} leaf b {{ type int32; }}
                          container in {{ leaf x {{ type string; }} }} }}
             list keyless {{ config false; leaf x {{ type string; }} }}
             leaf-list words {{ type string; }}
             leaf-list state-words {{ config false; type string; }}
             choice either {{ case one {{ container inner {{ leaf x {{ type string; }} }} }} }}
             container nested {{ container top {{ leaf words {{ type string; }} }} }}
             action reset {{ input {{ leaf delay {{ type int32; }} }} }}
             notification alarm {{ leaf x {{ type string; }} }}
           }}
           rpc go {{ input {{ leaf x {{ type string; }} }} }}
           notification gone;
         }}"
    )
    .replace("import t { prefix unused; }", "")
    .replace("t:base", "base")
}

const AUGMENTS: [(&str, &str); 2] = [
    (
        "u",
        "module u {
           yang-version 1.1; namespace urn:u; prefix u; import t { prefix t; }
           identity id-b { base t:base; }
           augment /t:top { container extra { leaf x { type string; } leaf top { type string; } }
                            leaf twice { type string; } leaf words { type string; } }
           augment /t:top/t:string { leaf more { type string; } list v { key k; leaf k { type string; } } }
           leaf only { type string; }
         }",
    ),
    (
        "w",
        "module w {
           yang-version 1.1; namespace urn:w; prefix w; import t { prefix t; }
           augment /t:top { leaf twice { type string; } }
           leaf iid { type string; }
         }",
    ),
];

/// Names and texts.
pub fn modules() -> Vec<(String, String)> {
    let mut modules = vec![("t".to_owned(), model())];
    for (name, text) in AUGMENTS {
        modules.push((name.to_owned(), text.to_owned()));
    }
    modules
}

pub fn schema() -> Schema {
    let modules = modules().into_iter();
    let modules = modules.map(|(name, text)| ModuleSource {
        name,
        revision: None,
        text,
    });
    let source = SchemaSource {
        modules: modules.collect(),
        ..Default::default()
    };
    Schema::compile(&source).unwrap_or_else(|errors| panic!("{errors}"))
}

fn random_value(rng: &mut StdRng, schema: &Schema, leaf: NodeId) -> Value {
    let node = schema.node(leaf);
    let list = node.parent.map(|list| &*schema.node(list).name);
    let of_type = KEY_TYPES
        .iter()
        .find(|(name, ..)| Some(*name) == list && &*node.name == "k");
    let text = match (of_type, &*node.name) {
        (Some((.., texts)), _) => (*texts.choose(rng).expect("not empty")).to_owned(),
        (None, "b") => rng.random_range(-5..5).to_string(),
        (None, _) => {
            let count = rng.random_range(0..4);
            let pieces = (0..count).map(|_| *HOSTILE.choose(rng).expect("not empty"));
            pieces.collect()
        }
    };
    let names = ModuleNames {
        leaf_module: node.module,
    };
    let value = node.as_value().expect("a leaf");
    let parsed = value.value_type.parse(schema, &text, &names);
    parsed.unwrap_or_else(|error| panic!("{}: {text}: {error}", schema.path(leaf)))
}

fn random_keys(rng: &mut StdRng, schema: &Schema, id: NodeId) -> Keys {
    let node = schema.node(id);
    match &node.kind {
        NodeKind::List(list) if list.keys.is_empty() => Keys::Position(rng.random_range(1..99)),
        NodeKind::List(list) => {
            let keys = list.keys.iter();
            Keys::Values(keys.map(|&key| random_value(rng, schema, key)).collect())
        }
        NodeKind::LeafList(_) => Keys::Values(vec![random_value(rng, schema, id)]),
        _ => Keys::None,
    }
}

/// A path to a random data node.
pub fn random_path(rng: &mut StdRng, schema: &Schema) -> InstancePath {
    let mut path = InstancePath::root();
    let mut children: Vec<NodeId> = schema.roots().to_vec();
    loop {
        let is_data = |id: &NodeId| {
            let kind = &schema.node(*id).kind;
            !matches!(kind, NodeKind::Action | NodeKind::Notification)
        };
        let Some(child) = children.into_iter().filter(is_data).choose(rng) else {
            return path;
        };
        path = path.child(child, random_keys(rng, schema, child));
        if path.steps.len() > 1 && rng.random_bool(0.3) {
            return path;
        }
        children = schema.node(child).children.clone();
    }
}

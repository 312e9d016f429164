//! Real models compile; the errors of invalid models have positions.

use std::fs;
use std::path::{Path, PathBuf};

use espalier_yang::schema::{
    Features, ModuleNames, ModuleSource, SchemaError, SchemaSource, TypeKind,
};
use espalier_yang::{Schema, standard};

fn compile(texts: &[&str]) -> Result<Schema, Vec<SchemaError>> {
    let modules = texts.iter().map(|&text| {
        ModuleSource::from_text(text).unwrap_or_else(|| ModuleSource {
            name: "broken".into(),
            revision: None,
            text: text.into(),
        })
    });
    let source = SchemaSource {
        modules: modules.collect(),
        ..SchemaSource::default()
    };
    Schema::compile(&source).map_err(|errors| errors.iter().cloned().collect())
}

/// Data next to the repository on the machines of the maintainers.
fn shared(folder: &str) -> Option<Vec<ModuleSource>> {
    let shared = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    let files = fs::read_dir(shared.join(folder)).ok()?;
    let mut paths: Vec<PathBuf> = files.map(|file| file.unwrap().path()).collect();
    paths.retain(|path| {
        path.extension()
            .is_some_and(|extension| extension == "yang")
    });
    paths.sort();
    let texts = paths.iter().map(|path| fs::read_to_string(path).unwrap());
    Some(
        texts
            .map(|text| ModuleSource::from_text(text).unwrap())
            .collect(),
    )
}

#[test]
fn every_standard_module_compiles() {
    for module in standard::modules() {
        let source = SchemaSource {
            implement: vec![module.name.into()],
            ..SchemaSource::default()
        };
        if let Err(errors) = Schema::compile(&source) {
            panic!("{}: {errors}", module.name);
        }
    }
}

#[test]
fn openroadm_compiles() {
    let Some(modules) = shared("openroadm/yang") else {
        return;
    };
    let source = SchemaSource {
        modules,
        implement: vec!["openroadm-devices-inventory-v2".into()],
        ..SchemaSource::default()
    };
    let schema = Schema::compile(&source).unwrap_or_else(|errors| panic!("{errors}"));
    let module = schema
        .module_by_name("openroadm-devices-inventory-v2")
        .unwrap();
    let devices = schema.child(None, module, "openroadm-devices").unwrap();
    let device = schema
        .child(Some(devices), module, "openroadm-device")
        .unwrap();
    assert_eq!(schema.node(device).keys().len(), 1);
}

#[test]
fn bookstore_compiles() {
    let Some(modules) = shared("bookstore") else {
        return;
    };
    let source = SchemaSource {
        modules,
        ..SchemaSource::default()
    };
    Schema::compile(&source).unwrap_or_else(|errors| panic!("{errors}"));
}

/// Compiles a module `a` with this body and compares its printed errors.
fn check(body: &str, more: &[&str], expected: &[&str]) {
    let module = format!("module a {{\n  namespace urn:a;\n  prefix a;\n{body}\n}}");
    let mut texts = vec![module.as_str()];
    texts.extend(more);
    let errors = compile(&texts).expect_err(body);
    let found: Vec<String> = errors.iter().map(ToString::to_string).collect();
    assert_eq!(found.len(), expected.len(), "{found:#?}");
    for (found, expected) in found.iter().zip(expected) {
        assert!(found.starts_with(expected), "{found}, expected {expected}");
    }
}

#[test]
fn syntax_errors_name_the_file_and_the_line() {
    check(
        "leaf x {\n typ string; }",
        &[],
        &["a.yang:5: Invalid character sequence"],
    );
    check(
        "leaf x {\n}",
        &[],
        &["a.yang:5: Missing mandatory keyword \"type\""],
    );
    let errors = compile(&["nothing"]).unwrap_err();
    assert_eq!((errors[0].module.as_str(), errors[0].line), ("broken", 1));
}

#[test]
fn errors_in_imported_modules_and_submodules_name_their_files() {
    let import = "import b { prefix b; }";
    let broken = "module b {\n namespace urn:b; prefix b; revision 2020-01-01;\n leaf y {\n }\n}";
    check(
        import,
        &[broken],
        &["b@2020-01-01.yang:4: Missing mandatory keyword"],
    );
    let submodule =
        "submodule s {\n belongs-to a { prefix a; }\n container x {\n leaf y { type foo:t; } } }";
    check(
        "include s;",
        &[submodule],
        &["s.yang:4: /a:x/y: Referenced type \"foo:t\""],
    );
}

#[test]
fn missing_modules_are_named_with_the_line_of_the_import() {
    check(
        "\nimport b { prefix b; }",
        &[],
        &["a.yang:5: There is no module \"b\"."],
    );
    let import = "import b { prefix b; revision-date 2020-01-01; }";
    let other = "module b { namespace urn:b; prefix b; revision 2021-01-01; }";
    check(
        import,
        &[other],
        &["a.yang:4: There is no module \"b@2020-01-01\"."],
    );
}

#[test]
fn compile_errors_name_the_line_and_the_path() {
    let leaf = "leaf x { type int8; default 300; }";
    check(leaf, &[], &["a.yang:4: /a:x: Invalid default"]);
    check(
        "container c {\nlist x { key n; } }",
        &[],
        &["a.yang:5: /a:c/x: The list's key \"n\""],
    );
    check(
        "\naugment /b:c;",
        &[],
        &["a.yang:5: /a:{augment='/b:c'}: Invalid"],
    );
    let grouping =
        "grouping g {\nleaf x { type leafref { path ../y; } } }\ncontainer c { uses g; }";
    check(grouping, &[], &["a.yang:5: /a:c/x: Not found node \"y\""]);
}

#[test]
fn errors_of_all_modules_are_reported() {
    let other = "module b {\n namespace urn:b; prefix b;\n leaf y { type nothing; } }";
    let expected = [
        "b.yang:3: /b:y: Referenced type",
        "a.yang:4: /a:x: Referenced type",
    ];
    check("leaf x { type nothing; }", &[other], &expected);
}

/// Two modules, one of which depends on a feature of the other.
const FEATURES: [&str; 2] = [
    "module p { yang-version 1.1; namespace urn:p; prefix p; import q { prefix q; }
       feature f { if-feature q:g; } feature h { if-feature \"not f\"; }
       leaf x { if-feature f; type string; } leaf y { if-feature h; type string; } }",
    "module q { yang-version 1.1; namespace urn:q; prefix q; feature g; leaf z { type string; } }",
];

#[test]
fn errors_caused_by_other_failing_modules_are_not_reported() {
    let using = "module r { namespace urn:r; prefix r; import b { prefix b; }
       import s { prefix s; } augment /b:c { leaf v { type s:t; } } }";
    let broken =
        "module b { namespace urn:b; prefix b;\n container c { leaf y { type nothing; } } }";
    let late =
        "module s { namespace urn:s; prefix s;\n leaf u { type foo; } typedef t { type string; } }";
    let sound = "leaf x { type int8; }";
    let more = [FEATURES[0], FEATURES[1], using, broken, late];
    check(
        sound,
        &more,
        &[
            "s.yang:2: /s:u: Referenced type",
            "b.yang:2: /b:c/y: Referenced type",
        ],
    );
}

#[test]
fn errors_hidden_by_a_deviating_module_are_not_invented() {
    let deviated = "module s { namespace urn:s; prefix s; leaf u { type int8; default 300; } leaf w { type int8; } }";
    let deviation = "module t { namespace urn:t; prefix t; import s { prefix s; }
       deviation /s:u { deviate not-supported; } leaf v { type nothing; } }";
    check(
        "leaf x { type nothing; }",
        &[deviated, deviation],
        &["t.yang", "a.yang:4: /a:x: Referenced type"],
    );
}

#[test]
fn a_feature_that_depends_on_an_imported_only_module_is_disabled() {
    let compiled = |implement: &[&str], features: &[(&str, &[&str])]| {
        let modules = FEATURES
            .iter()
            .filter_map(|&text| ModuleSource::from_text(text));
        let features = features.iter().map(|(module, names)| {
            let names = names.iter().map(|&name| name.to_owned());
            ((*module).to_owned(), Features::Only(names.collect()))
        });
        let source = SchemaSource {
            modules: modules.collect(),
            implement: implement.iter().map(|&name| name.to_owned()).collect(),
            features: features.collect(),
            ..SchemaSource::default()
        };
        let schema = Schema::compile(&source).unwrap_or_else(|errors| panic!("{errors}"));
        let module = schema.module_by_name("p").unwrap();
        let nodes = schema.roots().iter().map(|&root| schema.node(root));
        let names = nodes
            .filter(|node| node.module == module)
            .map(|node| node.name.to_string());
        let on: Vec<String> = schema
            .module(module)
            .features
            .iter()
            .map(|name| name.to_string())
            .collect();
        (names.collect::<Vec<_>>(), on)
    };
    let (nodes, on) = compiled(&["p"], &[]);
    assert_eq!((nodes.join(" "), on.join(" ")), ("y".into(), "h".into()));
    let (nodes, on) = compiled(&["p", "q"], &[]);
    assert_eq!((nodes.join(" "), on.join(" ")), ("x".into(), "f".into()));
    let (nodes, on) = compiled(&[], &[("q", &[])]);
    assert_eq!((nodes.join(" "), on.join(" ")), ("y".into(), "h".into()));
}

#[test]
fn a_missing_import_is_reported_in_the_module_that_imports_it() {
    let sound = "module b { namespace urn:b; prefix b; import ietf-yang-types { prefix y; } }";
    check(
        "import b { prefix b; }\nimport z { prefix z; }",
        &[sound],
        &["a.yang:5: There is no module \"z\"."],
    );
    let importing = "module b { namespace urn:b; prefix b;\n import z { prefix z; } }";
    check(
        "import b { prefix b; }",
        &[importing],
        &["b.yang:2: There is no module \"z\"."],
    );
}

/// libyang checks patterns with PCRE2, which supports none of these.
#[test]
fn patterns_that_only_libyang_rejects_compile_and_are_kept() {
    let text = r#"module a { yang-version 1.1; namespace urn:a; prefix a;
      typedef name { type string { pattern '\i\c*'; } }
      leaf x { type name { pattern "[^\\P{IsBasicLatin}]{1,1983}" + ''; } default a:b; }
      leaf y { type string { pattern '\i\c*' { modifier invert-match; error-app-tag t; } } default 1a; } }"#;
    let schema = compile(&[text]).unwrap_or_else(|errors| panic!("{errors:?}"));
    let module = schema.module_by_name("a").unwrap();
    let check = |leaf: &str, sources: &[&str], values: &[(&str, bool)]| {
        let id = schema.child(None, module, leaf).unwrap();
        let value = schema.node(id).as_value().unwrap();
        assert_eq!(value.defaults.len(), 1);
        let TypeKind::String(_, patterns) = &value.value_type.kind else {
            panic!("{value:?}");
        };
        let found: Vec<&str> = patterns
            .iter()
            .map(|pattern| pattern.regex.source())
            .collect();
        assert_eq!(found, sources);
        let names = ModuleNames {
            leaf_module: module,
        };
        for (text, is_valid) in values {
            let parsed = value.value_type.parse(&schema, text, &names);
            assert_eq!(parsed.is_ok(), *is_valid, "{leaf} {text}");
        }
    };
    let latin = r"[^\P{IsBasicLatin}]{1,1983}";
    check(
        "x",
        &[r"\i\c*", latin],
        &[("a:b-1", true), ("1a", false), ("\u{e9}", false)],
    );
    check("y", &[r"\i\c*"], &[("a:b-1", false), ("1a", true)]);
    let wrong = r"leaf x { type string { pattern '\i\c*'; } default 1a; }";
    self::check(wrong, &[], &["a.yang:4: /a:x: The default is invalid"]);
}

#[test]
fn patterns_that_cannot_be_translated_are_rejected_with_their_position() {
    let leaf = r"leaf x { type string { pattern '(\p{L}{20000}){10}'; } }";
    check(leaf, &[], &["a.yang:4: /a:x: The pattern"]);
}

#[test]
fn nesting_has_a_limit() {
    let (open, close) = ("container c {".repeat(495), "}".repeat(495));
    let deep = format!("module a {{ namespace urn:a; prefix a; {open}{close} }}");
    assert_eq!(compile(&[&deep]).unwrap().nodes().len(), 495);
    for depth in [600, 100_000] {
        let open = "container c {\n".repeat(depth);
        let body = format!("{open}{}", "}".repeat(depth));
        check(
            &body,
            &[],
            &["a.yang:504: Statements are nested deeper than 500."],
        );
    }
}

/// Groupings that double 23 times, in 1.6 KB, took memory without limit.
#[test]
fn expanded_groupings_have_a_limit() {
    let doubling = |levels: usize| {
        let mut body = "grouping g0 { leaf a { type string; } }".to_owned();
        for level in 1..=levels {
            let used = level - 1;
            body.push_str(&format!(
                "grouping g{level} {{ container x {{ uses g{used}; }} container y {{ uses g{used}; }} }}"
            ));
        }
        format!("{body} uses g{levels};")
    };
    for levels in [23, 60, 400, 600] {
        let expected = "a.yang: The modules have more than 4000000 nodes (SCHEMA_NODES_MAX)";
        check(&doubling(levels), &[], &[expected]);
    }
    let module = |name: &str, body: &str| {
        format!("module {name} {{ namespace urn:{name}; prefix {name}; {body} }}")
    };
    let errors = compile(&[&module("a", &doubling(60))]).expect_err("too many");
    // 2^21 leaves in 2^22 - 2 containers.
    assert!(
        errors[0].message.contains("the grouping g21 of a alone"),
        "{errors:?}"
    );
    // Through an import, and from an augment.
    let user = module(
        "b",
        "import a { prefix x; } container c; augment /c { uses x:g60; }",
    );
    assert!(compile(&[&module("a", &doubling(60)), &user]).is_err());
    // libyang expands groupings that nothing uses too; it reports those that use themselves.
    let unused = doubling(60).replace("uses g60;", "");
    assert!(compile(&[&module("a", &unused)]).is_err());
    compile(&[&module("a", &doubling(10))]).expect("2,046 containers");
    let circle = "grouping p { uses q; } grouping q { uses p; } uses p;";
    let errors = compile(&[&module("a", circle)]).expect_err("a circle");
    assert!(
        !errors[0].message.contains("SCHEMA_NODES_MAX"),
        "{errors:?}"
    );
}

/// Unions that double 30 times, in 2 KB, took 55 MB/s of memory, without limit.
#[test]
fn expanded_unions_have_a_limit() {
    let doubling = |levels: usize| {
        let mut body = "typedef t0 { type union { type string; type int8; } }".to_owned();
        for level in 1..=levels {
            let used = level - 1;
            body.push_str(&format!(
                "typedef t{level} {{ type union {{ type t{used}; type t{used}; }} }}"
            ));
        }
        body
    };
    for levels in [30, 60, 400, 600] {
        let expected = "a.yang: The modules have more than 1000000 types (UNION_MEMBERS_MAX)";
        check(&doubling(levels), &[], &[expected]);
    }
    // In the type of a leaf only.
    let many = "type t12;".repeat(200);
    let leaf = format!("{} leaf a {{ type union {{ {many} }} }}", doubling(12));
    check(
        &leaf,
        &[],
        &["a.yang: The modules have more than 1000000 types (UNION_MEMBERS_MAX)"],
    );
    let module = |body: &str| format!("module a {{ namespace urn:a; prefix a; {body} }}");
    compile(&[&module(&doubling(10))]).expect("4,094 members");
    let leaves: String = (0..5000)
        .map(|number| format!("leaf l{number} {{ type t8; }}"))
        .collect();
    compile(&[&module(&format!("{} {leaves}", doubling(8)))])
        .expect("each typedef is expanded once");
}

#[test]
fn compilations_run_in_parallel() {
    std::thread::scope(|scope| {
        for number in 0..4 {
            scope.spawn(move || {
                for _ in 0..5 {
                    let wrong = format!("leaf x{number} {{ type nothing; }}");
                    check(
                        &wrong,
                        &[],
                        &[&format!("a.yang:4: /a:x{number}: Referenced type")],
                    );
                    compile(&[standard::module("ietf-ip", None).unwrap().text]).unwrap();
                }
            });
        }
    });
}

/// CESNET/libyang#2217: a `unique` applies to entries in which all of its leaves exist.
#[test]
fn a_unique_with_a_disabled_leaf_has_no_effect() {
    let model = r#"module m { yang-version 1.1; namespace "urn:m"; prefix m; feature f;
        list l { key k; unique "a off"; unique a; unique "off b"; unique "m:c/ch/cs/d a"; unique "g/d a";
            leaf k { type string; } leaf a { type string; } leaf b { type string; }
            leaf off { if-feature f; type string; }
            container c { choice ch { case cs { leaf d { type string; } } } }
            container g { if-feature f; leaf d { type string; } } }
        list n { key k; leaf k { type string; } leaf x { type string; }
            leaf y { if-feature f; type string; } } }"#;
    let deviations = r#"module d { yang-version 1.1; namespace "urn:d"; prefix d; import m { prefix p; }
        deviation /p:n { deviate add { unique "p:x p:y"; unique "p:x"; } } }"#;
    let modules = [model, deviations].map(|text| ModuleSource::from_text(text).unwrap());
    let uniques = |features: Features| {
        let source = SchemaSource {
            modules: modules.to_vec(),
            features: [("m".to_owned(), features)].into_iter().collect(),
            ..SchemaSource::default()
        };
        let schema = Schema::compile(&source).unwrap();
        let module = schema.module_by_name("m").unwrap();
        ["l", "n"].map(|name| {
            let list = schema.child(None, module, name).unwrap();
            let unique = &schema.node(list).as_list().unwrap().unique;
            let leaves = unique.iter().map(|leaves| {
                let names = leaves.iter().map(|&leaf| &*schema.node(leaf).name);
                names.collect::<Vec<_>>().join(" ")
            });
            leaves.collect::<Vec<_>>().join(", ")
        })
    };
    assert_eq!(uniques(Features::Only(Vec::new())), ["a, d a", "x"]);
    assert_eq!(
        uniques(Features::All),
        ["a off, a, off b, d a, d a", "x y, x"]
    );
}

/// RFC 7952 §3.
#[test]
fn a_module_has_the_annotations_that_it_defines() {
    let schema = compile(
        &[r#"module m { yang-version 1.1; namespace "urn:m"; prefix m;
        import ietf-yang-metadata { prefix md; }
        md:annotation seen { type string; } md:annotation by { type string; } }"#],
    )
    .unwrap();
    let module = schema.module(schema.module_by_name("m").unwrap());
    let names: Vec<&str> = module.annotations.iter().map(|name| &**name).collect();
    assert_eq!(names, ["seen", "by"]);
}

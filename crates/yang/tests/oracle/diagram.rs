//! Tree diagrams, compared with those of libyang.

use espalier_yang::schema::{ModuleSource, SchemaSource, tree_diagram};
use espalier_yang::{Schema, standard};
use yang5::context::{Context, ContextFlags, EmbeddedModuleKey, EmbeddedModules};
use yang5::schema::{SchemaOutputFormat, SchemaPrinterFlags};

/// Removes intended differences: line breaks, the alignment of types, features, and libyang's marks on some cases.
fn normalised(diagram: &str) -> String {
    let mut text = String::new();
    for line in diagram.trim_end().lines() {
        let line = line.split(" {").next().unwrap();
        let is_case = line.contains("--:(");
        let line = if is_case {
            line.trim_end_matches(['?', '!'])
        } else {
            line
        };
        text.extend(line.chars().filter(|character| !" |".contains(*character)));
        text.push('\n');
    }
    text
}

/// In augments of other modules, libyang shows neither cases of choices nor input; and it shows choices to which no
/// module has added a node.
const UNLIKE_LIBYANG: [&str; 2] = ["ietf-netconf-nmda", "ietf-network-instance"];

fn check(name: &'static str, texts: &[(&'static str, Option<&'static str>, &'static str)]) {
    let source = SchemaSource {
        modules: texts
            .iter()
            .map(|(_, _, text)| ModuleSource::from_text(*text).unwrap())
            .collect(),
        implement: vec![name.to_owned()],
        ..SchemaSource::default()
    };
    let schema = Schema::compile(&source).unwrap_or_else(|errors| panic!("{errors}"));
    let ours = tree_diagram(&schema, schema.module_by_name(name).unwrap());

    let modules: EmbeddedModules = texts
        .iter()
        .flat_map(|&(name, submodule, text)| {
            let key = match submodule {
                Some(submodule) => EmbeddedModuleKey::new(name, None, Some(submodule), None),
                None => EmbeddedModuleKey::new(name, None, None, None),
            };
            [(key, text)]
        })
        .collect();
    let mut context = Context::new(ContextFlags::NO_YANGLIBRARY).unwrap();
    context.set_embedded_modules(&modules);
    let module = context.load_module(name, None, &["*"]).unwrap();
    let theirs = module
        .print_string(SchemaOutputFormat::TREE, SchemaPrinterFlags::empty())
        .unwrap();
    let sections = ["\n  grouping ", "\n  yang-data ", "\n  structure "];
    let ends = sections.iter().filter_map(|section| theirs.find(section));
    let theirs = &theirs[..ends.min().unwrap_or(theirs.len())];
    // libyang shows some modules as written, with `uses`.
    if theirs.contains("---u ") {
        return;
    }
    let (left, right) = (normalised(&ours), normalised(theirs));
    for (left, right) in left.lines().zip(right.lines()) {
        assert_eq!(left, right, "{name}\n{ours}\n{theirs}");
    }
    assert_eq!(left, right, "{name}\n{ours}\n{theirs}");
}

#[test]
fn diagrams_match_libyang() {
    let texts: Vec<_> = standard::modules()
        .iter()
        .filter(|module| standard::module(module.name, None) == Some(*module))
        .map(|module| (module.name, None, module.text))
        .collect();
    for &(name, ..) in &texts {
        if !UNLIKE_LIBYANG.contains(&name) {
            check(name, &texts);
        }
    }
    let every = [
        (
            "every-statement",
            None,
            include_str!("../models/every-statement.yang"),
        ),
        (
            "every-statement",
            Some("every-submodule"),
            include_str!("../models/every-submodule.yang"),
        ),
        (
            "every-imported",
            None,
            include_str!("../models/every-imported.yang"),
        ),
        (
            "every-type",
            None,
            include_str!("../models/every-type.yang"),
        ),
    ];
    for name in ["every-statement", "every-type"] {
        check(name, &every);
    }
}

#[test]
fn cases_that_are_added_to_a_choice_are_shown() {
    let source = SchemaSource {
        implement: vec!["ietf-netconf-nmda".to_owned()],
        ..SchemaSource::default()
    };
    let schema = Schema::compile(&source).unwrap();
    let module = schema.module_by_name("ietf-netconf-nmda").unwrap();
    let expected = "module: ietf-netconf-nmda\n\n  \
        augment /nc:lock/nc:input/nc:target/nc:config-target:\n    \
        +--:(datastore)\n       \
        +---w datastore?   ds:datastore-ref\n";
    let diagram = tree_diagram(&schema, module);
    assert!(diagram.starts_with(expected), "{diagram}");
}

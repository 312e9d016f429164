//! The stored form of a schema: the loaded schema equals the compiled one.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use espalier_testkit::random_schemas::{self, Conditions};
use espalier_testkit::seed;
use espalier_yang::schema::stored::{SchemaParts, encode};
use espalier_yang::schema::{ModuleSource, SchemaSource, TypeKind};
use espalier_yang::validate::ValidationPlan;
use espalier_yang::{NodeId, Schema, standard};
use rand::Rng;
use rand::seq::IndexedRandom;

struct Parts(Vec<Vec<u8>>);

impl SchemaParts for Parts {
    fn part(&self, index: usize) -> Option<Vec<u8>> {
        self.0.get(index).cloned()
    }
}

fn stored(schema: &Schema) -> Schema {
    let parts = schema.to_parts().unwrap();
    Schema::from_parts(Arc::new(Parts(parts))).unwrap()
}

fn assert_same_names(one: &Schema, other: &Schema, parent: Option<NodeId>, children: &[NodeId]) {
    for &child in children {
        let node = one.node(child);
        let named: Vec<NodeId> = other.named(parent, &node.name).collect();
        assert_eq!(named, one.named(parent, &node.name).collect::<Vec<_>>());
        assert_eq!(other.child(parent, node.module, &node.name), Some(child));
    }
    assert_eq!(other.named(parent, "no such name").count(), 0);
}

/// Asserts that two schemas are equal in everything that can be observed.
fn assert_same(one: &Schema, other: &Schema) {
    assert_eq!(
        format!("{:?}", one.modules()),
        format!("{:?}", other.modules())
    );
    for module in one.modules() {
        assert_eq!(
            one.module_by_name(&module.name),
            other.module_by_name(&module.name)
        );
        assert_eq!(
            one.module_by_namespace(&module.namespace),
            other.module_by_namespace(&module.namespace)
        );
    }
    assert_eq!(one.roots(), other.roots());
    assert_eq!(one.operations(), other.operations());
    assert_eq!(one.notifications(), other.notifications());
    assert_eq!(
        format!("{:?}", one.choices()),
        format!("{:?}", other.choices())
    );
    let top = [one.roots(), one.operations(), one.notifications()].concat();
    assert_same_names(one, other, None, &top);
    assert_eq!(one.nodes().len(), other.nodes().len());
    for (one_node, other_node) in one.nodes().zip(other.nodes()) {
        assert_eq!(format!("{one_node:?}"), format!("{other_node:?}"));
        assert_same_names(one, other, Some(one_node.id), &one_node.children);
    }
    let plan = ValidationPlan::compile(one);
    assert!(plan == ValidationPlan::compile(other));
    assert!(plan == ValidationPlan::from_stored(&encode(&plan).unwrap(), other).unwrap());
    assert!(one.to_parts().unwrap() == other.to_parts().unwrap());
}

fn compile(modules: Vec<ModuleSource>) -> Schema {
    let source = SchemaSource {
        modules,
        ..SchemaSource::default()
    };
    Schema::compile(&source).unwrap_or_else(|errors| panic!("{errors}"))
}

#[test]
fn the_stored_form_of_random_schemas_equals_them() {
    seed::run("the stored form", |random| {
        let mut compiled = 0;
        while compiled < 60 {
            let source = random_schemas::schema(random).source(Conditions::Written);
            // libyang rejects a few of the generated schemas.
            if let Ok(schema) = Schema::compile(&source) {
                assert_same(&schema, &stored(&schema));
                compiled += 1;
            }
        }
    });
}

#[test]
fn the_stored_form_of_the_standard_modules_equals_them() {
    let modules = standard::modules().iter();
    let texts = modules.filter_map(|module| ModuleSource::from_text(module.text));
    let names = texts.filter(|module| !module.is_submodule());
    let source = SchemaSource {
        implement: names.map(|module| module.name).collect(),
        ..SchemaSource::default()
    };
    let schema = Schema::compile(&source).unwrap_or_else(|errors| panic!("{errors}"));
    assert!(schema.nodes().len() > 300, "{}", schema.nodes().len());
    assert!(!schema.choices().is_empty() && !schema.operations().is_empty());
    let mut modules = schema.modules().iter();
    assert!(modules.any(|module| !module.annotations.is_empty()));
    assert_same(&schema, &stored(&schema));
}

/// Models next to the repository, on the machines of the maintainers.
#[test]
fn the_stored_form_of_openconfig_equals_it() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/openconfig");
    let Ok(files) = fs::read_dir(folder) else {
        return;
    };
    let texts = files.map(|file| fs::read_to_string(file.unwrap().path()).unwrap());
    let mut modules: Vec<ModuleSource> = texts.filter_map(ModuleSource::from_text).collect();
    modules.sort_by(|one, other| one.name.cmp(&other.name));
    let schema = compile(modules);
    assert_same(&schema, &stored(&schema));
}

const MODULE: &str = r#"module m { yang-version 1.1; namespace urn:m; prefix m;
  identity base; identity one { base base; }
  typedef name { type string { length "1..20"; pattern "[a-z]+" { error-message "small"; } } }
  container c { must "count(e) < 10" { error-app-tag many; } presence p; description "text";
    list e { key k; unique v; leaf k { type name; } leaf v { type decimal64 { fraction-digits 2; range "0..10 | 20"; } }
      leaf to { type leafref { path "../../e/k"; } } leaf id { type identityref { base base; } default one; }
      leaf u { when "../v = 'x'"; type union { type bits { bit a; bit b; } type enumeration { enum z { value 7; } } } }
      choice ch { default d; case d { leaf d { type empty; } } leaf o { type binary; mandatory true; } } } }
  rpc r { input { leaf i { type int8; units s; } } } notification n { anydata a; } }"#;

#[test]
fn the_stored_form_has_every_kind_of_statement() {
    let schema = compile(vec![ModuleSource::from_text(MODULE).unwrap()]);
    assert_same(&schema, &stored(&schema));
}

/// libyang rejects both patterns and gets replacements; the stored patterns are those of the model.
#[test]
fn patterns_rejected_by_libyang_match_the_same_when_stored() {
    let text = r"module m { yang-version 1.1; namespace urn:m; prefix m;
        leaf a { type string { pattern '\i\c*'; } }
        leaf b { type string { pattern '\i+' { modifier invert-match; } } } }";
    let schema = compile(vec![ModuleSource::from_text(text).unwrap()]);
    let stored = stored(&schema);
    for name in ["a", "b"] {
        let [one, other] = [&schema, &stored].map(|schema| {
            let leaf = schema.named(None, name).next().unwrap();
            let value = schema.node(leaf).as_value().unwrap();
            match &value.value_type.kind {
                TypeKind::String(_, patterns) => patterns[0].clone(),
                kind => panic!("{kind:?}"),
            }
        });
        assert_eq!(one.regex.source(), other.regex.source());
        for (text, is_name) in [("a1", name == "a"), ("ab", true), ("1", false), ("", false)] {
            assert_eq!(one.regex.is_match(text), is_name, "{name} {text}");
            assert_eq!(other.regex.is_match(text), is_name, "{name} {text}");
        }
    }
    assert_same(&schema, &stored);
}

/// Forged data may have the right digest: ids that a schema does not have are rejected, or the nodes of the part are
/// placeholders that no lookup finds.
#[test]
fn ids_of_no_node_are_rejected() {
    let large = compile(vec![ModuleSource::from_text(MODULE).unwrap()]);
    let small = "module m { yang-version 1.1; namespace urn:m; prefix m; leaf a { type string; } }";
    let small = compile(vec![ModuleSource::from_text(small).unwrap()]);
    let plan = encode(&ValidationPlan::compile(&large)).unwrap();
    assert!(ValidationPlan::from_stored(&plan, &small).is_err());
    assert!(ValidationPlan::from_stored(&plan, &large).unwrap() == ValidationPlan::compile(&large));
    seed::run("forged ids", |random| {
        for _ in 0..2000 {
            let mut forged = large.to_parts().unwrap();
            let at = random.random_range(0..forged[1].len());
            forged[1][at] = random.random_range(0..0x80);
            let Ok(schema) = Schema::from_parts(Arc::new(Parts(forged))) else {
                continue;
            };
            for node in schema.nodes() {
                let _ = schema.path(node.id);
                node.children.iter().for_each(|&id| drop(schema.path(id)));
            }
            ValidationPlan::compile(&schema);
        }
    });
}

#[test]
fn nodes_are_decoded_on_access() {
    let mut text = String::from("module m { yang-version 1.1; namespace urn:m; prefix m;");
    for top in 0..40 {
        text += &format!("container c{top} {{ ");
        for leaf in 0..100 {
            text += &format!("leaf l{leaf} {{ type string; }} ");
        }
        text += "}";
    }
    let schema = compile(vec![ModuleSource::from_text(text + "}").unwrap()]);
    let stored = stored(&schema);
    let resident = || {
        let text = format!("{stored:?}");
        let number = text.split("resident: ").nth(1).unwrap();
        let end = number.find(|c: char| !c.is_ascii_digit()).unwrap();
        number[..end].parse::<usize>().unwrap()
    };
    assert_eq!(resident(), 0);
    for &root in stored.roots() {
        assert!(stored.node(root).is_np_container());
    }
    assert_eq!(resident(), 1, "top-level nodes are in one chunk");
    let module = stored.module_by_name("m").unwrap();
    let inner = stored.child(None, module, "c39").unwrap();
    let leaf = stored.child(Some(inner), module, "l99").unwrap();
    assert_eq!(stored.path(leaf), "/m:c39/l99");
    assert!(resident() <= 3, "{}", resident());
}

#[test]
fn damaged_parts_are_rejected_or_read_without_panic() {
    seed::run("damaged parts", |random| {
        let schema = compile(vec![ModuleSource::from_text(MODULE).unwrap()]);
        let parts = schema.to_parts().unwrap();
        for _ in 0..2000 {
            let mut damaged = parts.clone();
            let part = damaged.choose(random).unwrap().clone();
            let index = damaged.iter().position(|other| *other == part).unwrap();
            let at = random.random_range(0..part.len());
            match random.random_range(0..3) {
                0 => damaged[index][at] ^= 1 << random.random_range(0..8),
                1 => damaged[index].truncate(at),
                _ => damaged[index].push(random.random()),
            }
            let read = Schema::from_parts(Arc::new(Parts(damaged)));
            if let Ok(schema) = read {
                schema.nodes().for_each(|node| drop(node.clone()));
            }
        }
        assert!(Schema::from_parts(Arc::new(Parts(Vec::new()))).is_err());
    });
}

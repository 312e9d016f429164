//! Every statement, and its representation in the schema.

use std::collections::BTreeMap;

use espalier_yang::schema::{
    Features, ListNode, ModuleSource, Node, Ordering, SchemaSource, Status, TypeKind,
};
use espalier_yang::{NodeKind, Schema};

fn schema_with(features: BTreeMap<String, Features>) -> Schema {
    let texts = [
        include_str!("models/every-statement.yang"),
        include_str!("models/every-submodule.yang"),
        include_str!("models/every-imported.yang"),
    ];
    let modules = texts.map(|text| ModuleSource::from_text(text).unwrap());
    let source = SchemaSource {
        modules: modules.to_vec(),
        features,
        ..SchemaSource::default()
    };
    Schema::compile(&source).unwrap_or_else(|errors| panic!("{errors}"))
}

fn schema() -> Schema {
    schema_with(BTreeMap::new())
}

/// The node with a path as in [`Schema::path`], without the module of the first step.
fn find<'s>(schema: &'s Schema, path: &str) -> Option<&'s Node> {
    let mut nodes = schema.nodes();
    nodes.find(|node| {
        let full = schema.path(node.id);
        full.strip_prefix("/every-statement:").unwrap_or(&full[1..]) == path
    })
}

fn node<'s>(schema: &'s Schema, path: &str) -> &'s Node {
    find(schema, path).unwrap_or_else(|| panic!("no {path}"))
}

fn list<'s>(schema: &'s Schema, path: &str) -> &'s ListNode {
    node(schema, path).as_list().unwrap()
}

fn names<'s>(schema: &'s Schema, ids: &[espalier_yang::NodeId]) -> Vec<&'s str> {
    ids.iter().map(|&id| &*schema.node(id).name).collect()
}

#[test]
fn nodes_are_in_pre_order_with_choices_dissolved() {
    let schema = schema();
    for node in schema.nodes() {
        assert_eq!(schema.node(node.id).id, node.id);
        for &child in &node.children {
            assert!(child > node.id);
            assert_eq!(schema.node(child).parent, Some(node.id));
        }
    }
    let top = node(&schema, "top");
    let expected = [
        "optional",
        "conditional",
        "old",
        "list",
        "many",
        "state",
        "port",
        "host",
        "udp",
        "a",
        "b",
        "added",
        "data",
        "xml",
    ];
    assert_eq!(names(&schema, &top.children), expected);
    assert_eq!(top.description.as_deref(), Some("The top."));
    let (name, argument) = &top.extensions[0];
    assert_eq!(
        (&**name, argument.as_deref()),
        ("every-statement:mark", Some("here"))
    );
}

#[test]
fn lists_have_keys_uniques_and_limits() {
    let schema = schema();
    let found = list(&schema, "top/list");
    assert_eq!(names(&schema, &found.keys), ["two", "one"]);
    let children = &node(&schema, "top/list").children;
    assert_eq!(names(&schema, &children[..2]), ["two", "one"]);
    let uniques: Vec<_> = found.unique.iter().map(|ids| names(&schema, ids)).collect();
    assert_eq!(uniques, [vec!["value", "refined"], vec!["other"]]);
    assert_eq!((found.min_elements, found.max_elements), (1, Some(10)));
    assert_eq!(found.ordering, Ordering::User);
    let many = node(&schema, "top/many").as_value().unwrap();
    assert_eq!((many.min_elements, many.max_elements), (2, None));
    assert_eq!(many.ordering, Ordering::User);
    assert!(node(&schema, "top/list/two").as_value().unwrap().is_key);
}

#[test]
fn ordered_by_is_ignored_for_keyed_state_and_output() {
    let schema = schema();
    assert_eq!(list(&schema, "top/state/keyed").ordering, Ordering::System);
    assert!(node(&schema, "top/state/keyless").is_positional());
    assert!(node(&schema, "top/state/values").is_positional());
    assert_eq!(
        list(&schema, "top/list/reset/input/ordered").ordering,
        Ordering::User
    );
    assert_eq!(
        list(&schema, "top/list/reset/output/ordered").ordering,
        Ordering::System
    );
}

#[test]
fn flags_are_those_of_the_statements() {
    let schema = schema();
    assert!(node(&schema, "top").is_config);
    assert!(!node(&schema, "top/state/keyless/a").is_config);
    assert!(!node(&schema, "from-submodule/counter").is_config);
    assert!(node(&schema, "top/list/other").is_mandatory);
    assert!(node(&schema, "top/xml").is_mandatory);
    assert!(!node(&schema, "top").is_mandatory);
    assert_eq!(node(&schema, "top/old").status, Status::Deprecated);
    assert!(find(&schema, "top/gone").is_none());
    assert!(matches!(
        node(&schema, "top/list/inner").kind,
        NodeKind::Container { presence: true }
    ));
    let delay = node(&schema, "top/list/reset/input/delay")
        .as_value()
        .unwrap();
    assert_eq!(delay.units.as_deref(), Some("seconds"));
}

#[test]
fn choices_keep_their_cases() {
    let schema = schema();
    let choices = schema.choices();
    let transport = &choices[0];
    assert_eq!(&*transport.name, "transport");
    assert!(transport.is_mandatory && transport.is_config);
    let cases: Vec<&str> = transport.cases.iter().map(|case| &*case.name).collect();
    assert_eq!(cases, ["tcp", "udp", "deeper", "added"]);
    let port = &node(&schema, "top/port").cases;
    assert_eq!((port.len(), port[0].choice, port[0].case), (1, 0, 0));
    let b = &node(&schema, "top/b").cases;
    let b: Vec<_> = b.iter().map(|place| (place.choice, place.case)).collect();
    assert_eq!(b, [(0, 2), (1, 1)]);
    assert_eq!(choices[1].default_case, Some(1));
    assert_eq!(choices[1].parent, Some(node(&schema, "top").id));
    assert_eq!(choices[1].enclosing.len(), 1);
}

#[test]
fn whens_are_inherited_with_their_context() {
    let schema = schema();
    let whens = |path: &str| -> Vec<(String, u8)> {
        let whens = node(&schema, path).whens.iter();
        whens
            .map(|when| (when.text.to_string(), when.context_levels_up))
            .collect()
    };
    let own = |text: &str, levels| (text.to_owned(), levels);
    assert_eq!(whens("top/conditional"), [own("../optional = 'x'", 0)]);
    let port = [own("optional = 'y'", 1), own("conditional", 1)];
    assert_eq!(whens("top/port"), port);
    assert_eq!(
        whens("top/added"),
        [own("optional = 'y'", 1), own("optional = 'z'", 1)]
    );
    assert_eq!(whens("top/list/from-grouping"), [own("../optional", 1)]);
    assert_eq!(whens("top/list/inner/augmented"), [own("refined > 1", 1)]);
    assert_eq!(
        whens("every-imported:imported/every-statement:leaf"),
        [own("ei:leaf", 1)]
    );
}

#[test]
fn musts_keep_the_error_of_the_model() {
    let schema = schema();
    let must = &node(&schema, "top").musts[0];
    assert_eq!(&*must.text, "count(list) < 5");
    assert_eq!(must.error_message.as_deref(), Some("too many"));
    assert_eq!(must.error_app_tag.as_deref(), Some("five"));
    let expression = must.expression.root.to_string();
    assert_eq!(expression, "count(every-statement:list) < 5");
    assert_eq!(node(&schema, "call/input").musts.len(), 1);
    assert_eq!(node(&schema, "event").musts.len(), 1);
    assert_eq!(
        node(&schema, "top/list/from-grouping").musts[0].context_levels_up,
        0
    );
}

#[test]
fn operations_and_notifications_are_nodes() {
    let schema = schema();
    assert_eq!(names(&schema, schema.operations()), ["call", "bare"]);
    assert_eq!(names(&schema, schema.notifications()), ["event"]);
    assert!(matches!(node(&schema, "call").kind, NodeKind::Rpc));
    assert!(matches!(node(&schema, "call/input").kind, NodeKind::Input));
    assert!(matches!(
        node(&schema, "call/output").kind,
        NodeKind::Output
    ));
    assert!(node(&schema, "call/input/argument").is_mandatory);
    assert!(matches!(
        node(&schema, "top/list/reset").kind,
        NodeKind::Action
    ));
    assert!(matches!(
        node(&schema, "top/list/changed").kind,
        NodeKind::Notification
    ));
}

#[test]
fn leafrefs_have_their_targets() {
    let schema = schema();
    let many = &node(&schema, "top/many").as_value().unwrap().value_type;
    let TypeKind::LeafRef {
        target,
        path,
        target_type,
        ..
    } = &many.kind
    else {
        panic!("{many:?}");
    };
    assert_eq!(*target, Some(node(&schema, "top/list/two").id));
    assert_eq!(&*target_type.name, "string");
    assert_eq!(
        path.root.to_string(),
        "/every-statement:top/every-statement:list/every-statement:two"
    );
    let union = node(&schema, "every-imported:imported/every-statement:leaf");
    let TypeKind::Union(members) = &union.as_value().unwrap().value_type.kind else {
        panic!("{union:?}");
    };
    let TypeKind::LeafRef { target, .. } = members[0].kind else {
        panic!("{members:?}");
    };
    assert_eq!(
        target,
        Some(node(&schema, "every-imported:imported/leaf").id)
    );
}

#[test]
fn deviations_refinements_and_augments_are_applied() {
    let schema = schema();
    let deviated = node(&schema, "every-imported:imported/deviated");
    let value = deviated.as_value().unwrap();
    assert_eq!(&*value.value_type.name, "int8");
    assert_eq!(value.defaults[0].to_string(), "5");
    assert_eq!(deviated.musts.len(), 1);
    assert!(find(&schema, "every-imported:imported/not-supported").is_none());
    let refined = node(&schema, "top/list/inner/refined").as_value().unwrap();
    assert_eq!(refined.defaults[0].to_string(), "2");
}

#[test]
fn modules_have_their_properties() {
    let schema = schema();
    let module = schema.module(schema.module_by_name("every-statement").unwrap());
    assert!(module.is_implemented);
    assert_eq!(module.revision.as_deref(), Some("2026-02-02"));
    assert_eq!(&*module.prefix, "es");
    let submodule = ("every-submodule".into(), Some("2026-01-15".into()));
    assert_eq!(module.submodules, [submodule]);
    assert_eq!(module.features, ["first".into(), "second".into()]);
    let imported = schema.module(schema.module_by_name("every-imported").unwrap());
    assert_eq!(imported.deviated_by, ["every-statement".into()]);
    assert_eq!(
        schema.module_by_namespace("urn:espalier:test:every-imported"),
        schema.module_by_name("every-imported")
    );
    let types = schema.module(schema.module_by_name("ietf-yang-types").unwrap());
    assert!(!types.is_implemented);
    assert!(schema.module_by_name("yang").is_none());
}

#[test]
fn identities_have_all_their_derived_identities() {
    let schema = schema();
    let module = schema.module_by_name("every-statement").unwrap();
    let imported = schema.module_by_name("every-imported").unwrap();
    let base = schema.identity_by_name(module, "base").unwrap();
    let derived = &schema.identity(base).derived;
    let derived: Vec<&str> = derived
        .iter()
        .map(|&id| &*schema.identity(id).name)
        .collect();
    assert_eq!(derived, ["derived", "twice-derived"]);
    let base = schema.identity_by_name(imported, "imported-base").unwrap();
    assert_eq!(schema.identity(base).derived.len(), 2);
}

#[test]
fn features_turn_nodes_and_identities_on_and_off() {
    assert!(find(&schema(), "top/conditional").is_some());
    assert!(find(&schema(), "top/absent").is_none());
    let none = ["every-statement", "every-imported"]
        .map(|name| (name.to_owned(), Features::Only(Vec::new())));
    let schema = schema_with(BTreeMap::from(none));
    assert!(find(&schema, "top/conditional").is_none());
    assert!(find(&schema, "top/absent").is_some());
    let imported = schema.module_by_name("every-imported").unwrap();
    let base = schema.identity_by_name(imported, "imported-base").unwrap();
    assert_eq!(schema.identity(base).derived.len(), 1);
}

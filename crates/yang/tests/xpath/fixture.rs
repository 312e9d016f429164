//! The test models, data of them, and evaluation of texts.

use espalier_yang::data::{DataTree, ParseOptions, Place, Root, TreeBuilder, TreeInstances, json};
use espalier_yang::schema::{ModuleSource, Schema, SchemaSource};
use espalier_yang::xpath::Expression;
use espalier_yang::xpath::evaluate::{Evaluator, Item, Limits, Object, number_to_string};
use espalier_yang::{DataError, Instances};

pub type TreeItem<'a> = Item<TreeInstances<'a>>;

pub fn schema() -> Schema {
    let texts = [
        include_str!("models/garage.yang"),
        include_str!("models/trailer.yang"),
    ];
    let modules = texts.map(|text| ModuleSource::from_text(text).expect("a module"));
    let source = SchemaSource {
        modules: modules.into(),
        ..SchemaSource::default()
    };
    Schema::compile(&source).unwrap_or_else(|errors| panic!("{errors}"))
}

pub fn tree(schema: &Schema, text: &str) -> DataTree {
    let mut tree = TreeBuilder::new();
    json::parse(
        schema,
        Root::Datastore,
        text.as_bytes(),
        &mut tree,
        &ParseOptions::default(),
    )
    .unwrap_or_else(|error| panic!("{error}\n{text}"));
    tree.finish().expect("a small tree")
}

/// An expression of the module `garage`; `g` and `t` are its prefixes.
pub fn expression(text: &str) -> Expression {
    let resolve = |prefix: Option<&str>| match prefix {
        None | Some("g") => Some("garage".into()),
        Some("t") => Some("trailer".into()),
        Some(_) => None,
    };
    Expression::parse(text, &resolve).unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// The node at a path of steps, found by evaluation.
pub fn place<'a>(data: &TreeInstances<'a>, path: &str) -> TreeItem<'a> {
    let root = Item::Inner(data.root());
    let evaluator = Evaluator::new(data, Limits::default());
    let found = evaluator.select(&expression(path), &root);
    let mut found = found.unwrap_or_else(|error| panic!("{path}: {error}"));
    assert_eq!(found.len(), 1, "{path}");
    found.remove(0)
}

/// A value in the notation of the tests: node-sets as paths.
pub fn show(data: &TreeInstances<'_>, object: &Object<TreeInstances<'_>>) -> String {
    match object {
        Object::NodeSet(items) => {
            let paths: Vec<String> = items.iter().map(|item| show_item(data, item)).collect();
            paths.join(" ")
        }
        Object::Boolean(value) => value.to_string(),
        Object::Number(number) => number_to_string(*number),
        Object::String(text) => format!("'{text}'"),
    }
}

/// The path of a node, with key values; `=value` for leaves.
pub fn show_item(data: &TreeInstances<'_>, item: &TreeItem<'_>) -> String {
    let place = |place: &Place| {
        let path = data.path(place).expect("a path");
        path.to_instance_identifier(data.schema())
    };
    match item {
        Item::Inner(inner) => place(inner),
        Item::Leaf(leaf) | Item::Text(leaf) => {
            let name = data.schema().qualified_name(leaf.node);
            let name = name.rsplit(':').next().unwrap_or_default().to_owned();
            let text = if matches!(item, Item::Text(_)) {
                "/text()"
            } else {
                ""
            };
            format!("{}/{name}={}{text}", place(&leaf.holder), leaf.value)
        }
    }
}

pub fn evaluated(data: &TreeInstances<'_>, context: &str, text: &str) -> Result<String, DataError> {
    let context = place(data, context);
    let evaluator = Evaluator::new(data, Limits::default());
    let object = evaluator.evaluate(&expression(text), &context)?;
    Ok(show(data, &object))
}

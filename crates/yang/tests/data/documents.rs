//! The compiled test models; parsing and printing of documents.
#![allow(dead_code)]

use espalier_yang::data::{
    DataTree, ParseError, ParseOptions, PrintOptions, Root, TreeBuilder, json, xml,
};
use espalier_yang::schema::{ModuleSource, Schema, SchemaSource};

/// The modules that the data tests use.
pub fn source() -> SchemaSource {
    let module = |name: &str, text: &str| ModuleSource {
        name: name.to_owned(),
        revision: None,
        text: text.to_owned(),
    };
    SchemaSource {
        modules: vec![
            module("farm", include_str!("../models/farm.yang")),
            module("orchard", include_str!("../models/orchard.yang")),
        ],
        ..SchemaSource::default()
    }
}

pub fn schema() -> Schema {
    Schema::compile(&source()).expect("the test models")
}

pub fn parse_json(
    schema: &Schema,
    text: &str,
    root: Root,
    options: &ParseOptions,
) -> Result<DataTree, ParseError> {
    let mut tree = TreeBuilder::new();
    json::parse(schema, root, text.as_bytes(), &mut tree, options)?;
    Ok(tree.finish().expect("a small tree"))
}

pub fn parse_xml(
    schema: &Schema,
    text: &str,
    root: Root,
    options: &ParseOptions,
) -> Result<DataTree, ParseError> {
    let mut tree = TreeBuilder::new();
    xml::parse(schema, root, text.as_bytes(), &mut tree, options)?;
    Ok(tree.finish().expect("a small tree"))
}

pub fn tree_of_json(schema: &Schema, text: &str) -> DataTree {
    parse_json(schema, text, Root::Datastore, &ParseOptions::default())
        .unwrap_or_else(|error| panic!("{error}\n{text}"))
}

pub fn tree_of_xml(schema: &Schema, text: &str) -> DataTree {
    parse_xml(schema, text, Root::Datastore, &ParseOptions::default())
        .unwrap_or_else(|error| panic!("{error}\n{text}"))
}

pub fn json_of(schema: &Schema, tree: &DataTree) -> String {
    let mut printer = json::Printer::new(schema, Vec::new(), PrintOptions::default());
    let _ = tree.emit(&mut printer);
    String::from_utf8(printer.finish().expect("printed")).expect("UTF-8")
}

pub fn xml_of(schema: &Schema, tree: &DataTree) -> String {
    let mut printer = xml::Printer::new(schema, Vec::new(), PrintOptions::default());
    let _ = tree.emit(&mut printer);
    String::from_utf8(printer.finish().expect("printed")).expect("UTF-8")
}

/// Line, tag and path of each error.
pub fn errors_of(result: Result<DataTree, ParseError>) -> Vec<(u32, &'static str, String)> {
    match result {
        Err(ParseError::Invalid(errors)) => errors
            .iter()
            .map(|error| (error.line, error.tag.as_str(), error.path.clone()))
            .collect(),
        other => panic!("no errors but {other:?}"),
    }
}

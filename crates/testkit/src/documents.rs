//! Documents of a datastore, from their texts.

use espalier_yang::Schema;
use espalier_yang::data::{DataTree, ParseOptions, Root, TreeBuilder, json, xml};

/// The data tree of a JSON document.
pub fn json_document(schema: &Schema, text: &str) -> DataTree {
    json_document_with(schema, text, &ParseOptions::default())
}

/// As [`json_document`], with options.
pub fn json_document_with(schema: &Schema, text: &str, options: &ParseOptions) -> DataTree {
    let mut builder = TreeBuilder::new();
    let input = text.as_bytes();
    json::parse(schema, Root::Datastore, input, &mut builder, options)
        .unwrap_or_else(|error| panic!("{error}\n{text}"));
    builder.finish().unwrap_or_else(|error| panic!("{error}"))
}

/// The data tree of XML elements, without an element around them.
pub fn xml_document(schema: &Schema, text: &str) -> DataTree {
    let mut builder = TreeBuilder::new();
    let (input, options) = (text.as_bytes(), ParseOptions::default());
    xml::parse(schema, Root::Datastore, input, &mut builder, &options)
        .unwrap_or_else(|error| panic!("{error}\n{text}"));
    builder.finish().unwrap_or_else(|error| panic!("{error}"))
}

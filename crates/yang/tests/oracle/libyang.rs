//! Values according to libyang.

use std::collections::HashMap;

use espalier_yang::Schema;
use espalier_yang::schema::{ModuleSource, SchemaSource};
use yang5::context::{Context, ContextFlags, EmbeddedModuleKey, EmbeddedModules};
use yang5::data::{DataFormat, DataParserFlags, DataTree, DataValidationFlags};

const MODULE: &str = include_str!("../models/every-type.yang");

/// The test module, compiled by Espalier.
pub fn schema() -> Schema {
    let source = SchemaSource {
        modules: vec![ModuleSource::from_text(MODULE).unwrap()],
        ..SchemaSource::default()
    };
    Schema::compile(&source).unwrap()
}

/// The test module in libyang.
pub fn context() -> Context {
    let key = EmbeddedModuleKey::new("every-type", None, None, None);
    let modules: EmbeddedModules = HashMap::from([(key, MODULE)]);
    let mut context = Context::new(ContextFlags::NO_YANGLIBRARY).unwrap();
    context.set_embedded_modules(&modules);
    context.load_module("every-type", None, &[]).unwrap();
    context
}

/// The canonical value of the only leaf in a document; the error if libyang rejects it.
pub fn canonical(context: &Context, document: &str, format: DataFormat) -> Result<String, String> {
    let tree = DataTree::parse_string(
        context,
        document,
        format,
        DataParserFlags::NO_VALIDATION | DataParserFlags::STRICT,
        DataValidationFlags::empty(),
    );
    let tree = tree.map_err(|error| error.to_string())?;
    let value = tree.traverse().find_map(|node| node.value_canonical());
    value.ok_or_else(|| "no value".to_owned())
}

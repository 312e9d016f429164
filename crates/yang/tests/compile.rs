//! Schemas of the standard modules.

use espalier_yang::Schema;
use espalier_yang::schema::SchemaSource;

#[test]
fn every_standard_module_compiles() {
    for module in espalier_yang::standard::modules() {
        let source = SchemaSource {
            implement: vec![module.name.into()],
            ..Default::default()
        };
        let schema =
            Schema::compile(&source).unwrap_or_else(|error| panic!("{}: {error}", module.name));
        println!(
            "{} {} {}",
            module.name,
            schema.nodes().len(),
            schema.modules().len()
        );
    }
}

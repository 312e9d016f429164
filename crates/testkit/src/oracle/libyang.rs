//! Parsing and checking of documents by libyang.

use std::collections::HashMap;
use std::fmt;

use espalier_yang::schema::SchemaSource;
use yang5::context::{Context, ContextFlags, EmbeddedModuleKey, EmbeddedModules};
use yang5::data::{
    Data, DataFormat, DataParserFlags, DataPrinterFlags, DataTree, DataValidationFlags,
};

/// A libyang context with the modules of a schema.
pub struct Libyang {
    context: Context,
}

impl fmt::Debug for Libyang {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Libyang")
    }
}

/// The two text formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// RFC 7951.
    Json,
    /// RFC 7950.
    Xml,
}

impl From<Format> for DataFormat {
    fn from(format: Format) -> Self {
        match format {
            Format::Json => Self::JSON,
            Format::Xml => Self::XML,
        }
    }
}

impl Libyang {
    /// Compiles the modules of a source, with all features disabled.
    ///
    /// # Panics
    /// If libyang rejects a module.
    pub fn new(source: &SchemaSource) -> Self {
        // The binding requires texts with a static lifetime; a test process has few of them.
        let leak = |text: &str| -> &'static str { Box::leak(text.to_owned().into_boxed_str()) };
        let modules = source.modules.iter().map(|module| {
            let key = EmbeddedModuleKey::new(leak(&module.name), None, None, None);
            (key, leak(&module.text))
        });
        let modules: EmbeddedModules = modules.collect::<HashMap<_, _>>();
        let mut context = Context::new(ContextFlags::NO_YANGLIBRARY).expect("a context");
        context.set_embedded_modules(&modules);
        for module in &source.modules {
            let loaded = context.load_module(&module.name, None, &[]);
            loaded.unwrap_or_else(|error| panic!("{}: {error}", module.name));
        }
        Self { context }
    }

    /// Validates a JSON document as the whole configuration of the modules. Returns the error if libyang rejects it.
    pub fn validate(&self, text: &str) -> Result<(), String> {
        let parsed = DataTree::parse_string(
            &self.context,
            text,
            DataFormat::JSON,
            DataParserFlags::STRICT | DataParserFlags::NO_STATE,
            DataValidationFlags::NO_STATE,
        );
        parsed.map(drop).map_err(|error| error.to_string())
    }

    /// Parses a document, checks its structure, types and duplicates, and prints it as JSON without white
    /// space. Returns the error if libyang rejects it.
    pub fn read(&self, format: Format, text: &str) -> Result<String, String> {
        if text.contains('\0') {
            return Err("a NUL, which the binding cannot pass".to_owned());
        }
        let parsed = DataTree::parse_string(
            &self.context,
            text,
            format.into(),
            DataParserFlags::STRICT,
            DataValidationFlags::PRESENT,
        );
        let tree = parsed.map_err(|error| error.to_string())?;
        let flags = DataPrinterFlags::WITH_SIBLINGS | DataPrinterFlags::SHRINK;
        let printed = tree.print_string(DataFormat::JSON, flags);
        printed.map_err(|error| error.to_string())
    }
}

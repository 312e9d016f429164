//! Provides the texts of modules to libyang: from the source, then from the standard modules.

use std::cell::RefCell;
use std::ffi::CString;

use super::ffi::ModuleTexts;
use super::patterns::ReplacedPatterns;
use crate::schema::{ModuleSource, SchemaSource};
use crate::standard;

/// The texts of one source. Records the requested files: an error without any other position belongs to the last one.
pub(super) struct SourceTexts<'s> {
    source: &'s SchemaSource,
    requested: RefCell<Vec<String>>,
    /// The last requested module that does not exist: name and revision.
    missing: RefCell<Option<(String, Option<String>)>>,
    patterns: ReplacedPatterns,
}

impl<'s> SourceTexts<'s> {
    pub(super) fn new(source: &'s SchemaSource) -> Self {
        Self {
            source,
            requested: RefCell::default(),
            missing: RefCell::default(),
            patterns: ReplacedPatterns::default(),
        }
    }

    /// The patterns that were replaced.
    pub(super) fn patterns(&self) -> &ReplacedPatterns {
        &self.patterns
    }

    pub(super) fn source(&self) -> &'s SchemaSource {
        self.source
    }

    /// The last requested module that does not exist, if any since the last call: its name and revision.
    pub(super) fn take_missing(&self) -> Option<(String, Option<String>)> {
        self.missing.take()
    }

    /// The requested files since the last call, in order.
    pub(super) fn take_requested(&self) -> Vec<String> {
        self.requested.take()
    }
}

impl ModuleTexts for SourceTexts<'_> {
    fn text(&self, name: &str, revision: Option<&str>) -> Option<CString> {
        let (file, text) = match find(self.source, name, revision) {
            Some(module) => (file_name(name, module.revision.as_deref()), &*module.text),
            None => {
                let Some(module) = standard::module(name, revision) else {
                    let module = (name.to_owned(), revision.map(str::to_owned));
                    *self.missing.borrow_mut() = Some(module);
                    return None;
                };
                (file_name(name, Some(module.revision)), module.text)
            }
        };
        self.requested.borrow_mut().push(file);
        CString::new(&*self.patterns.replace(text)).ok()
    }
}

/// The module of the source with this name, in this revision or in the latest.
pub(super) fn find<'s>(
    source: &'s SchemaSource,
    name: &str,
    revision: Option<&str>,
) -> Option<&'s ModuleSource> {
    source
        .modules
        .iter()
        .filter(|module| module.name == name)
        .filter(|module| revision.is_none() || module.revision.as_deref() == revision)
        .max_by(|one, other| one.revision.cmp(&other.revision))
}

/// The file name according to RFC 7950 §5.2, without the extension.
pub(super) fn file_name(name: &str, revision: Option<&str>) -> String {
    revision.map_or_else(|| name.to_owned(), |revision| format!("{name}@{revision}"))
}

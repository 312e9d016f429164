//! Where libyang gets the texts of modules from: the source, then the standard modules.

use std::cell::RefCell;
use std::ffi::CString;

use super::ffi::ModuleTexts;
use crate::schema::{ModuleSource, SchemaSource};
use crate::standard;

/// The texts of one source. Remembers which were asked for: the last one is where an error without
/// any other place belongs.
pub(super) struct SourceTexts<'s> {
    source: &'s SchemaSource,
    asked: RefCell<Vec<String>>,
}

impl<'s> SourceTexts<'s> {
    pub(super) fn new(source: &'s SchemaSource) -> Self {
        Self {
            source,
            asked: RefCell::default(),
        }
    }

    /// The files handed out since the last call, in order.
    pub(super) fn take_asked(&self) -> Vec<String> {
        self.asked.take()
    }
}

impl ModuleTexts for SourceTexts<'_> {
    fn text(&self, name: &str, revision: Option<&str>) -> Option<CString> {
        let (file, text) = match find(self.source, name, revision) {
            Some(module) => (file_name(name, module.revision.as_deref()), &*module.text),
            None => {
                let module = standard::module(name, revision)?;
                (file_name(name, Some(module.revision)), module.text)
            }
        };
        self.asked.borrow_mut().push(file);
        CString::new(text).ok()
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

/// As RFC 7950 §5.2 names files, without the extension.
pub(super) fn file_name(name: &str, revision: Option<&str>) -> String {
    revision.map_or_else(|| name.to_owned(), |revision| format!("{name}@{revision}"))
}

/// Whether the text is that of a submodule: its first keyword says so.
pub(super) fn is_submodule(text: &str) -> bool {
    let mut rest = text.trim_start_matches('\u{feff}').trim_start();
    loop {
        let after = if let Some(comment) = rest.strip_prefix("//") {
            comment.split_once('\n').map(|(_, after)| after)
        } else if let Some(comment) = rest.strip_prefix("/*") {
            comment.split_once("*/").map(|(_, after)| after)
        } else {
            return rest.starts_with("submodule");
        };
        match after {
            Some(after) => rest = after.trim_start(),
            None => return false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn submodules_are_told_by_their_first_keyword() {
        assert!(is_submodule("/* a module */ // module\n submodule a {"));
        assert!(!is_submodule("/* submodule */ module a {"));
        assert!(!is_submodule("// no end"));
    }
}

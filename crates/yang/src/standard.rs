//! The IETF modules that Espalier ships: those that come with libyang, embedded at build time.
//!
//! Models import them, so users need not provide them; RESTCONF serves some of them.

use crate::schema::ModuleSource;

/// A built-in module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StandardModule {
    /// Its name.
    pub name: &'static str,
    /// Its latest revision.
    pub revision: &'static str,
    /// The text, as YANG.
    pub text: &'static str,
}

impl StandardModule {
    /// The module as a source of a schema.
    pub fn source(&self) -> ModuleSource {
        ModuleSource {
            name: self.name.to_owned(),
            revision: Some(self.revision.to_owned()),
            text: self.text.to_owned(),
        }
    }
}

/// Sorted by name, then revision.
const MODULES: &[StandardModule] = include!(concat!(env!("OUT_DIR"), "/standard_modules.rs"));

/// All modules, sorted by name and then revision.
pub fn modules() -> &'static [StandardModule] {
    MODULES
}

/// The module with a name, in this revision or (for `None`) in the latest available one.
pub fn module(name: &str, revision: Option<&str>) -> Option<&'static StandardModule> {
    MODULES
        .iter()
        .rev()
        .filter(|module| module.name == name)
        .find(|module| revision.is_none_or(|revision| module.revision == revision))
}

/// The module with a name, in its latest revision, or with `NAME@REVISION`.
pub fn named(text: &str) -> Option<&'static StandardModule> {
    match text.split_once('@') {
        Some((name, revision)) => module(name, Some(revision)),
        None => module(text, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_modules_used_by_the_front_ends_exist() {
        let needed = [
            ("ietf-yang-types", None),
            ("ietf-inet-types", None),
            ("ietf-yang-library", None),
            ("ietf-datastores", None),
            ("ietf-origin", None),
            ("ietf-yang-metadata", None),
            ("ietf-restconf", None),
            ("ietf-netconf", None),
            ("ietf-netconf-with-defaults", None),
            ("ietf-netconf-acm", None),
            ("ietf-netconf-nmda", None),
            ("ietf-yang-patch", None),
            ("ietf-yang-structure-ext", None),
            ("iana-if-type", None),
            ("ietf-interfaces", Some("2018-02-20")),
            ("ietf-ip", Some("2018-02-22")),
            ("ietf-routing", Some("2018-03-13")),
        ];
        for (name, revision) in needed {
            let found = module(name, revision).unwrap_or_else(|| panic!("no {name}"));
            assert!(found.text.contains(found.revision), "{name}");
        }
    }

    #[test]
    fn the_latest_revision_is_the_default() {
        assert_eq!(module("ietf-ip", None).unwrap().revision, "2018-02-22");
        assert_eq!(
            module("ietf-ip", Some("2014-06-16")).unwrap().revision,
            "2014-06-16"
        );
        assert!(module("ietf-ip", Some("1999-01-01")).is_none());
        assert_eq!(named("ietf-ip").unwrap().revision, "2018-02-22");
        assert_eq!(named("ietf-ip@2014-06-16").unwrap().revision, "2014-06-16");
        for unknown in ["ietf-ip@", "ietf-ip@1999-01-01", "@2014-06-16", "none"] {
            assert_eq!(named(unknown), None, "{unknown}");
        }
    }
}

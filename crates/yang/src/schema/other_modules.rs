//! Namespaces of modules that a schema does not have: values with the names of such modules can be written in XML, where
//! prefixes stand for namespaces (docs/decisions/0071).
//!
//! The namespace of a module of the IETF or IANA has the name of the module (RFC 8407 §4.9). For others, only the module
//! itself has its namespace, so that this program writes one of its own.

/// What the namespaces of modules of the IETF and IANA begin with.
const STANDARD: &str = "urn:ietf:params:xml:ns:yang:";

/// What the namespaces for other modules begin with.
pub(crate) const OTHER: &str = "urn:espalier:module:";

/// The namespace that stands for a module.
pub(crate) fn namespace_of(module: &str) -> String {
    let is_standard = module.starts_with("ietf-") || module.starts_with("iana-");
    match is_standard {
        true => format!("{STANDARD}{module}"),
        false => format!("{OTHER}{module}"),
    }
}

/// The module that a namespace stands for.
pub(crate) fn module_of(namespace: &str) -> Option<&str> {
    let name = namespace.strip_prefix(STANDARD);
    let name = name.or_else(|| namespace.strip_prefix(OTHER))?;
    let mut characters = name.bytes();
    let is_first = |byte: u8| byte.is_ascii_alphabetic() || byte == b'_';
    let is_name = characters.next().is_some_and(is_first)
        && characters.all(|byte| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte));
    is_name.then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_namespace_stands_for_the_module_that_it_was_made_of() {
        for module in ["ietf-interfaces", "iana-if-type", "_a.b-c", "m"] {
            assert_eq!(module_of(&namespace_of(module)), Some(module));
        }
        for namespace in [
            "",
            "urn:m",
            OTHER,
            "urn:espalier:module:a:b",
            "urn:espalier:module:1",
        ] {
            assert_eq!(module_of(namespace), None, "{namespace}");
        }
    }
}

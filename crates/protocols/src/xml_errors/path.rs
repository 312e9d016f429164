//! Paths in XML error responses: converts an instance identifier of RFC 7951 §6.11 (a name without a module
//! is in the module of its parent) to one of RFC 7950 §9.13, in which each name has a prefix.

/// An instance identifier for XML; its prefixes are module names.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct XmlPath {
    /// The identifier.
    pub(super) text: String,
    /// The modules in it, without duplicates.
    pub(super) modules: Vec<String>,
}

impl XmlPath {
    /// Converts the JSON form to the XML form. Text that is not an instance identifier is copied.
    pub(super) fn of(json_form: &str) -> Self {
        let mut path = Self::default();
        let mut module = "";
        let mut rest = json_form;
        while let Some(character) = rest.chars().next() {
            let (token, after) = match character {
                '\'' | '"' => split_literal(rest, character),
                _ if is_name_start(character) => split_name(rest),
                _ => rest.split_at(character.len_utf8()),
            };
            if is_name_start(character) {
                path.name(token, &mut module);
            } else {
                path.text.push_str(token);
            }
            rest = after;
        }
        path
    }

    fn name<'a>(&mut self, token: &'a str, module: &mut &'a str) {
        let name = match token.split_once(':') {
            Some((of, name)) => {
                *module = of;
                name
            }
            None => token,
        };
        if !module.is_empty() {
            if !self.modules.iter().any(|defined| defined == module) {
                self.modules.push((*module).to_owned());
            }
            self.text.push_str(module);
            self.text.push(':');
        }
        self.text.push_str(name);
    }
}

fn is_name_start(character: char) -> bool {
    character.is_ascii_alphabetic() || character == '_'
}

fn split_literal(text: &str, quote: char) -> (&str, &str) {
    let end = text[1..].find(quote).map_or(text.len(), |place| place + 2);
    text.split_at(end)
}

fn split_name(text: &str) -> (&str, &str) {
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | ':');
    let end = text.find(|c| !is_name(c)).unwrap_or(text.len());
    text.split_at(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(json_form: &str, expected: &str, modules: &[&str]) {
        let path = XmlPath::of(json_form);
        assert_eq!(path.text, expected);
        assert_eq!(path.modules, modules);
    }

    #[test]
    fn every_name_gets_a_prefix() {
        check("/a:b/c[k='x/y:z']/d", "/a:b/a:c[a:k='x/y:z']/a:d", &["a"]);
        check("/a:b/m:c[m:k=\"'\"]", "/a:b/m:c[m:k=\"'\"]", &["a", "m"]);
        check("/a:l[.='é']", "/a:l[.='é']", &["a"]);
        check("/a:l[3]", "/a:l[3]", &["a"]);
        check("/a:l[k='open", "/a:l[a:k='open", &["a"]);
    }
}

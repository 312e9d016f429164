//! Filters as arguments.

use std::collections::BTreeSet;

use clap::Args;
use espalier_protocols::netconf_client::operations::{Filter, elements_of};
use espalier_terminal::{Failure, Result};
use espalier_yang::{DataError, ErrorTag};

use super::context::Context;
use super::payload::{elements, read_document};
use super::server_modules::namespaces_of;

/// Which data or notifications.
#[derive(Args, Clone, Debug, Default)]
pub struct FilterOptions {
    /// A subtree filter (RFC 6241 §6): elements, or a file with them; - for standard input
    #[arg(long, value_name = "XML|FILE")]
    subtree: Option<String>,

    /// An XPath expression. A prefix is the name of a module, or one of --namespace
    #[arg(long, value_name = "EXPRESSION", conflicts_with = "subtree")]
    xpath: Option<String>,

    /// The namespace of a prefix. May be repeated
    #[arg(long, value_name = "PREFIX=URI", value_parser = namespace, requires = "xpath")]
    namespace: Vec<(String, String)>,
}

fn namespace(text: &str) -> std::result::Result<(String, String), String> {
    let found = text.split_once('=');
    let found = found.filter(|(prefix, uri)| is_name(prefix) && !uri.is_empty());
    let (prefix, uri) = found.ok_or("write it as PREFIX=URI, as in if=urn:example:interfaces")?;
    Ok((prefix.to_owned(), uri.to_owned()))
}

fn is_name(text: &str) -> bool {
    let is_of_name = |letter: char| letter.is_alphanumeric() || "-_.".contains(letter);
    text.starts_with(|letter: char| letter.is_alphabetic() || letter == '_')
        && text.chars().all(is_of_name)
}

impl FilterOptions {
    /// The filter, if there is one.
    ///
    /// # Errors
    /// The filter is no XML, or its file cannot be read.
    pub fn filter(&self, context: &Context) -> Result<Option<Filter>> {
        if let Some(expression) = &self.xpath {
            let capabilities = &context.session.hello().capabilities;
            let mut namespaces = self.namespaces(expression, capabilities);
            let unknown = prefixes(expression).into_iter();
            let unknown: Vec<_> = unknown
                .filter(|prefix| namespaces.iter().all(|(known, _)| known != prefix))
                .collect();
            if !unknown.is_empty() {
                namespaces.extend(namespaces_of(context, &unknown));
            }
            return Ok(Some(Filter::Xpath {
                expression: expression.clone(),
                namespaces,
            }));
        }
        let Some(subtree) = &self.subtree else {
            return Ok(None);
        };
        let wrappers = ["filter"];
        let elements = match subtree.trim_start().starts_with('<') {
            true => elements_of(subtree, &wrappers).map_err(|error| {
                let message = format!("--subtree is not well-formed: line {}: {error}", error.line);
                let detail = DataError::new(ErrorTag::MalformedMessage, error.reason);
                Failure::usage(message).detail(detail.on_line(error.line))
            })?,
            false => elements(&read_document(context, subtree)?, subtree, &wrappers)?,
        };
        Ok(Some(Filter::Subtree(elements)))
    }

    /// The namespaces of the prefixes: as given, else those of modules of these names that the server announces, or that
    /// this program has.
    fn namespaces(&self, expression: &str, capabilities: &[String]) -> Vec<(String, String)> {
        let mut all = self.namespace.clone();
        for prefix in prefixes(expression) {
            if all.iter().any(|(given, _)| *given == prefix) {
                continue;
            }
            let found = announced(capabilities, &prefix).or_else(|| built_in(&prefix));
            all.extend(found.map(|namespace| (prefix, namespace)));
        }
        all
    }
}

/// The namespace of a module in the capabilities of a server of `base:1.0`.
fn announced(capabilities: &[String], module: &str) -> Option<String> {
    capabilities.iter().find_map(|capability| {
        let (namespace, parameters) = capability.split_once('?')?;
        let mut parameters = parameters.split('&');
        let is_it = parameters.any(|parameter| parameter.strip_prefix("module=") == Some(module));
        is_it.then(|| namespace.trim().to_owned())
    })
}

/// The namespace of a module that this program has.
fn built_in(module: &str) -> Option<String> {
    let found = espalier_service::modules::named(module)?;
    let source = espalier_yang::schema::ModuleSource::from_text(found.text)?;
    source.namespace()
}

/// The prefixes of names in an XPath expression. Those in literals are not names.
fn prefixes(expression: &str) -> BTreeSet<String> {
    let mut prefixes = BTreeSet::new();
    let (mut quote, mut word) = (None, String::new());
    let mut letters = expression.chars().peekable();
    while let Some(letter) = letters.next() {
        match quote {
            Some(open) if letter == open => quote = None,
            Some(_) => continue,
            None if letter == '\'' || letter == '"' => quote = Some(letter),
            None => {}
        }
        if letter.is_alphanumeric() || "-_.".contains(letter) {
            word.push(letter);
            continue;
        }
        let name = std::mem::take(&mut word);
        // An axis has two colons.
        if letter == ':' && letters.peek() == Some(&':') {
            letters.next();
        } else if letter == ':' && is_name(&name) {
            prefixes.insert(name);
        }
    }
    prefixes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_are_not_axes_or_literals() {
        let expression = "/if:a/child::b:c[d='x:y']/*[self::e:f=\"g:h\"] | count(i-1:j)";
        let found: Vec<_> = prefixes(expression).into_iter().collect();
        assert_eq!(found, ["b", "e", "i-1", "if"]);
    }

    #[test]
    fn namespaces_of_given_announced_and_built_in_prefixes() {
        let options = FilterOptions {
            namespace: vec![("x".to_owned(), "urn:x".to_owned())],
            ..FilterOptions::default()
        };
        let capabilities = ["urn:m?module=m&revision=2020-01-01".to_owned()];
        let found = options.namespaces("/x:a/m:b/ietf-interfaces:c/other:d", &capabilities);
        let expected = [
            ("x", "urn:x"),
            (
                "ietf-interfaces",
                "urn:ietf:params:xml:ns:yang:ietf-interfaces",
            ),
            ("m", "urn:m"),
        ];
        let expected = expected.map(|(prefix, uri)| (prefix.to_owned(), uri.to_owned()));
        assert_eq!(found, expected);
    }
}

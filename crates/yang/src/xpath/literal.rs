//! String literals.

use std::ops::Deref;
use std::sync::OnceLock;

use regex::Regex;
use serde::{Deserialize, Serialize};

use super::{Resolve, with_modules};
use crate::schema::pattern;

/// A string literal, and its meaning as a name.
///
/// A literal such as `'if:ethernet'` is text in XPath; compared with an identityref it is an identity, whose prefix
/// is resolved as in the model (RFC 7950 §9.10.3). Which of them applies is decided only at the comparison, so both
/// readings are stored. Two literals are equal if their texts are.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Literal {
    text: Box<str>,
    resolved: Option<Box<str>>,
    #[serde(skip)]
    pattern: OnceLock<Option<Regex>>,
}

impl Literal {
    /// Creates a literal, whose prefixes are resolved like those of the expression.
    pub(super) fn new(text: &str, resolve: &Resolve<'_>) -> Self {
        Self {
            text: text.into(),
            resolved: resolved(text, resolve).filter(|resolved| **resolved != *text),
            pattern: OnceLock::new(),
        }
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The text read as a name or instance identifier, with module names as prefixes, as in [`crate::Value`]; the
    /// text itself if it is neither.
    pub fn as_name(&self) -> &str {
        self.resolved.as_deref().unwrap_or(&self.text)
    }

    /// The text as an XSD pattern, compiled once; `None` if it is not a pattern.
    pub(super) fn as_pattern(&self) -> Option<&Regex> {
        let compiled = self
            .pattern
            .get_or_init(|| pattern::translate(&self.text).ok());
        compiled.as_ref()
    }
}

impl From<&str> for Literal {
    fn from(text: &str) -> Self {
        Self {
            text: text.into(),
            ..Self::default()
        }
    }
}

impl Deref for Literal {
    type Target = str;

    fn deref(&self) -> &str {
        &self.text
    }
}

impl PartialEq for Literal {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for Literal {}

fn resolved(text: &str, resolve: &Resolve<'_>) -> Option<Box<str>> {
    if text.starts_with('/') {
        let with_modules = with_modules(text, &|prefix| resolve(Some(prefix)));
        return with_modules.ok().map(Into::into);
    }
    let (module, name) = match text.split_once(':') {
        Some((prefix, name)) if is_name(prefix) => (resolve(Some(prefix))?, name),
        Some(_) => return None,
        None => (resolve(None)?, text),
    };
    is_name(name).then(|| format!("{module}:{name}").into())
}

/// Returns whether it is an `identifier` (RFC 7950 §14).
fn is_name(text: &str) -> bool {
    let mut characters = text.chars();
    let is_first = |first: char| first.is_ascii_alphabetic() || first == '_';
    characters.next().is_some_and(is_first)
        && characters.all(|next| next.is_ascii_alphanumeric() || "_-.".contains(next))
}

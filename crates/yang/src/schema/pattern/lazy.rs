//! A pattern that is compiled at its first use.

use std::fmt;
use std::sync::{Arc, OnceLock};

use regex::Regex;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{PatternError, translate};

/// An XSD expression and, after the first match, the [`Regex`] that it translates to. Clones share the compiled
/// expression.
#[derive(Clone)]
pub struct LazyRegex {
    inner: Arc<Inner>,
}

struct Inner {
    source: Box<str>,
    /// `None` if the expression cannot be translated.
    regex: OnceLock<Option<Regex>>,
}

impl LazyRegex {
    /// Translates and compiles an expression immediately, so that its errors are reported.
    pub fn compile(source: &str) -> Result<Self, PatternError> {
        let regex = translate(source)?;
        Ok(Self {
            inner: Arc::new(Inner {
                source: source.into(),
                regex: OnceLock::from(Some(regex)),
            }),
        })
    }

    /// An expression that [`Self::compile`] accepted before; it is compiled at the first match.
    pub(crate) fn from_accepted(source: &str) -> Self {
        Self {
            inner: Arc::new(Inner {
                source: source.into(),
                regex: OnceLock::new(),
            }),
        }
    }

    /// The XSD expression.
    pub fn source(&self) -> &str {
        &self.inner.source
    }

    /// Returns whether the expression matches the whole text.
    pub fn is_match(&self, text: &str) -> bool {
        let inner = &*self.inner;
        let regex = inner
            .regex
            .get_or_init(|| translate(&inner.source).ok())
            .as_ref();
        regex.is_some_and(|regex| regex.is_match(text))
    }
}

impl fmt::Debug for LazyRegex {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_tuple("LazyRegex")
            .field(&self.source())
            .finish()
    }
}

impl Serialize for LazyRegex {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.source())
    }
}

impl<'de> Deserialize<'de> for LazyRegex {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Box::<str>::deserialize(deserializer).map(|source| Self::from_accepted(&source))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_accepted_expression_matches_like_a_compiled_one() {
        let compiled = LazyRegex::compile("[a-c]+").unwrap();
        let lazy = LazyRegex::from_accepted("[a-c]+");
        for text in ["abc", "", "abcd"] {
            assert_eq!(compiled.is_match(text), lazy.is_match(text), "{text}");
        }
        assert!(LazyRegex::compile("(?=a)").is_err());
        assert!(!LazyRegex::from_accepted("(?=a)").is_match("a"));
    }
}

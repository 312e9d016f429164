//! `If-Match` and `If-None-Match` (RFC 9110 §13.1).

use http::HeaderMap;
use http::header::{HeaderName, IF_MATCH, IF_NONE_MATCH};

use super::problem::{Problem, Result};

/// The conditional headers of a request.
#[derive(Debug)]
pub(super) struct Conditions {
    is_match: Option<EntityTags>,
    is_none_match: Option<EntityTags>,
}

/// The entity tags of a header.
#[derive(Debug, Default)]
pub(super) struct EntityTags {
    is_any: bool,
    strong: Vec<String>,
    weak: Vec<String>,
}

impl EntityTags {
    fn of(headers: &HeaderMap, name: HeaderName) -> Option<Self> {
        let mut tags = Self::default();
        for value in headers.get_all(&name) {
            tags.read(value.to_str().unwrap_or_default());
        }
        headers.contains_key(name).then_some(tags)
    }

    /// Parses the value of one header.
    pub(super) fn parse(text: &str) -> Self {
        let mut tags = Self::default();
        tags.read(text);
        tags
    }

    fn read(&mut self, text: &str) {
        for tag in text.split(',').map(str::trim) {
            let (tags, tag) = match tag.strip_prefix("W/") {
                _ if tag == "*" => {
                    self.is_any = true;
                    continue;
                }
                Some(tag) => (&mut self.weak, tag),
                None => (&mut self.strong, tag),
            };
            tags.push(tag.trim_matches('"').to_owned());
        }
    }

    /// Strong comparison, for `If-Match` (RFC 9110 §8.8.3.2): a weak tag does not guarantee the same bytes.
    pub(super) fn matches_strongly(&self, current: Option<&str>) -> bool {
        current.is_some_and(|current| self.is_any || self.strong.iter().any(|tag| tag == current))
    }

    /// Weak comparison, for `If-None-Match`.
    fn matches_weakly(&self, current: Option<&str>) -> bool {
        let is_weak = |current: &str| self.weak.iter().any(|tag| tag == current);
        self.matches_strongly(current) || current.is_some_and(is_weak)
    }
}

impl Conditions {
    /// Parses the headers.
    pub(super) fn of(headers: &HeaderMap) -> Self {
        Self {
            is_match: EntityTags::of(headers, IF_MATCH),
            is_none_match: EntityTags::of(headers, IF_NONE_MATCH),
        }
    }

    /// Whether the client has the current state already (304). Returns an error if `If-Match` fails.
    pub(super) fn is_not_modified(&self, current: &str) -> Result<bool> {
        let mut if_match = self.is_match.iter();
        if !if_match.all(|tags| tags.matches_strongly(Some(current))) {
            return Err(Problem::precondition(
                "the entity tag does not match the current state",
            ));
        }
        let mut if_none_match = self.is_none_match.iter();
        Ok(if_none_match.any(|tags| tags.matches_weakly(Some(current))))
    }

    /// Checks the conditions of a write; `None` if the document does not exist.
    pub(super) fn check(&self, current: Option<&str>) -> Result<()> {
        let fits = self
            .is_match
            .as_ref()
            .is_none_or(|tags| tags.matches_strongly(current));
        let is_other = self
            .is_none_match
            .as_ref()
            .is_none_or(|tags| !tags.matches_weakly(current));
        if fits && is_other {
            return Ok(());
        }
        Err(Problem::precondition(match current {
            None => "the document does not exist",
            Some(_) if !is_other => "the document already exists",
            Some(_) => "the document was changed by another client; read it again",
        }))
    }
}

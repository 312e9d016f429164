//! `If-Match` and `If-None-Match` (RFC 9110 §13.1).

use http::HeaderMap;
use http::header::{HeaderName, IF_MATCH, IF_NONE_MATCH};

use super::problem::{Problem, Result};

/// The conditions of a request.
#[derive(Debug)]
pub(super) struct Conditions {
    is_match: Option<Tags>,
    is_none_match: Option<Tags>,
}

#[derive(Debug)]
enum Tags {
    Any,
    These(Vec<String>),
}

impl Tags {
    fn of(headers: &HeaderMap, name: HeaderName) -> Option<Self> {
        let mut tags = Vec::new();
        let mut is_there = false;
        for value in headers.get_all(name) {
            is_there = true;
            for tag in value.to_str().unwrap_or_default().split(',') {
                let tag = tag.trim();
                if tag == "*" {
                    return Some(Self::Any);
                }
                let tag = tag.strip_prefix("W/").unwrap_or(tag);
                tags.push(tag.trim_matches('"').to_owned());
            }
        }
        is_there.then_some(Self::These(tags))
    }

    fn has(&self, current: Option<&str>) -> bool {
        match (self, current) {
            (_, None) => false,
            (Self::Any, Some(_)) => true,
            (Self::These(tags), Some(current)) => tags.iter().any(|tag| tag == current),
        }
    }
}

impl Conditions {
    /// The conditions in these headers.
    pub(super) fn of(headers: &HeaderMap) -> Self {
        Self {
            is_match: Tags::of(headers, IF_MATCH),
            is_none_match: Tags::of(headers, IF_NONE_MATCH),
        }
    }

    /// Whether a reader has this state already (304).
    pub(super) fn is_known(&self, current: &str) -> bool {
        self.is_none_match
            .as_ref()
            .is_some_and(|tags| tags.has(Some(current)))
    }

    /// Whether a write may happen in this state; `None` where there is no document.
    pub(super) fn check(&self, current: Option<&str>) -> Result<()> {
        let fits = self.is_match.as_ref().is_none_or(|tags| tags.has(current));
        let is_other = self
            .is_none_match
            .as_ref()
            .is_none_or(|tags| !tags.has(current));
        if fits && is_other {
            return Ok(());
        }
        Err(Problem::precondition(match current {
            None => "there is no such document",
            Some(_) if !is_other => "there is such a document already",
            Some(_) => "the document was changed meanwhile; get it again",
        }))
    }
}

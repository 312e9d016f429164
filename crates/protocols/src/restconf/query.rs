//! Query parameters (RFC 8040 §4.8). Each may occur once, and only in requests that allow it.

use std::borrow::Cow;

use espalier_service::notifications;
use espalier_store::{Content, PageParameters, Timestamp, WithDefaults, WithOrigin};
use percent_encoding::percent_decode_str;

use super::error::{Failure, Result};
use super::limits::Limits;
use crate::http_error::HttpError;

/// `insert` (RFC 8040 §4.8.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Insert {
    First,
    Last,
    Before,
    After,
}

/// The parameters that a request may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AllowedParameters {
    /// None.
    None,
    /// Those that select the content of a response: `content`, `depth`, `fields`, `with-defaults`,
    /// `with-origin`, and those of pages.
    Selection,
    /// Those that place a new entry: `insert`, `point`.
    Placement,
    /// Those that select events: `filter`, `start-time`, `stop-time`.
    Events,
}

/// The query parameters of a request.
#[derive(Debug, Default)]
pub(super) struct Query<'a> {
    pub(super) content: Option<Content>,
    /// The inner option is `unbounded`.
    pub(super) depth: Option<Option<u32>>,
    pub(super) fields: Option<Cow<'a, str>>,
    pub(super) with_defaults: Option<WithDefaults>,
    pub(super) with_origin: Option<WithOrigin>,
    pub(super) insert: Option<Insert>,
    pub(super) point: Option<Cow<'a, str>>,
    /// Those of pages (draft-ietf-netconf-list-pagination-rc §3.3).
    pub(super) pages: PageParameters,
    pub(super) filter: Option<Cow<'a, str>>,
    pub(super) start_time: Option<Timestamp>,
    pub(super) stop_time: Option<Timestamp>,
}

impl<'a> Query<'a> {
    /// Parses the text after the `?`.
    pub(super) fn parse(
        text: Option<&'a str>,
        allowed: AllowedParameters,
        bytes_max: usize,
    ) -> Result<Self> {
        let mut query = Self::default();
        let text = text.unwrap_or_default();
        if text.len() > bytes_max {
            return Err(Failure::invalid(format!(
                "the query string may have at most {bytes_max} bytes"
            )));
        }
        for pair in text.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            query.parameter(&decode(name)?, decode(value)?, allowed)?;
        }
        query.check_point()?;
        Ok(query)
    }

    fn parameter(
        &mut self,
        name: &str,
        value: Cow<'a, str>,
        allowed: AllowedParameters,
    ) -> Result<()> {
        if PageParameters::has_name(name) {
            return match allowed {
                AllowedParameters::Selection => Ok(self.pages.set(name, &value)?),
                _ => Err(Failure::no_list()),
            };
        }
        let required = match name {
            "content" | "depth" | "fields" | "with-defaults" | "with-origin" => {
                AllowedParameters::Selection
            }
            "insert" | "point" => AllowedParameters::Placement,
            "filter" | "start-time" | "stop-time" if allowed == AllowedParameters::Events => {
                allowed
            }
            "filter" | "start-time" | "stop-time" => {
                let message = format!("the parameter “{name}” is for event streams only");
                return Err(Failure::invalid(message));
            }
            _ => return Err(Failure::invalid(format!("unknown parameter “{name}”"))),
        };
        if required != allowed {
            let message = format!("the parameter “{name}” is not allowed in this request");
            return Err(Failure::invalid(message));
        }
        let bad = |range: &str| {
            Failure::invalid(format!(
                "“{value}” is not a valid value of “{name}”: expected {range}"
            ))
        };
        match name {
            "content" => set_once(&mut self.content, name, parse_content(&value), bad),
            "depth" => set_once(&mut self.depth, name, parse_depth(&value), bad),
            "with-defaults" => set_once(&mut self.with_defaults, name, parse_defaults(&value), bad),
            "with-origin" => set_once(&mut self.with_origin, name, parse_origin(&value), bad),
            "insert" => set_once(&mut self.insert, name, parse_insert(&value), bad),
            "start-time" => set_once(&mut self.start_time, name, parse_time(&value), bad),
            "stop-time" => set_once(&mut self.stop_time, name, parse_time(&value), bad),
            "filter" if self.filter.is_none() => {
                self.filter = Some(value);
                Ok(())
            }
            "fields" if self.fields.is_none() => {
                self.fields = Some(value);
                Ok(())
            }
            "point" if self.point.is_none() => {
                self.point = Some(value);
                Ok(())
            }
            _ => Err(repeated(name)),
        }
    }

    /// RFC 8040 §4.8.6: `point` is required with `before` and `after`, and only with these.
    fn check_point(&self) -> Result<()> {
        let needs_point = matches!(self.insert, Some(Insert::Before | Insert::After));
        match (needs_point, &self.point) {
            (true, None) => Err(Failure::invalid(
                "“insert” with “before” or “after” requires “point”",
            )),
            (false, Some(_)) => Err(Failure::invalid(
                "“point” requires “insert” with “before” or “after”",
            )),
            _ => Ok(()),
        }
    }
}

/// The parameters of a read that select its content (RFC 8040 §4.8), for routes in addition to RESTCONF.
#[derive(Clone, Debug, Default)]
pub struct ReadParameters {
    /// `depth`.
    pub depth: Option<u32>,
    /// `content`.
    pub content: Content,
    /// `fields`.
    pub fields: Option<String>,
    /// `with-defaults`.
    pub with_defaults: WithDefaults,
    /// `with-origin`.
    pub with_origin: WithOrigin,
    /// Those of pages.
    pub pages: PageParameters,
}

impl ReadParameters {
    /// Parses a query string, without the parameters named in `others`.
    ///
    /// # Errors
    /// `invalid-value` for unknown and repeated parameters, and for wrong values.
    pub fn parse(text: &str, others: &[&str]) -> std::result::Result<Self, HttpError> {
        let is_own = |pair: &&str| !others.contains(&pair.split('=').next().unwrap_or_default());
        let own: Vec<&str> = text.split('&').filter(is_own).collect();
        let own = own.join("&");
        let limit = Limits::default().query_bytes_max;
        let query = Query::parse(Some(&own), AllowedParameters::Selection, limit);
        let query =
            query.map_err(|failure| HttpError::with_status(failure.status, failure.errors))?;
        Ok(Self {
            depth: query.depth.flatten(),
            content: query.content.unwrap_or_default(),
            fields: query.fields.map(Cow::into_owned),
            with_defaults: query.with_defaults.unwrap_or_default(),
            with_origin: query.with_origin.unwrap_or_default(),
            pages: query.pages,
        })
    }
}

fn set_once<T>(
    slot: &mut Option<T>,
    name: &str,
    parsed: std::result::Result<T, &'static str>,
    bad: impl Fn(&str) -> Failure,
) -> Result<()> {
    if slot.is_some() {
        return Err(repeated(name));
    }
    *slot = Some(parsed.map_err(bad)?);
    Ok(())
}

fn repeated(name: &str) -> Failure {
    Failure::invalid(format!("the parameter “{name}” is given more than once"))
}

fn decode(text: &str) -> Result<Cow<'_, str>> {
    percent_decode_str(text)
        .decode_utf8()
        .map_err(|_| Failure::invalid("the query string is not UTF-8"))
}

type Parsed<T> = std::result::Result<T, &'static str>;

fn parse_content(value: &str) -> Parsed<Content> {
    match value {
        "all" => Ok(Content::All),
        "config" => Ok(Content::Config),
        "nonconfig" => Ok(Content::NonConfig),
        _ => Err("all, config or nonconfig"),
    }
}

fn parse_depth(value: &str) -> Parsed<Option<u32>> {
    if value == "unbounded" {
        return Ok(None);
    }
    let depth = parse_digits(value).and_then(|depth| u32::try_from(depth).ok());
    match depth {
        Some(depth @ 1..=65535) => Ok(Some(depth)),
        _ => Err("1 to 65535 or unbounded"),
    }
}

fn parse_defaults(value: &str) -> Parsed<WithDefaults> {
    match value {
        "report-all" => Ok(WithDefaults::ReportAll),
        "trim" => Ok(WithDefaults::Trim),
        "explicit" => Ok(WithDefaults::Explicit),
        "report-all-tagged" => Ok(WithDefaults::ReportAllTagged),
        _ => Err("report-all, trim, explicit or report-all-tagged"),
    }
}

/// RFC 8527 §3.2.2: the parameter has no value.
fn parse_origin(value: &str) -> Parsed<WithOrigin> {
    match value {
        "" => Ok(WithOrigin::Shown),
        _ => Err("no value"),
    }
}

fn parse_insert(value: &str) -> Parsed<Insert> {
    match value {
        "first" => Ok(Insert::First),
        "last" => Ok(Insert::Last),
        "before" => Ok(Insert::Before),
        "after" => Ok(Insert::After),
        _ => Err("first, last, before or after"),
    }
}

fn parse_time(value: &str) -> std::result::Result<Timestamp, &'static str> {
    notifications::parse_time(value).ok_or("a time such as 2026-11-28T12:00:00Z")
}

/// Parses digits only: no sign, no spaces.
fn parse_digits(value: &str) -> Option<u64> {
    let is_digits = value.bytes().all(|byte| byte.is_ascii_digit());
    is_digits.then(|| value.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str, allowed: AllowedParameters) -> Result<Query<'_>> {
        Query::parse(Some(text), allowed, 1024)
    }

    #[test]
    fn valid_parameters_are_parsed() {
        let query = parse(
            "depth=3&content=config&fields=a%2Fb;c",
            AllowedParameters::Selection,
        )
        .unwrap();
        assert_eq!(query.depth, Some(Some(3)));
        assert_eq!(query.fields.as_deref(), Some("a/b;c"));
        let query = parse(
            "insert=before&point=%2Fa:b%2Fc%3D1",
            AllowedParameters::Placement,
        )
        .unwrap();
        assert_eq!(query.insert, Some(Insert::Before));
        assert_eq!(query.point.as_deref(), Some("/a:b/c=1"));
        let query = parse("depth=unbounded", AllowedParameters::Selection).unwrap();
        assert_eq!(query.depth, Some(None));
    }

    #[test]
    fn invalid_parameters_are_rejected() {
        let table = [
            ("depth=0", AllowedParameters::Selection),
            ("depth=65536", AllowedParameters::Selection),
            ("depth=+1", AllowedParameters::Selection),
            ("depth=1&depth=1", AllowedParameters::Selection),
            ("fields=a&fields=b", AllowedParameters::Selection),
            ("Depth=1", AllowedParameters::Selection),
            ("content=state", AllowedParameters::Selection),
            ("with-defaults=all", AllowedParameters::Selection),
            ("insert=first", AllowedParameters::Selection),
            ("depth=1", AllowedParameters::Placement),
            ("insert=before", AllowedParameters::Placement),
            ("insert=first&point=%2Fa:b", AllowedParameters::Placement),
            ("point=%2Fa:b", AllowedParameters::Placement),
            ("depth=1", AllowedParameters::None),
            ("filter=x", AllowedParameters::Selection),
            ("start-time=x", AllowedParameters::Selection),
            ("fields=%ff", AllowedParameters::Selection),
            ("limit=0", AllowedParameters::Selection),
            ("with-origin=true", AllowedParameters::Selection),
            ("with-origin&with-origin", AllowedParameters::Selection),
            ("with-origin", AllowedParameters::Placement),
        ];
        for (text, allowed) in table {
            let failure = parse(text, allowed).unwrap_err();
            assert_eq!(failure.status, http::StatusCode::BAD_REQUEST, "{text}");
        }
    }
}

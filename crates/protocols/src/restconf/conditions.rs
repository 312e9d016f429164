//! Entity tags, modification times, and conditional requests (RFC 8040 §3.4.1, §3.5; RFC 9110 §13).
//!
//! A tag consists of the version and time of the last change at or below the resource and a letter for the
//! format, so it is strong: one tag, one sequence of bytes. A write does not depend on the format, so
//! writes ignore the letter.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use espalier_service::server_state::LibraryTag;
use espalier_store::{Stamp, Timestamp, View};
use espalier_yang::{InstancePath, NodeKind};
use http::header::{
    ETAG, IF_MATCH, IF_MODIFIED_SINCE, IF_NONE_MATCH, IF_UNMODIFIED_SINCE, LAST_MODIFIED,
};
use http::{HeaderMap, HeaderName, HeaderValue};

use super::error::Result;
use super::media::Format;

/// The validators of a resource at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Validators {
    /// The tag without quotes and format letter.
    state: String,
    modified: SystemTime,
}

impl Validators {
    /// The validators of data.
    pub(super) fn of(stamp: &Stamp) -> Self {
        Self::new(stamp.version, stamp.time)
    }

    /// The validators of a resource. `None` if the reader sees only a part of it: they would show changes of the rest.
    pub(super) fn of_resource(view: &View, path: &InstancePath) -> Result<Option<Self>> {
        // A leaf has the stamp of the container or entry around it.
        let is_inner = path.target().is_none_or(|node| {
            let node = view.schema().node(node);
            node.is_list() || matches!(node.kind, NodeKind::Container { .. })
        });
        let is_shown = match (is_inner, path.parent()) {
            (false, Some(parent)) => view.shows_all(&parent),
            _ => view.shows_all(path),
        };
        match is_shown {
            true => Ok(Some(Self::of(&view.stamp(path)?))),
            false => Ok(None),
        }
    }

    /// The validators of an existing resource that are not shown: no tag is theirs.
    pub(super) fn hidden() -> Self {
        Self::generated("\0", SystemTime::now())
    }

    /// The validators of data whose last change has this version and time.
    pub(super) fn new(version: u64, time: Timestamp) -> Self {
        Self {
            state: format!("{version:x}-{:x}", time.0),
            // A commit of a machine whose clock was ahead: RFC 9110, section 8.8.2.1.
            modified: SystemTime::from(time).min(SystemTime::now()),
        }
    }

    /// The validators of the YANG library.
    pub(super) fn of_library(tag: LibraryTag) -> Self {
        Self::generated(tag.id, SystemTime::from(tag.since))
    }

    fn generated(state: impl Into<String>, modified: SystemTime) -> Self {
        Self {
            state: state.into(),
            modified,
        }
    }

    /// Sets `ETag` and `Last-Modified`.
    pub(super) fn write(&self, headers: &mut HeaderMap, format: Format) {
        if let Ok(tag) = HeaderValue::try_from(format!("\"{}\"", self.tag(format))) {
            headers.insert(ETAG, tag);
        }
        if let Ok(time) = HeaderValue::try_from(httpdate::fmt_http_date(self.modified)) {
            headers.insert(LAST_MODIFIED, time);
        }
    }

    fn tag(&self, format: Format) -> String {
        let letter = match format {
            Format::Json => 'j',
            Format::Xml => 'x',
        };
        format!("{}-{letter}", self.state)
    }

    fn is_state_of(&self, tag: &str) -> bool {
        tag.strip_suffix("-j").or_else(|| tag.strip_suffix("-x")) == Some(&self.state)
    }
}

/// The value of `If-Match` or `If-None-Match`.
#[derive(Clone, Debug, PartialEq, Eq)]
enum EntityTags {
    Any,
    /// Each tag without quotes, and whether it is weak.
    List(Vec<(String, Strength)>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Strength {
    Strong,
    Weak,
}

/// Matches a tag, given its text and strength.
type TagMatcher<'a> = &'a dyn Fn(&str, Strength) -> bool;

/// The conditional headers of a request.
#[derive(Clone, Debug, Default)]
pub(super) struct Conditions {
    matching: Option<EntityTags>,
    none_matching: Option<EntityTags>,
    modified_since: Option<SystemTime>,
    unmodified_since: Option<SystemTime>,
}

/// The result of the conditions of a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ConditionResult {
    /// The conditions are met.
    Proceed,
    /// 304.
    NotModified,
    /// 412.
    Failed,
}

impl Conditions {
    /// Parses the headers of a request.
    pub(super) fn of(headers: &HeaderMap) -> Self {
        Self {
            matching: tags(headers, &IF_MATCH),
            none_matching: tags(headers, &IF_NONE_MATCH),
            modified_since: time(headers, &IF_MODIFIED_SINCE),
            unmodified_since: time(headers, &IF_UNMODIFIED_SINCE),
        }
    }

    /// Whether the request has no conditional headers.
    pub(super) fn is_empty(&self) -> bool {
        self.matching.is_none()
            && self.none_matching.is_none()
            && self.modified_since.is_none()
            && self.unmodified_since.is_none()
    }

    /// Evaluates the conditions of GET and HEAD for an existing resource (RFC 9110 §13.2.2).
    pub(super) fn evaluate_read(&self, current: &Validators, format: Format) -> ConditionResult {
        let tag = current.tag(format);
        if let Some(tags) = &self.matching {
            if !tags.contain(Some(&|client_tag, strength| {
                strength == Strength::Strong && client_tag == tag
            })) {
                return ConditionResult::Failed;
            }
        } else if self
            .unmodified_since
            .is_some_and(|since| seconds(current.modified) > seconds(since))
        {
            return ConditionResult::Failed;
        }
        if let Some(tags) = &self.none_matching {
            if tags.contain(Some(&|client_tag, _| client_tag == tag)) {
                return ConditionResult::NotModified;
            }
        } else if self
            .modified_since
            .is_some_and(|since| seconds(current.modified) <= seconds(since))
        {
            return ConditionResult::NotModified;
        }
        ConditionResult::Proceed
    }

    /// Evaluates the conditions of a method that writes (RFC 9110 §13.2.2); `None` means that the resource
    /// does not exist.
    pub(super) fn allow_write(&self, current: Option<&Validators>) -> bool {
        let is_current =
            |client_tag: &str| current.is_some_and(|validators| validators.is_state_of(client_tag));
        if let Some(tags) = &self.matching {
            let strong =
                |client_tag: &str, strength| strength == Strength::Strong && is_current(client_tag);
            if !tags.contain(current.is_some().then_some(&strong)) {
                return false;
            }
        } else if let (Some(since), Some(current)) = (self.unmodified_since, current)
            && seconds(current.modified) > seconds(since)
        {
            return false;
        }
        let any = |client_tag: &str, _| is_current(client_tag);
        self.none_matching
            .as_ref()
            .is_none_or(|tags| !tags.contain(current.is_some().then_some(&any)))
    }
}

impl EntityTags {
    /// Whether a tag matches `is_it`; `None` means that the resource does not exist.
    fn contain(&self, is_it: Option<TagMatcher<'_>>) -> bool {
        let Some(is_it) = is_it else { return false };
        match self {
            Self::Any => true,
            Self::List(tags) => tags.iter().any(|(tag, strength)| is_it(tag, *strength)),
        }
    }
}

fn tags(headers: &HeaderMap, name: &HeaderName) -> Option<EntityTags> {
    if !headers.contains_key(name) {
        return None;
    }
    let mut these = Vec::new();
    for line in headers.get_all(name) {
        let text = line.to_str().unwrap_or_default();
        if text.trim() == "*" {
            return Some(EntityTags::Any);
        }
        these.extend(text.split(',').filter_map(parse_tag));
    }
    Some(EntityTags::List(these))
}

/// The tags of this server contain no comma, so splitting at commas only breaks foreign tags.
fn parse_tag(text: &str) -> Option<(String, Strength)> {
    let text = text.trim();
    let (quoted, strength) = match text.strip_prefix("W/") {
        Some(rest) => (rest, Strength::Weak),
        None => (text, Strength::Strong),
    };
    let tag = quoted.strip_prefix('"')?.strip_suffix('"')?;
    Some((tag.to_owned(), strength))
}

/// Parses a date; an invalid one is ignored (RFC 9110 §13.1.3).
fn time(headers: &HeaderMap, name: &HeaderName) -> Option<SystemTime> {
    httpdate::parse_http_date(headers.get(name)?.to_str().ok()?).ok()
}

/// HTTP dates have whole seconds.
fn seconds(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH)
        .unwrap_or(Duration::ZERO)
        .as_secs()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SATURDAY: &str = "Sat, 01 Jan 2022 00:00:00 GMT";
    const SUNDAY: &str = "Sun, 02 Jan 2022 00:00:00 GMT";

    fn current() -> Validators {
        let time = httpdate::parse_http_date(SATURDAY).unwrap();
        Validators::generated("5-1", time + Duration::from_millis(700))
    }

    fn conditions(pairs: &[(HeaderName, &str)]) -> Conditions {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(name.clone(), HeaderValue::from_str(value).unwrap());
        }
        Conditions::of(&headers)
    }

    /// RFC 9110, section 8.8.2.1: a machine whose clock was ahead made the commit.
    #[test]
    fn the_time_of_a_change_is_never_in_the_future() {
        let future = SystemTime::now() + Duration::from_secs(3600);
        let millis = future
            .duration_since(UNIX_EPOCH)
            .expect("a time")
            .as_millis();
        let validators = Validators::new(5, Timestamp(millis as u64));
        assert!(validators.modified <= SystemTime::now());
    }

    #[test]
    fn reads_follow_rfc_9110() {
        let table: &[(&[(HeaderName, &str)], ConditionResult)] = &[
            (&[], ConditionResult::Proceed),
            (&[(IF_MATCH, "\"5-1-j\"")], ConditionResult::Proceed),
            (&[(IF_MATCH, "W/\"5-1-j\"")], ConditionResult::Failed),
            (&[(IF_MATCH, "\"5-1-x\"")], ConditionResult::Failed),
            (&[(IF_MATCH, "*")], ConditionResult::Proceed),
            (
                &[(IF_NONE_MATCH, "\"a\", W/\"5-1-j\"")],
                ConditionResult::NotModified,
            ),
            (&[(IF_NONE_MATCH, "\"5-1-x\"")], ConditionResult::Proceed),
            (&[(IF_NONE_MATCH, "*")], ConditionResult::NotModified),
            (
                &[(IF_MODIFIED_SINCE, SATURDAY)],
                ConditionResult::NotModified,
            ),
            (
                &[(IF_MODIFIED_SINCE, "Fri, 31 Dec 2021 00:00:00 GMT")],
                ConditionResult::Proceed,
            ),
            (
                &[(IF_MODIFIED_SINCE, SUNDAY), (IF_NONE_MATCH, "\"a\"")],
                ConditionResult::Proceed,
            ),
            (&[(IF_MODIFIED_SINCE, "rubbish")], ConditionResult::Proceed),
            (&[(IF_UNMODIFIED_SINCE, SATURDAY)], ConditionResult::Proceed),
            (
                &[(IF_UNMODIFIED_SINCE, "Fri, 31 Dec 2021 00:00:00 GMT")],
                ConditionResult::Failed,
            ),
        ];
        for (pairs, expected) in table {
            let verdict = conditions(pairs).evaluate_read(&current(), Format::Json);
            assert_eq!(verdict, *expected, "{pairs:?}");
        }
    }

    #[test]
    fn writes_follow_rfc_9110() {
        type Row<'a> = (&'a [(HeaderName, &'a str)], bool, bool);
        let table: &[Row<'_>] = &[
            (&[], true, true),
            (&[(IF_MATCH, "\"5-1-j\"")], true, false),
            (&[(IF_MATCH, "\"5-1-x\"")], true, false),
            (&[(IF_MATCH, "\"4-1-x\"")], false, false),
            (&[(IF_MATCH, "*")], true, false),
            (&[(IF_NONE_MATCH, "*")], false, true),
            (&[(IF_NONE_MATCH, "\"5-1-j\"")], false, true),
            (
                &[(IF_UNMODIFIED_SINCE, "Fri, 31 Dec 2021 00:00:00 GMT")],
                false,
                true,
            ),
        ];
        for (pairs, existing, absent) in table {
            let conditions = conditions(pairs);
            assert_eq!(
                conditions.allow_write(Some(&current())),
                *existing,
                "{pairs:?}"
            );
            assert_eq!(conditions.allow_write(None), *absent, "{pairs:?}");
        }
    }
}

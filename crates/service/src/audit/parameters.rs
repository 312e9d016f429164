//! Queries as parameters of requests.

use espalier_store::Timestamp;
use espalier_yang::ErrorTag;

use super::criteria::ResultCriterion;
use super::query::{AUDIT_PAGE_MAX, AuditOrder, AuditQuery};
use super::record::PROBLEM_KINDS;
use crate::time_text::time_text;

impl AuditQuery {
    /// The names of the parameters.
    pub const PARAMETERS: [&'static str; 10] = [
        "user",
        "session",
        "operation",
        "result",
        "path",
        "from",
        "until",
        "order",
        "limit",
        "after",
    ];

    /// Sets one condition from a parameter. Times are RFC 3339.
    ///
    /// # Errors
    /// A message: the name or the value is not accepted.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), String> {
        let invalid = |expected: &str| format!("{name}={value:?} is not accepted: {expected}");
        let criteria = &mut self.criteria;
        match name {
            "user" => criteria.user = Some(value.to_owned()),
            "session" => criteria.session = Some(value.to_owned()),
            "path" => {
                if !is_path(value) {
                    return Err(invalid(PATH));
                }
                criteria.path_prefix = Some(value.to_owned());
            }
            "operation" => {
                let operation = value.parse();
                let known = operation.map_err(|error| format!("{error}: {value:?}"))?;
                criteria.operation = Some(known);
            }
            "result" => {
                criteria.result = Some(match value {
                    "ok" => ResultCriterion::Ok,
                    "error" => ResultCriterion::AnyError,
                    tag if is_error(tag) => ResultCriterion::ErrorTag(tag.to_owned()),
                    _ => return Err(invalid(RESULT)),
                });
            }
            "from" => self.from = Some(parse_time(value).ok_or_else(|| invalid(TIME))?),
            "until" => self.until = Some(parse_time(value).ok_or_else(|| invalid(TIME))?),
            "order" => {
                self.order = match value {
                    "newest-first" => AuditOrder::NewestFirst,
                    "oldest-first" => AuditOrder::OldestFirst,
                    _ => return Err(invalid("write newest-first or oldest-first")),
                }
            }
            "limit" => {
                let limit = value.parse().ok();
                let limit = limit.filter(|limit| (1..=AUDIT_PAGE_MAX).contains(limit));
                self.limit =
                    limit.ok_or_else(|| invalid(&format!("write 1 to {AUDIT_PAGE_MAX}")))?;
            }
            "after" => {
                let sequence = value.parse();
                self.after = Some(sequence.map_err(|_| invalid("write `next` of a page"))?);
            }
            _ => return Err(format!("there is no parameter {name:?}")),
        }
        Ok(())
    }

    /// The parameters with which [`Self::set`] makes this query.
    pub fn parameters(&self) -> Vec<(&'static str, String)> {
        let criteria = &self.criteria;
        let order = match self.order {
            AuditOrder::NewestFirst => "newest-first",
            AuditOrder::OldestFirst => "oldest-first",
        };
        let result = criteria.result.as_ref().map(|result| match result {
            ResultCriterion::Ok => "ok".to_owned(),
            ResultCriterion::AnyError => "error".to_owned(),
            ResultCriterion::ErrorTag(tag) => tag.clone(),
        });
        let all = [
            ("user", criteria.user.clone()),
            ("session", criteria.session.clone()),
            ("operation", criteria.operation.map(|name| name.to_string())),
            ("result", result),
            ("path", criteria.path_prefix.clone()),
            ("from", self.from.map(time_text)),
            ("until", self.until.map(time_text)),
            ("order", Some(order.to_owned())),
            ("limit", (self.limit > 0).then(|| self.limit.to_string())),
            ("after", self.after.map(|after| after.to_string())),
        ];
        let given = all.into_iter();
        given
            .filter_map(|(name, value)| Some((name, value?)))
            .collect()
    }
}

const RESULT: &str = "write ok, error, an error-tag such as access-denied, or a kind of errors of collections and statistics such as missing";

const PATH: &str = "write an instance identifier such as /m:c/l[k='v'], or the path of a request such as /documents/cars";

/// What the paths of requests begin with that have them in their records.
const REQUESTS: [&str; 3] = ["audit", "documents", "stats"];

/// Whether a text is an error-tag (RFC 6241 appendix A) or a kind of errors.
fn is_error(text: &str) -> bool {
    PROBLEM_KINDS.contains(&text) || ErrorTag::ALL.iter().any(|tag| tag.as_str() == text)
}

/// Whether a text can be the beginning of the paths in records: its first node has the name of its module, or it is the
/// path of a request.
fn is_path(text: &str) -> bool {
    let is_name = |name: &str| {
        let is_part = |c: char| c.is_alphanumeric() || "_-.".contains(c);
        !name.is_empty() && name.chars().all(is_part)
    };
    let Some(path) = text.strip_prefix('/') else {
        return false;
    };
    let first = path.split(['/', '[']).next().unwrap_or_default();
    let named = first.split_once(':');
    path.is_empty()
        || REQUESTS.contains(&first)
        || named.is_some_and(|(module, name)| is_name(module) && is_name(name))
}

const TIME: &str = "write a time as in 2026-11-28T12:00:00Z";

fn parse_time(text: &str) -> Option<Timestamp> {
    let time: jiff::Timestamp = text.parse().ok()?;
    u64::try_from(time.as_millisecond()).ok().map(Timestamp)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_make_the_same_query() {
        let values = [
            ("user", "ann"),
            ("session", "7"),
            ("operation", "edit"),
            ("result", "access-denied"),
            ("path", "/m:a"),
            ("from", "2026-11-28T12:00:00.000Z"),
            ("until", "2026-11-29T12:00:00.000Z"),
            ("order", "oldest-first"),
            ("limit", "5"),
            ("after", "000000000000000100000000000000020000000000000003"),
        ];
        assert_eq!(values.map(|(name, _)| name), AuditQuery::PARAMETERS);
        let mut query = AuditQuery::default();
        for (name, value) in values {
            query.set(name, value).unwrap();
        }
        let written = query.parameters();
        let written: Vec<_> = written
            .iter()
            .map(|(name, value)| (*name, &**value))
            .collect();
        assert_eq!(written, values);
        for (name, value) in [
            ("result", "missing"),
            ("path", "/documents/cars"),
            ("path", "/stats"),
            ("path", "/"),
        ] {
            query.set(name, value).unwrap();
        }
        for (name, value) in [
            ("operation", "teleport"),
            ("from", "yesterday"),
            ("order", "up"),
            ("limit", "-1"),
            ("limit", "0"),
            ("limit", "1001"),
            ("result", "teapot"),
            ("path", "/documentation"),
            ("result", ""),
            ("path", "m:a"),
            ("path", "//"),
            ("path", "/a"),
            ("path", "/m:a b"),
            ("path", ""),
            ("after", "x"),
            ("colour", "red"),
        ] {
            assert!(query.set(name, value).is_err(), "{name}");
        }
    }
}

//! The position of a new entry in a list ordered by user: `insert` and `point` (RFC 8040 §4.8.5, §4.8.6).

use espalier_store::{Edit, Insert};
use espalier_yang::path::ApiRoot;
use espalier_yang::schema::Ordering;
use espalier_yang::{InstancePath, Keys, NodeKind, Schema};

use http::Method;

use super::write_request::Job;
use crate::restconf::error::{Failure, Result};
use crate::restconf::query::{Insert as Where, Query};

/// The position of the entry.
#[derive(Clone, Debug)]
pub(super) struct Placement {
    insert: Where,
    /// The entry before or after it.
    point: Option<InstancePath>,
}

impl Placement {
    /// The position `insert`, before or after `point`.
    pub(super) fn new(insert: Where, point: Option<InstancePath>) -> Self {
        Self { insert, point }
    }

    /// Parses the query string.
    pub(super) fn of(query: &Query<'_>, schema: &Schema) -> Result<Option<Self>> {
        let Some(insert) = query.insert else {
            return Ok(None);
        };
        let point = match query.point.as_deref() {
            Some(text) => Some(InstancePath::parse_api_path(schema, text, ApiRoot::Data)?),
            None => None,
        };
        Ok(Some(Self { insert, point }))
    }

    /// The position of the entry at `path`.
    pub(super) fn position(&self, schema: &Schema, path: &InstancePath) -> Result<Insert> {
        let node = path.target().ok_or_else(not_ordered)?;
        let ordering = match &schema.node(node).kind {
            NodeKind::List(list) => list.ordering,
            NodeKind::LeafList(leaf) => leaf.ordering,
            _ => return Err(not_ordered()),
        };
        if ordering != Ordering::User {
            return Err(not_ordered());
        }
        let point = match &self.point {
            Some(point) => point_in_same_list(path, point)?.to_vec(),
            None => Vec::new(),
        };
        Ok(match self.insert {
            Where::First => Insert::First,
            Where::Last => Insert::Last,
            Where::Before => Insert::Before(point),
            Where::After => Insert::After(point),
        })
    }

    /// The edit with the position of the entry at `path`, if the request has one.
    pub(super) fn place(
        placement: Option<&Self>,
        edit: Edit,
        schema: &Schema,
        path: &InstancePath,
    ) -> Result<Edit> {
        match placement {
            Some(placement) => Ok(edit.placed(placement.position(schema, path)?)),
            None => Ok(edit),
        }
    }
}

impl Job {
    /// A whole datastore has no position. Other targets are checked with their body.
    pub(super) fn check_placement(&self) -> Result<()> {
        match &self.placement {
            Some(_) if self.method == Method::PUT && self.path().is_root() => Err(not_ordered()),
            _ => Ok(()),
        }
    }
}

fn not_ordered() -> Failure {
    Failure::invalid("“insert” and “point” are for entries of lists that are ordered by user")
}

/// The keys of the entry at `point`, which must be in the same list as `path`.
fn point_in_same_list<'p>(
    path: &InstancePath,
    point: &'p InstancePath,
) -> Result<&'p [espalier_yang::Value]> {
    let elsewhere = || Failure::invalid("“point” does not name an entry of the same list");
    let (last, above) = path.steps.split_last().ok_or_else(elsewhere)?;
    let (point, point_above) = point.steps.split_last().ok_or_else(elsewhere)?;
    match &point.keys {
        Keys::Values(values)
            if above == point_above && last.node == point.node && !values.is_empty() =>
        {
            Ok(values)
        }
        _ => Err(elsewhere()),
    }
}

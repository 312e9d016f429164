//! The position of a new entry in a list ordered by user: `insert` and `point` (RFC 8040 §4.8.5, §4.8.6).

use espalier_yang::data::{Annotation, DataTree};
use espalier_yang::path::{ApiRoot, Step};
use espalier_yang::schema::Ordering;
use espalier_yang::{InstancePath, Keys, NodeKind, Schema};

use http::Method;

use super::write_request::Job;
use crate::restconf::error::{Failure, Result};
use crate::restconf::query::{Insert, Query};

/// The position of the entry.
#[derive(Clone, Debug)]
pub(super) struct Placement {
    insert: Insert,
    /// The entry before or after it.
    point: Option<InstancePath>,
}

impl Placement {
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

    /// Adds the position to the entry at `path`, the only node of `tree`.
    pub(super) fn apply(
        &self,
        schema: &Schema,
        path: &InstancePath,
        tree: &mut DataTree,
    ) -> Result<()> {
        let (Some(node), Some(entry)) = (path.target(), tree.nodes.first_mut()) else {
            return Err(not_ordered());
        };
        let is_list = match &schema.node(node).kind {
            NodeKind::List(list) if list.ordering == Ordering::User => true,
            NodeKind::LeafList(leaf) if leaf.ordering == Ordering::User => false,
            _ => return Err(not_ordered()),
        };
        let insert = Annotation::Insert(self.insert.as_str().into());
        entry.annotations.push(insert);
        if let Some(point) = &self.point {
            let values = point_in_same_list(path, point)?;
            entry.annotations.push(match is_list {
                true => Annotation::Key(key_predicates(schema, point).into()),
                false => Annotation::Value(values[0].to_string().into()),
            });
        }
        Ok(())
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

/// The predicates of the last step: the instance identifier without the one of the list.
fn key_predicates(schema: &Schema, point: &InstancePath) -> String {
    let mut list = point.clone();
    if let Some(Step { keys, .. }) = list.steps.last_mut() {
        *keys = Keys::None;
    }
    let list = list.to_instance_identifier(schema);
    let entry = point.to_instance_identifier(schema);
    entry.strip_prefix(&list).unwrap_or(&entry).to_owned()
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

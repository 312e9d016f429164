//! The filters in the configuration (RFC 8639 §2.2).

use espalier_store::{Result, Selection, Tree};
use espalier_yang::data::{Content, DataNode, TreeBuilder};
use espalier_yang::{InstancePath, Schema};

use super::super::filter::EventFilter;
use super::SUBSCRIBED;
use super::terms::GivenFilter;

/// The filter with a name in running, also for the notifications of the server; `None` if there is none, or if it is empty or wrong.
///
/// # Errors
/// Those of the engine.
pub(crate) fn named_filter(
    running: &Tree,
    server_schema: &Schema,
    name: &str,
) -> Result<Option<EventFilter>> {
    let leaves = named(running, "stream-filter", "name", name)?;
    let schema = running.schema();
    let found =
        leaves.iter().find_map(
            |leaf| match (&*schema.node(leaf.node).name, &leaf.content) {
                ("stream-xpath-filter", Content::Value(value)) => {
                    Some(EventFilter::parse_xpath(&value.to_string()))
                }
                ("stream-subtree-filter", Content::Any(content)) => Some(
                    EventFilter::parse_subtree(&[schema, server_schema], content),
                ),
                _ => None,
            },
        );
    Ok(found.and_then(std::result::Result::ok))
}

/// The filter of data with a name in running (RFC 8641 §4); `None` if there is none, or if it is empty.
///
/// # Errors
/// Those of the engine.
pub(crate) fn named_selection(running: &Tree, name: &str) -> Result<Option<GivenFilter>> {
    let leaves = named(
        running,
        "ietf-yang-push:selection-filter",
        "filter-id",
        name,
    )?;
    let schema = running.schema();
    Ok(leaves.iter().find_map(
        |leaf| match (&*schema.node(leaf.node).name, &leaf.content) {
            ("datastore-xpath-filter", Content::Value(value)) => {
                Some(GivenFilter::XPath(value.to_string()))
            }
            ("datastore-subtree-filter", Content::Any(content)) => {
                Some(GivenFilter::Subtree(content.clone()))
            }
            _ => None,
        },
    ))
}

/// The leaves of an entry of a list in `filters`; none if it does not exist.
fn named(running: &Tree, list: &str, key: &str, name: &str) -> Result<Vec<DataNode>> {
    let name = name.replace('\'', "''");
    let text = format!("/{SUBSCRIBED}:filters/{list}[{key}='{name}']");
    let Ok(path) = InstancePath::parse_cli_path(running.schema(), &text) else {
        return Ok(Vec::new());
    };
    let mut builder = TreeBuilder::new();
    running
        .view()?
        .read(&path, &Selection::default(), &mut builder)?;
    let nodes = builder.finish()?.nodes;
    Ok(nodes.iter().flat_map(DataNode::children).cloned().collect())
}

//! The filters in the configuration (RFC 8639 §2.2).

use espalier_store::{Result, Selection, Tree};
use espalier_yang::data::{Content, DataNode, TreeBuilder};
use espalier_yang::{InstancePath, Schema};

use super::super::filter::EventFilter;
use super::SUBSCRIBED;

/// The filter with a name in running, also for the notifications of the server; `None` if there is none, or if it is empty or wrong.
///
/// # Errors
/// Those of the engine.
pub(crate) fn named_filter(
    running: &Tree,
    server_schema: &Schema,
    name: &str,
) -> Result<Option<EventFilter>> {
    let schema = running.schema();
    let name = name.replace('\'', "''");
    let text = format!("/{SUBSCRIBED}:filters/stream-filter[name='{name}']");
    let Ok(path) = InstancePath::parse_cli_path(schema, &text) else {
        return Ok(None);
    };
    let mut builder = TreeBuilder::new();
    running
        .view()?
        .read(&path, &Selection::default(), &mut builder)?;
    let tree = builder.finish()?;
    let mut leaves = tree.nodes.iter().flat_map(DataNode::children);
    let found = leaves.find_map(
        |leaf| match (&*schema.node(leaf.node).name, &leaf.content) {
            ("stream-xpath-filter", Content::Value(value)) => {
                Some(EventFilter::parse_xpath(&value.to_string()))
            }
            ("stream-subtree-filter", Content::Any(content)) => Some(EventFilter::parse_subtree(
                &[schema, server_schema],
                content,
            )),
            _ => None,
        },
    );
    Ok(found.and_then(std::result::Result::ok))
}

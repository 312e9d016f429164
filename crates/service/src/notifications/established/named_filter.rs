//! The filters in the configuration (RFC 8639 §2.2).

use espalier_store::{Result, Selection, Tree};
use espalier_yang::InstancePath;
use espalier_yang::data::{DataNode, TreeBuilder};

use super::super::policy_nodes::PolicyNodes;
use super::SUBSCRIBED;
use super::given_filter::GivenFilter;

/// The filter of events with a name in a configuration; `None` if there is none, or if it is empty.
///
/// # Errors
/// Those of the engine.
pub(crate) fn named_filter(configuration: &Tree, name: &str) -> Result<Option<GivenFilter>> {
    let leaves = named(configuration, "stream-filter", "name", name)?;
    let (schema, nodes) = (&**configuration.schema(), &*leaves);
    Ok(PolicyNodes { schema, nodes }.stream_filter())
}

/// The filter of data with a name in a configuration (RFC 8641 §4); `None` if there is none, or if it is empty.
///
/// # Errors
/// Those of the engine.
pub(crate) fn named_selection(configuration: &Tree, name: &str) -> Result<Option<GivenFilter>> {
    let leaves = named(
        configuration,
        "ietf-yang-push:selection-filter",
        "filter-id",
        name,
    )?;
    let (schema, nodes) = (&**configuration.schema(), &*leaves);
    Ok(PolicyNodes { schema, nodes }.selection_filter())
}

/// The leaves of an entry of a list in `filters`; none if it does not exist.
fn named(configuration: &Tree, list: &str, key: &str, name: &str) -> Result<Vec<DataNode>> {
    let name = name.replace('\'', "''");
    let text = format!("/{SUBSCRIBED}:filters/{list}[{key}='{name}']");
    let Ok(path) = InstancePath::parse_cli_path(configuration.schema(), &text) else {
        return Ok(Vec::new());
    };
    let mut builder = TreeBuilder::new();
    configuration
        .view()?
        .read(&path, &Selection::default(), &mut builder)?;
    let nodes = builder.finish()?.nodes;
    Ok(nodes.iter().flat_map(DataNode::children).cloned().collect())
}

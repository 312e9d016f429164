//! From a record of the log to an event.

use std::sync::Arc;

use espalier_store::{EventRecord, Result, Tree};
use espalier_yang::data::{ParseOptions, Root, TreeBuilder, json};
use espalier_yang::{DataError, ErrorTag, InstancePath, NodeId, Schema};

use super::event::{Event, EventSource};

/// The event of a record, in the schema of the anchor or, for one of the server, in `server_schema`.
///
/// # Errors
/// `unknown-element` for a notification that the schema does not define any more; the errors of the content.
pub(super) fn event_of(
    tree: &Tree,
    server_schema: &dyn Fn() -> Result<Arc<Schema>>,
    record: &EventRecord,
) -> Result<Event> {
    let own = tree.schema();
    let (schema, (parent, node)) = match find(own, &record.parent, &record.name) {
        Ok(found) => (Arc::clone(own), found),
        Err(error) if record.parent.is_empty() => {
            let schema = server_schema()?;
            let found = find(&schema, "", &record.name).map_err(|_| error)?;
            (schema, found)
        }
        Err(error) => return Err(error.into()),
    };
    let (mut builder, options) = (TreeBuilder::new(), ParseOptions::default());
    json::parse(
        &schema,
        Root::Resource(node),
        &*record.content,
        &mut builder,
        &options,
    )?;
    let content = builder.finish()?.nodes.into_iter().next();
    let content = content.ok_or_else(|| missing(&record.name))?;
    let source = EventSource::Log(record.sequence);
    Ok(Event::new(source, record.time, schema, &parent, content))
}

/// The path of the node around a notification, and the notification.
fn find(
    schema: &Schema,
    parent: &str,
    name: &str,
) -> std::result::Result<(InstancePath, NodeId), DataError> {
    let path = match parent {
        "" => InstancePath::root(),
        parent => InstancePath::parse_cli_path(schema, parent)?,
    };
    let (module, name) = name.split_once(':').unwrap_or_default();
    let module = schema.module_by_name(module);
    let node = module.and_then(|module| schema.child(path.target(), module, name));
    node.map(|node| (path, node)).ok_or_else(|| missing(name))
}

fn missing(name: &str) -> DataError {
    let message = format!("the models do not define the notification {name}");
    DataError::new(ErrorTag::UnknownElement, message)
}

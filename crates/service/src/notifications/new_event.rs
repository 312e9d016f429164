//! Validates a notification that is to be sent, and makes its record.

use espalier_store::{Datastore, Error, NewEvent, Result, Timestamp, Tree};
use espalier_yang::data::{DataTree, ParseOptions, PrintOptions, Root, TreeBuilder, json};
use espalier_yang::schema::NodeKind;
use espalier_yang::{DataError, ErrorTag, InstancePath, NodeId, Schema};

/// A notification that is to be sent.
#[derive(Clone, Debug, Default)]
pub struct Notification {
    /// The node that contains it; the root for one at the top level.
    pub parent: InstancePath,
    /// The notification: one node.
    pub content: DataTree,
    /// When the event occurred; `None` for now.
    pub time: Option<Timestamp>,
}

impl Notification {
    /// Parses the JSON document of a notification: an object with one member. `parent` is the instance identifier of the
    /// node that contains it; empty for one at the top level.
    ///
    /// # Errors
    /// The errors of the document; `unknown-element` if the models do not define the notification.
    pub fn parse_json(
        schema: &Schema,
        parent: &str,
        document: &[u8],
        time: Option<Timestamp>,
    ) -> Result<Self> {
        let parent = match parent {
            "" | "/" => InstancePath::root(),
            parent => InstancePath::parse_cli_path(schema, parent)?,
        };
        let object: serde_json::Map<String, serde_json::Value> = serde_json::from_slice(document)
            .map_err(|error| {
            let message = format!("the notification is no JSON object: {error}");
            DataError::new(ErrorTag::MalformedMessage, message)
        })?;
        let names: Vec<&String> = object
            .keys()
            .filter(|name| !name.starts_with('@'))
            .collect();
        let [name] = names.as_slice() else {
            let message = "a notification is an object with one member: module:name";
            return Err(Error::data(ErrorTag::MalformedMessage, message));
        };
        let node = notification_node(schema, &parent, name)?;
        let (mut builder, options) = (TreeBuilder::new(), ParseOptions::default());
        json::parse(
            schema,
            Root::Resource(node),
            document,
            &mut builder,
            &options,
        )?;
        let content = builder.finish()?;
        Ok(Self {
            parent,
            content,
            time,
        })
    }

    /// Validates it (RFC 7950 §8.3.1) against running; one inside data that running does not have, against operational.
    /// Returns its record.
    ///
    /// # Errors
    /// The errors of the content; `data-missing` if the node that contains it does not exist.
    pub(super) fn validated(mut self, running: &Tree) -> Result<NewEvent> {
        let schema = running.schema();
        let [node] = self.content.nodes.as_slice() else {
            let message = "a notification is one node";
            return Err(Error::data(ErrorTag::MalformedMessage, message));
        };
        let node = node.node;
        check_node(schema, &self.parent, node)?;
        self.content.normalise(schema);
        let view = running.view()?;
        match view.exists(&self.parent)? {
            true => drop(view.validate_operation(&self.parent, node, &self.content)?),
            false => {
                let operational = running.sibling_datastore(Datastore::Operational, "")?;
                let view = operational.view()?;
                view.validate_operation(&self.parent, node, &self.content)?;
            }
        }
        let mut printer = json::Printer::new(schema, Vec::new(), PrintOptions::default());
        // Writing to memory does not fail, and the entries of lists are contiguous.
        let _ = self.content.emit(&mut printer);
        let content = printer
            .finish()
            .map_err(|error| Error::data(ErrorTag::OperationFailed, error.to_string()))?;
        Ok(NewEvent {
            time: self.time,
            name: event_name(schema, node),
            parent: match self.parent.is_root() {
                true => String::new(),
                false => self.parent.to_instance_identifier(schema),
            },
            content,
        })
    }
}

/// The name of a notification in the log: that of its module, `:`, and its own.
pub(super) fn event_name(schema: &Schema, node: NodeId) -> String {
    let node = schema.node(node);
    format!("{}:{}", schema.module(node.module).name, node.name)
}

/// The notification with a name, which has the name of its module as prefix, unless that is the module of the parent.
fn notification_node(
    schema: &Schema,
    parent: &InstancePath,
    name: &str,
) -> std::result::Result<NodeId, DataError> {
    let above = parent.target();
    let node = match name.split_once(':') {
        Some((module, name)) => schema
            .module_by_name(module)
            .and_then(|module| schema.child(above, module, name)),
        None => above.and_then(|above| schema.child(Some(above), schema.node(above).module, name)),
    };
    let is_notification = |node: &NodeId| matches!(schema.node(*node).kind, NodeKind::Notification);
    node.filter(is_notification).ok_or_else(|| {
        let place = match above {
            None => String::new(),
            Some(above) => format!(" in {}", schema.path(above)),
        };
        let message = match inside(schema, name) {
            Some(parent) => format!(
                "the notification {name} is inside {}: an instance of that is missing as its parent (--parent)",
                schema.path(parent)
            ),
            None => format!("the models define no notification {name}{place}"),
        };
        DataError::new(ErrorTag::UnknownElement, message)
    })
}

/// The node that contains the notification with a name, if it is not at the top level.
fn inside(schema: &Schema, name: &str) -> Option<NodeId> {
    let (module, name) = name.split_once(':')?;
    let module = schema.module_by_name(module)?;
    let mut nodes = schema.nodes();
    let found = nodes.find(|node| {
        matches!(node.kind, NodeKind::Notification) && node.module == module && &*node.name == name
    });
    found?.parent
}

/// Checks that a node is a notification in the node at a path, all of whose lists have keys.
fn check_node(schema: &Schema, parent: &InstancePath, id: NodeId) -> Result<()> {
    let node = schema.node(id);
    let is_placed = matches!(node.kind, NodeKind::Notification) && node.parent == parent.target();
    let is_instance = parent
        .steps
        .iter()
        .all(|step| !schema.node(step.node).is_list() || step.keys != espalier_yang::Keys::None);
    match is_placed && is_instance {
        true => Ok(()),
        false => {
            let message = format!("{} is no notification of this node", node.name);
            Err(Error::data(ErrorTag::UnknownElement, message))
        }
    }
}

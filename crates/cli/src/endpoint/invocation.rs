//! An invocation of an RPC or action, from the command line.

use std::sync::Arc;

use espalier_service::notifications::SubscriptionId;
use espalier_service::operations::input_of;
use espalier_service::server_state;
use espalier_yang::data::{
    Content, DataNode, DataTree, Layout, ParseError, ParseOptions, PrintOptions, Root, TreeBuilder,
};
use espalier_yang::schema::ModuleNames;
use espalier_yang::{DataError, InstancePath, NodeId, Schema};
use serde_json::{Value as Json, json};

use super::interface::Endpoint;
use espalier_terminal::document::{self, Format, Found};
use espalier_terminal::path::placed;
use espalier_terminal::{Failure, Result};

/// An invocation of an RPC or action.
pub struct Invocation {
    /// Its path, as written.
    pub path: String,
    /// Leaves at the top of the input: name and value.
    pub arguments: Vec<(String, String)>,
    /// A document with the whole input.
    pub document: Option<(Vec<u8>, Format)>,
    /// The format of the output.
    pub format: Format,
}

/// The operation that establishes a subscription.
const ESTABLISH: &str = "/ietf-subscribed-notifications:establish-subscription";

/// Establishes a subscription (RFC 8639 §2.4.2), with the input as JSON. Returns its number.
pub(super) fn established(endpoint: &dyn Endpoint, terms: &Json) -> Result<SubscriptionId> {
    let document = json!({"ietf-subscribed-notifications:input": terms});
    let invocation = Invocation {
        path: ESTABLISH.to_owned(),
        arguments: Vec::new(),
        document: Some((document.to_string().into_bytes(), Format::Json)),
        format: Format::Json,
    };
    let mut output = Vec::new();
    endpoint.invoke(&invocation, &mut output)?;
    let output: Json = serde_json::from_slice(&output).unwrap_or_default();
    let id = output["ietf-subscribed-notifications:output"]["id"].as_u64();
    let id = id.and_then(|id| u32::try_from(id).ok());
    let id = id.ok_or_else(|| Failure::data("the subscription has no number"))?;
    Ok(SubscriptionId(id))
}

/// An invocation in a schema.
pub(super) struct ResolvedInvocation {
    pub schema: Arc<Schema>,
    pub path: InstancePath,
    pub input: DataTree,
}

/// An operation in the schema of the data, or else in that of the server's own operations.
pub fn resolve_operation(schema: &Arc<Schema>, path: &str) -> Result<(Arc<Schema>, InstancePath)> {
    let unknown = match InstancePath::parse_operation_path(schema, path) {
        Ok(found) => return Ok((Arc::clone(schema), found)),
        Err(error) => error,
    };
    // Compiled only where it is needed.
    let own = server_state::schema()?;
    match InstancePath::parse_operation_path(&own, path) {
        Ok(found) => Ok((own, found)),
        Err(_) => Err(unknown_operation(path, unknown)),
    }
}

fn unknown_operation(path: &str, error: DataError) -> Failure {
    Failure::usage(format!("the path {path}: {}", error.message))
        .hint("`espalier schema` shows the operations of the models, marked -x")
        .detail(placed(error, path))
}

impl Invocation {
    /// Resolves the invocation in the schema of the data, or else in that of the server's own operations.
    pub(super) fn resolve(&self, schema: &Arc<Schema>) -> Result<ResolvedInvocation> {
        let (schema, path) = resolve_operation(schema, &self.path)?;
        let input = self.input(&schema, &path)?;
        Ok(ResolvedInvocation {
            schema,
            path,
            input,
        })
    }

    /// The input: the document, or the arguments.
    fn input(&self, schema: &Schema, path: &InstancePath) -> Result<DataTree> {
        let Some(input) = path.target().and_then(|node| input_of(schema, node)) else {
            return Ok(DataTree::default());
        };
        match &self.document {
            Some((text, format)) => parse(schema, (path, input), text, *format),
            None => {
                let nodes = self.arguments.iter();
                let nodes = nodes.map(|(name, value)| argument(schema, input, name, value));
                let nodes = nodes.collect::<Result<Vec<_>>>()?;
                Ok(match nodes.is_empty() {
                    true => DataTree::default(),
                    false => DataTree {
                        nodes: vec![DataNode::new(input, Content::Inner(nodes))],
                    },
                })
            }
        }
    }
}

/// A leaf of the input.
fn argument(schema: &Schema, input: NodeId, name: &str, text: &str) -> Result<DataNode> {
    let (prefix, local) = match name.split_once(':') {
        Some((module, local)) => (Some(module), local),
        None => (None, name),
    };
    let mut named = schema.named(Some(input), local).filter(|&child| {
        let module = schema.module(schema.node(child).module);
        prefix.is_none_or(|prefix| prefix == &*module.name)
    });
    let Some(child) = named.next() else {
        let names: Vec<&str> = schema.child_names(Some(input)).collect();
        return Err(Failure::usage(format!("the input has no “{name}”"))
            .hint(format!("it has: {}", names.join(", "))));
    };
    let Some(value) = schema.node(child).as_value() else {
        return Err(Failure::usage(format!("{name} is not a leaf"))
            .hint("write the whole input in a document: --input FILE"));
    };
    let names = ModuleNames {
        leaf_module: schema.node(child).module,
    };
    let value = value.value_type.parse(schema, text, &names);
    let value = value.map_err(|error| {
        Failure::data(format!("{name}: {}", error.message))
            .detail(DataError::from(error).at(schema.path(child)))
    })?;
    Ok(DataNode::new(child, Content::Value(value)))
}

/// Prints the output of an operation, if it has content.
pub(super) fn print_output(
    schema: &Schema,
    output: &DataTree,
    format: Format,
    out: &mut Vec<u8>,
) -> Result<Found> {
    if output.nodes.iter().all(|node| node.children().is_empty()) {
        return Ok(Found::Nothing);
    }
    let options = PrintOptions {
        layout: Layout::Pretty,
        ..PrintOptions::default()
    };
    document::print(format, schema, options, out, |sink| {
        // The printer itself returns the reason why it stopped.
        let _ = output.emit(sink);
        Ok(Found::Something)
    })
}

fn parse(
    schema: &Schema,
    (path, input): (&InstancePath, NodeId),
    text: &[u8],
    format: Format,
) -> Result<DataTree> {
    let mut builder = TreeBuilder::new();
    let options = ParseOptions {
        place: path.clone(),
        ..ParseOptions::default()
    };
    let root = Root::Resource(input);
    match document::parse(format, schema, root, &mut &*text, &mut builder, &options) {
        Ok(()) | Err(ParseError::Stopped) => Ok(builder.finish()?),
        Err(ParseError::Invalid(errors)) => {
            Err(Failure::invalid("the input is not valid", &errors))
        }
        Err(error) => Err(Failure::data(error.to_string())),
    }
}

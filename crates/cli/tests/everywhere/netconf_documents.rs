//! The documents of the table in XML, as NETCONF has them, and its results in the forms of the library.

use std::sync::Arc;

use espalier_service::operations::input_of;
use espalier_service::server_state;
use espalier_testkit::everywhere::{
    Body, Format, Operation, Outcome, Read, ReportedError, notifications_model,
};
use espalier_yang::data::{
    Annotation, Content, DataNode, DataTree, Envelope, MetadataMode, ParseError, ParseOptions,
    PrintOptions, Root, TreeBuilder, json, xml,
};
use espalier_yang::schema::{ModuleSource, SchemaSource};
use espalier_yang::{ErrorTag, InstancePath, Keys, NodeId, NodeKind, Schema, Step, Value};
use serde_json::{Value as Json, json};

use crate::netconf_client::{content, unescaped};
use crate::reported::{compact, from_json};

/// The schemas that the messages of a server need.
pub struct Schemas {
    /// That of the anchor.
    pub data: Arc<Schema>,
    /// That of the operations and notifications of the server.
    server: Arc<Schema>,
    /// That of the notifications about its configuration.
    events: Arc<Schema>,
}

impl Schemas {
    /// Those of a server with the model of the table.
    pub fn new(data: Arc<Schema>) -> Self {
        let changes = espalier_service::modules::module("ietf-netconf-notifications");
        let texts = [
            espalier_testkit::everywhere::model(),
            notifications_model(),
            changes.expect("a module").text,
        ];
        let source = SchemaSource {
            modules: texts
                .into_iter()
                .filter_map(ModuleSource::from_text)
                .collect(),
            ..SchemaSource::default()
        };
        Self {
            data,
            server: server_state::schema().expect("a schema"),
            events: Arc::new(Schema::compile(&source).expect("a schema")),
        }
    }

    /// The operation at a path, with its schema.
    fn operation(&self, path: &str) -> Option<(&Arc<Schema>, InstancePath)> {
        let schemas = [&self.data, &self.server];
        schemas.into_iter().find_map(|schema| {
            let path = InstancePath::parse_operation_path(schema, path).ok()?;
            Some((schema, path))
        })
    }

    /// An RPC, or an action in its envelope, with its input. `None` if the input is no data of the model.
    pub fn invocation(&self, path: &str, input: Body) -> Option<String> {
        let (schema, path) = self.operation(path)?;
        let operation = schema.node(path.target()?);
        let namespace = &schema.module(operation.module).namespace;
        let parameters = match (input.text, input.format) {
            ("", _) => String::new(),
            (text, Format::Xml) => content(text, "input")?.to_owned(),
            (text, Format::Json) => self.parameters(schema, &path, text)?,
        };
        let name = &operation.name;
        let element = format!(
            "<{name} xmlns=\"{namespace}\" xmlns:nc=\"{}\">{parameters}</{name}>",
            crate::netconf_client::BASE
        );
        match path.parent().filter(|parent| !parent.is_root()) {
            None => Some(element),
            Some(parent) => {
                let inner = within(schema, &parent, &element);
                Some(format!(
                    "<action xmlns=\"urn:ietf:params:xml:ns:yang:1\">{inner}</action>"
                ))
            }
        }
    }

    /// The parameters in an input in JSON. `config` has data of the anchor.
    fn parameters(&self, schema: &Schema, path: &InstancePath, text: &str) -> Option<String> {
        let mut input: Json = serde_json::from_str(text).ok()?;
        let members = input.as_object_mut()?.values_mut().next()?;
        let config = members.as_object_mut()?.remove("config");
        let config = match config {
            Some(config) => {
                let document = (Format::Json, &*config.to_string());
                format!(
                    "<config>{}</config>",
                    datastore_content(&self.data, document)?
                )
            }
            None => String::new(),
        };
        let root = Root::Resource(input_of(schema, path.target()?)?);
        let tree = parse(schema, root, (Format::Json, &input.to_string()), path)?;
        let parameters = print(schema, &tree);
        Some(content(&parameters, "input")?.to_owned() + &config)
    }

    /// The output of an operation as JSON; null without one.
    pub fn output(&self, path: &str, reply: &str) -> Json {
        let inner = content(reply, "rpc-reply").unwrap_or_default();
        if inner.starts_with("<ok") || inner.is_empty() {
            return Json::Null;
        }
        let (schema, path) = self.operation(path).expect("an operation");
        let node = path.target().expect("an operation");
        let namespace = &schema.module(schema.node(node).module).namespace;
        let mut children = schema.node(node).children.iter().copied();
        let output = children.find(|&child| matches!(schema.node(child).kind, NodeKind::Output));
        let output = output.expect("an output");
        let text = format!("<output xmlns=\"{namespace}\">{inner}</output>");
        let tree = parse(schema, Root::Resource(output), (Format::Xml, &text), &path);
        to_json(schema, &tree.unwrap_or_else(|| panic!("no output: {text}")))
    }

    /// A notification as JSON (RFC 8040 §6.4).
    pub fn notification(&self, text: &str) -> String {
        let inner = content(text, "notification").expect("a notification");
        let time = content(inner, "eventTime").expect("a time");
        let (_, event) = inner.split_once("</eventTime>").expect("an event");
        let place = InstancePath::root();
        let schemas = [&self.events, &self.server].into_iter();
        let mut members = schemas.filter_map(|schema| {
            let (_, name) = event.split_once('<')?;
            let end = name.find([' ', '>', '/'])?;
            let (_, namespace) = name.split_once("xmlns=\"")?;
            let module = schema.module_by_namespace(namespace.split_once('"')?.0)?;
            let node = schema.child(None, module, &name[..end])?;
            match schema.node(node).kind {
                NodeKind::Notification => {
                    let tree = parse(schema, Root::Resource(node), (Format::Xml, event), &place)?;
                    Some(to_json(schema, &tree))
                }
                _ => nested(schema, node, event),
            }
        });
        let mut document = members.next().unwrap_or_else(|| panic!("no event: {text}"));
        document["eventTime"] = time.into();
        json!({"ietf-restconf:notification": document}).to_string()
    }
}

/// A notification inside an entry of a list, as JSON.
fn nested(schema: &Schema, list: NodeId, event: &str) -> Option<Json> {
    let place = InstancePath::root();
    let children = schema.node(list).children.iter().copied();
    let (inner, begin) = children
        .filter(|&child| matches!(schema.node(child).kind, NodeKind::Notification))
        .find_map(|child| {
            let begin = event.find(&format!("<{}", schema.node(child).name))?;
            Some((child, begin))
        })?;
    let node = schema.node(inner);
    let start = format!("<{}", node.name);
    let end = event.rfind("</")?;
    let namespace = &schema.module(node.module).namespace;
    let text = event[begin..end].replacen(&start, &format!("{start} xmlns=\"{namespace}\""), 1);
    let notification = parse(schema, Root::Resource(inner), (Format::Xml, &text), &place)?;
    let mut notification = to_json(schema, &notification);
    let entry = format!(
        "{}{}",
        &event[..begin],
        &event[end..event.find("</notification>").unwrap_or(event.len())]
    );
    let entry = parse(schema, Root::Resource(list), (Format::Xml, &entry), &place)?;
    let mut document = to_json(schema, &entry);
    let entries = document.as_object_mut()?.values_mut().next()?;
    let content = notification.as_object_mut()?.values_mut().next()?.take();
    entries[0][&*node.name] = content;
    Some(document)
}

/// Whether a document is well-formed XML.
pub fn is_well_formed(schema: &Schema, text: &str) -> bool {
    let mut builder = TreeBuilder::new();
    let options = ParseOptions::default();
    let parsed = xml::parse(
        schema,
        Root::Datastore,
        text.as_bytes(),
        &mut builder,
        &options,
    );
    match parsed {
        Err(ParseError::Invalid(errors)) => {
            let mut errors = errors.iter();
            errors.all(|error| error.tag != ErrorTag::MalformedMessage)
        }
        _ => true,
    }
}

/// Parses a document; `None` if it is no data of the model.
fn parse(
    schema: &Schema,
    root: Root,
    (format, text): (Format, &str),
    place: &InstancePath,
) -> Option<DataTree> {
    let options = ParseOptions {
        metadata: MetadataMode::Kept,
        place: place.clone(),
        ..ParseOptions::default()
    };
    let mut builder = TreeBuilder::new();
    let parsed = match format {
        Format::Json => json::parse(schema, root, text.as_bytes(), &mut builder, &options),
        Format::Xml => xml::parse(schema, root, text.as_bytes(), &mut builder, &options),
    };
    parsed.ok()?;
    builder.finish().ok()
}

/// A document in XML.
pub fn print(schema: &Schema, tree: &DataTree) -> String {
    let mut text = Vec::new();
    let mut printer = xml::Printer::new(schema, &mut text, PrintOptions::default());
    tree.emit(&mut printer).expect("a document");
    printer.finish().expect("a document");
    String::from_utf8(text).expect("UTF-8")
}

fn to_json(schema: &Schema, tree: &DataTree) -> Json {
    let mut printer = json::Printer::new(schema, Vec::new(), PrintOptions::default());
    tree.emit(&mut printer).expect("a document");
    serde_json::from_slice(&printer.finish().expect("a document")).expect("JSON")
}

/// The content of a datastore, as XML. What is no data of the model in JSON is `None`; XML is sent as it is.
pub fn datastore_content(schema: &Schema, (format, text): (Format, &str)) -> Option<String> {
    match format {
        Format::Xml => Some(text.to_owned()),
        Format::Json => {
            let document = (Format::Json, text);
            let tree = parse(schema, Root::Datastore, document, &InstancePath::root())?;
            Some(print(schema, &tree))
        }
    }
}

/// An element within those of an instance path, with their keys.
fn within(schema: &Schema, path: &InstancePath, inner: &str) -> String {
    let mut text = inner.to_owned();
    for step in path.steps.iter().rev() {
        let node = schema.node(step.node);
        let namespace = &schema.module(node.module).namespace;
        let values = match &step.keys {
            Keys::Values(values) => values.as_slice(),
            _ => &[],
        };
        let keys = node.keys().iter().zip(values);
        let keys: String = keys.map(|(&key, value)| leaf(schema, key, value)).collect();
        if let ([value], true) = (values, node.is_leaf_list()) {
            text = leaf(schema, step.node, value);
            continue;
        }
        let name = &node.name;
        text = format!("<{name} xmlns=\"{namespace}\">{keys}{text}</{name}>");
    }
    text
}

fn leaf(schema: &Schema, node: NodeId, value: &Value) -> String {
    let tree = DataTree {
        nodes: vec![DataNode::new(node, Content::Value(value.clone()))],
    };
    print(schema, &tree)
}

/// The document that deletes a node; `None` if a document cannot name it.
pub fn deletion(schema: &Schema, target: &str) -> Option<String> {
    let path = InstancePath::parse_cli_path(schema, target).ok()?;
    let last = path.steps.last()?;
    let node = schema.node(last.node);
    if (node.is_list() || node.is_leaf_list()) && last.keys == Keys::None {
        return None;
    }
    if is_key(schema, last.node) {
        return None;
    }
    let element = within(
        schema,
        &InstancePath {
            steps: vec![last.clone()],
        },
        "",
    );
    let operation = format!("<{} nc:operation=\"delete\"", node.name);
    let element = element.replacen(&format!("<{}", node.name), &operation, 1);
    Some(within(schema, &path.parent()?, &element))
}

/// A filter that selects a node.
pub fn filter(schema: &Schema, read: &Read) -> Option<String> {
    let path = InstancePath::parse_cli_path(schema, read.path).ok()?;
    if path.steps.iter().any(has_both_quotes) {
        let element = within(schema, &path, "");
        return Some(format!("<subtree-filter>{element}</subtree-filter>"));
    }
    let expression = match (path.is_root(), read.datastore) {
        // Without the state of the server.
        (true, "operational") => "/orchard:*".to_owned(),
        (true, _) => return Some(String::new()),
        (false, _) => path.to_instance_identifier(schema),
    };
    let expression = escaped(&expression);
    let namespaces: String = schema
        .modules()
        .iter()
        .map(|module| format!(" xmlns:{}=\"{}\"", module.name, module.namespace))
        .collect();
    Some(format!(
        "<xpath-filter{namespaces}>{expression}</xpath-filter>"
    ))
}

/// Whether a key of a step has both kinds of quotes: XPath 1.0 has no literal for it.
fn has_both_quotes(step: &Step) -> bool {
    let Keys::Values(values) = &step.keys else {
        return false;
    };
    values.iter().any(|value| {
        let text = value.to_string();
        text.contains('"') && text.contains('\'')
    })
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}

/// The outcome of a read, from the data in a reply.
pub fn data(schema: &Schema, read: &Read, reply: &str) -> Outcome {
    // The data of a model can have elements of the same name.
    let (_, inner) = reply.split_once("<data").expect("data");
    let (_, inner) = inner.split_once('>').expect("data");
    let (inner, _) = inner.rsplit_once("</data>").expect("data");
    let path = InstancePath::parse_cli_path(schema, read.path).expect("a path");
    let place = InstancePath::root();
    let text = format!(
        "<data xmlns=\"{}\">{inner}</data>",
        crate::netconf_client::BASE
    );
    let tree = parse(schema, Root::Datastore, (Format::Xml, &text), &place);
    let tree = tree.unwrap_or_else(|| panic!("no data: {inner}"));
    let Some(mut nodes) = selected(tree.nodes, &path) else {
        return Outcome::Missing;
    };
    if let Some(depth) = read.depth.and_then(|depth| depth.parse::<u32>().ok()) {
        let depth = depth - u32::from(path.is_root());
        cut_keys(schema, &mut nodes, depth);
    }
    let tree = DataTree { nodes };
    Outcome::Success(match read.format {
        Format::Json => to_json(schema, &tree),
        Format::Xml => {
            let mut text = Vec::new();
            let options = PrintOptions {
                envelope: path.is_root().then_some(Envelope::NETCONF_DATA),
                ..PrintOptions::default()
            };
            let mut printer = xml::Printer::new(schema, &mut text, options);
            tree.emit(&mut printer).expect("a document");
            printer.finish().expect("a document");
            compact(&String::from_utf8_lossy(&text))
        }
    })
}

/// The nodes at a path; `None` if there are none.
fn selected(mut nodes: Vec<DataNode>, path: &InstancePath) -> Option<Vec<DataNode>> {
    for (depth, step) in path.steps.iter().enumerate() {
        nodes.retain(|node| node.node == step.node);
        let is_last = depth + 1 == path.steps.len();
        if nodes.is_empty() {
            return None;
        }
        if !is_last {
            nodes = nodes.into_iter().flat_map(children).collect();
        }
    }
    Some(nodes)
}

fn is_key(schema: &Schema, node: NodeId) -> bool {
    let list = schema.node(node).parent;
    list.is_some_and(|list| schema.node(list).keys().contains(&node))
}

/// Whether a path names a leaf that has a default.
pub fn is_leaf_with_default(schema: &Schema, path: &str) -> bool {
    let path = InstancePath::parse_cli_path(schema, path).ok();
    let node = path.and_then(|path| path.target());
    node.is_some_and(|node| {
        let leaf = schema.node(node).as_value();
        leaf.is_some_and(|leaf| !leaf.defaults.is_empty())
    })
}

/// A depth that leaves no nodes.
pub struct NoNodes;

/// The depth of a read, counted from the selected nodes; of a datastore these are its outermost nodes.
pub fn max_depth(read: &Read) -> Result<Option<String>, NoNodes> {
    match (
        read.depth,
        read.depth.and_then(|depth| depth.parse::<u32>().ok()),
    ) {
        (Some(_), Some(depth)) if read.path == "/" => match depth {
            1 => Err(NoNodes),
            depth => Ok(Some(depth.saturating_sub(1).to_string())),
        },
        (depth, _) => Ok(depth.map(str::to_owned)),
    }
}

/// The error of an edit in the form of an operation on a resource: a document names the first node that is missing.
pub fn of_resource(
    schema: &Schema,
    operation: &Operation,
    mut error: ReportedError,
) -> ReportedError {
    let Operation::Delete { target, .. } = operation else {
        return error;
    };
    let target = InstancePath::parse_cli_path(schema, target)
        .map(|path| json_path(&path.to_instance_identifier(schema)));
    if let (Ok(target), Some(path), "data-missing") = (target, &error.path, &*error.tag)
        && target.starts_with(path)
    {
        error.path = Some(target);
        error.message = "the node to delete does not exist".to_owned();
    }
    error
}

/// Removes what a filtered read sends at any depth: the keys of entries.
fn cut_keys(schema: &Schema, nodes: &mut Vec<DataNode>, depth: u32) {
    if depth == 0 {
        assert!(
            nodes.iter().all(|node| is_key(schema, node.node)),
            "{nodes:?} is below the depth"
        );
        nodes.clear();
    }
    for node in nodes {
        if let Content::Inner(children) = &mut node.content {
            cut_keys(schema, children, depth.saturating_sub(1));
        }
    }
}

/// The children of a node, with the origin that they inherit (RFC 7952 §3, RFC 8342 §7).
fn children(node: DataNode) -> Vec<DataNode> {
    let Content::Inner(mut children) = node.content else {
        return Vec::new();
    };
    for child in &mut children {
        let has_own = child.annotations.iter().any(is_origin);
        let inherited = node
            .annotations
            .iter()
            .filter(|one| !has_own && is_origin(one));
        child.annotations.extend(inherited.cloned());
    }
    children
}

fn is_origin(annotation: &Annotation) -> bool {
    matches!(annotation, Annotation::Origin(_))
}

/// The errors of a reply; empty if there are none.
pub fn errors(reply: &str) -> Vec<ReportedError> {
    let parts = reply.split("</rpc-error>");
    let errors = parts.filter_map(|part| Some(part.split_once("<rpc-error")?.1));
    errors.map(error).collect()
}

fn error(text: &str) -> ReportedError {
    let leaf = |name: &str| content(text, name).map(unescaped);
    let info = content(text, "error-info");
    from_json(&json!({
        "error-type": leaf("error-type"),
        "error-tag": leaf("error-tag"),
        "error-app-tag": leaf("error-app-tag"),
        "error-path": leaf("error-path").map(|path| json_path(&path)),
        "error-message": leaf("error-message"),
        "error-info": info.map(error_info),
    }))
}

/// An instance identifier without the prefixes that JSON leaves out (RFC 7951 §6.11).
pub fn json_path(path: &str) -> String {
    let mut text = String::new();
    let mut last = "";
    let mut rest = path;
    while let Some(at) = rest.find(['/', '[']) {
        let (before, after) = rest.split_at(at + 1);
        text.push_str(before);
        rest = after;
        let end = after.find(|c: char| !c.is_alphanumeric() && !"-_.".contains(c));
        if let Some(end) = end
            && after[end..].starts_with(':')
        {
            let module = &after[..end];
            if module == last {
                rest = &after[end + 1..];
            }
            last = module;
        }
    }
    text + rest
}

/// What errors of subscriptions have (RFC 8639 §2.4.6).
const SUBSCRIPTION_ERRORS: [&str; 3] = [
    "establish-subscription-stream-error-info",
    "modify-subscription-stream-error-info",
    "delete-subscription-error-info",
];

fn error_info(text: &str) -> Json {
    let mut info = serde_json::Map::new();
    for name in [
        "bad-attribute",
        "bad-element",
        "bad-namespace",
        "session-id",
        "missing-choice",
    ] {
        if let Some(value) = content(text, name) {
            info.insert(name.to_owned(), unescaped(value).into());
        }
    }
    for name in SUBSCRIPTION_ERRORS {
        let Some(detail) = content(text, name) else {
            continue;
        };
        let mut members = serde_json::Map::new();
        if let Some(reason) = content(detail, "reason") {
            let reason = reason.rsplit(':').next().unwrap_or_default();
            let reason = format!("ietf-subscribed-notifications:{reason}");
            members.insert("reason".to_owned(), reason.into());
        }
        if let Some(hint) = content(detail, "filter-failure-hint") {
            members.insert("filter-failure-hint".to_owned(), unescaped(hint).into());
        }
        let name = format!("ietf-subscribed-notifications:{name}");
        info.insert(name, members.into());
    }
    let non_unique: Vec<_> = text
        .split("</non-unique>")
        .filter_map(|part| content(&format!("{part}</non-unique>"), "non-unique").map(unescaped))
        .map(|path| Json::from(json_path(&path)))
        .collect();
    if !non_unique.is_empty() {
        info.insert("non-unique".to_owned(), non_unique.into());
    }
    info.into()
}

/// The document of an operation on a resource, if it can be sent as one.
pub fn resource(schema: &Schema, operation: &Operation) -> Option<String> {
    let tree = crate::resource_edit::document(schema, operation).ok()?;
    Some(print(schema, &tree))
}

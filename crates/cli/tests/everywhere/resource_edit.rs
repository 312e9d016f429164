//! Edits of a resource, as documents for `<edit-config>` with the default operation `none`.

use espalier_store::Error;
use espalier_terminal::path::placed;
use espalier_testkit::everywhere::{Body, Format, Operation as Op, Placement};
use espalier_yang::data::{
    Accept, Annotation, Content, DataNode, DataTree, MetadataMode, Operation, ParseError,
    ParseOptions, Root, TreeBuilder, json, xml,
};
use espalier_yang::path::ApiRoot;
use espalier_yang::schema::{NodeKind, Ordering};
use espalier_yang::{InstancePath, Keys, Schema, Step};

/// Why there is no such document.
pub enum NoDocument {
    /// The address or the body of the resource is wrong.
    Wrong(Error),
    /// Only a URL can say it: the product has a type in its place.
    Typed,
}

impl From<Error> for NoDocument {
    fn from(error: Error) -> Self {
        Self::Wrong(error)
    }
}

type Result<T> = std::result::Result<T, NoDocument>;

/// The document of an operation on a resource.
pub fn document(schema: &Schema, operation: &Op) -> Result<DataTree> {
    let (parent, mut tree, edit, placement) = match operation {
        Op::Create {
            parent,
            body,
            placement,
            ..
        } => {
            let parent = parse_path(schema, parent)?;
            let root = Root::ChildOf(parent.target());
            let tree = parse(schema, *body, root, &parent)?;
            (parent, tree, Operation::Create, *placement)
        }
        Op::Replace {
            target,
            body,
            placement,
            ..
        } => {
            let (parent, tree) = resource(schema, target, *body)?;
            (parent, tree, Operation::Replace, *placement)
        }
        Op::Merge { target, body, .. } => {
            let (parent, tree) = resource(schema, target, *body)?;
            (parent, tree, Operation::Merge, None)
        }
        _ => return Err(NoDocument::Typed),
    };
    for node in &mut tree.nodes {
        annotate(node, edit);
        if let Some(placement) = placement {
            place(schema, &parent, node, placement)?;
        }
    }
    for step in parent.steps.iter().rev() {
        let mut children = keys(schema, step);
        children.append(&mut tree.nodes);
        tree.nodes
            .push(DataNode::new(step.node, Content::Inner(children)));
    }
    Ok(tree)
}

/// Sets the operation. A merge into a resource requires that it exists.
fn annotate(node: &mut DataNode, edit: Operation) {
    match &mut node.content {
        Content::Inner(children) if edit == Operation::Merge => {
            for child in children {
                child.annotations.push(Annotation::Operation(edit));
            }
        }
        _ => node.annotations.push(Annotation::Operation(edit)),
    }
}

fn parse_path(schema: &Schema, text: &str) -> Result<InstancePath> {
    Ok(InstancePath::parse_cli_path(schema, text)
        .map_err(|error| Error::from(placed(error, text)))?)
}

fn resource(schema: &Schema, target: &str, body: Body) -> Result<(InstancePath, DataTree)> {
    let path = parse_path(schema, target)?;
    let (Some(node), Some(parent)) = (path.target(), path.parent()) else {
        return Err(NoDocument::Typed);
    };
    let tree = parse(schema, body, Root::Resource(node), &parent)?;
    Ok((parent, tree))
}

fn parse(schema: &Schema, body: Body, root: Root, place: &InstancePath) -> Result<DataTree> {
    let options = ParseOptions {
        accept: Accept::Config,
        metadata: MetadataMode::Plain,
        place: place.clone(),
        ..ParseOptions::default()
    };
    let mut builder = TreeBuilder::new();
    let text = body.text.as_bytes();
    let parsed = match body.format {
        Format::Json => json::parse(schema, root, text, &mut builder, &options),
        Format::Xml => xml::parse(schema, root, text, &mut builder, &options),
    };
    match parsed {
        Ok(()) | Err(ParseError::Stopped) => Ok(builder.finish().map_err(Error::from)?),
        Err(error) => Err(Error::from(error).into()),
    }
}

/// The key leaves of an entry.
fn keys(schema: &Schema, step: &Step) -> Vec<DataNode> {
    let values = match &step.keys {
        Keys::Values(values) => values.as_slice(),
        _ => &[],
    };
    let pairs = schema.node(step.node).keys().iter().zip(values);
    pairs
        .map(|(&key, value)| DataNode::new(key, Content::Value(value.clone())))
        .collect()
}

/// Adds the position as metadata.
fn place(
    schema: &Schema,
    parent: &InstancePath,
    node: &mut DataNode,
    placement: Placement,
) -> Result<()> {
    let is_user_ordered = match &schema.node(node.node).kind {
        NodeKind::List(list) => list.ordering == Ordering::User,
        NodeKind::LeafList(leaf) => leaf.ordering == Ordering::User,
        _ => false,
    };
    let needs_point = matches!(placement.insert, "before" | "after");
    let is_known = needs_point || matches!(placement.insert, "first" | "last");
    if !is_user_ordered || !is_known || needs_point != placement.point.is_some() {
        return Err(NoDocument::Typed);
    }
    node.annotations
        .push(Annotation::Insert(placement.insert.into()));
    let Some(text) = placement.point else {
        return Ok(());
    };
    let point = InstancePath::parse_api_path(schema, text, ApiRoot::Data).map_err(Error::from)?;
    let is_same_list = point.parent().as_ref() == Some(parent) && point.target() == Some(node.node);
    let Some(Step {
        keys: Keys::Values(values),
        ..
    }) = point.steps.last().filter(|_| is_same_list)
    else {
        return Err(NoDocument::Typed);
    };
    let point = match schema.node(node.node).is_list() {
        true => Annotation::Key(predicates(schema, &point).into()),
        false => Annotation::Value(values[0].to_string().into()),
    };
    node.annotations.push(point);
    Ok(())
}

/// The predicates of the last step of an instance identifier.
fn predicates(schema: &Schema, entry: &InstancePath) -> String {
    let mut list = entry.clone();
    if let Some(last) = list.steps.last_mut() {
        last.keys = Keys::None;
    }
    let entry = entry.to_instance_identifier(schema);
    let predicates = entry.strip_prefix(&list.to_instance_identifier(schema));
    predicates.unwrap_or_default().to_owned()
}

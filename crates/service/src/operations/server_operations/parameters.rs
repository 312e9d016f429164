//! The parameters of operations.

use espalier_store::{Datastore, Error, Result};
use espalier_yang::data::{
    Accept, Content, DataNode, DataTree, MetadataMode, ParseError, ParseOptions, Root, TreeBuilder,
    json, xml,
};
use espalier_yang::{DataError, ErrorTag, ErrorType, Schema};

use crate::operations::OperationCall;

/// The place of a configuration, in the `source` or `target` of an operation.
pub(super) enum Place<'a> {
    Datastore(Datastore),
    /// The content of `config`.
    Config(&'a str),
}

/// The `source` or `target` of an operation (RFC 6241 §7).
pub(super) fn place<'a>(call: &'a OperationCall, name: &str) -> Result<Place<'a>> {
    let named = |node: &&DataNode| &*call.schema.node(node.node).name == name;
    let places = call.arguments().iter().find(named);
    let choice = places.and_then(|places| places.children().first());
    let Some(choice) = choice else {
        let error = parameter_error(ErrorTag::MissingElement, format!("“{name}” is missing"));
        return Err(error.on_element(name).into());
    };
    let chosen = &*call.schema.node(choice.node).name;
    match &choice.content {
        Content::Any(document) => Ok(Place::Config(document)),
        // RFC 8526 §3.2: an identity.
        Content::Value(identity) if chosen == "datastore" => {
            let identity = identity.to_string();
            let name = identity.rsplit(':').next().unwrap_or_default();
            let named = Datastore::named(name);
            named.map(Place::Datastore).ok_or_else(|| {
                let message = format!("“{identity}” is not supported");
                let error = parameter_error(ErrorTag::InvalidValue, message);
                error.on_element(chosen).into()
            })
        }
        _ => match Datastore::parse(chosen) {
            Ok(datastore) if is_conventional(datastore) => Ok(Place::Datastore(datastore)),
            _ => {
                let message = format!("“{chosen}” is not supported");
                let error = parameter_error(ErrorTag::InvalidValue, message);
                Err(error.on_element(chosen).into())
            }
        },
    }
}

/// As [`place`], where only a datastore is possible.
pub(super) fn datastore(call: &OperationCall, name: &str) -> Result<Datastore> {
    match place(call, name)? {
        Place::Datastore(datastore) => Ok(datastore),
        Place::Config(_) => {
            let message = format!("“{name}” must be a datastore");
            Err(parameter_error(ErrorTag::InvalidValue, message).into())
        }
    }
}

fn is_conventional(datastore: Datastore) -> bool {
    matches!(
        datastore,
        Datastore::Running | Datastore::Candidate | Datastore::Startup
    )
}

pub(super) fn parameter_error(tag: ErrorTag, message: impl Into<String>) -> DataError {
    DataError::new(tag, message).of_type(ErrorType::Protocol)
}

/// The tree in a `config` element, with the operations of its nodes.
pub(super) fn config_tree(schema: &Schema, document: &str) -> Result<DataTree> {
    let options = ParseOptions {
        accept: Accept::Config,
        metadata: MetadataMode::Kept,
        ..ParseOptions::default()
    };
    let mut builder = TreeBuilder::new();
    let (root, sink) = (Root::Datastore, &mut builder);
    let parsed = match xml::raw_xml(document) {
        Some(text) => xml::parse(schema, root, text.as_bytes(), sink, &options).map(drop),
        None => json::parse(schema, root, document.as_bytes(), sink, &options).map(drop),
    };
    match parsed {
        Ok(()) => Ok(builder.finish()?),
        Err(ParseError::Invalid(errors)) => Err(Error::Data(errors)),
        Err(error) => Err(Error::data(ErrorTag::OperationFailed, error.to_string())),
    }
}

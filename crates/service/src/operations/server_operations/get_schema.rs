//! `<get-schema>` (RFC 6022 §3.1).

use espalier_store::Result;
use espalier_yang::data::{Content, DataNode, DataTree};
use espalier_yang::{ErrorTag, NodeKind};
use serde_json::Value as Json;

use super::parameters::parameter_error;
use crate::datastore::{READ, SessionDatastore};
use crate::operations::OperationCall;
use crate::operations::call::output_of;

/// The text of a module or submodule, as `data`.
pub(super) fn run(of: &SessionDatastore, call: &OperationCall) -> Result<DataTree> {
    of.counted(READ, |_| {
        let name = call.argument("identifier").unwrap_or_default();
        let version = call.argument("version").filter(|text| !text.is_empty());
        let format = call.argument("format").unwrap_or_default();
        if !format.is_empty() && !format.ends_with("yang") {
            let message = format!("the format {format} is not supported: only yang is");
            return Err(parameter_error(ErrorTag::InvalidValue, message).into());
        }
        let text = of
            .service()
            .module_text(of.governed(), &name, version.as_deref())?;
        let Some(text) = text else {
            let message = format!("there is no such version of a module “{name}”");
            let error = parameter_error(ErrorTag::InvalidValue, message);
            return Err(error.on_element("identifier").into());
        };
        Ok(output(call, &text))
    })
}

fn output(call: &OperationCall, text: &str) -> DataTree {
    let schema = &call.schema;
    let Some(output) = output_of(schema, call.operation()) else {
        return DataTree::default();
    };
    let mut children = schema.node(output).children.iter().copied();
    let data = children.find(|&child| {
        matches!(
            schema.node(child).kind,
            NodeKind::AnyXml | NodeKind::AnyData
        )
    });
    let data = data.map(|node| DataNode::new(node, Content::Any(Json::from(text).to_string())));
    let children = data.into_iter().collect();
    DataTree {
        nodes: vec![DataNode::new(output, Content::Inner(children))],
    }
}

//! The API resource, the operations resource, and root discovery (RFC 8040 §3.1, §3.3).

use espalier_yang::{NodeId, Schema};

use super::document::{Content, Element, ModuleNames, Scalar};
use crate::restconf::error_body::RESTCONF_NAMESPACE;
use crate::xml_text::escape;

/// The revision of `ietf-yang-library` that is served (RFC 8040 §3.3.3).
const YANG_LIBRARY_REVISION: &str = "2019-01-04";

const RESTCONF: ModuleNames = ModuleNames::constant("ietf-restconf", RESTCONF_NAMESPACE);

/// `{+restconf}` (RFC 8040 §3.3).
pub(in crate::restconf) fn api_resource() -> Element {
    let children = vec![
        Element::container("data", Vec::new()),
        Element::container("operations", Vec::new()),
        Element::leaf("yang-library-version", YANG_LIBRARY_REVISION),
    ];
    Element::container("restconf", children).of(RESTCONF)
}

/// `{+restconf}/yang-library-version` (RFC 8040 §3.3.3).
pub(in crate::restconf) fn yang_library_version() -> Element {
    Element::leaf("yang-library-version", YANG_LIBRARY_REVISION).of(RESTCONF)
}

/// `{+restconf}/operations` (RFC 8040 §3.3.2): each RPC is an empty leaf.
pub(in crate::restconf) fn operations(names: Vec<Element>) -> Element {
    Element::container("operations", names).of(RESTCONF)
}

/// The leaves of RPCs in [`operations`].
pub(in crate::restconf) fn operation_names(schema: &Schema, operations: &[NodeId]) -> Vec<Element> {
    let leaves = operations.iter().map(|&id| {
        let node = schema.node(id);
        let module = schema.module(node.module);
        Element {
            names: Some(ModuleNames {
                module: module.name.to_string().into(),
                namespace: module.namespace.to_string().into(),
            }),
            name: node.name.to_string().into(),
            content: Content::Leaf(Scalar::Empty),
        }
    });
    leaves.collect()
}

/// `/.well-known/host-meta` (RFC 8040 §3.1, RFC 6415).
#[derive(Clone, Debug)]
pub(in crate::restconf) struct Xrd {
    /// The document as XRD.
    pub(in crate::restconf) xml: String,
    /// The document as JRD.
    pub(in crate::restconf) json: String,
}

impl Xrd {
    /// The document with `root` as the root of RESTCONF.
    pub(in crate::restconf) fn new(root: &str) -> Self {
        let xml = format!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
             <XRD xmlns=\"http://docs.oasis-open.org/ns/xri/xrd-1.0\">\n  \
             <Link rel=\"restconf\" href=\"{}\"/>\n</XRD>\n",
            escape(root)
        );
        let json = serde_json::json!({"links": [{"rel": "restconf", "href": root}]}).to_string();
        Self { xml, json }
    }
}

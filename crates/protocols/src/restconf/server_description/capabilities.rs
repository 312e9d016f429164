//! `ietf-restconf-monitoring:restconf-state` (RFC 8040 §9).

use super::document::{Content, Element, ModuleNames, Scalar};

/// The capabilities of this server (RFC 8040 §9.1.1), each with its section.
const CAPABILITIES: [&str; 6] = [
    // §9.1.2: without with-defaults, only values that clients set are reported.
    "urn:ietf:params:restconf:capability:defaults:1.0?basic-mode=explicit",
    // §4.8.2
    "urn:ietf:params:restconf:capability:depth:1.0",
    // §4.8.3
    "urn:ietf:params:restconf:capability:fields:1.0",
    // §4.8.9
    "urn:ietf:params:restconf:capability:with-defaults:1.0",
    // RFC 8527 §3.2.1
    "urn:ietf:params:restconf:capability:with-operational-defaults:1.0",
    // RFC 8527 §3.2.2
    "urn:ietf:params:restconf:capability:with-origin:1.0",
];

const MONITORING: ModuleNames = ModuleNames::constant(
    "ietf-restconf-monitoring",
    "urn:ietf:params:xml:ns:yang:ietf-restconf-monitoring",
);

/// The capabilities; there are no event streams.
pub(in crate::restconf) fn restconf_state() -> Element {
    let values = CAPABILITIES.map(|uri| Scalar::Text(uri.to_owned()));
    let list = Element::new("capability", Content::LeafList(values.to_vec()));
    let capabilities = Element::container("capabilities", vec![list]);
    Element::container("restconf-state", vec![capabilities]).of(MONITORING)
}

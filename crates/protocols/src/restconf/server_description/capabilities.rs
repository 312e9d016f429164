//! The capabilities of RESTCONF (RFC 8040 §9.1).

/// The capabilities of this server, each with its section.
pub(in crate::restconf) const CAPABILITIES: [&str; 17] = [
    // §9.1.2: without with-defaults, only values that clients set are reported.
    "urn:ietf:params:restconf:capability:defaults:1.0?basic-mode=explicit",
    // §4.8.2
    "urn:ietf:params:restconf:capability:depth:1.0",
    // §4.8.3
    "urn:ietf:params:restconf:capability:fields:1.0",
    // §4.8.4
    "urn:ietf:params:restconf:capability:filter:1.0",
    // §4.8.7, §4.8.8
    "urn:ietf:params:restconf:capability:replay:1.0",
    // §4.8.9
    "urn:ietf:params:restconf:capability:with-defaults:1.0",
    // RFC 8072 §4.2
    "urn:ietf:params:restconf:capability:yang-patch:1.0",
    // RFC 8527 §3.2.1
    "urn:ietf:params:restconf:capability:with-operational-defaults:1.0",
    // RFC 8527 §3.2.2
    "urn:ietf:params:restconf:capability:with-origin:1.0",
    // draft-ietf-netconf-list-pagination-rc §3.3
    "urn:ietf:params:restconf:capability:cursor:1.0",
    "urn:ietf:params:restconf:capability:direction:1.0",
    "urn:ietf:params:restconf:capability:limit:1.0",
    "urn:ietf:params:restconf:capability:locale:1.0",
    "urn:ietf:params:restconf:capability:offset:1.0",
    "urn:ietf:params:restconf:capability:sort-by:1.0",
    "urn:ietf:params:restconf:capability:sublist-limit:1.0",
    "urn:ietf:params:restconf:capability:where:1.0",
];

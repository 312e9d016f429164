//! What describes the server and is not data: root discovery, the API resource and its children (RFC 8040 §3.1, §3.3),
//! and the capabilities. The YANG library and the monitoring of the server are data
//! ([`espalier_service::server_state`]).

mod api;
mod capabilities;
mod document;
mod select;

pub(super) use api::{Xrd, api_resource, operation_names, operations, yang_library_version};
pub(super) use capabilities::CAPABILITIES;
pub(super) use document::{Element, PrintLevels};
pub(super) use select::select_fields;

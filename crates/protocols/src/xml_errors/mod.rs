//! Errors in XML, as RESTCONF and NETCONF have them.

mod parts;
mod path;

pub(crate) use parts::{message, put_info, put_instance_identifier, put_leaf, put_path};

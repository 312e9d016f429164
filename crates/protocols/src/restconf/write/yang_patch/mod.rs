//! YANG Patch (RFC 8072): a list of edits, applied in order, in one commit.

mod document;
mod document_json;
mod document_xml;
mod edits;
mod names;
mod status;

pub(in crate::restconf) use names::PatchNames;
pub(in crate::restconf) use status::{print_errors, print_ok};

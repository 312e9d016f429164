//! What the server announces in its `hello` (RFC 6241 §8).

use espalier_service::Anchor;
use espalier_store::Result;

use super::message::{BASE_1_0, BASE_1_1};
use super::server::Inner;

/// The capabilities that do not depend on the models.
const FIXED: [&str; 16] = [
    // Some clients expect the versions of the protocol first.
    BASE_1_0,
    BASE_1_1,
    "urn:ietf:params:netconf:capability:writable-running:1.0",
    "urn:ietf:params:netconf:capability:candidate:1.0",
    "urn:ietf:params:netconf:capability:confirmed-commit:1.1",
    "urn:ietf:params:netconf:capability:rollback-on-error:1.0",
    "urn:ietf:params:netconf:capability:validate:1.1",
    "urn:ietf:params:netconf:capability:startup:1.0",
    "urn:ietf:params:netconf:capability:xpath:1.0",
    "urn:ietf:params:netconf:capability:with-defaults:1.0?basic-mode=explicit&also-supported=report-all,report-all-tagged,trim",
    "urn:ietf:params:netconf:capability:with-operational-defaults:1.0?basic-mode=explicit&also-supported=report-all,report-all-tagged,trim",
    "urn:ietf:params:netconf:capability:notification:1.0",
    "urn:ietf:params:netconf:capability:interleave:1.0",
    "urn:ietf:params:netconf:capability:partial-lock:1.0",
    "urn:ietf:params:netconf:capability:private-candidate:1.0?supported-resolution-modes=revert-on-conflict,prefer-candidate,prefer-running",
    // libnetconf2 looks for this URI with a parameter before it requests schemas.
    "urn:ietf:params:xml:ns:yang:ietf-netconf-monitoring?module=ietf-netconf-monitoring&revision=2010-10-04",
];

/// A client that announces it has a candidate of its own.
pub(super) const PRIVATE_CANDIDATE: &str =
    "urn:ietf:params:netconf:capability:private-candidate:1.0";

/// The revision of `ietf-yang-library` (RFC 8525).
const LIBRARY_REVISION: &str = "2019-01-04";

/// The capabilities of an anchor.
pub(super) fn capabilities(server: &Inner, anchor: &Anchor) -> Result<Vec<String>> {
    let mut all: Vec<String> = FIXED.map(str::to_owned).to_vec();
    if let Some(tag) = server.service.library_tag(anchor)? {
        all.push(format!(
            "urn:ietf:params:netconf:capability:yang-library:1.1?revision={LIBRARY_REVISION}&content-id={}",
            tag.id
        ));
    }
    Ok(all)
}

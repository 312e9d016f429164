//! `ietf-restconf-monitoring` (RFC 8040 §9).

use espalier_store::{ProviderError, ProviderRequest};
use espalier_yang::data::DataTree;

use super::providers::AnchorState;
use super::state_nodes::StateNodes;

/// `restconf-state`. There are no event streams.
pub(super) fn restconf_state(
    state: &AnchorState,
    request: &ProviderRequest,
) -> Result<DataTree, ProviderError> {
    let top = ("ietf-restconf-monitoring", "restconf-state");
    Ok(StateNodes::tree(&request.schema, top, |top| {
        top.inner("capabilities", |capabilities| {
            capabilities.leaf_list("capability", &state.served.restconf_capabilities);
        });
    }))
}

//! `ietf-restconf-monitoring` (RFC 8040 §9).

use espalier_store::{ProviderError, ProviderRequest};
use espalier_yang::data::DataTree;

use super::anchor_state::AnchorState;
use super::event_streams;
use super::state_nodes::StateNodes;
use crate::notifications::{Encoding, StreamInfo};
use crate::time_text::time_text;

/// `restconf-state`.
pub(super) fn restconf_state(
    state: &AnchorState,
    request: &ProviderRequest,
) -> Result<DataTree, ProviderError> {
    let streams = event_streams::streams_of(state)?;
    let top = ("ietf-restconf-monitoring", "restconf-state");
    Ok(StateNodes::tree(&request.schema, top, |top| {
        top.inner("capabilities", |capabilities| {
            capabilities.leaf_list("capability", &state.served.restconf_capabilities);
        });
        top.inner("streams", |list| {
            for stream in &streams {
                list.inner("stream", |entry| add_stream(entry, state, stream));
            }
        });
    }))
}

fn add_stream(entry: &mut StateNodes<'_>, state: &AnchorState, stream: &StreamInfo) {
    entry.leaf("name", &stream.name);
    entry.leaf("description", &stream.description);
    entry.leaf("replay-support", "true");
    entry.leaf("replay-log-creation-time", &time_text(stream.created));
    let base = &state.served.streams_url;
    for encoding in Encoding::ALL.into_iter().filter(|_| !base.is_empty()) {
        entry.inner("access", |access| {
            access.leaf("encoding", encoding.name());
            let location = format!("{base}/{}/{}", stream.name, encoding.name());
            access.leaf("location", &location);
        });
    }
}

//! The event streams of `nc-notifications` (RFC 5277 §3.4), and the streams and
//! subscriptions of `ietf-subscribed-notifications` (RFC 8639 §3.1, §3.3).

use espalier_store::{ProviderError, ProviderRequest, Result};
use espalier_yang::data::DataTree;

use super::anchor_state::AnchorState;
use super::state_nodes::StateNodes;
use crate::notifications::{RECEIVERS, SUBSCRIBED, Stream, StreamInfo};
use crate::time_text::time_text;

/// The streams of a served anchor.
pub(super) fn streams_of(state: &AnchorState) -> Result<Vec<StreamInfo>> {
    Stream::list(state.served.anchor.running())
}

/// `/netconf/streams`.
pub(super) fn netconf(
    state: &AnchorState,
    request: &ProviderRequest,
) -> std::result::Result<DataTree, ProviderError> {
    let streams = streams_of(state)?;
    let top = ("nc-notifications", "netconf");
    Ok(StateNodes::tree(&request.schema, top, |top| {
        top.inner("streams", |list| {
            for stream in &streams {
                list.inner("stream", |entry| {
                    entry.leaf("name", &stream.name);
                    entry.leaf("description", &stream.description);
                    entry.leaf("replaySupport", "true");
                    entry.leaf("replayLogCreationTime", &time_text(stream.created));
                    if let Some(aged) = stream.aged {
                        entry.leaf("replayLogAgedTime", &time_text(aged));
                    }
                });
            }
        });
    }))
}

/// `/streams`.
pub(super) fn subscribed(
    state: &AnchorState,
    request: &ProviderRequest,
) -> std::result::Result<DataTree, ProviderError> {
    let streams = streams_of(state)?;
    let top = (SUBSCRIBED, "streams");
    Ok(StateNodes::tree(&request.schema, top, |list| {
        for stream in &streams {
            list.inner("stream", |entry| {
                entry.leaf("name", &stream.name);
                entry.leaf("description", &stream.description);
                entry.leaf("replay-support", "");
                entry.leaf("replay-log-creation-time", &time_text(stream.created));
                if let Some(aged) = stream.aged {
                    entry.leaf("replay-log-aged-time", &time_text(aged));
                }
            });
        }
    }))
}

/// `/subscriptions`: the dynamic ones to the anchor, and the configured ones if they are to it or in its configuration.
pub(super) fn subscriptions(
    state: &AnchorState,
    request: &ProviderRequest,
) -> std::result::Result<DataTree, ProviderError> {
    let anchor = state.served.anchor.running().anchor_id();
    let established = state.sources.established.of_anchor(anchor);
    let trees = &state.sources.trees;
    let configuration = trees.with_module(RECEIVERS)?;
    let mut with_configured = trees.served().into_iter().chain(configuration);
    let has_configured = with_configured.any(|tree| tree.anchor_id() == anchor);
    let top = (SUBSCRIBED, "subscriptions");
    Ok(StateNodes::tree(&request.schema, top, |list| {
        if has_configured {
            state.sources.configured.add_to(list);
        }
        established.iter().for_each(|one| one.add_to(list));
    }))
}

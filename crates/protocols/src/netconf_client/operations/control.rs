//! Locks, the candidate, and sessions.

use super::change::Place;
use super::xml::{leaf, optional};

/// The capability of a client that has a candidate of its own (draft-ietf-netconf-privcand).
pub const PRIVATE_CANDIDATE: &str = "urn:ietf:params:netconf:capability:private-candidate:1.0";

const PRIVATE_CANDIDATE_NAMESPACE: &str =
    "urn:ietf:params:xml:ns:yang:ietf-netconf-private-candidate";

/// The options of `commit` (RFC 6241 §8.4).
#[derive(Clone, Debug, Default)]
pub struct CommitOptions {
    /// Whether it is undone unless another commit confirms it.
    pub confirmed: bool,
    /// The seconds until then.
    pub timeout_seconds: Option<u32>,
    /// The name with which another session confirms it.
    pub persist: Option<String>,
    /// The name of the commit that this one confirms.
    pub persist_id: Option<String>,
}

/// `lock` (RFC 6241 §7.5).
pub fn lock(target: &str) -> String {
    format!(
        "<lock><target>{}</target></lock>",
        Place::named(target).element()
    )
}

/// `unlock` (RFC 6241 §7.6).
pub fn unlock(target: &str) -> String {
    format!(
        "<unlock><target>{}</target></unlock>",
        Place::named(target).element()
    )
}

/// `commit` (RFC 6241 §8.3, §8.4).
pub fn commit(options: &CommitOptions) -> String {
    let timeout = options.timeout_seconds.map(|seconds| seconds.to_string());
    let confirmed = match options.confirmed {
        true => "<confirmed/>",
        false => "",
    };
    format!(
        "<commit>{confirmed}{}{}{}</commit>",
        optional("confirm-timeout", timeout.as_deref()),
        optional("persist", options.persist.as_deref()),
        optional("persist-id", options.persist_id.as_deref())
    )
}

/// `cancel-commit` (RFC 6241 §8.4.4).
pub fn cancel_commit(persist_id: Option<&str>) -> String {
    format!(
        "<cancel-commit>{}</cancel-commit>",
        optional("persist-id", persist_id)
    )
}

/// `discard-changes` (RFC 6241 §8.3.4.2).
pub fn discard_changes() -> String {
    "<discard-changes/>".to_owned()
}

/// `update` of a private candidate (draft-ietf-netconf-privcand), with a resolution mode.
pub fn update(resolution_mode: Option<&str>) -> String {
    format!(
        "<update xmlns=\"{PRIVATE_CANDIDATE_NAMESPACE}\">{}</update>",
        optional("resolution-mode", resolution_mode)
    )
}

/// `kill-session` (RFC 6241 §7.9).
pub fn kill_session(id: u32) -> String {
    format!(
        "<kill-session>{}</kill-session>",
        leaf("session-id", &id.to_string())
    )
}
